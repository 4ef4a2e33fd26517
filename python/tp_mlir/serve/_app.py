"""The paths of OpenAI's interface, and those of a server's keeper.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import asyncio
import json
import time

import fastapi
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from .._encoder import Encoder
from . import _embeddings, _errors, _front, _limits, _requests, _responses
from ._access import Access
from ._chats import Prompts
from ._errors import ApiError
from ._handler import Handler
from ._metrics import Counted, Metrics

# Paths that anyone may ask.
_OPEN = frozenset({"/", "/health", "/ping", "/metrics"})


def _refused(error):
    # In ASCII: a name that is quoted may hold what is no character.
    return Response(json.dumps(error.body()), error.status_code, error.headers,
                    media_type="application/json")


class _Server:
    """What the paths share; one of each for an app."""

    def __init__(self, engine, tokenizer, settings):
        self.engine, self.tokenizer, self.settings = engine, tokenizer, settings
        self.places = _limits.Places(settings.max_answers)
        generates = None if isinstance(engine, Encoder) else engine
        self.metrics = Metrics(generates, self.places, settings.model)
        self.prompts = Prompts(tokenizer, engine.vocabulary, settings)
        self.handler = Handler(engine, self.prompts, settings, self.places, self.metrics)
        self.started = int(time.time())

    def named(self, model):
        if model is not None and model != self.settings.model:
            raise ApiError(404, f"no model '{model[:200]}'; this server has "
                           f"'{self.settings.model}'", param="model",
                           code="model_not_found")

    def described(self):
        return {"id": self.settings.model, "object": "model", "created": self.started,
                "owned_by": "tp-mlir", "max_model_len": self.engine.context}


def _generation(server):
    """The paths that answer."""
    router = fastapi.APIRouter()

    @router.post("/v1/completions")
    async def completions(request: fastapi.Request, body: _requests.Completion):
        server.named(body.model)
        prompts = await asyncio.to_thread(server.prompts.each, body.prompt,
                                          body.add_special_tokens)
        return await server.handler.answer(request, body, prompts,
                                           _responses.Completions(server.tokenizer), 16)

    @router.post("/v1/chat/completions")
    async def chat(request: fastapi.Request, body: _requests.Chat):
        server.named(body.model)
        if body.max_completion_tokens is not None:
            body.max_tokens = body.max_completion_tokens
        prompt = await asyncio.to_thread(server.prompts.conversation, body)
        form = _responses.Chats(server.tokenizer, server.prompts.id_length(body))
        return await server.handler.answer(request, body, [prompt], form, server.engine.context)

    return router


def _text(server):
    """The paths of the tokenizer, and the model's."""
    router = fastapi.APIRouter()

    @router.get("/v1/models")
    async def models():
        return {"object": "list", "data": [server.described()]}

    @router.get("/v1/models/{model:path}")
    async def model(model: str):
        server.named(model)
        return server.described()

    @router.post("/tokenize")
    async def tokenize(body: _requests.Tokenize):
        server.named(body.model)
        if (body.prompt is None) == (body.messages is None):
            raise ApiError(400, "expected either 'prompt' or 'messages'", param="prompt",
                           code="invalid_value")
        if body.messages is not None:
            ids = await asyncio.to_thread(server.prompts.conversation, body)
        else:
            ids = await asyncio.to_thread(server.prompts.encode, body.prompt,
                                          body.add_special_tokens)
        made = {"tokens": ids, "count": len(ids), "max_model_len": server.engine.context}
        if body.return_token_strs:
            made["token_strs"] = await asyncio.to_thread(
                lambda: [server.tokenizer.token(i) for i in ids])
        return made

    @router.get("/tokenizer_info")
    async def tokenizer_info():
        template = server.tokenizer.template
        return {**{"eos_token": None}, **server.tokenizer.special_tokens,
                "chat_template": template.source() if template else None,
                "model_max_length": server.engine.context}

    @router.post("/detokenize")
    async def detokenize(body: _requests.Detokenize):
        server.named(body.model)
        server.prompts.check_ids(body.tokens, "tokens")
        return {"prompt": await asyncio.to_thread(server.tokenizer.decode, body.tokens, True)}

    return router


def _keeper(server):
    """The paths for probes and monitors, which are open."""
    router = fastapi.APIRouter()

    @router.get("/health")
    @router.get("/ping")
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


def _finish(app, server, routes):
    """Adds what all paths go through, the outermost last. `routes`: of all paths."""
    settings = server.settings

    @app.exception_handler(RequestValidationError)
    async def invalid(request, error):
        return _refused(_errors.of_validation(error.errors(), error.body))

    @app.exception_handler(HTTPException)
    async def failed(request, error):
        if not isinstance(error, ApiError):
            code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code)
            path = request.url.path[:200]
            text = {404: f"no path '{path}'", 405: f"path '{path}' has no method "
                    f"{request.method}"}.get(error.status_code, str(error.detail))
            error = ApiError(error.status_code, text, code=code)
        return _refused(error)

    app.add_middleware(_limits.BodyLimit, most=settings.max_body_bytes,
                       seconds=settings.body_seconds, refuse=_refused)
    app.add_middleware(_limits.Admission, keys=settings.api_keys,
                       rate=_limits.RateLimit(settings.requests_per_minute), refuse=_refused,
                       open_paths=_OPEN)
    app.add_middleware(Counted, requests=server.metrics.requests, routes=routes)
    app.add_middleware(Access, form=settings.access_log)


def create_app(engine, tokenizer, settings):
    """The server of one engine, for any ASGI host.

    Args:
        engine: a tp_mlir.engine.Engine, or an Encoder, whose app gives embeddings; the caller
            closes it.
        tokenizer: the model's tp_mlir.text.Tokenizer.
        settings: Settings.

    Returns:
        fastapi.FastAPI; `app.state.places` says how many answers are in the making, and takes
        no more once its `draining` is set.
    """
    server = _Server(engine, tokenizer, settings)
    app = fastapi.FastAPI(title="tp-serve", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.places = server.places
    listed, routes = {}, []
    is_encoder = isinstance(engine, Encoder)
    answers = _embeddings.router(server) if is_encoder else _generation(server)
    for router in (answers, _text(server), _keeper(server)):
        app.include_router(router)
        routes += router.routes
        for route in router.routes:
            listed[route.path] = sorted(route.methods)

    @app.get("/")
    async def paths(request: fastapi.Request):
        if _front.wants_page(request.headers.get("accept")):
            address = str(request.base_url).rstrip("/")
            return HTMLResponse(_front.page(address, server.described(), listed,
                                            bool(settings.api_keys)))
        return {"server": "tp-serve", "model": settings.model, "paths": listed}

    _finish(app, server, [*routes, *app.routes])
    return app
