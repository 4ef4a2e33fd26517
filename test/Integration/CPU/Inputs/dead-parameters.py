"""Inputs of dead-parameters.mlir and what it must compute.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import sys

import tensors

READ = ["w", "layers.0.w", "layers.1.w"]
UNREAD = ["unused", "other.name", "dead", "loop.0.w", "loop.1.w", "never.3.w", "layers.2.w", "layers.3.w", "callee"]

action, folder = sys.argv[1:]
inputs = os.path.join(folder, "in.safetensors")
weights = os.path.join(folder, "weights", "model.safetensors")

if action == "check":
    x = tensors.load(inputs)["x"][1]
    values = tensors.load(weights)
    expected = [sum(column) for column in zip(x, *(values[name][1] for name in READ))]
    tensors.compare("y", tensors.load(os.path.join(folder, "out.safetensors"))["y"], expected, 1e-6)
    sys.exit()

names = READ + UNREAD + (["unknown"] if action == "add" else [])
tensors.save(inputs, {"x": ("F32", [4], [1.0, -2.0, 3.0, 0.5])})
values = {name: ("F32", [4], [0.25 * (i + 1)] * 4) for i, name in enumerate(names)}
# Two names of one parameter.
values["other.name"] = values["unused"]
tensors.save(weights, values)
