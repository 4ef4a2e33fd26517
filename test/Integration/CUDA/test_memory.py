"""What the compiler states of a device's memory beside what the runtime takes.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

All but the workspace of products and collectives is stated, within 3 %. The model's
output matrix is its table of words, which a device holds once. Without a --backend,
tp-run takes the device's.
"""

import json
import subprocess

import pytest
from device import BIN, FIXTURES, Artifact


@pytest.mark.parametrize("degree", [1, 2])
def test_allocated_is_stated(degree, tmp_path):
    model = FIXTURES / "llama-tied"
    artifact = Artifact(tmp_path, model, degree=degree, batch=2, seq=24)
    result = subprocess.run(
        [BIN / "tp-run", tmp_path / "model.tpa", "--weights", model, "--input",
         model / "inputs.safetensors", "--stats", "json", "--timeline",
         tmp_path / "trace.json"],
        env=artifact.environment(), capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    ranks = json.loads(result.stdout)["ranks"]
    assert len(ranks) == degree
    for rank in ranks:
        taken = rank["device"]["allocated_bytes"] - rank["device"]["workspace_bytes"]
        assert abs(taken - rank["stated_peak_bytes"]) <= 0.03 * rank["stated_peak_bytes"]
        assert rank["arena"]["used"] == rank["arena"]["stated"]

    # Every kernel and product is in the timeline, collectives in rows of their own.
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    rows = {}
    for event in trace:
        if event["ph"] == "X":
            rows.setdefault(event["cat"], set()).add(event["tid"])
            if "attention" in event["name"]:
                rows.setdefault("attention", set()).add(event["tid"])
    both = set(range(degree))
    assert rows["kernel"] == rows["gemm"] == rows["attention"] == rows["step"] == both
    assert rows.get("collective", set()) == {degree + rank for rank in both if degree > 1}
