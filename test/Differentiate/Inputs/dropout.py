"""Tokens to train on with dropout, and whether runs lose the same.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: dropout.py data FOLDER          rows, rows that are all the same, and inputs of one
                                       micro-batch, of another seed, of another micro-step
       dropout.py same LOG LOG...      logs of runs: losses and gradient norms as the first has
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../Integration/CPU/Inputs"))
import tensors  # noqa: E402

if sys.argv[1] == "data":
    tokens = [i * i * 7 % 257 for i in range(6 * 17)]
    ids, targets = tokens[:16], tokens[1:17]
    tensors.save(f"{sys.argv[2]}/rows.safetensors", {"tokens": ("I64", [6, 17], tokens)})
    tensors.save(f"{sys.argv[2]}/same.safetensors", {"tokens": ("I64", [2, 17], tokens[:17] * 2)})
    for name, seed, step in (("in", 1, 0), ("seed", 2, 0), ("step", 1, 1)):
        tensors.save(f"{sys.argv[2]}/{name}.safetensors", {
            "input_ids": ("I64", [1, 16], ids), "targets": ("I64", [1, 16], targets),
            "seed": ("I64", [], [seed]), "microstep": ("I64", [], [step])})
else:
    first, *others = [[json.loads(line) for line in open(path)] for path in sys.argv[2:]]
    assert len(first) == 3
    for log in others:
        for one, other in zip(first, log, strict=True):
            # Key biases have no gradient but rounding, of which AdamW makes steps.
            for what, part in (("loss", 1e-5), ("grad_norm", 1e-4)):
                if not abs(other[what] / one[what] - 1) <= part:
                    sys.exit(f"step {one['step']}: {what} {other[what]}, expected {one[what]}")
