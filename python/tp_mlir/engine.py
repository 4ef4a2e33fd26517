"""What a server and a program need of an engine that generates tokens.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

An engine takes prompts as token ids and gives the tokens that follow. It knows no text:
strings, templates and stop strings are those who ask's own (`tp_mlir.text`). It makes all
requests' steps together, in a thread of its own, and tells of each through a function that
was given with it.
"""

import os
import queue
from dataclasses import dataclass, field
from typing import Callable, Mapping, Optional, Protocol, Sequence

from . import _forks


class EngineError(RuntimeError):
    """A request that was not taken, or that ended without an answer."""


class ContextError(EngineError, ValueError):
    """The prompt leaves no room for a new token, or holds an id that is none."""


class QueueFullError(EngineError):
    """As many requests wait as may; ask again later."""


class ClosedError(EngineError):
    """The engine drains or is closed, and takes no requests."""


@dataclass(frozen=True)
class Params:
    """How a request's tokens are chosen, and when they end.

    Order: penalties, bias, temperature, top_k, min_p, top_p, draw (`tp_mlir.sampling`
    is the definition).

    Attributes:
        max_tokens: at most so many new tokens; at least 1. The context's end is another
            limit, which ends the request with "length" as well.
        temperature: 0 takes the likeliest token, the lowest id of equals.
        top_k: draw among so many of the likeliest; 0 means all.
        top_p: draw among the fewest likeliest whose probabilities make at least this sum.
        min_p: draw among those at least this times as likely as the likeliest.
        seed: the draw depends on it, the token's position and its id, and nothing else.
        presence_penalty: taken from the logit of each token generated before.
        frequency_penalty: taken as often as the token was generated before.
        repetition_penalty: logits of tokens of the prompt or generated before are divided
            by it if positive, multiplied if negative.
        logit_bias: added to the logits of tokens by id.
        stop_ids: the request ends after any of these, with "stop".
        logprobs: report so many likeliest tokens with each; None reports none at all,
            0 the chosen one alone.
    """

    max_tokens: int = 16
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    stop_ids: frozenset = frozenset()
    logprobs: Optional[int] = None


@dataclass(frozen=True)
class Logprobs:
    """Natural logarithms of probabilities at one position: of the model's own
    distribution, before penalties, bias and temperature.

    Attributes:
        chosen: of the token that was chosen.
        top: (id, logarithm) of the likeliest, best first.
    """

    chosen: float
    top: tuple = ()


@dataclass(frozen=True)
class Event:
    """What became of a request in one step.

    Attributes:
        ids: new tokens, in order, the stop token among them; none in an event that only
            ends the request.
        logprobs: as many as ids, if they were asked for.
        finish: None while the request goes on; then "stop", "length", "cancel" or "error".
        error: with "error", what happened, such as which rank was lost in which collective.
    """

    ids: tuple = ()
    logprobs: tuple = ()
    finish: Optional[str] = None
    error: str = ""


@dataclass(frozen=True)
class Stats:
    """Counts since the engine was opened, and what holds now.

    Attributes:
        running, waiting: requests in steps now, and in the queue.
        prompt_tokens, generated_tokens: computed since the engine was opened, those of
            prompts without what was shared.
        shared_tokens: of prompts, found in pages that other requests had filled.
        evictions: requests that were freed and computed again for want of pages.
        steps: programs run.
        pages, pages_held: of the cache: in all, and held by requests now.
    """

    running: int = 0
    waiting: int = 0
    prompt_tokens: int = 0
    generated_tokens: int = 0
    shared_tokens: int = 0
    evictions: int = 0
    steps: int = 0
    pages: int = 0
    pages_held: int = 0


class Engine(Protocol):
    """Every call may come from any thread, and none but `drain` and `close` waits.

    Attributes:
        context: most tokens of a prompt and its answer together.
        vocabulary: ids are below this.
        failure: None, or the exception that says what has ended the engine, such as which rank
            was lost: all requests have ended with it, and no more are taken.
    """

    context: int
    vocabulary: int
    failure: Optional[Exception]

    def submit(self, ids: Sequence[int], params: Params,
               on_event: Callable[[Event], None]) -> int:
        """Take a request and return its number.

        on_event is called once for each event, from a thread of the engine's, the last
        time with `finish` set, and never after. It must return soon, may call `cancel`,
        and must not wait for the engine. It may be called before `submit` returns.

        Raises ContextError, QueueFullError or ClosedError; then on_event is not called.
        """

    def cancel(self, request: int) -> None:
        """End a request within a step: its pages are free and its last event, "cancel",
        was given once the step that runs now is done. One that is unknown or has ended is
        let be."""

    def stats(self) -> Stats:
        """What holds now."""

    def drain(self, timeout: Optional[float] = None) -> bool:
        """Take no more requests, and wait until those taken have ended. False if some
        have not after `timeout` seconds."""

    def close(self) -> None:
        """Cancel what runs, and give everything back. A second call does nothing."""


def stream(engine, ids, params):
    """The events of one request, as they come; leaving the loop cancels the request.

    Raises EngineError with the engine's text if the request ends with an error, and in a child
    that was forked meanwhile.
    """
    events, process = queue.SimpleQueue(), os.getpid()
    request = engine.submit(ids, params, events.put)
    ended = False
    try:
        while not ended:
            if os.getpid() != process:
                raise EngineError(_forks.message("engine"))
            event = events.get()
            ended = event.finish is not None
            if event.finish == "error":
                raise EngineError(event.error)
            yield event
    finally:
        if not ended:
            engine.cancel(request)
