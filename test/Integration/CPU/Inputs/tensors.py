"""Reads and writes safetensors with the standard library alone.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

So that tests which execute programs need no NumPy. Tensors are (shape, flat
list of numbers).
"""

import json
import struct

CODES = {"F32": "f", "F16": "e", "I64": "q", "I32": "i"}


def save(path, tensors):
    """Write {name: (type, shape, values)}."""
    header, data = {}, b""
    for name, (kind, shape, values) in tensors.items():
        raw = struct.pack("<%d%s" % (len(values), CODES[kind]), *values)
        header[name] = {
            "dtype": kind,
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def load(path):
    """Read {name: (shape, values)}."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        data = file.read()
    result = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        raw = data[slice(*entry["data_offsets"])]
        if entry["dtype"] == "BF16":  # the upper half of an f32
            entry["dtype"] = "F32"
            raw = b"".join(b"\0\0" + raw[i : i + 2] for i in range(0, len(raw), 2))
        code = CODES[entry["dtype"]]
        count = len(raw) // struct.calcsize(code)
        result[name] = (entry["shape"], list(struct.unpack("<%d%s" % (count, code), raw)))
    return result


def compare(name, actual, expected, tolerance):
    """Report the first element that is further off than tolerance times the
    largest value."""
    shape, values = actual
    largest = max(abs(value) for value in expected) or 1.0
    if len(values) != len(expected):
        raise SystemExit("%s: %d elements instead of %d" % (name, len(values), len(expected)))
    for i, (got, want) in enumerate(zip(values, expected)):
        if not abs(got - want) <= tolerance * largest:
            raise SystemExit("%s: element %d of shape %s is %r instead of %r" % (name, i, shape, got, want))
    print("%s: agrees" % name)
