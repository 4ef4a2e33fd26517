"""A profile of this machine's processor, measured by programs that the compiler makes.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Each figure is what a small program reaches here, through the same compiler and runtime that run a
model: so there is nothing left for an efficiency to say, and all of them are 1.
"""

import datetime
import json
import os
import pathlib
import tempfile

from .. import _tools

# Rows of a product, and its width; and fewer rows, which reach less.
ROWS, WIDTH = 512, 4096
FEWER = (8, 32, 128)
TYPES = ("f32", "bf16", "f16")
_CUT = {"version": 1, "rules": [{"parameter": "*", "dim": 1, "axes": ["tp"]},
                                {"result": "*", "whole": True}]}


def _chain(rows, width, count, kind):
    """A program of `count` products, one after the other, of activations [rows, width]."""
    x, w = f"tensor<{rows}x{width}x{kind}>", f"tensor<{width}x{width}x{kind}>"
    lines = [f'%x0 = tp.parameter "x" : {x}']
    for i in range(count):
        lines += [f'%w{i} = tp.parameter "w{i}" : {w}',
                  f"%x{i + 1} = nn.linear %x{i}, %w{i} : ({x}, {w}) -> {x}"]
    return f"func.func @main() -> {x} {{\n" + "\n".join(lines) + f"\nreturn %x{count} : {x}\n}}\n"


def _elementwise(rows, width, count):
    """A kernel of `count` pairs of an exponential and a product."""
    x = f"tensor<{rows}x{width}xf32>"
    lines = [f'%x0 = tp.parameter "x" : {x}']
    for i in range(count):
        lines += [f"%m{i} = arith.mulf %x{i}, %x0 : {x}", f"%x{i + 1} = math.exp %m{i} : {x}"]
    return f"func.func @main() -> {x} {{\n" + "\n".join(lines) + f"\nreturn %x{count} : {x}\n}}\n"


def _sum(rows, width):
    """A program whose partial sum [rows, width] is reduced over the ranks."""
    x, w, y = f"tensor<{rows}x64xf32>", f"tensor<{width}x64xf32>", f"tensor<{rows}x{width}xf32>"
    return (f'func.func @main() -> {y} {{\n%x = tp.parameter "x" : {x}\n'
            f'%w = tp.parameter "w" : {w}\n'
            f"%y = nn.linear %x, %w : ({x}, {w}) -> {y}\nreturn %y : {y}\n}}\n")


class _Bench:
    """Compiles programs into a folder and runs them."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def run(self, program, *, degree=1, repeat=9):
        """The least seconds of a step, which others on the machine disturb the least, and of its
        collective; and its arithmetic as the compiler counts it."""
        source, made = self.folder / "program.mlir", self.folder / "program.tpa"
        timeline, plan = self.folder / "timeline.json", self.folder / "plan.json"
        source.write_text(program)
        plan.write_text(json.dumps(_CUT))
        told = json.loads(_tools.run(
            "tp-compile", [source, "--mesh", f"tp={degree}", "--plan",
                           plan if degree > 1 else "replicated", "--all-reduce", "library", "-o", made,
                           "--explain=json"]))
        flops = sum(work["count"] * work["flops"] for work in told["functions"][0]["work"])
        stats = json.loads(_tools.run("tp-run", [made, "--weights", "random:1", "--repeat", repeat,
                                                 "--stats=json", "--timeline", timeline]))
        return stats["steps"]["entries"]["main"]["least"], _collective(timeline), flops


def _collective(path):
    """The least seconds of a collective, which waited for no other rank; None if there is none."""
    events = json.loads(path.read_text())["traceEvents"]
    return min((event["dur"] * 1e-6 for event in events if event.get("cat") == "collective"),
               default=None)


def _link(bench, source):
    """Alpha from a small sum of two ranks, beta from a large one."""
    small, large, width = 1, 1024, 1024
    least = bench.run(_sum(small, width), degree=2, repeat=200)[1]
    most = bench.run(_sum(large, width), degree=2, repeat=30)[1]
    # Two messages, and each rank sends as many bytes as there are.
    return {"name": "shared memory", "efficiency": 1,
            "alpha": {"value": least / 2, "source": source},
            "beta": {"value": large * width * 4 / (most - least), "source": source}}


def _products(bench, rows, kind):
    """Operations a second of products of so many rows."""
    return 2.0 * rows * WIDTH * WIDTH * 2 / bench.run(_chain(rows, WIDTH, 2, kind), repeat=5)[0]


def measure():
    """The profile, as JSON has it. Takes half a minute of all cores."""
    cores = len(os.sched_getaffinity(0))
    source = f"measured by tp-plan --measure, {datetime.date.today()}, {cores} cores"
    def figure(value):
        return {"value": value, "source": source}
    with tempfile.TemporaryDirectory(prefix="tp-plan-") as folder:
        bench = _Bench(folder)
        matrix = {kind: _products(bench, ROWS, kind) for kind in TYPES}
        reached = [(rows, min(1.0, _products(bench, rows, "f32") / matrix["f32"]))
                   for rows in FEWER] + [(ROWS, 1.0)]
        read = 4.0 * WIDTH * WIDTH * 4
        bandwidth = read / bench.run(_chain(1, WIDTH, 4, "f32"), repeat=20)[0]
        many = 64
        start = bench.run(_chain(1, 64, many, "f32"), repeat=100)[0] / many
        least, _, flops = bench.run(_elementwise(64, 1024, 8), repeat=100)
        vector = flops / least
        link = _link(bench, source)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {"name": f"this processor, {cores} cores", "target": "cpu", "measured": True,
            "shared": True, "ranks_per_node": cores, "memory": {
                "value": memory, "source": "physical memory of the machine"},
            "reserved": {}, "matrix": {kind: figure(value) for kind, value in matrix.items()},
            "rows": [{"rows": rows, "efficiency": part} for rows, part in reached],
            "vector": figure(vector), "bandwidth": figure(bandwidth),
            "kernel_seconds": figure(start),
            "efficiency": {"matrix": 1, "attention": 1, "vector": 1, "bandwidth": 1},
            "links": [link]}
