"""Training: gradients of fixtures against the host's, and how long a step takes.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The host's gradients in f32, computed by the same tp-run where the card is, are those of
PyTorch to 2e-5 (test/Integration/CPU/test_training.py); beside the fixtures lies how far
PyTorch's own bf16 is from them. The step is that of four layers of Llama-3-8B's shape from
random weights, in bf16 with f32 masters.
"""

import array
import json
import pathlib
import statistics
import tempfile
import threading

from .benchmarks import card, judged, settled
from .correctness import F32_TOLERANCE, NORM_FACTOR, deadline_loop
from .files import difference, execute, floats, read_safetensors, write_safetensors
from .shapes import Llama

STEPS = 16


class HostGradients:
    """Of each fixture, computed once."""

    def __init__(self, pack):
        self.pack, self.known, self.lock = pack, {}, threading.Lock()

    def get(self, item):
        with self.lock:
            if item["folder"] not in self.known:
                host = next(i for i in self.pack.items("training on the host")
                            if i["folder"] == item["folder"])
                with tempfile.TemporaryDirectory() as directory:
                    path = pathlib.Path(directory) / "gradients.safetensors"
                    result = execute(
                        [self.pack.tp_run, self.pack.root / host["artifact"], "--backend",
                         "threads", "--weights", self.pack.root / host["folder"], "--input",
                         self.pack.root / host["inputs"], "--gradients", path], 60)
                    if result.code:
                        raise RuntimeError(f"{host['name']}: {result.why()}")
                    self.known[item["folder"]] = read_safetensors(path)
        return self.known[item["folder"]]


def judge(item, got, want, facts):
    """The largest part of what is allowed, and of what; what is too far off.

    In bf16 a vector has so few elements that its own norm is left much to chance, and in a mixture
    of experts a rounding may send a token elsewhere, an error of a whole matrix by itself: there
    the root mean square of all vectors, and of all matrices, is what is judged. Where a few values
    are large, their roundings are the errors of all matrices, whose norms are then left to chance
    together, as test/Integration/training.py says.
    """
    worst, off, together = (0.0, ""), {}, {"vectors": [], "matrices": []}

    def note(name, ratio):
        nonlocal worst
        worst = max(worst, (ratio, name))
        if not ratio <= 1:
            off[name] = ratio
    loss, expected = floats(got["loss"])[0], floats(want["loss"])[0]
    if item["dtype"] == "f32":
        note("loss", abs(loss - expected) / (1e-5 * abs(expected)))
    if set(got) != set(want):
        raise ValueError(f"gradients {sorted(got)}, expected {sorted(want)}")
    for name in sorted(set(got) - {"loss"}):
        distance, norm, largest = difference(got[name], want[name])
        if largest == 0:  # an expert that no token uses
            note(name, 0 if distance == 0 else float("inf"))
        elif item["dtype"] == "f32":
            note(name, distance / (F32_TOLERANCE * largest))
        elif name in facts:  # a tied head is its table
            ratio = norm / (NORM_FACTOR * facts[name]["bf16_norm"])
            is_vector = len(got[name][1]) == 1
            is_chance = item["mixture"] or item["folder"].endswith("large-values")
            if is_vector:
                together["vectors"].append(ratio / 2 if is_chance else ratio)
            elif item["mixture"]:
                together["matrices"].append(ratio)
            if not item["mixture"]:
                note(name, ratio / 2 if is_vector or is_chance else ratio)
    for what, ratios in together.items():
        if ratios:
            note(what, statistics.fmean(ratio * ratio for ratio in ratios) ** 0.5)
    return worst, off


def gradients(pack, record, seconds):
    """Of every parameter of every fixture that is a language model."""
    hosts = HostGradients(pack)

    def one(item, left):
        facts = json.loads((pack.root / item["folder"] / "gradients.json").read_text())
        want = hosts.get(item)
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "gradients.safetensors"
            result = pack.run(item, "--input", pack.root / item["inputs"], "--gradients", path,
                              "--timeout", f"{max(5, min(25, left - 8)):.0f}",
                              seconds=min(60, left))
            if result.code:
                return record(name=item["name"], **result.fault())
            (ratio, what), off = judge(item, read_safetensors(path), want, facts["parameters"])
        return record(name=item["name"], status="failed" if off else "passed",
                      of_tolerance=round(ratio, 4), worst=what, seconds=round(result.seconds, 2),
                      **({"why": "gradients differ", "off": off} if off else {}))
    order = sorted(pack.items("training"),
                   key=lambda i: (i["degree"], i["dtype"] != "f32", i["name"]))
    deadline_loop(order, record, seconds, one, 4)


def step_seconds(stats):
    """Of a micro-batch and an update, by the device's clock, else by the host's."""
    total = {}
    for name in ("gradient", "update"):
        entry = stats["steps"]["entries"][name]
        times = entry.get("device_seconds", entry["seconds"])
        total[name] = statistics.median(settled(times))
    return total


def step(pack, record, seconds):
    """Four layers against their matrix products, PyTorch and torch.compile."""
    item, = pack.items("training benchmark")
    facts = {**pack.facts["llama"], "layers": item["layers"]}
    shape = Llama(facts, item["tokens"])
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        ids = array.array("i", ((i * 7919 + 13) % facts["vocabulary"]
                                for i in range(STEPS * (shape.tokens + 1))))
        write_safetensors(directory / "tokens.safetensors",
                          {"tokens": ("I32", (STEPS, shape.tokens + 1), ids.tobytes())})
        result = pack.run({**item, "weights": "init:1"}, "--train",
                          directory / "tokens.safetensors", "--steps", STEPS, "--lr", "1e-4",
                          "--schedule", "linear:warmup=4,min=1e-5", "--stats", "json", "--log",
                          directory / "log.jsonl", seconds=seconds * 0.6)
        if result.code:
            return record(name="step", **result.fault())
        log = [json.loads(line) for line in (directory / "log.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in log]
    parts = step_seconds(json.loads(result.out))
    ours = sum(parts.values())
    falls = losses[-1] < losses[0]
    record(name="step", status="passed" if falls else "failed", seconds=ours, parts=parts,
           tokens_per_second=round(shape.tokens / ours), losses=[losses[0], losses[-1]],
           peak_bytes=log[-1]["peak_bytes"], **({} if falls else {"why": "the loss rises"}))
    torch = card()
    if not torch:
        return None
    from . import peers
    with torch.no_grad():
        model = peers.Model(torch, shape)
        products = min(peers.seconds(torch, peers.training_products(torch, model, library))
                       for library in (None, "cublaslt"))
        attention, whose = peers.attention_seconds(torch, shape)
    del model
    torch.cuda.empty_cache()
    # Of the derivative: five products in place of two.
    bare = products + 3.5 * attention * shape.layers
    record(name="bare products and attention / training step", status="passed",
           **judged(bare / ours, "none", True), seconds=ours, products=products,
           attention=3.5 * attention * shape.layers, attention_by=whose)
    for name, compiles in (("PyTorch eager", False), ("torch.compile", True)):
        try:
            times = peers.seconds(torch, peers.training_step(torch, shape, compiles), 6)
            record(name=f"{name} / training step", status="passed",
                   **judged(times / ours, "at least 1.15", times >= 1.15 * ours), seconds=times)
        except Exception as error:  # PyTorch's fault is not ours
            record(name=name, status="note", why=str(error)[:600])
        torch.cuda.empty_cache()
    return None
