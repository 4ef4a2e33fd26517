"""All figures of one candidate, as JSON has them.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

from . import _memory, _roofline


def _seconds(time):
    return {"seconds": time.total, "arithmetic": time.arithmetic, "memory": time.memory,
            "starts": time.starts, "communication": time.communication}


def _serving(row, candidate, workload, limit):
    capacity, memory = row["device_bytes"], row["memory"]
    token = _roofline.token(candidate, workload)
    row["users"] = workload.users
    row["times"] = {"prefill": _seconds(_roofline.prefill(candidate, workload)),
                    "token": _seconds(token)}
    row["tokens_per_second"] = workload.users / token.total
    states = candidate.data["states"]
    row["cache_copies"] = states["per_rank_bytes"] / states["ideal_bytes"]
    row["longest_context"] = _memory.longest_context(memory, workload, capacity, limit)
    row["most_users"] = _memory.most_users(memory, workload, capacity)


def _training(row, candidate, workload, profile):
    capacity, memory = row["device_bytes"], row["memory"]
    time = _roofline.training(candidate, workload)
    row["times"] = {"step": _seconds(time)}
    tokens = row["tokens"] * workload.accumulate
    row["tokens_per_second"] = tokens / time.total
    row["most_sequences"] = _memory.most_sequences(memory, workload, capacity)
    gradient = candidate.function("gradient")
    kind = next((work["type"] for work in gradient["work"] if work["kernel"] == "gemm"), None)
    if kind in profile.matrix:
        peak = profile.matrix[kind].value * profile.part(row["ranks"]) * row["ranks"]
        row["of_peak"] = (gradient["flops"]["model"] * workload.accumulate / time.total / peak)


def _running(row, candidate):
    time = _roofline.run(candidate, "main")
    row["times"] = {"run": _seconds(time)}
    if "tokens" in row:
        row["tokens_per_second"] = row["tokens"] / time.total


def served(workload, candidate):
    """The functions whose collectives are told, and how often each runs."""
    if workload.kind == "serve":
        name, runs = _roofline.token_runs(candidate, workload)
        return {name: runs}
    if workload.kind == "train":
        return {"gradient": workload.accumulate, "update": 1}
    return {"main": 1}


def _collectives(candidate, workload, profile):
    """Those of a token, a step or a run, by kind, axis and link."""
    found = {}
    for name, runs in served(workload, candidate).items():
        for line in candidate.collectives(name):
            link = profile.links[1 if line["nodes"] > 1 and len(profile.links) > 1 else 0].name
            entry = found.setdefault((line["kind"], line["axis"], link), {
                "kind": line["kind"], "axis": line["axis"], "link": link, "nodes": 1, "count": 0, "bytes": 0,
                "traffic": 0, "seconds": 0.0, "exposed": 0.0})
            count = runs * line["count"]
            entry["nodes"] = max(entry["nodes"], line["nodes"])
            entry["count"] += count
            entry["bytes"] += count * line["bytes"]
            entry["traffic"] += count * line["traffic"]
            for key in ("seconds", "exposed"):
                entry[key] += math.inf if line[key] is None else runs * line[key]
    return list(found.values())


def _traffic(candidate, workload, profile):
    """Bytes that a rank sends for a token, a step or a run, by link."""
    sent = dict.fromkeys((link.name for link in profile.links), 0.0)
    for name, runs in served(workload, candidate).items():
        for line in candidate.collectives(name):
            total = runs * line["count"] * line["traffic"]
            out = total * line["nodes"] / line["ranks"] if line["nodes"] > 1 else 0.0
            for link, part in zip(profile.links, (total - out, out)):
                sent[link.name] += part
    return sent


def _whole(value):
    """Bytes as they are told: whole ones."""
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in value.items()}
    return round(value)


def describe(candidate, workload, profile, limit=None):
    """The row of a candidate.

    Args:
        limit: positions that the model is good for.
    """
    ranks = candidate.ranks
    row = {"plan": candidate.plan, "degree": candidate.degree, "mesh": candidate.mesh,
           "ranks": ranks, "nodes": math.ceil(ranks / profile.ranks_per_node)}
    if candidate.refusal:
        return {**row, "refusal": candidate.refusal}
    if ranks > profile.ranks_per_node and len(profile.links) < 2:
        return {**row, "refusal": f"{ranks} ranks do not lie on one node, which has "
                f"{profile.ranks_per_node}, and {profile.name} has no link between nodes"}
    memory = _whole(_memory.by_kind(candidate, workload, profile, ranks))
    row["memory"] = memory
    row["total_bytes"] = sum(memory.values())
    row["device_bytes"] = _whole(profile.memory.value * profile.part(ranks))
    row["fits"] = row["total_bytes"] <= row["device_bytes"]
    row["excess"] = candidate.data["parameters"]["excess"]
    row["collectives"] = _collectives(candidate, workload, profile)
    row["traffic"] = _whole(_traffic(candidate, workload, profile))
    if workload.kind == "serve":
        _serving(row, candidate, workload, limit)
    else:
        if workload.seq:
            row["tokens"] = workload.batch * workload.data * workload.seq
        if workload.kind == "train":
            _training(row, candidate, workload, profile)
        else:
            _running(row, candidate)
    return row


def latency(row):
    """The time that a user waits for: of a token, a step or a run."""
    times = row["times"]
    return next(times[kind]["seconds"] for kind in ("token", "step", "run") if kind in times)


def communication_part(row):
    """How much of that time is communication."""
    times = row["times"]
    time = next(times[kind] for kind in ("token", "step", "run") if kind in times)
    return time["communication"] / time["seconds"]


def tensor_part(row):
    """How much of that time a rank waits for communication of tensor parallelism, and not of batches alone."""
    return sum(one["exposed"] for one in row["collectives"]
               if "tp" in one["axis"]) / latency(row)
