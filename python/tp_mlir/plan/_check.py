"""Predictions held against this machine: the program is run, and both figures are shown.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Weights are random, so that a configuration is enough. What a run needs beside the plan (threads'
scratch, which the runtime counts apart) is no part of the memory compared. Of several steps the
fastest counts, which others on the machine have disturbed the least.
"""

import functools
import json
import os
import pathlib
import tempfile

import numpy

from .. import _tools
from . import _memory, _roofline

# Requests of each user, and new tokens of each.
_REQUESTS, _TOKENS = 3, 8


class _Run:
    """One candidate's program and what it needs, in a folder."""

    def __init__(self, model, workload, row, folder, config):
        self.workload, self.row, self.config = workload, row, config
        self.folder = pathlib.Path(folder)
        self.program = self.folder / "program.tpa"
        arguments = [model, "--mesh", row["mesh"], "--plan", row["plan"], "-o", self.program]
        for name, value in workload.options().items():
            if value is True:
                arguments.append(f"--{name}")
            elif value is not None:
                arguments += [f"--{name}", value]
        _tools.run("tp-compile", arguments)

    def ids(self, shape):
        vocabulary = self.config.get("vocab_size", 1000)
        return numpy.random.default_rng(1).integers(0, vocabulary, shape, numpy.int32)

    def stats(self, weights, *arguments):
        return json.loads(_tools.run("tp-run", [self.program, "--weights", weights, *arguments,
                                                "--stats=json"]))

    def serve(self):
        """Stats of users' requests with prompts of one largest step, and the prompts' length."""
        length = min(self.workload.chunk, self.workload.context - _TOKENS)
        prompts = self.folder / "prompts.json"
        prompts.write_text(json.dumps(self.ids(
            (_REQUESTS * self.workload.users, length)).tolist()))
        return self.stats("random:1", "--generate", prompts, "--max-tokens", _TOKENS,
                          "--output", self.folder / "answers.json"), length

    def train(self):
        """Stats of a few steps, and the least seconds of one."""
        workload, log = self.workload, self.folder / "log.jsonl"
        rows = workload.batch * workload.data * workload.accumulate
        numpy.save(self.folder / "tokens.npy", self.ids((rows, workload.seq + 1)))
        stats = self.stats("init:1", "--train", self.folder / "tokens.npy", "--steps", 5,
                           "--accumulate", workload.accumulate, "--lr", 1e-3, "--log", log)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return stats, min(line["seconds"] for line in lines[1:])

    def run(self):
        shape = (self.workload.batch or 1, self.workload.seq)
        numpy.save(self.folder / "ids.npy", self.ids(shape))
        return self.stats("random:1", "--input", f"input_ids={self.folder / 'ids.npy'}",
                          "--repeat", 5)


def _compare(row, what, predicted, measured):
    return {"mesh": row["mesh"], "plan": row["plan"], "what": what, "predicted": predicted,
            "measured": measured, "error": predicted / measured - 1}


def _memory_check(candidate, row, workload, profile, stats):
    """What was taken, beside the plan of the functions that ran."""
    taken = [rank["peak_bytes"] - rank["scratch_bytes"] for rank in stats["ranks"]]
    names = [name for name, steps in stats["steps"]["entries"].items() if steps["count"]]
    stated = _memory.of_program(
        _memory.by_kind(candidate, workload, profile, row["ranks"], names))
    return _compare(row, "memory", stated, max(taken))


def _check_row(candidate, row, run, profile):
    workload = run.workload
    memory = functools.partial(_memory_check, candidate, row, workload, profile)
    if workload.kind == "serve":
        stats, length = run.serve()
        entries = stats["steps"]["entries"]
        yield memory(stats)
        time = _roofline.token(candidate, workload, length + _TOKENS / 2)
        step, _ = _roofline.token_runs(candidate, workload)
        yield _compare(row, "token", time.total, entries[step]["least"])
        if length == workload.chunk and workload.users == 1:
            time = _roofline.prefill(candidate, workload, length)
            yield _compare(row, f"prefill of {length}", time.total,
                           entries[f"step_{length}"]["least"])
    elif workload.kind == "train":
        stats, seconds = run.train()
        yield memory(stats)
        yield _compare(row, "step", row["times"]["step"]["seconds"], seconds)
    else:
        stats = run.run()
        yield memory(stats)
        yield _compare(row, "run", row["times"]["run"]["seconds"],
                       stats["steps"]["entries"]["main"]["least"])


def check(model, workload, profile, candidates, rows, config):
    """Runs what fits on this machine's cores: a list of what was predicted, and measured."""
    if profile.target != "cpu":
        raise ValueError("--check runs on this machine's processor: expected a profile that "
                         f"tp-plan --measure made, got {profile.name}")
    checks = []
    for candidate, row in zip(candidates, rows):
        if "memory" not in row or row["ranks"] > len(os.sched_getaffinity(0)):
            continue
        with tempfile.TemporaryDirectory(prefix="tp-plan-") as folder:
            checks += _check_row(candidate, row, _Run(model, workload, row, folder, config),
                                 profile)
    return checks
