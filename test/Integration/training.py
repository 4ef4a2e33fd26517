"""Data and settings of training, for the tests and for what PyTorch makes of the same.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import math
import pathlib
import shutil
import zlib

import numpy
from safetensors.numpy import load_file, save_file

TOKENS = pathlib.Path(__file__).resolve().parent / "CPU/Inputs/tokens.npy"
VOCABULARY, ROWS, SEQ = 131, 96, 16
BATCH, ACCUMULATE, STEPS, MASKED_STEPS = 2, 2, 100, 10
LR, MIN_LR, WARMUP = 3e-3, 3e-4, 10
BETAS, EPS, WEIGHT_DECAY = (0.85, 0.97), 1e-6, 0.2
# Of each checkpoint, about in the middle of the norms of its gradients.
CLIP = {"gpt2": 2.5, "llama-gqa": 4.0, "qwen2": 2.5}


def rate(step):
    """The learning rate of a step: up in a line, then down half a cosine."""
    if step < WARMUP:
        return LR * (step + 1) / WARMUP
    done = (step - WARMUP) / (STEPS - WARMUP)
    return MIN_LR + (LR - MIN_LR) * 0.5 * (1 + math.cos(math.pi * done))


def batches(step, masked=False):
    """Ids and labels of a step's micro-batches, rows in their order. If masked, most labels of
    one row are ignored and few of the other's, all of the second micro-batch in some steps."""
    tokens = numpy.load(TOKENS).astype(numpy.int64)
    for micro in range(ACCUMULATE):
        number = step * ACCUMULATE + micro
        rows = tokens[[(number * BATCH + i) % ROWS for i in range(BATCH)]]
        ids, labels = rows[:, :-1].copy(), rows[:, 1:].copy()
        if masked:
            draw = numpy.random.RandomState(number).rand(*labels.shape)
            labels[draw < [[0.9], [0.2]]] = -100
            if micro == 1 and step % 3 == 1:
                labels[:] = -100
        yield ids, labels


def sums(name, gradient):
    """Of a matrix: each row's and each column's sum with random signs."""
    matrix = gradient.reshape(len(gradient), -1).astype(numpy.float64)
    signs = 2 * numpy.random.RandomState(zlib.crc32(name.encode())).randint(
        0, 2, sum(matrix.shape)) - 1
    over_rows, over_columns = numpy.split(signs, [len(matrix)])
    return {"rows": matrix @ over_columns, "columns": over_rows @ matrix}


def checkpoint(folder, out):
    """The fixture to train from: llama-gqa with its table as its head too."""
    if folder.name != "llama-gqa":
        return folder
    out = pathlib.Path(out) / "tied"
    shutil.copytree(folder, out)
    config = json.loads((out / "config.json").read_text())
    (out / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": True}))
    tensors = load_file(out / "model.safetensors")
    del tensors["lm_head.weight"]
    save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})
    return out
