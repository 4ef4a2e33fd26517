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
from reference import F32_TOLERANCE, NORM_FACTOR
from safetensors.numpy import load_file, save_file

# Rows of SEQ + 1 tokens and, for each, its id or -100 where it is not to be predicted: most of
# every other row, all of some micro-batches.
DATA = pathlib.Path(__file__).resolve().parent / "CPU/Inputs/tokens.safetensors"
VOCABULARY, ROWS, SEQ = 131, 96, 16
BATCH, ACCUMULATE, STEPS = 2, 2, 100
LR, MIN_LR, WARMUP = 3e-3, 3e-4, 10
BETAS, EPS, WEIGHT_DECAY = (0.85, 0.97), 1e-6, 0.2
# Of each checkpoint, about in the middle of the norms of its gradients.
CLIP = {"gpt2": 3.3, "llama-gqa": 6.0, "qwen2": 3.8}


def rate(step):
    """The learning rate of a step, from 0 on: up in a line, then down half a cosine."""
    if step < WARMUP:
        return LR * (step + 1) / (WARMUP + 1)
    done = (step - WARMUP) / (STEPS - WARMUP)
    return MIN_LR + (LR - MIN_LR) * 0.5 * (1 + math.cos(math.pi * done))


def batches(step):
    """The ids and targets of a step's micro-batches, rows in their order."""
    data = load_file(DATA)
    for micro in range(ACCUMULATE):
        first = (step * ACCUMULATE + micro) * BATCH
        rows = [(first + i) % ROWS for i in range(BATCH)]
        yield (data["tokens"][rows, :-1].astype(numpy.int64),
               data["labels"][rows, 1:].astype(numpy.int64))


def labels(folder):
    """The fixture's labels as `transformers` takes them: its file has the class at each position,
    none at the last."""
    targets = load_file(folder / "gradients.safetensors")["labels"]
    assert (targets[:, -1] == -100).all()
    return numpy.roll(targets, 1, axis=1)


def draw_signs(name, count):
    return 2 * numpy.random.RandomState(zlib.crc32(name.encode())).randint(0, 2, count) - 1


def digest(name, weight):
    """Its norm, and the sum with random signs."""
    values = weight.astype(numpy.float64).ravel()
    return [numpy.linalg.norm(values), values @ draw_signs(name, values.size)]


def sums(name, gradient):
    """Of a matrix: each row's and each column's sum with random signs."""
    matrix = gradient.reshape(len(gradient), -1).astype(numpy.float64)
    signs = draw_signs(name, sum(matrix.shape))
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


def check_gradients(found, loss, folder, dtype="f32"):
    """Compares the loss and the gradient of each parameter, whole and in float32, with the
    fixture's.

    In f32, sums of n random signs are off by more than single values are: by a factor of n's
    root, for errors that do not depend on each other. In bf16 the measure is reference.py's: a
    norm of at most 1.25 times that of PyTorch's own errors. A vector has so few elements that
    its own norm is left much to chance: theirs are taken together, and each may be as far as
    twice that. So are matrices of which the fixture has sums alone, as each of these is about the
    norm of a row or column, but by chance. Where a few values are large, their roundings are the
    errors of all matrices, whose mean is then left to chance as much: over 8 inputs of
    llama-large-values ours were 0.47 to 1.22 times PyTorch's, 0.87 in the mean. In a mixture of
    experts a rounding may send a token elsewhere, an error of a whole matrix by itself: all are
    taken together and none alone, and vectors are left to chance too. The loss, a mean
    of differences of two logits, may be off by twice the root mean square of the errors of
    PyTorch's logits.
    """
    facts = json.loads((folder / "gradients.json").read_text())
    wanted = load_file(folder / "gradients.safetensors")
    found = dict(found)
    if "lm_head.weight" in set(found) - set(facts["parameters"]):
        # A tied head that is stored too.
        head, table = found.pop("lm_head.weight"), found["model.embed_tokens.weight"]
        assert numpy.array_equal(head, table)
    assert set(found) == set(facts["parameters"])
    if dtype == "bf16":
        shape = load_file(folder / "expected.safetensors")["logits"].shape
        logits = json.loads((folder / "fixture.json").read_text())["outputs"]["logits"]
        allowed = 2 * logits["bf16_norm"] / math.prod(shape) ** 0.5
    else:
        allowed = 1e-5 * facts["loss"]
    assert abs(loss - facts["loss"]) <= allowed, f"a loss of {loss}, PyTorch's {facts['loss']}"
    few = {"vectors": [], "sums": [], "experts": []}
    is_mixture = "experts" in json.loads((folder / "fixture.json").read_text())
    for name, gradient in found.items():
        theirs = facts["parameters"][name]
        assert numpy.isfinite(gradient).all(), f"{name} is not finite"
        if theirs["largest"] == 0:
            assert not gradient.any(), f"{name} is not zero, though no token uses it"
        elif dtype == "f32":
            check_one(name, gradient, theirs["largest"], wanted)
        else:
            ratio = distance(name, gradient, wanted) / theirs["bf16_norm"]
            kind = ("sums" if name not in wanted else "vectors" if gradient.ndim == 1 else
                    "experts" if is_mixture else None)
            if kind:
                few[kind].append(ratio)
            most = NORM_FACTOR * (2 if kind else 1)
            assert ratio <= most or is_mixture, f"{name} is {ratio:.2f} times as far as PyTorch's bf16"
    for kind, ratios in few.items():
        if ratios:
            ratio = numpy.mean(numpy.square(ratios)) ** 0.5
            chance = folder.name.endswith("large-values") or is_mixture
            most = NORM_FACTOR * (2 if chance and kind != "experts" else 1)
            assert ratio <= most, f"{kind} are {ratio:.2f} times as far as PyTorch's bf16"


def distance(name, gradient, wanted):
    """The norm of what differs from the fixture's values; from its sums, of which each kind's
    squares add up to about the square of that norm."""
    if name in wanted:
        return numpy.linalg.norm(gradient - wanted[name].astype(numpy.float64))
    squares = [numpy.square(values - wanted[f"{name}:{kind}"]).sum()
               for kind, values in sums(name, gradient).items()]
    return numpy.mean(squares) ** 0.5


def check_one(name, gradient, largest, wanted):
    """A gradient in f32 with the fixture's values or sums."""
    tolerance = F32_TOLERANCE * largest
    pairs = {name: (gradient, 1)}
    if name not in wanted:
        rows, columns = gradient.shape
        terms = {"rows": columns, "columns": rows}
        pairs = {f"{name}:{kind}": (values, terms[kind] ** 0.5)
                 for kind, values in sums(name, gradient).items()}
    for what, (values, factor) in pairs.items():
        assert values.shape == wanted[what].shape
        worst = numpy.abs(values - wanted[what]).max()
        assert worst <= tolerance * factor, (
            f"{what} is off by {worst / factor / largest:.2e} of the gradient's largest value")
