#!/usr/bin/env python3
"""Row kernels, reductions and attention of random programs, in the emulator.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

    random-kernels.py BIN [--first N] [--count N] [--kind rows|reductions|attention|paged|experts]
                      [--seconds S] [--assemble] [--verify] [--print]

Each seed makes a program that a user could write: linalg.generic with permuted,
broadcast, strided and reversed operands, reductions over any dimensions, gathers,
casts, slices, concatenations and pads of odd sizes, ranks 1 to 5, one-element and
empty dimensions; or reductions with any body and element type; or attention of any head
size, grouping, length, mask and window; or a step's attention to pages; or a mixture
of experts.
tp-check-kernels executes its kernels against the interpreter. --assemble also has
ptxas assemble them for each architecture and expects no spills; --verify compares
the program compiled for the host with the interpreter. A program may be refused
only by a message listed below. Prints the seed of what fails (--print shows its
program) and ends with 1; --seconds ends early, after as many seeds as there was time
for.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from random_attention import makeAttention
from random_experts import makeExperts
from random_paged import makePaged
from random_reductions import Reductions
from random_rows import Rows

# What the compiler says it cannot do. Anything else that ends a tool is a bug.
REFUSALS = [
    "error: the program has no kernel",
    "of at least one element, got",
]


def runTool(command, text, seconds):
    """The status (negative: a signal; None: it did not end) and the output."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True,
                              errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, f"no end within {seconds} s"
    return done.returncode, done.stdout + done.stderr


def findSpills(folder):
    """Kernels that spill, as text."""
    problems = []
    figures = json.loads((pathlib.Path(folder) / "kernels.json").read_text())["kernels"]
    for kernel, architectures in figures.items():
        for architecture, used in architectures.items():
            if used["spill_stores"] or used["spill_loads"]:
                problems.append(f"{kernel} spills on {architecture}: {used}")
    return problems


def check(options, seed, text):
    """What is wrong with the program: a text, empty if nothing."""
    def classify(tool, status, output):
        if status == 0:
            return ""
        if status in (1, 2) and any(refusal in output for refusal in REFUSALS):
            return "refused"
        return f"{tool} ended with {status}:\n{output[-3000:]}"

    found = classify("tp-check-kernels", *runTool(
        [options.bin / "tp-check-kernels", "-", "--seeds=1", "--ptx", f"--data-seed={seed}"],
        text, options.limit))
    if found:
        return "" if found == "refused" else found
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program.mlir"
        program.write_text(text)
        if options.assemble:
            found = classify("tp-compile", *runTool(
                [options.bin / "tp-compile", program, "--target",
                 "cuda:" + options.architectures, "-o", folder + "/a.tpa",
                 "--save-kernels", folder + "/kernels"], "", options.limit))
            if found:
                return "" if found == "refused" else found
            spills = findSpills(folder + "/kernels")
            if spills:
                return "\n".join(spills)
        if options.verify:
            found = classify("tp-verify", *runTool(
                [options.bin / "tp-verify", program, "--mesh=tp=1", "--plan=replicated",
                 "--stages=lower"], "", options.limit))
            if found:
                return "" if found == "refused" else found
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=pathlib.Path, help="where the tools are")
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--kind", choices=["rows", "reductions", "attention", "paged", "experts"],
                        default="rows")
    parser.add_argument("--seconds", type=float, default=1e9,
                        help="start no program after so many")
    parser.add_argument("--limit", type=float, default=300,
                        help="seconds that a tool may take")
    parser.add_argument("--elements", type=int, default=24000,
                        help="of the largest tensor, about")
    parser.add_argument("--assemble", action="store_true")
    parser.add_argument("--architectures", default="sm_80,sm_90,sm_100")
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--print", action="store_true", help="print programs alone")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    start, failed, done = time.monotonic(), [], 0
    for seed in range(options.first, options.first + options.count):
        if time.monotonic() - start > options.seconds:
            break
        if options.kind == "attention":
            text = makeAttention(seed)
        elif options.kind == "paged":
            text = makePaged(seed)
        elif options.kind == "experts":
            text = makeExperts(seed)
        elif options.kind == "reductions":
            text = Reductions(seed).make()
        else:
            text = Rows(seed, options.elements).make()
        if options.print:
            print(text)
            continue
        done += 1
        problem = check(options, seed, text)
        if problem:
            failed.append(seed)
            print(f"{options.kind} seed {seed}: {problem}", flush=True)
    if options.print:
        return 0
    print(f"{done} programs of kind {options.kind} from seed {options.first} on: "
          f"{len(failed)} failed {failed if failed else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
