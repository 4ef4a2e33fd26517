"""tp-plan: what is sized where nothing is said, and figures that are none.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import csv
import io
import json
import pathlib

import pytest

from tp_mlir import plan
from tp_mlir.plan import _profile

TEST = pathlib.Path(__file__).resolve().parents[1]
FIXTURE = TEST / "fixtures" / "llama-gqa"
PROGRAM = """%s
func.func @main(%%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %%up = tp.parameter "up.weight" : tensor<128x64xf32>
  %%down = tp.parameter "down.weight" : tensor<64x128xf32>
  %%0 = nn.linear %%x, %%up : (tensor<16x64xf32>, tensor<128x64xf32>) -> tensor<16x128xf32>
  %%1 = nn.silu %%0 : tensor<16x128xf32>
  %%2 = nn.linear %%1, %%down : (tensor<16x128xf32>, tensor<64x128xf32>) -> tensor<16x64xf32>
  return %%2 : tensor<16x64xf32>
}
"""


def printed(capsys, *words):
    plan.main([str(word) for word in words])
    return capsys.readouterr().out


@pytest.mark.parametrize("mesh, meshes", [
    ("", ["tp=1", "tp=2", "tp=4", "tp=8"]),
    ('tp.mesh @mesh <["tp"=4]>', ["tp=4"]),
    ('tp.mesh @mesh <["dp"=2, "tp"=2]>', ["dp=2,tp=2"])])
def test_mesh_of_a_program(capsys, tmp_path, mesh, meshes):
    """A program with a mesh is sized over it, from the command line and from Python."""
    path = tmp_path / "mlp.mlir"
    path.write_text(PROGRAM % mesh)
    axes = ["dp", "tp"] if "dp" in mesh else ["tp"]
    rules = [{"parameter": "up.weight", "dims": [axes, []]},
             {"parameter": "down.weight", "dims": [[], axes]}]
    (tmp_path / "plan.json").write_text(json.dumps({"version": 1, "rules": rules}))
    plans = str(tmp_path / "plan.json")
    told = json.loads(printed(capsys, path, "--plans", plans, "--format", "json"))
    assert [row["mesh"] for row in told["rows"]] == meshes
    assert not any("refusal" in row for row in told["rows"])
    assert plan.plan(path, plan.Workload("run"), plans=[plans])["rows"] == told["rows"]


def bytes_of(value, name=""):
    """All numbers of bytes of a report."""
    if isinstance(value, dict):
        for key, one in value.items():
            kept = name if name in ("memory", "traffic") else key
            yield from bytes_of(one, kept)
    elif isinstance(value, list):
        for one in value:
            yield from bytes_of(one, name)
    elif name in ("memory", "traffic", "bytes") or name.endswith("_bytes"):
        yield name, value


def test_bytes_are_integers(capsys):
    words = [FIXTURE, "--degrees", "1,2", "--context", 16, "--gpu", "rtx4090", "--ranks-per-node", 1]
    found = [one for row in json.loads(printed(capsys, *words, "--format", "json"))["rows"]
             for one in bytes_of({key: value for key, value in row.items() if key != "times"})]
    assert {"memory", "traffic", "bytes", "total_bytes", "device_bytes"} <= {name for name, _ in found}
    assert all(type(value) is int for _, value in found), found
    lines = list(csv.DictReader(io.StringIO(printed(capsys, *words, "--format", "csv"))))
    assert len(lines) == 2
    assert all(value.isdecimal() for line in lines for key, value in line.items()
               if key.endswith("_bytes"))
    # One rank does not communicate, and waits for nothing.
    assert float(lines[0]["token_communication_seconds"]) == 0 < float(
        lines[1]["token_communication_seconds"])


FIGURES = [(key,) for key in ("memory", "vector", "bandwidth", "kernel_seconds")] + [
    ("matrix", "bf16"), ("links", 0, "alpha"), ("links", 0, "beta"), ("links", 0, "start")]


@pytest.mark.parametrize("where", FIGURES, ids=str)
def test_figures_of_no_device(tmp_path, where):
    """A figure in another unit, such as TB/s, is refused, and says which is meant."""
    data = json.loads((_profile._FOLDER / "h100.json").read_text())
    at = data
    for key in where:
        at = at[key]
    is_time = where[-1] in ("kernel_seconds", "alpha", "start")
    at["value"] = 14.6 if is_time else at["value"] / 1e12
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(data))
    unit = "seconds, at most 1" if is_time else (
        "bytes, from 1e6 to 1e15" if where == ("memory",) else
        "bytes a second, from 1e6 to 1e15" if where[-1] in ("bandwidth", "beta") else
        "operations a second, from 1e6 to 1e18")
    with pytest.raises(plan.ProfileError, match=f"{where[-1]}.value: expected {unit}, got "):
        plan.read(str(path))
