"""Fixtures that generate text, compiled to do so.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

generation.json beside a checkpoint has prompts, what `transformers.generate` makes of them,
greedily in f32, by how much each token won and its log-probability, and how far PyTorch's
bf16 is from the logits that chose (scripts/make-fixtures). Prompts end before, at and behind
the end of a page and of the window. A program is compiled once for all tests of a process, of which
each takes the same few degrees, or GENERATION_DEGREES=all in the environment: all up to 8.
"""

import functools
import json
import os

from reference import fixtures

import tp_mlir

PAGE, ROWS, CHUNK = 32, 3, 8


def causal(degrees=range(1, 9)):
    """Folder, facts and degree of each fixture that generates, at those that it has."""
    for folder, facts in fixtures():
        if (folder / "generation.json").exists():
            for degree in facts["degrees"]:
                if degree in degrees:
                    yield folder, facts, degree


# Fixtures at whose other degrees up to 4 texts are generated too.
EVERY_DEGREE = ("gpt2", "llama-gqa", "llama-tied")
ALL = os.environ.get("GENERATION_DEGREES") == "all"


def ends():
    """Folder and degree: alone and the most ranks up to 4, where KV heads have copies."""
    most = {folder: degree for folder, _, degree in causal(range(1, 9 if ALL else 5))}
    for folder, _, degree in causal():
        if degree in (1, most.get(folder)):
            yield folder, degree


@functools.cache
def config(folder):
    return json.loads((folder / "config.json").read_text())


@functools.cache
def recorded(folder):
    return json.loads((folder / "generation.json").read_text())


def context(folder):
    """Enough for what is recorded, if the model is good for it."""
    limit = config(folder).get("max_position_embeddings") or config(folder)["n_positions"]
    return min(limit, PAGE + 8)


def compiled(folder, degree, dtype="f32", kv_dtype=None):
    return _compiled(folder, degree, dtype, kv_dtype)


# By position: a cache tells a default that is given from one that is not.
@functools.cache
def _compiled(folder, degree, dtype, kv_dtype):
    return tp_mlir.compile(folder, mesh=f"tp={degree}", dtype=dtype, batch=ROWS,
                           seq=context(folder), generate=True, context=context(folder),
                           rows=ROWS, chunk=CHUNK, kv_dtype=kv_dtype)
