"""Sequences shorter than compiled, several lengths in one artifact, padding on the left.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

What a token of a causal model gives does not depend on those behind it, so results of the
first tokens of a fixture are those of PyTorch for all of them; padded on the left they are
what PyTorch gives with position ids counted from the first token, as generate does. An
encoder is held against a program that is compiled for the very length.
"""

import numpy
import pytest
from reference import F32_TOLERANCE, FIXTURES
from safetensors.numpy import load_file

import tp_mlir

# Rotary positions, which are relative; learned ones, which are not.
CAUSAL = ["llama-gqa", "gpt2"]
LENGTHS = [8, 16, 24]


def close(got, want):
    assert got.shape == want.shape
    assert numpy.abs(got - want).max() <= F32_TOLERANCE * numpy.abs(want).max()


def cut(inputs, length):
    return {name: value[:, :length] for name, value in inputs.items()}


def moved(values, mask):
    """Rows that are padded on the right, padded on the left, with zeros there."""
    result = numpy.zeros_like(values)
    for row, count in enumerate(mask.sum(axis=1)):
        result[row, mask.shape[1] - count:] = values[row, :count]
    return result


@pytest.fixture(scope="module", params=CAUSAL)
def causal(request):
    folder = FIXTURES / request.param
    program = tp_mlir.compile(folder, mesh="tp=2", batch=2, seq=LENGTHS)
    with program.open(folder) as session:
        yield program, session, load_file(folder / "inputs.safetensors"), load_file(
            folder / "expected.safetensors")["logits"]


@pytest.mark.parametrize("length", [1, 7, 8, 9, 24])
def test_shorter(causal, length):
    _, session, inputs, expected = causal
    inputs = cut(inputs, length)
    # Where the mask hides a token PyTorch's result means nothing to anyone.
    kept = inputs["attention_mask"].astype(bool)
    close(session.run(inputs)["logits"][kept], expected[:, :length][kept])
    run = [name for name, entry in session.stats()["steps"]["entries"].items()
           if entry["seconds"]]
    assert f"seq_{next(size for size in LENGTHS if size >= length)}" in run


def test_without_a_mask(causal):
    _, session, inputs, expected = causal
    ids = inputs["input_ids"][:, :5]
    kept = inputs["attention_mask"][:, :5].astype(bool)
    close(session.run({"input_ids": ids}, entry="seq_16")["logits"][kept],
          expected[:, :5][kept])


def test_padding_on_the_left(causal):
    program, session, inputs, expected = causal
    mask = inputs["attention_mask"]
    assert 0 < mask.sum() < mask.size, "the fixture has padding"
    left = {name: moved(value, mask) for name, value in inputs.items()}
    want = moved(expected, mask)
    # All of the entry, and of one that is longer; in this process, and by files.
    close(session.run(left)["logits"], want)
    half = {"input_ids": left["input_ids"][:, -12:], "attention_mask":
            left["attention_mask"][:, -12:]}
    whole = session.run(half, entry="seq_24")["logits"]
    close(session.run(half)["logits"], whole)
    assert not whole[half["attention_mask"] == 0].any()
    close(program.run(FIXTURES / program._source.name, left)["logits"], want)


def test_refusals(causal):
    program, session, inputs, _ = causal
    long = numpy.zeros((2, 25), numpy.int64)
    text = ("input 'input_ids': expected at most 24 positions, got 25: the program is "
            "compiled for sequences of 8, 16 and 24")
    for run in (session.run, lambda inputs: program.run("random:1", inputs)):
        with pytest.raises(tp_mlir.InputError, match=text):
            run({"input_ids": long})
    short = cut(inputs, 4)
    with pytest.raises(tp_mlir.InputError,
                       match="input 'input_ids': expected 4 positions as input "
                             "'attention_mask' has, got 5"):
        session.run({"attention_mask": short["attention_mask"],
                     "input_ids": inputs["input_ids"][:, :5]})
    holes = {**short, "attention_mask": numpy.array([[0, 1, 0, 1], [1, 1, 1, 1]])}
    with pytest.raises(tp_mlir.InputError,
                       match="row 0 has a 1 after a 0 at column 3, and ones before: expected "
                             "padding before all tokens or behind them"):
        session.run(holes)


@pytest.mark.parametrize("name", ["bert", "bert-sentence"])
def test_encoder(name):
    folder, length = FIXTURES / name, 11
    inputs = cut(load_file(folder / "inputs.safetensors"), length)
    batch = len(inputs["input_ids"])
    program = tp_mlir.compile(folder, mesh="tp=2", batch=batch, seq=(16, 24))
    exact = tp_mlir.compile(folder, mesh="tp=2", batch=batch, seq=length)
    with program.open(folder) as session, exact.open(folder) as own:
        got, want = session.run(inputs), own.run(inputs)
    assert set(got) == set(want)
    for key, value in want.items():
        close(got[key], value)
