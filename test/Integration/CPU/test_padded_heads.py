"""Models whose heads no degree divides, beside the same model on one rank.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Query and KV heads are those of Qwen2.5-7B, phi-4, SmolLM2-135M and Qwen2.5-0.5B, of a model with a
KV head for each query head and of one with a single one. (test_fixtures.py and test_training.py
hold padded heads against PyTorch.) PADDED=all in the environment: every degree up to 16 that there
are query heads for, both plans.
"""

import functools
import json
import os
import pathlib
import re
import subprocess
import tempfile

import numpy
import pytest
import training
from safetensors.numpy import load_file, save_file

import tp_mlir
from tp_mlir import _tools

ALL = os.environ.get("PADDED") == "all"
HEADS = {"qwen2.5-7b": (28, 4), "phi-4": (40, 10), "smollm2-135m": (9, 3), "qwen2.5-0.5b": (14, 2),
         "multi-head": (7, 7), "multi-query": (5, 1)}
# The published degrees; cuts of KV heads alone, of query heads alone and of both; ranks without heads.
FEW = {("qwen2.5-7b", 8), ("qwen2.5-7b", 6), ("phi-4", 4), ("phi-4", 8), ("smollm2-135m", 2),
       ("smollm2-135m", 8), ("qwen2.5-0.5b", 4), ("qwen2.5-0.5b", 11), ("multi-head", 5),
       ("multi-query", 3)}
HIDDEN, WIDTH, SIZE, LAYERS = 48, 64, 8, 2
SEED = 20261127


def cases(plans=("megatron",)):
    for name, (queries, _) in HEADS.items():
        for degree in range(2, min(queries, 16) + 1):
            for plan in plans:
                is_chosen = (name, degree) in FEW and plan == "megatron"
                if ALL and (not plan.endswith("-sp") or 16 % degree == 0) or is_chosen:
                    yield pytest.param(name, degree, plan, id=f"{name}-{degree}-{plan}")


@functools.cache
def checkpoint(name):
    """Random weights, biases of queries, keys and values among them, whose heads all matter."""
    queries, keys = HEADS[name]
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": HIDDEN,
        "intermediate_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": queries,
        "num_key_value_heads": keys, "head_dim": SIZE, "vocab_size": training.VOCABULARY,
        "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "tie_word_embeddings": False}))
    print(f"{name}: seed {SEED}")
    random = numpy.random.default_rng([SEED, queries, keys])

    def matrix(*shape):
        return (random.standard_normal(shape) * shape[-1] ** -0.5).astype(numpy.float32)

    tensors = {"model.embed_tokens.weight": matrix(training.VOCABULARY, HIDDEN) * 5,
               "lm_head.weight": matrix(training.VOCABULARY, HIDDEN) * 2,
               "model.norm.weight": numpy.ones(HIDDEN, numpy.float32)}
    for layer in range(LAYERS):
        path = f"model.layers.{layer}."
        for part, heads in (("q", queries), ("k", keys), ("v", keys)):
            tensors[f"{path}self_attn.{part}_proj.weight"] = matrix(heads * SIZE, HIDDEN) * 2
            tensors[f"{path}self_attn.{part}_proj.bias"] = matrix(heads * SIZE)
        tensors[path + "self_attn.o_proj.weight"] = matrix(HIDDEN, queries * SIZE)
        for part, shape in (("gate", (WIDTH, HIDDEN)), ("up", (WIDTH, HIDDEN)),
                            ("down", (HIDDEN, WIDTH))):
            tensors[f"{path}mlp.{part}_proj.weight"] = matrix(*shape)
        for part in ("input", "post_attention"):
            tensors[f"{path}{part}_layernorm.weight"] = numpy.ones(HIDDEN, numpy.float32)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def compiled(name, degree, plan="megatron", **options):
    return tp_mlir.compile(checkpoint(name), mesh=f"tp={degree}", plan=plan, dtype="f32",
                           allow_padding=True, **options)


@functools.cache
def logits(name, degree, plan="megatron"):
    ids = numpy.random.default_rng(SEED).integers(0, training.VOCABULARY, (2, 16))
    program = compiled(name, degree, plan, batch=2, seq=16)
    outputs, stats = program.run(checkpoint(name), {"input_ids": ids}, stats=True)
    return outputs["logits"], stats, program


@pytest.mark.parametrize("name, degree, plan", cases(("megatron", "megatron-sp")))
def test_logits(name, degree, plan):
    found, stats, program = logits(name, degree, plan)
    wanted = logits(name, 1)[0]
    assert numpy.abs(found - wanted).max() <= 3e-6 * numpy.abs(wanted).max()
    # What the heads cost, as the remark states it, is what ranks hold.
    done = subprocess.run([_tools.find("tp-compile"), checkpoint(name),
                           *map(str, program._arguments), "-o", os.devnull],
                          capture_output=True, text=True, check=True)
    queries, group = HEADS[name][0] // degree, HEADS[name][0] // HEADS[name][1]
    # Queries of a rank may be of two KV heads' groups.
    keys = max((last - 1) // group - first // group + 1 for first, last in (
        (rank * queries, (rank + 1) * queries) for rank in range(degree))) if queries else 0
    if said := re.search(r", (\d+) query heads? and (\d+) KV heads? a rank, (\d+) of", done.stderr):
        queries, keys, padding = map(int, said.groups())
        assert queries * degree - HEADS[name][0] == padding

    def share(size):
        return -(-size // degree)
    rows = SIZE * (queries + 2 * keys)
    layer = rows * (HIDDEN + 1) + HIDDEN * SIZE * queries + 3 * share(WIDTH) * HIDDEN + 2 * HIDDEN
    bytes_ = 4 * (LAYERS * layer + 2 * share(training.VOCABULARY) * HIDDEN + HIDDEN)
    # Each tensor begins at a multiple of 256 bytes, and all end with a page.
    slack = 256 * (LAYERS * 12 + 3) + 4096
    for rank in stats["ranks"]:
        assert bytes_ <= rank["parameter_bytes"] <= bytes_ + slack


@functools.cache
def trained(name, degree):
    """Losses and norms of eight steps of AdamW, and the weights after them."""
    program = compiled(name, degree, batch=2, seq=training.SEQ, train="adamw", clip=1.0)
    out = pathlib.Path(tempfile.mkdtemp())
    _tools.run("tp-run", [program.path, "--weights", checkpoint(name), "--train", training.DATA,
                          "--steps", 8, "--lr", 3e-3, "--log", out / "log.jsonl",
                          "--order", "sequential", "--save", out / "saved"])
    log = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return ([[line["loss"], line["grad_norm"]] for line in log],
            load_file(out / "saved/model.safetensors"))


@pytest.mark.parametrize("name, degree, plan", cases())
def test_steps(name, degree, plan):
    (found, weights), (wanted, others) = trained(name, degree), trained(name, 1)
    assert numpy.array(found) == pytest.approx(numpy.array(wanted), rel=1e-4)
    assert weights.keys() == others.keys()
    for tensor, weight in weights.items():
        assert weight.shape == others[tensor].shape
        # AdamW makes steps of the rounding of gradients that are zero, as those of keys' biases.
        bound = 2e-2 if tensor.endswith("k_proj.bias") else 3e-4
        off = numpy.linalg.norm(weight - others[tensor])
        assert off <= bound * numpy.linalg.norm(others[tensor]), tensor


@functools.cache
def continued(name, degree):
    program = compiled(name, degree, batch=2, seq=32, generate=True, context=32, rows=2, chunk=8)
    out = pathlib.Path(tempfile.mkdtemp())
    random = numpy.random.default_rng(SEED)
    prompts = [random.integers(0, training.VOCABULARY, n).tolist() for n in (1, 5, 11, 17)]
    (out / "prompts.json").write_text(json.dumps(prompts))
    _tools.run("tp-run", [program.path, "--weights", checkpoint(name), "--backend", "threads",
                          "--generate", out / "prompts.json", "--max-tokens", 10, "--logprobs", 0,
                          "--output", out / "answers.json"])
    return json.loads((out / "answers.json").read_text())


@pytest.mark.parametrize("name, degree, plan", cases())
def test_generation(name, degree, plan):
    for found, wanted in zip(continued(name, degree), continued(name, 1), strict=True):
        assert found["ids"] == wanted["ids"]
        values = [[one["logprob"] for one in answer["logprobs"]] for answer in (found, wanted)]
        assert values[0] == pytest.approx(values[1], abs=1e-4)
