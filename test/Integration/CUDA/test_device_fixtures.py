"""Every fixture, compiled for a device, against PyTorch: without a card.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Every degree up to 4 in both plans, with the CPU's tolerances (reference.py); FIXTURE=name
runs one folder.
"""

import pytest
from device import Artifact
from reference import check, fixtures, runs


def cases():
    for folder, facts in fixtures():
        # No device has a function for them.
        if "experts" in facts:
            continue
        for plan, degree, dtype in runs(facts, 4):
            yield pytest.param(folder, facts, plan, degree, dtype,
                               id=f"{folder.name}-{plan}-{degree}-{dtype}")


@pytest.mark.parametrize("folder, facts, plan, degree, dtype", cases())
def test_fixture(folder, facts, plan, degree, dtype, tmp_path):
    artifact = Artifact(tmp_path, folder, degree=degree, plan=plan, batch=facts["batch"],
                        seq=facts["seq"], dtype=dtype)
    check(artifact.run(folder / "inputs.safetensors"), folder, facts, dtype)
