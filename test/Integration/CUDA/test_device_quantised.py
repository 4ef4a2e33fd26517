"""Quantised checkpoints on the library that stands for CUDA, against the host: without a card.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy
import pytest
import quantised
from device import Artifact
from safetensors.numpy import save_file

import tp_mlir

SEED = 20261127


def check(tmp_path, name, degree, plan="megatron", dtype="f32", tolerance=2e-5, recipes=False,
          seq=8, **changes):
    folder, plain = quantised.write(tmp_path, name, SEED, recipes=recipes, **changes)
    options = {} if recipes or "blocks" not in name else {"activations": "float"}
    ids = numpy.random.default_rng(SEED).integers(0, 67, (1, seq))
    reference = folder if recipes else plain
    expected = tp_mlir.compile(reference, seq=seq, dtype="f32").run(
        reference, {"input_ids": ids})
    artifact = Artifact(tmp_path, folder, degree=degree, plan=plan, seq=seq, dtype=dtype,
                        **options)
    save_file({"input_ids": ids}, tmp_path / "inputs.safetensors")
    got = artifact.run(tmp_path / "inputs.safetensors")
    for key, value in expected.items():
        error = numpy.abs(got[key].astype(numpy.float32) - value).max() / numpy.abs(value).max()
        assert error < tolerance, f"{key} of {name} at {degree} under {plan}, seed {SEED}"
    return artifact


@pytest.mark.parametrize("degree", (1, 2))
@pytest.mark.parametrize("name", quantised.FORMATS)
def test_formats(tmp_path, name, degree):
    check(tmp_path, name, degree)
