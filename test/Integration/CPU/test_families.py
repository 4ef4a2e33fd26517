"""A tiny checkpoint of each model family against PyTorch.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Each folder of test/families (scripts/make-family-fixtures) is run with both plans, and models with
experts with a third one, outputs within 2e-5 of the largest value, and language models generate
what transformers.generate does. At two ranks, at one where two do not fit;
FAMILY_DEGREES=all in the environment: at all degrees that fit, up to 8. FAMILY=name runs one folder.
What is not supported is refused as test/Import/families.test says.
"""

import json
import os

import numpy
import pytest
from families import FAMILIES, degrees, count_experts
from reference import F32_TOLERANCE
from safetensors.numpy import load_file

import tp_mlir
from tp_mlir import _tools

CONTEXT = 40
ALL = os.environ.get("FAMILY_DEGREES") == "all"


def cases():
    for path in sorted(FAMILIES.glob("*/reference.safetensors")):
        folder = path.parent
        if os.environ.get("FAMILY", folder.name) != folder.name:
            continue
        fitting = list(degrees(folder, 8 if ALL else 2))
        for degree in fitting if ALL else fitting[-1:]:
            for plan in ("megatron", "megatron-sp", *(["expert"] if degree <= count_experts(folder) else [])):
                if plan != "megatron" and degree == 1 and not ALL:
                    continue  # the other plan's program
                yield pytest.param(folder, plan, degree, id=f"{folder.name}-{plan}-{degree}")


def named(folder, kind):
    tensors = load_file(folder / "reference.safetensors")
    return {name.removeprefix(kind): value for name, value in tensors.items()
            if name.startswith(kind)}


def check_outputs(program, folder):
    inputs, expected = named(folder, "input."), named(folder, "output.")
    outputs = program.run(folder, inputs)
    assert set(expected) <= set(outputs)
    for name, want in expected.items():
        difference = numpy.abs(outputs[name] - want)
        if want.shape[:2] == inputs["attention_mask"].shape:
            # What stands at padding means nothing.
            difference *= inputs["attention_mask"][:, :, None] != 0
        worst = difference.max() / numpy.abs(want).max()
        print(f"{folder.name} {name}: {worst:.1e}")
        assert worst <= F32_TOLERANCE, f"{name} is off by {worst:.2e} of the largest value"


def check_generation(program, folder, tmp_path):
    texts = json.loads((folder / "prompts.json").read_text())
    (tmp_path / "prompts.json").write_text(json.dumps([text["prompt"] for text in texts]))
    _tools.run("tp-run", [
        program.path, "--weights", folder, "--backend", "threads",
        "--generate", tmp_path / "prompts.json", "--max-tokens", len(texts[0]["ids"]),
        "--output", tmp_path / "answers.json"])
    answers = json.loads((tmp_path / "answers.json").read_text())
    for text, answer in zip(texts, answers, strict=True):
        assert answer["ids"] == text["ids"]


@pytest.mark.parametrize("folder, plan, degree", cases() if ALL else [])
def test_gradients(folder, plan, degree):
    """Of language models: norms, and products with cosines, as make-family-fixtures has them."""
    if not (folder / "gradients.json").exists():
        pytest.skip("no language model")
    facts = json.loads((folder / "gradients.json").read_text())
    inputs = named(folder, "input.")
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    inputs["labels"] = numpy.where(mask == 0, -100, ids)
    batch, seq = ids.shape
    program = tp_mlir.compile(folder, mesh=f"tp={degree}", plan=plan, batch=batch, seq=seq,
                              dtype="f32", train="adamw")
    loss, found = program.gradients(folder, inputs)
    assert loss == pytest.approx(facts["loss"], rel=1e-5)
    assert set(found) == set(facts["gradients"])
    # A bias of keys has no gradient but rounding.
    largest, rounding = 0, 1e-6 * max(norm for norm, _ in facts["gradients"].values())
    for name, (norm, product) in facts["gradients"].items():
        gradient = found[name].astype(numpy.float64).flatten()
        ours = (gradient * numpy.cos(numpy.arange(len(gradient)))).sum()
        distance = max(abs(numpy.linalg.norm(gradient) - norm), abs(ours - product))
        largest = max(largest, distance / (norm + rounding))
        assert distance <= 1e-4 * norm + rounding, f"{name} is off by {distance / norm:.1e} of its norm"
    print(f"{folder.name} gradients: {largest:.1e}")


@pytest.mark.parametrize("folder, plan, degree", cases())
def test_family(folder, plan, degree, tmp_path):
    # One program for both, as the other plan cannot split a step's tokens.
    generates = plan == "megatron" and (ALL or degree > 1) and (folder / "prompts.json").exists()
    options = {"generate": True, "context": CONTEXT, "rows": 2, "chunk": 2} if generates else {}
    batch, seq = named(folder, "input.")["input_ids"].shape
    program = tp_mlir.compile(folder, mesh=f"tp={degree}", plan=plan, batch=batch, seq=seq,
                              dtype="f32", **options)
    check_outputs(program, folder)
    if generates:
        check_generation(program, folder, tmp_path)
