"""POST /v1/embeddings.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import asyncio
import base64

import fastapi

from . import _requests
from ._errors import ApiError


def _encoded(vector, form):
    """A vector as numbers, or as the text that OpenAI's client asks for."""
    if form == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    return vector.tolist()


def _checked(server, body):
    """Ids of the inputs; raises ApiError if one has none, or too many."""
    engine, settings = server.engine, server.settings
    if body.dimensions not in (None, engine.size):
        raise ApiError(400, f"dimensions: expected {engine.size}, which the model's embeddings "
                       f"have, got {body.dimensions}", param="dimensions",
                       code="unsupported_value")
    if len(body.input) > settings.max_choices * 64:
        raise ApiError(400, f"input: expected at most {settings.max_choices * 64} texts, got "
                       f"{len(body.input)}", param="input", code="array_above_max_length")
    found = server.prompts.each(body.input, param="input")
    for ids in found:
        if not 0 < len(ids) <= engine.context:
            raise ApiError(400, f"input: expected 1 to {engine.context} tokens, got {len(ids)}",
                           param="input", code="context_length_exceeded")
    return found


def router(server):
    made = fastapi.APIRouter()

    @made.post("/v1/embeddings")
    async def embeddings(body: _requests.Embeddings):
        server.named(body.model)
        server.places.enter(1)
        try:
            ids = await asyncio.to_thread(_checked, server, body)
            try:
                vectors = await asyncio.to_thread(server.engine.embed, ids)
            except RuntimeError as error:
                raise ApiError(500, str(error), code="engine_failed") from error
        finally:
            server.places.leave(1)
        tokens = sum(map(len, ids))
        return {"object": "list", "model": server.settings.model,
                "data": [{"object": "embedding", "index": i,
                          "embedding": _encoded(vector, body.encoding_format)}
                         for i, vector in enumerate(vectors)],
                "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}

    return made
