"""Gradients and steps of training, compiled for a device, without a card.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Gradients of fixtures against PyTorch's, with the CPU's tolerances (training.py); steps against
the host's, while the learning rate, its correction, the data and what dropout drops change: a
number that a graph had kept would show, as a run at a constant rate does. Each entry that ran is one graph, and
every call of it a launch. A few fixtures; TRAINING=all in the environment: all.
"""

import json
import os
import re
import shutil
import subprocess

import numpy
import pytest
import training
from device import BIN, FIXTURES, Artifact
from reference import fixtures
from safetensors.numpy import load_file, save_file

from tp_mlir import train as tp_train

ALL = os.environ.get("TRAINING") == "all"
GRADIENTS = {("gpt2", 1, "megatron", "f32"), ("llama-gqa", 2, "megatron-sp", "f32"),
             ("qwen3", 2, "megatron", "bf16"), ("mixtral", 2, "megatron-sp", "f32"),
             ("deepseek-v3", 1, "megatron", "bf16")}
STEPS, ACCUMULATE = 5, 2


def cases():
    for folder, facts in fixtures():
        if not (folder / "gradients.json").exists():
            continue
        for degree in (1, 2, 4) if ALL else (1, 2):
            for plan in ("megatron", "megatron-sp") if degree > 1 else ("megatron",):
                allowed = facts["degrees" if plan == "megatron" else "degrees_sp"]
                for dtype in ("f32", "bf16"):
                    name = (folder.name, degree, plan, dtype)
                    if degree in allowed and (ALL or name in GRADIENTS):
                        yield pytest.param(folder, facts, *name[1:], id="-".join(map(str, name)))


def tp_run(made, weights, *options, **environment):
    done = subprocess.run([BIN / "tp-run", made.folder / "model.tpa", "--weights", weights, *options],
                          env=made.environment(**environment), capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize("folder, facts, degree, plan, dtype", cases())
def test_gradients(folder, facts, degree, plan, dtype, tmp_path):
    made = Artifact(tmp_path, folder, degree=degree, plan=plan, batch=facts["batch"],
                    seq=facts["seq"], dtype=dtype, train="adamw")
    inputs = load_file(folder / "inputs.safetensors")
    inputs["labels"] = training.labels(folder)
    save_file(inputs, tmp_path / "inputs.safetensors")
    tp_run(made, folder, "--input", tmp_path / "inputs.safetensors", "--gradients",
           tmp_path / "gradients.safetensors")
    gradients = load_file(tmp_path / "gradients.safetensors")
    loss = float(gradients.pop("loss"))
    training.check_gradients(gradients, loss, folder, dtype)


def train(program, folder, tmp_path, schedule, *options, environment=None):
    """The log's losses and norms, and standard error."""
    log = tmp_path / "log.jsonl"
    done = subprocess.run(
        [BIN / "tp-run", program, "--weights", folder, "--train", training.DATA, "--steps",
         str(STEPS), "--accumulate", str(ACCUMULATE), "--order", "sequential", "--lr", "0.02",
         "--schedule", schedule, "--log", log, *options],
        env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return numpy.array([[line["loss"], line["grad_norm"]] for line in lines]), done.stderr


@pytest.mark.parametrize("fixture, degree, plan, dropout", [
    ("llama-gqa", 1, "megatron", "off"), ("gpt2", 2, "megatron-sp", "residual"),
    ("granite-moe", 2, "expert", "off")])
def test_steps(fixture, degree, plan, dropout, tmp_path):
    folder = FIXTURES / fixture
    options = {"batch": training.BATCH, "seq": training.SEQ, "train": "adamw", "clip": 4,
               "dropout": dropout}
    command = [BIN / "tp-compile", folder, f"--mesh=tp={degree}", f"--plan={plan}", "-o",
               tmp_path / "host.tpa", *(f"--{name}={value}" for name, value in options.items())]
    subprocess.run(command, check=True, capture_output=True)
    schedule = "cosine:warmup=1,min=1e-3"
    wanted, _ = train(tmp_path / "host.tpa", folder, tmp_path, schedule)
    constant, _ = train(tmp_path / "host.tpa", folder, tmp_path, "constant")
    made = Artifact(tmp_path, folder, degree=degree, plan=plan, checks=False, **options)
    for seed, graphs in ((1, 1), (2, 1), (3, 0)):
        found, errors = train(
            tmp_path / "model.tpa", folder, tmp_path, schedule, "--save", tmp_path / "saved",
            "--overwrite",
            environment=made.environment(TP_FAKE_CUDA_SEED=seed, TPRT_CUDA_GRAPHS=graphs,
                                         TP_FAKE_CUDA_LOG=1))
        assert numpy.abs(found / wanted - 1).max() <= 1e-4
        launches = sorted(map(int, re.findall(r"a graph of \d+ nodes, launched (\d+) times",
                                              errors)))
        ran = [count for count in launches if count]
        assert ran == sorted([STEPS, STEPS * ACCUMULATE] * degree if graphs else [])
        # A save copies what it writes, once; of each step there are a few numbers.
        copied = int(re.search(r"(\d+) bytes were copied to the host", errors).group(1))
        written = sum(file.stat().st_size for file in (tmp_path / "saved").glob("*.safetensors"))
        assert degree > 1 or copied <= 1.01 * written + 1000 * STEPS
    # Layers come out of their stacks as they went in.
    tp_run(made, folder, "--train", training.DATA, "--steps", "0", "--lr", "1", "--save",
           tmp_path / "zero")
    saved = load_file(tmp_path / "zero" / "model.safetensors")
    for name, values in load_file(folder / "model.safetensors").items():
        assert numpy.array_equal(saved[name], values), name
    # A rate that is kept, or not the step's, is another run.
    assert numpy.abs(constant / wanted - 1).max() > 1e-2


def test_tp_train(tmp_path, monkeypatch):
    """tp-train --target cuda: the losses of the CPU, and of a run that goes on on the other."""
    model = tmp_path / "model"
    model.mkdir()
    for path in (FIXTURES / "text-model").glob("*.json"):
        shutil.copy(path, model)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(
        {**config, "num_hidden_layers": 1, "hidden_size": 64, "dtype": "float32"}))
    (model / "text").write_text("The quick brown fox jumps over the lazy dog.\n" * 40)
    # The same options give the same kernels.
    made = Artifact(tmp_path, model, degree=2, checks=False, train="adamw", batch=4, seq=16, clip=1)

    def losses(out, *more):
        assert tp_train.main([str(word) for word in (
            model, model / "text", "-o", tmp_path / out, "--mesh", "tp=2", "--seq", 16, "--batch",
            4, "--lr", 3e-3, "--schedule", "constant", *more)]) == 0
        lines = (tmp_path / out / "train.jsonl").read_text().splitlines()
        return numpy.array([json.loads(line)["loss"] for line in lines])

    wanted = losses("host", "--steps", 4)
    for name, value in made.environment().items():
        monkeypatch.setenv(name, value)
    found = losses("device", "--steps", 2, "--target", "cuda:ptx")
    assert numpy.abs(found / wanted[:2] - 1).max() <= 1e-4
    found = losses("device", "--steps", 4, "--resume")
    assert numpy.abs(found / wanted - 1).max() <= 1e-4
