"""Tokens that a device chooses, beside those of the host.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Rows at random and not, of wide and narrow nuclei, many equal logits, rows without a token,
and of no numbers. The choice is the same, token by token: also that it cannot be told.
"""

import subprocess

import numpy
import pytest
from device import BIN, Artifact
from safetensors.numpy import load_file, save_file

ROWS = 24
PROGRAM = """
func.func @main(%logits: tensor<RxVxf32>, %positions: tensor<Rxi32>, %seed: tensor<Rxi64>, %temperature: tensor<Rxf32>, %top_k: tensor<Rxi32>, %top_p: tensor<Rxf32>, %min_p: tensor<Rxf32>) -> (tensor<SxRx133xf32>, tensor<Rxi32>, tensor<Rxf32>) {
  %blocks = arith.constant dense<NUMBERS> : tensor<Sxi32>
  %records = nn.sample_records %logits, %blocks, %positions, %seed, %temperature {vocabulary = SIZE : i64} : (tensor<RxVxf32>, tensor<Sxi32>, tensor<Rxi32>, tensor<Rxi64>, tensor<Rxf32>) -> tensor<SxRx133xf32>
  %token, %logprob = nn.sample_pick %records, %positions, %seed, %temperature, %top_k, %top_p, %min_p : (tensor<SxRx133xf32>, tensor<Rxi32>, tensor<Rxi64>, tensor<Rxf32>, tensor<Rxi32>, tensor<Rxf32>, tensor<Rxf32>) -> (tensor<Rxi32>, tensor<Rxf32>)
  return %records, %token, %logprob : tensor<SxRx133xf32>, tensor<Rxi32>, tensor<Rxf32>
}
"""


def make_inputs(vocabulary, columns):
    random = numpy.random.default_rng(vocabulary)
    logits = random.standard_normal((ROWS, columns), dtype=numpy.float32)
    logits *= random.choice([0.1, 1, 4], (ROWS, 1)).astype(numpy.float32)
    logits[::5] = numpy.round(logits[::5])  # ties
    logits[7, 3:] = -numpy.inf
    logits[8] = -numpy.inf
    logits[9, 5] = numpy.nan
    logits[10] = 1.5
    logits[11, ::2] = -0.0
    logits[11, 1::2] = 0.0
    logits[:, vocabulary:] = 100  # padding, which wins nothing
    positions = random.integers(0, 4000, ROWS).astype(numpy.int32)
    positions[12] = -1
    pick = lambda values: random.choice(values, ROWS)
    return {"arg0": logits, "arg1": positions,
            "arg2": random.integers(-2**62, 2**62, ROWS),
            "arg3": pick([0, 0.3, 1, 1, 1.7]).astype(numpy.float32),
            "arg4": pick([0, 0, 1, 5, 64, 65]).astype(numpy.int32),
            "arg5": pick([1, 1, 0.2, 0.9, 0.99]).astype(numpy.float32),
            "arg6": pick([0, 0, 0.01, 0.3]).astype(numpy.float32)}


@pytest.mark.parametrize("vocabulary, blocks", [(131, 3), (8201, 1)])
def test_same_tokens(vocabulary, blocks, tmp_path):
    columns = vocabulary + 4 * (blocks > 1)
    program = tmp_path / "program.mlir"
    text = PROGRAM.replace("NUMBERS", str(list(range(blocks)))).replace("SIZE", str(vocabulary))
    for name, size in (("Rx", ROWS), ("Vx", columns), ("Sx", blocks)):
        text = text.replace("<" + name, f"<{size}x").replace("x" + name, f"x{size}x")
    program.write_text(text)
    save_file(make_inputs(vocabulary, columns), tmp_path / "in.safetensors")
    subprocess.run([BIN / "tp-compile", program, "-o", tmp_path / "host.tpa"], check=True,
                   capture_output=True)
    subprocess.run([BIN / "tp-run", tmp_path / "host.tpa", "--weights", "random:1", "--input",
                    tmp_path / "in.safetensors", "--output", tmp_path / "host.safetensors"],
                   check=True, capture_output=True)
    host = load_file(tmp_path / "host.safetensors")
    made = Artifact(tmp_path, program, checks=vocabulary < 5000)
    device = made.run(tmp_path / "in.safetensors", weights="random:1")
    records, tokens, logprobs = (device[name] for name in sorted(device))
    wanted, right, probable = (host[name] for name in sorted(host))
    assert (tokens == right).all(), numpy.flatnonzero(tokens != right)
    assert (right >= 0).sum() > ROWS / 2 and (right < 0).sum() >= 3
    assert numpy.abs(logprobs - probable).max() <= 2e-5
    clean = [row for row in range(ROWS) if row != 9]
    best = slice(0, 129)  # candidates, their tokens and the largest are copies
    assert (records[:, clean, best] == wanted[:, clean, best]).all()
    sums = (records[:, clean, 129:131], wanted[:, clean, 129:131])
    assert numpy.allclose(*sums, rtol=1e-5, atol=0)
    assert (records[:, clean, 131:] == wanted[:, clean, 131:]).all()
