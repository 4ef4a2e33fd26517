"""The Python package: arrays in and out, the tools' errors as exceptions.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

import numpy
import pytest
from safetensors.numpy import load_file, save_file

import tp_mlir
from tp_mlir import _checkpoint, _tools
from tp_mlir.plan import Workload, plan

STATES = pathlib.Path(__file__).resolve().parents[1] / "Integration/CPU/Inputs/state.mlir"
FIXTURE = pathlib.Path(__file__).resolve().parents[1] / "fixtures/llama-untied"


@pytest.fixture(scope="module")
def program():
    return tp_mlir.compile(FIXTURE, mesh="tp=2", batch=2, seq=24)


def test_run(program):
    outputs, stats = program.run(FIXTURE, load_file(FIXTURE / "inputs.safetensors"), stats=True)
    want = load_file(FIXTURE / "expected.safetensors")["logits"]
    assert outputs["logits"].dtype == numpy.float32
    assert numpy.abs(outputs["logits"] - want).max() <= 2e-5 * numpy.abs(want).max()
    assert stats


def test_timeline_layers(program, tmp_path):
    """Every event of a layer says which, products and attention too."""
    path = tmp_path / "timeline.json"
    program.run("random:1", load_file(FIXTURE / "inputs.safetensors"), timeline=path)
    layers = {}
    for event in json.loads(path.read_text())["traceEvents"]:
        if event.get("cat") in ("gemm", "attention"):
            layers.setdefault(event["name"], []).append(event["args"]["layer"])
    attention = [found for name, found in layers.items() if name.startswith("attention")]
    # Two layers on two ranks; the head comes after both.
    assert [sorted(found) for found in attention] == [[0, 0, 1, 1]]
    products = sorted(tuple(sorted(found)) for name, found in layers.items()
                      if name.startswith("gemm"))
    assert products[0] == (0, 0) and set(products[1:]) == {(0, 0, 1, 1)}


@pytest.mark.parametrize("family, config, layers", [
    # Layers 0, 1, then 2, then 3: loops that begin where the last one ended.
    ("families/gemma3", {}, {"attention": [[0, 1, 2, 3]]}),
    # Window, full, window, full: a loop of two layers.
    ("families/gemma3", {"layer_types": ["sliding_attention", "full_attention"] * 2},
     {"attention": [[0, 1, 2, 3]]}),
    # A dense layer, then two of experts.
    ("fixtures/deepseek-v3", {}, {"attention": [[0, 1, 2]], "experts": [[1, 2]]})])
def test_timeline_model_layers(family, config, layers, tmp_path):
    """The layer of an event is the model's, in whichever loop it is."""
    folder = pathlib.Path(__file__).resolve().parents[1] / family
    written = json.loads((folder / "config.json").read_text()) | config
    (tmp_path / "config.json").write_text(json.dumps(written))
    program = tp_mlir.compile(tmp_path, mesh="tp=2", batch=1, seq=24)
    path = tmp_path / "timeline.json"
    inputs = {"input_ids": numpy.zeros((1, 24), numpy.int64),
              "attention_mask": numpy.ones((1, 24), numpy.int64)}
    program.run("random:1", inputs, timeline=path)
    found = {}
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["ph"] == "X" and event["cat"] != "step":
            found.setdefault((event["cat"], event["name"], event["tid"]),
                             []).append(event["args"]["layer"])
    for kind, want in layers.items():
        for rank in (0, 1):
            have = [events for (cat, _, tid), events in found.items()
                    if cat == kind and tid == rank]
            assert sorted(have) == want
    everywhere = {layer for (cat, _, _), events in found.items() for layer in events
                  if cat in ("collective", "gemm")}
    assert everywhere == set(range(written["num_hidden_layers"]))


def test_loaded_artifact(program, tmp_path):
    copy = tmp_path / "copy.tpa"
    copy.write_bytes(program.path.read_bytes())
    inputs = load_file(FIXTURE / "inputs.safetensors")
    ours = tp_mlir.load(copy).run("random:3", inputs)["logits"]
    again = program.run("random:3", inputs)["logits"]
    assert numpy.array_equal(ours, again)


def test_explain(program):
    explanation = program.explain()
    kinds = {entry["kind"]: 0 for entry in explanation.collectives}
    for entry in explanation.collectives:
        kinds[entry["kind"]] += entry["count"]
        assert entry["cause"] and entry["annotation"] and entry["location"]
    # Two layers: two all-reduces each, and the embedding's.
    assert kinds == {"all_reduce": 5}
    assert "all_reduce" in str(explanation)


def test_wrong_shape(program):
    with pytest.raises(tp_mlir.InputError) as error:
        program.run(FIXTURE, {"input_ids": numpy.zeros((1, 7), numpy.int64)})
    assert "input_ids" in str(error.value)
    assert error.value.tool == "tp-run" and error.value.code == 1


def test_wrong_option():
    with pytest.raises(tp_mlir.UsageError, match="no-such-plan"):
        tp_mlir.compile(FIXTURE, mesh="tp=2", plan="no-such-plan")
    with pytest.raises(tp_mlir.UsageError):
        tp_mlir.compile(FIXTURE, batch="many")


def test_missing_model(tmp_path):
    with pytest.raises(tp_mlir.InputError, match="config.json"):
        tp_mlir.compile(tmp_path)


def test_mistaken_models(tmp_path):
    """Python's programs say of them what the compiler says."""
    # The compiler takes a GGUF file, and those programs that do not refuse it.
    files = {f"{i}.bin": beginning for i, beginning in enumerate(_checkpoint._BEGINNINGS)
             if beginning != b"GGUF"}
    for name, content in {**files, "config.json": b"{}", "x.tpa": b""}.items():
        (tmp_path / name).write_bytes(content + bytes(90))
    for given in [*sorted(tmp_path.iterdir()), "owner/name"]:
        with pytest.raises(tp_mlir.InputError) as compiler:
            tp_mlir.compile(given)
        with pytest.raises(ValueError) as python:
            _checkpoint.check_model(given)
        assert str(compiler.value).endswith(f"error: {python.value}"), given
    header = FIXTURE.parents[2] / "runtime" / "include" / "tprt" / "foreign.h"
    rows = header.read_text().split("kRows[] = {")[1].split("};")[0]
    assert rows.count("{") == len(files) + 1


def test_missing_tool(monkeypatch, tmp_path):
    monkeypatch.setenv("TP_MLIR_BIN", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(tp_mlir.InputError, match="TP_MLIR_BIN"):
        tp_mlir.compile(FIXTURE)


def test_no_artifact(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        tp_mlir.load(tmp_path / "none.tpa")
    assert str(error.value) == f"no artifact at {tmp_path / 'none.tpa'}"


def test_loaded_artifact_is_not_explained(program):
    with pytest.raises(ValueError) as error:
        tp_mlir.load(program.path).explain()
    assert str(error.value) == ("an artifact loaded from a file cannot be explained; "
                                "compile it here")


def test_no_tools(monkeypatch, tmp_path):
    monkeypatch.setenv("TP_MLIR_BIN", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    with pytest.raises(tp_mlir.InputError) as error:
        tp_mlir.compile(FIXTURE, mesh="tp=2")
    assert (f"tp-compile is neither in $TP_MLIR_BIN, nor in {tmp_path}/bin, nor on the PATH; "
            "build tp-mlir and set TP_MLIR_BIN to the build tree's bin") in str(error.value)


def test_session(program):
    inputs = load_file(FIXTURE / "inputs.safetensors")
    want = program.run(FIXTURE, inputs)["logits"]
    with program.open(FIXTURE) as session:
        assert session.ranks == 2
        assert session.inputs()["input_ids"] == ((2, 24), "I64", False)
        for _ in range(3):
            assert numpy.array_equal(session.run(inputs)["logits"], want)
        # What was given stays, and what is wrong changes nothing.
        with pytest.raises(tp_mlir.InputError, match="input_ids") as error:
            session.run({"input_ids": numpy.zeros((1, 7), numpy.int64)})
        assert error.value.code == 1
        with pytest.raises(tp_mlir.InputError) as error:
            session.run({"input_ids": numpy.zeros((2, 24), complex)})
        assert str(error.value) == ("input 'input_ids': expected an array of bool, float16, float32, "
                                    "int32, int64, int8, uint8, got complex128")
        with pytest.raises(tp_mlir.InputError, match="no entry 'nothing'"):
            session.run({}, entry="nothing")
        with pytest.raises(tp_mlir.InputError, match="expected at least one repetition, got 0"):
            session.run({}, repeat=0)
        assert numpy.array_equal(session.run({})["logits"], want)
        assert session.states() == {}
        assert session.stats()["steps"]["count"] == 4
    with pytest.raises(ValueError, match="the session is closed"):
        session.run(inputs)


def test_session_refusals(program):
    with pytest.raises(tp_mlir.InputError, match="no-such-folder"):
        program.open("/no-such-folder")
    with pytest.raises(tp_mlir.InputError, match="unknown backend 'wires'"):
        program.open(FIXTURE, backend="wires")


def test_session_states():
    program = tp_mlir.compile(STATES, mesh=None)
    x, y = numpy.arange(13, dtype=numpy.float32), numpy.ones(5, numpy.float32)
    with program.open("random:1") as session:
        assert session.states()["count"] == 0
        assert numpy.array_equal(session.states()["ring"], numpy.ones(7))
        for _ in range(2):
            assert session.run({"x": x}, entry="add", repeat=2) == {}
            assert session.run({"y": y}, entry="decay")["last"].shape == (5,)
        states = session.states()
        assert states["count"] == 4
        assert numpy.array_equal(states["total"], ((2 * x) / 2 + 0.25 + 2 * x) / 2 + 0.25)
        session.reset_states()
        assert session.states()["count"] == 0


def test_inputs_of_one_entry():
    program = tp_mlir.compile(STATES, mesh=None)
    x, y = numpy.ones(13, numpy.float32), numpy.ones(5, numpy.float32)
    outputs = program.run("random:1", {"add.x": x, "x": -x, "decay.y": y}, entry="add,decay,decay")
    assert numpy.array_equal(outputs["before"], numpy.full(13, 0.75))
    with pytest.raises(tp_mlir.InputError, match="missing input 'y' .* of entry 'decay'"):
        program.run("random:1", {"x": x}, entry="add,decay")


def test_states_of_a_checkpoint(tmp_path):
    (tmp_path / "p.mlir").write_text("""
        tp.mesh @mesh <["tp"=2]>
        tp.state @s : tensor<3x4xf32> parameter "l.{i}.w" sharding <@mesh, [{}, {"tp"}]>
        tp.state @sum : tensor<4xf32> parameter "b" sharding <@mesh, [{}], partial sum {"tp"}>
        func.func @main(%s: tensor<3x4xf32> {tp.state = @s}, %sum: tensor<4xf32> {tp.state = @sum})
            -> (tensor<3x4xf32> {tp.state = @s}, tensor<4xf32> {tp.state = @sum}) {
          %0 = arith.addf %s, %s : tensor<3x4xf32>
          %1 = arith.addf %sum, %sum : tensor<4xf32>
          return %0, %1 : tensor<3x4xf32>, tensor<4xf32>
        }""")
    layers = numpy.arange(12, dtype=numpy.float16).reshape(3, 4)
    bias = numpy.arange(4, dtype=numpy.float32)
    save_file({**{f"l.{i}.w": layers[i] for i in range(3)}, "b": bias}, tmp_path / "w.safetensors")
    assert "2 steps: equal" in tp_mlir.verify(tmp_path / "p.mlir", mesh=None)
    program = tp_mlir.compile(tmp_path / "p.mlir")
    with program.open(tmp_path / "w.safetensors") as session:
        for _ in range(2):
            assert numpy.array_equal(session.states()["s"], layers)
            session.run({}, repeat=3)
            assert numpy.array_equal(session.states()["s"], 8 * layers)
            assert numpy.array_equal(session.states()["sum"], 8 * bias)
            session.reset_states()


def test_session_lets_others_run(program):
    """A thread of Python goes on while a step runs."""
    inputs, turns = load_file(FIXTURE / "inputs.safetensors"), []
    with program.open(FIXTURE) as session:
        stop = threading.Event()

        def turn():
            while not stop.is_set():
                turns.append(1)
                time.sleep(0)

        thread = threading.Thread(target=turn)
        thread.start()
        before = len(turns)
        session.run(inputs, repeat=50)
        after = len(turns)
        stop.set()
        thread.join()
    assert after > before + 10


def test_versions(capsys, monkeypatch):
    """The commands say which package this is, and what the compiler says; programs of another
    commit are told of once."""
    from tp_mlir import _version, chat, plan, quantize, serve, train
    setup = (FIXTURE.parents[2] / "python/pyproject.toml").read_text()
    assert f'version = "{_version.VERSION}"' in setup
    for name, main in (("tp-chat", lambda words: chat.main(None, words)), ("tp-plan", plan.main),
                       ("tp-quantize", quantize.main),
                       ("tp-serve", lambda words: serve.main(None, words)),
                       ("tp-train", train.main)):
        with pytest.raises(SystemExit) as left:
            main(["--version"])
        assert not left.value.code
        assert re.fullmatch(name + r": tp-mlir 0\.1\.0, of a checkout\n"
                            r"tp-compile: tp-mlir 0\.1\.0 \(commit [0-9a-f]+\), LLVM \d+\.\S+, \S+\n",
                            capsys.readouterr().out)
    path = _tools.find("tp-run")
    commit = re.search(r"\(commit (\w+)\)", _tools.run("tp-run", ["--version"]))[1]
    for own, said in ((commit, ""), ("0123456789ab", (
            f"tp_mlir: this package is of commit 0123456789ab, and {path} of {commit}: expected both of "
            "one checkout (scripts/setup installs the package again, ninja makes the programs)\n"))):
        monkeypatch.setattr(_version, "commit", lambda own=own: own)
        _version.check.cache_clear()
        _version._told.clear()
        # Once for all programs of a build.
        for tool in ("tp-run", "tp-compile", "tp-run", "tp-import"):
            _tools.find(tool)
        assert capsys.readouterr().err == said
    _version.check.cache_clear()


def test_packaging(tmp_path):
    """A module that is gone does not come along from an earlier build."""
    folder = tmp_path / "python"
    shutil.copytree(FIXTURE.parents[2] / "python", folder,
                    ignore=shutil.ignore_patterns("build", "__pycache__", "*.egg-info"))
    stale = folder / "build/lib/tp_mlir/gone.py"
    stale.parent.mkdir(parents=True)
    stale.write_text("")
    subprocess.run([sys.executable, "setup.py", "-q", "build_py"], cwd=folder, check=True,
                   capture_output=True)
    assert not stale.exists() and (stale.parent / "chat.py").is_file()
    assert (stale.parent / "_commit.py").read_text().endswith('COMMIT = ""\n')


def keys_of(value, named=()):
    """All keys of a JSON value, but those of objects under `named`, which are names."""
    if isinstance(value, list):
        return set().union(*(keys_of(one, named) for one in value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(
        keys_of(list(inner.values()) if key in named and isinstance(inner, dict) else inner, named)
        for key, inner in value.items()))


def test_json_keys_are_documented(program, tmp_path):
    """docs/Tools.md, and the pages that it names for them, have every key of what tools print."""
    docs = FIXTURE.parents[2] / "docs"
    known = set()
    for page in ("Tools", "Ledger", "RuntimeABI"):
        known |= set(re.findall(r"[`{ ,(]([a-z][a-zA-Z_]*)\??(?=[`}, ])",
                                (docs / f"{page}.md").read_text(encoding="utf-8")))
    asked = ["--mesh", "tp=2", "--seq", 8]
    printed = [
        (_tools.run("tp-compile", [FIXTURE, *asked, "--explain=json", "-o", tmp_path / "a.tpa"]),
         ("totals",)),
        (_tools.run("tp-verify", [FIXTURE, *asked, "--report=json"]), ()),
        (_tools.run("tp-inspect", ["--json", program.path]), ("entries",))]
    found = [keys_of(json.loads(text), named) for text, named in printed]
    for workload in (Workload("serve", context=32, users=2), Workload("train", seq=32, batch=2, optimizer="adamw"),
                     Workload("run", seq=32, batch=2)):
        report = plan(FIXTURE, workload, "h100", degrees=[2, 7], plans=["megatron"])
        found.append(keys_of(report, ("sources", "efficiency", "traffic")))
    for keys in found:
        assert len(keys) > 9 and not keys - known
