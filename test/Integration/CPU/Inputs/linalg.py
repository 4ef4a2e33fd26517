"""Inputs of linalg.mlir and what it must compute.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Python's floats are f64, so differences are the program's rounding.
"""

import math
import os
import random
import sys

import tensors

action, folder = sys.argv[1:]
numbers = random.Random(7)
SHAPES = {"x": (5, 19), "w": (19, 23), "v": (23, 7)}
inputs = {name: [[numbers.gauss(0, 1) for _ in range(n)] for _ in range(m)] for name, (m, n) in SHAPES.items()}
ids = [4, 0, 2, 2, 1, 3]


def flat(matrix):
    return [value for row in matrix for value in row]


if action == "prepare":
    stored = {name: ("F32", list(SHAPES[name]), flat(inputs[name])) for name in SHAPES}
    stored["ids"] = ("I64", [6], ids)
    tensors.save(os.path.join(folder, "in.safetensors"), stored)
    tensors.save(os.path.join(folder, "weights", "model.safetensors"), {})
    sys.exit()

# The inputs as f32 holds them.
stored = tensors.load(os.path.join(folder, "in.safetensors"))
for name, (m, n) in SHAPES.items():
    values = stored[name][1]
    inputs[name] = [values[i * n : (i + 1) * n] for i in range(m)]
x, w, v = (inputs[name] for name in "xwv")


def product(a, b):
    return [[sum(p * q for p, q in zip(row, column)) for column in zip(*b)] for row in a]


def softmax(row):
    top = max(row)
    exps = [math.exp(value - top) for value in row]
    return [value / sum(exps) for value in exps]


p = [softmax(row) for row in product(x, w)]
padded = [[0.0] * 4 + row[3:21:2] + [0.0] * 10 for row in p]
inserted = [list(row) for row in p]
for i in range(2):
    for j in range(3):
        inserted[3 + i][20 + j] = x[1 + i][2 + j]
expected = {
    "product": [value + 1 for value in flat(product(p, v))],
    "softmax_transposed": flat(zip(*p)),
    "column_sums": [sum(column) for column in zip(*p)],
    "padded": flat(padded),
    "joined": flat(a + b for a, b in zip(p, x)),
    "largest": [max(row) for row in x],
    "position": [row.index(max(row)) for row in x],
    "picked": flat(p[i] for i in ids),
    "total": [sum(flat(x))],
    "inserted": flat(inserted),
}
results = tensors.load(os.path.join(folder, "out.safetensors"))
for name, values in expected.items():
    tensors.compare(name, results[name], values, 1e-6)
