"""Every fixture, compiled for a device, against PyTorch: without a card.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Degrees up to 4, both plans and all types, with the CPU's tolerances (reference.py): each degree, and
each plan with each type, or DEVICE_CASES=all in the environment: all together. Of a mixture of
experts a few. FIXTURE=name runs one folder.
"""

import itertools
import os

import pytest
from device import Artifact
from reference import PLANS, check, fixtures, runs

ALL = os.environ.get("DEVICE_CASES") == "all"


def is_chosen(facts, plan, degree, dtype):
    """The ends of the degrees with each plan and type, the others in f32."""
    degrees = [n for n in facts["degrees"] if n <= 4]
    chosen = {("megatron", 1, "f32"), ("megatron", degrees[-1], "f32"), ("megatron", 2, "bf16"),
              ("megatron", degrees[-1], "f16"), ("megatron-sp", degrees[-1], "bf16")}
    between = [("megatron-sp", n, "f32") for n in degrees[1:-1] or degrees[-1:]]
    return (plan, degree, dtype) in {*chosen, *between}


def mixture_cases(facts):
    """Each type, each plan, and more ranks than two."""
    if not ALL:
        most = max(degree for degree in facts["degrees"] if degree <= 4)
        return [("megatron", 1, "f32"), ("megatron", 2, "bf16"), ("megatron", most, "f32"),
                ("megatron-sp", 2, "f32"), ("expert", 2, "f16")]
    plans = [*PLANS, "expert", "expert-sp"]
    return itertools.product(plans, facts["degrees"], ("f32", "bf16", "f16"))


def cases():
    for folder, facts in fixtures():
        is_mixture = "experts" in facts
        for plan, degree, dtype in mixture_cases(facts) if is_mixture else runs(facts, 4):
            if degree > 4 or not (ALL or is_mixture or is_chosen(facts, plan, degree, dtype)):
                continue
            yield pytest.param(folder, facts, plan, degree, dtype,
                               id=f"{folder.name}-{plan}-{degree}-{dtype}")


@pytest.mark.parametrize("folder, facts, plan, degree, dtype", cases())
def test_fixture(folder, facts, plan, degree, dtype, tmp_path):
    artifact = Artifact(tmp_path, folder, degree=degree, plan=plan, batch=facts["batch"],
                        seq=facts["seq"], dtype=dtype)
    check(artifact.run(folder / "inputs.safetensors"), folder, facts, dtype)
