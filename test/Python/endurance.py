"""A session of many steps: what is held after the first thousand and after the last.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: TP_MLIR_BIN=build/dev/bin PYTHONPATH=python .venv/bin/python test/Python/endurance.py
                [--steps 100000] [--backend threads] [--seed 1] [--requests 12]

The engine on a small fixture, with more requests than it has rows for: random
prompts of which some begin alike, so that pages are shared, kept and taken away, random lengths
and samplers, and cancels at random.
"""

import argparse
import ctypes
import os
import pathlib
import random
import sys
import threading

from real_server import resident
from tp_mlir import _generator, engine

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "fixtures/llama-gqa"
FIRST = 1000  # steps, by which all that is kept for good is there


class _Allocated(ctypes.Structure):
    """mallinfo2 of the C library."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost")]


def held():
    """(resident bytes of this process and its ranks, bytes that are allocated from the C
    library in this one)."""
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = _Allocated
    library.malloc_trim(0)
    allocated = library.mallinfo2()
    return resident(os.getpid()), allocated.uordblks + allocated.hblkhd


class Users:
    """Keeps so many requests in the engine, until told to stop."""

    def __init__(self, model, count, seed):
        self._model, self._draw = model, random.Random(seed)
        self._room = threading.Semaphore(count)
        self._count = count
        self.ends = {"length": 0, "stop": 0, "cancel": 0}
        self._begins = [self._ids(40) for _ in range(3)]

    def _ids(self, count):
        return [self._draw.randrange(self._model.vocabulary) for _ in range(count)]

    def ask(self):
        """One request more, once there is room for it."""
        self._room.acquire()
        draw, left = self._draw, [0, None]
        ids = draw.choice(self._begins)[:draw.randrange(41)] + self._ids(draw.randrange(1, 12))
        # Cancelled at a token of its own, if at all.
        until = draw.randrange(12) if draw.random() < 0.3 else -1

        def on_event(event):
            if event.finish is not None:
                self.ends[event.finish] += 1
                self._room.release()
            elif left[0] == until and left[1]:
                self._model.cancel(left[1])
            left[0] += 1

        left[1] = self._model.submit(ids, engine.Params(
            max_tokens=draw.randrange(1, 30), temperature=draw.choice([0, 0.8]),
            top_k=draw.choice([0, 5]), top_p=draw.choice([1, 0.9]), seed=draw.getrandbits(64),
            repetition_penalty=draw.choice([1, 1.2]), logprobs=draw.choice([None, 3])), on_event)
        if draw.random() < 0.1:  # before its first step, perhaps
            self._model.cancel(left[1])

    def finish(self):
        for _ in range(self._count):
            self._room.acquire()


def run(steps, backend="threads", seed=1, requests=12, say=print):
    """Returns what `held` says after the first steps and after all."""
    opened = _generator.open_engine(FOLDER, mesh="tp=2", rows=4, chunk=16, backend=backend)
    try:
        users = Users(opened, requests, seed)
        first = None
        while (done := opened.stats().steps) < steps:
            users.ask()
            if first is None and done >= min(FIRST, steps // 4):
                first = held()
                say(f"after {done} steps: {first[0]} bytes resident, {first[1]} allocated")
        users.finish()
        last, stats = held(), opened.stats()
        say(f"after {stats.steps} steps: {last[0]} bytes resident, {last[1]} allocated; {users.ends}, "
            f"{stats.evictions} evictions, {stats.shared_tokens} tokens shared")
        assert stats.pages_held == stats.running == stats.waiting == 0, stats
        return first, last
    finally:
        opened.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--backend", default="threads")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--requests", type=int, default=12, help="at once")
    before, after = run(**vars(parser.parse_args()))
    if after[0] - before[0] > 1 << 20 or after[1] - before[1] > 64 << 10:
        sys.exit("endurance: it grew")
