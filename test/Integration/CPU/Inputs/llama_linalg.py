"""Input of llama-linalg.test, and the comparison of one rank with four.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import random
import sys

import tensors

action, folder = sys.argv[1:]
if action == "prepare":
    numbers = random.Random(3)
    values = [numbers.gauss(0, 1) for _ in range(16 * 64)]
    tensors.save(os.path.join(folder, "in.safetensors"), {"arg0": ("F32", [1, 16, 64], values)})
    sys.exit()

given = tensors.load(os.path.join(folder, "in.safetensors"))["arg0"][1]
one = tensors.load(os.path.join(folder, "one.safetensors"))["result0"]
four = tensors.load(os.path.join(folder, "four.safetensors"))["result0"]
if max(abs(p - q) for p, q in zip(given, one[1])) < 0.01:
    raise SystemExit("the block leaves its input as it is: the test shows nothing")
tensors.compare("result0", four, one[1], 2e-6)
