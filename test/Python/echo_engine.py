"""An engine that says the prompt again, for tests of what serves one.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import itertools
import threading
from collections import deque

from tp_mlir.engine import (ClosedError, ContextError, EngineError, Event, Logprobs, QueueFullError,
                            Stats)


def echo(prompt, params, k):
    """Token k of the answer: the prompt's, without its first, again and again. With a
    temperature the seed shifts it."""
    shift = params.seed if params.temperature else 0
    return prompt[1 + (k + shift) % (len(prompt) - 1)] if len(prompt) > 1 else prompt[0]


class EchoEngine:
    """A tp_mlir.engine.Engine. Steps are made by a thread, or by `step` where `paused`.

    Attributes:
        most_rows: requests in a step; as many more may wait.
        largest: most requests that were held at once.
    """

    def __init__(self, context=512, vocabulary=700, most_rows=256, paused=False):
        self.context, self.vocabulary, self.most_rows = context, vocabulary, most_rows
        self.defaults, self.about, self.notes = {}, "", ()
        self.largest = self.steps = self.generated = 0
        self.cancelled, self.params, self.failure = [], [], None
        self._requests, self._numbers = {}, itertools.count(1)
        self._changed = threading.Condition(threading.RLock())
        self._open, self._permits = True, deque()
        self._paused = paused
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def submit(self, ids, params, on_event):
        with self._changed:
            if not self._open:
                raise ClosedError("the engine is closed")
            if self.failure:
                raise self.failure
            if not 0 < len(ids) < self.context:
                raise ContextError(f"expected 1 to {self.context - 1} tokens, got {len(ids)}")
            if len(self._requests) >= 2 * self.most_rows:
                raise QueueFullError(f"{self.most_rows} requests wait already")
            number = next(self._numbers)
            self._requests[number] = [list(ids), params, on_event, 0]
            self.params.append(params)
            self.largest = max(self.largest, len(self._requests))
            self._changed.notify_all()
            return number

    def cancel(self, request):
        with self._changed:
            found = self._requests.pop(request, None)
            if found is not None:
                self.cancelled.append(request)
                found[2](Event(finish="cancel"))
                self._changed.notify_all()

    def fail(self, text):
        """As if a rank were lost."""
        with self._changed:
            self.failure = EngineError(text)
            self._changed.notify_all()

    def step(self, count=1):
        """Make so many steps, and wait until they are made."""
        with self._changed:
            until = self.steps + count
            self._permits.extend([1] * count)
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: self.steps >= until, 10)

    def wait_for(self, condition):
        """Until `condition(self)` holds; False if it does not for ten seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: condition(self), 10)

    @property
    def held(self):
        return len(self._requests)

    def stats(self):
        with self._changed:
            running = min(self.held, self.most_rows)
            return Stats(running=running, waiting=self.held - running,
                         generated_tokens=self.generated, steps=self.steps, pages=2 * self.context,
                         pages_held=self.held)

    def drain(self, timeout=None):
        with self._changed:
            self._open = False
            return self._changed.wait_for(lambda: not self._requests, timeout)

    def close(self):
        with self._changed:
            self._open = False
            for request in list(self._requests):
                self.cancel(request)
            self._changed.notify_all()
        self._thread.join()

    def _ready(self):
        return not self._open or self.failure or (
            self._permits if self._paused else self._requests)

    def _run(self):
        while True:
            with self._changed:
                self._changed.wait_for(self._ready)
                if not self._open and not self._requests:
                    return
                if self._paused and self._permits:
                    self._permits.popleft()
                for number in list(self._requests)[:self.most_rows]:
                    self._advance(number)
                self.steps += 1
                self._changed.notify_all()
            # Others may get at it between two steps.
            threading.Event().wait(0.0002)

    def _advance(self, number):
        prompt, params, on_event, k = self._requests[number]
        if params.prompt_logprobs is not None and k == 0:
            for token in prompt[1:]:
                top = ((token, -1.5), ((token + 1) % self.vocabulary, -2.5))
                on_event(Event(prompt=((token, Logprobs(-1.5, top[:params.prompt_logprobs])),)))
            if params.max_tokens == 0:
                del self._requests[number]
                return on_event(Event(finish="length"))
        if self.failure:
            del self._requests[number]
            return on_event(Event(finish="error", error=str(self.failure)))
        token = echo(prompt, params, k)
        self._requests[number][3] = k + 1
        self.generated += 1
        finish = None
        if token in params.stop_ids:
            finish = "stop"
        elif k + 1 >= (params.max_tokens or 16) or len(prompt) + k + 1 >= self.context:
            finish = "length"
        logprobs = ()
        if params.logprobs is not None:
            top = ((token, -0.5), ((token + 1) % self.vocabulary, float("-inf")))
            logprobs = (Logprobs(-0.5, top[:params.logprobs]),)
        if finish:
            del self._requests[number]
        on_event(Event((token,), logprobs, finish))
