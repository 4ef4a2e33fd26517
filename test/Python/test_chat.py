"""tp-chat: conversations, commands, Ctrl-C.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import fcntl
import io
import json
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import time

import pytest
from echo_engine import EchoEngine

from tp_mlir import chat, engine, text

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parent / "fixtures" / "text-model"
TOKENIZER = text.Tokenizer(MODEL)


@pytest.fixture
def echo():
    made = EchoEngine()
    yield made
    made.close()


def talk(model, *lines):
    """What is printed for the lines typed; an exception in their place is raised."""
    out, waiting = io.StringIO(), list(lines)

    def read():
        if not waiting:
            raise EOFError
        line = waiting.pop(0)
        if isinstance(line, str):
            return line + "\n"
        raise line

    conversation = chat.Conversation(model, TOKENIZER)
    chat.Terminal(conversation, read, out, told=out).run()
    return out.getvalue(), conversation


def test_conversation(echo):
    printed, conversation = talk(echo, "Grüß dich 👋🏽", "", "And?", "/quit", "never")
    # The echo begins with the first message.
    assert printed == "\nGrüß dich 👋🏽\n" * 2
    assert [message["role"] for message in conversation.messages] == ["user", "assistant"] * 2
    assert conversation.messages[2]["content"] == "And?"
    assert echo.params[0].stop_ids == TOKENIZER.stop_ids and echo.held == 0


def test_defaults_of_the_checkpoint(echo):
    talk(echo, "a")
    assert "temperature" not in echo.params[-1].said()
    assert echo.params[-1].max_tokens > 100
    echo.defaults = {"max_new_tokens": 2}
    talk(echo, "a")
    assert echo.params[-1].max_tokens == 2
    echo.defaults = {"max_length": 1}
    talk(echo, "a")
    assert echo.params[-1].max_tokens == 1


def test_commands(echo):
    printed, conversation = talk(echo, "/help", "/nothing x", "/again", "/system Be  brief.", "a",
                                 "/again", KeyboardInterrupt())
    assert printed == (chat.HELP + "tp-chat: no command /nothing; /help lists them\n"
                       "tp-chat: /again: nothing was asked yet\n" + "\nBe  brief.\n" * 2
                       + "\n(Ctrl-D or /quit ends)\n")
    assert [message["content"] for message in conversation.messages] == ["a", "\nBe  brief."]
    assert talk(echo, "a", "/new")[1].messages == []
    printed, conversation = talk(echo, "/temperature x", "/temperature 0.5", "a", "/again")
    assert printed.startswith("tp-chat: /temperature: expected a number of at least 0, got 'x'\n")
    assert conversation.temperature == 0.5 and echo.params[-1].temperature == 0.5
    # Another draw.
    assert echo.params[-1].seed != echo.params[-2].seed
    assert talk(echo, "/system x", "/system")[1].system == ""


def test_old_messages_are_dropped(echo):
    long = "words " * 60
    printed, conversation = talk(echo, "first " + long, "second " + long, "third " + long)
    assert printed.endswith("old messages dropped)\n")
    assert not any("first" in message["content"] for message in conversation.messages)
    assert conversation.messages[-2]["content"].startswith("third")


def test_too_long(echo):
    printed, conversation = talk(echo, "word " * 600, "b")
    assert printed.startswith("tp-chat: expected 1 to 511 tokens, got ")
    assert [message["content"] for message in conversation.messages] == ["b", "\nb"]


def test_lost_engine(echo):
    echo.fail("rank 1 of 2 was lost")
    printed, conversation = talk(echo, "a", "never")
    assert printed == "tp-chat: rank 1 of 2 was lost\n" and conversation.messages == []


def test_stream_cancels():
    made = EchoEngine(paused=True)
    events = engine.stream(made, [0, 1, 2], engine.Params(max_tokens=9))
    made_first = []
    thread = threading.Thread(target=lambda: made_first.append(next(events)))
    thread.start()
    assert made.wait_for(lambda model: model.held == 1)
    made.step()
    thread.join()
    assert made_first[0].ids == (1,)
    events.close()
    assert made.held == 0 and made.cancelled
    made.close()


PROGRAM = """
import sys, threading
sys.path.insert(0, sys.argv.pop(1))
from echo_engine import EchoEngine
from tp_mlir import chat, engine
class Endless(EchoEngine):
    # Says a token of the prompt, slowly, and never stops.
    def _advance(self, number):
        threading.Event().wait(0.002)
        prompt, _, on_event, _ = self._requests[number]
        on_event(engine.Event((prompt[3],)))
kind = {"echo": EchoEngine, "endless": Endless}[sys.argv.pop(1)]
sys.exit(chat.main(lambda folder, **options: kind()))
"""


def command(kind):
    return [sys.executable, "-c", PROGRAM, HERE, kind, MODEL]


def take_terminal():
    """Standard input is the terminal of a session of its own, which Ctrl-C goes to."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_interrupt():
    """Ctrl-C in a terminal stops the answer, not the program."""
    here, there = pty.openpty()
    with subprocess.Popen(command("endless"), stdin=there, stdout=there, stderr=there,
                          preexec_fn=take_terminal) as made:
        os.close(there)
        seen = b""

        def until(wanted, again=b""):
            """Types `again` where nothing comes: an interrupt between the prompt and the
            line editor's wait is seen with the next key alone."""
            nonlocal seen
            end = time.monotonic() + 30
            while wanted not in seen:
                assert time.monotonic() < end, seen
                if select.select([here], [], [], 0.5)[0]:
                    seen += os.read(here, 4096)
                else:
                    os.write(here, again)
            seen = seen.split(wanted, 1)[1]

        for _ in range(2):
            until(b"> ")
            os.write(here, b"xx\n")
            until(b"xx\r\n")
            until(b"xxxx")
            os.write(here, b"\x03")
            until(b"(stopped)\r\n")
        until(b"> ")
        os.write(here, b"\x03")
        until(b"(Ctrl-D or /quit ends)", again=b"\x03")
        until(b"> ")
        os.write(here, b"\x04")
        assert made.wait(30) == 0
    os.close(here)


def test_lines_from_a_file():
    done = subprocess.run(command("echo"), input="Grüß\n/nothing\n", capture_output=True,
                          text=True, timeout=60)
    # Nobody has watched: what was wrong is told by the exit code.
    assert done.returncode == 1
    assert done.stdout == "\nGrüß\n"
    assert done.stderr == "tp-chat: no command /nothing; /help lists them\n"


def test_bytes_that_are_no_text():
    done = subprocess.run(command("echo"), input=b"a \xff\nb\n", capture_output=True, timeout=60,
                          env={**os.environ, "PYTHONUTF8": "1"})
    told = "expected a text, got half of a character or bytes that are no UTF-8 in it"
    assert (done.returncode, done.stderr.decode()) == (1, f"tp-chat: {told}\n")
    assert done.stdout.decode() == "\nb\n"


def test_failures(echo, tmp_path, monkeypatch, capsys):
    """An answer that fails is an error of lines that come from a file, of the code that it has."""
    monkeypatch.setattr(echo, "submit", lambda *unused: (_ for _ in ()).throw(
        engine.EngineError("the logits of position 3 are not numbers")))
    monkeypatch.setattr(sys, "stdin", io.StringIO("a\n/quit\n"))
    assert chat.main(lambda folder, **options: echo, [str(MODEL)]) == 1
    assert capsys.readouterr().err == "tp-chat: the logits of position 3 are not numbers\n"
    # A checkpoint that no conversation can be had with is not opened.
    for path in MODEL.glob("*.json"):
        (tmp_path / path.name).write_text(path.read_text())
    config = json.loads((MODEL / "tokenizer_config.json").read_text())
    del config["chat_template"]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert chat.main(None, [str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        "tp-chat: the checkpoint has no chat template, in tokenizer_config.json or "
        "chat_template.jinja: expected one, or a prompt that is no conversation (LLM.generate, "
        "/v1/completions of tp-serve)\n")


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupt_while_it_opens(number, code, tmp_path, capsys):
    def opening(folder, **options):
        with tempfile.TemporaryDirectory(dir=tmp_path):
            os.kill(os.getpid(), number)
            time.sleep(20)

    assert chat.main(opening, [str(MODEL)]) == code
    how = {130: "interrupted", 143: "ended by SIGTERM"}[code]
    assert capsys.readouterr().err == (
        f"tp-chat: {how} while opening the model; nothing was left behind\n")
    assert not list(tmp_path.iterdir()) and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_no_model(tmp_path, capsys):
    assert chat.main(None, [str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith(f"tp-chat: no tokenizer.json in {tmp_path}")
    given = MODEL / "tokenizer.json"
    assert chat.main(None, [str(given)]) == 1
    assert capsys.readouterr().err == (
        f"tp-chat: '{given}' is a file of a checkpoint: expected its directory, '{MODEL}'\n")
    for option, value, expected in (("--temperature", "-1", "a number of at least 0"),
                                    ("--top-p", "1.5", "a number from 0 to 1"),
                                    ("--seed", "x", "an integer")):
        with pytest.raises(SystemExit):
            chat.main(None, [str(MODEL), option, value])
        assert capsys.readouterr().err == (f"tp-chat: for {option}: expected {expected}, got "
                                           f"'{value}'; tp-chat --help lists the options\n")
