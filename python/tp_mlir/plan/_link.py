"""What a collective costs on the links that its groups lie on.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

How many messages a ring has, and how many bytes, the ledger says. A ring whose ranks lie on
several nodes waits in each of its steps for the message that leaves a node. Of the bytes, those
ranks of a group that share a node leave it by as many network adapters as they are.

Example: an all-reduce of 8 ranks of one node, 16 MiB: 14 messages, and 28 MiB that each rank sends.
"""

import functools
import math
import re
from collections import Counter
from dataclasses import dataclass

_SUB_AXIS = re.compile(r"(\w+)(?::\((\d+)\)(\d+))?")


@dataclass(frozen=True)
class Span:
    """How the groups of some axes lie on nodes, the worst of them."""
    ranks: int    # in a group
    nodes: int    # that it lies on
    fewest: int   # of its ranks on one of these nodes

    @property
    def leaves(self):
        return self.nodes > 1


@functools.cache
def parse_mesh(text):
    """{"dp": 2, "tp": 4}, outermost first, of "dp=2,tp=4"."""
    return {name: int(size) for name, size in (part.split("=") for part in text.split(","))}


@functools.cache
def span(axis, mesh, per_node):
    """The Span of the groups over `axis`, as the ledger writes it: tp, tp:(1)8, dp,tp.

    Args:
        mesh: dp=2,tp=4: ranks count the last axis fastest.
        per_node: ranks of a node, which are consecutive.
    """
    mesh = parse_mesh(mesh)
    strides, stride = {}, 1
    for name in reversed(mesh):
        strides[name] = stride
        stride *= mesh[name]
    steps = []
    for name, pre, size in (match.groups() for match in map(_SUB_AXIS.fullmatch, axis.split(","))):
        size, pre = int(size or mesh[name]), int(pre or 1)
        steps.append((size, strides[name] * (mesh[name] // (pre * size))))
    offsets = [0]
    for size, step in steps:
        offsets = [offset + i * step for offset in offsets for i in range(size)]
    within = {rank for rank in range(stride)
              if all(rank // step % size == 0 for size, step in steps)}
    worst = Span(len(offsets), 1, len(offsets))
    for first in within:
        nodes = Counter((first + offset) // per_node for offset in offsets)
        if (len(nodes), -min(nodes.values())) > (worst.nodes, -worst.fewest):
            worst = Span(len(offsets), len(nodes), min(nodes.values()))
    return worst


def seconds(messages, traffic, where, links):
    """The time of one call whose ranks send `traffic` bytes each, in so many messages one after
    the other: docs/Ledger.md's numbers.

    Returns infinity if the groups leave a node and the profile has no link that does.
    """
    if where.ranks == 1:
        return 0.0
    alpha, speed = links[0].alpha.value, links[0].speed
    if where.leaves:
        if len(links) < 2:
            return math.inf
        alpha = max(alpha, links[1].alpha.value)
        speed = min(speed, links[1].speed * where.fewest)
        if where.fewest == 1 and where.nodes == where.ranks:
            speed = links[1].speed
    return messages * alpha + traffic / speed


def by_link(traffic, where):
    """The bytes that a rank sends within its node and, on average, out of it."""
    if not where.leaves:
        return traffic, 0.0
    out = traffic * where.nodes / where.ranks
    return traffic - out, out
