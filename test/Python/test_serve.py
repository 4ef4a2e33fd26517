"""The server, with OpenAI's own client and an engine that says the prompt again.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import asyncio
import contextlib
import json
import pathlib
import random
import re
import socket
import threading
import time

import httpx
import openai
import pytest
import uvicorn
from echo_engine import EchoEngine

from tp_mlir import serve, text
from tp_mlir.serve import _connections, _limits, _run, _settings

MODEL = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "text-model"
TOKENIZER = text.Tokenizer(MODEL)
LOST = "rank 1 of 2 was lost in all_reduce 7 of layer 3"


class Running:
    """A server in a thread of this process, with the limits of connections if asked for."""

    def __init__(self, engine, limits_connections=False, **settings):
        self.engine, given = engine, serve.Settings(model="echo", **settings)
        self.app = serve.create_app(engine, TOKENIZER, given)
        http, connections = "auto", None
        if limits_connections:
            connections = _connections.Connections(given)
            http = connections.protocol
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        self._server = uvicorn.Server(uvicorn.Config(
            self.app, log_level="warning", http=http, timeout_keep_alive=60))
        if connections is not None:
            tick = self._server.on_tick

            def on_tick(counter):
                connections.end_late()
                return tick(counter)

            self._server.on_tick = on_tick
        self._thread = threading.Thread(target=asyncio.run,
                                        args=(self._server.serve([self._listener]),))
        self._thread.start()
        self._http = httpx.Client(timeout=20)

    def client(self, key="none"):
        return openai.OpenAI(base_url=self.url + "/v1", api_key=key, max_retries=0)

    def post(self, path, body, **options):
        # A client of its own for each would read all certificates each time.
        return self._http.post(self.url + path, json=body, **options)

    def ask(self, **body):
        return self.post("/v1/completions", {"model": "echo", "prompt": "one two", **body})

    @property
    def places(self):
        return self.app.state.places

    def close(self):
        self._http.close()
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()
        self.engine.close()


@contextlib.contextmanager
def running(engine=None, **settings):
    server = Running(engine or EchoEngine(), **settings)
    try:
        yield server
    finally:
        server.close()


@pytest.fixture(scope="module")
def server():
    with running() as made:
        yield made


def eventually(condition):
    """What a client's leaving brings about comes through a socket."""
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def echoed(prompt, count):
    """The text of an answer to a prompt of a completion."""
    ids = TOKENIZER.encode(prompt)
    made = [ids[1 + k % (len(ids) - 1)] for k in range(count)]
    decoder = text.StreamDecoder(TOKENIZER, prompt=ids)
    return decoder.push(made) + decoder.flush()


def test_completion(server):
    made = server.client().completions.create(model="echo", prompt="one two ", max_tokens=9)
    assert made.object == "text_completion" and made.id.startswith("cmpl-")
    assert made.choices[0].text == echoed("one two ", 9)
    assert made.choices[0].finish_reason == "length"
    prompt = len(TOKENIZER.encode("one two "))
    assert made.usage.model_dump(exclude_none=True) == {
        "prompt_tokens": prompt, "completion_tokens": 9, "total_tokens": prompt + 9}


def test_prompts_and_choices(server):
    ids = TOKENIZER.encode("seven")
    made = server.client().completions.create(model="echo", prompt=["one", "two three"], n=2,
                                              temperature=1, seed=5, max_tokens=4)
    assert [choice.index for choice in made.choices] == [0, 1, 2, 3]
    seeds = [params.seed for params in server.engine.params[-4:]]
    assert seeds == [5, 6, 5, 6]
    assert made.usage.completion_tokens == 16
    one = server.client().completions.create(model="echo", prompt=ids, max_tokens=3)
    two = server.client().completions.create(model="echo", prompt=[ids], max_tokens=3)
    assert one.choices[0].text == two.choices[0].text == echoed("seven", 3)
    server.ask(temperature=1)
    server.ask(temperature=1)
    assert len({params.seed for params in server.engine.params[-2:]}) == 2


def test_chat(server):
    messages = [{"role": "user", "content": "Grüß dich 👋🏽!"}]
    made = server.client().chat.completions.create(model="echo", messages=messages)
    assert made.choices[0].message.content == "\nGrüß dich 👋🏽!"
    assert made.choices[0].finish_reason == "stop"
    parts = [{"type": "text", "text": "Grüß dich"}, {"type": "text", "text": " 👋🏽!"}]
    again = server.client().chat.completions.create(
        model="echo", messages=[{"role": "user", "content": parts}])
    assert again.choices[0].message.content == made.choices[0].message.content
    # The union of both files' ends; the request's come to these, or stand alone.
    assert server.engine.params[-1].stop_ids == {1, 2}
    made = server.client().chat.completions.create(
        model="echo", messages=messages, max_completion_tokens=40,
        extra_body={"ignore_eos": True, "stop_token_ids": [699]})
    assert made.choices[0].finish_reason == "length" and made.usage.completion_tokens == 40
    assert server.engine.params[-1].stop_ids == {699}


def test_chat_stream(server):
    messages = [{"role": "user", "content": "Grüß dich 👋🏽 und 東京!"}]
    stream = server.client().chat.completions.create(
        model="echo", messages=messages, stream=True, stream_options={"include_usage": True}, n=2)
    pieces, ends, usage = ["", ""], [None, None], None
    for chunk in stream:
        assert chunk.object == "chat.completion.chunk" and usage is None
        usage = chunk.usage
        for choice in chunk.choices:
            assert ends[choice.index] is None
            pieces[choice.index] += choice.delta.content or ""
            assert "\ufffd" not in pieces[choice.index]
            ends[choice.index] = choice.finish_reason
    assert pieces == ["\nGrüß dich 👋🏽 und 東京!"] * 2 and ends == ["stop", "stop"]
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    with server.client().chat.completions.create(model="echo", messages=messages,
                                                 stream=True) as stream:
        assert all(chunk.usage is None and chunk.choices for chunk in stream)


def test_stop_strings(server):
    for stream in (False, True):
        made = server.client().completions.create(model="echo", prompt="one two three ",
                                                  max_tokens=300, stop=["wo t", "xyz"],
                                                  stream=stream)
        chunks = made if stream else [made]
        choices = [choice for chunk in chunks for choice in chunk.choices]
        assert "".join(choice.text for choice in choices) == "one t"
        assert choices[-1].finish_reason == "stop"
    # A stop string ends the engine's work too.
    assert server.engine.wait_for(lambda engine: engine.held == 0)
    assert eventually(lambda: server.places.running == 0)


def test_logprobs(server):
    made = server.ask(logprobs=2, max_tokens=5).json()["choices"][0]
    values = made["logprobs"]
    assert "".join(values["tokens"]) == made["text"]
    assert values["token_logprobs"] == [-0.5] * 5
    assert [sorted(one.values()) for one in values["top_logprobs"]] == [[-9999.0, -0.5]] * 5
    assert values["text_offset"][0] == 0
    assert values["text_offset"][1] == len(values["tokens"][0])
    made = server.client().chat.completions.create(
        model="echo", messages=[{"role": "user", "content": "é"}], logprobs=True, top_logprobs=1)
    content = made.choices[0].logprobs.content
    for one in content:
        assert one.logprob == -0.5 and one.top_logprobs[0].token == one.token
        assert one.top_logprobs[0].bytes == one.bytes
    # Its ids are those of two bytes.
    assert [one.token for one in content] == [
        "<|user|>", "\n", "bytes:\\xc3", "bytes:\\xa9", "<|eot|>"]
    assert bytes(sum((one.bytes for one in content[1:-1]), [])).decode() == "\né"
    assert server.engine.params[-1].logprobs == 1
    assert server.ask(max_tokens=1).json()["choices"][0]["logprobs"] is None


def test_null(server):
    """A parameter that is null is as if it were not there, whether or not it is known."""
    names = ("temperature", "top_p", "top_k", "min_p", "n", "stop", "seed", "logit_bias", "stream",
             "stream_options", "max_tokens", "logprobs", "user", "tools", "best_of",
             "stop_token_ids", "presence_penalty", "repetition_penalty", "ignore_eos")
    assert server.ask(**dict.fromkeys(names)).json()["choices"] == server.ask().json()["choices"]
    body = {"model": "echo", "messages": [{"role": "user", "content": "x"}]}
    more = ("top_logprobs", "max_completion_tokens", "response_format", "chat_template_kwargs")
    whole = [server.post("/v1/chat/completions", {**body, **nulls}).json()["choices"]
             for nulls in ({}, dict.fromkeys((*names, *more)))]
    assert whole[0] == whole[1]
    assert server.ask(stream=True, stream_options={"include_usage": None}).status_code == 200
    # What a body must have is not left out by it.
    answer = server.post("/v1/chat/completions", {**body, "messages": None})
    assert answer.json()["error"]["message"] == "messages: expected a list, got null"
    assert server.post("/tokenize", {"prompt": "x", "messages": None}).status_code == 200


def test_variables_of_the_template(monkeypatch, server):
    source = ("{{ messages[0].content }}{% if thinks is defined %}{{ thinks }}{% endif %}"
              "{% if add_generation_prompt %}!{% endif %}")
    monkeypatch.setattr(TOKENIZER, "template", text.ChatTemplate(source))
    body = {"model": "echo", "messages": [{"role": "user", "content": "one"}], "max_tokens": 1}

    def prompt(**variables):
        path, asked = "/tokenize", {**body, "chat_template_kwargs": variables}
        del asked["max_tokens"]
        ids = server.post(path, asked).json()["tokens"]
        made = server.post("/v1/chat/completions", {**asked, "max_tokens": 1}).json()
        assert made["usage"]["prompt_tokens"] == len(ids)
        return TOKENIZER.decode(ids)

    assert prompt() == "one!"
    assert prompt(thinks=False) == "oneFalse!"
    assert prompt(thinks=" two", add_generation_prompt=False) == "one two"
    for name in ("messages", "tools", "name"):
        answer = server.post("/v1/chat/completions", {**body, "chat_template_kwargs": {name: []}})
        assert answer.status_code == 400 and answer.json()["error"]["message"] == (
            f"chat_template_kwargs: expected variables of the chat template, got '{name}'")
    answer = server.post("/v1/chat/completions", {**body, "chat_template_kwargs": 7})
    assert answer.json()["error"]["message"] == (
        "chat_template_kwargs: expected an object, got 7")


def test_defaults_of_the_checkpoint(server):
    """The engine fills in parameters that a request leaves out, but for the answer's length."""
    engine, chat = server.engine, {"model": "echo", "messages": [{"role": "user", "content": "a"}]}
    ids = len(TOKENIZER.encode("one two"))
    try:
        for defaults, most in (({"max_new_tokens": 3}, 3), ({"max_length": ids + 2}, 2), ({}, 16)):
            engine.defaults = defaults
            assert server.ask().status_code == 200
            assert engine.params[-1].max_tokens == most
            assert engine.params[-1].said() == {"max_new_tokens": most}
        engine.defaults = {"max_new_tokens": 3}
        assert server.ask(max_tokens=5, temperature=0).status_code == 200
        assert engine.params[-1].said() == {"max_new_tokens": 5, "temperature": 0}
        assert server.post("/v1/chat/completions", chat).status_code == 200
        assert engine.params[-1].max_tokens == 3
        engine.defaults = {"max_length": ids}
        answer = server.ask()
        assert answer.status_code == 400 and answer.json()["error"]["message"] == (
            f"the prompt has {ids} tokens, and max_length {ids} of the model's "
            "generation_config.json leaves none for an answer; give max_tokens")
        assert server.ask(max_tokens=1).status_code == 200
    finally:
        engine.defaults = {}


def test_every_parameter_arrives(server):
    given = {"temperature": 0.5, "top_p": 0.9, "top_k": 7, "min_p": 0.125, "seed": -1,
             "presence_penalty": 1, "frequency_penalty": -0.5, "repetition_penalty": 1.5,
             "max_tokens": 3}
    assert server.ask(logit_bias={"5": -1.5}, **given).status_code == 200
    params = server.engine.params[-1]
    assert params.logit_bias == {5: -1.5} and params.seed == 2**64 - 1
    assert {name: getattr(params, name) for name in given if name != "seed"} == {
        name: value for name, value in given.items() if name != "seed"}


@pytest.mark.parametrize("change, status, message", [
    ({"best_off": 2}, 400, "unknown parameter 'best_off'"),
    ({"best_of": 2}, 400, "best_of: expected the same number as 'n': answers are not ranked"),
    ({"store": True}, 400, "unknown parameter 'store'"),
    ({"min_tokens": 17}, 400, "min_tokens: expected at most the 16 of max_tokens, got 17"),
    ({"stop_token_ids": [700]}, 400, "stop_token_ids: expected ids below 700, got 700"),
    ({"stream_options": {"shout": True}, "stream": True}, 400,
     "unknown parameter 'stream_options.shout'"),
    ({"stream_options": {}}, 400, "stream_options: expected 'stream' to be true"),
    ({"model": "other"}, 404, "no model 'other'; this server has 'echo'"),
    ({"prompt": None}, 400, "prompt: expected a text, a list of token ids, or a list of either"),
    ({"prompt": []}, 400, "prompt: expected a text, a list of token ids, or a list of either"),
    ({"prompt": [[]]}, 400, "prompt: expected a text, a list of token ids, or a list of either"),
    ({"prompt": [True]}, 400, "prompt: expected a text, a list of token ids, or a list of either"),
    ({"logit_bias": {"1" * 50: 1}}, 400, f"logit_bias: expected token ids as keys, got '{'1' * 40}'"),
    ({"prompt": [5, 700]}, 400, "prompt: expected ids below 700, got 700"),
    ({"prompt": [5, -1]}, 400, "prompt: expected ids below 700, got -1"),
    ({"prompt": [5] * 512}, 400, "this model's context is 512 tokens; the prompt has 512"),
    ({"prompt": [5] * 500, "max_tokens": 13}, 400,
     "this model's context is 512 tokens; the prompt has 500 and max_tokens is 13"),
    ({"max_tokens": 0}, 400, "max_tokens: expected at least 1, or 'echo' with 0"),
    ({"max_tokens": -1}, 400, "max_tokens: expected at least 0, got -1"),
    ({"temperature": 2.5}, 400, "temperature: expected at most 2, got 2.5"),
    ({"temperature": "1"}, 400, "temperature: expected a number, got \"1\""),
    ({"n": 33}, 400, "expected at most 32 answers of one request, got n = 33"),
    ({"n": True}, 400, "n: expected an integer, got true"),
    ({"logit_bias": {"x": 1}}, 400, "logit_bias: expected token ids as keys, got 'x'"),
    ({"logit_bias": {"700": 1}}, 400, "logit_bias: expected ids below 700, got 700")])
def test_refusals(server, change, status, message):
    taken = len(server.engine.params)
    answer = server.ask(**change)
    error = answer.json()["error"]
    assert (answer.status_code, error["message"]) == (status, message)
    assert error["type"] == ("not_found_error" if status == 404 else "invalid_request_error")
    assert len(server.engine.params) == taken and server.places.running == 0


@pytest.mark.parametrize("body, message", [
    (b"{", "the body is no JSON: Expecting property name enclosed in double quotes at character 1"),
    (b"", "the request has no body"),
    (b"[" * 100_000, None), (b"\xff\xfe", None), (b"[1]", None),
    (b'{"model": "echo", "prompt": "x", "temperature": NaN}', None),
    # Half of a character.
    (rb'{"model": "echo", "prompt": ["a", "\ud800"]}',
     "prompt: expected a text, got half of a character in it"),
    (rb'{"model": "echo", "prompt": "x", "stop": "\udfff"}',
     "stop: expected a text, got half of a character in it"),
    # Of what may be one text or several.
    (b'{"model": "echo", "prompt": "x", "stop": 5}', "stop: expected a text, got 5"),
    (b'{"model": "echo", "prompt": "x", "stop": ["a", ""]}',
     'stop[1]: expected a length of at least 1, got ""'),
    (b'{"model": "echo", "prompt": "x", "stop": ["a"%s]}' % (b', "a"' * 16),
     "stop: expected a length of at most 16, got a list of 17"),
    (rb'{"model": "echo", "prompt": "x", "\ud800": 1}', None)])
def test_malformed(server, body, message):
    answer = httpx.post(server.url + "/v1/completions", content=body,
                        headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["type"] == "invalid_request_error" and error["message"]
    assert message in (None, error["message"])


def test_clients_errors(server):
    """OpenAI's client makes its own exceptions of ours."""
    with pytest.raises(openai.NotFoundError, match="no model 'x'"):
        server.client().completions.create(model="x", prompt="y")
    with pytest.raises(openai.BadRequestError) as error:
        server.client().chat.completions.create(
            model="echo", messages=[{"role": "clown", "content": "x"}])
    assert error.value.param == "messages" and "unknown role clown" in error.value.message
    answer = httpx.post(server.url + "/v1/completions",
                        content=rb'{"model": "\ud800", "prompt": "x"}',
                        headers={"Content-Type": "application/json"})
    assert answer.status_code == 404 and "no model '\ud800'" in answer.json()["error"]["message"]
    with pytest.raises(openai.BadRequestError) as error:
        server.client().chat.completions.create(model="echo", messages=[
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}])
    assert error.value.param == "messages[0].content[0]"
    assert "expected a part of type 'text', got 'image_url'" in error.value.message
    with pytest.raises(openai.BadRequestError,
                       match=r"unknown parameter 'messages\[0\].nickname'"):
        server.client().chat.completions.create(
            model="echo", messages=[{"role": "user", "content": "x", "nickname": "y"}])


def test_paths(server):
    assert [model.id for model in server.client().models.list()] == ["echo"]
    assert server.client().models.retrieve("echo").id == "echo"
    assert httpx.get(server.url + "/v1/models/x/y").status_code == 404
    assert httpx.get(server.url + "/nothing").json()["error"]["message"] == "no path '/nothing'"
    assert httpx.get(server.url + "/v1/completions").status_code == 405
    assert httpx.get(server.url + "/health").json() == {"status": "ok"}
    ids = TOKENIZER.encode("Hello")
    made = server.post("/tokenize", {"prompt": "Hello"}).json()
    assert made == {"tokens": ids, "count": len(ids), "max_model_len": 512}
    made = server.post("/tokenize", {"prompt": "Hello", "add_special_tokens": False}).json()
    assert made["tokens"] == ids[1:]
    messages = [{"role": "user", "content": "Hello"}]
    assert server.post("/tokenize", {"messages": messages}).json()["tokens"] == \
        TOKENIZER.encode_chat(messages)
    assert server.post("/tokenize", {}).json()["error"]["message"] == \
        "expected either 'prompt' or 'messages'"


def test_metrics_of_what_is_refused_at_the_door():
    """A request counts under its path whoever refuses it, and whichever method it has."""
    with running(api_keys=frozenset({"key"}), max_body_bytes=64) as server:
        httpx.get(server.url + "/v1/models/echo")
        httpx.get(server.url + "/x/y")
        server.post("/v1/completions", {"prompt": "x"})
        for path in ("/v1/completions", "/tokenize"):
            server.post(path, {"prompt": "x" * 64}, headers={"Authorization": "Bearer key"})
        httpx.put(server.url + "/health")
        text = httpx.get(server.url + "/metrics").text
    found = re.findall(r'^tp_serve_requests_total\{path="(.*)",status="(\d+)"\} 1\.0', text, re.M)
    assert sorted(found) == [
        ("/health", "405"), ("/tokenize", "413"), ("/v1/completions", "401"),
        ("/v1/completions", "413"), ("/v1/models/{model:path}", "401"), ("other", "401")]


def test_metrics():
    with running() as server:
        server.ask(max_tokens=6)
        server.ask(max_tokens=0)
        httpx.get(server.url + "/x/y")
        lines = httpx.get(server.url + "/metrics").text.splitlines()
    for line in ('tp_serve_requests_total{path="/v1/completions",status="200"} 1.0',
                 'tp_serve_requests_total{path="/v1/completions",status="400"} 1.0',
                 'tp_serve_requests_total{path="other",status="404"} 1.0',
                 "tp_engine_generated_tokens_total 6.0", "tp_engine_pages_held 0.0",
                 "tp_serve_first_token_seconds_count 1.0", "tp_serve_next_token_seconds_count 5.0"):
        assert line in lines


def test_keys(tmp_path, monkeypatch):
    path = tmp_path / "keys"
    path.write_text("first\n\nsecond \n")
    assert _settings.api_keys(path) == {"first", "second"}
    path.write_text("\n")
    with pytest.raises(ValueError) as error:
        _settings.api_keys(path)
    assert str(error.value) == f"no key in {path}: expected one a line"
    monkeypatch.setenv("TP_SERVE_API_KEY", " third\n")
    assert _settings.api_keys() == {"third"}
    monkeypatch.delenv("TP_SERVE_API_KEY")
    assert _settings.api_keys() == frozenset()
    with running(api_keys=frozenset({"first", "zweiter ü"})) as server:
        assert server.client("first").models.list().data
        for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic first"},
                       {"Authorization": b"Bearer \xff"}):
            answer = httpx.get(server.url + "/v1/models", headers=header)
            assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
            assert answer.json()["error"]["message"] == (
                "expected 'Authorization: Bearer KEY' with a key of this server's")
        assert httpx.get(server.url + "/health").status_code == 200


def test_rate():
    now = [100.0]
    limit = _limits.RateLimit(3, lambda: now[0])
    for _ in range(3):
        limit.check("a")
    with pytest.raises(_limits.ApiError) as error:
        limit.check("a")
    assert error.value.detail == "more than 3 requests a minute; ask again in 20 s"
    assert error.value.headers["Retry-After"] == "20"
    limit.check("b")
    now[0] += 20.5
    limit.check("a")
    with pytest.raises(_limits.ApiError):
        limit.check("a")
    with running(requests_per_minute=1) as server:
        made_up = [{"Authorization": f"Bearer {i}"} for i in range(2)]
        assert [httpx.get(server.url + "/v1/models", headers=headers).status_code
                for headers in made_up] == [200, 429]


def test_large_bodies():
    with running(max_body_bytes=2000) as server:
        message = "expected a body of at most 2000 bytes"
        answer = server.ask(prompt="x" * 2000)
        assert answer.status_code == 413 and answer.json()["error"]["message"] == message
        # One whose length is not said.
        answer = httpx.post(server.url + "/v1/completions", content=(b"x" * 500 for _ in range(9)),
                            headers={"Content-Type": "application/json"})
        assert answer.status_code == 413 and answer.json()["error"]["message"] == message
        assert server.ask(max_tokens=1).status_code == 200


def test_full():
    with running(EchoEngine(most_rows=1, paused=True), max_answers=3) as server:
        with server.client().completions.create(model="echo", prompt="a b", stream=True), \
                server.client().completions.create(model="echo", prompt="a b", stream=True):
            answer = server.ask()
            assert answer.status_code == 429 and answer.headers["retry-after"] == "1"
            assert answer.json()["error"]["message"] == "1 requests wait already"
            answer = server.ask(n=2)
            assert answer.json()["error"]["message"] == (
                "expected at most 3 answers in the making, got 4; ask again later")
        assert eventually(lambda: server.places.running == 0 and server.engine.held == 0)


@pytest.mark.parametrize("stream", [False, True])
def test_disconnect(stream):
    """The engine is told within a step: there is none between the leaving and the end."""
    with running(EchoEngine(paused=True)) as server:
        body = {"model": "echo", "prompt": "one two", "max_tokens": 100, "n": 3, "stream": stream}
        with socket.create_connection(server.url.removeprefix("http://").split(":")) as client:
            data = json.dumps(body).encode()
            client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: "
                           b"application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
            assert server.engine.wait_for(lambda engine: engine.held == 3)
            server.engine.step(2)
        assert server.engine.wait_for(lambda engine: engine.held == 0)
        assert len(server.engine.cancelled) == 3 and server.engine.steps == 2
        assert eventually(lambda: server.places.running == 0)
        assert eventually(lambda: "tp_serve_disconnects_total 1.0" in
                          httpx.get(server.url + "/metrics").text)


def test_lost_engine():
    with running(EchoEngine(paused=True)) as server:
        with server.client().completions.create(model="echo", prompt="one two", stream=True,
                                                max_tokens=50) as stream:
            server.engine.step(3)
            server.engine.fail(LOST)
            with pytest.raises(openai.APIError, match=LOST):
                for _ in stream:
                    pass
        answer = server.ask()
        assert answer.status_code == 500 and answer.json()["error"] == {
            "message": LOST, "type": "server_error", "param": None, "code": "engine_failed"}
        assert eventually(lambda: server.places.running == 0)


def test_many_clients():
    """32 clients that ask, leave early at random, and send nonsense: every finished answer is
    right, and nothing is held in the end."""
    with running(EchoEngine(most_rows=16)) as server:
        wrong = []

        def client(seed):
            draw, api = random.Random(seed), server.client()
            for _ in range(6):
                prompt = " ".join(draw.choices(["one", "two", "Grüß", "👋🏽", "x"], k=5))
                kind = draw.randrange(4)
                try:
                    if kind == 0:
                        server.post("/v1/completions", {"model": "echo", "prompt": draw.random()})
                    elif kind == 1:
                        with api.completions.create(model="echo", prompt=prompt, max_tokens=200,
                                                    stream=True) as stream:
                            for _, _ in zip(stream, range(draw.randrange(5))):
                                pass
                    else:
                        made = api.completions.create(model="echo", prompt=prompt, max_tokens=12)
                        if made.choices[0].text != echoed(prompt, 12):
                            wrong.append((seed, prompt, made.choices[0].text))
                except openai.RateLimitError:
                    pass
                except Exception as error:
                    wrong.append((seed, repr(error)))

        threads = [threading.Thread(target=client, args=(seed,)) for seed in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        assert eventually(lambda: server.places.running == 0 and server.engine.held == 0)
        assert server.engine.largest > 4


def test_answers_do_not_wait_for_acknowledgements():
    """Of a connection as the server's event loop gets it."""
    with _run._listen("127.0.0.1", 0) as listening, \
            socket.create_connection(listening.getsockname()), listening.accept()[0] as accepted:
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
