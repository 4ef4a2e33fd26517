"""How models write calls of tools, by their chat templates.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A template tells the model which tools there are and how to call them, in a format of its own.
Each format is a row of FORMATS: the literal texts around a call's name and arguments, which make
the grammar of an answer that must call a tool, and the way back, which finds the calls in an
answer. A template is recognised by a text that no other format's templates contain.
"""

import json
import re
from dataclasses import dataclass
from typing import Tuple

from ._grammar import GrammarError, in_lark

# Names as OpenAI's interface has them.
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True)
class Format:
    """
    Attributes:
        name: for --tool-format.
        marks: texts of which a template of this format contains all.
        begin: begins the calls; "" if they begin with the answer.
        before, middle, after: around a call's name and its arguments, as models write them.
        separator: between calls.
        end: ends the calls.
        style: "object": a call is a JSON object with the name and the arguments as members;
            "list": calls are members of a JSON list; "named": the name, then the arguments.
        repeats: whether `begin` comes before each call.
        id_length: of the ids of calls, where the template asks for a length.
    """

    name: str
    marks: Tuple[str, ...]
    begin: str
    before: str
    middle: str
    after: str
    separator: str = ""
    end: str = ""
    style: str = "object"
    repeats: bool = False
    id_length: int = 0

    @property
    def literals(self):
        """The texts that a special token may be."""
        return (self.begin, self.before, self.middle, self.after, self.separator, self.end)


_ARGUMENTS, _PARAMETERS = '", "arguments": ', '", "parameters": '
# The first whose marks a template has counts.
FORMATS = (
    Format("deepseek-v3.1", ("<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>", "'<｜tool▁call▁begin｜>'+ tool"),
           "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>",
           end="<｜tool▁calls▁end｜>", style="named"),
    Format("deepseek", ("<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>"), "<｜tool▁calls▁begin｜>",
           "<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "\n```json\n", "\n```<｜tool▁call▁end｜>",
           separator="\n", end="<｜tool▁calls▁end｜>", style="named"),
    Format("kimi", ("<|tool_calls_section_begin|>",), "<|tool_calls_section_begin|>",
           "<|tool_call_begin|>functions.", ":0<|tool_call_argument_begin|>", "<|tool_call_end|>",
           end="<|tool_calls_section_end|>", style="named"),
    Format("mistral-args", ("[TOOL_CALLS]", "[ARGS]"), "[TOOL_CALLS]", "", "[ARGS]", "",
           style="named", repeats=True, id_length=9),
    Format("mistral", ("[TOOL_CALLS]",), "[TOOL_CALLS]", '{"name": "', _ARGUMENTS, "}",
           separator=", ", style="list", id_length=9),
    Format("granite", ("<|tool_call|>",), "<|tool_call|>", '{"name": "', _ARGUMENTS, "}",
           separator=", ", style="list"),
    Format("phi-4-mini", ("functools",), "functools", '{"name": "', _ARGUMENTS, "}",
           separator=", ", style="list"),
    Format("hermes", ("<tool_call>", '"arguments"'), "<tool_call>", '\n{"name": "', _ARGUMENTS,
           "}\n</tool_call>", separator="\n", repeats=True),
    Format("llama3", ("<|python_tag|>", '"parameters": '), "", '{"name": "', _PARAMETERS, "}",
           separator="; "),
    Format("llama3", ('"parameters": ', "ipython"), "", '{"name": "', _PARAMETERS, "}",
           separator="; "),
)
# Formats whose arguments are not JSON, to name them in a refusal.
_OTHERS = {"<function=": "calls in XML", "<arg_key>": "calls in XML",
           "<|channel|>": "OpenAI's harmony", "<|START_ACTION|>": "Cohere's actions"}


def find_format(template, name=None):
    """Returns the Format of a template.

    Args:
        template: a ChatTemplate or None.
        name: of a Format, which then counts whatever the template says; None finds it.

    Raises ValueError if there is none, with what would work.
    """
    names = sorted({one.name for one in FORMATS})
    if name is not None:
        found = next((one for one in FORMATS if one.name == name), None)
        if found is None:
            raise ValueError(f"expected a format of tool calls ({', '.join(names)}), got '{name}'")
        return found
    if template is None or not template.knows("tools"):
        raise ValueError("the model's chat template does not know tools")
    source = template.source(True)
    other = next((what for mark, what in _OTHERS.items() if mark in source), None)
    found = next((one for one in FORMATS if all(mark in source for mark in one.marks)), None)
    if found is None or other and found.name == "hermes":
        raise ValueError("cannot read the calls that the model's chat template asks for"
                         + (f" ({other})" if other else "")
                         + f"; --tool-format names one of {', '.join(names)}")
    return found


def _literal(text, special_ids):
    """A text as terms of a grammar in Lark's notation, special tokens by their ids."""
    if not text:
        return ""
    if special_ids:
        parts = re.split("(" + "|".join(map(re.escape, special_ids)) + ")", text)
    else:
        parts = [text]
    return " ".join(f"<[{special_ids[part]}]>" if part in special_ids else json.dumps(part)
                    for part in parts if part)


def calls_grammar(format_, functions, special_ids, parallel=True, is_free=False):
    """The grammar, in Lark's notation, of an answer that calls functions.

    Args:
        functions: dict of name to the schema of its arguments.
        special_ids: ids of the special tokens that the format's texts contain, by text.
        parallel: whether there may be several calls.
        is_free: whether text may come first, or instead of calls.
    """
    def text(literal):
        return _literal(literal, special_ids)

    form = format_
    opening, closing = ("[", "]") if form.style == "list" else ("", "")
    begin, each = form.begin + opening, ""
    if form.repeats:
        begin, each = "", form.begin
    more = f" ({text(form.separator + each)} call)*" if parallel else ""
    rules = [f"calls: {text(begin + each)} rest",
             f"rest: call{more} {text(closing + form.end)}",
             "call: " + " | ".join(f"call_{i}" for i in range(len(functions)))]
    for i, (name, schema) in enumerate(functions.items()):
        rules.append(f"call_{i}: {text(form.before + name + form.middle)} "
                     f"arguments_{i} {text(form.after)}")
        try:
            rules.append(f"arguments_{i}: {in_lark(schema)}")
        except GrammarError as error:
            raise GrammarError(f"parameters of '{name}': {error}") from error
    if not is_free:
        return "\n".join(["start: calls", *rules])
    if not form.begin:
        # Nothing but its first character tells a call from a text.
        return "\n".join(["start: calls | TEXT?", *rules, r"TEXT: /[^{](.|\n)*/"])
    # The text that begins the calls is found as soon as it is complete.
    behind = text(opening)
    if form.begin in special_ids:
        first = [f"start: TEXT (<[{special_ids[form.begin]}]> {behind} rest)?"]
    else:
        first = [f"start: TEXT | head {behind} rest",
                 f"head[lazy]: /(.|\\n)*/ {json.dumps(form.begin)}"]
    return "\n".join([*first, *rules[1:], r"TEXT: /(.|\n)*/"])


@dataclass(frozen=True)
class Call:
    """A call of a tool.

    Attributes:
        arguments: a JSON object, as text.
    """

    name: str
    arguments: str


def _call(value):
    """The Call that a JSON object says, or None."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    arguments = value.get("arguments", value.get("parameters", {}))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return None
    if not isinstance(arguments, dict):
        return None
    return Call(value["name"], json.dumps(arguments, ensure_ascii=False))


class CallParser:
    """Finds the calls in an answer, piece by piece.

    Text before the calls is given as it comes, but for what may begin them. A call is given when
    it is complete. What looks like a call and is none is text.

    Args:
        format_: a Format.
        names: of the tools. An answer that is one JSON object alone, as some formats have
            calls, is a call only of one of these.

    Attributes:
        count: the calls so far.
    """

    def __init__(self, format_, names):
        self._format, self._names = format_, frozenset(names)
        self._held, self._is_in_calls, self.count = "", False, 0
        self._is_first = True

    def push(self, text):
        """Returns the text that is certain to be none of a call, and the calls completed."""
        self._held += text
        said = ""
        if not self._is_in_calls:
            said = self._find_begin()
        return said, self._take_calls() if self._is_in_calls else []

    def flush(self):
        """Returns the rest as text, and as calls, once the answer has ended."""
        calls = self._take_calls() if self._is_in_calls else []
        if self.count:
            # The text that ends the calls belongs to no content.
            self._held = self._held[self._skip(self._format.end):]
        said, self._held = self._held, ""
        if self.count and said and said in self._format.after:
            said = ""  # The answer ended within it.
        return said, calls

    def _find_begin(self):
        """Returns the text before the calls and leaves what may be calls."""
        begin, text = self._format.begin, self._held
        if begin:
            at = text.find(begin)
            if at >= 0:
                self._is_in_calls = True
                self._held = text[at:] if self._format.repeats else text[at + len(begin):]
                # Blanks alone are no text.
                return text[:at] if text[:at].strip() or not self._is_first else ""
            keep = max((size for size in range(1, min(len(begin), len(text) + 1))
                        if text.endswith(begin[:size])), default=0)
            said, self._held = text[:len(text) - keep], text[len(text) - keep:]
            if self._is_first and not said.strip():
                said, self._held = "", text
            self._is_first &= not said
            return said
        stripped = text.lstrip().removeprefix("<|python_tag|>").lstrip()
        if self._is_first and (not stripped or stripped.startswith("{")
                               or "<|python_tag|>".startswith(text.lstrip())):
            self._is_in_calls = stripped.startswith("{")
            self._held = stripped if self._is_in_calls else text
            return ""
        self._is_first, self._held = False, ""
        return text

    def _take_calls(self):
        """Takes the complete calls from what is held."""
        found = []
        while (taken := self._take()) is not None:
            calls, end = taken
            self._held = self._held[end:]
            self.count += len(calls)
            found += calls
        return found

    def _json(self, at):
        """The JSON value at a place of what is held, and its end; None if it is not complete."""
        try:
            return json.JSONDecoder().raw_decode(self._held, at)
        except (ValueError, RecursionError):
            return None

    def _skip(self, *more):
        """The place behind what may come before a call: blanks, and each of several texts once."""
        form, at = self._format, 0
        before = (form.after.lstrip("}"), form.separator) if self.count else ()
        for text in (*before, form.begin if form.repeats else "", *more):
            while self._held[at:at + 1].isspace():
                at += 1
            if text.strip() and self._held.startswith(text.strip(), at):
                at += len(text.strip())
        while self._held[at:at + 1].isspace():
            at += 1
        return at

    def _take(self):
        """The calls at the beginning of what is held and where they end, or None."""
        form = self._format
        if form.style == "named":
            return self._take_named()
        found = self._json(self._skip())
        if found is None:
            return None
        value, end = found
        is_list = form.style == "list" and isinstance(value, list)
        calls = [_call(one) for one in (value if is_list else [value])]
        if not calls or None in calls or not form.begin and any(
                call.name not in self._names for call in calls):
            return None
        return calls, end

    def _take_named(self):
        form = self._format
        name = NAME.match(self._held, self._skip(form.before))
        if name is None:
            return None
        # Some number their calls.
        middle = re.compile(r"\s*" + re.escape(form.middle.strip()).replace(":0", r":\d+")
                            + r"\s*").match(self._held, name.end())
        found = self._json(middle.end()) if middle else None
        if found is None or not isinstance(found[0], dict):
            return None
        call = Call(name.group(), json.dumps(found[0], ensure_ascii=False))
        return [call], found[1]
