"""Generation on the library that stands for CUDA.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Beside the host's program: prompts end before, at and behind the end of a page and of the window,
and all run together, in more requests than rows: every step but the first few has other lengths,
rows and pages than the one that its graph was recorded at. A length that a launch kept would give
other tokens. Each entry that ran has one graph, and every step was a launch of it. Beside what
transformers made of a checkpoint's own prompts: what changes the kernels or who has what, each
once; models that differ in other things have row kernels of other shapes.
"""

import json
import os
import re
import subprocess
import sys

import pytest
from device import BIN, FIXTURES, Artifact
from families import FAMILIES, degrees
from generation import causal

import tp_mlir

sys.path.insert(1, str(FIXTURES.parents[1] / "scripts"))
from gpu_check.generation import Judge, context_of, texts_of  # noqa: E402  (needs the path)

PAGE, NEW, ROWS, CHUNK = 32, 4, 3, 8
OPTIONS = {"generate": "true", "rows": ROWS, "chunk": CHUNK, "dtype": "f32"}


def prompts_for(config):
    lengths = {1, PAGE - 1, PAGE, PAGE + 1}
    if window := config.get("sliding_window"):
        lengths |= {window - 1, window, window + 1}
    size = config["vocab_size"]
    prompts = [[(7 * n + 3 * i * i + i) % size for i in range(n)]
               for n in sorted(lengths, reverse=True)]
    # Begins as the longest, whose pages it finds.
    return prompts + [prompts[0][:-1] + [1]]


def generate(program, folder, prompts, *options, new=NEW, environment=None):
    """The answers, the statistics and standard error."""
    file, out = program.parent / "prompts.json", program.parent / "answers.json"
    file.write_text(json.dumps(prompts))
    done = subprocess.run(
        [BIN / "tp-run", program, "--weights", folder, "--generate", file, "--max-tokens",
         str(new), "--logprobs", "1", "--stats=json", "--output", out, *options],
        capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text()), json.loads(done.stdout), done.stderr


def on_host(folder, prompts, tmp_path, options, draws):
    program = tmp_path / "host.tpa"
    command = [BIN / "tp-compile", folder, "-o", program]
    command += [f"--{name}={value}" for name, value in options.items()]
    subprocess.run(command, check=True, capture_output=True)
    return [generate(program, folder, prompts, *draw)[0] for draw in draws]


def check_graphs(stats, errors, degree):
    """One graph of each entry that ran, on each rank, and no step outside of them."""
    launches = [int(n) for n in re.findall(r"a graph of \d+ nodes, launched (\d+) times", errors)]
    entries = [entry["count"] for entry in stats["steps"]["entries"].values()]
    assert sorted(launches) == sorted(entries * degree)
    assert max(entries) > 3, "no graph was replayed"


@pytest.mark.parametrize("fixture, degree, cache, tolerance, context", [
    ("fixtures/llama-gqa", 2, "f32", 1e-4, 2 * PAGE),
    ("fixtures/mistral-window", 1, "bf16", 2e-2, 2 * PAGE),
    # ALiBi: a bias of positions.
    ("families/mpt", 1, "f32", 1e-4, PAGE + 16),
    # Mixtures of experts, one on a latent cache.
    ("fixtures/mixtral", 2, "f32", 1e-4, 2 * PAGE),
    ("fixtures/deepseek-v3", 1, "f32", 1e-4, 2 * PAGE)])
def test_generate(fixture, degree, cache, tolerance, context, tmp_path):
    folder = FIXTURES.parent / fixture
    config = json.loads((folder / "config.json").read_text())
    prompts = prompts_for(config)
    options = {**OPTIONS, "kv-dtype": cache, "context": context}
    draws = [[], ["--temperature=1", "--top-p=0.9", "--seed=3"]][:degree]
    expected = on_host(folder, prompts, tmp_path, options, draws)
    # The emulator's own tests have the kernels' accesses checked.
    made = Artifact(tmp_path, folder, degree=degree, checks=False, **options)
    for seed, (draw, wanted) in enumerate(zip(draws, expected)):
        environment = made.environment(TP_FAKE_CUDA_SEED=seed, TP_FAKE_CUDA_LOG=1)
        answers, stats, errors = generate(tmp_path / "model.tpa", folder, prompts,
                                          "--backend=nccl", *draw, environment=environment)
        assert [answer["ids"] for answer in answers] == [answer["ids"] for answer in wanted]
        for answer, right in zip(answers, wanted):
            for own, other in zip(answer["logprobs"], right["logprobs"]):
                assert abs(own["logprob"] - other["logprob"]) <= tolerance
        check_graphs(stats, errors, degree)
        assert stats["generation"]["tokens"]["prefix_hits"] > 0


RECORDED = [
    # One KV head, which both ranks have; half of the vocabulary and a padded row on each.
    ("fixtures/llama-mqa/generation.json", 2, "bf16"),
    # A latent cache in 16 bits, experts beside it.
    ("fixtures/deepseek-v2/generation.json", 2, "bf16"),
    # Soft caps, a tied table, a window in every second layer.
    ("families/gemma2/prompts.json", 2, "f32")]


def recorded():
    """With DEVICE_CASES=all every fixture and family, at each degree up to 4 that it has; of
    families, random weights without margins, f32 alone."""
    if os.environ.get("DEVICE_CASES") != "all":
        yield from RECORDED
        return
    for folder, _, degree in causal(range(1, 5)):
        for dtype in ("f32", "bf16"):
            yield f"fixtures/{folder.name}/generation.json", degree, dtype
    for path in sorted(FAMILIES.glob("*/prompts.json")):
        for degree in degrees(path.parent, 4):
            yield f"families/{path.parent.name}/{path.name}", degree, "f32"


@pytest.mark.parametrize("texts, degree, dtype", recorded())
def test_recorded(texts, degree, dtype, tmp_path):
    """Program and cache of one type."""
    path = FIXTURES.parent / texts
    facts, known = texts_of(path)
    made = Artifact(tmp_path, path.parent, degree=degree, checks=False,
                    **{**OPTIONS, "dtype": dtype, "context": context_of(known), "seq": CHUNK})
    answers, _, _ = generate(
        tmp_path / "model.tpa", path.parent, [text["prompt"] for text in known],
        "--backend=nccl", new=max(len(text["ids"]) for text in known),
        environment=made.environment())
    config = json.loads((path.parent / "config.json").read_text())
    config |= config.get("text_config", {})
    part, wrong = Judge(facts, known, dtype, config["vocab_size"]).compare(answers)
    assert (part <= 1, wrong) == (True, []), part


# The engine opened from Python, which compiles for itself and starts the ranks.
PROGRAM = """
import json, sys, tp_mlir
folder, options, prompts = sys.argv[1], *map(json.loads, sys.argv[2:])
with tp_mlir.LLM(folder, **options) as llm:
    answers = llm.generate(prompts, max_tokens=4)
print(json.dumps([answer.ids for answer in answers]))
"""


def test_from_python(tmp_path):
    """A mixture whose experts lie whole on their ranks."""
    folder, prompts = FIXTURES / "mixtral", [[3, 1, 4], [1], list(range(30))]
    options = {"mesh": "tp=2", "plan": "expert", "rows": 2, "chunk": 4, "context": 64,
               "dtype": "f32"}
    made = Artifact(tmp_path, folder, degree=2, checks=False,
                    **{**options, "generate": "true", "mesh": None})
    with tp_mlir.LLM(folder, **options) as llm:
        expected = [list(answer.ids) for answer in llm.generate(prompts, max_tokens=4)]
    options |= {"target": "cuda:ptx", "timeout": 100}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, folder, json.dumps(options), json.dumps(prompts)],
        capture_output=True, text=True, check=False,
        env=made.environment(TP_FAKE_CUDA_LOG=1))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected
    assert "launched" in done.stderr, "the steps were not a device's"
