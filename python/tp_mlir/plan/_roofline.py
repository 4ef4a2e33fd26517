"""Times of a workload, composed of those that the compiler computes from a profile.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The cost model is tp-compile's (--explain=json with --link): the seconds of each kernel and each
collective, and for how long a rank waits. It counts a cache that is full; here it is as full as the
workload says.
"""

import math
from dataclasses import dataclass

_PAGED = "nn.paged_attention"


@dataclass(frozen=True)
class Time:
    """Seconds by what takes them; of communication, those for which a rank waits
    and those by which kernels beside it take longer."""
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


@dataclass(frozen=True)
class Cache:
    """How full the cache is: as a part of what the compiler counts, which is all of it."""
    seen: float = 1.0    # by each token
    read: float = 1.0    # of all rows' keys and values
    bytes: float = 0.0   # of all rows' keys and values, all layers


def _kernels(function, cache):
    time = Time()
    paged = sum(work["count"] for work in function["work"] if work["kernel"] == _PAGED)
    for work in function["work"]:
        seconds, moved = work["seconds"], work["bytes"]
        at_peak, from_memory = seconds["arithmetic"], seconds["memory"]
        if work["kernel"] == _PAGED:
            at_peak *= cache.seen
            from_memory *= 1 - cache.bytes / paged * (1 - cache.read) / moved
        start = seconds["start"]
        time += (Time(arithmetic=at_peak, starts=start) if at_peak >= from_memory
                 else Time(memory=from_memory, starts=start)) * work["count"]
    return time


def run(candidate, name, cache=Cache()):
    """The Time of one run of a function."""
    function = candidate.function(name)
    exposed, slowed = function["seconds"]["exposed"], function["seconds"]["slowed"]
    return _kernels(function, cache) + Time(
        communication=math.inf if exposed is None else exposed + slowed)


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


def token(candidate, workload, context=None):
    """The time of a token for every user, each with `context` tokens (default: all full)."""
    part = (context or workload.context) / workload.context
    name, runs = token_runs(candidate, workload)
    return run(candidate, name, Cache(part, part, _cache_bytes(candidate))) * runs


def prefill(candidate, workload, prompt=None):
    """The time of one prompt (default: as long as the context), in chunks."""
    prompt = prompt or workload.prompt or workload.context
    steps = _steps(candidate)
    time, done = Time(), 0
    while done < prompt:
        size = _fitting(steps, prompt - done)
        taken = min(size, prompt - done)
        # A token sees those before it, in the mean half of its chunk.
        seen = (done + taken / 2) / workload.context
        time += run(candidate, steps[size],
                    Cache(seen, seen / workload.users, _cache_bytes(candidate)))
        done += taken
    return time


def training(candidate, workload):
    """The time of a step of training: all micro-batches, and the update."""
    return run(candidate, "gradient") * workload.accumulate + run(candidate, "update")
