"""One request: its answers, whole or streamed, and what ends them early.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import asyncio
import json
import secrets
import time
from dataclasses import replace

from fastapi.responses import JSONResponse, Response, StreamingResponse

from ..engine import EngineError, max_tokens
from . import _answers, _errors
from ._answers import Echo
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
        self._metrics, self._began = metrics, time.monotonic()
        self._last, self._tokens = [self._began] * count, [0] * count

    def seen(self, number, tokens):
        if not tokens:
            return
        now = time.monotonic()
        passed, self._last[number] = now - self._last[number], now
        self._tokens[number] += tokens
        if self._tokens[number] == tokens:
            self._metrics.first_token.observe(passed)
            tokens -= 1
            passed = 0
        for _ in range(tokens):
            self._metrics.next_token.observe(passed / tokens)


    def ended(self, number, finish, prompt):
        self._metrics.finished(finish, prompt, self._tokens[number],
                               time.monotonic() - self._began)


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
    def __init__(self, engine, prompts, settings, places, metrics):
        self._engine, self._prompts, self._settings = engine, prompts, settings
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

    def _asked(self, body, prompts, most):
        """For each prompt its ids, Params, Reading and Echo, and a function that makes masks. Walks
        over long lists, which keeps a thread busy for a while."""
        self._prompts.check_ids((int(token) for token in body.logit_bias), "logit_bias")
        self._prompts.check_ids(body.stop_token_ids, "stop_token_ids")
        tokenizer, reading = self._prompts.tokenizer, self._prompts.reading(body)
        masks, made = self._prompts.masks(body), []
        for number, ids in enumerate(prompts):
            params = body.params(self._room(body, ids, most), tokenizer.stop_ids)
            if body.min_tokens > params.max_tokens:
                raise ApiError(400, f"min_tokens: expected at most the {params.max_tokens} of "
                               f"max_tokens, got {body.min_tokens}", param="min_tokens",
                               code="invalid_value")
            echo = None
            if body.is_echo:
                given = body.prompt[number]
                echo = Echo(tuple(ids), given if isinstance(given, str) else
                            tokenizer.decode(ids), params.prompt_logprobs is not None)
            made.append((ids, params, reading, echo))
        return made, masks

    def _ask(self, answers, body, asked, masks):
        try:
            for ids, params, reading, echo in asked:
                for choice in range(body.n):
                    seed = params.seed + choice
                    if choice and body.seed is None:
                        seed = secrets.randbits(64)
                    answers.ask(ids, replace(params, seed=seed % 2**64, mask=masks and masks()),
                                reading, echo)
        except EngineError as error:
            raise _errors.of_engine(error) from error

    async def answer(self, request, body, prompts, form, most):
        """The response to a request for answers to `prompts`, of `most` tokens unless said."""
        if body.stream_options is not None and not body.stream:
            raise ApiError(400, "stream_options: expected 'stream' to be true",
                           param="stream_options", code="invalid_value")
        count = len(prompts) * body.n
        if count > self._settings.max_choices:
            asked = f"n = {body.n}" if len(prompts) == 1 else \
                f"{len(prompts)} prompts with n = {body.n} for each"
            raise ApiError(400, f"expected at most {self._settings.max_choices} answers of one "
                           f"request, got {asked}",
                           param="n", code="invalid_value")
        self._places.enter(count)
        answers = _answers.Answers(self._engine, self._prompts.tokenizer)

        def release():
            answers.cancel()
            self._places.leave(count)

        response = Answered(form, self._settings.model, sum(map(len, prompts)))
        try:
            asked, masks = await asyncio.to_thread(self._asked, body, prompts, most)
            self._ask(answers, body, asked, masks)
            if body.stream:
                stream = _Stream(self._streamed(body, answers, response), release)
                release = None
                return stream
            return await self._whole(request, body, answers, response)
        finally:
            if release is not None:
                release()

    async def _parts(self, body, answers, response):
        """(choice, Piece, logprobs) as they come."""
        times = _Times(self._metrics, len(answers))
        if body.top_logprobs_count is not None:
            # The first call builds the strings of the whole vocabulary, which takes long.
            await asyncio.to_thread(response.form.tokenizer.token, 0)
        async for number, piece in answers.pieces():
            response.generated += piece.count
            times.seen(number, piece.count)
            values = response.form.logprobs(piece.tokens) if piece.tokens else None
            if piece.finish is not None:
                times.ended(number, piece.finish, answers.prompt_tokens(number))
            yield number, piece, values

    async def _whole(self, request, body, answers, response):
        texts, ends = [""] * len(answers), [None] * len(answers)
        logprobs, calls = [[] for _ in texts], [[] for _ in texts]

        async def gather():
            async for number, piece, values in self._parts(body, answers, response):
                texts[number] += piece.text
                ends[number] = piece.finish
                calls[number] += piece.calls
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
                                       response.form.join(logprobs[i]) if logprobs[i] else None,
                                       calls[i])
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
            async for number, piece, values in self._parts(body, answers, response):
                if piece.text or piece.finish or values or piece.calls:
                    choice = response.form.part(number, piece.text, piece.finish, values,
                                                piece.calls)
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
