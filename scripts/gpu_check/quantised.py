"""Quantised weights: how fast Llama-3-8B's shape is in FP8 and in int4.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Steps and a prompt of each format beside those of bf16, and beside vLLM's with the same format and
random weights, where that package is installed.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

from .benchmarks import aim, card, judged, step_seconds
from .benchmarks import measure as measure_plain
from .files import write_safetensors
from .generation import generate, step_of

# Of a step of so many texts in bf16: the format's time is that, divided by this at least.
ASKED = {("int4", 1): 2.5, ("int4", 16): 2.0}
FORMATS = ("fp8", "int4")
PEER = str(pathlib.Path(__file__).with_name("vllm_peer.py"))


def quantization(name, group=128):
    """What config.json says: compressed-tensors, weights alone."""
    weights = {"num_bits": 8, "type": "float", "strategy": "channel", "group_size": None}
    if name == "int4":
        weights = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": group}
    weights |= {"symmetric": True, "dynamic": False, "actorder": None, "observer": "minmax"}
    return {"quant_method": "compressed-tensors", "ignore": ["lm_head"],
            "format": "pack-quantized" if name == "int4" else "float-quantized",
            "quantization_status": "compressed", "kv_cache_scheme": None,
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights,
                                          "input_activations": None,
                                          "output_activations": None}}}


def vllm_of(folder, item, seconds):
    """What vLLM takes, in a process of its own; None where it is not installed."""
    asked = [sys.executable, "-c", "import vllm"]
    if subprocess.run(asked, capture_output=True, check=False).returncode:
        return None
    result = subprocess.run([sys.executable, PEER, str(folder), str(item["context"]),
                             json.dumps(item["texts"])], capture_output=True, text=True,
                            timeout=seconds, check=False)
    if result.returncode:
        raise RuntimeError(f"vLLM: {result.stderr[-800:]}")
    return json.loads(result.stdout.splitlines()[-1])


def prompt_seconds(pack, item):
    """Of the program that reads a prompt and nothing else."""
    tokens, vocabulary = item["tokens"], pack.facts["llama"]["vocabulary"]
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "in.safetensors"
        ids = b"".join(((i * 7919 + 13) % vocabulary).to_bytes(8, "little")
                       for i in range(tokens))
        write_safetensors(path, {"input_ids": ("I64", (1, tokens), ids)})
        return step_seconds(measure_plain(pack, {**item, "weights": "random:1"}, "--input", path))


def measure(pack, name, left):
    """{texts: seconds of a step, "prompt": seconds} of one format, or of bf16."""
    def find(kind):
        item, = (i for i in pack.items(kind) if i["format"] == name)
        return item
    item, found = find("quantised steps"), {}
    for batch, prompt in item["texts"]:
        stats = generate(pack, {**item, "weights": "random:1"}, batch, prompt, item["new"], left())
        found[batch] = step_of(stats, batch)[0]
    found["prompt"] = prompt_seconds(pack, find("quantised prompt"))
    return found


def speed(pack, record, seconds):
    """Each format beside bf16 in the same minutes, then beside vLLM."""
    end = time.monotonic() + seconds

    def left():
        if end - time.monotonic() < 10:
            raise RuntimeError("no time left")
        return end - time.monotonic()
    plain = measure(pack, "bf16", left)
    for name in FORMATS:
        took = measure(pack, name, left)
        for case, one in took.items():
            what = f"{name}, {'prompt' if case == 'prompt' else f'step of {case}'}"
            record(name=what, status="passed", seconds=one)
            ratio, least = plain[case] / one, ASKED.get((name, case))
            record(name=f"bf16 / {what}", status="passed", seconds=plain[case],
                   **(aim(ratio, least) if least else {"value": round(ratio, 4)}))
        if not card():
            continue
        item, = (i for i in pack.items("quantised steps") if i["format"] == name)
        theirs = vllm_of(pack.root / item["folder"], item, left())
        if theirs is None:
            record(name=f"vLLM, {name}", status="not run", why="vllm is not installed")
            continue
        for case, one in took.items():
            other = theirs[str(case)]
            what = "prompt" if case == "prompt" else f"step of {case}"
            record(name=f"vLLM / {name}, {what}", status="passed", seconds=other,
                   **judged(other / one, "above 1", other > one))
