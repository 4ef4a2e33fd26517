"""Steps of training whose loss or norm is not finite: as if they had not been.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The program of test/Differentiate/train.test, whose inputs may be any numbers. Its weights lie on
two ranks, so that one alone has the infinity.
"""

import contextlib
import json
import math
import pathlib
import subprocess
import sys

import numpy
import pytest
from safetensors.numpy import load_file, save_file

import tp_mlir
from tp_mlir import _tools

STEP = pathlib.Path(__file__).resolve().parents[1] / "Differentiate/Inputs/step.py"
PLAN = {"version": 1, "rules": [{"parameter": "m", "dim": 1, "axes": ["tp"]},
                                {"parameter": "v", "dim": 0, "axes": ["tp"]}]}
SETTINGS = {"adamw": {"betas": (0.9, 0.99), "weight_decay": 0.1},
            "sgd": {"momentum": 0.9, "weight_decay": 0.1}}
RNG = numpy.random.default_rng(5)


def inputs(**more):
    """A micro-batch of three tokens."""
    return {"x": RNG.standard_normal((2, 3), numpy.float32),
            "c": RNG.standard_normal((2, 4), numpy.float32), "count": numpy.float32(3), **more}


def only(value, column=3):
    """A `c` with that value in one column: a gradient of one rank alone."""
    c = RNG.standard_normal((2, 4), numpy.float32)
    c[:, column] = value
    return c


@pytest.fixture(scope="module", params=[("adamw", 0.5), ("sgd", 0.0)], ids=["adamw", "sgd"])
def opened(request, tmp_path_factory):
    """A function that opens a Trainer, on one rank and on two."""
    optimizer, clip = request.param
    folder = tmp_path_factory.mktemp("skipped")
    made = subprocess.run([sys.executable, STEP, "program", optimizer, str(clip)], check=True,
                          capture_output=True, text=True)
    (folder / "step.mlir").write_text(made.stdout)
    (folder / "plan.json").write_text(json.dumps(PLAN))
    (folder / "weights").mkdir()
    m = RNG.standard_normal((3, 4), numpy.float32)
    v = RNG.standard_normal(4, numpy.float32)
    save_file({"m": m, "v": v}, folder / "weights" / "model.safetensors")
    programs = {ranks: tp_mlir.compile(folder / "step.mlir", mesh=f"tp={ranks}",
                                       plan=folder / "plan.json") for ranks in (1, 2)}
    return lambda ranks, **more: programs[ranks].train(folder / "weights", 0.05,
                                                       **SETTINGS[optimizer], **more)


BAD = {"loss and gradients infinite": {"c": only(math.inf)},
       "no numbers": {"c": only(math.nan, 0)},
       "norm that overflows, of a finite loss": {"c": only(1e25)},
       "loss that overflows": {"c": only(1e38), "x": numpy.full((2, 3), 1e3, numpy.float32)},
       "nothing else than tokens infinite": {"x": numpy.full((2, 3), math.inf, numpy.float32)}}


@pytest.mark.parametrize("ranks", [1, 2])
def test_as_if_they_had_not_been(opened, ranks):
    """Bit for bit, weights, moments, masters and the number of steps, whatever it is that is not
    finite, and though the micro-batches beside it are good."""
    good = [inputs() for _ in range(4)]
    with opened(ranks) as one, opened(ranks) as other:
        for number, batch in enumerate(good):
            wanted = one.step(batch)
            for name, bad in BAD.items():
                before = other.states()
                made = other.step(inputs(), inputs(**bad), inputs())
                assert made.skipped and made.tokens == 9, name
                assert not (math.isfinite(made.loss) and math.isfinite(made.grad_norm)), name
                assert other.steps == number, name
                after = other.states()
                for state, value in before.items():
                    assert numpy.array_equal(after[state], value), (name, state)
                other._in_a_row = 0  # of one kind after the other there may be many
            made = other.step(batch)
            assert not made.skipped and (made.loss, made.grad_norm) == (wanted.loss,
                                                                        wanted.grad_norm)
        left, right = one.states(), other.states()
        assert all(numpy.array_equal(left[name], right[name]) for name in left)
        assert not any(right[name].any() for name in right if name.startswith("grad:"))
        assert (one.skipped, other.skipped) == (0, len(good) * len(BAD))
        assert one.steps == other.steps == len(good)


def test_too_many(opened):
    with opened(2, max_skips=2) as trainer:
        before = trainer.weights()
        for _ in range(2):
            assert trainer.step(inputs(c=only(math.nan))).skipped
        assert not trainer.step(inputs()).skipped
        for _ in range(2):
            assert trainer.step(inputs(c=only(math.nan))).skipped
        with pytest.raises(tp_mlir.NotFiniteError) as error:
            trainer.step(inputs(c=only(math.nan)))
        assert str(error.value) == (
            "step 2: the loss is nan, the gradient's norm nan: expected finite numbers; 3 steps in "
            "a row were skipped, and at most 2 may be (max_skips)")
        assert isinstance(error.value, tp_mlir.InputError) and trainer.skipped == 5
        # It is as usable as before.
        assert not trainer.step(inputs()).skipped and trainer.steps == 2
        assert any((trainer.weights()[name] != before[name]).any() for name in before)
    with opened(1, max_skips=0) as trainer:
        with pytest.raises(tp_mlir.NotFiniteError):
            trainer.step(inputs(c=only(math.inf)))
    for wrong in (-1, 1.5, "2"):
        with pytest.raises(tp_mlir.InputError) as error:
            opened(1, max_skips=wrong)
        assert str(error.value) == (
            f"max_skips: expected a whole number of at least 0, got {wrong!r}")


def test_weights_that_are_no_numbers(tmp_path):
    """They are named at the first step, as no later one can be better."""
    source = STEP.parents[2] / "fixtures/llama-gqa"
    weights = load_file(source / "model.safetensors")
    norm = weights["model.norm.weight"].copy()
    norm[3] = math.nan
    save_file({**weights, "model.norm.weight": norm}, tmp_path / "model.safetensors")
    ids = numpy.arange(6, 14, dtype=numpy.int32)[None]
    program = tp_mlir.compile(source, train="sgd", mesh="tp=2", seq=8)
    with program.train(tmp_path, lr=1e-3) as trainer:
        with pytest.raises(tp_mlir.NotFiniteError) as error:
            trainer.step({"input_ids": ids, "labels": ids})
    assert str(error.value) == (
        "step 1: the loss is nan, the gradient's norm nan: expected finite numbers; the weights "
        f"hold values that are not finite: 'model.norm.weight' of "
        f"'{tmp_path / 'model.safetensors'}' (1 NaN of 64)")


@pytest.mark.parametrize("options", [
    ("--mesh", "dp=2", "--shard-optimizer", "dp", "--dtype", "bf16"),
    ("--mesh", "dp=2,tp=2", "--plan", "megatron-sp")], ids=["zero", "sequence"])
def test_one_row_of_the_table(options, tmp_path):
    """An infinity that the rows of one rank meet: all ranks skip the step, whatever is cut."""
    source = STEP.parents[2] / "fixtures/llama-gqa"
    weights = load_file(source / "model.safetensors")
    table = weights["model.embed_tokens.weight"].copy()
    table[5, 0] = math.inf
    save_file({**weights, "model.embed_tokens.weight": table}, tmp_path / "model.safetensors")
    _tools.run("tp-compile", [source, "--train", "adamw", "--clip", 1, "--batch", 2, "--seq", 8,
                              *options, "-o", tmp_path / "p.tpa"])
    settings = {"decay": .99, "step_size": .1, "one_minus_beta1": .1, "beta2": .95,
                "one_minus_beta2": .05, "correction": .2, "eps": 1e-8}

    def states(entries, token, more):
        ids = numpy.arange(6, 22).reshape(2, 8)
        ids[1, 3] = token
        save_file({"input_ids": ids, "labels": ids + 1,
                   **{name: numpy.array(x, numpy.float32) for name, x in more.items()}},
                  tmp_path / "inputs.safetensors")
        # The states are written, and the infinity is named.
        with (pytest.raises(tp_mlir.InputError, match="embed_tokens.weight' of .* .1 infinite of ")
              if token == 5 else contextlib.nullcontext()):
            _tools.run("tp-run", [tmp_path / "p.tpa", "--weights", tmp_path, "--entry", entries,
                                  "--input", tmp_path / "inputs.safetensors", "--states",
                                  tmp_path / "states.safetensors"])
        return load_file(tmp_path / "states.safetensors")

    first = states("main", 5, {})
    bad, good = (states("gradient,update", token, settings) for token in (5, 7))
    for name, value in first.items():
        assert numpy.array_equal(value, bad[name], equal_nan=True), name
    assert any(not numpy.array_equal(value, good[name]) for name, value in first.items())
