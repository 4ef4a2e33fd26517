"""One request: its answers, whole or streamed, and what ends them early.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import asyncio
import json
import time

from fastapi.responses import JSONResponse, Response, StreamingResponse

from ..engine import EngineError, max_tokens
from . import _answers, _errors
from ._errors import ApiError
from ._responses import Response as Answered

# As others give to a request whose client has left; nobody reads it.
_CLIENT_LEFT = 499


def _event(value):
    return "data: " + (value if isinstance(value, str) else json.dumps(value)) + "\n\n"


async def _left(request):
    """Returns when the client is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class _Times:
    """Tells the metrics when tokens come."""

    def __init__(self, metrics, count):
        self._metrics = metrics
        self._last = [time.monotonic()] * count
        self._begun = [False] * count

    def seen(self, number, tokens):
        if not tokens:
            return
        now = time.monotonic()
        passed, self._last[number] = now - self._last[number], now
        if not self._begun[number]:
            self._begun[number] = True
            self._metrics.first_token.observe(passed)
            tokens -= 1
            passed = 0
        for _ in range(tokens):
            self._metrics.next_token.observe(passed / tokens)


class _Stream(StreamingResponse):
    """Gives its places back whether or not it was begun, let alone ended."""

    def __init__(self, events, release):
        super().__init__(events, media_type="text/event-stream",
                         headers={"Cache-Control": "no-store"})
        self._release = release

    async def __call__(self, scope, receive, send):
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._release()


class Handler:
    def __init__(self, engine, settings, places, metrics):
        self._engine, self._settings = engine, settings
        self._places, self._metrics = places, metrics

    def _room(self, body, ids, most):
        """New tokens that a prompt may have: as many as asked for, the checkpoint's default, or
        `most`."""
        room = self._engine.context - len(ids)
        most = max_tokens(self._engine, len(ids), most)
        if body.max_tokens is None and most < 1:
            raise ApiError(400, f"the prompt has {len(ids)} tokens, and max_length "
                           f"{self._engine.defaults['max_length']} of the model's "
                           "generation_config.json leaves none for an answer; give max_tokens",
                           param="max_tokens", code="context_length_exceeded")
        if room < 1 or body.max_tokens is not None and body.max_tokens > room:
            asked = f" and max_tokens is {body.max_tokens}" if body.max_tokens is not None else ""
            raise ApiError(400, f"this model's context is {self._engine.context} tokens; the "
                           f"prompt has {len(ids)}{asked}",
                           param="max_tokens" if room >= 1 else "prompt",
                           code="context_length_exceeded")
        return min(room, most) if body.max_tokens is None else body.max_tokens

    def _ask(self, answers, body, prompts, tokenizer, most):
        for token in body.logit_bias:
            if int(token) >= self._engine.vocabulary:
                raise ApiError(400, f"logit_bias: expected ids below {self._engine.vocabulary}, "
                               f"got {token}", param="logit_bias", code="invalid_parameter")
        rooms = [self._room(body, ids, most) for ids in prompts]
        try:
            for ids, room in zip(prompts, rooms):
                for choice in range(body.n):
                    answers.ask(ids, body.params(room, tokenizer.stop_ids, choice), body.stops)
        except EngineError as error:
            raise _errors.of_engine(error) from error

    async def answer(self, request, body, prompts, tokenizer, form, most):
        """The response to a request for answers to `prompts`, of `most` tokens unless said."""
        if body.stream_options is not None and not body.stream:
            raise ApiError(400, "stream_options: expected 'stream' to be true",
                           param="stream_options", code="invalid_parameter")
        count = len(prompts) * body.n
        if count > self._settings.max_choices:
            raise ApiError(400, f"expected at most {self._settings.max_choices} answers of one "
                           f"request, got {len(prompts)} prompts times n = {body.n}",
                           param="n", code="invalid_parameter")
        self._places.enter(count)
        answers = _answers.Answers(self._engine, tokenizer)

        def release():
            answers.cancel()
            self._places.leave(count)

        response = Answered(form, self._settings.model, sum(map(len, prompts)))
        try:
            self._ask(answers, body, prompts, tokenizer, most)
            if body.stream:
                stream = _Stream(self._streamed(body, answers, response), release)
                release = None
                return stream
            return await self._whole(request, body, answers, response)
        finally:
            if release is not None:
                release()

    async def _parts(self, body, answers, response):
        """(choice, text, finish, logprobs) as they come."""
        times = _Times(self._metrics, len(answers))
        if body.top_logprobs_count is not None:
            # The first call builds the strings of the whole vocabulary, which takes long.
            await asyncio.to_thread(response.form.tokenizer.token, 0)
        async for number, piece in answers.pieces():
            response.generated += piece.count
            times.seen(number, piece.count)
            values = response.form.logprobs(piece.tokens) if piece.tokens else None
            yield number, piece.text, piece.finish, values

    async def _whole(self, request, body, answers, response):
        texts, ends = [""] * len(answers), [None] * len(answers)
        logprobs = [[] for _ in texts]

        async def gather():
            async for number, text, finish, values in self._parts(body, answers, response):
                texts[number] += text
                ends[number] = finish
                if values is not None:
                    logprobs[number].append(values)

        gathered, left = asyncio.ensure_future(gather()), asyncio.ensure_future(_left(request))
        try:
            await asyncio.wait([gathered, left], return_when=asyncio.FIRST_COMPLETED)
            if not gathered.done():
                self._metrics.disconnects.inc()
                return Response(status_code=_CLIENT_LEFT)
            gathered.result()
        finally:
            gathered.cancel()
            left.cancel()
        choices = [response.form.whole(i, texts[i], ends[i],
                                       response.form.join(logprobs[i]) if logprobs[i] else None)
                   for i in range(len(texts))]
        return JSONResponse(response.whole(choices))

    async def _streamed(self, body, answers, response):
        usage = body.stream_options is not None and body.stream_options.include_usage
        more = {"usage": None} if usage else {}
        ended = False
        try:
            for number in range(len(answers)):
                first = response.form.first(number)
                if first is not None:
                    yield _event(response.chunk([first], **more))
            async for number, text, finish, values in self._parts(body, answers, response):
                if text or finish or values:
                    choice = response.form.part(number, text, finish, values)
                    yield _event(response.chunk([choice], **more))
            if usage:
                yield _event(response.chunk([], usage=response.usage()))
            yield _event("[DONE]")
            ended = True
        except ApiError as error:
            yield _event(error.body())
            ended = True
        finally:
            if not ended:
                self._metrics.disconnects.inc()
