"""Errors as OpenAI's clients expect them.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import re

from starlette.exceptions import HTTPException

from ..engine import ClosedError, ContextError, QueueFullError

_TYPES = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error",
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
                          "type": _TYPES.get(self.status_code,
                                             "invalid_request_error" if self.status_code < 500
                                             else "server_error")}}


# How the engine's messages about parameters begin.
_PARAMS = {"stop id": "stop_token_ids", "bias": "logit_bias", "max-tokens": "max_tokens",
           "logprobs": "logprobs", "temperature": "temperature", "top-": "top_p",
           "min-p": "min_p", "repetition": "repetition_penalty"}


def of_engine(error):
    """What a client is told of an EngineError."""
    if isinstance(error, ContextError):
        param = next((name for word, name in _PARAMS.items() if str(error).startswith(word)),
                     "prompt")
        is_long = " as the context of " in str(error)
        return ApiError(400, str(error), param=param,
                        code="context_length_exceeded" if is_long else "invalid_value")
    if isinstance(error, QueueFullError):
        return ApiError(429, str(error), code="queue_full", retry_after=1)
    if isinstance(error, ClosedError):
        return ApiError(503, str(error), code="draining")
    return ApiError(500, str(error), code="engine_failed")


def _place(loc, body, is_missing):
    """Where in the body, as OpenAI writes it: messages[0].content. Parts of `loc` that name a type
    among several lead nowhere in the body, and are left out."""
    where, value = "", body
    for part in loc[1:]:
        found = part in value if isinstance(value, dict) else (
            isinstance(value, list) and isinstance(part, int))
        if found:
            value = value[part]
        if found or (is_missing and part == loc[-1]):
            where += f"[{part}]" if isinstance(part, int) else f".{part}" if where else str(part)
    return where or None


# OpenAI's code for each kind of pydantic's errors; {} is the kind of number.
_CODES = {"greater_than": "{}_below_min_value", "greater_than_equal": "{}_below_min_value",
          "less_than": "{}_above_max_value", "less_than_equal": "{}_above_max_value",
          "string_too_short": "string_below_min_length",
          "string_too_long": "string_above_max_length", "too_short": "array_below_min_length",
          "too_long": "array_above_max_length"}


def _code(error):
    kind = error["type"]
    if kind in _CODES:
        limit = next(iter((error.get("ctx") or {}).values()), 0)
        return _CODES[kind].format("decimal" if isinstance(limit, float) else "integer")
    # A number of the right type that is none, such as NaN, is a wrong value.
    return "invalid_type" if kind.endswith("_type") else "invalid_value"


# The expected value by the kind of pydantic's errors; names in braces are the error's limits.
_EXPECTED = {
    "string_type": "a text", "int_type": "an integer", "int_from_float": "an integer",
    "float_type": "a number", "finite_number": "a finite number", "bool_type": "true or false",
    "list_type": "a list", "dict_type": "an object", "model_type": "an object",
    "model_attributes_type": "an object", "none_required": "null",
    "literal_error": "{expected}", "enum": "{expected}",
    "greater_than": "more than {gt}", "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}", "less_than_equal": "at most {le}",
    "too_short": "a length of at least {min_length}",
    "too_long": "a length of at most {max_length}",
    "string_too_short": "a length of at least {min_length}",
    "string_too_long": "a length of at most {max_length}"}


def _shown(value):
    """What was got, if it can be said in a word or two."""
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an object"
    text = json.dumps(value) if isinstance(value, (str, int, float, type(None))) else str(value)
    return text if len(text) <= 40 else text[:36] + "..."


def _text(error):
    """What is wrong, in the words that all of the server's messages have."""
    if error["type"] not in _EXPECTED:
        text = error["msg"].removeprefix("Value error, ")
        return text[:1].lower() + text[1:]
    limits = {name: f"{value:g}" if isinstance(value, float) else value
              for name, value in (error.get("ctx") or {}).items()}
    expected = _EXPECTED[error["type"]].format_map(limits)
    return f"expected {expected}, got {_shown(error.get('input'))}"


def _is_other_type(error):
    return error["type"].endswith("_type") or error["type"] in ("literal_error", "enum")


def of_validation(errors, body):
    """The first thing that is wrong with a body, as pydantic lists them."""
    first = errors[0]
    # Of a parameter that may have several types, what is wrong with the one that it has.
    at = _place(first["loc"], body, False) or ""
    first = next((error for error in errors if not _is_other_type(error)
                  and (_place(error["loc"], body, False) or "").startswith(at)), first)
    name = _place(first["loc"], body, first["type"] == "missing")
    if first["type"] == "extra_forbidden":
        return ApiError(400, f"unknown parameter '{name}'", param=name,
                        code="unknown_parameter")
    if first["type"] == "missing":
        return ApiError(400, f"missing parameter '{name}'" if name else "the request has no body",
                        param=name, code="missing_required_parameter")
    if first["type"] == "json_invalid":
        return ApiError(400, f"the body is no JSON: {first['ctx']['error']} at character "
                        f"{first['loc'][-1]}", code="invalid_json")
    text = _text(first)
    # A message about several parameters together names the one to change.
    named = re.match(r"([a-z_]+): ", text) if name is None else None
    return ApiError(400, f"{name}: {text}" if name else text,
                    param=named.group(1) if named else name, code=_code(first))
