"""Random tokens to train on, and whether two checkpoints are the same.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: train.py data FILE
       train.py compare FOLDER FOLDER TOLERANCE    of the largest value of each tensor
"""

import random
import sys

import tensors

if sys.argv[1] == "data":
    random.seed(1)
    tensors.save(sys.argv[2], {"tokens": ("I32", [20, 17], [random.randrange(97) for _ in range(340)])})
else:
    a, b = (tensors.load(f"{folder}/model.safetensors") for folder in sys.argv[2:4])
    assert a.keys() == b.keys(), a.keys() ^ b.keys()
    for name in a:
        assert a[name][0] == b[name][0], name
        off = max(abs(x - y) for x, y in zip(a[name][1], b[name][1]))
        assert off <= float(sys.argv[4]) * max(map(abs, a[name][1])), (name, off)
