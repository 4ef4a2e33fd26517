"""The row of the padding token against PyTorch: its gradient, and eight steps of AdamW.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Inputs/padding-rows.json has what PyTorch makes of each family with a `pad_token_id` and with none
(scripts/make-padding-fixtures), from texts in which the token occurs, and labels as `transformers`
takes them. Losses must agree to 1e-4, norms of the gradient to 1e-3, the table's gradient to 1e-4 of
its norm and the table itself to 3e-4. A few cases; TRAINING=all in the environment: every family
at 1, 2 and 4 ranks, both plans, and FAMILY=name one family.
"""

import json
import os

import numpy
import padding
import pytest
from families import FAMILIES, degrees
from safetensors.numpy import load_file

import tp_mlir
from tp_mlir import _tools

ALL = os.environ.get("TRAINING") == "all"
FACTS = json.loads(padding.FACTS.read_text())
# Tied and untied; the first row, the middle one and the last, on ranks that do not divide the
# vocabulary; a family that has no such row; micro-batches on two axes.
FEW = {("llama-tied", "with", "tp=2", "megatron-sp"), ("llama-tied", "without", "tp=2", "megatron-sp"),
       ("qwen2", "with", "tp=2", "megatron"), ("mistral", "with", "dp=2,tp=2", "megatron"),
       ("gemma", "with", "tp=1", "megatron"), ("opt", "with", "tp=4", "megatron"),
       ("gpt-neox", "with", "tp=2", "megatron"), ("deepseek-v2", "with", "tp=2", "megatron")}


def fits(folder):
    if folder.parent == FAMILIES:
        return degrees(folder, 4)
    return json.loads((folder / "fixture.json").read_text())["degrees"]


def cases():
    for folder in padding.folders():
        if os.environ.get("FAMILY", folder.name) != folder.name:
            continue
        for which in ("with", "without"):
            for degree in {1, 2, 4} & set(fits(folder)):
                for mesh in (f"tp={degree}", f"dp=2,tp={degree}"):
                    for plan in ("megatron", "megatron-sp"):
                        case = (folder.name, which, mesh, plan)
                        if case in FEW or ALL and (degree > 1 or plan == "megatron") and (
                                degree == 2 or "dp" not in mesh):
                            yield pytest.param(folder, *case[1:], id="-".join(case))


def find_table(weights):
    """The name of the table of words."""
    names = ("embed_tokens.weight", "wte.weight", "embed_in.weight", "word_embeddings.weight")
    found, = (name for name in weights if name.endswith(names))
    return found


def check_table(found, wanted, row, tolerance):
    """Norm and product of the table, and of its row of padding."""
    ours, largest = padding.digest(found, row), wanted[0]
    if wanted[2] == 0:
        assert ours[2] == 0
    assert numpy.abs(numpy.subtract(ours, wanted)).max() <= tolerance * largest


@pytest.mark.parametrize("folder, which, mesh, plan", cases())
def test_padding_row(folder, which, mesh, plan, tmp_path):
    source = padding.checkpoint(folder, tmp_path / "model", which == "with")
    wanted, row, batch = FACTS[folder.name][which], padding.row(folder), padding.batch(folder)
    # With an axis of data the rows are micro-batches of one each on every rank of it.
    program = tp_mlir.compile(source, mesh=mesh, plan=plan, batch=padding.BATCH, seq=padding.SEQ,
                              dtype="f32", train="adamw")
    losses, norms = [], []
    with program.train(source, padding.LR, betas=padding.BETAS, eps=padding.EPS,
                       weight_decay=padding.WEIGHT_DECAY) as trainer:
        for step in range(padding.STEPS):
            trainer.accumulate(batch)
            if step == 0:
                gradients = trainer.gradients()
                table = find_table(gradients)
                check_table(gradients[table], wanted["gradient"], row, 1e-4)
            made = trainer.update()
            losses.append(made.loss)
            norms.append(made.grad_norm)
        check_table(trainer.weights()[table], wanted["table"], row, 3e-4)
    worst = [float(numpy.abs(numpy.divide(ours, theirs) - 1).max())
             for ours, theirs in ((losses, wanted["losses"]), (norms, wanted["norms"]))]
    print(f"{folder.name} {which} {mesh} {plan}: losses {worst[0]:.1e}, norms {worst[1]:.1e}")
    assert worst[0] <= 1e-4 and worst[1] <= 1e-3


def test_micro_batches(tmp_path):
    """The row has no part in the sum of several micro-batches either, by files and the C++ loop; and
    decays as the rest of its table does."""
    folder = padding.ROOT / "fixtures" / "llama-gqa"
    source, row = padding.checkpoint(folder, tmp_path / "model", True), padding.row(folder)
    rows = numpy.concatenate([padding.batch(folder)["input_ids"]] * 2, axis=1)[:, :padding.SEQ + 1]
    numpy.save(tmp_path / "tokens.npy", rows)
    program = tp_mlir.compile(source, mesh="tp=2", seq=padding.SEQ, dtype="f32", train="adamw")
    _tools.run("tp-run", [program.path, "--weights", source, "--train", tmp_path / "tokens.npy",
                          "--steps", 1, "--accumulate", 4, "--lr", 0.5, "--weight-decay", 0.25,
                          "--save", tmp_path / "out"])
    before, after = (load_file(path / "model.safetensors")["model.embed_tokens.weight"]
                     for path in (source, tmp_path / "out"))
    assert row in rows[:, :-1]
    numpy.testing.assert_allclose(after[row], before[row] * (1 - 0.5 * 0.25), rtol=1e-6)
    assert not numpy.allclose(after[rows[0, 0]], before[rows[0, 0]] * (1 - 0.5 * 0.25), rtol=1e-2)
