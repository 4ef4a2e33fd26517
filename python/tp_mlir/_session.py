"""A program in this process: weights are read once, arrays go without files.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The runtime's C interface (runtime/include/tprt/tprt.h) by ctypes, which lets go of the
interpreter's lock while a call runs.
"""

import atexit
import contextlib
import ctypes
import functools
import json
import math
import pathlib
import signal
import sys
import threading
import weakref

import numpy

from . import _forks, _tools
from ._errors import InputError, from_exit
from ._ranks import Ranks

_TYPES = {"F32": numpy.float32, "F16": numpy.float16, "I64": numpy.int64, "I32": numpy.int32,
          "I8": numpy.int8, "U8": numpy.uint8, "BOOL": numpy.bool_}
_WIDE = {b"F16": b"F32", b"BF16": b"F32"}
_NAMES = {numpy.dtype(kind): name for name, kind in _TYPES.items()}
# Those that are open, whose other ranks would take this process' end for a loss.
_leading = weakref.WeakSet()
# Backends whose ranks we start ourselves where no launcher has.
_STARTED = ("processes", "nccl")


class _Sized(ctypes.Structure):
    """Begins with its own size."""

    def __init__(self, **fields):
        super().__init__(size=ctypes.sizeof(self), **fields)


class _Tensor(_Sized):
    _fields_ = [("size", ctypes.c_uint64), ("name", ctypes.c_char_p), ("dtype", ctypes.c_char_p),
                ("rank", ctypes.c_int64), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("data", ctypes.c_void_p), ("bytes", ctypes.c_int64)]

    @classmethod
    def of(cls, name, array):
        """The array's memory, which must outlive it."""
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        return cls(name=name.encode(), dtype=_NAMES[array.dtype].encode(), rank=array.ndim,
                   shape=shape, data=array.ctypes.data, bytes=array.nbytes)

    def empty(self):
        """An array for the elements, floats as float32."""
        shape = tuple(self.shape[i] for i in range(self.rank))
        return numpy.empty(shape, _TYPES.get(_WIDE.get(self.dtype, self.dtype).decode()))


def _bind(arrays):
    """The arrays' memory, and how many there are."""
    tensors = [_Tensor.of(name, array) for name, array in arrays.items()]
    return (_Tensor * len(tensors))(*tensors), len(tensors)


_OnFailure = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32,
                              ctypes.c_char_p)


class _Options(_Sized):
    _fields_ = [("size", ctypes.c_uint64), ("backend", ctypes.c_char_p),
                ("timeout_seconds", ctypes.c_double), ("start_timeout_seconds", ctypes.c_double),
                ("load_timeout_seconds", ctypes.c_double), ("timeline", ctypes.c_int32),
                ("allow_stops", ctypes.c_int32), ("on_failure", _OnFailure),
                ("context", ctypes.c_void_p), ("silence_timeout_seconds", ctypes.c_double)]


@functools.cache
def _library():
    """libtprt.so, in the folder `lib` beside that of tp-run."""
    path = pathlib.Path(_tools.find("tp-run")).resolve().parents[1] / "lib" / "libtprt.so"
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise InputError("libtprt", 1, f"cannot open the runtime: {error}") from error


def functions(prefix, signatures):
    """The library's functions by name without their prefix; a signature is the result and
    the arguments."""
    found = {}
    for name, (result, *arguments) in signatures.items():
        function = found[name] = getattr(_library(), prefix + name)
        function.restype, function.argtypes = result, arguments
    return found


@functools.cache
def _runtime():
    session, size, text = ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p
    tensor = ctypes.POINTER(_Tensor)
    return functions("tprt_", {
        "open": (ctypes.c_int32, text, ctypes.POINTER(_Options), ctypes.POINTER(session)),
        "close": (None, session),
        "lead": (ctypes.c_int32, session),
        "follow": (ctypes.c_int32, session),
        "launched": (ctypes.c_int32,),
        "error": (text, session),
        "ranks": (size, session),
        "rank_here": (size, session),
        "entry": (size, session, text),
        "entry_for": (size, session, tensor, size),
        "input_count": (size, session, size),
        "describe_input": (ctypes.c_int32, session, size, size, tensor,
                           ctypes.POINTER(ctypes.c_int32)),
        "output_count": (size, session, size),
        "describe_output": (ctypes.c_int32, session, size, size, tensor),
        "describe_result": (ctypes.c_int32, session, size, tensor, size, size, tensor),
        "load_weights": (ctypes.c_int32, session, text),
        "load_checkpoint": (ctypes.c_int32, session, text),
        "save_checkpoint": (ctypes.c_int32, session, text, text, text),
        "run": (ctypes.c_int32, session, size, tensor, size, tensor, size),
        "state_count": (size, session),
        "describe_state": (ctypes.c_int32, session, size, tensor),
        "read_states": (ctypes.c_int32, session, tensor, size),
        "reset_states": (ctypes.c_int32, session),
        "stats": (text, session),
        "not_finite_weights": (text, session),
    })


def is_launched():
    """True if a launcher has started this process, as one of a job's ranks."""
    return bool(_runtime()["launched"]())


def seconds(timeout):
    """As the library takes it: 0 is its default, which here is None."""
    if timeout is None:
        return 0
    if not 0 < timeout < math.inf:
        raise from_exit("libtprt", 2, f"timeout: expected seconds above 0, got {timeout}")
    return timeout


@atexit.register
def _close_all():
    for session in list(_leading):
        session.close()


class Session:
    """A program that is open, with its weights; made by Program.open.

    One thread at a time may use it. Close it, or use it in a `with`: its weights are
    memory of this process. Its ranks are threads of this process, or, for a backend other
    than threads, processes of which this is one. Then rank 0 alone gets results, and
    `on_failure(code, text)` is called from another thread as soon as any rank is lost or has
    failed.

    Attributes:
        ranks: how many ranks run the program.
        rank: which of them this process is; 0 where it has all of them.
    """

    def __init__(self, path, weights, backend=None, timeout=None, on_failure=None,
                 is_checkpoint=False, ranks=1, leads=False):
        """
        Args:
            is_checkpoint: whether `weights` is a folder that `save_checkpoint` has written.
            ranks: how many the program has. Where no launcher has started this process, it is
                rank 0 of a backend that has processes, and starts the others.
            leads: whether rank 0 alone makes calls, which it always does where it has started
                the others. On them the constructor then takes part until rank 0 closes its
                session, and raises SystemExit. If not, all ranks make the same calls.
        """
        self._calls = _runtime()
        self._handle = ctypes.c_void_p()
        self._given = {}
        self._is_forked, self._others = False, None
        _forks.watch(self)
        place = contextlib.nullcontext()
        if ranks > 1 and backend in _STARTED and not is_launched():
            self._others = Ranks(ranks, path, weights, backend, seconds(timeout),
                                 int(is_checkpoint))
            place, leads = self._others.first(), True
        try:
            with place:
                self._open(path, weights, backend, timeout, on_failure, is_checkpoint)
            self.ranks = self._calls["ranks"](self._handle)
            self.rank = self._calls["rank_here"](self._handle)
            if leads:
                self._lead()
        except BaseException:
            if self._others:
                self._others.end(0)
            self.close()
            raise

    def _lead(self):
        if self.rank == 0:
            self._call("lead")
            _leading.add(self)
            return
        # Launchers tell all ranks to end, where rank 0 may have something to end first.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
        self._call("follow")
        self.close()
        sys.exit(0)

    def _open(self, path, weights, backend, timeout, on_failure, is_checkpoint):
        # Kept, as the library may call it until the end.
        self._on_failure = _OnFailure(
            (lambda context, rank, code, text: on_failure(code, text.decode()))
            if on_failure else 0)
        options = _Options(backend=backend.encode() if backend else None,
                           timeout_seconds=seconds(timeout), on_failure=self._on_failure)
        self._check(self._calls["open"](str(path).encode(), ctypes.byref(options),
                                        ctypes.byref(self._handle)))
        self._call("load_checkpoint" if is_checkpoint else "load_weights", str(weights).encode())

    def killed(self):
        """How ranks that it has started were killed, as far as they were, in words."""
        return self._others.killed() if self._others else ""

    def _check(self, code):
        if code != 0:
            raise from_exit("libtprt", code, self._calls["error"](self._handle).decode())

    def forked(self):
        """This is the copy of a child, which leaves the session to its parent."""
        self._handle, self._others, self._is_forked = ctypes.c_void_p(), None, True

    def _expect_open(self):
        if self._is_forked:
            raise InputError("libtprt", 1, _forks.message("session"))
        if not self._handle:
            raise ValueError("the session is closed")

    def _call(self, name, *arguments):
        self._expect_open()
        self._check(self._calls[name](self._handle, *arguments))

    def _entry(self, name):
        self._expect_open()
        entry = self._calls["entry"](self._handle, name.encode() if name else None)
        self._check(1 if entry < 0 else 0)
        return entry

    def inputs(self, entry=None):
        """What an entry takes: dict of name to (shape, type name, whether it may be
        left out)."""
        return self._inputs(self._entry(entry))

    def _inputs(self, number):
        described = {}
        for i in range(self._calls["input_count"](self._handle, number)):
            tensor, optional = _Tensor(), ctypes.c_int32()
            self._call("describe_input", number, i, ctypes.byref(tensor), ctypes.byref(optional))
            shape = tuple(tensor.shape[d] for d in range(tensor.rank))
            described[tensor.name.decode()] = (shape, tensor.dtype.decode(), bool(optional.value))
        return described

    def run(self, inputs, entry=None, repeat=1):
        """Run a step, or `repeat` of them.

        Args:
            inputs: dict of name to array, of the shapes compiled; sequences may be shorter,
                and padded on either side. What was given to an earlier run of the entry
                stays, unless the sequences have another length now.
            entry: the entry's name; default the first, or of several lengths the least
                that has room for the inputs.

        Returns:
            dict of name to array, floats as float32, of sequences as long as those given.
        """
        if repeat < 1:
            raise InputError("libtprt", 1, f"expected at least one repetition, got {repeat}")
        fresh = {}
        for name, value in inputs.items():
            array = numpy.asarray(value, order="C")
            if array.dtype not in _NAMES:
                raise InputError("libtprt", 1, f"input '{name}': expected an array of "
                                 f"{', '.join(sorted(str(kind) for kind in _NAMES))}, got "
                                 f"{array.dtype}")
            # A copy if it may change before the next run.
            fresh[name] = array.copy() if array is value else array

        number = self._entry(entry) if entry else self._entry_for(*_bind(fresh))
        batch = {name: shape[:2] for name, (shape, _, _) in self._inputs(number).items()}
        # Of a program that trains: one input under either name.
        same = {}
        if "targets" in batch and "labels" not in batch:
            batch["labels"] = batch["targets"]
            same = {"targets": "labels", "labels": "targets"}
        given = {name: array for name, array in self._given.get(number, {}).items()
                 if same.get(name) not in fresh and
                 all(batch[name] != batch.get(other) or array.shape[:2] == value.shape[:2]
                     for other, value in fresh.items())} | fresh
        bound, outputs = _bind(given), {}
        for i in range(self._calls["output_count"](self._handle, number)):
            tensor = _Tensor()
            self._call("describe_result", number, *bound, i, ctypes.byref(tensor))
            outputs[tensor.name.decode()] = tensor.empty()
        for n in range(repeat):
            self._call("run", number, *bound, *_bind(outputs if n == repeat - 1 else {}))
        self._given[number] = given
        return outputs if self.rank == 0 else {}

    def _entry_for(self, tensors, count):
        self._expect_open()
        entry = self._calls["entry_for"](self._handle, tensors, count)
        self._check(1 if entry < 0 else 0)
        return entry

    def states(self):
        """What is in the program's states now: dict of name to array, floats as
        float32."""
        self._expect_open()
        states = {}
        for i in range(self._calls["state_count"](self._handle)):
            tensor = _Tensor()
            self._call("describe_state", i, ctypes.byref(tensor))
            states[tensor.name.decode()] = tensor.empty()
        self._call("read_states", *_bind(states))
        return states if self.rank == 0 else {}

    def reset_states(self):
        """Give every state its initial value again."""
        self._call("reset_states")

    def save_checkpoint(self, folder, source, progress):
        """Write weights and states of training to a folder, as tp-run --save does.

        Args:
            folder: what is there is replaced once the new one is whole.
            source: folder with the small files, config.json among them.
            progress: dict for trainer.json.
        """
        self._call("save_checkpoint", str(folder).encode(), str(source).encode(),
                   json.dumps(progress).encode())

    def stats(self):
        """What --stats=json prints of the steps so far, parsed."""
        self._expect_open()
        stats = self._calls["stats"](self._handle)
        self._check(0 if stats is not None else 1)
        return json.loads(stats or b"{}")

    def not_finite_weights(self):
        """The first weights that hold NaN or infinity, with the file and how many of their values,
        in words; empty if none does. The first call reads the checkpoint again."""
        self._expect_open()
        return (self._calls["not_finite_weights"](self._handle) or b"").decode()

    def close(self):
        """End the ranks and free the weights; may be called again."""
        if self._handle:
            self._calls["close"](self._handle)
            self._handle = ctypes.c_void_p()
        if self._others:
            self._others.end()
            self._others = None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()
