"""Compares the choice of rows in parts with all others, by the times of the scheduled programs.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: choose_rows.py MODELS [--all]

Of some models, plans, degrees, lengths and links (with --all: of all) `--overlap auto` takes no longer than any forced
number of parts that needs at most a twentieth more memory than whole rows.
"""

import itertools
import json
import pathlib
import random
import subprocess
import sys

MODELS = pathlib.Path(sys.argv[1])
CASES = list(itertools.product(("llama-3-8b", "llama-3-70b", "gemma-2-27b"), ("megatron", "megatron-sp"), (2, 8),
                               (128, 1024, 4096), ("h100", "l40s"), (False, True)))
SEED = 7
# The part of the time that parts must leave to be chosen.
MOST_TIME = 0.99
# Of the peak with whole rows, a little below the limit of the choice, which counts constants otherwise.
MOST_MEMORY = 1.045


def functions(case, overlap):
    """Of each function its seconds and its bytes."""
    model, plan, degree, seq, link, trains = case
    run = subprocess.run(["tp-compile", MODELS / model, "--mesh", f"tp={degree}", "--plan", plan, "--seq", str(seq),
                          "--dtype", "bf16", "--link", link, "--overlap", overlap, "--explain=json",
                          *(["--train=adamw"] if trains else ["--target", "cuda:ptx"])],
                         check=True, capture_output=True, text=True)
    return {one["name"]: one for one in json.loads(run.stdout)["functions"]}


def check(case):
    """How many functions are in parts, of how many."""
    auto = functions(case, "auto")
    forced = [functions(case, f"rows={parts}") for parts in (2, 3, 4)]
    off = functions(case, "off")
    for name, chosen in auto.items():
        time = chosen["seconds"]["total"]
        whole = chosen.get("unsplit_seconds", chosen["seconds"])["total"]
        assert time <= whole, (case, name, time, whole)
        for parts in forced:
            if parts[name]["memory"]["peak"] <= MOST_MEMORY * off[name]["memory"]["peak"]:
                least = parts[name]["seconds"]["total"]
                assert time * MOST_TIME <= least, (case, name, time, least)
    return sum("unsplit_seconds" in one for one in auto.values()), len(auto)


drawn = CASES if "--all" in sys.argv else random.Random(SEED).sample(CASES, 4)
counts = [check(case) for case in drawn]
assert any(split for split, _ in counts), drawn
print(sum(split for split, _ in counts), "of", sum(all for _, all in counts), "functions in parts")
