"""Requests as clients send them: what is accepted unasked, codes of errors, limits of connections.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import os
import random
import socket
import time

import httpx
import pytest
from echo_engine import EchoEngine
from test_serve import TOKENIZER, echoed, running

from tp_mlir import text
from tp_mlir.serve import _access, _connections, _fields, _requests

CHAT = {"model": "echo", "messages": [{"role": "user", "content": "one two"}], "max_tokens": 4}
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server():
    with running() as made:
        yield made


def chat(server, **body):
    return server.post("/v1/chat/completions", {**CHAT, **body})


@pytest.mark.parametrize("more", [
    {"user": "someone", "metadata": {"a": "b"}, "store": False, "service_tier": "auto"},
    {"response_format": {"type": "text"}, "tools": [], "tool_choice": "none", "n": None},
    {"tools": None, "tool_choice": "auto", "parallel_tool_calls": True, "functions": []},
    {"modalities": ["text"], "safety_identifier": "x", "prompt_cache_key": "y", "top_k": -1},
    {"messages": [{"role": "user", "content": "one two", "name": "ann"}], "echo": False},
    {"add_generation_prompt": True, "continue_final_message": False, "model": None},
    {"stream_options": None, "skip_special_tokens": True, "reasoning_effort": None}])
def test_what_asks_for_nothing(server, more):
    assert chat(server, **more).json()["choices"] == chat(server).json()["choices"]


@pytest.mark.parametrize("change, param, code", [
    ({"temperature": 3}, "temperature", "decimal_above_max_value"),
    ({"temperature": -1}, "temperature", "decimal_below_min_value"),
    ({"n": 0}, "n", "integer_below_min_value"),
    ({"top_logprobs": 21}, "top_logprobs", "integer_above_max_value"),
    ({"n": "1"}, "n", "invalid_type"),
    ({"stop": ["a"] * 17}, "stop", "array_above_max_length"),
    ({"messages": []}, "messages", "array_below_min_length"),
    ({"messages": [{"role": 1, "content": "x"}]}, "messages[0].role", "invalid_type"),
    ({"messages": [{"content": "x"}]}, "messages[0].role", "missing_required_parameter"),
    ({"messages": [{"role": "user"}]}, "messages[0]", "invalid_value"),
    ({"messages": None}, "messages", "invalid_type"),
    ({"nonsense": 1}, "nonsense", "unknown_parameter"),
    ({"model": "x"}, "model", "model_not_found"),
    ({"max_tokens": 10**9}, "max_tokens", "context_length_exceeded"),
    ({"logit_bias": {"700": 1}}, "logit_bias", "invalid_value"),
    ({"response_format": {"type": "xml"}}, "response_format.type", "invalid_value"),
    ({"response_format": {"type": "json_schema"}}, "response_format", "invalid_value"),
    ({"tool_choice": "required"}, "tool_choice", "invalid_value"),
    ({"reasoning_effort": "low"}, "reasoning_effort", "unsupported_value"),
    ({"seed": 10**30}, "seed", None), ({"n": 10**400}, "n", None),
    ({"service_tier": "flex"}, "service_tier", "unknown_parameter")])
def test_codes(server, change, param, code):
    answer = chat(server, **change)
    error = answer.json()["error"]
    assert answer.status_code in (400, 404) and error["param"] == param
    assert code in (None, error["code"]), error


FUNCTION = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize("change, message", [
    ({"messages": [{"role": "user"}]}, "messages[0]: expected content, a text or a list of parts"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
     "messages[0].content[0]: expected a part of type 'text', got 'image_url': the server takes "
     "text alone"),
    ({"messages": [{"role": "assistant", "tool_calls": [
        {"id": "a", "function": {"name": "f", "arguments": "[1]"}}]}]},
     "messages[0].tool_calls[0].function.arguments: expected a JSON object in a text"),
    ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name: "
     "expected a name of up to 64 letters, digits, '_', '-' and '.'"),
    ({"response_format": {"type": "json_schema"}}, "response_format: expected 'json_schema' with "
     "the type 'json_schema', and with no other"),
    ({"tool_choice": "required"}, "tool_choice: expected 'tools' to choose from"),
    ({"tools": [FUNCTION, FUNCTION]}, "tools: expected names that differ"),
    ({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [
        {"function": {"name": "f"}}], "content": None}], "continue_final_message": True,
      "add_generation_prompt": False, "chat_template_kwargs": {"add_generation_prompt": True}},
     "continue_final_message: expected 'add_generation_prompt' to be false: an answer begins a "
     "message or continues the last one"),
    ({"reasoning_effort": "low"},
     "reasoning_effort: the model's chat template does not know it")])
def test_what_is_wrong(server, change, message):
    answer = chat(server, **change)
    assert answer.status_code == 400 and answer.json()["error"]["message"] == message


@pytest.mark.parametrize("headers, said", [
    ({}, "no Content-Type"), ({"Content-Type": "text/plain"}, "'text/plain'"),
    ({"Content-Type": "application/x-www-form-urlencoded"}, "'application/x-www-form-urlencoded'")])
def test_content_types(server, headers, said):
    answer = httpx.post(server.url + "/v1/chat/completions", content=json.dumps(CHAT),
                        headers=headers)
    assert answer.status_code == 415 and answer.json()["error"] == {
        "message": f"expected the header 'Content-Type: application/json', got {said}",
        "type": "invalid_request_error", "param": None, "code": "unsupported_content_type"}
    answer = httpx.post(server.url + "/v1/chat/completions", content=json.dumps(CHAT),
                        headers={"Content-Type": "Application/JSON; charset=utf-8"})
    assert answer.status_code == 200


def test_continued_messages(server):
    messages = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two  "}]

    def ids(**body):
        return server.post("/tokenize", {"messages": messages, **body})

    made = TOKENIZER.decode(ids(continue_final_message=True,
                                add_generation_prompt=False).json()["tokens"], special=True)
    assert made == "<|begin|><|user|>\none<|eot|>\n<|assistant|>\ntwo"
    made = TOKENIZER.decode(ids(add_generation_prompt=False).json()["tokens"], special=True)
    assert made.endswith("two<|eot|>\n")
    error = ids(continue_final_message=True).json()["error"]
    assert error["param"] == "continue_final_message" and error["message"] == (
        "continue_final_message: expected 'add_generation_prompt' to be false: an answer begins a "
        "message or continues the last one")
    answer = chat(server, messages=messages, continue_final_message=True,
                  add_generation_prompt=False)
    assert answer.json()["usage"]["prompt_tokens"] == len(ids(
        continue_final_message=True, add_generation_prompt=False).json()["tokens"])
    kept = text.ChatTemplate("{% for m in messages %}{{ m.content }};{% endfor %}")
    assert kept.render(messages, continue_final_message=True) == "one;two  "
    one = text.ChatTemplate("{{ messages[0].content }}")
    for given, options, message in (
            (messages, {}, "continue_final_message: the chat template leaves out the last message, "
             "or changes it"),
            ([{"role": "user", "content": None}], {}, "continue_final_message: expected a last "
             "message whose content is a text"),
            (messages, {"add_generation_prompt": True}, "expected either add_generation_prompt or "
             "continue_final_message: an answer begins a message or continues the last one")):
        with pytest.raises(text.TemplateError) as error:
            one.render(given, continue_final_message=True, **options)
        assert str(error.value) == message


def test_variables_of_the_server(monkeypatch):
    monkeypatch.setattr(TOKENIZER, "template", text.ChatTemplate(
        "{{ messages[0].content }}{{ thinks }}{{ reasoning_effort }}"))
    with running(chat_template_kwargs={"thinks": " deep"}) as server:
        def prompt(**body):
            made = server.post("/tokenize", {"messages": CHAT["messages"], **body}).json()
            return TOKENIZER.decode(made["tokens"])

        assert prompt() == "one two deep"
        assert prompt(chat_template_kwargs={"thinks": " not"}) == "one two not"
        assert prompt(reasoning_effort="low") == "one two deeplow"


def test_echo(server):
    ids = TOKENIZER.encode("one two")
    choice = server.ask(echo=True, max_tokens=3).json()["choices"][0]
    assert choice["text"] == "one two" + echoed("one two", 3)
    answer = server.ask(echo=True, max_tokens=0).json()
    assert answer["choices"][0]["text"] == "one two"
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 0
    for most in (0, 2):
        choice = server.ask(echo=True, max_tokens=most, logprobs=1).json()["choices"][0]
        values = choice["logprobs"]
        assert len(values["tokens"]) == len(ids) + most
        assert values["token_logprobs"] == [None, *[-1.5] * (len(ids) - 1), *[-0.5] * most]
        assert values["top_logprobs"][0] is None
        # A special token is none of the text.
        assert "".join(values["tokens"][1:]) == choice["text"]
        assert values["text_offset"] == [0] + [
            len("".join(values["tokens"][1:i])) for i in range(1, len(values["tokens"]))]
    stream = server.ask(prompt=ids, echo=True, max_tokens=1, stream=True).text
    pieces = [json.loads(line[6:])["choices"][0]["text"] for line in stream.splitlines()
              if line.startswith("data: {")]
    assert "".join(pieces) == TOKENIZER.decode(ids) + echoed("one two", 1)


def test_paths_and_texts(server):
    listed = httpx.get(server.url + "/").json()
    assert listed["model"] == "echo" and listed["paths"]["/v1/chat/completions"] == ["POST"]
    assert {"/v1/completions", "/v1/models", "/tokenize", "/detokenize", "/health",
            "/metrics"} < set(listed["paths"])
    # A browser gets a page of the same.
    page = httpx.get(server.url + "/", headers={"Accept": "text/html,*/*;q=0.8"})
    assert page.headers["content-type"].startswith("text/html")
    assert "/v1/chat/completions" in page.text and f"curl {server.url}/v1/" in page.text
    made = server.post("/tokenize", {"prompt": "é!", "return_token_strs": True}).json()
    assert len(made["token_strs"]) == len(made["tokens"])
    back = server.post("/detokenize", {"tokens": made["tokens"]}).json()
    assert back == {"prompt": "<|begin|>é!"}
    error = server.post("/detokenize", {"tokens": [700]}).json()["error"]
    assert error["message"] == "tokens: expected ids below 700, got 700"
    error = httpx.get(server.url + "/v1/completions").json()["error"]
    assert error["message"] == "path '/v1/completions' has no method GET"


def test_request_ids(capfd):
    for form in ("text", "json"):
        with running(access_log=form) as server:
            answer = httpx.get(server.url + "/v1/models", headers={"X-Request-Id": "mine-1"})
            assert answer.headers["x-request-id"] == "mine-1"
            for bad in ("a b", "x" * 129, "a\tb"):
                answer = httpx.get(server.url + "/no/\u2028path", headers={"X-Request-Id": bad})
                assert len(answer.headers["x-request-id"]) == 32
        lines = [line for line in capfd.readouterr().err.splitlines() if "mine-1" in line]
        if form == "text":
            assert lines[0].startswith('tp-serve: 127.0.0.1 mine-1 "GET /v1/models" 200 0.')
        else:
            line = json.loads(lines[0])
            assert line["path"] == "/v1/models" and line["status"] == 200
    assert _access._ID.fullmatch(b"a\n") is None


def test_metrics_by_vllms_names(server):
    server.ask(max_tokens=6)
    lines = httpx.get(server.url + "/metrics").text.splitlines()
    names = {line.split("{")[0] for line in lines if 'model_name="echo"' in line}
    assert {"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc",
            "vllm:prompt_tokens_total", "vllm:generation_tokens_total",
            "vllm:num_preemptions_total", "vllm:time_to_first_token_seconds_count",
            "vllm:inter_token_latency_seconds_sum", "vllm:request_success_total",
            "vllm:e2e_request_latency_seconds_bucket"} <= names
    assert any(line.startswith('vllm:request_success_total{finished_reason="length"')
               for line in lines)


def connect(server):
    return socket.create_connection(server.url.removeprefix("http://").split(":"), timeout=10)


def head(length, *more):
    return "\r\n".join(["POST /v1/completions HTTP/1.1", "Host: x", f"Content-Length: {length}",
                        "Content-Type: application/json", *more, "", ""]).encode()


def test_keys_come_before_bodies():
    with running(api_keys=frozenset({"key"}), requests_per_minute=3) as server:
        # The body never comes.
        with connect(server) as client:
            client.sendall(head(1000))
            assert client.recv(1000).startswith(b"HTTP/1.1 401 ")
        for status in (404, 200, 200, 429):
            path = "/no" if status == 404 else "/v1/models"
            answer = httpx.get(server.url + path, headers={"Authorization": "Bearer key"})
            assert answer.status_code == status
        assert httpx.get(server.url + "/").status_code == 200


def test_slow_bodies():
    with running(body_seconds=0.2) as server, connect(server) as client:
        client.sendall(head(1000) + b"{")
        answer = b""
        while b"the body did not arrive within 0.2 s" not in answer:
            answer += client.recv(1000)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert server.ask(max_tokens=1).status_code == 200


def limited(**settings):
    return running(EchoEngine(), limits_connections=True, **settings)


def test_silent_connections():
    """They are ended after a while, and at once if another needs their place."""
    with limited(max_connections=4, header_seconds=0.2, body_seconds=0.2) as server:
        began = time.monotonic()
        with connect(server) as silent, connect(server) as partial, connect(server) as unread:
            partial.sendall(b"GET /health HT")
            unread.sendall(head(10**6) + b"x")
            assert silent.recv(10) == partial.recv(10) == b""
            assert time.monotonic() - began > 0.2
            unread.sendall(b"y")
            assert unread.recv(1000).startswith(b"HTTP/1.1 408 ")
        silent = [connect(server) for _ in range(40)]
        assert httpx.get(server.url + "/health").status_code == 200
        for one in silent:
            one.close()


def test_too_many_connections():
    with limited(max_connections=2) as server:
        busy = [connect(server) for _ in range(2)]
        for client in busy:
            client.sendall(head(1000))
        time.sleep(0.05)
        answer = httpx.get(server.url + "/health")
        assert answer.status_code == 503 and answer.json()["error"]["message"] == (
            "expected at most 2 connections; ask again later")
        for client in busy:
            client.close()


def test_files_limit_connections(monkeypatch, capsys):
    monkeypatch.setattr(_connections.resource, "getrlimit", lambda _: (128, 128))
    made = _connections._most(1024)
    assert 0 < made < 96 and capsys.readouterr().err == (
        f"tp-serve: at most {made} connections at once, as the process may open 128 files "
        "(ulimit -n)\n")


def test_nonsense(server):
    """Whatever the value of whichever parameter, the answer is an answer or an error. TP_NONSENSE
    asks for another number of requests."""
    values = [True, -1, 0, 1.5, 10**50, -10**400, "", "x" * 10_000, "\u0000", "😀", [], [[]], {},
              {"a": {}}, [None], [True], {"": ""}]
    bodies = {"/v1/chat/completions": (_requests.Chat, CHAT),
              "/v1/completions": (_requests.Completion, {"prompt": "a b", "max_tokens": 2}),
              "/tokenize": (_requests.Tokenize, {"prompt": "a"}),
              "/detokenize": (_requests.Detokenize, {"tokens": [5]})}
    draw = random.Random(31)
    with httpx.Client(timeout=20) as client:
        for _ in range(int(os.environ.get("TP_NONSENSE", 150))):
            path = draw.choice(sorted(bodies))
            kind, body = bodies[path]
            name = draw.choice(sorted({*_fields._NOTHING, *kind.model_fields}))
            sent = json.dumps({**body, name: draw.choice(values)})
            answer = client.post(server.url + path, content=sent, headers=JSON)
            assert answer.status_code in (200, 400, 404), (path, sent, answer.text)
            if answer.status_code != 200:
                assert answer.json()["error"]["message"], (path, sent)
    assert server.places.running == 0
