"""Bodies of requests: which parameters there are, and what each may be.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

What is not listed here is refused by name: a client that asks for something is told that it
does not get it. A parameter that is null is as if it were not there, and so is one whose value
asks for nothing (`_fields`).
"""

import secrets
from typing import Annotated, Any, Dict, List, Optional, Union

from pydantic import Field, field_validator, model_validator

from ..engine import Params
from ._fields import Id, Optionals, Share, Text, Variables, asks_nothing, whole
from ._messages import Message, ResponseFormat, Tool, ToolChoice

_MOST_TOP_LOGPROBS = 20
_Penalty = Annotated[float, Field(ge=-2, le=2, allow_inf_nan=False)]
_Bias = Annotated[float, Field(ge=-100, le=100, allow_inf_nan=False)]
_Stop = Annotated[Text, Field(min_length=1, max_length=1000)]


class StreamOptions(Optionals):
    include_usage: bool = False

    @classmethod
    def is_nothing(cls, name, value):
        return name in ("continuous_usage_stats", "include_obfuscation") and value is False


class Generation(Optionals):
    """What both ways of asking share."""

    model: Optional[str] = None
    max_tokens: Optional[Annotated[int, Field(ge=1)]] = None
    min_tokens: Annotated[int, Field(ge=0)] = 0
    # A field that is left out has the checkpoint's default.
    temperature: Optional[Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)]] = None
    top_p: Optional[Share] = None
    top_k: Optional[Annotated[int, Field(ge=-1, lt=2**31)]] = None
    min_p: Optional[Share] = None
    seed: Optional[Annotated[int, Field(ge=-2**63, lt=2**64)]] = None
    stop: Union[_Stop, Annotated[List[_Stop], Field(max_length=16)], None] = None
    stop_token_ids: List[Id] = []
    ignore_eos: bool = False
    skip_special_tokens: bool = True
    n: Annotated[int, Field(ge=1)] = 1
    presence_penalty: _Penalty = 0.0
    frequency_penalty: _Penalty = 0.0
    repetition_penalty: Optional[
        Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]] = None
    logit_bias: Dict[str, _Bias] = {}
    stream: bool = False
    stream_options: Optional[StreamOptions] = None
    response_format: Optional[ResponseFormat] = None

    @classmethod
    def is_nothing(cls, name, value):
        return asks_nothing(name, value)

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

    @property
    def is_echo(self):
        """True if the answer begins with the prompt."""
        return False

    def params(self, max_tokens, eos_ids):
        """How the first choice is made; without a seed it is drawn anew."""
        seed = secrets.randbits(64) if self.seed is None else self.seed
        stop_ids = frozenset(self.stop_token_ids) | (frozenset() if self.ignore_eos else eos_ids)
        return Params(
            max_tokens=max_tokens, temperature=self.temperature,
            top_k=0 if self.top_k == -1 else self.top_k,
            top_p=self.top_p, min_p=self.min_p, seed=seed % 2**64,
            presence_penalty=self.presence_penalty, frequency_penalty=self.frequency_penalty,
            repetition_penalty=self.repetition_penalty, min_tokens=self.min_tokens or None,
            logit_bias={int(key): value for key, value in self.logit_bias.items()},
            stop_ids=stop_ids, logprobs=self.top_logprobs_count,
            prompt_logprobs=self.top_logprobs_count if self.is_echo else None)


def _is_ids(value):
    return all(isinstance(i, int) and not isinstance(i, bool) for i in value)


def prompts(value):
    """A list of prompts, each a text or ids."""
    if isinstance(value, str) or isinstance(value, list) and value and _is_ids(value):
        value = [value]
    if isinstance(value, list) and value and all(
            isinstance(one, str) or isinstance(one, list) and one and _is_ids(one)
            for one in value):
        return [whole(one) if isinstance(one, str) else one for one in value]
    raise ValueError("expected a text, a list of token ids, or a list of either")


class Completion(Generation):
    """POST /v1/completions."""

    prompt: Any
    logprobs: Optional[Annotated[int, Field(ge=0, le=_MOST_TOP_LOGPROBS)]] = None
    echo: bool = False
    best_of: Optional[Annotated[int, Field(ge=1)]] = None
    add_special_tokens: bool = True
    # 0 asks for nothing new, which with `echo` leaves the prompt.
    max_tokens: Optional[Annotated[int, Field(ge=0)]] = None

    @field_validator("prompt")
    @classmethod
    def _prompts(cls, value):
        return prompts(value)

    @field_validator("logprobs", mode="before")
    @classmethod
    def _none(cls, value):
        return None if value is False else value

    @model_validator(mode="after")
    def _agrees(self):
        if self.max_tokens == 0 and not self.echo:
            raise ValueError("max_tokens: expected at least 1, or 'echo' with 0")
        if self.best_of is not None and self.best_of != self.n:
            raise ValueError("best_of: expected the same number as 'n': answers are not ranked")
        return self

    @property
    def top_logprobs_count(self):
        return self.logprobs

    @property
    def is_echo(self):
        return self.echo


class Conversation(Optionals):
    """What makes a prompt of messages."""

    chat_template_kwargs: Variables = {}
    add_generation_prompt: bool = True
    continue_final_message: bool = False
    tools: List[Tool] = []

    @model_validator(mode="after")
    def _ends_once(self):
        kwargs = self.chat_template_kwargs
        if kwargs.get("continue_final_message", self.continue_final_message) and kwargs.get(
                "add_generation_prompt", self.add_generation_prompt):
            raise ValueError("continue_final_message: expected 'add_generation_prompt' to be "
                             "false: an answer begins a message or continues the last one")
        return self


class Chat(Generation, Conversation):
    """POST /v1/chat/completions."""

    messages: Annotated[List[Message], Field(min_length=1)]
    max_completion_tokens: Optional[Annotated[int, Field(ge=1)]] = None
    logprobs: bool = False
    top_logprobs: Annotated[int, Field(ge=0, le=_MOST_TOP_LOGPROBS)] = 0
    tool_choice: Optional[ToolChoice] = None
    parallel_tool_calls: bool = True
    reasoning_effort: Optional[str] = None

    @classmethod
    def is_nothing(cls, name, value):
        return super().is_nothing(name, value) or name == "echo" and value is False

    @model_validator(mode="after")
    def _chooses(self):
        names = [tool.function.name for tool in self.tools]
        choice = self.tool_choice
        if len(set(names)) < len(names):
            raise ValueError("tools: expected names that differ")
        if choice not in (None, "none", "auto") and not names:
            raise ValueError("tool_choice: expected 'tools' to choose from")
        if not isinstance(choice, str) and choice is not None and choice.function.name not in names:
            raise ValueError(f"tool_choice: expected one of the tools ({', '.join(names)}), got "
                             f"'{choice.function.name[:64]}'")
        return self

    @property
    def top_logprobs_count(self):
        return self.top_logprobs if self.logprobs else None

    @property
    def offered(self):
        """The tools that the answer may call."""
        return [] if self.tool_choice == "none" else self.tools


class Tokenize(Conversation):
    """POST /tokenize: of a text, or of a conversation."""

    model: Optional[str] = None
    prompt: Optional[Text] = None
    messages: Optional[List[Message]] = None
    add_special_tokens: bool = True
    return_token_strs: bool = False

    @property
    def offered(self):
        return self.tools

    reasoning_effort: Optional[str] = None


class Detokenize(Optionals):
    """POST /detokenize."""

    model: Optional[str] = None
    tokens: List[Id]


class Embeddings(Optionals):
    """POST /v1/embeddings."""

    model: Optional[str] = None
    input: Any
    encoding_format: Annotated[str, Field(pattern="^(float|base64)$")] = "float"
    dimensions: Optional[Annotated[int, Field(ge=1)]] = None

    @field_validator("input")
    @classmethod
    def _inputs(cls, value):
        return prompts(value)

    @classmethod
    def is_nothing(cls, name, value):
        return asks_nothing(name, value)
