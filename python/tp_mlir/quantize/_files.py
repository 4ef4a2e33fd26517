"""Safetensors read and written by slices.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

numpy has no bf16 and no fp8, which the package safetensors therefore does not hand out; here
tensors are bytes with the type's name beside them.
"""

import json
import math

import numpy

from .. import _checkpoint
from .._errors import writing
from . import _codes

_FLOATS = {"F32": numpy.float32, "F16": numpy.float16, "BF16": numpy.uint16}
#: A header larger than this is not one.
_MOST_HEADER = 100 << 20


class Reader:
    """One file: `tensors` maps a name to (type, shape); rows are read when they are asked for."""

    def __init__(self, path):
        _checkpoint.check_file(path)
        self.path = path
        with open(path, "rb") as file:
            start = file.read(8)
            length = int.from_bytes(start, "little")
            if len(start) < 8 or length > _MOST_HEADER:
                raise ValueError(f"{path}: expected a safetensors file")
            try:
                header = json.loads(file.read(length))
                header.pop("__metadata__", None)
                self.tensors = {name: (entry["dtype"], tuple(entry["shape"]))
                                for name, entry in header.items()}
                self._at = {name: [8 + length + int(at) for at in entry["data_offsets"]]
                            for name, entry in header.items()}
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(f"{path}: expected a safetensors header: {error}") from error
            size = file.seek(0, 2)
        for name, (begin, end) in self._at.items():
            if not 8 + length <= begin <= end <= size:
                raise ValueError(f"{path}: tensor '{name}' ends at byte {end}, the file at {size}: "
                                 "the file is cut short")
        self._file = open(path, "rb")

    def close(self):
        self._file.close()

    def copy(self, name, write, piece=16 << 20):
        """Hands all bytes of a tensor to `write`, some at a time."""
        begin, end = self._at[name]
        self._file.seek(begin)
        for at in range(begin, end, piece):
            write(self._file.read(min(piece, end - at)))

    def rows(self, name, first, count):
        """Rows of a matrix of floats, as f32 [count, K]."""
        dtype, shape = self.tensors[name]
        kind = numpy.dtype(_FLOATS[dtype])
        row = math.prod(shape[1:]) * kind.itemsize
        begin, end = self._at[name]
        if end - begin != row * shape[0]:
            raise ValueError(f"{self.path}: tensor '{name}': expected {row * shape[0]} bytes for "
                             f"its shape, got {end - begin}")
        self._file.seek(begin + first * row)
        values = numpy.frombuffer(self._file.read(count * row), kind).reshape(count, -1)
        return _codes.bf16_to_f32(values) if dtype == "BF16" else values.astype(numpy.float32)

    def size(self, name):
        """Bytes of a tensor."""
        begin, end = self._at[name]
        return end - begin

    def is_float(self, name):
        return self.tensors[name][0] in _FLOATS


class Writer:
    """One file of tensors of known (type, shape, bytes), in the order of `tensors`; `put` fills
    them from front to back, each on its own."""

    def __init__(self, path, tensors):
        self._at, header, end = {}, {"__metadata__": {"format": "pt"}}, 0
        for name, (dtype, shape, size) in tensors.items():
            header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [end, end + size]}
            self._at[name] = end
            end += size
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        self._path, self._file = path, open(path, "wb")
        with writing(path):
            self._file.write(len(text).to_bytes(8, "little") + text)
        self._data = 8 + len(text)

    def put(self, name, data):
        with writing(self._path):
            self._file.seek(self._data + self._at[name])
            self._file.write(data)
        self._at[name] += len(data)

    def close(self):
        with writing(self._path):
            self._file.close()
