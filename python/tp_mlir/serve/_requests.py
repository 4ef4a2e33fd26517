"""Bodies of requests: which parameters there are, and what each may be.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

What is not listed here is refused by name: a client that asks for something is told that it
does not get it. A parameter that is null is as if it were not there.
"""

import secrets
from typing import Annotated, Any, Dict, List, Optional, Union

from pydantic import (AfterValidator, BaseModel, ConfigDict, Field, field_validator,
                      model_validator)

from ..engine import Params

_MOST_TOP_LOGPROBS = 20


def _whole(value):
    """JSON can say half of a character of two halves, which no tokenizer takes."""
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise ValueError("expected a text, got half of a character in it")
    return value


_Text = Annotated[str, AfterValidator(_whole)]
_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Penalty = Annotated[float, Field(ge=-2, le=2, allow_inf_nan=False)]
_Bias = Annotated[float, Field(ge=-100, le=100, allow_inf_nan=False)]
_Id = Annotated[int, Field(ge=0, lt=2**31)]
_Stop = Annotated[_Text, Field(min_length=1, max_length=1000)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Optional(_Body):
    """A body in which null means that a parameter is absent."""

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, value):
        if not isinstance(value, dict):
            return value
        return {key: one for key, one in value.items() if one is not None or key in cls.needed()}

    @classmethod
    def needed(cls):
        """Returns the names of the required parameters."""
        return {name for name, field in cls.model_fields.items() if field.is_required()}


class StreamOptions(_Optional):
    include_usage: bool = False


class Generation(_Optional):
    """What both ways of asking share."""

    model: str
    max_tokens: Optional[Annotated[int, Field(ge=1)]] = None
    # A field that is left out has the checkpoint's default.
    temperature: Optional[Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)]] = None
    top_p: Optional[_Share] = None
    top_k: Optional[_Id] = None
    min_p: Optional[_Share] = None
    seed: Optional[Annotated[int, Field(ge=-2**63, lt=2**64)]] = None
    stop: Union[_Stop, Annotated[List[_Stop], Field(max_length=16)], None] = None
    stop_token_ids: List[_Id] = []
    ignore_eos: bool = False
    n: Annotated[int, Field(ge=1)] = 1
    presence_penalty: _Penalty = 0.0
    frequency_penalty: _Penalty = 0.0
    repetition_penalty: Optional[
        Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]] = None
    logit_bias: Dict[str, _Bias] = {}
    stream: bool = False
    stream_options: Optional[StreamOptions] = None

    @field_validator("logit_bias")
    @classmethod
    def _ids(cls, value):
        for key in value:
            if not (key.isascii() and key.isdecimal() and len(key) <= 10):
                raise ValueError(f"expected token ids as keys, got '{key[:40]}'")
        return value

    @property
    def stops(self):
        return [self.stop] if isinstance(self.stop, str) else self.stop or []

    @property
    def top_logprobs_count(self):
        raise NotImplementedError

    def params(self, max_tokens, eos_ids, choice):
        """How choice number `choice` is made; without a seed each is drawn anew."""
        seed = secrets.randbits(64) if self.seed is None else self.seed + choice
        stop_ids = frozenset(self.stop_token_ids) | (frozenset() if self.ignore_eos else eos_ids)
        return Params(
            max_tokens=max_tokens, temperature=self.temperature, top_k=self.top_k,
            top_p=self.top_p, min_p=self.min_p, seed=seed % 2**64,
            presence_penalty=self.presence_penalty, frequency_penalty=self.frequency_penalty,
            repetition_penalty=self.repetition_penalty,
            logit_bias={int(key): value for key, value in self.logit_bias.items()},
            stop_ids=stop_ids, logprobs=self.top_logprobs_count)


def _is_ids(value):
    return all(isinstance(i, int) and not isinstance(i, bool) for i in value)


class Completion(Generation):
    """POST /v1/completions."""

    prompt: Any
    logprobs: Optional[Annotated[int, Field(ge=0, le=_MOST_TOP_LOGPROBS)]] = None

    @field_validator("prompt")
    @classmethod
    def _prompts(cls, value):
        """A list of prompts, each a text or ids."""
        if isinstance(value, str) or isinstance(value, list) and value and _is_ids(value):
            value = [value]
        if isinstance(value, list) and value and all(
                isinstance(one, str) or isinstance(one, list) and one and _is_ids(one)
                for one in value):
            return [_whole(one) if isinstance(one, str) else one for one in value]
        raise ValueError("expected a text, a list of token ids, or a list of either")

    @property
    def top_logprobs_count(self):
        return self.logprobs


class TextPart(_Body):
    type: Annotated[str, Field(pattern="^text$")]
    text: _Text


class Message(_Body):
    role: _Text
    content: Union[_Text, List[TextPart]]

    def plain(self):
        """As a template takes it."""
        content = self.content
        if not isinstance(content, str):
            content = "".join(part.text for part in content)
        return {"role": self.role, "content": content}


# Names that are arguments of the renderer rather than variables of the template.
_NOT_VARIABLES = ("messages", "tools", "name")


def _variables(value):
    for name in _NOT_VARIABLES:
        if name in value:
            raise ValueError(f"expected variables of the chat template, got '{name}'")
    return value


_Variables = Annotated[Dict[str, Any], AfterValidator(_variables)]


class Chat(Generation):
    """POST /v1/chat/completions."""

    messages: Annotated[List[Message], Field(min_length=1)]
    chat_template_kwargs: _Variables = {}
    max_completion_tokens: Optional[Annotated[int, Field(ge=1)]] = None
    logprobs: bool = False
    top_logprobs: Annotated[int, Field(ge=0, le=_MOST_TOP_LOGPROBS)] = 0

    @property
    def top_logprobs_count(self):
        return self.top_logprobs if self.logprobs else None


class Tokenize(_Optional):
    """POST /tokenize: of a text, or of a conversation."""

    model: Optional[str] = None
    prompt: Optional[_Text] = None
    messages: Optional[List[Message]] = None
    chat_template_kwargs: _Variables = {}
    add_special_tokens: bool = True
