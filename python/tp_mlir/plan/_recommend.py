"""Which degree to take, in a sentence, and what speaks against a higher one.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The cheapest is the one of the fewest ranks that holds the model and meets the latency asked for,
of equals the fastest. Tensor parallelism should stop where a rank more no longer pays: at the
node's end, where collectives take most of the time, where KV heads are copied rather than cut.
"""

from . import _figures
from ._units import bytes_text, seconds_text

# Twice the ranks should give at least so much more speed.
_WORTH = 1.3
# And collectives should take at most so much of the time.
_MOST_COMMUNICATION = 0.5


def _name(row):
    return f"{row['mesh']} with {row['plan']}"


def _best(rows):
    return min(rows, key=lambda row: (row["ranks"], _figures.latency(row), row["program_bytes"]))


def _what(workload):
    return {"serve": "a token", "train": "a step", "run": "a run"}[workload.kind]


def choose(rows, workload, latency=None):
    """The row to take; None if none fits and meets the latency (seconds)."""
    fitting = [row for row in rows if row.get("fits")]
    if latency is not None:
        fitting = [row for row in fitting if _figures.latency(row) <= latency]
    return _best(fitting) if fitting else None


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
    return (f"; {larger['mesh']} would be {_faster(larger, chosen):.2f} times as fast for "
            f"{larger['ranks'] / chosen['ranks']:g} times the ranks")


def _nothing_fits(rows, workload, profile, latency):
    sized = [row for row in rows if "memory" in row]
    if not sized:
        return "No degree asked for fits the model: see what does not divide."
    fitting = [row for row in sized if row["fits"]]
    if fitting:
        fastest = min(fitting, key=_figures.latency)
        return (f"None meets {seconds_text(latency)}: the fastest, {_name(fastest)}, takes "
                f"{seconds_text(_figures.latency(fastest))} for {_what(workload)}.")
    within = [row for row in sized if row["nodes"] == 1] or sized
    least = min(within, key=lambda row: row["program_bytes"])
    text = (f"None fits: {_name(least)} needs {bytes_text(least['program_bytes'])} of "
            f"{bytes_text(least['available_bytes'])} a rank")
    if profile.shared:
        return f"{text}: all ranks share one memory, so more of them hold no more."
    if least["ranks"] < profile.ranks_per_node:
        return f"{text}; ask for higher degrees, as a node has {profile.ranks_per_node} ranks."
    parts = -(-least["program_bytes"] // least["available_bytes"])
    return (f"{text}; keep tensor parallelism within a node and cut the layers over about "
            f"{parts:.0f} nodes by pipeline parallelism, which tp-mlir does not have.")


def sentence(rows, workload, profile, latency=None):
    """The recommendation with its reason."""
    chosen = choose(rows, workload, latency)
    if chosen is None:
        return _nothing_fits(rows, workload, profile, latency)
    meets = (f" and meet {seconds_text(latency)} for {_what(workload)} "
             f"({seconds_text(_figures.latency(chosen))})") if latency is not None else ""
    ranks = chosen["ranks"]
    reason = (f"the fewest ranks that hold it ({bytes_text(chosen['program_bytes'])} of "
              f"{bytes_text(chosen['available_bytes'])} a rank){meets}")
    if ranks == 1:
        reason = (f"it fits on one ({bytes_text(chosen['program_bytes'])} of "
                  f"{bytes_text(chosen['available_bytes'])}){meets}")
    if chosen["nodes"] > 1 and chosen["degree"] > profile.ranks_per_node:
        reason += ("; its groups leave the node, where pipeline parallelism, which tp-mlir does "
                   "not have, would serve better")
    return f"Take {_name(chosen)} on {profile.name}: {reason}{_beyond(rows, chosen)}."


def _doublings(rows):
    """Pairs of rows of one plan, of which the second has twice the ranks."""
    sized = [row for row in rows if "times" in row]
    for row in sized:
        for other in sized:
            if other["plan"] == row["plan"] and other["ranks"] == 2 * row["ranks"]:
                yield row, other


def _stops(rows, profile):
    """Where tensor parallelism stops paying, plan by plan, with what to do instead."""
    told = set()
    if profile.shared:
        # Its ranks are parts of one device: there is nothing to gain but the overlap.
        return
    for row, other in sorted(_doublings(rows), key=lambda pair: pair[0]["ranks"]):
        if row["plan"] in told or row["degree"] == other["degree"]:
            continue
        gain = _figures.latency(row) / _figures.latency(other)
        part = _figures.communication_part(other)
        leaves = other["nodes"] > row["nodes"]
        if gain >= _WORTH and part <= _MOST_COMMUNICATION and not leaves:
            continue
        told.add(row["plan"])
        where = " and the groups leave the node" if leaves else ""
        yield (f"Tensor parallelism of {row['plan']} stops paying at tp={row['degree']}: at "
               f"tp={other['degree']} collectives are {100 * part:.0f} % of the time{where}, and "
               f"it is {gain:.2f} times as fast. For more throughput run several of them (data "
               "parallelism); for more memory cut the layers over nodes (pipeline parallelism, "
               "which tp-mlir does not have).")


def _long_contexts(rows, workload):
    """Where the cache, and not the weights, is what does not fit."""
    sized = [row for row in rows if "memory" in row]
    if workload.kind != "serve" or not sized:
        return
    largest = max(sized, key=lambda row: row["degree"])
    cache, all_of_it = largest["memory"]["kv_cache"], largest["program_bytes"]
    if largest["cache_copies"] > 1.01:
        yield (f"At tp={largest['degree']} each part of the cache lies on "
               f"{largest['cache_copies']:.3g} ranks, for "
               "there are more ranks than KV heads: more of them hold no longer a context. "
               "Context parallelism (ring attention), which tp-mlir does not have, cuts it along "
               "the sequence instead.")
    elif cache > all_of_it / 2 and not largest["fits"]:
        yield (f"The cache is {100 * cache / all_of_it:.0f} % of what tp={largest['degree']} "
               "needs: fewer users, a shorter context, or context parallelism (ring attention), "
               "which tp-mlir does not have.")


def notes(rows, workload, profile):
    """What else the figures say."""
    yield from _stops(rows, profile)
    yield from _long_contexts(rows, workload)
    for row in rows:
        excess = row.get("excess", {})
        needed = row["memory"]["parameters"] if "memory" in row else 0
        for kind, words in (("copies", "copies of KV heads' weights"), ("padding", "padding")):
            if excess.get(kind, 0) > 0.005 * needed:
                yield (f"{_name(row)}: {bytes_text(excess[kind])} of the parameters of a rank are "
                       f"{words}.")
