"""Generation with short convolutions and linear attention, whose cache keeps the last inputs of each page.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Texts that begin alike, in chunks that end anywhere, on so few pages that texts lose theirs: each
chosen token, and its log-probability, is the plain program's. test_families.py compares the plain
program and short answers with PyTorch.
"""

import json

import numpy
import pytest
from families import FAMILIES
from reference import F32_TOLERANCE

import tp_mlir
from tp_mlir import _tools
from tp_mlir._generator import open_engine

LENGTH, NEW = 48, 6


def texts(seed=3):
    generator = numpy.random.default_rng(seed)
    draw = lambda count: generator.integers(3, 67, count).tolist()
    common = draw(40)
    return [common[:33], common[:32], common[:40], common[:36] + draw(3), draw(31), draw(2),
            common[:32] + draw(1), draw(1)]


def log_softmax(logits):
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - numpy.log(numpy.exp(shifted).sum(-1, keepdims=True))


def generate(program, folder, place, *options):
    (place / "prompts.json").write_text(json.dumps(texts()))
    printed = _tools.run("tp-run", [
        program.path, "--weights", folder, "--backend", "threads", "--generate",
        place / "prompts.json", "--logprobs", 0, "--max-tokens", NEW, "--stats=json",
        "--output", place / "answers.json", *options])
    return json.loads((place / "answers.json").read_text()), json.loads(printed)["generation"]


@pytest.mark.parametrize("name, degree, chunk, rows, cells", [
    ("lfm2", 1, 7, 3, 64), ("lfm2", 2, 5, 8, 128), ("lfm2-bias", 4, 8, 3, 64),
    ("qwen3-next", 1, 7, 3, 64), ("qwen3-next", 4, 40, 2, 128), ("qwen3.5", 2, 5, 3, 64), ("granite-h", 2, 7, 3, 64)])
def test_as_the_plain_program(name, degree, chunk, rows, cells, tmp_path):
    """The law: any chunks, rows and pages give the plain program's logits."""
    folder = FAMILIES / name
    program = tp_mlir.compile(folder, mesh=f"tp={degree}", batch=len(texts()), seq=LENGTH, dtype="f32",
                              generate=True, context=LENGTH, rows=rows, chunk=chunk, cells=cells, page=32)
    answers, counts = generate(program, folder, tmp_path)
    whole = [prompt + answer["ids"] for prompt, answer in zip(texts(), answers, strict=True)]
    ids = numpy.array([text + [0] * (LENGTH - len(text)) for text in whole], dtype=numpy.int64)
    mask = numpy.array([[i < len(text) for i in range(LENGTH)] for text in whole], dtype=numpy.int64)
    logits = program.run(folder, {"input_ids": ids, "attention_mask": mask})["logits"]
    tolerance = 4 * F32_TOLERANCE * numpy.abs(logits).max()
    for row, (prompt, answer) in enumerate(zip(texts(), answers, strict=True)):
        probabilities = log_softmax(logits[row].astype(numpy.float64))
        for i, (token, told) in enumerate(zip(answer["ids"], answer["logprobs"], strict=True)):
            at = probabilities[len(prompt) + i - 1]
            assert told["logprob"] == pytest.approx(at[token], abs=tolerance)
            assert at[token] >= at.max() - tolerance
    assert counts["tokens"]["prefix_hits"] >= 32
    assert cells > 64 or counts["requests"]["recomputed"] > 0


def test_guesses(tmp_path):
    """A wrong guess cannot be taken back: tp-run and an engine say so."""
    folder = FAMILIES / "lfm2"
    program = tp_mlir.compile(folder, dtype="f32", generate=True, context=LENGTH, rows=2, chunk=2)
    with pytest.raises(tp_mlir.ToolError) as refused:
        generate(program, folder, tmp_path, "--speculate", "3")
    assert ("prompt_lookup_num_tokens (--speculate): expected 0, got 3, as this model's convolutions keep "
            "the inputs of the last positions alone, and a wrong guess overwrites them") in str(refused.value)
    with pytest.raises(tp_mlir.UsageError, match="expected speculate 0, got 2, as this model's "
                       "convolutions keep the inputs of the last positions alone, and a wrong guess "
                       "overwrites them"):
        open_engine(folder, program=program.path, speculate=2)
