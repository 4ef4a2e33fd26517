"""Quantised checkpoints at every degree against the numbers that they stand for.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json

import numpy
import pytest
import quantised

import tp_mlir
from tp_mlir import _tools

SEED = 20261126
TOKENS = 9
PLANS = ("megatron", "megatron-sp")


def compiled(folder, degree=1, plan=None, **options):
    if json.loads((folder / "config.json").read_text()).get(
            "quantization_config", {}).get("activation_scheme"):
        options["activations"] = "float"
    return tp_mlir.compile(folder, mesh=f"tp={degree}", plan=plan, seq=8, dtype="f32", **options)


def inputs(vocabulary=67):
    ids = numpy.random.default_rng(SEED).integers(0, vocabulary, (1, 8))
    return {"input_ids": ids}


def compare(folder, plain, degrees, plans=PLANS):
    expected = compiled(plain).run(plain, inputs())
    for degree in degrees:
        for plan in plans:
            got = compiled(folder, degree, plan).run(folder, inputs())
            for name, value in expected.items():
                error = numpy.abs(got[name] - value).max() / numpy.abs(value).max()
                assert error < 2e-5, f"{name} at {degree} under {plan}, seed {SEED}"


@pytest.mark.parametrize("name", quantised.FORMATS)
def test_formats(tmp_path, name):
    folder, plain = quantised.write(tmp_path, name, SEED)
    compare(folder, plain, (1, 2, 4, 8) if name in ("gptq", "fp8-blocks") else (1, 4))
