"""Inputs of constants.mlir and what it must compute.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import sys

import tensors

action, folder = sys.argv[1:]
x = [0.5, -1.25, 2.0, 3.5, -0.75, 1.5]
w = [0.25 * (i - 5) for i in range(12)]

if action == "prepare":
    tensors.save(os.path.join(folder, "in.safetensors"), {"x": ("F32", [2, 3], x)})
    tensors.save(os.path.join(folder, "weights", "model.safetensors"), {"w": ("F32", [4, 3], w)})
    sys.exit()

rows = [x[:3], x[3:]]
results = tensors.load(os.path.join(folder, "out.safetensors"))
biased = [sum(p * q for p, q in zip(row, w[3 * n : 3 * n + 3])) + 0.5 for row in rows for n in range(4)]
tensors.compare("biased", results["biased"], biased, 1e-6)
tensors.compare("masked", results["masked"], [0.5, 0, 2.0, 0, -0.75, 1.5], 0)
tensors.compare("constant", results["constant"], [7.0] * 4, 0)
tensors.compare("doubled", results["doubled"], [8.0, 16.0, 24.0], 0)
tensors.compare("table", results["table"], [value * (i + 1) for i, value in enumerate(x)], 0)
