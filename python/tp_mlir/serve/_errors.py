"""Errors as OpenAI's clients expect them.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from starlette.exceptions import HTTPException

from ..engine import ClosedError, ContextError, QueueFullError

_TYPES = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error",
          405: "invalid_request_error", 413: "invalid_request_error", 429: "rate_limit_error",
          500: "server_error", 503: "overloaded_error"}


class ApiError(HTTPException):
    """An answer other than the one that was asked for.

    Args:
        status: HTTP's.
        message: for a person.
        param: the parameter that is at fault, if one is.
        code: for a program.
        retry_after: seconds after which the same request may be taken.
    """

    def __init__(self, status, message, *, param=None, code=None, retry_after=None):
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        if status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        super().__init__(status, message, headers)
        self.param, self.code = param, code

    def body(self):
        return {"error": {"message": self.detail, "param": self.param, "code": self.code,
                          "type": _TYPES.get(self.status_code, "server_error")}}


def of_engine(error):
    """What a client is told of an EngineError."""
    if isinstance(error, ContextError):
        return ApiError(400, str(error), param="prompt", code="context_length_exceeded")
    if isinstance(error, QueueFullError):
        return ApiError(429, str(error), code="queue_full", retry_after=1)
    if isinstance(error, ClosedError):
        return ApiError(503, str(error), code="draining")
    return ApiError(500, str(error), code="engine_failed")


def _place(loc, body, is_missing):
    """The parts of a place that lead into the body; others name a type among several."""
    where, value = [], body
    for part in loc[1:]:
        found = part in value if isinstance(value, dict) else (
            isinstance(value, list) and isinstance(part, int))
        if found:
            value = value[part]
        if found or (is_missing and part == loc[-1]):
            where.append(str(part))
    return where


def of_validation(errors, body):
    """The first thing that is wrong with a body, as pydantic lists them."""
    first = errors[0]
    # Of a parameter that may have several types, what is wrong with the one that it has.
    first = next((error for error in errors if error["loc"][:2] == first["loc"][:2]
                  and not error["type"].endswith("_type")), first)
    name = ".".join(_place(first["loc"], body, first["type"] == "missing")) or None
    if first["type"] == "extra_forbidden":
        return ApiError(400, f"unknown parameter '{name}'", param=name,
                        code="unknown_parameter")
    if first["type"] == "missing":
        return ApiError(400, f"missing parameter '{name}'" if name else "the request has no body",
                        param=name, code="missing_parameter")
    if first["type"] == "json_invalid":
        return ApiError(400, f"the body is no JSON: {first['ctx']['error']} at character "
                        f"{first['loc'][-1]}", code="invalid_json")
    text = first["msg"].removeprefix("Value error, ")
    text = text[:1].lower() + text[1:]
    return ApiError(400, f"{name}: {text}" if name else text, param=name,
                    code="invalid_parameter")
