"""Runs tp-plan for its tests, and makes profiles for it.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools
import json
import pathlib

import pytest

from tp_mlir import plan
from tp_mlir.plan import _memory, _work

TEST = pathlib.Path(__file__).resolve().parents[1]
MODELS, FIXTURES = TEST / "Inputs" / "models", TEST / "fixtures"
LLAMA_8B, LLAMA_70B = MODELS / "llama-3-8b", MODELS / "llama-3-70b"
MIB = 1 << 20


@pytest.fixture(autouse=True, scope="module")
def compile_once():
    """What several tests ask for is compiled once, with as few steps as do."""
    patch = pytest.MonkeyPatch()
    patch.setattr(_work, "compile_one", functools.cache(_work.compile_one))
    for module in (_work, _memory):
        patch.setattr(module, "CHUNK", 16)
    yield
    patch.undo()


def run(*words):
    try:
        return plan.main([str(word) for word in words])
    except SystemExit as ended:
        return ended.code


def report(capsys, *words):
    """What --format json says. The exit code says whether there is a candidate to take."""
    code = run(*words, "--format", "json")
    told = json.loads(capsys.readouterr().out)
    taken = [row for row in told["rows"] if row.get("recommended")]
    assert code == (0 if taken else 3) and len(taken) <= 1
    assert told["recommendation"].startswith("Take " if taken else "None ")
    return told


def refused(capsys, code, *words):
    """The error's text."""
    assert run(*words) == code
    told = capsys.readouterr()
    assert told.out == ""
    return told.err


def rows(report):
    return {(row["plan"], row["degree"]): row for row in report["rows"]}


def profile(tmp_path, **changes):
    """A file with a profile of round figures, and what is changed in it."""
    figure = {"value": 1e9, "source": "a test"}
    link = {"name": "wire", "alpha": {"value": 1e-6, "source": "a test"}, "beta": figure,
            "efficiency": 1}
    data = {"name": "a test's device", "target": "cpu", "measured": True, "shared": True,
            "ranks_per_node": 4, "memory": {"value": 8e9, "source": "a test"}, "reserved": {},
            "matrix": {"f32": figure, "bf16": figure, "f16": figure}, "vector": figure,
            "bandwidth": figure, "kernel_seconds": {"value": 1e-6, "source": "a test"},
            "efficiency": {"matrix": 1, "attention": 1, "vector": 1, "bandwidth": 1},
            "links": [link]}
    path = tmp_path / "profile.json"
    path.write_text(json.dumps({**data, **changes}))
    return path
