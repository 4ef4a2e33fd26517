"""The memory of a program that generates: as stated, and refused where there is too little.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

What a refusal says that fits is not refused, and a little more is: the program goes on to
look for weights, which are not there, so that nothing is ever allocated.
"""

import json
import random
import re
import subprocess

import pytest
from reference import FIXTURES

from tp_mlir import _tools

ROWS, CONTEXT = 4096, 131072
REFUSAL = re.compile(
    r"tp-run: error: artifact '.*': a rank needs ([\d.]+ \w+) with its cache of (\d+) tokens, "
    r"for (\d+) rows of at most (\d+), and ([\d.]+ \w+) are there for each of 8 ranks on this host; "
    r"tp-compile --cells (\d+), --rows (\d+) or --context (\d+) fits\n")


def size(text):
    """A number, or the bytes of a text such as 39.5 GiB."""
    number, _, unit = text.partition(" ")
    units = ("B", "KiB", "MiB", "GiB", "TiB")
    return float(number) * 1024**units.index(unit) if unit else int(number)


@pytest.fixture(name="prompts")
def write_prompts(tmp_path):
    path = tmp_path / "prompts.json"
    path.write_text("[[1, 2, 3], [4]]")
    return path


def test_allocated_is_stated(tmp_path, prompts):
    folder, program = FIXTURES / "text-model", tmp_path / "program.tpa"
    # main, which needs much more than the steps, does not run.
    told = subprocess.run(
        [_tools.find("tp-compile"), folder, "--generate", "--rows", "64", "--chunk", "2", "--batch",
         "8", "--seq", "512", "--mesh", "tp=2", "-o", program], check=True, capture_output=True,
        text=True).stderr
    assert re.search(r"entry step_2: peak per rank .*, of it states 32\.0 MiB, intermediates", told)
    printed = _tools.run("tp-run", [program, "--weights", folder, "--generate", prompts,
                                    "--max-tokens", 3, "--stats=json",
                                    "--output", tmp_path / "answers.json"])
    ranks = json.loads(printed)["ranks"]
    assert len(ranks) == 2
    for rank in ranks:
        # What threads and products need is counted by the runtime.
        taken, stated = rank["peak_bytes"] - rank["scratch_bytes"], rank["stated_peak_bytes"]
        assert abs(taken - stated) <= 0.03 * stated
        assert 0.9 * stated < rank["state_bytes"] < stated


def manifest(program):
    return json.loads(_tools.run("tp-inspect", ["--json", program]))["manifest"]


class Large:
    """A model whose cache may be larger than any machine's memory."""

    def __init__(self, folder, prompts):
        self.folder, self.prompts = folder, prompts
        config = json.loads((FIXTURES / "llama-gqa" / "config.json").read_text())
        config |= {"max_position_embeddings": CONTEXT, "num_key_value_heads": 8, "head_dim": 64}
        (folder / "config.json").write_text(json.dumps(config))

    def refusal(self, rows=ROWS, context=CONTEXT, backend="threads", more=()):
        """The numbers that it tells, or none if another error does."""
        program = self.folder / "program.tpa"
        _tools.run("tp-compile", [self.folder, "--generate", "--rows", rows, "--context", context,
                                  "--chunk", 1, "--seq", 1, "--mesh", "tp=8", "-o", program, *more])
        result = subprocess.run(
            [_tools.find("tp-run"), program, "--weights", self.folder / "none", "--backend",
             backend, "--generate", self.prompts, "--output", self.folder / "answers.json"],
            check=False, capture_output=True, text=True)
        assert result.returncode == 1
        found = REFUSAL.fullmatch(result.stderr)
        assert found or "none" in result.stderr
        return found and [size(group) for group in found.groups()]


def test_what_fits_is_told(tmp_path, prompts):
    large = Large(tmp_path, prompts)
    needed, cells, rows, context, there, fits, fewer, shorter = large.refusal()
    assert (rows, context) == (ROWS, CONTEXT) and needed > there > 0
    assert cells == ROWS * CONTEXT
    # A head of 64 numbers of 4 bytes, keys and values, in 2 layers.
    assert needed >= 1024 * ROWS * CONTEXT
    assert large.refusal(backend="processes")[4:] == [there, fits, fewer, shorter]
    assert not large.refusal(rows=fewer)
    assert not large.refusal(context=shorter)
    assert not large.refusal(more=["--cells", fits])
    # One more may do, as the tables of pages are smaller too.
    assert large.refusal(rows=fewer + 2)
    assert large.refusal(context=shorter + 64)
    assert large.refusal(more=["--cells", fits + 32])
    # All that there is, and no more than that.
    assert not large.refusal(more=["--memory", "1.0"])


def test_the_cache_takes_what_is_left(tmp_path):
    """The stated peak of the largest step is the memory that was given, but for part of a page."""
    folder, program = FIXTURES / "text-model", tmp_path / "program.tpa"
    page = 32 * 1024  # Of two ranks: 4 layers, keys and values, 1 head of 32 numbers of 4 bytes.
    rng = random.Random(7)
    print("seed 7")
    for mesh, target in (("tp=2", "cpu"), ("tp=2", "cuda:ptx")):
        given = rng.randint(6 << 20, 9 << 20) // 1024
        told = subprocess.run(
            [_tools.find("tp-compile"), folder, "--generate", "--memory", f"{given}KiB", "--mesh",
             mesh, "--chunk", "64", "--target", target, "-o", program],
            check=True, capture_output=True, text=True).stderr
        cells = int(re.search(r"^cache +(\d+) tokens, of 8192 that all rows can fill$", told,
                              re.MULTILINE)[1])
        stated = max(entry["peak_bytes"] for entry in manifest(program)["entries"]
                     if entry["name"].startswith("step_"))
        assert manifest(program)["generation"]["cells"] == cells
        assert given * 1024 - page < stated <= given * 1024
