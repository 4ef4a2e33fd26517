"""Types of the parameters of requests, and parameters that ask for nothing.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from typing import Annotated, Any, Dict

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator


def whole(value):
    """JSON can say half of a character of two halves, which no tokenizer takes."""
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise ValueError("expected a text, got half of a character in it")
    return value


Text = Annotated[str, AfterValidator(whole)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Id = Annotated[int, Field(ge=0, lt=2**31)]

# Names that are arguments of the renderer rather than variables of the template.
NOT_VARIABLES = ("messages", "tools", "name")


def _variables(value):
    for name in NOT_VARIABLES:
        if name in value:
            raise ValueError(f"expected variables of the chat template, got '{name}'")
    return value


Variables = Annotated[Dict[str, Any], AfterValidator(_variables)]


class Body(BaseModel):
    """An object in which every name is known, and of which every value has the right type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Optionals(Body):
    """A body in which null means that a parameter is absent."""

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, value):
        if not isinstance(value, dict):
            return value
        needed = {name for name, field in cls.model_fields.items() if field.is_required()}
        return {key: one for key, one in value.items()
                if (one is not None or key in needed) and not cls.is_nothing(key, one)}

    @classmethod
    def is_nothing(cls, name, value):
        """True if a parameter that is no field asks for what happens anyway."""
        return False


def _is(*values):
    return lambda value: any(value == one and type(value) is type(one) for one in values)


def _is_empty(value):
    return value in ("", [], {})


# By name, whether a value leaves the answer as it is. Clients send these unasked.
_NOTHING = {
    "user": lambda value: isinstance(value, str),
    "safety_identifier": lambda value: isinstance(value, str),
    "prompt_cache_key": lambda value: isinstance(value, str),
    "prompt_cache_retention": lambda value: isinstance(value, str),
    "metadata": lambda value: isinstance(value, dict),
    "store": _is(False),
    "service_tier": _is("auto", "default"),
    "modalities": _is(["text"]),
    "verbosity": _is("medium"),
    "functions": _is_empty,
    "function_call": _is("none", "auto"),
    "suffix": _is(""),
    "use_beam_search": _is(False),
    "length_penalty": _is(1, 1.0),
    "early_stopping": _is(False),
    "spaces_between_special_tokens": _is(True),
    "include_stop_str_in_output": _is(False),
    "priority": _is(0),
    "return_token_ids": _is(False),
    "return_tokens_as_token_ids": _is(False),
    "include_reasoning": _is(True),
    "mm_processor_kwargs": _is_empty,
    "documents": _is_empty,
    "logits_processors": _is_empty,
}


def asks_nothing(name, value):
    return name in _NOTHING and _NOTHING[name](value)
