"""tp-run --generate on every fixture that can, at every degree, beside the plain program.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Each new token must be the likeliest that the plain forward gives after the prompt and the
tokens before, where that is clear; its log-probability must be the plain one everywhere.
Prompts end before, at and behind the end of a page and of the window; all run together, in
more requests than rows, and one page holds what two of them begin with. FIXTURE=name in
the environment runs one folder.
"""

import json

import numpy
import pytest
from reference import F32_TOLERANCE, fixtures
from safetensors.numpy import load_file, save_file

from tp_mlir import _tools

FAMILIES = ("gpt2", "llama", "mistral", "qwen2", "qwen3")
PAGE, NEW, ROWS, CHUNK = 32, 6, 3, 8


def cases():
    for folder, facts in fixtures():
        if facts["family"] in FAMILIES and "logits" in facts["outputs"]:
            for degree in facts["degrees"]:
                if degree <= 8:
                    yield pytest.param(folder, degree, id=f"{folder.name}-{degree}")


def prompts_for(config, longest):
    random = numpy.random.default_rng(20261123)
    lengths = {1, 5, PAGE - 1, PAGE, PAGE + 1}
    window = config.get("sliding_window")
    if window:
        lengths |= {window - 1, window, window + 1}
    prompts = [random.integers(0, config["vocab_size"], n).tolist()
               for n in sorted(lengths, reverse=True) if n + NEW <= longest]
    # Begins as the longest, which is computed when its turn comes.
    return prompts + [prompts[0][:-1] + [1]]


def plain_logits(program, folder, texts, seq, tmp_path):
    ids = numpy.zeros((len(texts), seq), numpy.int64)
    for row, text in enumerate(texts):
        ids[row, :len(text)] = text
    save_file({"input_ids": ids}, tmp_path / "in.safetensors")
    _tools.run("tp-run", [program, "--weights", folder, "--entry", "main",
                          "--input", tmp_path / "in.safetensors",
                          "--output", tmp_path / "out.safetensors"])
    return load_file(tmp_path / "out.safetensors")["logits"].astype(numpy.float64)


@pytest.mark.parametrize("folder, degree", cases())
def test_generate(folder, degree, tmp_path):
    config = json.loads((folder / "config.json").read_text())
    longest = min(config.get("max_position_embeddings") or config["n_positions"], 2 * PAGE)
    prompts = prompts_for(config, longest)
    program = tmp_path / "program.tpa"
    _tools.run("tp-compile", [folder, "--generate", "--mesh", f"tp={degree}", "--dtype", "f32",
                              "--context", longest, "--rows", ROWS, "--chunk", CHUNK,
                              "--batch", len(prompts), "--seq", longest, "-o", program])
    (tmp_path / "prompts.json").write_text(json.dumps(prompts))
    printed = _tools.run("tp-run", [program, "--weights", folder, "--generate",
                                    tmp_path / "prompts.json", "--max-tokens", NEW,
                                    "--logprobs", 1, "--stats=json",
                                    "--output", tmp_path / "answers.json"])
    answers = json.loads((tmp_path / "answers.json").read_text())
    texts = [prompt + answer["ids"] for prompt, answer in zip(prompts, answers, strict=True)]
    logits = plain_logits(program, folder, texts, longest, tmp_path)
    stops = json.loads(printed)["generation"]
    assert stops["cache"]["used"] == 0
    if len(prompts[-1]) > PAGE:
        assert stops["tokens"]["prefix_hits"] > 0
    tolerance = 2 * F32_TOLERANCE * numpy.abs(logits).max()
    eos = config.get("eos_token_id")
    for row, (prompt, answer) in enumerate(zip(prompts, answers)):
        assert 1 <= len(answer["ids"]) <= NEW
        ended = answer["ids"][-1] in (eos if isinstance(eos, list) else [eos])
        assert answer["finish"] == ("stop" if ended else "length")
        assert ended or len(answer["ids"]) == NEW
        for i, token in enumerate(answer["ids"]):
            given = logits[row, len(prompt) + i - 1]
            best = numpy.sort(given)[-2:]
            clear = best[1] - best[0] > 2 * tolerance
            assert token == given.argmax() or not clear, f"token {i} of prompt {row}"
            wanted = given[token] - best[1] - numpy.log(numpy.exp(given - best[1]).sum())
            assert abs(answer["logprobs"][i]["logprob"] - wanted) <= 2 * tolerance, (
                f"token {i} of prompt {row}")
