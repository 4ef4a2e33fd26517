"""The text model continues what it knows, at every degree and in both types.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

continuations.json has prompts, what `transformers` generates from them, and how far the best
token lies above the second at the least. Each prompt goes in with its continuation: every
token of it must be the one that the tokens before it lead to.
"""

import json

import numpy
import pytest
from reference import FIXTURES

import tp_mlir

FOLDER = FIXTURES / "text-model"
CASES = json.loads((FOLDER / "continuations.json").read_text(encoding="utf-8"))["continuations"]
CONTEXT = 512


@pytest.mark.parametrize("degree, dtype", [(1, "f32"), (2, "bf16"), (4, "f16"), (8, "f32")])
def test_continuations(degree, dtype):
    ids = numpy.zeros((len(CASES), CONTEXT), numpy.int64)
    for row, case in zip(ids, CASES):
        whole = case["prompt_ids"] + case["ids"]
        row[:len(whole)] = whole
    program = tp_mlir.compile(FOLDER, mesh=f"tp={degree}", batch=len(CASES), seq=CONTEXT,
                              dtype=dtype)
    logits = program.run(FOLDER, {"input_ids": ids})["logits"]
    for case, row in zip(CASES, logits):
        begin = len(case["prompt_ids"])
        given = row[begin - 1:begin - 1 + len(case["ids"])]
        assert given.argmax(axis=1).tolist() == case["ids"]
        best = numpy.sort(given, axis=1)
        margin = (best[:, -1] - best[:, -2]).min()
        # PyTorch's own margins differ between the types by as much.
        want = case["margins"]
        assert margin == pytest.approx(want["f32"], abs=1e-3 if dtype == "f32" else
                                       0.2 + 2 * abs(want["f32"] - want["bf16"]))
