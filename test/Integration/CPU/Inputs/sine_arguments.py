"""Arguments of sine.mlir and what it must compute.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The reference reduces each number by whole numbers: 400 bits of 2 / pi are more than
any float needs. Arguments are of every exponent, with mantissas drawn at random, and
those of f32 that are nearest to multiples of pi / 2.
"""

import math
import os
import random
import struct
import sys

import tensors

action, folder = sys.argv[1:]
COLUMNS, BITS = 67, 400
# Nearest first, within 2^-25: found among all of f32.
NEAREST = [
    0x6F79BE45, 0x50A3E87F, 0x6FF9BE45, 0x5123E87F, 0x437CE5F1, 0x7079BE45, 0x6A1976F1,
    0x53B146A6, 0x65898498, 0x51A3E87F, 0x43FCE5F1, 0x77584625, 0x4C2332E9, 0x4096CBE4,
    0x6C55DA58, 0x5C07BCD0, 0x66098498, 0x5223E87F, 0x474D246F, 0x723FA09A, 0x447CE5F1,
    0x4A2562AE, 0x642E0733, 0x664E46E4, 0x4E13D4A5, 0x7EBDCDA0,
]
# Zero, subnormal, the bound between the two reductions, the largest, no number.
SPECIAL = [0, 1, 0x7FFFFF, 0x497FFFFF, 0x49800000, 0x49800001, 0x7F7FFFFF, 0x7F800000, 0x7FC00000]


def to_float(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def arctan_inverse(n, one):
    """arctan(1 / n), in units of 1 / one."""
    total, power, k = 0, one // n, 1
    while power:
        total += power // k
        power, k = -power // (n * n), k + 2
    return total


def reduce(x):
    """x as n pi / 2 + r: n modulo 4 and r, right to all of a double's digits."""
    mantissa, exponent = math.frexp(x)
    product, point = int(mantissa * 2**24) * TWO_OVER_PI, BITS + 24 - exponent
    n = (product + (1 << (point - 1))) >> point
    return n & 3, math.ldexp(product - (n << point), -point) * (math.pi / 2)


def sine(x, quarter=0):
    """Of x and `quarter` times pi / 2."""
    if not math.isfinite(x):
        return math.nan
    if x == 0 and not quarter:
        return x
    n, r = reduce(x)
    n += quarter
    result = math.cos(r) if n & 1 else math.sin(r)
    return -result if n & 2 else result


def check(name, arguments, quarter, precision, exponent):
    """Each within 2 units in the last place of a type of so many digits, whose smallest
    number has this exponent."""
    for x, a in zip(arguments, results[name], strict=True):
        b = sine(x, quarter)
        if math.isnan(b):
            right = math.isnan(a)
        else:
            unit = 2.0 ** max(math.frexp(b)[1] - precision, exponent)
            right = abs(a - b) <= 2 * unit and math.copysign(1, a) == math.copysign(1, b)
        if not right:
            sys.exit(f"{name}: of {x.hex()} {a.hex()} instead of {b.hex()}")
    print(f"{name}: agrees")


if action == "prepare":
    numbers = random.Random(22)
    bits = NEAREST + SPECIAL
    for exponent in range(255):
        bits += [exponent << 23 | numbers.getrandbits(23) for _ in range(16)]
    bits += [b | 1 << 31 for b in bits]
    # Vectors of one size, and of both.
    half = bits[: len(bits) // 2]
    numbers.shuffle(half)
    bits[: len(half)] = half
    bits += [0] * (-len(bits) % COLUMNS)
    values = [to_float(b) for b in bits]
    tensors.save(os.path.join(folder, "in.safetensors"),
                 {"x": ("F32", [len(bits) // COLUMNS, COLUMNS], values)})
    tensors.save(os.path.join(folder, "weights", "model.safetensors"), {})
    sys.exit()

ONE = 1 << (BITS + 64)
PI = 4 * (4 * arctan_inverse(5, ONE) - arctan_inverse(239, ONE))
TWO_OVER_PI = (2 * ONE << BITS) // PI
x = tensors.load(os.path.join(folder, "in.safetensors"))["x"][1]
results = {name: values for name, (_, values) in
           tensors.load(os.path.join(folder, "out.safetensors")).items()}
check("sine", x, 0, 24, -149)
check("cosine", x, 1, 24, -149)
# Of what the program made of x in the type.
check("sine_bf16", results["bf16"], 0, 8, -133)
check("cosine_f16", results["f16"], 1, 11, -24)
