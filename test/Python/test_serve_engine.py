"""The server on the runtime's engine: under load, and when a rank is killed.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import re
import signal
import threading

import httpx
import load
import openai
import pytest
import shared_cache
from real_server import RealServer

LOST = r"rank 0: rank 1 is lost: its process ended; .*"


def test_load():
    """A little of what `load.py` does for as long as it is told; some memory is still taken for the
    first time then."""
    assert load.run(1, clients=8, questions=load.QUESTIONS[::8], say=lambda line: None) < 64 << 20


def test_a_shared_cache():
    """A little of `benchmarks/shared-cache --quantize int4-g32`: a quarter of the cells that the
    rows can fill, and weights whose products are made otherwise for few rows than for many."""
    with shared_cache.opened(4, shared_cache.CONTEXT, "--quantize", "int4-g32") as server:
        print("seed 5")
        asked = shared_cache.questions(server.url, 8, 5)
        assert len(asked) >= 4
        made = shared_cache.load(server, asked, 1.5, 12, 5)
    assert not made.wrong and made.answers >= 12
    assert made.evictions > 0 and made.pages == 8


def test_a_killed_rank():
    """SIGKILL in mid-stream: each client is told which rank, those that wait too, and so are
    the log and probes; then the server ends."""
    with RealServer("--mesh", "tp=2", "--backend", "processes", "--rows", 2) as server:
        errors, begun = [], threading.Barrier(5)

        def ask(stream):
            api = openai.OpenAI(base_url=server.url + "/v1", api_key="x", max_retries=0, timeout=20)
            asked = dict(model="text-model", prompt="Apache", max_tokens=400, stream=stream)
            try:
                begun.wait(20)
                while made := api.completions.create(**asked):
                    if stream:
                        list(made)
            except openai.APIError as error:
                errors.append(error)

        # More than there are rows, again and again: some are in steps, some in the queue.
        threads = [threading.Thread(target=ask, args=(i < 3,)) for i in range(4)]
        for thread in threads:
            thread.start()
        begun.wait(20)
        assert load.eventually(lambda: server.metric("tp_engine_waiting") > 0)
        rank, = server.ranks()
        os.kill(rank, signal.SIGKILL)
        for thread in threads:
            thread.join(20)
        health = httpx.get(server.url + "/health")
        text = health.json()["error"]
        assert re.fullmatch(LOST, text) and health.status_code == 503
        assert health.json()["status"] == "failed"
        assert len(errors) == 4 and all(error.message.endswith(text) for error in errors)
        # Who has a status already is told by an event of the stream.
        assert {getattr(error, "status_code", None) for error in errors} == {None, 500}
        with pytest.raises(openai.InternalServerError, match=LOST):
            openai.OpenAI(base_url=server.url + "/v1", api_key="x", max_retries=0).completions.create(
                model="text-model", prompt="Apache")
        assert server.wait() == 3
        assert server.log[-1] == "tp-serve: ending: " + text
