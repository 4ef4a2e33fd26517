"""Chat templates: a conversation as the text that a model was trained on.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Templates come with checkpoints, so they are someone else's code: they run in jinja2's
immutable sandbox and see plain data alone. What they may call, and how blanks are
trimmed, is as in `apply_chat_template` of transformers, for which they were written.
"""

import datetime
import functools
import json

from .._packages import needed
from ._files import TEMPLATES, TextError, read, read_text


NO_TEMPLATE = "the checkpoint has no chat template, in tokenizer_config.json or " \
              "chat_template.jinja: expected one, or a prompt that is no conversation " \
              "(LLM.generate, /v1/completions of tp-serve)"


class TemplateError(ValueError):
    """A template that is broken, or that refuses the conversation; with its own text."""


def _raise(message):
    raise needed("jinja2", "text").TemplateError(message)


def _tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    # jinja2's own writes HTML's escapes.
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def _now(form):
    return datetime.datetime.now().strftime(form)


def _plain(value):
    """`value` of the types that JSON has, which carry no methods for a template to misuse."""
    if value is None or isinstance(value, bool):
        return value
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    raise TypeError(f"expected what JSON can say, got a value of type '{type(value).__name__}'")


@functools.cache
def _environment():
    jinja2 = needed("jinja2", "text")
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """`{% generation %}` marks what training learns; here it is what it encloses."""

        tags = {"generation"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.Scope(body, lineno=line)

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                                extensions=[Generation, loopcontrols])
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = _now
    return environment


# Stands behind the content of a message that is to be continued, as in transformers.
_MARK = "CONTINUE_FINAL_MESSAGE_TAG "


def _marked(messages):
    """The messages with a mark behind the last one's content."""
    content = messages[-1].get("content") if messages else None
    if not isinstance(content, str):
        raise TemplateError("continue_final_message: expected a last message whose content is a "
                            "text")
    return [*messages[:-1], {**messages[-1], "content": content + _MARK}]


def _up_to_mark(rendered):
    """The text before the mark. A template that trims the message has dropped the mark's blank, and
    with it would have dropped those before."""
    at = rendered.rfind(_MARK.strip())
    if at < 0:
        raise TemplateError("continue_final_message: the chat template leaves out the last "
                            "message, or changes it")
    is_kept = rendered.startswith(_MARK, at)
    return rendered[:at] if is_kept else rendered[:at].rstrip()


class ChatTemplate:
    """One template, or several by name.

    Args:
        source: the text, or a dict of name to text. Of several, "tool_use" is taken when
            there are tools, and "default" otherwise.
        special_tokens: what the template finds as bos_token, eos_token and so on.
    """

    def __init__(self, source, special_tokens=None):
        self._sources = {"default": source} if isinstance(source, str) else dict(source)
        self._special_tokens = dict(special_tokens or {})
        self._compiled = {name: self._compile(name) for name in self._sources}

    def _compile(self, name):
        jinja2 = needed("jinja2", "text")
        try:
            return _environment().from_string(self._sources[name])
        except jinja2.TemplateSyntaxError as error:
            raise TemplateError(f"the chat template '{name}' is broken in line {error.lineno}: "
                                f"{error.message}") from error

    def _choose(self, name, tools):
        if name is None:
            name = "tool_use" if tools is not None and "tool_use" in self._compiled else "default"
        if name not in self._compiled:
            raise TemplateError(f"no chat template '{name}'; there are: "
                                f"{', '.join(sorted(self._compiled))}")
        return self._compiled[name]

    def source(self, has_tools=False):
        """The text of the template that is taken, with tools or without."""
        name = "tool_use" if has_tools and "tool_use" in self._sources else "default"
        return self._sources.get(name, "")

    @functools.cached_property
    def _variables(self):
        from jinja2 import meta

        return set().union(*(meta.find_undeclared_variables(_environment().parse(source))
                             for source in self._sources.values()))

    def knows(self, variable):
        """True if a template reads a variable of that name."""
        return variable in self._variables

    def render(self, messages, add_generation_prompt=False, tools=None, documents=None, name=None,
               continue_final_message=False, **variables):
        """The conversation as text, special tokens included.

        Args:
            messages: list of dicts with "role" and "content".
            add_generation_prompt: end with what begins an answer.
            tools: list of JSON schemas of functions, for templates that know tools.
            documents: list of dicts, for templates that know documents.
            name: of one of several templates.
            continue_final_message: end within the last message, right behind its content.
            variables: whatever else the template knows.

        Raises TemplateError with the template's own words if it refuses.
        """
        jinja2 = needed("jinja2", "text")
        if continue_final_message:
            if add_generation_prompt:
                raise TemplateError("expected either add_generation_prompt or "
                                    "continue_final_message: an answer begins a message or "
                                    "continues the last one")
            marked = _marked(messages)
            return _up_to_mark(self.render(marked, False, tools, documents, name, **variables))
        template = self._choose(name, tools)
        given = {**self._special_tokens, **variables, "messages": messages, "tools": tools,
                 "documents": documents, "add_generation_prompt": add_generation_prompt}
        try:
            return template.render(**_plain(given))
        except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError,
                AttributeError, RecursionError) as error:
            raise TemplateError(f"the chat template refuses the conversation: {error}") from error


def _of_config(path, value):
    """Returns the templates of a `chat_template` key by name."""
    named = value
    if isinstance(value, str):
        named = {"default": value}
    elif isinstance(value, list) and all(
            isinstance(one, dict) and isinstance(one.get("name"), str) for one in value):
        named = {one["name"]: one.get("template") for one in value}
    if named is None:
        return {}
    if not isinstance(named, dict) or not all(isinstance(one, str) for one in named.values()):
        raise TextError(f"{path}: chat_template: expected a text, or a list of objects with name "
                        f"and template, got {json.dumps(value)[:80]}")
    return named


def read_templates(folder, config, special_tokens):
    """Reads the chat templates of a checkpoint.

    chat_template.jinja replaces the templates of tokenizer_config.json, and
    additional_chat_templates adds to either. chat_template.json, which an image processor reads,
    is used if there is no other template.

    Args:
        folder: the checkpoint.
        config: tokenizer_config.json.
        special_tokens: texts by name, for the templates.

    Returns:
        ChatTemplate or None, and a list of notes about ignored templates.

    Raises TextError or TemplateError if a template is broken.
    """
    found, notes = _of_config(folder / "tokenizer_config.json", config.get("chat_template")), []
    single, old = folder / "chat_template.jinja", folder / "chat_template.json"
    if single.is_file():
        text = read_text(single)
        if found and found != {"default": text}:
            notes.append("tokenizer_config.json: ignored: chat_template (chat_template.jinja "
                         "comes first)")
        found = {"default": text}
    found |= {path.name.removesuffix(".jinja"): read_text(path)
              for path in sorted((folder / TEMPLATES).glob("*.jinja"))}
    of_processor = _of_config(old, read(old).get("chat_template"))
    if of_processor and not found:
        found = of_processor
    elif of_processor and of_processor != found:
        notes.append("chat_template.json: ignored (the tokenizer has its own)")
    if not found:
        return None, notes
    if len(found) > 1 or "default" not in found:
        more = ", ".join(f"'{name}'" for name in sorted(found))
        used = "'default' is used" + (", and 'tool_use' where there are tools" * (
            "tool_use" in found)) if "default" in found else "none is 'default', which is used"
        notes.append(f"chat templates {more}: {used}")
    return ChatTemplate(found, special_tokens), notes
