"""Every fixture at every degree against PyTorch, and refusals at all others.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Each folder of test/fixtures is a small checkpoint with PyTorch's outputs in f32
and bf16. f32 must agree to 2e-5 of the largest value; bf16 must be no further
from PyTorch's f32 than 1.5 times PyTorch's own bf16 is. FIXTURE=name in the
environment runs one folder.
"""

import json
import os
import pathlib

import numpy
import pytest
from safetensors.numpy import load_file

import tp_mlir

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures"
PLANS = ["megatron", "megatron-sp"]
F32_TOLERANCE = 2e-5
BF16_FACTOR = 1.5


def fixtures():
    for path in sorted(FIXTURES.glob("*/fixture.json")):
        if path.parent.name == "all-minilm-l6-v2":
            continue
        if os.environ.get("FIXTURE", path.parent.name) == path.parent.name:
            yield path.parent, json.loads(path.read_text())


def accepted():
    for folder, facts in fixtures():
        for plan in PLANS:
            degrees = facts["degrees"] if plan == "megatron" else facts["degrees_sp"]
            for degree in degrees:
                if degree <= 8:
                    yield pytest.param(folder, facts, plan, degree,
                                       id=f"{folder.name}-{plan}-{degree}")


def refused():
    for folder, facts in fixtures():
        for degree in facts["degrees_refused"]:
            yield pytest.param(folder, facts, degree, id=f"{folder.name}-{degree}")


def compiled(folder, facts, plan, degree, dtype):
    return tp_mlir.compile(folder, mesh=f"tp={degree}", plan=plan, batch=facts["batch"],
                           seq=facts["seq"], dtype=dtype)


@pytest.mark.parametrize("folder, facts, plan, degree", accepted())
def test_f32(folder, facts, plan, degree):
    inputs = load_file(folder / "inputs.safetensors")
    expected = load_file(folder / "expected.safetensors")
    outputs = compiled(folder, facts, plan, degree, "f32").run(folder, inputs)
    assert set(outputs) == set(facts["outputs"])
    for name, value in outputs.items():
        want = expected[name]
        assert value.shape == want.shape
        worst = numpy.abs(value - want).max() / numpy.abs(want).max()
        assert worst <= F32_TOLERANCE, f"{name} is off by {worst:.2e} of the largest value"


@pytest.mark.parametrize("folder, facts, plan, degree", accepted())
def test_bf16(folder, facts, plan, degree):
    inputs = load_file(folder / "inputs.safetensors")
    expected = load_file(folder / "expected.safetensors")
    outputs = compiled(folder, facts, plan, degree, "bf16").run(folder, inputs)
    for name, value in outputs.items():
        own = numpy.abs(expected[f"{name}_bf16"] - expected[name]).max()
        worst = numpy.abs(value - expected[name]).max()
        assert worst <= BF16_FACTOR * own, (
            f"{name} is {worst:.3e} from PyTorch's f32, PyTorch's bf16 only {own:.3e}")


@pytest.mark.parametrize("folder, facts, degree", refused())
def test_refusal(folder, facts, degree):
    with pytest.raises(tp_mlir.InputError) as error:
        compiled(folder, facts, "megatron", degree, None)
    text = str(error.value)
    heads = facts["query_heads"], facts["kv_heads"]
    fits = [n for n in range(1, heads[0] + 1)
            if heads[0] % n == 0 and (heads[1] % n == 0 or n % heads[1] == 0)]
    assert f"degree {degree}" in text
    assert f"degrees that fit: {', '.join(map(str, fits))}" in text
