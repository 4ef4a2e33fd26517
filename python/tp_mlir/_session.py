"""A program in this process: weights are read once, arrays go without files.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The runtime's C interface (runtime/include/tprt/tprt.h) by ctypes, which lets go of the
interpreter's lock while a call runs.
"""

import ctypes
import functools
import json
import pathlib

import numpy

from . import _tools
from ._errors import InputError, from_exit

_TYPES = {"F32": numpy.float32, "F16": numpy.float16, "I64": numpy.int64, "I32": numpy.int32,
          "I8": numpy.int8, "U8": numpy.uint8, "BOOL": numpy.bool_}
_NAMES = {numpy.dtype(kind): name for name, kind in _TYPES.items()}


class _Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_char_p), ("rank", ctypes.c_int64),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p),
                ("bytes", ctypes.c_int64)]

    def read(self):
        """A copy of the elements, and the name."""
        shape = tuple(self.shape[i] for i in range(self.rank))
        array = numpy.empty(shape, _TYPES[self.dtype.decode()])
        ctypes.memmove(array.ctypes.data, self.data, self.bytes)
        return self.name.decode(), array


class _Options(ctypes.Structure):
    _fields_ = [("backend", ctypes.c_char_p), ("timeout_seconds", ctypes.c_double),
                ("timeline", ctypes.c_int32)]


@functools.cache
def _runtime():
    """libtprt.so, in the folder `lib` beside that of tp-run."""
    path = pathlib.Path(_tools.find("tp-run")).resolve().parents[1] / "lib" / "libtprt.so"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise InputError("libtprt", 1, f"cannot open the runtime: {error}") from error
    session, size, text = ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p
    tensor = ctypes.POINTER(_Tensor)
    signatures = {
        "open": (ctypes.c_int32, text, ctypes.POINTER(_Options), ctypes.POINTER(session)),
        "close": (None, session),
        "error": (text, session),
        "ranks": (size, session),
        "entry": (size, session, text),
        "input_count": (size, session, size),
        "describe_input": (ctypes.c_int32, session, size, size, tensor,
                           ctypes.POINTER(ctypes.c_int32)),
        "output_count": (size, session, size),
        "load_weights": (ctypes.c_int32, session, text),
        "set_input": (ctypes.c_int32, session, size, tensor),
        "run": (ctypes.c_int32, session, size, size),
        "output": (ctypes.c_int32, session, size, size, tensor),
        "state_count": (size, session),
        "state": (ctypes.c_int32, session, size, tensor),
        "reset_states": (ctypes.c_int32, session),
        "stats": (text, session),
    }
    functions = {}
    for name, (result, *arguments) in signatures.items():
        function = getattr(library, "tprt_" + name)
        function.restype, function.argtypes = result, arguments
        functions[name] = function
    return functions


class Session:
    """A program that is open, with its weights; made by Program.open.

    One thread at a time may use it. Close it, or use it in a `with`: its ranks are
    threads of this process and its weights memory of it.

    Attributes:
        ranks: how many ranks run the program.
    """

    def __init__(self, path, weights, backend=None, timeout=None):
        self._calls = _runtime()
        self._handle = ctypes.c_void_p()
        options = _Options(backend.encode() if backend else None, timeout or 0, 0)
        self._check(self._calls["open"](str(path).encode(), ctypes.byref(options),
                                        ctypes.byref(self._handle)))
        try:
            self._call("load_weights", str(weights).encode())
        except Exception:
            self.close()
            raise
        self.ranks = self._calls["ranks"](self._handle)

    def _check(self, code):
        if code != 0:
            raise from_exit("libtprt", code, self._calls["error"](self._handle).decode())

    def _call(self, name, *arguments):
        if not self._handle:
            raise ValueError("the session is closed")
        self._check(self._calls[name](self._handle, *arguments))

    def _entry(self, name):
        if not self._handle:
            raise ValueError("the session is closed")
        entry = self._calls["entry"](self._handle, name.encode() if name else None)
        self._check(1 if entry < 0 else 0)
        return entry

    def inputs(self, entry=None):
        """What an entry takes: dict of name to (shape, type name, whether it may be
        left out)."""
        number, described = self._entry(entry), {}
        for i in range(self._calls["input_count"](self._handle, number)):
            tensor, optional = _Tensor(), ctypes.c_int32()
            self._call("describe_input", number, i, ctypes.byref(tensor), ctypes.byref(optional))
            shape = tuple(tensor.shape[d] for d in range(tensor.rank))
            described[tensor.name.decode()] = (shape, tensor.dtype.decode(), bool(optional.value))
        return described

    def run(self, inputs, entry=None, repeat=1):
        """Run a step, or `repeat` of them.

        Args:
            inputs: dict of name to array, of the shapes compiled; what was given to an
                earlier run stays.
            entry: the entry's name; default the first.

        Returns:
            dict of name to array, floats as float32.
        """
        number = self._entry(entry)
        for name, value in inputs.items():
            array = numpy.asarray(value, order="C")
            if array.dtype not in _NAMES:
                raise InputError("libtprt", 1, f"input '{name}': expected an array of "
                                 f"{', '.join(sorted(str(kind) for kind in _NAMES))}, got "
                                 f"{array.dtype}")
            shape = (ctypes.c_int64 * array.ndim)(*array.shape)
            tensor = _Tensor(name.encode(), _NAMES[array.dtype].encode(), array.ndim, shape,
                             array.ctypes.data, array.nbytes)
            self._call("set_input", number, ctypes.byref(tensor))
        self._call("run", number, repeat)
        outputs = {}
        for i in range(self._calls["output_count"](self._handle, number)):
            tensor = _Tensor()
            self._call("output", number, i, ctypes.byref(tensor))
            name, array = tensor.read()
            outputs[name] = array
        return outputs

    def states(self):
        """What is in the program's states now: dict of name to array, floats as
        float32."""
        if not self._handle:
            raise ValueError("the session is closed")
        states = {}
        for i in range(self._calls["state_count"](self._handle)):
            tensor = _Tensor()
            self._call("state", i, ctypes.byref(tensor))
            name, array = tensor.read()
            states[name] = array
        return states

    def reset_states(self):
        """Give every state its initial value again."""
        self._call("reset_states")

    def stats(self):
        """What --stats=json prints of the steps so far, parsed."""
        if not self._handle:
            raise ValueError("the session is closed")
        return json.loads(self._calls["stats"](self._handle))

    def close(self):
        """End the ranks and free the weights; may be called again."""
        if self._handle:
            self._calls["close"](self._handle)
            self._handle = ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()
