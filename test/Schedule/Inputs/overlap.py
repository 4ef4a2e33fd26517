"""Schedules steps of training with and without overlap and compares memory and collectives.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: overlap.py BIN FIXTURES

The target is a device, which starts collectives of any size: those of fixtures are short.
"""

import json
import pathlib
import re
import subprocess
import sys

BIN, FIXTURES = (pathlib.Path(argument) for argument in sys.argv[1:])
ALLOWED = 1.05
CASES = [("llama-gqa", "megatron", "tp=2"), ("llama-gqa", "megatron-sp", "tp=2"), ("gpt2", "megatron-sp", "tp=3"),
         ("qwen2", "megatron", "dp=2,tp=2")]


def explained(name, plan, mesh, overlap):
    """The program's functions and collectives by name and id."""
    run = subprocess.run([BIN / "tp-compile", FIXTURES / name, "--train=adamw", "--allow-padding", "--batch", "2",
                          "--seq", "24", "--plan", plan, "--mesh", mesh, "--target", "cuda:ptx", "--overlap", overlap,
                          "--explain=json"], check=True, capture_output=True, text=True)
    data = json.loads(run.stdout)
    return ({one["name"]: one["memory"] for one in data["functions"]},
            {one["id"]: one for one in data["collectives"]})


beside = 0
for case in CASES:
    (before, calls), (after, started) = (explained(*case, overlap) for overlap in ("off", "auto"))
    assert calls.keys() == started.keys(), case
    for number, call in started.items():
        same = {key: value for key, value in call.items() if key != "beside"}
        assert same == {key: value for key, value in calls[number].items() if key != "beside"}, (case, call)
        assert calls[number]["beside"]["kernels"] == 0, (case, calls[number])
        # Weights' gradients are computed beside the reduction of the input's.
        if call["function"] == "gradient" and re.search("gate_proj|c_attn|up_proj", call["location"]) \
                and call["kind"] in ("all_reduce", "reduce_scatter"):
            assert call["beside"]["flops"] > 0, (case, call)
            beside += 1
    for function, memory in after.items():
        held = memory["activations"] + memory["kept_values"] + memory["communication"]
        limit = sum(before[function][key] for key in ("activations", "kept_values", "communication"))
        assert held <= ALLOWED * limit, f"{case} @{function}: {held} bytes, without overlap {limit}"
assert beside >= len(CASES), beside
