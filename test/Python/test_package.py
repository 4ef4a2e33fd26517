"""The Python package: arrays in and out, the tools' errors as exceptions.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import pathlib

import numpy
import pytest
from safetensors.numpy import load_file

import tp_mlir

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
    with pytest.raises(tp_mlir.InputError, match="no-such-plan"):
        tp_mlir.compile(FIXTURE, mesh="tp=2", plan="no-such-plan")
    with pytest.raises(tp_mlir.UsageError):
        tp_mlir.compile(FIXTURE, batch="many")


def test_missing_model(tmp_path):
    with pytest.raises(tp_mlir.InputError, match="config.json"):
        tp_mlir.compile(tmp_path)


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
