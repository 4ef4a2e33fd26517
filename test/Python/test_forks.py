"""Children that were forked: an error, never a wait, and the parent goes on.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy
import pytest
from real_server import FOLDER

import tp_mlir
from tp_mlir import engine

OPTIONS = {"mesh": "tp=2", "rows": 2, "chunk": 8, "context": 64}


def in_child(body, seconds=30):
    """What a forked child's `body` returns or raises, as text; the child then ends as a program
    does. Fails if it does not end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        # pytest's own end is not the child's.
        try:
            text = str(body())
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writing, text.encode())
        os.close(writing)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        end = time.monotonic() + seconds
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                pytest.fail("the child was still waiting")
            time.sleep(0.01)
        return pipe.read().decode()


def _answer(llm, results):
    try:
        results.put(llm.generate([1], max_tokens=1).ids)
    except engine.EngineError as error:
        results.put(str(error))


def test_an_engine():
    with tp_mlir.LLM(FOLDER, **OPTIONS) as llm:
        before = llm.generate([1, 2, 3], max_tokens=3).ids

        def use():
            try:
                llm.generate([1, 2, 3], max_tokens=3)
            finally:
                llm.close()

        told = in_child(use)
        assert told.startswith("EngineError: process ") and "was forked" in told
        assert "open another engine in this process" in told
        assert in_child(lambda: next(llm.stream([1, 2]))).startswith("EngineError: process ")
        # While the parent has requests: its locks are held now and then.
        events = engine.stream(llm.engine, [1, 2, 3], engine.Params(max_tokens=50))
        next(events)
        assert "was forked" in in_child(lambda: llm.generate([5], max_tokens=1))
        assert "was forked" in in_child(lambda: list(events))
        assert len(list(events)) == 49
        # By multiprocessing, whose children have an end of their own.
        context = multiprocessing.get_context("fork")
        results = context.SimpleQueue()
        child = context.Process(target=_answer, args=(llm, results))
        child.start()
        assert "was forked" in results.get()
        child.join(30)
        assert child.exitcode == 0
        assert llm.generate([1, 2, 3], max_tokens=3).ids == before


PROGRAM = f"""
import os, sys, time, tp_mlir
from tp_mlir import _forks
folder = _forks.Folder()
llm = tp_mlir.LLM({str(FOLDER)!r}, mesh="tp=2", rows=2, chunk=8, context=64, backend="processes")
if os.fork() == 0:
    try:
        llm.generate([1], max_tokens=1)
    except tp_mlir.engine.EngineError:
        sys.exit(7)             # atexit, finalizers, __del__
time.sleep(0.1)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
assert os.path.isdir(folder.path)
print(len(llm.generate([1, 2], max_tokens=3).ids))
"""


def test_the_end_of_a_child_leaves_all_to_its_parent():
    """Ranks that are processes, and folders."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                          timeout=120, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


def test_sessions_and_trainers():
    program = tp_mlir.compile(FOLDER, mesh="tp=2", seq=8)
    inputs = {"input_ids": numpy.ones((1, 8), numpy.int64)}
    with program.open(FOLDER) as session:
        before = session.run(inputs)["logits"]
        for use in (lambda: session.run(inputs), session.stats, session.states,
                    session.reset_states, session.inputs):
            told = in_child(use)
            assert told.startswith("InputError: ") and "which opened" not in told
            assert "open another session in this process" in told
        assert in_child(session.close) == "None"
        # What a child opens itself is its own.
        assert in_child(lambda: program.open(FOLDER).run(inputs)["logits"].shape) == "(1, 8, 700)"
        assert numpy.array_equal(session.run(inputs)["logits"], before)
    training = tp_mlir.compile(FOLDER, mesh="tp=2", seq=8, train="sgd")
    with training.train(FOLDER, lr=0.1) as trainer:
        rows = numpy.ones((1, 9), numpy.int64)
        assert "was forked" in in_child(lambda: trainer.step(rows))
        assert "was forked" in in_child(trainer.weights)
        assert trainer.step(rows).tokens == 8
        assert pathlib.Path(training.path).exists()
