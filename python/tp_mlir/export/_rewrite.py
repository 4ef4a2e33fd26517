"""Slices where they cost nothing: those of what works channel by channel are taken before it.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Mamba-2 and gated delta networks convolve queries, keys and values in one tensor, and take them
apart behind it. On several ranks each of these is cut by its heads, which one tensor of all cannot
be. So that nothing is gathered for it, the graph is

    split(silu(conv(x, w)))     silu(conv(slice(x), slice(w))), ...
    split(cat(q, k, v))         q, k, v
"""

import operator

import torch

aten = torch.ops.aten

_SPLITS = (aten.split_with_sizes.default, aten.split.Tensor, aten.chunk.default)


def insert(graph, like, target, *args, **kwargs):
    """A node of `target` in the place of `like`, with the value that tracing would have given it."""
    node = graph.call_function(target, args, kwargs)
    node.meta = dict(like.meta)

    def value(operand):
        return operand.meta["val"]
    node.meta["val"] = target(*torch.fx.node.map_arg(args, value),
                              **torch.fx.node.map_arg(kwargs, value))
    return node


def _shape(node):
    return tuple(node.meta["val"].shape)


class _Part:
    """Elements `offset`, ..., `size` of them, of dimension `dim` of what a chain of operations
    gives."""

    def __init__(self, traced):
        self.graph, self.constants = traced.graph, traced.constants

    def take(self, node, dim, offset, size):
        """The node of that part, or None where no slice gets to an end of the chain."""
        if not isinstance(node, torch.fx.Node) or node.op != "call_function" or (
                node in self.constants):
            return None
        target, args = node.target, node.args
        if target is aten.cat.default:
            return self._of_cat(node, dim, offset, size)
        if target is aten.convolution.default:
            return self._of_convolution(node, dim, offset, size)
        if target is aten.transpose.int or target is aten.permute.default:
            return self._moved(node, dim, offset, size)
        rank = len(_shape(node))
        if target is aten.slice.Tensor:
            other = (args[1] if len(args) > 1 else 0) % rank
            return None if other == dim else self._again(node, dim, offset, size)
        alone = len(node.all_input_nodes) == 1 and not node.kwargs.get("memory_format")
        if alone and (torch.Tag.pointwise in getattr(target, "tags", ())
                      or target is aten._to_copy.default) and _shape(args[0]) == _shape(node):
            return self._again(node, dim, offset, size)
        return None

    def _again(self, node, dim, offset, size):
        inner = self.take(node.args[0], dim, offset, size)
        return inner and insert(self.graph, node, node.target, inner, *node.args[1:],
                                **node.kwargs)

    def _moved(self, node, dim, offset, size):
        rank = len(_shape(node))
        if node.target is aten.permute.default:
            inner = node.args[1][dim] % rank
        else:
            a, b = (d % rank for d in node.args[1:])
            inner = {a: b, b: a}.get(dim, dim)
        part = self.take(node.args[0], inner, offset, size)
        return part and insert(self.graph, node, node.target, part, *node.args[1:])

    def _of_cat(self, node, dim, offset, size):
        if (node.args[1] if len(node.args) > 1 else 0) % len(_shape(node)) != dim:
            return None
        for part in node.args[0]:
            count = _shape(part)[dim]
            if offset < count:
                if offset + size > count:
                    return None
                return part if count == size else self._slice(node, part, dim, offset, size)
            offset -= count
        return None

    def _slice(self, like, node, dim, offset, size):
        return insert(self.graph, like, aten.slice.Tensor, node, dim, offset, offset + size)

    def _of_convolution(self, node, dim, offset, size):
        x, weight, bias, *rest, groups = node.args
        if dim != 1 or not groups == _shape(x)[1] == _shape(weight)[0] or _shape(weight)[1] != 1 or (
                rest[3]):
            return None
        part = self.take(x, 1, offset, size) or self._slice(node, x, 1, offset, size)
        weight, bias = (operand and self._slice(node, operand, 0, offset, size)
                        for operand in (weight, bias))
        return insert(self.graph, node, node.target, part, weight, bias, *rest, size)


def _pieces(node):
    """(node that takes it, dimension, offset, size) of each part of what a node cuts."""
    rank = len(_shape(node.args[0]))
    if node.target is aten.slice.Tensor:
        source, dim, start, *rest = (*node.args, 0, 0)[:max(len(node.args), 3)]
        size, whole = _shape(node)[dim], _shape(source)[dim]
        if (rest[1:] or [1]) == [1] and size < whole:
            yield node, dim % rank, start % whole, size
        return
    dim, start = (node.args[2] if len(node.args) > 2 else 0) % rank, 0
    users = {user.args[1]: user for user in node.users if user.target is operator.getitem}
    for i, part in enumerate(node.meta["val"]):
        if i in users and part.shape[dim]:
            yield users[i], dim, start, part.shape[dim]
        start += part.shape[dim]


def sink_slices(traced):
    for node in list(traced.graph.nodes):
        if node.op != "call_function" or node in traced.constants or (
                node.target not in _SPLITS and node.target is not aten.slice.Tensor):
            continue
        for taker, dim, offset, size in list(_pieces(node)):
            with traced.graph.inserting_before(taker):
                part = _Part(traced).take(node.args[0], dim, offset, size)
            if part is not None:
                taker.replace_all_uses_with(part)
