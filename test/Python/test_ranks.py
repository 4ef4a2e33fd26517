"""Engines whose ranks are processes: started by the program, and by a launcher.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import os
import secrets
import signal
import subprocess
import sys

import openai
import pytest
from load import eventually
from real_server import FOLDER, RealServer, children, command

import tp_mlir
from tp_mlir import engine

KNOWN = json.loads((FOLDER / "continuations.json").read_text(encoding="utf-8"))["continuations"]
ONE = KNOWN[2]
PROGRAM = f"""
import os, tp_mlir
llm = tp_mlir.LLM({str(FOLDER)!r}, mesh="tp=2", rows=2, chunk=8, context=128, backend="processes")
print(list(llm.generate({ONE["prompt_ids"]}, max_tokens=20).ids), "RANK" in os.environ)
"""


def test_a_program_starts_them():
    """And they end with it, though it does not close its engine; nobody says a loss."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                          timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{ONE['ids'][:20]} False\n"


def test_a_launcher_starts_them():
    """By torchrun's variables. Launchers tell all ranks to end at once: the answers in the
    making are ended all the same."""
    job = {"WORLD_SIZE": "2", "MASTER_ADDR": secrets.token_hex(8), "MASTER_PORT": "1"}
    arguments = ["--mesh", "tp=2", "--backend", "processes"]
    with subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, text=True,
                          env={**os.environ, **job, "RANK": "1"}) as other:
        with RealServer(*arguments, env={**os.environ, **job, "RANK": "0"}) as server:
            assert not server.ranks()
            api = openai.OpenAI(base_url=server.url + "/v1", api_key="x", max_retries=0)
            with api.completions.create(model="text-model", prompt=KNOWN[5]["prompt"],
                                        max_tokens=200, stream=True) as stream:
                pieces = [next(stream).choices[0].text]
                other.send_signal(signal.SIGTERM)
                server.terminate()
                pieces += [chunk.choices[0].text for chunk in stream]
            assert KNOWN[5]["text"].startswith("".join(pieces)) and len(pieces) > 100
            assert server.wait() == 0
        assert other.communicate(timeout=30)[1] == f"tp-serve: opening {FOLDER}\n"
        assert other.returncode == 0


def test_a_loss_is_seen_while_nothing_is_asked():
    with tp_mlir.LLM(FOLDER, mesh="tp=2", context=64, chunk=8, backend="processes") as llm:
        rank, = children(os.getpid())
        os.kill(rank, signal.SIGKILL)
        assert eventually(lambda: llm.engine.failure)
        assert llm.engine.failure.code == 3
        with pytest.raises(engine.EngineError, match="rank 0: rank 1 is lost: its process (ended|was killed)"):
            llm.generate([1, 2])
