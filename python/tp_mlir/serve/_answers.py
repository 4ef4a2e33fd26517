"""From the engine's events, which come in its thread, to pieces of text in the server's.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import asyncio
import contextlib
from dataclasses import dataclass, replace
from typing import Optional

from ..engine import EngineError, Logprobs
from ..text import StreamDecoder
from . import _errors


@dataclass(frozen=True)
class Token:
    """A new token with its log-probabilities.

    Attributes:
        offset: where the token begins in the answer's text, in characters. A token inside a
            character begins where the character does; one that is not part of the text begins
            at its end.
        is_first: whether the token begins the text, which may drop its leading space.
    """

    id: int
    logprobs: Logprobs
    offset: int
    is_first: bool


@dataclass(frozen=True)
class Piece:
    """What an answer gained.

    Attributes:
        text: may be empty, where what is new is held back.
        count: new tokens, those of a held back text among them.
        tokens: those that begin in the text so far, if log-probabilities were requested.
        finish: "stop" or "length" at the end.
    """

    text: str
    count: int
    tokens: tuple
    finish: Optional[str]


class _Answer:
    """One of a request's answers."""

    def __init__(self, decoder, stop_ids):
        self._decoder, self._stop_ids = decoder, stop_ids
        self.request = None
        self.ended = False
        self._held = []

    def piece(self, event):
        self.ended = event.finish is not None
        if event.finish == "error":
            raise _errors.of_engine(EngineError(event.error))
        if event.finish == "cancel":
            raise _errors.ApiError(503, "the server ended the answer", code="cancelled")
        # The token that stops an answer is none of its text.
        shown = len(event.ids)
        if event.finish == "stop" and shown and event.ids[-1] in self._stop_ids:
            shown -= 1
        text, finish, decoder = "", event.finish, self._decoder
        for number, i in enumerate(event.ids):
            if event.logprobs:
                self._held.append(Token(i, event.logprobs[number], decoder.offset,
                                        decoder.is_first))
            if number < shown:
                text += decoder.push([i])
        if finish is not None:
            text += decoder.flush()
        if decoder.stopped is not None:
            finish = "stop"
        return Piece(text, len(event.ids), self._tokens(finish is not None), finish)

    def _tokens(self, is_all):
        """Returns the tokens that begin in the text sent so far, or all at the end."""
        certain, count = self._decoder.certain, 0
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
        self._made = []

    def __len__(self):
        return len(self._made)

    def ask(self, prompt, params, stops):
        """Ask for one more; raises what Engine.submit raises."""
        number = len(self._made)

        def on_event(event):
            # The loop may be closed by the time that the engine ends a request.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._events.put_nowait, (number, event))

        answer = _Answer(StreamDecoder(self._tokenizer, stops, prompt), params.stop_ids)
        answer.request = self._engine.submit(prompt, params, on_event)
        self._made.append(answer)

    async def pieces(self):
        """(number, Piece) as they come, until every answer has ended."""
        left = len(self._made)
        while left:
            number, event = await self._events.get()
            answer = self._made[number]
            if answer.ended:  # by a stop string
                continue
            piece = answer.piece(event)
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
        self._engine.cancel(answer.request)
