"""A training step against AdamW and SGD written out, three steps of it.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: step.py program OPTIMIZER CLIP > program.mlir
       step.py inputs FOLDER OPTIMIZER COUNT [VALUE]
       step.py check FOLDER OPTIMIZER CLIP COUNT STEPS
       step.py unchanged FOLDER

The loss is sum(c * (x @ m) * v) with a matrix m, which decays, and a bf16 vector
v, which has a master and does not; COUNT is how many tokens there are. `check`
compares the states, and the last step's results, with numbers in f64. With VALUE, such as
nan, in the last column of c, nothing may change: `unchanged` holds the states against the
first ones, bit for bit.
"""

import math
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../Integration/CPU/Inputs"))
import tensors  # noqa: E402

ROWS, INNER, COLUMNS = 2, 3, 4
LR, BETA1, BETA2, EPSILON, DECAY, MOMENTUM = 0.1, 0.9, 0.999, 1e-8, 0.1, 0.9
X = [math.sin(1 + 2 * i) for i in range(ROWS * INNER)]
C = [math.cos(1 + 3 * i) for i in range(ROWS * COLUMNS)]
M = [math.sin(2 + 5 * i) for i in range(INNER * COLUMNS)]
V = [math.cos(3 + 7 * i) for i in range(COLUMNS)]
PROGRAM = """module attributes {tp.training = {%(options)s}} {
  func.func @main(%%x: tensor<2x3xf32> {tp.name = "x"}, %%c: tensor<2x4xf32> {tp.name = "c"}, %%count: tensor<f32> {tp.name = "count"})
      -> (tensor<f32> {tp.loss, tp.name = "loss_sum"}, tensor<f32> {tp.name = "tokens"}) {
    %%m = tp.parameter "m" : tensor<3x4xf32>
    %%v = tp.parameter "v" : tensor<4xbf16>
    %%zeros = arith.constant dense<0.0> : tensor<2x4xf32>
    %%zero = arith.constant dense<0.0> : tensor<f32>
    %%p = linalg.matmul ins(%%x, %%m : tensor<2x3xf32>, tensor<3x4xf32>) outs(%%zeros : tensor<2x4xf32>) -> tensor<2x4xf32>
    %%loss = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> ()>],
        iterator_types = ["reduction", "reduction"]} ins(%%p, %%c, %%v : tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xbf16>) outs(%%zero : tensor<f32>) {
    ^bb0(%%a: f32, %%b: f32, %%w: bf16, %%o: f32):
      %%wide = arith.extf %%w : bf16 to f32
      %%ab = arith.mulf %%a, %%b : f32
      %%term = arith.mulf %%ab, %%wide : f32
      %%sum = arith.addf %%o, %%term : f32
      linalg.yield %%sum : f32
    } -> tensor<f32>
    return %%loss, %%count : tensor<f32>, tensor<f32>
  }
}"""


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def bf16(value):
    """To the nearest, ties to even."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    bits += 0x7FFF + (bits >> 16 & 1)
    return struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))[0]


def settings(optimizer):
    """Of the first step; the test gives them to each."""
    if optimizer == "adamw":
        return dict(decay=1 - LR * DECAY, step_size=LR / (1 - BETA1), one_minus_beta1=1 - BETA1, beta2=BETA2,
                    one_minus_beta2=1 - BETA2, correction=math.sqrt(1 - BETA2), eps=EPSILON)
    return dict(lr=LR, weight_decay=DECAY, momentum=MOMENTUM)


def product(m):
    return [sum(X[i * INNER + k] * m[k * COLUMNS + j] for k in range(INNER))
            for i in range(ROWS) for j in range(COLUMNS)]


def gradients(m, v):
    p = product(m)
    return ([sum(X[i * INNER + k] * C[i * COLUMNS + j] for i in range(ROWS)) * v[j]
             for k in range(INNER) for j in range(COLUMNS)],
            [sum(C[i * COLUMNS + j] * p[i * COLUMNS + j] for i in range(ROWS)) for j in range(COLUMNS)])


def simulate(optimizer, clip, count, steps):
    """The states after the steps, and what the last one returned."""
    weights = {"m": [f32(w) for w in M], "v": [f32(w) for w in V]}
    kept = {name: ([0.0] * len(w), [0.0] * len(w)) for name, w in weights.items()}
    for _ in range(steps):
        v = [bf16(w) for w in weights["v"]]
        loss = sum(a * b * v[i % COLUMNS] for i, (a, b) in enumerate(zip(product(weights["m"]), C)))
        total = dict(zip("mv", gradients(weights["m"], v)))
        mean = {name: [g / count if count else 0.0 for g in all] for name, all in total.items()}
        norm = math.sqrt(sum(g * g for all in mean.values() for g in all))
        scale = min(1.0, clip / (norm + 1e-6)) if clip else 1.0
        for name, w in weights.items() if count else ():
            first, second = kept[name]
            for i, g in enumerate(mean[name]):
                g *= scale
                decay = DECAY if name == "m" else 0.0
                if optimizer == "adamw":
                    w[i] *= 1 - LR * decay
                    first[i] = BETA1 * first[i] + (1 - BETA1) * g
                    second[i] = BETA2 * second[i] + (1 - BETA2) * g * g
                    w[i] -= LR / (1 - BETA1) * first[i] / (math.sqrt(second[i]) / math.sqrt(1 - BETA2) + EPSILON)
                else:
                    first[i] = MOMENTUM * first[i] + g + decay * w[i]
                    w[i] -= LR * first[i]
    states = {"m": weights["m"], "master:v": weights["v"], "v": [bf16(w) for w in weights["v"]],
              "loss_sum": [0.0], "tokens": [0.0]}
    for name, (first, second) in kept.items():
        states["grad:" + name] = [0.0] * len(first)
        states[("exp_avg:" if optimizer == "adamw" else "momentum:") + name] = first
        if optimizer == "adamw":
            states["exp_avg_sq:" + name] = second
    return states, {"loss_sum": [loss], "tokens": [float(count)], "grad_norm": [norm]}


def check(folder, optimizer, clip, count, steps):
    states, results = simulate(optimizer, clip, count, steps)
    for file, wanted in (("states", states), ("results", results)):
        got = tensors.load(f"{folder}/{file}.safetensors")
        if got.keys() != wanted.keys():
            sys.exit(f"{file}: expected {sorted(wanted)}, got {sorted(got)}")
        for name, want in wanted.items():
            values = got[name][1]
            # Rounding may go either way at 16 bits. 1 - beta2 of a beta2 in f32 is off by 1.3e-5.
            close = 2**-7 if name == "v" else 3e-6
            largest = max(map(abs, want))
            if len(values) != len(want) or any(abs(a - b) > close * largest for a, b in zip(values, want)):
                sys.exit(f"{file}, {name}: expected {want}, got {values}")


def unchanged(folder):
    first = {"m": [f32(w) for w in M], "master:v": [f32(w) for w in V], "v": [bf16(w) for w in V]}
    states = tensors.load(f"{folder}/states.safetensors")
    for name, (_, values) in states.items():
        want = first.get(name, [0.0] * len(values))
        if list(values) != want:
            sys.exit(f"{name}: expected {want}, got {list(values)}")
    if len(states) < 8:
        sys.exit(f"expected all states, got {sorted(states)}")
    results = tensors.load(f"{folder}/results.safetensors")
    print("unchanged, loss", results["loss_sum"][1][0], "norm", results["grad_norm"][1][0])


def main(words):
    if words[0] == "program":
        options = [f'optimizer = "{words[1]}"']
        options += [f"clip = {float(words[2])} : f64"] if float(words[2]) else []
        options += ["momentum"] if words[1] == "sgd" else []
        print(PROGRAM % {"options": ", ".join(options)})
    elif words[0] == "inputs":
        folder, optimizer, count = words[1:4]
        c = [float(words[4]) if words[4:] and i % COLUMNS == COLUMNS - 1 else x for i, x in enumerate(C)]
        tensors.save(f"{folder}/weights.safetensors", {"m": ("F32", [INNER, COLUMNS], M), "v": ("F32", [COLUMNS], V)})
        tensors.save(f"{folder}/in.safetensors",
                     {"x": ("F32", [ROWS, INNER], X), "c": ("F32", [ROWS, COLUMNS], c), "count": ("F32", [], [float(count)]),
                      **{name: ("F32", [], [value]) for name, value in settings(optimizer).items()}})
    elif words[0] == "unchanged":
        unchanged(words[1])
    else:
        check(words[1], words[2], float(words[3]), int(words[4]), int(words[5]))


main(sys.argv[1:])
