"""Programs that are kept for the next start, and programs that are given.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import os
import shutil
import threading

import pytest
from reference import FIXTURES

import tp_mlir
from tp_mlir import _cache, _tools

MODEL = FIXTURES / "llama-gqa"
OPTIONS = {"context": 64, "rows": 2, "chunk": 1, "dtype": "f32"}


@pytest.fixture(name="kept")
def set_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TP_MLIR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(name="compiled")
def count_compilations(monkeypatch):
    """Arguments of each run of tp-compile that makes a program."""
    made, run = [], _cache.subprocess.run

    def counted(command, **options):
        if "-o" in command:
            made.append(command)
        return run(command, **options)

    monkeypatch.setattr(_cache.subprocess, "run", counted)
    return made


def test_found_again(kept, compiled, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(MODEL, model)

    def make(**more):
        _cache.compile_into(tmp_path / "made.tpa", model, {**OPTIONS, **more})
        return (tmp_path / "made.tpa").read_bytes()

    first = make()
    assert make() == first and len(compiled) == 1
    # Whatever it depends on makes another.
    assert make(rows=3) != first and make(mesh="tp=2") != first and len(compiled) == 3
    assert make() == first and len(compiled) == 3
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "rms_norm_eps": 0.5}))
    assert make() != first and len(compiled) == 4
    os.utime(model / "model.safetensors")
    make()
    assert len(compiled) == 5
    assert len(list(kept.iterdir())) == 5
    # A file that an option names counts by what it says.
    (tmp_path / "defaults.json").write_text('{"top_k": 5}')
    make(generation_config=tmp_path / "defaults.json")
    (tmp_path / "defaults.json").write_text('{"top_k": 6}')
    make(generation_config=tmp_path / "defaults.json")
    assert len(compiled) == 7


def test_damaged(kept, compiled, tmp_path, caplog):
    path = tmp_path / "made.tpa"
    _cache.compile_into(path, MODEL, OPTIONS)
    good = path.read_bytes()
    one, = kept.iterdir()
    (one / "program.tpa").write_bytes(good[:-1] + b"?")
    _cache.compile_into(path, MODEL, OPTIONS)
    assert path.read_bytes() == good and len(compiled) == 2
    assert "is damaged, and is made again" in caplog.text
    (one / "about.json").write_text("{")
    _cache.compile_into(path, MODEL, OPTIONS)
    assert path.read_bytes() == good and len(compiled) == 3
    _cache.compile_into(path, MODEL, OPTIONS)
    assert len(compiled) == 3


def test_many_at_once(kept, tmp_path):
    threads = [threading.Thread(target=_cache.compile_into,
                                args=(tmp_path / f"{i}.tpa", MODEL, OPTIONS)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({(tmp_path / f"{i}.tpa").read_bytes() for i in range(4)}) == 1
    one, = kept.iterdir()
    assert sorted(path.name for path in one.iterdir()) == ["about.json", "program.tpa"]


def test_limits(kept, monkeypatch, tmp_path):
    monkeypatch.setattr(_cache, "MOST_BYTES", 1)
    for rows in (1, 2):
        _cache.compile_into(tmp_path / "made.tpa", MODEL, {**OPTIONS, "rows": rows})
    assert len(list(kept.iterdir())) == 1
    # A share of a device's memory is not known here.
    assert _cache._key(MODEL, {"target": "cuda:ptx", "memory": "0.5"}) is None
    assert _cache._key(MODEL, {"target": "cuda:ptx", "memory": "1GiB"}) is not None


def test_no_cache(compiled, monkeypatch, tmp_path, caplog):
    monkeypatch.setenv("TP_MLIR_CACHE", "none")
    _cache.compile_into(tmp_path / "made.tpa", MODEL, OPTIONS)
    (tmp_path / "file").touch()
    monkeypatch.setenv("TP_MLIR_CACHE", str(tmp_path / "file"))
    _cache.compile_into(tmp_path / "made.tpa", MODEL, OPTIONS)
    assert len(compiled) == 2 and "the program is not kept for the next start: " in caplog.text


def test_a_program(tmp_path):
    path = tmp_path / "made.tpa"
    _tools.run("tp-compile", [MODEL, "--generate", *_tools.options(mesh="tp=2", **OPTIONS), "-o",
                              path])
    with tp_mlir.LLM(MODEL, program=path) as model, tp_mlir.LLM(MODEL, **OPTIONS) as other:
        assert model.engine.context == 64
        assert model.generate([1, 2, 3], max_tokens=8) == other.generate([1, 2, 3], max_tokens=8)
    with pytest.raises(tp_mlir.UsageError, match="the program .*made.tpa has been compiled: expected "
                       "no rows beside it, got 3"):
        tp_mlir.LLM(MODEL, program=path, rows=3)
    _tools.run("tp-compile", [MODEL, "-o", path])
    with pytest.raises(tp_mlir.InputError, match="the program .* has no steps of generation: expected "
                       "one made with tp-compile --generate"):
        tp_mlir.LLM(MODEL, program=path)
    with pytest.raises(tp_mlir.InputError, match="missing.tpa"):
        tp_mlir.LLM(MODEL, program=tmp_path / "missing.tpa")
