"""From the engine's events, which come in its thread, to pieces of text in the server's.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Optional

from ..engine import EngineError
from ..text import StreamDecoder
from . import _errors


@dataclass(frozen=True)
class Piece:
    """What an answer gained.

    Attributes:
        text: may be empty, where what is new is held back.
        ids, logprobs: of the new tokens, those of a held back text among them.
        finish: "stop" or "length" at the end.
    """

    text: str
    ids: tuple
    logprobs: tuple
    finish: Optional[str]


class _Answer:
    """One of a request's answers."""

    def __init__(self, decoder, stop_ids):
        self._decoder, self._stop_ids = decoder, stop_ids
        self.request = None
        self.ended = False

    def piece(self, event):
        self.ended = event.finish is not None
        if event.finish == "error":
            raise _errors.of_engine(EngineError(event.error))
        if event.finish == "cancel":
            raise _errors.ApiError(503, "the server ended the answer", code="cancelled")
        # The token that stops an answer is none of its text.
        shown = event.ids
        if event.finish == "stop" and shown and shown[-1] in self._stop_ids:
            shown = shown[:-1]
        text, finish = self._decoder.push(shown), event.finish
        if finish is not None:
            text += self._decoder.flush()
        if self._decoder.stopped is not None:
            finish = "stop"
        return Piece(text, event.ids, event.logprobs, finish)


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
