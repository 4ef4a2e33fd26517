"""The server as a process: signals, and what it prints.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import httpx
import openai
import pytest
from echo_engine import EchoEngine

from tp_mlir import serve

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parent / "fixtures" / "text-model"
# A step of 5 ms, so that answers of 300 tokens go on for a while.
PROGRAM = """
import os, sys, threading
sys.path.insert(0, sys.argv.pop(1))
from echo_engine import EchoEngine
from tp_mlir import serve
from tp_mlir.serve import _run
_run.TELL_SECONDS = _run.LEAVE_SECONDS = 0.3
_run.UNREAD_SECONDS = float(os.environ.get("TEST_UNREAD_SECONDS", 60))
class Slow(EchoEngine):
    def _advance(self, number):
        if number == 1:
            threading.Event().wait(0.005)
        super()._advance(number)
def opened(folder, **options):
    print("opened with", options, file=sys.stderr, flush=True)
    return Slow()
sys.exit(serve.main(opened))
"""


@contextlib.contextmanager
def process(*arguments):
    """A server, and its address."""
    command = [sys.executable, "-c", PROGRAM, HERE, MODEL, "--port", "0", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as made:
        try:
            line = ""
            while not (found := re.search(r" at (http://\S+)$", line)):
                line = made.stderr.readline()
                assert line, "it ended before it was ready"
            made.address = found[1]
            yield made
        finally:
            if made.poll() is None:
                made.kill()


def client(made):
    return openai.OpenAI(base_url=made.address, api_key="x", max_retries=0)


def until_open(made):
    """The port is there before the application; the first answer waits for it."""
    assert client(made).models.list().data[0].id == "text-model"


def test_drain(tmp_path, monkeypatch):
    systemd = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    systemd.settimeout(20)
    systemd.bind(str(tmp_path / "notify"))
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    with systemd, process("--mesh", "tp=2", "--context", "512") as made:
        assert systemd.recv(100) == b"READY=1"
        until_open(made)
        with client(made).completions.create(model="text-model", prompt="one two", max_tokens=300,
                                             stream=True) as stream:
            first = next(stream)
            health = made.address.replace("/v1", "/health")
            with httpx.Client() as open_before:
                assert open_before.get(health).status_code == 200
                made.send_signal(signal.SIGTERM)
                while open_before.get(health).status_code == 200:
                    time.sleep(0.002)
                answer = open_before.post(f"{made.address}/completions",
                                          json={"model": "text-model", "prompt": "x"})
                assert answer.status_code == 503
                assert answer.json()["error"]["message"] == (
                    "the server drains: it ends and takes no more requests")
            chunks = [first, *stream]
        assert systemd.recv(100) == b"STOPPING=1"
        # The answer that was in the making is whole.
        assert chunks[-1].choices[0].finish_reason == "length"
        assert made.wait(20) == 0
        assert "draining: 1 answers in the making" in made.stderr.read()


@pytest.mark.parametrize("arguments", [(), ("--drain-seconds", "0.2")])
def test_answers_are_ended(arguments):
    """By a second signal, or when their time is over; their clients are told."""
    with process(*arguments) as made:
        until_open(made)
        with client(made).completions.create(model="text-model", prompt="one", max_tokens=500,
                                             stream=True) as stream:
            next(stream)
            made.send_signal(signal.SIGINT)
            assert "draining" in made.stderr.readline()
            if not arguments:
                made.send_signal(signal.SIGINT)
            assert made.stderr.readline() == "tp-serve: ending 1 answers\n"
            with pytest.raises(openai.APIError, match="the server ended the answer"):
                list(stream)
        assert made.wait(20) == 0 and made.stderr.read() == ""


@pytest.mark.parametrize("seconds", [0.3, 60])
def test_a_client_that_does_not_read(seconds, monkeypatch):
    """Its places are free after a while, or it is left behind at the end."""
    monkeypatch.setenv("TEST_UNREAD_SECONDS", str(seconds))
    with process("--drain-seconds", "0.1") as made, socket.socket() as reader:
        until_open(made)
        host, port = re.match(r"http://(.*):(\d+)/", made.address).groups()
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        reader.connect((host, int(port)))
        body = json.dumps({"model": "text-model", "prompt": "one two", "max_tokens": 300, "n": 32,
                           "logprobs": 20, "stream": True})
        reader.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: "
                       f"application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())

        def gauge(name):
            text = httpx.get(made.address.replace("/v1", "/metrics")).text
            return float(re.search(rf"^{name} (\S+)", text, re.MULTILINE)[1])

        def until(condition):
            end = time.monotonic() + 20
            while not condition():
                assert time.monotonic() < end
                time.sleep(0.05)

        until(lambda: gauge("tp_engine_generated_tokens_total") > 0)
        until(lambda: gauge("tp_engine_pages_held") == 0)
        if seconds < 60:
            until(lambda: gauge("tp_serve_answers") == 0)
        else:
            assert gauge("tp_serve_answers") == 32
        made.terminate()
        assert made.wait(20) == 0


@pytest.mark.parametrize("number, code, what", [
    (signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "ended by SIGTERM")])
def test_interrupt_while_it_opens(number, code, what, tmp_path, capsys):
    def opening(folder, **options):
        with tempfile.TemporaryDirectory(dir=tmp_path):
            os.kill(os.getpid(), number)
            time.sleep(20)

    assert serve.main(opening, [str(MODEL)]) == code
    assert capsys.readouterr().err == (f"tp-serve: opening {MODEL}\ntp-serve: {what} while opening "
                                       "the model; nothing was left behind\n")
    assert not list(tmp_path.iterdir()) and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_refusals(tmp_path, capsys):
    def said(*arguments):
        code = serve.main(lambda folder, **options: EchoEngine(), [*map(str, arguments)])
        return code, capsys.readouterr().err

    code, text = said(tmp_path)
    assert code == 1 and text.startswith(f"tp-serve: no tokenizer.json in {tmp_path}")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, text = said(MODEL, "--port", port)
        # Before a model is opened in vain.
        assert code == 1 and text == (
            f"tp-serve: cannot listen at 127.0.0.1, port {port}: Address already in use\n")
    code, text = said(MODEL, "--api-key-file", tmp_path / "none")
    assert code == 1 and "No such file" in text
    code, text = said(MODEL, "--tool-format", "x")
    assert code == 1 and text == (
        "tp-serve: expected a format of tool calls (deepseek, deepseek-v3.1, granite, hermes, kimi, "
        "llama3, mistral, mistral-args, phi-4-mini), got 'x'\n")
    code, text = said(MODEL, "--task", "embed", "--chunk", "4")
    assert code == 2 and text.endswith(
        "tp-serve: --chunk: the model gives embeddings and generates nothing\n")
    code, text = said(MODEL, "--task", "embed")
    assert code == 1 and text.endswith(f"tp-serve: {MODEL} gives no embeddings: expected a checkpoint "
                                       "of sentence-transformers, which has modules.json\n")
    code, text = said("owner/name")
    assert code == 1 and text.startswith("tp-serve: 'owner/name' is not on this machine; ")


@pytest.mark.parametrize("option, value, expected", [
    ("--port", "many", "an integer from 0 to 65535"),
    ("--port", "65536", "an integer from 0 to 65535"),
    ("--max-body-bytes", "0", "an integer of at least 1"),
    ("--max-choices", "0", "an integer of at least 1"),
    ("--max-answers", "0", "an integer of at least 1"),
    ("--requests-per-minute", "-1", "an integer of at least 0"),
    ("--drain-seconds", "-1", "a number of at least 0"),
    ("--drain-seconds", "inf", "a number of at least 0"),
    ("--context", "0", "an integer of at least 1"),
    ("--rows", "2.5", "an integer of at least 1"),
    ("--chunk", "-8", "an integer of at least 1"),
    ("--timeout", "0", "a number above 0"),
    ("--max-connections", "0", "an integer of at least 1"),
    ("--header-seconds", "0", "a number above 0"),
])
def test_ranges(option, value, expected, capsys):
    with pytest.raises(SystemExit) as ended:
        serve.main(None, [str(MODEL), option, value])
    assert ended.value.code == 2
    assert capsys.readouterr().err == (f"tp-serve: for {option}: expected {expected}, got '{value}'; "
                                       "tp-serve --help lists the options\n")


@pytest.mark.parametrize("value, message", [
    ("[1]", "expected a JSON object, got '[1]'"),
    ('{"tools": []}', "expected variables of the chat template, got 'tools'")])
def test_variables(value, message, capsys):
    with pytest.raises(SystemExit):
        serve.main(None, [str(MODEL), "--chat-template-kwargs", value])
    assert capsys.readouterr().err.startswith(f"tp-serve: for --chat-template-kwargs: {message}; ")
