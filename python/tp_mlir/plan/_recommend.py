"""Which degree to take, in a sentence, and what speaks against a higher one.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The cheapest is the one of the fewest ranks (for a rate asked for: of all replicas together) that
holds the model and meets the latency asked for, of equals the fastest. Tensor parallelism should
stop where a rank more no longer pays: at the node's end, where collectives take most of the time,
where KV heads are copied rather than cut.
"""

import math

from . import _figures
from .._units import bytes_text, count_text, part_text, price_text, seconds_text

# Twice the ranks should give at least so much more speed.
_WORTH = 1.3
# And collectives should take at most so much of the time.
_MOST_COMMUNICATION = 0.5


def _name(row):
    return f"{row['mesh']} with {row['plan']}"


def _best(rows):
    return min(rows, key=lambda row: (row.get("devices", row["ranks"]), _figures.latency(row),
                                      row["total_bytes"]))


def _memory(row):
    return part_text(row["total_bytes"], row["device_bytes"])


def _what(workload):
    return {"serve": "a token", "train": "a step", "run": "a run"}[workload.kind]


def choose(rows, latency=None):
    """The row to take; None if none fits and meets the latency (seconds)."""
    fitting = [row for row in rows if row.get("fits")]
    if latency is not None:
        fitting = [row for row in fitting if _figures.latency(row) <= latency]
    return _best(fitting) if fitting else None


def mark(rows, latency=None):
    """Adds to each row with figures whether it is the one to take."""
    chosen = choose(rows, latency)
    for row in rows:
        if "memory" in row:
            row["recommended"] = row is chosen
            if latency is not None:
                row["meets_latency"] = _figures.latency(row) <= latency


def _faster(row, chosen):
    return _figures.latency(chosen) / _figures.latency(row)


def _next(rows, chosen):
    """The next larger that is cut by the same plan, if it fits."""
    return min((row for row in rows if row.get("fits") and row["plan"] == chosen["plan"] and
                row["ranks"] > chosen["ranks"]), key=lambda row: row["ranks"], default=None)


def _beyond(rows, chosen):
    larger = _next(rows, chosen)
    if larger is None:
        return ""
    speed = _faster(larger, chosen)
    if speed <= 1:
        return f"; {larger['mesh']} would be slower ({speed:.2f}x)"
    return (f"; {larger['mesh']} would be {speed:.2f}x as fast with "
            f"{larger['ranks'] / chosen['ranks']:.3g}x the ranks")


def _smaller_work(least, workload):
    """What would fit on the same ranks, where the parameters alone do: fewer users and more replicas;
    nothing if they do not."""
    memory = least["memory"]
    if workload.kind != "serve" or workload.users == 1 or not least.get("most_users"):
        return ""
    return (f"the cache of {workload.users:,} users is what is too large ("
            f"{bytes_text(memory['kv_cache'])}): at most {least['most_users']:,} users fit in a "
            "replica (--users), so take more replicas (--rate counts them), or a shorter --context")


def _shorter(least, workload):
    """What would fit of one user's context."""
    if workload.kind != "serve" or not least.get("longest_context"):
        return ""
    return (f"its cache is what is too large ({bytes_text(least['memory']['kv_cache'])}): a --context "
            f"of {least['longest_context']:,} fits")


def groups_to_try(row, workload):
    """Numbers of data-parallel groups, rising, by which the moments of a row may be small enough,
    powers of two as groups are; none if all else is too large."""
    rest = row["total_bytes"] - row["memory"].get("moments", 0)
    if workload.kind != "train" or workload.shard_optimizer != "dp" or (
            rest >= row["device_bytes"]):
        return []
    least = row["memory"]["moments"] * workload.data / (row["device_bytes"] - rest)
    first = 2 ** max(1, math.ceil(math.log2(least)))
    return [groups for groups in (first, 2 * first, 4 * first) if groups > workload.data]


def _nothing_fits(rows, workload, profile, latency, divided):
    sized = [row for row in rows if "memory" in row]
    if not sized:
        return "No degree asked for fits the model: see what does not divide."
    fitting = [row for row in sized if row["fits"]]
    if fitting:
        fastest = min(fitting, key=_figures.latency)
        return (f"None meets {seconds_text(latency)}: the fastest, {_name(fastest)}, takes "
                f"{seconds_text(_figures.latency(fastest))} for {_what(workload)}.")
    within = [row for row in sized if row["nodes"] == 1] or sized
    least = min(within, key=lambda row: row["total_bytes"])
    text = f"None fits: {_name(least)} needs {_memory(least)} a rank"
    if divided:
        best = min(divided, key=lambda row: (row["ranks"], row["total_bytes"]))
        option = "" if workload.shard_optimizer else "with --shard-optimizer dp, "
        return f"{text}; {option}{_name(best)} fits: {_memory(best)} a rank."
    if profile.shared:
        return f"{text}: all ranks share one memory, so more of them hold no more."
    # What is asked for less of comes before what costs ranks or does not exist.
    for advice in (_smaller_work, _shorter):
        if words := advice(least, workload):
            return f"{text}; {words}."
    if all(row["plan"] == "replicated" for row in sized):
        return (f"{text}: plan 'replicated' holds all of the model on every rank, so no degree helps; "
                "ask for another plan (--plans megatron).")
    if least["ranks"] < profile.ranks_per_node:
        return f"{text}; ask for higher degrees, as a node has {profile.ranks_per_node} ranks."
    workspace = least["memory"]["workspace"]
    parts = -(-(least["total_bytes"] - workspace) // (least["device_bytes"] - workspace))
    return (f"{text}; keep tensor parallelism within a node and cut the layers over about "
            f"{parts:.0f} nodes by pipeline parallelism, which tp-mlir does not have.")


def _service(chosen, rate):
    """What serves a rate: replicas, their users, and what it costs."""
    many = chosen["replicas"] > 1
    text = (f"Take {chosen['replicas']:,} replica{'s' if many else ''} of {_name(chosen)}, "
            f"{chosen['devices']:,} device{'s' if chosen['devices'] > 1 else ''}, for "
            f"{count_text(rate)} tokens/s: {'each gives' if many else 'it gives'} "
            f"{count_text(chosen['tokens_per_second'])}")
    if "users" in chosen:
        text += (f" to {chosen['users']:,} user{'s' if chosen['users'] > 1 else ''} at once, a token "
                 f"in {seconds_text(_figures.latency(chosen))}")
    if "service_price_per_hour" in chosen:
        text += (f", and all cost {price_text(chosen['service_price_per_hour'])} an hour, "
                 f"{price_text(chosen['price_per_million_tokens'])} for a million tokens")
    return f"{text} ({_memory(chosen)} a rank)."


def sentence(rows, workload, profile, latency=None, rate=None, divided=()):
    """The recommendation with its reason.

    Args:
        divided: rows of candidates that fit if the optimizer is divided over dp, or over more groups.
    """
    chosen = choose(rows, latency)
    if chosen is None:
        return _nothing_fits(rows, workload, profile, latency, divided)
    if rate is not None:
        return _service(chosen, rate)
    meets = (f" and meet {seconds_text(latency)} for {_what(workload)} "
             f"({seconds_text(_figures.latency(chosen))})") if latency is not None else ""
    reason = f"the fewest ranks tried that hold it ({_memory(chosen)} a rank){meets}"
    if chosen["ranks"] == 1:
        reason = f"it fits on one ({_memory(chosen)}){meets}"
    if chosen["degree"] > profile.ranks_per_node:
        reason += ("; its groups leave the node, where pipeline parallelism, which tp-mlir does "
                   "not have, would serve better")
    return f"Take {_name(chosen)} on {profile.name}: {reason}{_beyond(rows, chosen)}."


def _doublings(rows):
    """Pairs of rows of one plan, of which the first fits and the second has twice the degree."""
    sized = [row for row in rows if "times" in row]
    for row in sized:
        for other in sized:
            if (row["fits"] and other["plan"] == row["plan"] and
                    other["degree"] == 2 * row["degree"] and
                    other.get("users") == row.get("users")):
                yield row, other


def _leaves(row):
    """True if groups of tensor parallelism lie on several nodes."""
    return any("tp" in one["axis"] and one["nodes"] > 1 for one in row["collectives"])


def _instead(workload, rate):
    """What gives more throughput than a higher degree."""
    if workload.kind == "train":
        return f"more data-parallel groups (--dp above {workload.data})"
    if workload.kind == "serve":
        return "more replicas" if rate is not None else "several replicas (--rate counts them)"
    return "several copies of the program"


def _speed(gain):
    return (f"{'only ' if gain < _WORTH else ''}{gain:.2f}x as fast as" if gain > 1.005 else
            "no faster than" if gain > 0.995 else f"slower ({gain:.2f}x) than")


def _data_part(row):
    """How much of the time a rank waits for the exchange of data-parallel groups alone."""
    return sum(one["exposed"] for one in row["collectives"]
               if "dp" in one["axis"] and "tp" not in one["axis"]) / _figures.latency(row)


def _stops(rows, workload, profile, rate):
    """Where tensor parallelism stops paying, plan by plan, with what to do instead."""
    told = set()
    if profile.shared:
        # Its ranks are parts of one device: there is nothing to gain but the overlap.
        return
    for row, other in sorted(_doublings(rows), key=lambda pair: pair[0]["degree"]):
        if row["plan"] in told or row["plan"] == "replicated":
            continue
        gain = _figures.latency(row) / _figures.latency(other)
        part = _figures.tensor_part(other)
        leaves = _leaves(other) and not _leaves(row)
        if gain >= _WORTH and part <= _MOST_COMMUNICATION and not leaves:
            continue
        told.add(row["plan"])
        where = " and its groups leave the node" if leaves else ""
        data = _data_part(other)
        if data > part and other["nodes"] > row["nodes"]:
            yield (f"With {workload.data} groups, {_name(other)} leaves the node: the exchange of "
                   f"gradients over dp takes {100 * data:.0f} % of {_what(workload)}, and the "
                   f"collectives of tensor parallelism {100 * part:.0f} %. It is "
                   f"{_speed(gain)} tp={row['degree']}; groups that stay within a node, or more "
                   "micro-batches a step (--accumulate), for which gradients are exchanged once, "
                   "help, and more groups do not.")
            continue
        speed = _speed(gain)
        yield (f"Tensor parallelism of {row['plan']} stops paying at tp={row['degree']}: "
               f"tp={other['degree']} is {speed} tp={row['degree']}; its collectives take "
               f"{100 * part:.0f} % of the time{where}. For more throughput use "
               f"{_instead(workload, rate)}; for more memory cut the layers over nodes (pipeline "
               "parallelism, which tp-mlir does not have).")


def _long_contexts(rows, workload):
    """Where the cache, and not the weights, is what does not fit."""
    sized = [row for row in rows if "memory" in row and row["plan"] != "replicated"]
    if workload.kind != "serve" or not sized:
        return
    largest = max(sized, key=lambda row: row["degree"])
    cache, all_of_it = largest["memory"]["kv_cache"], largest["total_bytes"]
    # Padded heads make it less than two.
    if largest["cache_copies"] > 1.99:
        yield (f"At tp={largest['degree']} each part of the cache lies on "
               f"{largest['cache_copies']:.3g} ranks, for "
               "there are more ranks than KV heads: more ranks do not allow a longer context. "
               "Context parallelism (ring attention), which tp-mlir does not have, cuts it along "
               "the sequence instead.")
    elif cache > all_of_it / 2 and not largest["fits"]:
        yield (f"The cache is {100 * cache / all_of_it:.0f} % of what tp={largest['degree']} "
               "needs: fewer users, a shorter context, or context parallelism (ring attention), "
               "which tp-mlir does not have.")


def notes(rows, workload, profile, divided=(), rate=None):
    """What else the figures say."""
    for row in divided:
        how = ("as moments and masters are divided over more groups (--dp)"
               if workload.shard_optimizer else "with --shard-optimizer dp")
        yield f"{_name(row)} fits {how}: {_memory(row)} a rank."
    yield from _stops(rows, workload, profile, rate)
    yield from _long_contexts(rows, workload)
    for row in rows:
        excess = row.get("excess", {})
        needed = row["memory"]["parameters"] if "memory" in row else 0
        for kind, words in (("copies", "copies of KV heads' weights"), ("padding", "padding")):
            if excess.get(kind, 0) > 0.005 * needed:
                yield (f"{_name(row)}: {bytes_text(excess[kind])} of the parameters of a rank are "
                       f"{words}.")
