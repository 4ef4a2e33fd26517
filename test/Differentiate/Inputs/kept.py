"""What the layers of Llama-3-8B keep, as tp-compile says, against the formulas.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: kept.py DIRECTORY layers=N

DIRECTORY has POLICY.json and POLICY-sp.json of --explain=json, bf16, one
sequence of 2048 tokens, 8 ranks, and whole.json of a plan that keeps what the
layers' products read.
"""

import json
import sys

FOLDER, LAYERS = sys.argv[1], int(sys.argv[2].split("=")[1])
T, E, H, F, N, QUERIES, KEYS, HEADS = 2048, 2, 4096, 14336, 8, 32 * 128, 8 * 128, 32


def formula(policy, split):
    """Bytes of one layer: activations, then statistics of rows in f32."""
    whole = 1 / N if split else 1
    if policy == "full":
        return E * T * H * whole
    norms, inner = (4, 4) if policy == "none" else (2, 2)
    heads = (2 * QUERIES + 2 * KEYS + inner * F) / N
    return E * T * (norms * H * whole + heads) + 4 * T * (2 * whole + HEADS / N)


cases = {f"{policy}{'-sp' if split else ''}": formula(policy, split) for policy in ("none", "selective", "full") for split in (False, True)}
cases["whole"] = formula("selective", True) + 2 * E * T * H
for name, want in cases.items():
    with open(f"{FOLDER}/{name}.json") as file:
        got = json.load(file)["memory"]["kept values"]["per_rank_bytes"] / LAYERS
    if abs(got - want) > 0.001 * want:
        sys.exit(f"{name}: {got} bytes a layer, expected {want}")
