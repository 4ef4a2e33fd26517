"""Training in process: PyTorch's losses, and updates done once more in NumPy.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import math
import os
import secrets
import shutil
import signal
import subprocess
import sys

import numpy
import pytest
import training
from real_server import children
from reference import FIXTURES

import tp_mlir

FOLDER = FIXTURES / "qwen2"
RATE = 3e-3


def compiled(**options):
    return tp_mlir.compile(FOLDER, mesh="tp=2", batch=training.BATCH, seq=training.SEQ, **options)


@pytest.fixture(scope="module")
def adamw():
    return compiled(train="adamw", clip=training.CLIP["qwen2"])


@pytest.fixture(scope="module")
def sgd():
    return compiled(train="sgd", momentum=True)


def batch(step=0):
    ids, targets = next(iter(training.batches(step)))
    return {"input_ids": ids, "targets": targets}


def close(found, wanted, name):
    """To a few roundings of the largest value."""
    assert found.shape == wanted.shape
    worst = numpy.abs(found - wanted).max()
    assert worst <= 4e-7 * max(numpy.abs(wanted).max(), 1e-30), f"{name} is off by {worst}"


def test_steps(adamw):
    wanted = json.loads((FOLDER / "training.json").read_text())
    with adamw.train(FOLDER, lambda number: training.rate(number - 1), betas=training.BETAS,
                     eps=training.EPS, weight_decay=training.WEIGHT_DECAY) as trainer:
        for step in range(6):
            made = trainer.step(*({"input_ids": ids, "targets": targets}
                                  for ids, targets in training.batches(step)))
            assert made.loss == pytest.approx(wanted["losses"][step], rel=1e-4)
            assert made.grad_norm == pytest.approx(wanted["norms"][step], rel=1e-3)
            assert made.tokens == wanted["tokens"][step]
        assert trainer.steps == 6


def test_update_of_adamw(adamw):
    settings = {"betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.5}
    clip = training.CLIP["qwen2"]
    with adamw.train(FOLDER, RATE, **settings) as trainer:
        for number in (1, 2):
            trainer.accumulate(batch(number))
            before, gradients = trainer.states(), trainer.gradients()
            assert set(gradients) == set(trainer.weights())
            norm = math.sqrt(sum((g.astype(float) ** 2).sum() for g in gradients.values()))
            made = trainer.update()
            assert made.grad_norm == pytest.approx(norm, rel=1e-6)
            assert made.loss == pytest.approx(before["loss_sum"] / before["tokens"], rel=1e-6)
            after = trainer.states()
            assert not after["tokens"] and not after["loss_sum"]
            for name, g in gradients.items():
                g = g.astype(float) * min(1, clip / (norm + 1e-6))
                m = 0.8 * before[f"exp_avg:{name}"] + 0.2 * g
                v = 0.9 * before[f"exp_avg_sq:{name}"] + 0.1 * g * g
                # A layer's vector is a row of the stack.
                is_vector = before[name].ndim == 1 + ("{i}" in name)
                p = before[name] * (1 if is_vector else 1 - RATE * 0.5)
                p = p - RATE / (1 - 0.8 ** number) * m / (
                    numpy.sqrt(v) / math.sqrt(1 - 0.9 ** number) + 1e-3)
                close(after[name], p, name)
                close(after[f"exp_avg:{name}"], m, name)
                close(after[f"exp_avg_sq:{name}"], v, name)
                assert not after[f"grad:{name}"].any()


def test_update_of_sgd(sgd):
    with sgd.train(FOLDER, RATE, weight_decay=0.25, momentum=0.75) as trainer:
        for number in (1, 2):
            trainer.accumulate(batch(number))
            before, gradients = trainer.states(), trainer.gradients()
            trainer.update()
            after = trainer.states()
            for name, g in gradients.items():
                is_vector = before[name].ndim == 1 + ("{i}" in name)
                g = g + (0 if is_vector else 0.25) * before[name].astype(float)
                g = 0.75 * before[f"momentum:{name}"] + g
                close(after[f"momentum:{name}"], g, name)
                close(after[name], before[name] - RATE * g, name)


def test_nothing_counts(adamw):
    ignored = {**batch(), "targets": numpy.full((training.BATCH, training.SEQ), -100)}
    with adamw.train(FOLDER, RATE) as trainer:
        before = trainer.states()
        made = trainer.step(ignored, ignored)
        assert math.isnan(made.loss) and made.tokens == 0 and trainer.steps == 0
        after = trainer.states()
        assert all(numpy.array_equal(after[name], before[name]) for name in before)
        assert math.isnan(trainer.evaluate(ignored)[0])


def test_batches(adamw):
    rows = numpy.concatenate([batch()["input_ids"], [[5], [6]]], axis=1)
    given = {"input_ids": rows[:, :-1], "targets": rows[:, 1:]}
    mask = numpy.ones_like(given["input_ids"])
    mask[1, 4:] = 0
    targets = numpy.where(mask, given["targets"], -100)
    with adamw.train(FOLDER, RATE) as trainer:
        whole = trainer.evaluate(rows)
        assert whole == trainer.evaluate(given) and whole[1] == rows[:, 1:].size
        # A mask is of its batch alone.
        padded = trainer.evaluate({**given, "targets": targets, "attention_mask": mask})
        assert padded[1] == training.SEQ + 4
        assert trainer.evaluate(rows) == whole
        trainer.accumulate({**given, "targets": targets, "attention_mask": mask})
        trainer.accumulate(rows)
        states = trainer.states()
        assert states["tokens"] == whole[1] + padded[1]
        assert states["loss_sum"] == pytest.approx(whole[0] * whole[1] + padded[0] * padded[1],
                                                   rel=1e-6)


def test_labels(adamw):
    """`labels` are the tokens themselves, as in transformers; -100 stays where it is."""
    ids = batch()["input_ids"]
    labels = numpy.where(numpy.arange(training.SEQ) % 5 == 2, -100, ids)
    targets = numpy.full_like(ids, -100)
    targets[:, :-1] = labels[:, 1:]
    with adamw.train(FOLDER, RATE) as trainer:
        loss, tokens = trainer.evaluate({"input_ids": ids, "targets": targets})
        assert tokens == 2 * 12
        # Also behind a batch that has the other name, and of another integer type.
        for kind in (numpy.int64, numpy.int32):
            assert trainer.evaluate({"input_ids": ids, "labels": labels.astype(kind)}) == (loss, tokens)
        assert trainer.evaluate({"input_ids": ids, "targets": targets}) == (loss, tokens)
        whole = numpy.concatenate([ids, ids[:, -1:]], axis=1)
        assert trainer.evaluate(whole) != (loss, tokens)
        made = trainer.step({"input_ids": ids, "labels": labels})
        assert (made.loss, made.tokens) == (pytest.approx(loss, rel=1e-6), tokens)
        with pytest.raises(tp_mlir.InputError) as error:
            trainer.evaluate({"input_ids": ids, "labels": labels, "targets": targets})
        assert str(error.value) == (
            "inputs 'targets' and 'labels': expected one of them: 'labels' are the tokens' own, "
            "'targets' those of the tokens that follow")
    # The loss alone, by files: entry main of tp-run.
    found = adamw.run(FOLDER, {"input_ids": ids, "labels": labels}, entry="main")
    assert found["loss_sum"] == pytest.approx(loss * tokens, rel=1e-6)
    ours, by_labels = adamw.gradients(FOLDER, {"input_ids": ids, "labels": labels})
    _, by_targets = adamw.gradients(FOLDER, {"input_ids": ids, "targets": targets})
    assert ours == pytest.approx(loss, rel=1e-6)
    assert all(numpy.array_equal(by_labels[name], by_targets[name]) for name in by_targets)


def test_refusals(adamw, sgd):
    with adamw.train(FOLDER, RATE) as trainer:
        before = trainer.states()
        for wrong, words in (
                ((), "step: expected at least one batch, got none"),
                ((batch(), {"input_ids": batch()["input_ids"]}),
                 "batch: expected an array 'labels', got input_ids"),
                ((batch(), numpy.zeros((2, 18), int)),
                 "batch: expected 'input_ids' of shape (2, 16), got (2, 17)"),
                ((numpy.zeros(5, int),), "batch: expected rows of token ids, or a dict of arrays, "
                                         "got an array of shape (5,)")):
            with pytest.raises(tp_mlir.InputError) as error:
                trainer.step(*wrong)
            assert str(error.value) == words
        after = trainer.states()
        assert all(numpy.array_equal(after[name], before[name]) for name in before)
    for settings, words in (
            ({"momentum": 0.9}, "momentum: the program's optimizer is adamw, which takes lr, betas, "
                                "eps, weight_decay"),
            ({"betas": (0.9, 1)}, "betas: expected two numbers below 1, got (0.9, 1)"),
            ({"betas": 0.9}, "betas: expected 2 finite and not negative, got 0.9"),
            ({"eps": -1}, "eps: expected 1 finite and not negative, got -1"),
            ({"lr": math.nan}, "lr: expected 1 finite and not negative, got nan")):
        with pytest.raises(tp_mlir.InputError) as error:
            adamw.train(FOLDER, **{"lr": RATE, **settings})
        assert str(error.value) == words
    with pytest.raises(tp_mlir.InputError, match="optimizer is sgd, which takes lr, weight_decay, "
                                                 "momentum"):
        sgd.train(FOLDER, RATE, eps=1e-8)
    with pytest.raises(tp_mlir.InputError) as error:
        compiled().train(FOLDER, RATE)
    assert str(error.value) == (
        "the program does not train (no entry 'gradient'; the artifact has 'main'); "
        "compile(..., train=\"adamw\") makes one that does")


def numbers(folder):
    """Tensors of a checkpoint's files, as bytes."""
    return {name: (folder / name).read_bytes()
            for name in ("model.safetensors", "optimizer.safetensors")}


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_saved_and_resumed(dtype, tmp_path):
    """Six steps are three, a checkpoint and three more, bit for bit."""
    program = compiled(train="adamw", dtype=dtype)
    with program.train(FOLDER, RATE, weight_decay=0.2, seed=5) as trainer:
        losses = [trainer.step(batch(step)).loss for step in range(3)]
        trainer.save(tmp_path / "half")
        losses += [trainer.step(batch(step)).loss for step in range(3, 6)]
        trainer.save(tmp_path / "whole")
    with program.train(FOLDER, RATE, resume=tmp_path / "half") as trainer:
        assert (trainer.steps, trainer.microsteps, trainer.seed) == (3, 3, 5)
        assert trainer.settings["weight_decay"] == 0.2
        assert [trainer.step(batch(step)).loss for step in range(3, 6)] == losses[3:]
        trainer.save(tmp_path / "half")
    assert numbers(tmp_path / "half") == numbers(tmp_path / "whole")
    # It is a checkpoint like others, with the small files.
    assert (tmp_path / "half/config.json").read_bytes() == (FOLDER / "config.json").read_bytes()
    with program.train(tmp_path / "half", RATE) as trainer:
        assert trainer.steps == 0


def test_saves_that_are_refused(sgd, tmp_path):
    with sgd.train("init:1", RATE, resume=tmp_path / "out") as trainer:
        trainer.accumulate(batch())
        with pytest.raises(tp_mlir.InputError, match=r"save: 1 micro-batches wait for update\(\), "
                                                          "which a checkpoint does not hold"):
            trainer.save(tmp_path / "out")
        trainer.update()
        trainer.save(tmp_path / "out")
        trainer.save(tmp_path / "out")
    with sgd.train("init:1", RATE) as trainer:
        with pytest.raises(tp_mlir.InputError, match="save: .*/out is there already; overwrite=True "
                                                          "replaces the checkpoint of another training"):
            trainer.save(tmp_path / "out")
        trainer.save(tmp_path / "out", overwrite=True)
        (tmp_path / "other").mkdir()
        (tmp_path / "other/mine").touch()
        with pytest.raises(tp_mlir.InputError, match="other"):
            trainer.save(tmp_path / "other", overwrite=True)
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["mine"]
    with pytest.raises(tp_mlir.InputError, match="mine|trainer.json"):
        sgd.train("init:1", RATE, resume=tmp_path / "other")
    told = json.loads((tmp_path / "out/trainer.json").read_text())
    del told["recipe"]["made_by"]
    shutil.copytree(tmp_path / "out", tmp_path / "theirs")
    (tmp_path / "theirs/trainer.json").write_text(json.dumps(told))
    with pytest.raises(tp_mlir.InputError, match="theirs is the checkpoint of a run of tp-run, which "
                       "--resume goes on with; as `weights` it begins another"):
        sgd.train("init:1", RATE, resume=tmp_path / "theirs")
    with pytest.raises(tp_mlir.InputError, match="expected tensor 'exp_avg"):
        compiled(train="adamw").train("init:1", RATE, resume=tmp_path / "out")


def test_processes(tmp_path):
    """Ranks as processes, which the program starts: the bits of those as threads, whatever is
    refused between steps."""
    program, made = compiled(train="adamw"), {}
    for backend in ("threads", "processes"):
        with program.train(FOLDER, RATE, backend, seed=5) as trainer:
            losses = [trainer.step(batch(step)).loss for step in range(2)]
            with pytest.raises(tp_mlir.InputError, match="expected an array 'labels'"):
                trainer.step({"input_ids": batch()["input_ids"]})
            wrong = batch()
            wrong["input_ids"] = wrong["input_ids"] + 10**6
            with pytest.raises(tp_mlir.InputError, match=r"input 'input_ids': expected values in"):
                trainer.step(wrong)
            trainer.save(tmp_path / backend)
        with program.train(FOLDER, RATE, backend, resume=tmp_path / backend) as trainer:
            losses += [trainer.step(batch(2)).loss, trainer.evaluate(batch(3))]
            assert len(trainer.session.stats()["ranks"]) == 2
            made[backend] = losses, {name: value.tobytes()
                                     for name, value in trainer.weights().items()}
    assert made["threads"] == made["processes"]
    assert numbers(tmp_path / "threads") == numbers(tmp_path / "processes")
    assert not children(os.getpid())


def test_a_lost_process(adamw):
    with adamw.train(FOLDER, RATE, "processes") as trainer:
        trainer.step(batch())
        rank, = children(os.getpid())
        os.kill(rank, signal.SIGKILL)
        with pytest.raises(tp_mlir.ToolError, match="rank 1 is lost: its process "):
            trainer.step(batch())


def launched(source, given=""):
    """What two ranks print, which torchrun's variables say they are; none may fail."""
    job = {"WORLD_SIZE": "2", "MASTER_ADDR": secrets.token_hex(8), "MASTER_PORT": "1"}
    ranks = [subprocess.Popen([sys.executable, "-c", source], text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, **job, "RANK": str(rank)}) for rank in (0, 1)]
    printed = [rank.communicate(given, timeout=60) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], printed
    return printed


def test_a_launcher(adamw):
    """By torchrun's variables: rank 0 has the data, and what follows is its alone."""
    told = batch()
    given = json.dumps({name: value.tolist() for name, value in told.items()})
    source = ("import json, sys, numpy, tp_mlir\n"
              f"with tp_mlir.load({str(adamw.path)!r}).train({str(FOLDER)!r}, {RATE}, 'processes') as trainer:\n"
              "    given = {name: numpy.array(value) for name, value in json.load(sys.stdin).items()}\n"
              "    print(trainer.step(given).loss)\n")
    with adamw.train(FOLDER, RATE) as trainer:
        wanted = trainer.step(told).loss
    assert launched(source, given) == [(f"{wanted}\n", ""), ("", "")]


def test_a_session_that_does_not_lead(adamw, tmp_path):
    source = ("import tp_mlir\n"
              f"with tp_mlir.load({str(adamw.path)!r}).open({str(FOLDER)!r}, 'processes') as session:\n"
              "    try:\n"
              f"        session.save_checkpoint({str(tmp_path / 'out')!r}, {str(FOLDER)!r}, {{}})\n"
              "    except tp_mlir.InputError as error:\n"
              "        print(error)\n")
    said = "only rank 0 saves a checkpoint, once it has called tprt_lead\n"
    assert [(text.endswith(said), errors) for text, errors in launched(source)] == [(True, "")] * 2
    assert not list(tmp_path.iterdir())
