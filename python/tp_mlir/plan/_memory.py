"""The memory of a rank by what it is for, and how much more of the work would fit.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The program's part is the compiler's own plan (docs/Ledger.md); what is taken beside it is the
profile's. One memory serves all functions of a program: what is held whichever runs, the largest
of their workspaces, and the inputs and outputs of each.
"""

import math

from ._work import CHUNK

PAGE = 32
# tp-compile's limit of --rows.
MOST_USERS = 4096


def _largest(functions, kind):
    return max(function["memory"][kind] for function in functions)


def _prepared(candidate, workload, profile):
    """The names of the functions that have a part in what a rank holds: on the host those that
    run."""
    names = [function["name"] for function in candidate.data["functions"]]
    if profile.target != "cpu" or workload.kind == "run":
        return names
    return [name for name in names if name != "main"]


def by_kind(candidate, workload, profile, ranks, names=None):
    """Bytes of one rank: an ordered dict whose values add up to all that it needs.

    Args:
        names: the functions that run, on the host (default: those that may).
    """
    functions = candidate.functions(names or _prepared(candidate, workload, profile))
    held = functions[0]["memory"]
    shares = {kind: share["per_rank_bytes"]
              for kind, share in candidate.data.get("memory", {}).items()}
    # Activations and kept values are one workspace: the largest of any function.
    workspace = max(functions, key=lambda function: function["memory"]["activations"] +
                    function["memory"]["kept_values"])["memory"]
    memory = {"parameters": held["parameters"]}
    states = held["states"]
    if workload.kind == "train":
        memory["parameters"] += shares["weights"]
        memory["gradients"] = shares["gradients"]
        memory["moments"] = shares["moments and masters"]
        states -= sum(shares[kind] for kind in ("weights", "gradients", "moments and masters"))
        memory["kept_values"] = workspace["kept_values"]
    if workload.kind == "serve":
        memory["kv_cache"] = states
    memory["activations"] = workspace["activations"]
    memory["communication"] = _largest(functions, "communication")
    memory["other"] = held["constants"] + sum(
        function["memory"]["inputs_and_outputs"] for function in functions)
    if workload.kind != "serve":
        memory["other"] += states
    memory["workspace"] = sum(
        figure.value for kind, figure in profile.reserved.items()
        if kind != "communicator" or ranks > 1)
    return memory


def of_program(memory):
    """Bytes that the program itself needs: what tp-run calls the stated peak."""
    return sum(memory.values()) - memory["workspace"]


def cells(context):
    """Tokens that the pages of one user's cache have room for."""
    return math.ceil(context / PAGE) * PAGE


def longest_context(memory, workload, capacity, limit=None):
    """The longest context that fits for as many users; 0 if none."""
    a_token = memory["kv_cache"] / (workload.users * cells(workload.context))
    # A context shorter than a largest step has shorter steps, and fewer of them.
    longer = max(1, CHUNK / workload.chunk) - 1
    growth = longer * (memory["activations"] + memory["communication"] + memory["other"])
    free = capacity - (sum(memory.values()) - memory["kv_cache"]) - growth
    pages = int(max(0, free) // (a_token * workload.users * PAGE))
    return min(pages * PAGE, limit or pages * PAGE)


def most_users(memory, workload, capacity):
    """The most users that fit with as long a context and are served at once; 0 if none."""
    a_user = memory["kv_cache"] / workload.users
    free = capacity - (sum(memory.values()) - memory["kv_cache"])
    return min(int(max(0, free) // a_user), MOST_USERS)


_PER_SEQUENCE = ("kept_values", "activations", "communication", "other")


def most_sequences(memory, workload, capacity):
    """The most sequences of a micro-batch that fit: what grows with them grows as they do."""
    grows = sum(memory.get(kind, 0) for kind in _PER_SEQUENCE)
    free = capacity - (sum(memory.values()) - grows)
    return int(max(0, free) // (grows / workload.batch))
