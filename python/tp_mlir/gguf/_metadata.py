"""The header of a GGUF file.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Metadata alone: what they say of the model, and its tensors, is the compiler's and the runtime's
affair (lib/Import/GgufConfig.cpp, runtime/include/tprt/gguf.h).
"""

import mmap
import struct

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
            12: "d"}
_TEXT, _LIST = 8, 9


class GgufError(ValueError):
    """A file that is broken, or has what is not supported."""


class Gguf:
    """A file's header.

    Attributes:
        metadata: values by key: numbers, booleans, texts, and lists of them.

    Raises GgufError if the file is no GGUF file, or is cut short.
    """

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            try:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError:
                raise GgufError(f"{path}: the file is empty") from None
        self._at, self.metadata = 0, {}
        if self._bytes[:4] != b"GGUF":
            raise GgufError(f"{path}: expected a GGUF file, which begins with \"GGUF\"")
        self._at = 4
        version = self._number("I")
        if version not in (2, 3):
            raise GgufError(f"{path}: expected version 2 or 3 of GGUF, little-endian, got {version}")
        _, entries = self._number("Q"), self._number("Q")
        for _ in range(entries):
            key = self._text()
            if key in self.metadata:
                raise GgufError(f"{path}: metadata '{key}' is there twice")
            self.metadata[key] = self._value(key, self._number("I"))

    def _take(self, size):
        if size > len(self._bytes) - self._at:
            raise GgufError(f"{self.path}: the file ends inside of its header (truncated?)")
        self._at += size
        return self._bytes[self._at - size:self._at]

    def _number(self, form):
        return struct.unpack("<" + form, self._take(struct.calcsize(form)))[0]

    def _text(self):
        data = self._take(self._number("Q"))
        try:
            return data.decode()
        except UnicodeDecodeError:
            # Who reads the text refuses it.
            return data.decode(errors="surrogateescape")

    def _value(self, key, kind):
        if kind in _NUMBERS:
            return self._number(_NUMBERS[kind])
        if kind == _TEXT:
            return self._text()
        if kind != _LIST:
            raise GgufError(f"{self.path}: metadata '{key}' has the unknown type {kind}")
        kind, count = self._number("I"), self._number("Q")
        if kind == _TEXT:
            return [self._text() for _ in range(self._bounded(count, 8))]
        if kind not in _NUMBERS:
            raise GgufError(f"{self.path}: metadata '{key}': expected a list of numbers or texts, "
                            f"got one of type {kind}")
        size = struct.calcsize(_NUMBERS[kind])
        data = self._take(self._bounded(count, size) * size)
        return list(struct.unpack(f"<{count}{_NUMBERS[kind]}", data))

    def _bounded(self, count, size):
        if count > (len(self._bytes) - self._at) // size:
            raise GgufError(f"{self.path}: a list of {count} items reaches past the end of the "
                            "file (truncated?)")
        return count
