"""Programs under compute-sanitizer, and failures looked at again.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A program runs as rank 0 alone, in the process that the tool starts. cuBLASLt's own
kernels are not looked at for races: what they do is not ours to judge.
"""

import pathlib
import re
import shutil
import tempfile

from . import correctness, generation, programs
from .files import execute, write_torch


def find_tool():
    return shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer")


def arguments(pack, item, directory):
    """What the program is told: random inputs, those of a fixture, or texts to continue."""
    if item["kind"] == "generation":
        _, texts = generation.texts_of(pack.root / item["texts"])
        return ["--generate", generation.write_prompts(
            directory, [text["prompt"] for text in texts]), "--max-tokens", "2",
                "--output", directory / "answers.json"]
    if "kernel" not in item:
        return ["--input", pack.root / item["inputs"], "--only-rank", "0"]
    import torch
    program, inputs = programs.program(item["kernel"], item["dtype"]), directory / "in.safetensors"
    write_torch(inputs, torch, programs.random_inputs(program.inputs, torch, "cpu"))
    return ["--input", inputs, "--only-rank", "0"]


def under(tool, check, pack, item, seconds):
    """The program under one of the tool's checks: what became of it, and whether clean."""
    with tempfile.TemporaryDirectory() as directory:
        result = execute(
            [tool, "--tool", check, "--error-exitcode", "77",
             *pack.command(item, *arguments(pack, item, pathlib.Path(directory)),
                           "--timeout", "300")],
            seconds, {**pack.environment(item), "TPRT_CUDA_GRAPHS": "0"})
    text = result.out + result.err
    clean = (result.code == 0 and re.search(r"SUMMARY: 0 (errors|hazards)", text)
             and not re.search(r"SUMMARY: [1-9]|before first instrumented", text))
    return result, text, bool(clean)


def sanitizers(pack, record, seconds):
    tool = find_tool()
    if not tool or pack.backend != "nccl":
        return record(name="compute-sanitizer", status="skipped", why="not found")
    kernels = [i for i in pack.items("kernel")
               if i["dtype"] == "bf16" or i["kernel"] in ("attention", "softmax")]
    models = [i for i in pack.items("fixture")
              if i["dtype"] == "f32" and i["plan"] == "megatron" and i["degree"] < 4]
    # One of each kind first.
    names = ("llama-gqa", "bert", "gpt2", "mistral-window")
    models += [i for i in pack.items("generation") if i["dtype"] == "bf16"]
    models = [i for i in models if i["weights"].split("/")[-1] in names]
    items = [(check, item) for item in kernels for check in ("memcheck", "racecheck")]
    items += [("memcheck", item) for item in models]
    items = [{**item, "name": f"{check}: {item['name']}", "check": check}
             for check, item in items]
    refused = []

    def one(item, left):
        if refused:
            return record(name=item["name"], status="skipped", why=refused[0])
        result, text, clean = under(tool, item["check"], pack, item, min(90, left))
        if not clean and re.search("[Dd]evice not supported|Unsupported|not supported", text):
            refused.append("compute-sanitizer does not take this device: "
                           + " ".join(text.split())[-300:])
            return record(name=item["name"], status="skipped", why=refused[0])
        if result.code == 124:
            return record(name=item["name"], status="not run", why=f"ended at {left:.0f} s")
        return record(name=item["name"], status="passed" if clean else "failed",
                      seconds=round(result.seconds, 1),
                      **({} if clean else {"why": text[-300:], "log": text[-6000:]}))
    return correctness.deadline_loop(items, record, seconds, one, 4)


def again(pack, record, seconds):
    """What failed, the first of each step: call by call, each waiting for the one before,
    and under memcheck."""
    tool, items = find_tool(), []
    calls = {"fixture": correctness.fixture, "kernel": correctness.kernel,
             "generation": generation.fixture}
    known = sorted((item for item in pack.facts["items"] if item["kind"] in calls),
                   key=lambda item: -len(item["name"]))
    for failed in pack.recall("failed", []):
        # Steps say more in a result's name than the program's.
        item = next((item for item in known if item["name"] in failed), None)
        if item and item not in items and len(items) < 4:
            items.append(item)
    if not items:
        return record(name="nothing to look at", status="passed")
    for item in items:
        for name, environment in (
                ("no graph, blocking", {"TPRT_CUDA_GRAPHS": "0", "CUDA_LAUNCH_BLOCKING": "1"}),
                ("as before", {})):
            def noted(**result):
                result["was"] = result["status"]
                record(**{**result, "status": "note"})
            named = {**item, "name": f"{item['name']}, {name}"}
            try:
                calls[item["kind"]](pack, named, noted, seconds / 8, environment)
            except Exception as error:  # the others are looked at as well
                noted(name=named["name"], status="failed",
                      why=f"{type(error).__name__}: {error}")
        if tool and pack.on_card(item):
            result, text, clean = under(tool, "memcheck", pack, item, seconds / 4)
            record(name=f"{item['name']}, memcheck", status="note", clean=clean,
                   code=result.code, **({} if clean else {"log": text[:3000] + text[-3000:]}))
    return record(name=f"{len(items)} looked at", status="passed")
