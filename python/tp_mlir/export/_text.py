"""Text of MLIR: types, numbers, constants, affine maps.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Knows neither PyTorch nor operations. An element type is its name in MLIR ("f32", "i1");
a shape is a tuple of ints.
"""

import math
import struct

FLOATS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
INTEGERS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
_INFINITY = {"f16": "0x7C00", "bf16": "0x7F80", "f32": "0x7F800000", "f64": "0x7FF0000000000000"}
_MINUS_INFINITY = {"f16": "0xFC00", "bf16": "0xFF80", "f32": "0xFF800000",
                   "f64": "0xFFF0000000000000"}
_NAN = {"f16": "0x7E00", "bf16": "0x7FC0", "f32": "0x7FC00000", "f64": "0x7FF8000000000000"}
# The largest finite number of each type.
_LARGEST = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38,
            "f64": 1.7976931348623157e308}


def is_float(kind):
    return kind in FLOATS


def bits(kind):
    return FLOATS.get(kind) or INTEGERS[kind]


def tensor(shape, kind):
    """tensor<2x3xf32>"""
    return "tensor<" + "x".join([*map(str, shape), kind]) + ">"


def number(value, kind):
    """A number as an attribute of element type `kind`."""
    if kind == "i1":
        return "true" if value else "false"
    if not is_float(kind):
        return str(int(value))
    value = float(value)
    if math.isnan(value):
        return _NAN[kind]
    # Past the largest by more than half a unit in its last place: what a cast would give.
    if abs(value) > _LARGEST[kind] * (1 + 2.0 ** -26) or math.isinf(value):
        return _INFINITY[kind] if value > 0 else _MINUS_INFINITY[kind]
    value = max(-_LARGEST[kind], min(_LARGEST[kind], value))
    if kind == "f32":
        value = struct.unpack("f", struct.pack("f", value))[0]
    return f"{value:.17e}" if kind == "f64" else f"{value:.9e}"


def scalar(value, kind):
    """The right-hand side of an arith.constant of a scalar."""
    text = number(value, kind)
    return f"arith.constant {text}" if kind == "i1" else f"arith.constant {text} : {kind}"


def dense(shape, kind, data, splat=None):
    """A dense attribute: of the number `splat`, or of little-endian bytes `data`."""
    if splat is not None:
        return f"dense<{number(splat, kind)}>"
    if kind == "i1":
        def nested(at, rest):
            if not rest:
                return "true" if data[at] else "false"
            step = math.prod(rest[1:])
            return "[" + ", ".join(nested(at + i * step, rest[1:])
                                   for i in range(rest[0])) + "]"
        return f"dense<{nested(0, shape)}>"
    return f'dense<"0x{data.hex().upper()}">'


def quote(name):
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def ints(values):
    return "[" + ", ".join(map(str, values)) + "]"


def affine_map(loops, results):
    """Results are numbers of loops, None for position 0, or texts."""
    def one(result):
        if result is None:
            return "0"
        return result if isinstance(result, str) else f"d{result}"
    names = ", ".join(f"d{i}" for i in range(loops))
    return f"affine_map<({names}) -> ({', '.join(map(one, results))})>"


def reassociation(narrow, wide):
    """The groups of dimensions of `wide` that are each dimension of `narrow`; None if there are
    none. Dimensions of size one go where they make no group empty."""
    if not narrow:
        return [] if all(size == 1 for size in wide) else None
    groups, at = [], 0
    for i, size in enumerate(narrow):
        group, product = [], 1
        while at < len(wide) and (product < size or not group):
            product *= wide[at]
            group.append(at)
            at += 1
        if product != size:
            return None
        # Ones that follow belong here unless the dimensions to come need them.
        while at < len(wide) and wide[at] == 1 and len(wide) - at > len(narrow) - i - 1 and not (
                i + 1 < len(narrow) and narrow[i + 1] == 1):
            group.append(at)
            at += 1
        groups.append(group)
    while at < len(wide) and wide[at] == 1 and groups:
        groups[-1].append(at)
        at += 1
    return groups if at == len(wide) else None
