"""From a body to what its answers need: the prompt, the grammar and the way calls are read.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools

from .. import text
from ._answers import Reading
from ._errors import ApiError


def _refuse(param, message, code="invalid_value"):
    return ApiError(400, f"{param}: {message}", param=param, code=code)


class Prompts:
    """Prompts, grammars and tools of one model's requests.

    Args:
        tokenizer: a text.Tokenizer.
        vocabulary: of the engine.
        settings: Settings.
    """

    def __init__(self, tokenizer, vocabulary, settings):
        self.tokenizer, self._vocabulary, self._settings = tokenizer, vocabulary, settings
        self._grammars = text.Grammars(tokenizer, vocabulary)

    @property
    def _template(self):
        return self.tokenizer.template

    @functools.lru_cache(maxsize=1)
    def _format(self, template):
        return text.find_format(template, self._settings.tool_format)

    def format(self):
        """How the model writes calls; raises ApiError if that is not known."""
        try:
            return self._format(self._template)
        except ValueError as error:
            raise _refuse("tools", str(error), "unsupported_value") from error

    def conversation(self, body):
        """Ids of the prompt that a body's messages make."""
        messages = [message.plain() for message in body.messages]
        template, variables = self._template, dict(self._settings.chat_template_kwargs)
        if template is not None and "developer" not in template.source(bool(body.tools)):
            # OpenAI's newer name for it, which few templates know.
            messages = [{**one, "role": "system"} if one["role"] == "developer" else one
                        for one in messages]
        if body.reasoning_effort is not None:
            if template is None or not template.knows("reasoning_effort"):
                raise _refuse("reasoning_effort", "the model's chat template does not know it",
                              "unsupported_value")
            variables["reasoning_effort"] = body.reasoning_effort
        if body.offered:
            self.format()
            variables["tools"] = [tool.plain() for tool in body.offered]
        try:
            return self.tokenizer.encode_chat(messages, **{
                "add_generation_prompt": body.add_generation_prompt,
                "continue_final_message": body.continue_final_message,
                **variables, **body.chat_template_kwargs})
        except (text.TemplateError, text.TextError) as error:
            raise ApiError(400, str(error), param="messages", code="invalid_value") from error

    def encode(self, prompt, add_special_tokens=True, param="prompt"):
        """Ids of a text."""
        try:
            return self.tokenizer.encode(prompt, add_special_tokens)
        except text.TextError as error:
            raise ApiError(400, str(error), param=param, code="invalid_value") from error

    def check_ids(self, ids, param):
        """Raises ApiError if one of the ids is none of the model's."""
        bad = next((i for i in ids if not 0 <= i < self._vocabulary), None)
        if bad is not None:
            raise _refuse(param, f"expected ids below {self._vocabulary}, got {bad}")

    def each(self, values, add_special_tokens=True, param="prompt"):
        """Ids of each of several texts, or lists of ids."""
        found = [one if isinstance(one, list) else self.encode(one, add_special_tokens, param)
                 for one in values]
        for ids in found:
            self.check_ids(ids, param)
        return found

    def _special_ids(self, form):
        """Ids of the special tokens in what a format writes, by text."""
        names = {name for name in self.tokenizer.special_texts
                 if any(name in literal for literal in form.literals)}
        return {name: self.tokenizer.special_texts[name] for name in names}

    def reading(self, body):
        """How the answers' text is read: the calls in it among others."""
        shown = () if body.skip_special_tokens else True
        if not getattr(body, "offered", ()):
            return Reading(tuple(body.stops), shown)
        form, names = self.format(), [tool.function.name for tool in body.offered]
        is_named = not isinstance(body.tool_choice, str) and body.tool_choice is not None
        return Reading(tuple(body.stops), shown or frozenset(self._special_ids(form).values()),
                       lambda: text.CallParser(form, names), body.parallel_tool_calls,
                       "stop" if is_named else "tool_calls")

    def id_length(self, body):
        """Of the ids of calls; 0 if any will do."""
        return self.format().id_length if body.offered else 0

    def _answer_schema(self, body):
        """The JSON schema that an answer must follow, or None."""
        form = body.response_format
        if form is None or form.type == "text":
            return None
        return {"type": "object"} if form.type == "json_object" else form.json_schema.schema_

    def _calls(self, body, schema):
        """The grammar of an answer that calls tools, and the parameter it comes from."""
        offered, choice = body.offered, body.tool_choice
        is_free = choice in (None, "auto")
        if is_free and schema is None:
            offered = [tool for tool in offered if tool.function.strict]
        elif not isinstance(choice, str) and choice is not None:
            offered = [tool for tool in offered if tool.function.name == choice.function.name]
        if not offered:
            return None
        form = self.format()
        functions = {tool.function.name: tool.function.parameters or {"type": "object"}
                     for tool in offered}
        is_parallel = body.parallel_tool_calls and (isinstance(choice, str) or choice is None)
        source = text.calls_grammar(form, functions, self._special_ids(form), is_parallel,
                                    is_free=is_free and schema is None)
        if is_free and schema is not None:
            source = source.replace("start: calls\n", "start: calls | answer\n"
                                    f"answer: {text.in_lark(schema)}\n", 1)
        return text.lark_grammar(source)

    def masks(self, body):
        """A function that makes the mask of one answer, or None if any text will do.

        Raises ApiError if a schema is broken, or uses what is not supported.
        """
        schema, grammar, param = self._answer_schema(body), None, "response_format"
        try:
            if schema is not None:
                grammar = text.json_grammar(schema)
            if getattr(body, "offered", ()):
                param = "tools" if schema is None else param
                grammar = self._calls(body, schema) or grammar
            return None if grammar is None else self._grammars.compile(grammar)
        except text.GrammarError as error:
            raise _refuse(param, f"the schema is not supported: {error}",
                          "invalid_json_schema" if param == "response_format" else
                          "invalid_function_parameters") from error
