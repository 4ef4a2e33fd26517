"""Steps of a program that generates, and of the plain program.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: ours.py CHECKPOINT MESH      (TP_MLIR_BIN and PYTHONPATH as for tp_mlir)
"""

import random
import sys
import threading
import time

import checkpoint
import tp_mlir
from tp_mlir.engine import Params


class Engine:
    def __init__(self, folder, mesh):
        self.llm = tp_mlir.LLM(folder, mesh=mesh, rows=8, context=4096)
        self.random = random.Random(1)

    def prompt(self, tokens):
        return [self.random.randrange(3, self.llm.engine.vocabulary) for _ in range(tokens)]

    def burst(self, prompts, tokens, **options):
        """Mean seconds between tokens of the first of some requests, behind two steps in
        which others may still begin."""
        times, left, done = [], [len(prompts)], threading.Event()

        def tell(event, first):
            if first and event.ids:
                times.append(time.perf_counter())
            if event.finish is not None:
                left[0] -= 1
                if left[0] == 0:
                    done.set()

        for i, prompt in enumerate(prompts):
            params = Params(max_tokens=tokens + 3, seed=i, **options)
            self.llm.engine.submit(prompt, params, lambda event, i=i: tell(event, i == 0))
        done.wait()
        return (times[-2] - times[1]) / (len(times) - 3)

    def decode(self, rows, tokens):
        return self.burst([self.prompt(1) for _ in range(rows)], tokens)

    def sampled(self, rows, tokens):
        return self.burst([self.prompt(1) for _ in range(rows)], tokens, temperature=1.0)

    def host(self, rows, tokens, temperature):
        """What scheduling and sampling outside of the program take of steps."""
        before = self.llm.engine._counts()["steps"]
        self.burst([self.prompt(1) for _ in range(rows)], tokens, temperature=float(temperature))
        after = self.llm.engine._counts()["steps"]
        return ((after["host_seconds"] - before["host_seconds"]) /
                (after["seconds"] - before["seconds"]))

    def prefill(self, tokens):
        """One step for a whole prompt and its first new token."""
        before = self.llm.engine._counts()["steps"]
        self.llm.generate([self.prompt(tokens)], max_tokens=1)
        after = self.llm.engine._counts()["steps"]
        assert after["count"] == before["count"] + 1
        return after["seconds"] - before["seconds"]


def main():
    folder, mesh = sys.argv[1:]
    engine, plain = Engine(folder, mesh), {}

    def run_plain(tokens):
        if tokens not in plain:
            program = tp_mlir.compile(folder, mesh=mesh, seq=tokens, logits="last")
            plain[tokens] = program.open(folder)
        import numpy

        session = plain[tokens]
        session.run({"input_ids": numpy.array([engine.prompt(tokens)], numpy.int64)})
        entry, = session.stats()["steps"]["entries"].values()
        return entry["seconds"][-1]

    engine.decode(1, 2)
    checkpoint.serve(engine.decode, sampled=engine.sampled, host=engine.host,
                     prefill=engine.prefill, plain=run_plain)


main()
