"""Times from a roofline: arithmetic, memory and links, kernel by kernel.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A kernel takes as long as its arithmetic or its bytes, whichever takes longer, and a start. Kernels
and collectives come one after the other: what a device overlaps makes the true time shorter.
"""

import math
from dataclasses import dataclass

from . import _link

_MATRIX = ("gemm", "nn.linear", "nn.matmul", "nn.experts", "nn.quantized_linear",
           "nn.quantized_experts")
_PAGED = "nn.paged_attention"
#: On a GPU, f32 inputs of a quantised weight (a recipe has rounded them) are multiplied on tensor
#: cores as a sum of so many parts in bf16 (kernels/device/quantized_tiles.cu).
_PARTS = 3


@dataclass(frozen=True)
class Time:
    """Seconds by what takes them."""
    arithmetic: float = 0.0
    memory: float = 0.0
    starts: float = 0.0
    communication: float = 0.0

    @property
    def total(self):
        return self.arithmetic + self.memory + self.starts + self.communication

    def __add__(self, other):
        return Time(*(getattr(self, name) + getattr(other, name) for name in _FIELDS))

    def __mul__(self, factor):
        return Time(*(getattr(self, name) * factor for name in _FIELDS))


_FIELDS = ("arithmetic", "memory", "starts", "communication")


def _speed(work, profile):
    """Operations a second of a kernel."""
    kind = work["kernel"]
    if kind in _MATRIX:
        factor, table = profile.efficiency["matrix"], profile.matrix
    elif "attention" in kind:
        factor, table = profile.efficiency["attention"], profile.matrix
    else:
        return profile.vector.value * profile.efficiency["vector"]
    if work["type"] not in table:
        raise ValueError(f"{profile.name}: no figure for products in {work['type']}: expected "
                         f"--dtype to be one of {', '.join(table)}")
    speed = table[work["type"]].value
    is_split = (kind == "nn.quantized_linear" and work["type"] == "f32" and
                profile.target.startswith("cuda"))
    if is_split and "bf16" in table:
        speed = max(speed, table["bf16"].value / _PARTS)
    return speed * factor


@dataclass(frozen=True)
class Cache:
    """How full the cache is: as a part of what the compiler counts, which is all of it."""
    seen: float = 1.0    # by each token
    read: float = 1.0    # of all rows' keys and values
    bytes: float = 0.0   # of all rows' keys and values, all layers


def _kernels(function, profile, ranks, cache):
    part = profile.part(ranks)
    bandwidth = profile.bandwidth.value * profile.efficiency["bandwidth"] * part
    time = Time()
    paged = sum(work["count"] for work in function["work"] if work["kernel"] == _PAGED)
    for work in function["work"]:
        flops, moved, count = work["flops"], work["bytes"], work["count"]
        if work["kernel"] == _PAGED:
            flops *= cache.seen
            moved -= cache.bytes / paged * (1 - cache.read)
        at_peak = flops / (_speed(work, profile) * part)
        from_memory = moved / bandwidth
        start = profile.kernel_seconds.value
        time += (Time(arithmetic=at_peak, starts=start) if at_peak >= from_memory
                 else Time(memory=from_memory, starts=start)) * count
    return time


def communication(lines, mesh, profile):
    """Seconds of the collectives of one run."""
    return sum(line["count"] * _link.seconds(
        line["messages"], line["traffic"],
        _link.span(line["axis"], mesh, profile.ranks_per_node), profile.links) for line in lines)


def run(candidate, name, profile, cache=Cache()):
    """The Time of one run of a function."""
    function = candidate.function(name)
    ranks = math.prod(_link.parse_mesh(candidate.mesh).values())
    return _kernels(function, profile, ranks, cache) + Time(
        communication=communication(candidate.collectives(name), candidate.mesh, profile))


def _steps(candidate):
    """The sizes of the steps that generate, and their names."""
    return {int(function["name"][5:]): function["name"] for function in candidate.data["functions"]
            if function["name"].startswith("step_")}


def _cache_bytes(candidate):
    return candidate.data["functions"][0]["memory"]["states"]


def _fitting(sizes, tokens):
    """The smallest step that holds the tokens, or the largest."""
    return min((size for size in sizes if size >= tokens), default=max(sizes))


def token_runs(candidate, workload):
    """The function that gives every user a token, and how often it runs for that."""
    steps = _steps(candidate)
    size = _fitting(steps, workload.users)
    return steps[size], math.ceil(workload.users / size)


def token(candidate, workload, profile, context=None):
    """The time of a token for every user, each with `context` tokens (default: all full)."""
    part = (context or workload.context) / workload.context
    name, runs = token_runs(candidate, workload)
    return run(candidate, name, profile, Cache(part, part, _cache_bytes(candidate))) * runs


def prefill(candidate, workload, profile, prompt=None):
    """The time of one prompt (default: as long as the context), in chunks."""
    prompt = prompt or workload.prompt or workload.context
    steps = _steps(candidate)
    time, done = Time(), 0
    while done < prompt:
        size = _fitting(steps, prompt - done)
        taken = min(size, prompt - done)
        # A token sees those before it, in the mean half of its chunk.
        seen = (done + taken / 2) / workload.context
        time += run(candidate, steps[size], profile,
                    Cache(seen, seen / workload.users, _cache_bytes(candidate)))
        done += taken
    return time


def training(candidate, workload, profile):
    """The time of a step of training: all micro-batches, and the update."""
    return (run(candidate, "gradient", profile) * workload.accumulate +
            run(candidate, "update", profile))
