"""The paths of OpenAI's interface, and those of a server's keeper.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import asyncio
import json
import time

import fastapi
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from ..text import TemplateError, TextError
from . import _errors, _limits, _requests, _responses
from ._errors import ApiError
from ._handler import Handler
from ._metrics import Counted, Metrics


def _refused(error):
    # In ASCII: a name that is quoted may hold what is no character.
    return Response(json.dumps(error.body()), error.status_code, error.headers,
                    media_type="application/json")


class _Server:
    """What the paths share; one of each for an app."""

    def __init__(self, engine, tokenizer, settings):
        self.engine, self.tokenizer, self.settings = engine, tokenizer, settings
        self.places = _limits.Places(settings.max_answers)
        self.metrics = Metrics(engine, self.places)
        self.rate = _limits.RateLimit(settings.requests_per_minute)
        self.handler = Handler(engine, settings, self.places, self.metrics)
        self.started = int(time.time())

    async def admit(self, request: fastapi.Request):
        """Every path that costs something begins with this."""
        key = _limits.key_of(request, self.settings.api_keys)
        self.rate.check(key or (request.client.host if request.client else ""))

    def named(self, model):
        if model is not None and model != self.settings.model:
            raise ApiError(404, f"no model '{model[:200]}'; this server has "
                           f"'{self.settings.model}'", param="model",
                           code="model_not_found")

    def described(self):
        return {"id": self.settings.model, "object": "model", "created": self.started,
                "owned_by": "tp-mlir", "max_model_len": self.engine.context}

    def conversation(self, body):
        """Ids of the prompt that a body's messages make."""
        try:
            return self.tokenizer.encode_chat([message.plain() for message in body.messages],
                                              **body.chat_template_kwargs)
        except (TemplateError, TextError) as error:
            raise ApiError(400, str(error), param="messages", code="invalid_messages") from error

    def text(self, prompt, add_special_tokens=True):
        """Ids of a prompt that is a text."""
        try:
            return self.tokenizer.encode(prompt, add_special_tokens)
        except TextError as error:
            raise ApiError(400, str(error), param="prompt", code="invalid_parameter") from error

    def prompts(self, body):
        """Ids of each of a completion's prompts."""
        found = [one if isinstance(one, list) else self.text(one) for one in body.prompt]
        for ids in found:
            bad = [i for i in ids if not 0 <= i < self.engine.vocabulary]
            if bad:
                raise ApiError(400, f"prompt: expected ids below {self.engine.vocabulary}, got "
                               f"{bad[0]}", param="prompt", code="invalid_parameter")
        return found


def _api(server):
    """The paths that ask for a key."""
    router = fastapi.APIRouter(dependencies=[fastapi.Depends(server.admit)])

    @router.get("/v1/models")
    async def models():
        return {"object": "list", "data": [server.described()]}

    @router.get("/v1/models/{model:path}")
    async def model(model: str):
        server.named(model)
        return server.described()

    @router.post("/v1/completions")
    async def completions(request: fastapi.Request, body: _requests.Completion):
        server.named(body.model)
        prompts = await asyncio.to_thread(server.prompts, body)
        return await server.handler.answer(request, body, prompts, server.tokenizer,
                                           _responses.Completions(server.tokenizer), 16)

    @router.post("/v1/chat/completions")
    async def chat(request: fastapi.Request, body: _requests.Chat):
        server.named(body.model)
        if body.max_completion_tokens is not None:
            body.max_tokens = body.max_completion_tokens
        prompt = await asyncio.to_thread(server.conversation, body)
        return await server.handler.answer(request, body, [prompt], server.tokenizer,
                                           _responses.Chats(server.tokenizer),
                                           server.engine.context)

    @router.post("/tokenize")
    async def tokenize(body: _requests.Tokenize):
        server.named(body.model)
        if (body.prompt is None) == (body.messages is None):
            raise ApiError(400, "expected either 'prompt' or 'messages'", param="prompt",
                           code="invalid_parameter")
        if body.messages is not None:
            ids = await asyncio.to_thread(server.conversation, body)
        else:
            ids = await asyncio.to_thread(server.text, body.prompt, body.add_special_tokens)
        return {"tokens": ids, "count": len(ids), "max_model_len": server.engine.context}

    return router


def _keeper(server):
    """The paths for probes and monitors, which are open."""
    router = fastapi.APIRouter()

    @router.get("/health")
    async def health():
        if server.engine.failure:
            return JSONResponse({"status": "failed", "error": str(server.engine.failure)}, 503)
        if server.places.draining:
            return JSONResponse({"status": "draining"}, 503)
        return {"status": "ok"}

    @router.get("/metrics")
    async def metrics():
        return Response(server.metrics.text(), media_type="text/plain; version=0.0.4")

    return router


def create_app(engine, tokenizer, settings):
    """The server of one engine, for any ASGI host.

    Args:
        engine: a tp_mlir.engine.Engine; the caller closes it.
        tokenizer: the model's tp_mlir.text.Tokenizer.
        settings: Settings.

    Returns:
        fastapi.FastAPI; `app.state.places` says how many answers are in the making, and takes
        no more once its `draining` is set.
    """
    server = _Server(engine, tokenizer, settings)
    app = fastapi.FastAPI(title="tp-serve", docs_url=None, redoc_url=None)
    app.state.places = server.places
    app.include_router(_api(server))
    app.include_router(_keeper(server))

    @app.exception_handler(RequestValidationError)
    async def invalid(request, error):
        return _refused(_errors.of_validation(error.errors(), error.body))

    @app.exception_handler(HTTPException)
    async def failed(request, error):
        if not isinstance(error, ApiError):
            text = f"no path '{request.url.path[:200]}'" if error.status_code == 404 else str(
                error.detail)
            error = ApiError(error.status_code, text)
        return _refused(error)

    app.add_middleware(Counted, requests=server.metrics.requests)
    app.add_middleware(_limits.BodyLimit, most=settings.max_body_bytes, refuse=_refused)
    return app
