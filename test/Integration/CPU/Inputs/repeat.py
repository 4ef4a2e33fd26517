"""Inputs of repeat.mlir and what it must compute.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import random
import sys

import tensors

action, folder = sys.argv[1:]

if action == "prepare":
    numbers = random.Random(5)

    def draw(count):
        return [numbers.gauss(0, 1) for _ in range(count)]

    tensors.save(
        os.path.join(folder, "in.safetensors"),
        {"a": ("F32", [3, 5], draw(15)), "b": ("F32", [3, 5], draw(15)), "s": ("F32", [3, 3, 5], draw(45))},
    )
    # The layers are numbered from 2.
    tensors.save(
        os.path.join(folder, "weights", "model.safetensors"),
        {"layers.%d.w" % i: ("F32", [5], draw(5)) for i in (2, 3, 4)},
    )
    sys.exit()

inputs = tensors.load(os.path.join(folder, "in.safetensors"))
weights = tensors.load(os.path.join(folder, "weights", "model.safetensors"))
a, b, s = (inputs[name][1] for name in "abs")
shared = [p * q for p, q in zip(a, b)]
x, y, kept = a, b, []
for i in range(3):
    w = weights["layers.%d.w" % (2 + i)][1]
    total = [x[e] + s[15 * i + e] * w[e % 5] for e in range(15)]
    kept += total
    x, y = y, [p + q for p, q in zip(total, shared)]
results = tensors.load(os.path.join(folder, "out.safetensors"))
tensors.compare("first", results["first"], x, 1e-6)
tensors.compare("second", results["second"], y, 1e-6)
tensors.compare("kept", results["kept"], kept, 1e-6)
tensors.compare("even", results["even"], [16 * v for v in x], 1e-6)
