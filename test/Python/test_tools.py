"""Calls of tools and answers that follow a grammar: formats of templates, and the server.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import random

import numpy
import openai
import pytest
from test_serve import MODEL, TOKENIZER, running

from tp_mlir import text
from tp_mlir.text import _calls

WEATHER = {"type": "object", "properties": {"city": {"$ref": "#/$defs/name"}, "days": {"type": "integer"}},
           "required": ["city"], "additionalProperties": False,
           "$defs": {"name": {"type": "string"}}}
TOOLS = {"weather": WEATHER, "now": {"type": "object", "additionalProperties": False}}
GRAMMARS = text.Grammars(TOKENIZER, 700)
# By format, an answer with two calls as its models write them.
ANSWERS = {
    "hermes": '<tool_call>\n{"name": "weather", "arguments": {"city": "Köln", "days": 2}}\n'
              '</tool_call>\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>',
    "llama3": '{"name": "weather", "parameters": {"city": "Köln", "days": 2}}; '
              '{"name": "now", "parameters": {}}',
    "mistral": '[TOOL_CALLS][{"name": "weather", "arguments": {"city": "Köln", "days": 2}}, '
               '{"name": "now", "arguments": {}}]',
    "mistral-args": '[TOOL_CALLS]weather[ARGS]{"city": "Köln", "days": 2}'
                    '[TOOL_CALLS]now[ARGS]{}',
    "granite": '<|tool_call|>[{"name": "weather", "arguments": {"city": "Köln", "days": 2}}, '
               '{"name": "now", "arguments": {}}]',
    "phi-4-mini": 'functools[{"name": "weather", "arguments": {"city": "Köln", "days": 2}}, '
                  '{"name": "now", "arguments": {}}]',
    "deepseek": '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n'
                '```json\n{"city": "Köln", "days": 2}\n```<｜tool▁call▁end｜>\n'
                '<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```'
                '<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "deepseek-v3.1": '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>'
                     '{"city": "Köln", "days": 2}<｜tool▁call▁end｜><｜tool▁call▁begin｜>now'
                     '<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "kimi": '<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0'
            '<|tool_call_argument_begin|>{"city": "Köln", "days": 2}<|tool_call_end|>'
            '<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}<|tool_call_end|>'
            '<|tool_calls_section_end|>'}
CALLS = [("weather", {"city": "Köln", "days": 2}), ("now", {})]


def form(name):
    return text.find_format(None, name)


def parsed(name, pieces):
    """The text of an answer that comes in pieces, and the calls in it."""
    parser, said, calls = text.CallParser(form(name), TOOLS), "", []
    for piece in pieces:
        more, found = parser.push(piece)
        said, calls = said + more, calls + found
    more, found = parser.flush()
    return said + more, [(call.name, json.loads(call.arguments)) for call in calls + found]


def cut(value, seed):
    """The text in pieces of random lengths."""
    draw, pieces = random.Random(seed), []
    while value:
        size = draw.choice((1, 2, 3, 7, 30))
        pieces.append(value[:size])
        value = value[size:]
    return pieces


@pytest.mark.parametrize("name", ANSWERS)
def test_calls_in_pieces(name):
    answer = ANSWERS[name]
    for seed in range(30):
        assert parsed(name, cut(answer, seed)) == ("", CALLS)
        # What is cut off is text: nothing of it is lost, and nothing is made up.
        end = random.Random(seed).randrange(len(answer))
        said, calls = parsed(name, cut(answer[:end], seed))
        assert calls == CALLS[:len(calls)]
        assert said in answer[:end]
        if form(name).begin:
            assert parsed(name, cut("Well: " + answer, seed)) == ("Well: ", CALLS)
        plain = "Is a < b? {\"name\": 5} <tool <|x|> [TOOL functool é"
        assert parsed(name, cut(plain, seed)) == (plain, [])


@pytest.mark.parametrize("name, answer", [
    ("hermes", "<tool_call>\nnonsense\n</tool_call>"),
    ("hermes", '<tool_call>{"name": "weather", "arguments": [1]}</tool_call>'),
    ("llama3", '{"name": "unknown", "parameters": {}}'), ("llama3", '{"a": 1}'),
    ("llama3", '{"name": "now", "parameters"'), ("mistral-args", "[TOOL_CALLS]now[ARGS]nothing")])
def test_what_is_no_call(name, answer):
    for seed in range(20):
        said, calls = parsed(name, cut(answer, seed))
        assert calls == [] and said.strip() in answer and len(said) > len(answer) / 2


def accepts(grammar, answer):
    """True if an answer, as token ids, is one of the grammar's."""
    mask = GRAMMARS.compile(text.lark_grammar(grammar))()
    ids = TOKENIZER.encode(answer, add_special_tokens=False)
    for count in range(len(ids) + 1):
        words = numpy.zeros(22, numpy.uint32)
        if not mask(ids[:count], words):
            return count == len(ids)
        if count < len(ids) and not words[ids[count] // 32] >> (ids[count] % 32) & 1:
            return False
    return bool(words[2 // 32] >> 2 & 1)  # it may end


@pytest.mark.parametrize("name", ANSWERS)
def test_grammars_of_calls(name):
    answer, first = ANSWERS[name], dict(list(TOOLS.items())[:1])
    grammar = text.calls_grammar(form(name), TOOLS, {})
    assert accepts(grammar, answer)
    assert not accepts(grammar, answer.replace("days", "Days"))
    assert not accepts(grammar, answer.replace("now", "then"))
    assert not accepts(grammar, "Well: " + answer)
    assert not accepts(text.calls_grammar(form(name), first, {}), answer)
    assert not accepts(text.calls_grammar(form(name), TOOLS, {}, parallel=False), answer)
    free = text.calls_grammar(form(name), TOOLS, {}, is_free=True)
    assert accepts(free, "Just a text.") and accepts(free, answer)
    if form(name).begin:
        assert accepts(free, "Well: " + answer)
    assert not accepts(free, answer.replace("days", "Days"))


def test_special_tokens_of_grammars():
    ids = {"<|system|>": 3, "<|user|>": 4}
    assert _calls._literal("<|system|>a\n<|user|>", ids) == r'<[3]> "a\n" <[4]>'
    special = _calls.Format("x", (), "<|system|>", '{"name": "', '", "arguments": ', "}<|user|>")
    for is_free in (False, True):
        grammar = text.calls_grammar(special, TOOLS, ids, is_free=is_free)
        assert accepts(grammar, '<|system|>{"name": "now", "arguments": {}}<|user|>')
        assert not accepts(grammar, '<|system|>{"name": "now", "arguments": {}}<|system|>')


@pytest.mark.parametrize("source, name", [
    ("{{ tools }}<tool_call>{\"name\": x, \"arguments\": y}</tool_call>", "hermes"),
    ("{{ tools }}[TOOL_CALLS]", "mistral"), ("{{ tools }}[TOOL_CALLS] [ARGS]", "mistral-args"),
    ("{{ tools }}ipython{\"name\": n, \"parameters\": p}", "llama3"),
    ("{{ tools }}<|tool_call|>", "granite"), ("{{ tools }}functools", "phi-4-mini"),
    ("{{ tools }}<｜tool▁calls▁begin｜>function<｜tool▁sep｜>", "deepseek"),
    ("{{ tools }}<|tool_calls_section_begin|>", "kimi")])
def test_templates_show_their_format(source, name):
    assert text.find_format(text.ChatTemplate(source)).name == name


@pytest.mark.parametrize("source, message", [
    ("{{ messages }}", "the model's chat template does not know tools"),
    ("{{ tools }}", "cannot read the calls that the model's chat template asks for; --tool-format "
     "names one of deepseek, deepseek-v3.1, granite, hermes, kimi, llama3, mistral, mistral-args, "
     "phi-4-mini"),
    ("{{ tools }}<tool_call><function=\"arguments\"", "cannot read the calls that the model's chat "
     r"template asks for \(calls in XML\); --tool-format names one of")])
def test_templates_without_a_format(source, message):
    with pytest.raises(ValueError, match=message):
        text.find_format(text.ChatTemplate(source))
    with pytest.raises(ValueError, match="expected a format of tool calls .deepseek, .* got 'x'"):
        text.find_format(None, "x")
