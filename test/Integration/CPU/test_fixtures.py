"""Every fixture at every degree against PyTorch, with heads padded where it does not divide them.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Each folder of test/fixtures is a small checkpoint with PyTorch's outputs; reference.py
says how far from these a run may be. f32 is run at every degree, and at every second with sequences
split; bf16 and f16 at the ends of the degrees, or FIXTURE_CASES=all in the environment: everywhere.
FIXTURE=name runs one folder.
"""

import json
import os

import pytest
from reference import check, fixtures, runs
from safetensors.numpy import load_file

import tp_mlir
from tp_mlir import _tools


ALL = os.environ.get("FIXTURE_CASES") == "all"
# They differ from others in how their files are written, which one program shows as well as many.
SPELLED = {"bert-prefix", "bert-sentence-raw", "gpt2-hub", "llama-old-spelling", "llama-sharded"}


def is_chosen(folder, facts, plan, degree, dtype):
    if ALL or "experts" in facts:
        return True
    degrees = [n for n in facts["degrees"] if n <= 8]
    place = degrees[::-1].index(degree)
    if folder.name in SPELLED:
        return dtype == "f32" and degree in (degrees[0], degrees[-1])
    if dtype == "f32":
        return plan == "megatron" or place % 2 == 0
    return place == 0 if plan == "megatron" else degree == degrees[1]


def accepted():
    for folder, facts in fixtures():
        for plan, degree, dtype in runs(facts, 8):
            if not is_chosen(folder, facts, plan, degree, dtype):
                continue
            yield pytest.param(folder, facts, plan, degree, dtype,
                               id=f"{folder.name}-{plan}-{degree}-{dtype}")


def uneven(is_too_many):
    """Degrees that do not divide the heads: the least and the largest that fit, or all; or the
    least that is more than there are query heads."""
    for folder, facts in fixtures():
        heads = facts.get("query_heads", 0)
        fit = [n for n in facts.get("degrees_uneven", []) if (n > heads) == is_too_many]
        few = fit[:1] if is_too_many else {*fit[:1], *[n for n in fit if n <= 8][-1:]}
        for degree in fit if ALL else sorted(few):
            yield pytest.param(folder, facts, degree, id=f"{folder.name}-{degree}")


def compiled(folder, facts, plan, degree, dtype):
    return tp_mlir.compile(folder, mesh=f"tp={degree}", plan=plan, batch=facts["batch"],
                           seq=facts["seq"], dtype=dtype)


@pytest.mark.parametrize("folder, facts, plan, degree, dtype", accepted())
def test_fixture(folder, facts, plan, degree, dtype):
    inputs = load_file(folder / "inputs.safetensors")
    program = compiled(folder, facts, plan, degree, dtype)
    outputs, stats = program.run(folder, inputs, stats=True)
    check(outputs, folder, facts, dtype)
    for rank in stats["ranks"]:
        # What threads and products need is counted by the runtime; parameters fill whole pages,
        # huge ones where there are two of them.
        taken, stated = rank["peak_bytes"] - rank["scratch_bytes"], rank["stated_peak_bytes"]
        page = 2 << 20 if rank["parameter_bytes"] >= 4 << 20 else 4096
        assert abs(taken - stated) <= 0.03 * stated + page


@pytest.mark.parametrize("folder, facts", [pytest.param(*one, id=one[0].name)
                                           for one in fixtures()])
def test_memory_before_a_run(folder, facts):
    """What --explain says a rank needs, of which tp-plan makes its figures, is what the artifact
    states, and that what a run takes."""
    degree = facts["degrees"][1]
    program = compiled(folder, facts, "megatron", degree, "f32")
    explained = json.loads(_tools.run("tp-compile", [folder, *program._arguments,
                                                     "--explain=json"]))
    _, stats = program.run("random:1", load_file(folder / "inputs.safetensors"), stats=True)
    peak = explained["functions"][0]["memory"]["peak"]
    assert {rank["stated_peak_bytes"] for rank in stats["ranks"]} == {peak}


@pytest.mark.parametrize("folder, facts, degree", uneven(False))
def test_padded_heads(folder, facts, degree):
    program = tp_mlir.compile(folder, mesh=f"tp={degree}", batch=facts["batch"], seq=facts["seq"],
                              dtype="f32", allow_padding=True)
    check(program.run(folder, load_file(folder / "inputs.safetensors")), folder, facts, "f32")


@pytest.mark.parametrize("folder, facts, degree", uneven(True))
def test_refusal(folder, facts, degree):
    with pytest.raises(tp_mlir.InputError) as error:
        compiled(folder, facts, "megatron", degree, None)
    text = str(error.value)
    assert f"degree {degree}" in text and "some ranks would have none" in text
    fits = text.split("degrees that fit: ")[1].split("\n")[0].split(", ")
    assert set(map(str, facts["degrees"])) <= set(fits)
