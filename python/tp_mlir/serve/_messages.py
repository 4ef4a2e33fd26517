"""Messages of a conversation, and the tools that its answer may call.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
from typing import Annotated, Any, Dict, List, Literal, Optional, Union

from pydantic import Field, field_validator, model_validator

from .. import text
from ._fields import Optionals, Text, whole


class TextPart(Optionals):
    type: Literal["text", "refusal"]
    text: Text

    @model_validator(mode="before")
    @classmethod
    def _kind(cls, value):
        if isinstance(value, dict) and value.get("type") == "refusal" and "text" not in value:
            value = {**value, "text": value.get("refusal")}
            value.pop("refusal", None)
        elif isinstance(value, dict) and isinstance(value.get("type"), str) and (
                value["type"] not in ("text", "refusal")):
            raise ValueError(f"expected a part of type 'text', got '{value['type'][:40]}': the "
                             "server takes text alone")
        return value


class CalledFunction(Optionals):
    name: Text
    arguments: Text = "{}"

    @field_validator("arguments")
    @classmethod
    def _is_object(cls, value):
        try:
            parsed = json.loads(value or "{}")
        except (ValueError, RecursionError):
            parsed = None
        if not isinstance(parsed, dict):
            raise ValueError("expected a JSON object in a text")
        return value or "{}"


class ToolCall(Optionals):
    id: Optional[Text] = None
    type: Literal["function"] = "function"
    index: Optional[int] = None
    function: CalledFunction


class Message(Optionals):
    role: Text
    content: Union[Text, List[TextPart], None] = None
    name: Optional[Text] = None
    tool_calls: List[ToolCall] = []
    tool_call_id: Optional[Text] = None
    reasoning_content: Optional[Text] = None
    refusal: Optional[Text] = None

    @classmethod
    def is_nothing(cls, name, value):
        # As answers of OpenAI's interface have them, which clients send back.
        return name in ("annotations", "audio", "function_call") and value in ([], {})

    @model_validator(mode="after")
    def _has_content(self):
        if self.content is None and not self.tool_calls and self.refusal is None:
            raise ValueError("expected content, a text or a list of parts")
        return self

    def plain(self):
        """As a template takes it: arguments of calls are objects."""
        content = self.content
        if isinstance(content, list):
            content = "".join(part.text for part in content)
        made = {"role": self.role, "content": self.refusal or "" if content is None else content}
        if self.tool_calls:
            made["tool_calls"] = [
                {"id": call.id, "type": call.type, "function": {
                    "name": call.function.name, "arguments": json.loads(call.function.arguments)}}
                for call in self.tool_calls]
        for name in ("name", "tool_call_id", "reasoning_content"):
            if getattr(self, name) is not None:
                made[name] = getattr(self, name)
        return made


class Function(Optionals):
    name: str
    description: Optional[Text] = None
    parameters: Dict[str, Any] = {}
    strict: bool = False

    @field_validator("name")
    @classmethod
    def _is_name(cls, value):
        if not text.NAME.fullmatch(value):
            raise ValueError("expected a name of up to 64 letters, digits, '_', '-' and '.'")
        return value

    @field_validator("parameters")
    @classmethod
    def _is_text(cls, value):
        whole(json.dumps(value, ensure_ascii=False))
        return value


class Tool(Optionals):
    type: Literal["function"]
    function: Function

    def plain(self):
        """As a template takes it."""
        function = {"name": self.function.name, "parameters": self.function.parameters}
        if self.function.description is not None:
            function["description"] = self.function.description
        return {"type": "function", "function": function}


class NamedFunction(Optionals):
    name: str


class NamedTool(Optionals):
    type: Literal["function"]
    function: NamedFunction


class ResponseSchema(Optionals):
    name: Optional[Text] = None
    description: Optional[Text] = None
    # "schema" is a method of pydantic's.
    schema_: Annotated[Dict[str, Any], Field(alias="schema")] = {}
    strict: bool = False


class ResponseFormat(Optionals):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: Optional[ResponseSchema] = None

    @model_validator(mode="after")
    def _has_schema(self):
        if (self.type == "json_schema") != (self.json_schema is not None):
            raise ValueError("expected 'json_schema' with the type 'json_schema', and with no "
                             "other")
        return self


ToolChoice = Union[Literal["none", "auto", "required"], NamedTool]
