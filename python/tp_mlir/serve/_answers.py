"""From the engine's events, which come in its thread, to pieces of text in the server's.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import asyncio
import contextlib
from dataclasses import dataclass, replace
from typing import Callable, Optional

from ..engine import EngineError, Event, Logprobs, shown
from ..text import StreamDecoder, TextDecoder
from . import _errors


@dataclass(frozen=True)
class Token:
    """A new token with its log-probabilities.

    Attributes:
        offset: where the token begins in the answer's text, in characters. A token inside a
            character begins where the character does; one that is not part of the text begins
            at its end.
        is_first: whether the token begins the text, which may drop its leading space.
        logprobs: None of the first token of a prompt.
    """

    id: int
    logprobs: Optional[Logprobs]
    offset: int
    is_first: bool


@dataclass(frozen=True)
class Piece:
    """What an answer gained.

    Attributes:
        text: may be empty, where what is new is held back.
        count: new tokens, those of a held back text among them.
        tokens: those that begin in the text so far, if log-probabilities were requested.
        finish: "stop", "length" or "tool_calls" at the end.
        calls: of tools, complete.
    """

    text: str
    count: int
    tokens: tuple
    finish: Optional[str]
    calls: tuple = ()


@dataclass(frozen=True)
class Echo:
    """A prompt with which its answers begin.

    Attributes:
        ids: the prompt's.
        text: the prompt's.
        has_logprobs: whether the engine tells the probabilities of its tokens.
    """

    ids: tuple
    text: str
    has_logprobs: bool


@dataclass(frozen=True)
class Reading:
    """How the text of answers is read.

    Attributes:
        stops: strings that end an answer.
        shown: special ids that are part of the text, or True for all of them.
        parser: makes the text.CallParser of an answer that may call tools, or None.
        parallel: whether an answer may have several calls.
        calls_end: what the end of an answer with calls is named.
    """

    stops: tuple = ()
    shown: object = ()
    parser: Optional[Callable] = None
    parallel: bool = True
    calls_end: str = "tool_calls"


class _Answer:
    """One of a request's answers."""

    def __init__(self, tokenizer, prompt, stop_ids, reading, echo):
        self._tokenizer, self._reading = tokenizer, reading
        self._decoder = StreamDecoder(tokenizer, reading.stops, prompt, reading.shown)
        self._stop_ids, self._echo, self._base = stop_ids, echo, len(echo.text) if echo else 0
        self._parser = reading.parser and reading.parser()
        self._prompt = []
        self.request = None
        self.ended = False
        self._held = []

    def piece(self, event):
        """What the answer gains by an event; None if that is nothing yet."""
        if event.prompt:
            self._prompt += event.prompt
            return None
        echo, self._echo = self._echo, None
        piece = self._piece(event)
        if echo is None:
            return piece
        return replace(piece, text=echo.text + piece.text,
                       tokens=self._prompt_tokens(echo) + piece.tokens)

    def _prompt_tokens(self, echo):
        if not echo.has_logprobs:
            return ()
        made, decoder = [], TextDecoder(self._tokenizer)
        values = [None, *(logprobs for _, logprobs in self._prompt)]
        for i, logprobs in zip(echo.ids, values):
            made.append(Token(i, logprobs, min(decoder.length, len(echo.text)), decoder.is_first))
            decoder.push(i)
        return tuple(made)

    def _calls(self, text, is_last):
        """The text and the calls in what has come, and whether no more are wanted."""
        if self._parser is None:
            return text, ()
        said, calls = self._parser.push(text)
        if is_last:
            rest, more = self._parser.flush()
            said, calls = said + rest, calls + more
        if not self._reading.parallel:
            calls = calls[:max(0, 1 - (self._parser.count - len(calls)))]
        return said, tuple(calls)

    def _piece(self, event):
        self.ended = event.finish is not None
        if event.finish == "error":
            raise _errors.of_engine(EngineError(event.error))
        if event.finish == "cancel":
            raise _errors.ApiError(503, "the server ended the answer", code="cancelled")
        # The token that stops an answer is none of its text.
        count = len(shown(event, self._stop_ids))
        text, finish, decoder = "", event.finish, self._decoder
        for number, i in enumerate(event.ids):
            if event.logprobs:
                self._held.append(Token(i, event.logprobs[number],
                                        self._base + decoder.offset, decoder.is_first))
            if number < count:
                text += decoder.push([i])
        if finish is not None:
            text += decoder.flush()
        if decoder.stopped is not None:
            finish = "stop"
        text, calls = self._calls(text, finish is not None)
        if self._parser is not None and self._parser.count:
            if not self._reading.parallel and finish is None:
                finish = "stop"
            finish = self._reading.calls_end if finish == "stop" else finish
        return Piece(text, len(event.ids), self._tokens(finish is not None), finish, calls)

    def _tokens(self, is_all):
        """Returns the tokens that begin in the text sent so far, or all at the end."""
        certain, count = self._base + self._decoder.certain, 0
        while count < len(self._held) and (is_all or self._held[count].offset <= certain):
            count += 1
        told, self._held = self._held[:count], self._held[count:]
        return tuple(replace(token, offset=min(token.offset, certain)) for token in told)


class Answers:
    """The answers of one request."""

    def __init__(self, engine, tokenizer):
        self._engine, self._tokenizer = engine, tokenizer
        self._events = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._made, self._prompts = [], []

    def __len__(self):
        return len(self._made)

    def ask(self, prompt, params, reading=Reading(), echo=None):
        """Ask for one more; raises what Engine.submit raises.

        Args:
            echo: Echo of the prompt, or None.
        """
        number = len(self._made)

        def on_event(event):
            # The loop may be closed by the time that the engine ends a request.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._events.put_nowait, (number, event))

        answer = _Answer(self._tokenizer, prompt, params.stop_ids, reading, echo)
        if params.max_tokens == 0 and params.prompt_logprobs is None:
            on_event(Event(finish="length"))  # Nothing is to be computed.
        else:
            answer.request = self._engine.submit(prompt, params, on_event)
        self._made.append(answer)
        self._prompts.append(len(prompt))

    def prompt_tokens(self, number):
        return self._prompts[number]

    async def pieces(self):
        """(number, Piece) as they come, until every answer has ended."""
        left = len(self._made)
        while left:
            number, event = await self._events.get()
            answer = self._made[number]
            if answer.ended:  # by a stop string
                continue
            piece = answer.piece(event)
            if piece is None:
                continue
            if piece.finish is not None:
                left -= 1
                if not answer.ended:
                    self._cancel(answer)
            yield number, piece
            # A queue that is not empty does not wait: let others run, and see who has left.
            await asyncio.sleep(0)

    def cancel(self):
        """End those that have not ended."""
        for answer in self._made:
            if not answer.ended:
                self._cancel(answer)

    def _cancel(self, answer):
        answer.ended = True
        if answer.request is not None:
            self._engine.cancel(answer.request)
