"""tp-run --generate on every fixture that can, beside transformers.generate.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

All prompts run together, in more requests than rows; most are longer than a step, and one
page holds what two of them begin with. Degrees are the ends that generation.py has, of a few fixtures
all up to 4; GENERATION_DEGREES=all in the environment: of all up to 8. FIXTURE=name runs one folder.
"""

import json

import pytest
from generation import (ALL, CHUNK, EVERY_DEGREE, PAGE, ROWS, causal, compiled, ends,
                        recorded)
from reference import F32_TOLERANCE

from tp_mlir import _tools


def cases():
    chosen = set(ends())
    for folder, _, degree in causal():
        if ALL or (folder, degree) in chosen or folder.name in EVERY_DEGREE and degree <= 4:
            yield pytest.param(folder, degree, id=f"{folder.name}-{degree}")


@pytest.mark.parametrize("folder, degree", cases())
def test_generate(folder, degree, tmp_path):
    facts, texts = recorded(folder), recorded(folder)["texts"]
    prompts = [text["prompt"] for text in texts]
    assert len(prompts) > ROWS and max(map(len, prompts)) > CHUNK
    (tmp_path / "prompts.json").write_text(json.dumps(prompts))
    printed = _tools.run("tp-run", [
        compiled(folder, degree).path, "--weights", folder, "--backend", "threads",
        "--generate", tmp_path / "prompts.json", "--logprobs", 0, "--stats=json",
        "--max-tokens", max(len(text["ids"]) for text in texts),
        "--output", tmp_path / "answers.json"])
    answers = json.loads((tmp_path / "answers.json").read_text())
    tolerance = F32_TOLERANCE * facts["largest"]
    for text, answer in zip(texts, answers, strict=True):
        # Two logits may each be off by the tolerance, here and in PyTorch.
        assert min(text["margins"]) > 4 * tolerance
        assert (answer["ids"], answer["finish"]) == (text["ids"], text["finish"])
        given = [one["logprob"] for one in answer["logprobs"]]
        assert given == pytest.approx(text["logprobs"], rel=0, abs=2 * tolerance)
    counts = json.loads(printed)["generation"]
    assert counts["cache"]["used"] == 0
    assert counts["tokens"]["generated"] == sum(len(text["ids"]) for text in texts)
    if max(map(len, prompts)) > PAGE:
        assert counts["tokens"]["prefix_hits"] >= PAGE
