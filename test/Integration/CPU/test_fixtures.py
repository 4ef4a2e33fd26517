"""Every fixture at every degree against PyTorch, and refusals at all others.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Each folder of test/fixtures is a small checkpoint with PyTorch's outputs; reference.py
says how far from these a run may be. FIXTURE=name in the environment runs one folder.
"""

import json

import pytest
from reference import PLANS, check, fixtures, runs
from safetensors.numpy import load_file

import tp_mlir
from tp_mlir import _tools


def is_chosen(facts, plan, degree, dtype):
    """f32 at every degree; bf16 alone and at every second, others with each plan."""
    return (dtype != "bf16" or "experts" in facts or degree == 1
            or (PLANS.index(plan) + degree.bit_length()) % 2 == 0)


def accepted():
    for folder, facts in fixtures():
        for plan, degree, dtype in runs(facts, 8):
            if not is_chosen(facts, plan, degree, dtype):
                continue
            yield pytest.param(folder, facts, plan, degree, dtype,
                               id=f"{folder.name}-{plan}-{degree}-{dtype}")


def refused():
    for folder, facts in fixtures():
        for degree in facts["degrees_refused"]:
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


@pytest.mark.parametrize("folder, facts, degree", refused())
def test_refusal(folder, facts, degree):
    with pytest.raises(tp_mlir.InputError) as error:
        compiled(folder, facts, "megatron", degree, None)
    text = str(error.value)
    heads = facts["query_heads"], facts["kv_heads"]
    fits = [n for n in range(1, heads[0] + 1)
            if heads[0] % n == 0 and (heads[1] % n == 0 or n % heads[1] == 0)]
    assert f"degree {degree}" in text
    assert f"degrees that fit: {', '.join(map(str, fits))}" in text
