"""Quantised checkpoints on the library that stands for CUDA, against the host: without a card.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A few formats, or DEVICE_CASES=all in the environment: every format at 1, 2 and 4.
"""

import json
import os
import subprocess

import numpy
import pytest
import quantised
from device import BIN, Artifact
from safetensors.numpy import save_file

import tp_mlir

SEED = 20261127
ALL = os.environ.get("DEVICE_CASES") == "all"
CASES = [("gptq-order", 2, 8), ("fp8-blocks", 2, 20), ("gpt-oss", 2, 8)]
if ALL:
    CASES = [(name, degree, seq) for name in (*quantised.FORMATS, "gpt-oss") for degree in (1, 2, 4)
             for seq in (8, 20)]


def run(tmp_path, name, degree, dtype="f32", seq=8, recipes=False):
    """(of the device, of the host in f32, the artifact): logits of as many tokens, and what the host
    computes of the numbers that the weights stand for, or of the recipe."""
    folder, plain = (quantised.write_gpt_oss(tmp_path, SEED) if name == "gpt-oss" else
                     quantised.write(tmp_path, name, SEED, recipes=recipes))
    ids = numpy.random.default_rng(SEED).integers(0, 67, (1, seq))
    reference = folder if recipes else plain
    expected = tp_mlir.compile(reference, seq=seq, dtype="f32").run(reference, {"input_ids": ids})
    options = {"activations": "float"} if "blocks" in name and not recipes else {}
    artifact = Artifact(tmp_path, folder, degree=degree, seq=seq, dtype=dtype, **options)
    save_file({"input_ids": ids}, tmp_path / "inputs.safetensors")
    got = artifact.run(tmp_path / "inputs.safetensors")
    (got,), (expected,) = got.values(), expected.values()
    return got.astype(numpy.float64), expected.astype(numpy.float64), artifact


@pytest.mark.parametrize("name, degree, seq", CASES)
def test_formats(tmp_path, name, degree, seq):
    """In f32: few rows, and more, where tensor cores multiply an input in three parts."""
    got, expected, _ = run(tmp_path, name, degree, seq=seq)
    assert numpy.abs(got - expected).max() < 2e-5 * numpy.abs(expected).max(), SEED


def test_16_bits(tmp_path):
    """The errors of a model whose weights are exact and whose activations are rounded to 2^-9. The
    device holds the packed bytes and their scales, and nothing wider."""
    got, expected, artifact = run(tmp_path, "int4-g16", 1, dtype="bf16", seq=20)
    assert numpy.linalg.norm(got - expected) < 0.05 * numpy.linalg.norm(expected), SEED
    result = subprocess.run(
        [BIN / "tp-run", tmp_path / "model.tpa", "--weights", artifact.model, "--input",
         tmp_path / "inputs.safetensors", "--stats", "json"],
        env=artifact.environment(), capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    (rank,) = json.loads(result.stdout)["ranks"]
    packed = quantised.LAYERS * (2 * (64 + 16) + 3 * 160) * 64 // 2
    scales, others = packed * 2 // 16 * 4, (2 * 67 + 2 * quantised.LAYERS + 1) * 64 * 2
    assert packed < rank["parameter_bytes"] < 1.05 * (packed + scales + others)
    taken = rank["device"]["allocated_bytes"] - rank["device"]["workspace_bytes"]
    assert abs(taken - rank["stated_peak_bytes"]) <= 0.03 * rank["stated_peak_bytes"]


def test_recipe(tmp_path):
    """Inputs of f32 that were rounded to eight bits: here and there one is rounded the other way."""
    got, expected, _ = run(tmp_path, "fp8-token", 2, seq=12, recipes=True)
    assert numpy.linalg.norm(got - expected) < 0.02 * numpy.linalg.norm(expected), SEED
