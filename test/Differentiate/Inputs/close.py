"""True if two files of tensors hold the same, up to a part of the largest value of all.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: close.py PART A.safetensors B.safetensors
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../Integration/CPU/Inputs"))
import tensors  # noqa: E402

one, other = (tensors.load(path) for path in sys.argv[2:])
if one.keys() != other.keys():
    sys.exit(f"expected {sorted(one)}, got {sorted(other)}")
largest = max(abs(value) for _, values in one.values() for value in values)
for name, (_, values) in one.items():
    worst = max(abs(a - b) for a, b in zip(values, other[name][1], strict=True))
    if not worst <= float(sys.argv[1]) * largest:
        sys.exit(f"{name}: off by {worst}")
