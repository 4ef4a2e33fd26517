"""Inputs of math.mlir and what it must compute.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math
import os
import random
import struct
import sys

import tensors

action, folder = sys.argv[1:]
COUNT = 3 * 37

if action == "prepare":
    numbers = random.Random(11)
    x = [numbers.uniform(-9, 9) for _ in range(COUNT)]
    x[:4] = [0.0, -0.0, 9.0, -9.0]
    positive = [math.exp(numbers.uniform(-20, 20)) for _ in range(COUNT)]
    tensors.save(
        os.path.join(folder, "in.safetensors"),
        {"x": ("F32", [3, 37], x), "positive": ("F32", [3, 37], positive)},
    )
    tensors.save(os.path.join(folder, "weights", "model.safetensors"), {})
    sys.exit()


def to_bf16(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def to_f16(value):
    return struct.unpack("<e", struct.pack("<e", value))[0]


inputs = tensors.load(os.path.join(folder, "in.safetensors"))
x, positive = inputs["x"][1], inputs["positive"][1]
narrow = [to_bf16(value) for value in x]
expected = {
    "exp": ([math.exp(v) for v in x], 3e-7),
    "log": ([math.log(v) for v in positive], 3e-7),
    "tanh": ([math.tanh(v) for v in x], 5e-7),
    "erf": ([math.erf(v) for v in x], 5e-7),
    "sin": ([math.sin(v) for v in x], 5e-7),
    "cos": ([math.cos(v) for v in x], 5e-7),
    "rsqrt": ([v**-0.5 for v in positive], 3e-7),
    "gelu": ([v / 2 * (1 + math.erf(v / math.sqrt(2))) for v in x], 5e-7),
    "silu": ([v / (1 + math.exp(-v)) for v in x], 5e-7),
    "bf16": ([to_bf16(v * v) for v in narrow], 0),
    "f16": ([to_f16(2 * to_f16(v)) for v in x], 0),
    "sum16": ([to_bf16(math.fsum(narrow[i * 37 : (i + 1) * 37])) for i in range(3)], 4e-3),
}
results = tensors.load(os.path.join(folder, "out.safetensors"))
for name, (values, tolerance) in expected.items():
    tensors.compare(name, results[name], values, tolerance)
