"""Compares programs whose rows are computed in parts with the same in one piece.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: split_rows.py BIN FIXTURES FOLDER

Sums over ranks have their order whatever is cut, but a GEMM may choose its blocks by the number of rows: values agree
up to the rounding of f32 sums as long as the longest row of a product.
"""

import json
import pathlib
import subprocess
import sys

import tensors

BIN, FIXTURES, FOLDER = (pathlib.Path(argument) for argument in sys.argv[1:])
LONGEST_SUM = 256
TOLERANCE = LONGEST_SUM * 2**-23
# Fixture, plan, ranks, batch, tokens, parts asked for, and parts of a collective at most. Ranks with unequal rows gather
# what has no parts.
CASES = [("llama-gqa", "megatron", 2, 1, 29, 2, 2), ("llama-gqa", "megatron-sp", 2, 1, 30, 2, 2),
         ("llama-gqa", "megatron-sp", 2, 1, 31, 2, 1), ("qwen2", "megatron-sp", 3, 3, 12, 2, 2),
         ("gpt2", "megatron", 4, 1, 22, 3, 3), ("bert", "megatron", 2, 1, 16, 2, 2)]


def run(case, overlap):
    name, plan, ranks, batch, seq = case[:5]
    program, output = FOLDER / "program.tpa", FOLDER / f"{overlap.replace('=', '-')}.safetensors"
    explained = subprocess.run(
        [BIN / "tp-compile", FIXTURES / name, "--mesh", f"tp={ranks}", "--plan", plan, "--batch", str(batch), "--seq",
         str(seq), "--allow-padding", "--overlap", overlap, "--explain=json", "-o", program],
        check=True, capture_output=True, text=True).stdout
    subprocess.run([BIN / "tp-run", program, "--weights", "random:1", "--input", "random:2", "--output", output],
                   check=True, capture_output=True)
    return json.loads(explained), tensors.load(output)


FOLDER.mkdir(parents=True, exist_ok=True)
split = 0
for case in CASES:
    (_, whole), (explained, rows) = run(case, "off"), run(case, f"rows={case[5]}")
    parts = [one["chunks"] for one in explained["collectives"]]
    split += sum(count > 1 for count in parts)
    assert max(parts) == case[6], (case, parts)
    assert whole.keys() == rows.keys(), case
    for name, value in whole.items():
        tensors.compare(f"{case}: {name}", rows[name], value[1], TOLERANCE)
print(f"{split} collectives in parts")
