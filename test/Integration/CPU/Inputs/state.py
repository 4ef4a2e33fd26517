"""Inputs of state.mlir and what 500 steps of each entry must leave.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import random
import sys

import tensors

action, folder = sys.argv[1:]
STEPS = 500

if action == "prepare":
    numbers = random.Random(11)
    for name, count in (("x", 13), ("y", 5)):
        values = [numbers.gauss(0, 1) for _ in range(count)]
        tensors.save(os.path.join(folder, name + ".safetensors"), {name: ("F32", [count], values)})
        if name == "x":
            tensors.save(os.path.join(folder, "own.safetensors"), {
                "x": ("F32", [count], [2 * v for v in values]), "add.x": ("F32", [count], values)})
    sys.exit()

x, y = (tensors.load(os.path.join(folder, name + ".safetensors"))[name][1] for name in "xy")
if action == "own":
    states = tensors.load(os.path.join(folder, "states.safetensors"))
    tensors.compare("total", states["total"], [0.5 * v + 0.25 for v in x], 1e-5)
    sys.exit()
total, ring, layers = [0.0] * 13, [1.0] * 7, [0.0] * 15
for step in range(STEPS):
    total = [t + v for t, v in zip(total, x)]
    ring[step % 7] = sum(total)
    before, carried = total, y
    total = [0.5 * t + 0.25 for t in total]
    for i in range(3):
        layers[5 * i:5 * i + 5] = [0.5 * k + c for k, c in zip(layers[5 * i:5 * i + 5], carried)]
        carried = [0.5 * v for v in layers[5 * i:5 * i + 5]]
states = tensors.load(os.path.join(folder, "states.safetensors"))
results = tensors.load(os.path.join(folder, "out.safetensors"))
tensors.compare("total", states["total"], total, 1e-5)
tensors.compare("ring", states["ring"], ring, 1e-5)
tensors.compare("count", states["count"], [STEPS], 0)
tensors.compare("layers", states["layers"], layers, 1e-5)
tensors.compare("before", results["before"], before, 1e-5)
tensors.compare("last", results["last"], carried, 1e-5)
if len(results) != 2:
    raise SystemExit("expected the states among no results, got %s" % sorted(results))
os.remove(os.path.join(folder, "states.safetensors"))
os.remove(os.path.join(folder, "out.safetensors"))
