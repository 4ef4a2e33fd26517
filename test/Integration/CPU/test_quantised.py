"""Quantised checkpoints at every degree against the numbers that they stand for.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json

import numpy
import pytest
import quantised
from safetensors.numpy import load_file

import tp_mlir
from tp_mlir import _tools

SEED = 20261126
TOKENS = 9
PLANS = ("megatron", "megatron-sp")


def compiled(folder, degree=1, plan=None, **options):
    recipe = json.loads((folder / "config.json").read_text()).get("quantization_config", {})
    if recipe.get("quant_method") in ("fp8", "fbgemm_fp8") or (
            folder / "hf_quant_config.json").exists():
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
    """Five groups over four ranks, of which the last has fewer."""
    folder, plain = quantised.write(tmp_path, name, SEED)
    compare(folder, plain, (1, 4))


@pytest.mark.parametrize("name", ("gptq", "fp8-blocks", "int8-asymmetric"))
def test_degrees(tmp_path, name):
    """Up to one group a rank, with KV heads on several ranks."""
    folder, plain = quantised.write(tmp_path, name, SEED, intermediate_size=256)
    compare(folder, plain, (2, 4, 8))


@pytest.mark.parametrize("name", quantised.RECIPES)
def test_recipes(tmp_path, name):
    """Inputs are rounded as the recipe says, whichever parts of them ranks have. A number that is
    rounded the other way here and there, because it was computed in f32, is what may differ."""
    folder, plain = quantised.write(tmp_path, name, SEED, recipes=True)
    c, weights = quantised.config(), load_file(plain / "model.safetensors")
    ids = inputs()["input_ids"][0]
    recipe = quantised.RECIPES[name][2]
    expected = quantised.forward(c, weights, ids, recipe)
    unrounded = quantised.forward(c, weights, ids)
    effect = numpy.linalg.norm(unrounded - expected)
    for degree in (1, 2, 4):
        for plan in PLANS:
            program = tp_mlir.compile(folder, mesh=f"tp={degree}", plan=plan, seq=8, dtype="f32")
            (got,) = program.run(folder, inputs()).values()
            error = numpy.linalg.norm(got[0] - expected)
            assert error < 0.2 * effect, f"{name} at {degree} under {plan}, seed {SEED}"
