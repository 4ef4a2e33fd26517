"""Caches in eight bits against a model in f64 that reads the same cache.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A step's logits are those of numpy's model where attention reads the numbers that the cache holds,
as exactly as in f32. What it holds is within half a step of an element of what that model computes
from the same cache, which no other rounding can be.
"""

import json
import pathlib

import numpy
import pytest
import quantised
from reference import F32_TOLERANCE
from safetensors.numpy import load_file, save_file

import tp_mlir
from tp_mlir import _tools

SEED = 20261127
PAGE, TOKENS = 32, 45
FIXTURES = pathlib.Path(__file__).parents[2] / "fixtures"


def write(folder, scales=None, **changes):
    """A small Llama; `scales` are those of keys and values that the checkpoint has."""
    _, plain = quantised.write(folder, "int4-g16", SEED, **changes)
    weights = load_file(plain / "model.safetensors")
    for i in range(quantised.LAYERS):
        for letter, value in (scales or {}).items():
            weights[f"model.layers.{i}.self_attn.{letter}_scale"] = value
    save_file(weights, plain / "model.safetensors", {"format": "pt"})
    return plain, weights


def play(session, ids, chunk):
    """The last token's logits of each step, by position, on pages in any order."""
    rng = numpy.random.default_rng(SEED)
    pages = session.states()["keys"].shape[1] // PAGE
    table = rng.permutation(pages)[None, :-(-len(ids) // PAGE)].astype(numpy.int32)
    logits, done = {}, 0
    for size in [chunk] * ((len(ids) - 4) // chunk) + [1] * len(ids):
        if done + size > len(ids):
            break
        given = {"ids": numpy.array([ids[done:done + size]], numpy.int32),
                 "starts": numpy.array([0, size], numpy.int32),
                 "context": numpy.array([done], numpy.int32), "table": table,
                 "positions": numpy.array([-1], numpy.int32)}
        done += size
        logits[done - 1] = session.run(given, f"step_{size}")["logits"][0]
    assert done == len(ids)
    return logits, (table[0][:, None] * PAGE + numpy.arange(PAGE)).ravel()[:len(ids)]


def numbers(states, which, cells, kind, given):
    """What the cache holds, [layers, tokens, heads, size], and its scales."""
    codes = states[which].view(numpy.uint8)[:, cells]
    assert states[which].dtype == numpy.int8
    scales = given if given is not None else states[f"{which[:-1]}_scales"][:, cells][..., None]
    values = codes.view(numpy.int8) if kind == "int8" else quantised.e4m3(codes)
    return values.astype(numpy.float64) * scales, scales, values


CASES = [("int8", None, 1, {}), ("int8", None, 4, {"num_key_value_heads": 4}),
         ("fp8", None, 2, {"head_dim": 32, "num_attention_heads": 4}),
         ("fp8", {"k": numpy.float32(0.02), "v": numpy.float32(0.001)}, 4, {}),
         ("fp8", {"k": numpy.array([0.01, 0.03], numpy.float32),
                  "v": numpy.array([0.002, 0.001], numpy.float32)}, 2, {}),
         ("int8", None, 2, {"model_type": "mistral", "architectures": ["MistralForCausalLM"],
                            "sliding_window": 9})]


@pytest.mark.parametrize("kind, scales, degree, changes", CASES)
def test_numbers(tmp_path, kind, scales, degree, changes):
    folder, weights = write(tmp_path, scales, **changes)
    c = quantised.config(**changes)
    program = tp_mlir.compile(folder, mesh=f"tp={degree}", dtype="f32", generate=True, seq=8,
                              context=64, rows=1, chunk=16, kv_dtype=kind)
    ids = numpy.random.default_rng(SEED).integers(0, c["vocab_size"], TOKENS)
    with program.open(folder) as session:
        logits, cells = play(session, list(ids), 16)
        states = session.states()
    given = [scales and numpy.asarray(scales[letter], numpy.float64).reshape(-1, 1)
             for letter in "kv"]
    held = [numbers(states, which, cells, kind, given[i])
            for i, which in enumerate(("keys", "values"))]
    limit = 127 if kind == "int8" else 448

    def cache(layer, *computed):
        for (values, own, elements), exact in zip(held, computed):
            values, elements = values[layer], elements[layer].astype(numpy.float64)
            slack = F32_TOLERANCE * numpy.abs(exact).max()
            if scales is None:
                own = own[layer]
                largest = numpy.abs(exact).max(-1, keepdims=True)
                assert numpy.abs(own * limit - largest).max() <= slack
            # Half of what lies between two elements.
            half = 0.5 if kind == "int8" else 2.0 ** (numpy.floor(numpy.log2(numpy.maximum(
                numpy.abs(elements), 2.0 ** -6))) - 4)
            wanted = exact.clip(-limit * own, limit * own)
            assert (numpy.abs(values - wanted) <= half * own + slack).all()
        return held[0][0][layer], held[1][0][layer]

    expected = quantised.forward(c, weights, ids, cache=cache)
    for position, got in logits.items():
        error = numpy.abs(got - expected[position]).max() / numpy.abs(expected).max()
        assert error < F32_TOLERANCE, f"{position}: off by {error:.1e}, seed {SEED}"


@pytest.mark.parametrize("name, degree", (("deepseek-v2", 2), ("llama-mqa", 4)))
def test_families(name, degree):
    """Heads of two sizes, and one that several ranks have: the rounding is that of each row, so
    that logits are off by what steps of 1/254 of a row's largest number make."""
    folder = FIXTURES / name
    ids = list(numpy.random.default_rng(SEED).integers(0, 100, 20))
    found = {}
    for kind, ranks in ((None, 1), ("int8", 1), ("int8", degree)):
        program = tp_mlir.compile(folder, mesh=f"tp={ranks}", dtype="f32", generate=True, seq=8,
                                  context=32, rows=1, chunk=4, kv_dtype=kind)
        with program.open(folder) as session:
            found[kind, ranks] = numpy.array(list(play(session, ids, 4)[0].values()))
    exact, alone, cut = found.values()
    assert 0 < numpy.linalg.norm(alone - exact) < numpy.linalg.norm(exact) / 127
    # An element that is rounded the other way is what may differ.
    assert numpy.linalg.norm(cut - alone) < 0.5 * numpy.linalg.norm(alone - exact)


def test_company():
    """Prompts that share their beginning, guesses, and rows that give way for want of pages: the
    answers are those of each request alone."""
    folder = FIXTURES / "text-model"
    known = json.loads((folder / "continuations.json").read_text())["continuations"]
    prompts = [one["prompt_ids"] for one in known[2:5]]
    prompts += [prompts[0] + one for one in prompts]
    options = {"dtype": "f32", "context": 160, "chunk": 16, "kv_dtype": "int8"}
    alone = []
    with tp_mlir.LLM(folder, mesh="tp=1", rows=1, **options) as llm:
        for prompt in prompts:
            (answer,) = llm.generate([prompt], max_tokens=24)
            alone.append(list(answer.ids))
    with tp_mlir.LLM(folder, mesh="tp=2", rows=6, cells=320, speculate=3, **options) as llm:
        together = [list(one.ids) for one in llm.generate(prompts, max_tokens=24)]
        stats = llm.engine.stats()
    assert together == alone
    assert stats.evictions > 0


def test_memory(tmp_path):
    """A row of a head is its bytes and one scale: stated, allocated and planned alike."""
    shape = {"num_key_value_heads": 4, "num_attention_heads": 4, "head_dim": 64}
    folder, _ = write(tmp_path, **shape)
    bytes_of = {}
    for kind in (None, "int8", "fp8"):
        explained = json.loads(_tools.run("tp-compile", [
            folder, "--mesh", "tp=2", "--dtype", "bf16", "--generate", "--context", 64, "--rows", 2,
            "--chunk", 16, "--seq", 8, *(["--kv-dtype", kind] if kind else []), "--explain=json"]))
        bytes_of[kind] = explained["functions"][0]["memory"]["states"]
    heads = 2 * quantised.LAYERS * 128 * 2
    assert bytes_of[None] == heads * 64 * 2
    assert bytes_of["int8"] == bytes_of["fp8"] == heads * (64 + 4)
