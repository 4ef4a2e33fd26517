"""Every fixture, compiled for a device, against PyTorch: without a card.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The tolerances are those of the CPU (Integration/CPU/test_fixtures.py). FIXTURE=name
runs one folder; TP_CUDA_TESTS=all runs every degree up to 4 in every plan and type,
otherwise each fixture is run with each plan and type, at the degrees in turn.
"""

import json
import os

import numpy
import pytest
from device import FIXTURES, Artifact
from safetensors.numpy import load_file

F32_TOLERANCE = 2e-5
BF16_FACTOR = 1.5
ALL = os.environ.get("TP_CUDA_TESTS") == "all"


def cases():
    turn = 0
    for path in sorted(FIXTURES.glob("*/fixture.json")):
        folder, facts = path.parent, json.loads(path.read_text())
        if folder.name == "all-minilm-l6-v2":
            continue
        wanted = os.environ.get("FIXTURE", folder.name) == folder.name
        for plan in ("megatron", "megatron-sp"):
            degrees = facts["degrees"] if plan == "megatron" else facts["degrees_sp"]
            degrees = [degree for degree in degrees if degree <= 4]
            for dtype in ("f32", "bf16"):
                turn += 1
                for degree in degrees if ALL else [degrees[turn % len(degrees)]]:
                    if wanted:
                        yield pytest.param(folder, facts, plan, degree, dtype,
                                           id=f"{folder.name}-{plan}-{degree}-{dtype}")


@pytest.mark.parametrize("folder, facts, plan, degree, dtype", cases())
def test_fixture(folder, facts, plan, degree, dtype, tmp_path):
    artifact = Artifact(tmp_path, folder, degree=degree, plan=plan, batch=facts["batch"],
                        seq=facts["seq"], dtype=dtype)
    outputs = artifact.run(folder / "inputs.safetensors")
    expected = load_file(folder / "expected.safetensors")
    assert set(outputs) == set(facts["outputs"])
    for name, value in outputs.items():
        want = expected[name]
        assert value.shape == want.shape
        worst = numpy.abs(value - want).max()
        assert not numpy.isnan(value).any()
        if dtype == "f32":
            worst /= numpy.abs(want).max()
            assert worst <= F32_TOLERANCE, f"{name} is off by {worst:.2e} of the largest value"
        else:
            own = numpy.abs(expected[f"{name}_bf16"] - want).max()
            assert worst <= BF16_FACTOR * own, (
                f"{name} is {worst:.3e} from PyTorch's f32, PyTorch's bf16 only {own:.3e}")
