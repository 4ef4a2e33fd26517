"""The runtime's engine in this process, as engine.Engine describes one.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

tprt_generate_... of the runtime's C interface by ctypes. One thread asks for events and
hands them to those who submitted.
"""

import atexit
import ctypes
import json
import math
import pathlib
import tempfile
import threading
from dataclasses import replace

import numpy

from . import _cache, _checkpoint, _forks, _tools
from ._errors import from_exit
from ._ranks import of_program
from ._session import Session, _Sized, functions
from ._units import bytes_text
from .engine import (ClosedError, ContextError, EngineError, Event, Logprobs, QueueFullError,
                     Stats)

_FINISH = (None, "length", "stop", "cancel", "error")
_ERRORS = {1: ContextError, 6: QueueFullError, 7: ClosedError}
# More than any vocabulary and context.
_MANY = 2**62
_I32, _F32 = ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_float)
_Mask = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, _I32, ctypes.c_int64,
                         ctypes.POINTER(ctypes.c_uint32))


class _Request(_Sized):
    _fields_ = [("size", ctypes.c_uint64), ("prompt", _I32), ("prompt_count", ctypes.c_int64),
                ("max_tokens", ctypes.c_int64), ("repetition_penalty", ctypes.c_float),
                ("presence_penalty", ctypes.c_float), ("frequency_penalty", ctypes.c_float),
                ("bias_ids", _I32), ("bias", _F32), ("bias_count", ctypes.c_int64),
                ("temperature", ctypes.c_float), ("top_k", ctypes.c_int64),
                ("min_p", ctypes.c_float), ("top_p", ctypes.c_float), ("seed", ctypes.c_uint64),
                ("stop_ids", _I32), ("stop_count", ctypes.c_int64),
                ("ignore_stops", ctypes.c_int32), ("log_probabilities", ctypes.c_int64),
                ("parameters", ctypes.c_char_p), ("prompt_log_probabilities", ctypes.c_int64),
                ("mask", _Mask), ("mask_context", ctypes.c_void_p)]

    @classmethod
    def of(cls, ids, params, mask, guesses=0):
        """`mask`: a _Mask; `guesses`: tokens of a step that may be guessed."""
        # C takes the low bits of what is too large, and zero for its default.
        def words(values, what):
            taken = (ctypes.c_int32 * len(values))(*values)
            for place, value in enumerate(values):
                if taken[place] != value:
                    raise ContextError(f"{what} {place}: expected an id of 32 bits, got {value}")
            return taken

        def top(count):
            return 0 if count is None else 1 + min(count, _MANY)

        ids, stops = words(ids, "position"), words(sorted(params.stop_ids), "stop id")
        bias, said = params.logit_bias, params.said()
        if guesses:
            said["prompt_lookup_num_tokens"] = guesses
        return cls(
            prompt=ids, prompt_count=len(ids), presence_penalty=params.presence_penalty,
            frequency_penalty=params.frequency_penalty,
            bias_ids=words(list(bias), "bias"),
            bias=(ctypes.c_float * len(bias))(*bias.values()), bias_count=len(bias),
            seed=params.seed & 0xFFFFFFFFFFFFFFFF,
            stop_ids=stops, stop_count=len(stops), ignore_stops=1,
            log_probabilities=top(params.logprobs), parameters=_parameters(said),
            prompt_log_probabilities=top(params.prompt_logprobs), mask=mask)


def _parameters(said):
    """As JSON, which has no infinite numbers and, here, none above 64 bits."""
    for name, value in said.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ContextError(f"{name}: expected a number, got {value}")
        if isinstance(value, int):
            said[name] = min(value, _MANY)
    try:
        return json.dumps(said, allow_nan=False, default=_plain).encode()
    except (TypeError, ValueError) as error:
        raise ContextError(f"expected numbers and lists of them as parameters: {error}") from error


def _plain(value):
    """Sets and arrays as lists, and NumPy's numbers as Python's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"got {value!r}")


class _MaskCall:
    """A request's mask as C calls it.

    Attributes:
        error: what the mask has raised, as a text.
    """

    def __init__(self, mask, vocabulary):
        self._mask, self._words, self.error = mask, (vocabulary + 31) // 32, ""
        self.c = _Mask(self._call) if mask else _Mask()

    def _call(self, context, ids, count, allowed):
        try:
            words = numpy.ctypeslib.as_array(allowed, (self._words,))
            return 0 if self._mask(ids[:count], words) else 1
        except BaseException as error:  # C would lose an exception that leaves this function.
            self.error = str(error) or repr(error)
            return -1


class _Event(_Sized):
    _fields_ = [("size", ctypes.c_uint64), ("request", ctypes.c_uint64),
                ("token", ctypes.c_int32), ("finish", ctypes.c_int32), ("ids", _I32),
                ("log_probabilities", _F32), ("count", ctypes.c_int64),
                ("error", ctypes.c_char_p), ("of_prompt", ctypes.c_int32)]

    def made(self):
        """As engine.Event."""
        pairs = [(self.ids[i], self.log_probabilities[i]) for i in range(self.count)]
        values = (Logprobs(pairs[0][1], tuple(pairs[1:])),) if pairs else ()
        if self.of_prompt:
            return Event(prompt=((self.token, values[0]),))
        return Event(ids=(self.token,) if self.token >= 0 else (), logprobs=values,
                     finish=_FINISH[self.finish], error=self.error.decode())


def _signatures():
    code, handle, text = ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p
    return {
        "open": (code, handle, ctypes.c_int64, ctypes.POINTER(handle)),
        "close": (None, handle),
        "error": (text,),
        "submit": (code, handle, ctypes.POINTER(_Request), ctypes.c_int64,
                   ctypes.POINTER(ctypes.c_uint64)),
        "cancel": (None, handle, ctypes.c_uint64),
        "next": (code, handle, ctypes.c_double, ctypes.POINTER(_Event)),
        "drain": (None, handle),
        "stats": (text, handle),
    }


class Generator:
    """An engine.Engine on a compiled program.

    `stop_ids` are those that the checkpoint names; a request ends at its own alone.
    `defaults` and `notes` are what its generation_config.json says, and `about` what the program
    holds, as engine.Engine has them.
    Its ranks are threads of this process. With another backend this process is one of them:
    rank 0 where no launcher has started it, and then it starts the others of `ranks` itself. On
    all but rank 0 the constructor takes part until rank 0 closes its generator, and then raises
    SystemExit.
    """

    def __init__(self, path, weights, backend=None, timeout=None, queue=1024, ranks=1,
                 speculate=0, about="", notes=()):
        """`about` and `notes` are what is known of the program, as engine.Engine has them."""
        self.about, self.notes = about, tuple(notes)
        self.failure, self._guesses = None, speculate or 0
        self._session = self._thread = None
        self._handle = ctypes.c_void_p()
        self._calls = functions("tprt_generate_", _signatures())
        self._on_event, self._masks = {}, {}
        self._changed = threading.Condition()
        self._closing = self._is_forked = False
        _forks.watch(self)
        # The other ranks would take an end without it for a loss.
        atexit.register(self.close)
        try:
            self._session = Session(path, weights, backend, timeout, self._failed, ranks=ranks,
                                    leads=True)
            self._open(queue)
        except BaseException:
            self.close()
            raise
        self._thread = threading.Thread(target=self._tell, name="tp-mlir events", daemon=True)
        self._thread.start()

    def forked(self):
        """This is the copy of a child, which leaves the engine to its parent."""
        self._handle, self._thread, self._on_event = ctypes.c_void_p(), None, {}
        self._changed = threading.Condition()  # The parent's may be locked for good.
        self._is_forked = True

    def _open(self, queue):
        self._check(self._calls["open"](self._session._handle, queue, ctypes.byref(self._handle)))
        program = self._counts()
        if self._guesses and not program["may_guess"]:
            raise from_exit("libtprt", 2, f"expected speculate 0, got {self._guesses}, as this "
                            "model's convolutions keep the inputs of the last positions alone, "
                            "and a wrong guess overwrites them")
        self.context, self.vocabulary = program["context"], program["vocabulary"]
        self.stop_ids = frozenset(program["stop_ids"])
        self.defaults = program["defaults"]
        self.notes += tuple(program["notes"])

    def _check(self, code):
        if code != 0:
            raise from_exit("libtprt", code, self._calls["error"]().decode())

    def _failed(self, code, text):
        """Nothing will be answered any more."""
        if self.failure is None:
            text += self._session.killed() if self._session else ""
            self.failure = from_exit("libtprt", code, text)

    def _tell(self):
        event = _Event()
        while True:
            code = self._calls["next"](self._handle, 1.0, ctypes.byref(event))
            if code != 0:
                self._failed(code, self._calls["error"]().decode())
                failure = Event(finish="error", error=str(self.failure))
                with self._changed:
                    told, self._on_event = list(self._on_event.values()), {}
                    self._changed.notify_all()
                for on_event in told:
                    on_event(failure)
                return
            if event.request == 0:
                # Also when it has only waited long: what goes on is told first.
                if self._closing and not self._on_event:
                    return
                continue
            made = event.made()
            with self._changed:
                on_event = self._on_event[event.request]
                mask = self._masks.get(event.request)
            if made.finish == "error" and mask and mask.error:
                made = replace(made, error=mask.error)
            on_event(made)
            if made.finish is not None:
                with self._changed:
                    del self._on_event[event.request]
                    self._masks.pop(event.request, None)
                    self._changed.notify_all()

    def submit(self, ids, params, on_event):
        number = ctypes.c_uint64()
        mask = _MaskCall(params.mask, self.vocabulary)
        request = _Request.of(ids, params, mask.c, self._guesses)
        # Its events are not told before it is known whose they are.
        with self._changed:
            if self._is_forked:
                raise EngineError(_forks.message("engine"))
            if not self._handle:
                raise ClosedError("the engine is closed")
            if self.failure:
                raise EngineError(str(self.failure))
            code = self._calls["submit"](self._handle, ctypes.byref(request), 1,
                                         ctypes.byref(number))
            if code != 0:
                raise _ERRORS.get(code, EngineError)(self._calls["error"]().decode())
            self._on_event[number.value] = on_event
            if params.mask:
                self._masks[number.value] = mask
        return number.value

    def cancel(self, request):
        with self._changed:
            if self._handle:
                self._calls["cancel"](self._handle, request)

    def _counts(self):
        return json.loads(self._calls["stats"](self._handle))

    def stats(self):
        with self._changed:
            if not self._handle:
                return Stats()
            counts = self._counts()
        requests, tokens, cache = counts["requests"], counts["tokens"], counts["cache"]
        return Stats(running=requests["running"], waiting=requests["waiting"],
                     prompt_tokens=tokens["prompt_computed"],
                     generated_tokens=tokens["generated"], shared_tokens=tokens["prefix_hits"],
                     evictions=requests["recomputed"], steps=counts["steps"]["count"],
                     guessed_tokens=tokens["guessed"],
                     accepted_tokens=tokens["guessed_right"],
                     pages=cache["pages"], pages_held=cache["used"])

    def drain(self, timeout=None):
        with self._changed:
            if self._handle:
                self._calls["drain"](self._handle)
            return self._changed.wait_for(lambda: not self._on_event, timeout)

    def close(self):
        if self._thread:
            with self._changed:
                self._calls["drain"](self._handle)
                self._closing = True
                left = list(self._on_event)
            for request in left:
                self.cancel(request)
            self._thread.join()
            self._thread = None
        with self._changed:
            handle, self._handle = self._handle, ctypes.c_void_p()
        if handle:
            self._calls["close"](handle)
        if self._session:
            self._session.close()
        atexit.unregister(self.close)


class _Compiled(Generator):
    """On a program of its own, which goes with it."""

    def __init__(self, folder, backend, timeout, queue, speculate, options):
        with tempfile.TemporaryDirectory(prefix="tp-mlir-") as place:
            path = pathlib.Path(place) / "program.tpa"
            _cache.compile_into(path, folder, options)
            told = _tools.inspect(path)
            backend, ranks = of_program(told, backend)
            super().__init__(path, folder, backend, timeout, queue, ranks, speculate,
                             *_describe(told))


def _describe(told):
    """Rows, tokens and memory of a program that tp-inspect tells of, in a line, and what to note."""
    limits, memory = told["manifest"]["generation"], told["memory"]
    ranks, context, cells = told["artifact"]["ranks"], limits["context"], limits["cells"]
    peak = max(entry["peak_bytes"] for name, entry in memory["entries"].items()
               if name.startswith("step_"))
    requests = f"{limits['rows']} request{'s' if limits['rows'] > 1 else ''}"
    about = (f"up to {requests} in a step (--rows), each of at most {min(context, cells):,} tokens "
             f"(--context); a cache of {cells:,} tokens (--cells, --memory) for all; "
             f"{f'each of {ranks} ranks' if ranks > 1 else 'one rank'} takes {bytes_text(peak)}, of "
             f"which parameters are {bytes_text(memory['parameter_bytes'])} and the cache "
             f"{bytes_text(memory['state_bytes'])}")
    if cells >= context:
        return about, []
    return about, [f"the cache has {cells:,} tokens (--cells, --memory), so that a prompt and its answer "
                   f"have at most as many together, and not the {context:,} of --context"]


def _open_program(path, folder, backend, timeout, queue, speculate, options):
    """The engine of a program that tp-compile has made, whose options are no more to be chosen."""
    for name, value in options.items():
        if value not in (None, False):
            raise from_exit("tp-run", 2, f"the program {path} has been compiled: expected no "
                            f"{name} beside it, got {value!r}")
    told = _tools.inspect(path)
    if "generation" not in told["manifest"]:
        raise from_exit("tp-run", 1, f"the program {path} has no steps of generation: expected "
                        "one made with tp-compile --generate")
    backend, ranks = of_program(told, backend)
    return Generator(path, folder, backend, timeout, queue, ranks, speculate, *_describe(told))


def open_engine(folder, *, program=None, mesh=None, plan=None, target=None, context=None,
                rows=None, chunk=None, page=None, cells=None, memory=None, dtype=None, kv_dtype=None,
                generation_config=None, quantize=None, untie=False, ignore=None,
                allow_padding=False, backend=None, timeout=None, queue=1024, speculate=0):
    """Compile a checkpoint folder, or a GGUF file, to a program that generates, and open it.

    Options are tp-compile's; `backend` and `timeout` are tp-run's; `queue` is how many requests
    may wait; of each step up to `speculate` tokens of a request may be guesses, which change no
    answer. `program` is an artifact that tp-compile --generate has made, instead of tp-compile's
    options. What has been compiled before is found again (`_cache`).
    """
    folder = _checkpoint.open_model(folder, lambda words: from_exit("tp-compile", 1, words))
    options = {
        "mesh": mesh, "plan": plan, "target": target, "context": context, "rows": rows,
        "chunk": chunk, "page": page, "cells": cells, "memory": memory, "dtype": dtype,
        "kv_dtype": kv_dtype,
        "generation_config": generation_config, "quantize": quantize, "untie": untie,
        "ignore": ignore, "allow_padding": allow_padding}
    if program is not None:
        return _open_program(program, folder, backend, timeout, queue, speculate, options)
    return _Compiled(folder, backend, timeout, queue, speculate, options)
