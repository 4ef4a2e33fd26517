"""Answers that follow a grammar, and log-probabilities of prompts, on the runtime's engine.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import re
from typing import Annotated, Literal

import numpy
import openai
import pydantic
import pytest
from test_serve import MODEL, TOKENIZER, running

import tp_mlir
from tp_mlir import _generator, engine, text

SCHEMA = {"type": "object", "properties": {
    "name": {"type": "string", "maxLength": 12}, "count": {"type": "integer", "minimum": 0, "maximum": 99},
    "kind": {"enum": ["free", "café"]}, "tags": {"type": "array", "maxItems": 2, "items": {
        "type": "boolean"}}},
    "required": ["name", "count", "kind", "tags"], "additionalProperties": False}
CITY = {"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "maxLength": 8}},
    "required": ["city"], "additionalProperties": False}}}
NOW = {"type": "function", "function": {"name": "now", "strict": True, "parameters": {
    "type": "object", "properties": {}, "additionalProperties": False}}}
HERMES = ("{% if tools %}<|system|>{% for tool in tools %}{{ tool | tojson }}{% endfor %}"
          "<tool_call>{\"name\": x, \"arguments\": y}</tool_call>{% endif %}"
          "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}"
          "{% for call in m.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>"
          "{% endfor %}<|eot|>{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}")


def follows(value):
    """True if a value is one of SCHEMA's."""
    return (list(value) == ["name", "count", "kind", "tags"] and isinstance(value["name"], str)
            and len(value["name"]) <= 12 and type(value["count"]) is int and value["count"] <= 99
            and value["kind"] in ("free", "café") and len(value["tags"]) <= 2
            and all(isinstance(one, bool) for one in value["tags"]))


@pytest.fixture(scope="module")
def llm():
    with tp_mlir.LLM(MODEL, mesh="tp=2", rows=4, chunk=16, context=512, dtype="f32") as model:
        yield model


@pytest.fixture(scope="module")
def server(llm):
    with running(llm.engine) as made:
        yield made


@pytest.fixture
def tools(monkeypatch):
    monkeypatch.setattr(TOKENIZER, "template", text.ChatTemplate(HERMES))


def ask(server, **body):
    return server.client().chat.completions.create(
        model="echo", messages=[{"role": "user", "content": "Who?"}], **body)


def json_schema(schema):
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": True}}


def test_json_schema(server):
    for options in ({}, {"temperature": 1.5, "n": 3, "seed": 7}, {"temperature": 1, "top_p": 0.5},
                    {"temperature": 1, "frequency_penalty": 1}, {"logprobs": True}):
        made = ask(server, response_format=json_schema(SCHEMA), max_tokens=300, **options)
        for choice in made.choices:
            assert choice.finish_reason == "stop"
            assert follows(json.loads(choice.message.content)), choice.message.content
    stream = ask(server, response_format=json_schema(SCHEMA), max_tokens=300, stream=True)
    whole = ask(server, response_format=json_schema(SCHEMA), max_tokens=300)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == \
        whole.choices[0].message.content


def test_json_object(server):
    made = server.client().completions.create(model="echo", prompt="{", max_tokens=8,
                                              extra_body={"response_format": {
                                                  "type": "json_object"}})
    assert re.match(r'\{\s*("|\})', made.choices[0].text)
    made = ask(server, response_format=json_schema({"type": "object", "additionalProperties": {
        "type": "null"}, "maxProperties": 0}))
    assert json.loads(made.choices[0].message.content) == {}


@pytest.mark.parametrize("schema, message", [
    ({"type": "foo"}, "response_format: the schema is not supported: Invalid type: foo"),
    ({"type": "array", "uniqueItems": True},
     'response_format: the schema is not supported: Unimplemented keys: ["uniqueItems"]'),
    ({"type": "object", "properties": {"a": {"type": "integer", "minimumm": 3}}},
     "response_format: the schema is not supported: unknown keyword 'minimumm' in properties.a; did "
     "you mean 'minimum'?"),
    ({"$ref": "#/nowhere"}, "response_format: the schema is not supported: Pointer '/nowhere' does "
     "not exist"),
    ({"type": "string", "pattern": "(?=a)"}, None), ({"properties": 5}, None),
    ({"a": [[[[[[[1]]]]]]]} | {"type": "object", "minProperties": -1}, None),
    ({"type": "object", "properties": {str(i): {"enum": list(range(400))} for i in range(400)}},
     None)])
def test_schemas_that_are_refused(server, schema, message):
    with pytest.raises(openai.BadRequestError) as error:
        ask(server, response_format=json_schema(schema))
    assert error.value.param == "response_format"
    assert error.value.code == "invalid_json_schema"
    assert message in (None, error.value.body["message"])


def calls_of(message):
    return [(call.function.name, json.loads(call.function.arguments))
            for call in message.tool_calls or []]


def test_calls_that_must_come(server, tools):
    made = ask(server, tools=[CITY, NOW], tool_choice="required", max_tokens=200,
               parallel_tool_calls=False).choices[0]
    (name, arguments), = calls_of(made.message)
    assert made.finish_reason == "tool_calls" and made.message.content is None
    assert name in ("weather", "now") and set(arguments) <= {"city"}
    assert made.message.tool_calls[0].id.startswith("call_")
    named = {"type": "function", "function": {"name": "weather"}}
    for seed in range(3):
        made = ask(server, tools=[CITY, NOW], tool_choice=named, max_tokens=200, temperature=1.5,
                   seed=seed).choices[0]
        (name, arguments), = calls_of(made.message)
        assert name == "weather" and isinstance(arguments["city"], str)
        assert made.finish_reason == "stop"
    # As a stream, and sent back.
    stream = ask(server, tools=[NOW], tool_choice="required", max_tokens=200, stream=True,
                 parallel_tool_calls=False)
    chunks = [chunk.choices[0] for chunk in stream]
    call, = [call for chunk in chunks for call in chunk.delta.tool_calls or []]
    assert (call.index, call.function.name, call.function.arguments) == (0, "now", "{}")
    assert chunks[-1].finish_reason == "tool_calls"
    assert not any(chunk.delta.content for chunk in chunks)
    messages = [{"role": "user", "content": "When?"}, {
        "role": "assistant", "content": None, "tool_calls": [call.model_dump()]}, {
        "role": "tool", "tool_call_id": call.id, "content": "noon"}]
    ids = server.post("/tokenize", {"messages": messages, "tools": [NOW]}).json()["tokens"]
    said = TOKENIZER.decode(ids, special=True)
    assert '<tool_call>{"name": "now", "arguments": {}}</tool_call>' in said and "noon" in said


def test_calls_that_may_come(server, tools):
    made = ask(server, tools=[CITY], max_tokens=5).choices[0]
    assert made.message.content and not made.message.tool_calls
    made = ask(server, tools=[CITY], tool_choice="none", max_tokens=5).choices[0]
    assert made.message.content
    # A free text, in which a call that begins must follow its schema.
    made = server.client().chat.completions.create(
        model="echo", tools=[NOW], max_tokens=60, messages=[
            {"role": "user", "content": "x"}, {"role": "assistant", "content": "So <tool_call>"}],
        extra_body={"continue_final_message": True, "add_generation_prompt": False}).choices[0]
    assert made.message.content
    made = ask(server, tools=[CITY], response_format=json_schema({"enum": [5]}), max_tokens=90)
    assert made.choices[0].message.content == "5" or calls_of(made.choices[0].message)


def test_tools_that_are_refused(server):
    def refused(**body):
        with pytest.raises(openai.BadRequestError) as error:
            ask(server, **body)
        return error.value.param, error.value.code, error.value.body["message"]

    assert refused(tools=[CITY]) == (
        "tools", "unsupported_value", "tools: the model's chat template does not know tools")
    assert refused(tools=[CITY, CITY])[2] == "tools: expected names that differ"
    assert refused(tools=[{"type": "function", "function": {"name": "a b"}}])[:2] == (
        "tools[0].function.name", "invalid_value")
    assert refused(tools=[{"type": "web_search"}])[0] == "tools[0].type"
    assert refused(tools=[CITY], tool_choice={"type": "function", "function": {"name": "x"}}) == (
        "tool_choice", "invalid_value", "tool_choice: expected one of the tools (weather), got 'x'")


def test_broken_schemas_of_tools(server, tools):
    broken = {"type": "function", "function": {"name": "f", "parameters": {"type": "foo"}}}
    with pytest.raises(openai.BadRequestError) as error:
        ask(server, tools=[broken], tool_choice="required")
    assert (error.value.param, error.value.code) == ("tools", "invalid_function_parameters")


def test_keywords():
    """Each is one of JSON Schema's, wherever a schema is; names of properties are no keywords."""
    def refused(schema):
        with pytest.raises(text.GrammarError) as error:
            text.json_grammar(schema)
        return str(error.value)

    odd = {"odd": 1}
    for schema, place in ((odd, ""), ({"items": odd}, " in items"), ({"items": [{}, odd]}, " in items[1]"),
                          ({"anyOf": [{}, {"not": odd}]}, " in anyOf[1].not"),
                          ({"$defs": {"x": {"prefixItems": [odd]}}}, " in $defs.x.prefixItems[0]"),
                          ({"additionalProperties": odd}, " in additionalProperties")):
        assert refused(schema) == f"unknown keyword 'odd'{place}"
    assert refused({"type": "string", "nullable": True}) == (
        "unknown keyword 'nullable': expected a type of [\"string\", \"null\"], say")
    assert refused({"additionalItems": False}) == (
        "additionalItems has no meaning unless items is a list")
    with pytest.raises(text.GrammarError, match="parameters of 'f': unknown keyword 'odd'"):
        text.calls_grammar(text.find_format(None, "hermes"), {"f": odd}, {})
    for schema in (True, {"properties": {"odd": {"default": odd, "enum": [odd]}}, "x-odd": 1,
                          "items": [{}], "additionalItems": False, "title": "odd"}):
        text.json_grammar(schema)


def test_degrees_agree(llm):
    """The mask is the same on any number of ranks, which are threads or processes."""
    grammars = text.Grammars(TOKENIZER, llm.engine.vocabulary)
    make, ids = grammars.compile(text.json_grammar(SCHEMA)), TOKENIZER.encode("one")
    options = [{"temperature": 0}, {"temperature": 1.0, "seed": 3}, {"top_k": 5, "temperature": 2.0}]

    def answers(model):
        return [model.generate(ids, max_tokens=200, mask=make(), **one).ids for one in options]

    expected = answers(llm)
    with tp_mlir.LLM(MODEL, mesh="tp=4", rows=2, chunk=8, context=256, dtype="f32",
                     backend="processes") as model:
        assert answers(model) == expected
    assert all(follows(json.loads(TOKENIZER.decode(one))) for one in expected)


def test_masks_that_fail(llm, monkeypatch):
    def broken(ids, words):
        if len(ids) == 2:
            raise ValueError("it broke")
        words[:] = 0xFFFFFFFF
        return True

    with pytest.raises(engine.EngineError, match="^it broke$"):
        llm.generate([5, 6], max_tokens=9, mask=broken)
    answer = llm.generate([5, 6], max_tokens=9, mask=lambda ids, words: False)
    assert answer.ids == () and answer.finish == "stop"
    with pytest.raises(engine.EngineError, match="exclude the whole vocabulary, or all of it that "):
        llm.generate([5, 6], max_tokens=9, mask=lambda ids, words: True)
    # A grammar that cannot go on, and a mask of C's own.
    mask = text.Grammars(TOKENIZER, 700).compile(text.regex_grammar("[ab]+"))()
    with pytest.raises(engine.EngineError, match="^the answer's grammar: .*"):
        llm.generate([5, 6], max_tokens=9, mask=lambda ids, words: mask([*ids, 99, 98], words))
    monkeypatch.setattr(_generator._MaskCall, "_call", lambda *unused: 7)
    with pytest.raises(engine.EngineError, match="the request's token mask failed with code 7"):
        llm.generate([5, 6], max_tokens=9, mask=broken)
    assert llm.engine.stats().pages_held == 0


def test_log_probabilities_of_prompts(llm, server):
    """Those of the plain program, which computes all positions at once."""
    known = json.loads((MODEL / "continuations.json").read_text())["continuations"]
    prompts = [one["prompt_ids"][:size] for one, size in zip(known, (1, 2, 17, 33))]
    program = tp_mlir.compile(MODEL, mesh="tp=1", batch=1, seq=64, dtype="f32")
    with program.open(MODEL) as session:
        for ids in [*prompts, prompts[-1]]:  # the last time its pages are kept
            logits = session.run({"input_ids": numpy.array([ids])})["logits"][0].astype(float)
            values = logits - logits.max(-1, keepdims=True)
            values -= numpy.log(numpy.exp(values).sum(-1, keepdims=True))
            made = server.client().completions.create(model="echo", prompt=ids, echo=True,
                                                      max_tokens=0, logprobs=2).choices[0]
            told = made.logprobs.token_logprobs
            assert told[0] is None and len(told) == len(ids)
            wanted = [values[i, token] for i, token in enumerate(ids[1:])]
            assert numpy.abs(numpy.array(told[1:], float) - wanted).max(initial=0) < 2e-4
            for i, top in enumerate(made.logprobs.top_logprobs[1:]):
                assert abs(max(top.values()) - values[i].max()) < 2e-4
    assert llm.engine.stats().pages_held == 0


class Person(pydantic.BaseModel):
    name: Annotated[str, pydantic.Field(max_length=6)]
    kind: Literal["free", "bound"]
    age: Annotated[int, pydantic.Field(ge=0, le=150)]


def test_openais_parsers(server, tools):
    """What its client makes of classes, and makes them of."""
    messages = [{"role": "user", "content": "Who?"}]
    completions = server.client().chat.completions
    made = completions.parse(model="echo", messages=messages, response_format=Person,
                             max_tokens=200).choices[0].message
    assert isinstance(made.parsed, Person)
    made = completions.parse(
        model="echo", messages=messages, tools=[openai.pydantic_function_tool(Person)],
        tool_choice="required", parallel_tool_calls=False, max_tokens=150).choices[0].message
    assert isinstance(made.tool_calls[0].function.parsed_arguments, Person)
    with completions.stream(model="echo", messages=messages, response_format=Person,
                            max_tokens=200) as stream:
        kinds = [event.type for event in stream]
        assert isinstance(stream.get_final_completion().choices[0].message.parsed, Person)
    assert "content.delta" in kinds
