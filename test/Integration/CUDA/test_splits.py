"""Attention whose keys are split over blocks: two kernels, one after the other, and the
runtime's scratch between them.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Two such attentions in a row share the scratch: every step has to be right, as a graph
and call by call, in any order that the streams allow.
"""

import subprocess

import numpy
import pytest
from device import BIN, Artifact
from safetensors.numpy import load_file, save_file

QUERY, KEYS = (2, 3, 4, 16), (2, 600, 2, 16)


def tensor(shape):
    return "tensor<" + "x".join(map(str, shape)) + "xf32>"


PROGRAM = f"""
!q = {tensor(QUERY)}
!k = {tensor(KEYS)}
func.func @main(%q: !q, %k: !k, %v: !k) -> (!q, !q) {{
  %a = nn.attention %q, %k, %v {{causal, scale = 0.25 : f64}} : (!q, !k, !k) -> !q
  %b = nn.attention %a, %v, %k {{causal, window = 400 : i64, scale = 0.5 : f64}} : (!q, !k, !k) -> !q
  return %a, %b : !q, !q
}}
"""


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("splits")
    program = folder / "program.mlir"
    program.write_text(PROGRAM)
    made = Artifact(folder, program)
    random = numpy.random.default_rng(3)
    inputs = folder / "inputs.safetensors"
    save_file({f"arg{i}": random.standard_normal(shape, dtype=numpy.float32)
               for i, shape in enumerate((QUERY, KEYS, KEYS))}, inputs)
    subprocess.run([BIN / "tp-compile", program, "-o", folder / "host.tpa"], check=True,
                   capture_output=True)
    subprocess.run([BIN / "tp-run", folder / "host.tpa", "--weights", "random:1",
                    "--input", inputs, "--output", folder / "host.safetensors"], check=True, capture_output=True)
    return made, inputs, load_file(folder / "host.safetensors")


def test_right_in_any_order(case):
    made, inputs, expected = case
    kernels = (made.folder / "kernels.ptx").read_text()
    assert kernels.count(".entry") == 4
    runs = [made.run(inputs, "--repeat=3", weights="random:1", TP_FAKE_CUDA_SEED=seed,
                     TPRT_CUDA_GRAPHS=graphs) for seed, graphs in ((1, 1), (2, 0), (3, 1))]
    assert len(expected) == 2
    for name, values in expected.items():
        for outputs in runs:
            assert numpy.abs(outputs[name] - values).max() <= 2e-5 * numpy.abs(values).max()
