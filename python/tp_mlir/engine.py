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
from typing import Callable, Mapping, Optional, Protocol, Sequence, Tuple

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

    What is None has the checkpoint's default, of its generation_config.json, and changes
    nothing where that says nothing either. Order: sequence_bias, penalties, logit_bias,
    exclusions, temperature, top_k, min_p, top_p, draw (`tp_mlir.sampling` is the definition).

    Attributes:
        max_tokens: at most so many new tokens; at least 1. Without a default 16. The context's
            end is another limit, which ends the request with "length" as well.
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
        min_tokens: no stop id comes among the first so many new tokens.
        no_repeat_ngram_size: no so many tokens in a row occur twice, the prompt's among them;
            0 means that any may.
        bad_words_ids: sequences of ids that are never completed; a stop id alone is none.
        suppress_tokens, begin_suppress_tokens: ids that never come, or not as the first of an
            answer.
        sequence_bias: pairs of a sequence of ids and a number, which is added to the logit of
            its last id where the others have just come.
        forced_bos_token_id: the id that follows a prompt of one token.
        forced_eos_token_id: ids, one of which is the last token that an answer has room for.
        exponential_decay_length_penalty: (start, factor): from token start + 1 of an answer on
            the logits of stop ids gain their size times factor^n - 1, with n = 1 for the first.
        prompt_logprobs: report the prompt's own tokens before the answer, with as many likeliest
            ones as `logprobs` would; max_tokens may then be 0, for no answer.
        mask: called as mask(ids, words) before each new token, in order and from the engine's
            thread: `ids` are those of the answer so far, and it sets bit i % 32 of words[i // 32],
            a NumPy array of zeros of type uint32, for each token i that may come. Returns False
            if the answer is complete, which ends the request with "stop". What it raises ends the
            request with "error".
    """

    max_tokens: Optional[int] = None
    temperature: Optional[float] = None
    top_k: Optional[int] = None
    top_p: Optional[float] = None
    min_p: Optional[float] = None
    seed: int = 0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: Optional[float] = None
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    stop_ids: frozenset = frozenset()
    logprobs: Optional[int] = None
    min_tokens: Optional[int] = None
    no_repeat_ngram_size: Optional[int] = None
    bad_words_ids: Optional[Sequence[Sequence[int]]] = None
    suppress_tokens: Optional[Sequence[int]] = None
    begin_suppress_tokens: Optional[Sequence[int]] = None
    sequence_bias: Optional[Sequence[Tuple[Sequence[int], float]]] = None
    forced_bos_token_id: Optional[int] = None
    forced_eos_token_id: Optional[Sequence[int]] = None
    exponential_decay_length_penalty: Optional[Tuple[int, float]] = None
    prompt_logprobs: Optional[int] = None
    mask: Optional[Callable] = None

    def said(self):
        """Parameters that are set and may have a default, by generation_config.json's names."""
        named = {name: getattr(self, name) for name in _WITH_DEFAULTS}
        named["max_new_tokens"] = self.max_tokens
        named["min_new_tokens"] = self.min_tokens
        return {name: value for name, value in named.items() if value is not None}


_WITH_DEFAULTS = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty",
                  "no_repeat_ngram_size", "bad_words_ids", "suppress_tokens",
                  "begin_suppress_tokens", "sequence_bias", "forced_bos_token_id",
                  "forced_eos_token_id", "exponential_decay_length_penalty")


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
            ends the request or tells of the prompt.
        logprobs: as many as ids, if they were asked for.
        prompt: pairs of a token of the prompt and its Logprobs, in order from the second token
            on, if they were asked for. All of them come before the first new token.
        finish: None while the request goes on; then "stop", "length", "cancel" or "error".
        error: with "error", what happened, such as which rank was lost in which collective.
    """

    ids: tuple = ()
    logprobs: tuple = ()
    finish: Optional[str] = None
    error: str = ""
    prompt: tuple = ()


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
        guessed_tokens, accepted_tokens: guesses in steps (`speculate`), and those that came.
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
    guessed_tokens: int = 0
    accepted_tokens: int = 0


class Engine(Protocol):
    """Every call may come from any thread, and none but `drain` and `close` waits.

    Attributes:
        context: most tokens of a prompt and its answer together.
        vocabulary: ids are below this.
        defaults: parameters of requests that do not say otherwise, by the names of the
            checkpoint's generation_config.json.
        about: what it holds, in a line; "" of one that does not say.
        notes: what to tell of these and of its limits at the start, a line each.
        failure: None, or the exception that says what has ended the engine, such as which rank
            was lost: all requests have ended with it, and no more are taken.
    """

    context: int
    vocabulary: int
    defaults: Mapping[str, object]
    about: str
    notes: Sequence[str]
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


def max_tokens(engine, prompt, otherwise):
    """New tokens of an answer to a prompt of `prompt` tokens, where its request does not say:
    the checkpoint's default, or else `otherwise`. At most 0 if the default leaves none."""
    defaults = engine.defaults
    if "max_new_tokens" in defaults:
        return defaults["max_new_tokens"]
    return defaults["max_length"] - prompt if "max_length" in defaults else otherwise


def shown(event, stop_ids):
    """The ids of an event that are text: all but the stop id that ended the answer. An answer may
    also end with "stop" without one, by its mask."""
    if event.finish == "stop" and event.ids and event.ids[-1] in stop_ids:
        return event.ids[:-1]
    return event.ids


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
