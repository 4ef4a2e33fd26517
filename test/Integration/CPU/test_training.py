"""Gradients and steps of training against PyTorch's.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

gradients.json and training.json beside a checkpoint say what PyTorch makes of it
(scripts/make-fixtures); training.py how near a gradient must be. Losses must agree to 1e-4 of
PyTorch's over a hundred steps, the weights after them to 3e-4 of their norms, GPT-2's biases of
keys to 1e-3: their gradient is rounding alone, of which AdamW makes steps. In bf16 losses may be 1.6 times as
far from f32's as PyTorch's are, a root mean square over a hundred steps: these are no hundred
draws, as one step leads to the next. Without f32 masters they would be 10 times as far. A few runs
that have every degree, plan and family among them; TRAINING=all in the environment: all.
"""

import json
import os

import numpy
import pytest
import training
from reference import FIXTURES, PLANS, fixtures
from safetensors.numpy import load_file

import tp_mlir
from tp_mlir import _tools

ALL = os.environ.get("TRAINING") == "all"
# Of these the degrees do not divide the heads, some of which are padding.
UNEVEN = {"llama-gqa": (3, 6), "qwen2-14-2": (4,), "gpt2": (5,), "deepseek-v2": (3,)}
GRADIENTS = {("llama-gqa", "tp=6", "megatron", "f32"), ("qwen2-14-2", "tp=4", "megatron", "f32"),
             ("gpt2", "tp=5", "megatron", "f32"), ("deepseek-v2", "tp=3", "megatron", "f32"),
             ("gpt2", "tp=3", "megatron-sp", "f32"), ("llama-gqa", "tp=8", "megatron", "f32"),
             ("llama-mqa", "tp=4", "megatron-sp", "f32"), ("qwen2", "tp=1", "megatron", "f32"),
             ("mistral-window", "dp=2,tp=2", "megatron-sp", "f32"),
             ("mixtral", "dp=2,tp=2", "megatron-sp", "f32"),
             ("mixtral", "tp=4", "expert", "f32"),
             ("granite-moe", "tp=2", "expert", "f32"),
             ("deepseek-v2", "tp=2", "expert-sp", "f32"),
             ("qwen2-moe", "tp=1", "megatron", "f32"),
             ("qwen3-moe", "tp=2", "megatron-sp", "bf16"),
             ("deepseek-v3", "tp=2", "megatron", "bf16"),
             ("qwen3", "dp=2,tp=2", "megatron-sp", "bf16")}
STEPS = {("llama-gqa", "tp=3", "megatron", "f32"), ("gpt2", "tp=3", "megatron", "f32"), ("llama-gqa", "dp=2,tp=4", "megatron-sp", "f32"),
         ("qwen2", "tp=2", "megatron-sp", "f32"), ("llama-gqa", "tp=2", "megatron", "bf16")}


def meshes(folder, facts, plan, batch, seq):
    degrees = [degree for degree in (*facts["degrees"], *UNEVEN.get(folder.name, ()))
               if not plan.endswith("-sp") or seq % degree == 0]
    for degree in (1, 2, 3, 4, 5, 6, 8):
        if degree in degrees:
            yield f"tp={degree}"
    for degree in (2, 4):
        if degree in degrees and batch % 2 == 0:
            yield f"dp=2,tp={degree}"


def cases(file, few, seq=None):
    found = [(folder, facts, mesh, plan, dtype) for folder, facts in fixtures()
             if (folder / file).exists()
             for plan in (*PLANS, *(["expert", "expert-sp"] if "experts" in facts else []))
             for mesh in meshes(folder, facts, plan, facts["batch"], seq or facts["seq"])
             for dtype in ("f32", "bf16")]
    named = {(folder.name, *rest): (folder, facts, *rest) for folder, facts, *rest in found}
    assert "FIXTURE" in os.environ or few <= set(named)
    return [pytest.param(*case, id="-".join(name)) for name, case in named.items()
            if ALL or name in few]


@pytest.mark.parametrize("folder, facts, mesh, plan, dtype", cases("gradients.json", GRADIENTS))
def test_gradients(folder, facts, mesh, plan, dtype):
    program = tp_mlir.compile(folder, mesh=mesh, plan=plan, batch=facts["batch"],
                              seq=facts["seq"], dtype=dtype, train="adamw")
    inputs = load_file(folder / "inputs.safetensors")
    inputs["labels"] = training.labels(folder)
    loss, gradients = program.gradients(folder, inputs)
    training.check_gradients(gradients, loss, folder, dtype)


@pytest.mark.parametrize("name", ["mixtral", "granite-moe"])
def test_experts_saved(name, tmp_path):
    """What is saved after no step is the checkpoint: a tensor for each expert, or one for all."""
    source = FIXTURES / name
    program = tp_mlir.compile(source, mesh="tp=2", plan="expert", seq=training.SEQ, train="adamw")
    _tools.run("tp-run", [program.path, "--weights", source, "--train", training.DATA, "--steps",
                          0, "--lr", 1, "--save", tmp_path / "saved"])
    wanted, found = (load_file(folder / "model.safetensors")
                     for folder in (source, tmp_path / "saved"))
    assert found.keys() == wanted.keys()
    assert all(numpy.array_equal(found[name], wanted[name]) for name in wanted)


def initial_weights(folder, mesh, out):
    program = tp_mlir.compile(folder, mesh=mesh, seq=training.SEQ, dtype="f32", train="sgd")
    _tools.run("tp-run", [program.path, "--weights", "init:7", "--config", folder, "--train",
                          training.DATA, "--steps", 0, "--lr", 1, "--save", out])
    return load_file(out / "model.safetensors")


@pytest.mark.parametrize("name, index, meshes", [
    ("gpt2", 0, ["tp=2"]), ("gpt2", 1, ["tp=1", "tp=3"]), ("llama-tied", 1, ["tp=1", "tp=2"]),
    ("qwen2", 1, ["tp=2"]), ("qwen3", 1, ["tp=2"])])
def test_initial_weights(name, index, meshes, tmp_path):
    """Random weights have the deviations that transformers asks for, zeros and ones where it has
    these, and are the same on any number of ranks."""
    source = FIXTURES / name
    wanted = json.loads((source / "initial.json").read_text())[index]
    folder = tmp_path / "config"
    folder.mkdir()
    config = json.loads((source / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **wanted["changes"]}))
    found, *others = [initial_weights(folder, mesh, tmp_path / mesh) for mesh in meshes]
    for other in others:
        assert all(numpy.array_equal(other[name], found[name]) for name in found)
    assert found.keys() == wanted["deviations"].keys()
    for name, deviation in wanted["deviations"].items():
        values = found[name].astype(numpy.float64)
        if not deviation:
            assert (values == (1 if deviation is None else 0)).all(), name
            continue
        # Of tables that are looked up; a head that is none of them has no such row.
        is_table = any(word in name for word in ("embed_tokens", "wte"))
        if is_table and wanted["zero_row"] is not None:
            assert (values[wanted["zero_row"]] == 0).all(), name
            values = numpy.delete(values, wanted["zero_row"], 0)
        # Five times what chance may do to a mean, and to a deviation.
        assert abs(values.mean()) <= 5 * deviation / values.size ** 0.5, name
        assert abs(values.std() / deviation - 1) <= 5 / (2 * values.size) ** 0.5, name


@pytest.mark.parametrize("folder, facts, mesh, plan, dtype",
                         cases("training.json", STEPS, training.SEQ))
def test_steps(folder, facts, mesh, plan, dtype, tmp_path):
    wanted = json.loads((folder / "training.json").read_text())
    source = training.checkpoint(folder, tmp_path)
    program = tp_mlir.compile(source, mesh=mesh, plan=plan, batch=training.BATCH,
                              seq=training.SEQ, dtype=dtype, train="adamw",
                              clip=training.CLIP[folder.name])
    _tools.run("tp-run", [
        program.path, "--weights", source, "--train", training.DATA, "--steps", training.STEPS,
        "--accumulate", training.ACCUMULATE, "--order", "sequential", "--lr", training.LR,
        "--schedule", f"cosine:warmup={training.WARMUP},min={training.MIN_LR}",
        "--betas", ",".join(map(str, training.BETAS)), "--eps", training.EPS,
        "--weight-decay", training.WEIGHT_DECAY, "--log", tmp_path / "log.jsonl",
        "--save", tmp_path / "saved"])
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in log] == list(range(1, training.STEPS + 1))
    assert [line["tokens"] for line in log] == wanted["tokens"]
    rates = [training.rate(step) for step in range(training.STEPS)]
    assert [line["lr"] for line in log] == pytest.approx(rates, rel=1e-6)
    found = {name: numpy.array([line[name] for line in log]) for name in ("loss", "grad_norm")}
    losses = numpy.array(wanted["losses"])
    if dtype == "f32":
        assert numpy.abs(found["loss"] / losses - 1).max() <= 1e-4
        assert numpy.abs(found["grad_norm"] / wanted["norms"] - 1).max() <= 1e-3
        weights = load_file(tmp_path / "saved" / "model.safetensors")
        assert set(weights) == set(wanted["weights"])
        for name, (norm, total) in wanted["weights"].items():
            ours = training.digest(name, weights[name])
            bound = 1e-3 if name.endswith("c_attn.bias") else 3e-4
            assert ours == pytest.approx([norm, total], abs=bound * norm), name
    else:
        ours, theirs = (numpy.linalg.norm(values - losses)
                        for values in (found["loss"], wanted["bf16_losses"]))
        assert ours <= 1.6 * theirs, f"{ours / theirs:.2f} times as far as PyTorch's bf16"
