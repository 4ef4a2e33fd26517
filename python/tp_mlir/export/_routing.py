"""Routers: which experts a token uses, and how much.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Experts are computed from the weight that each token has for each expert, [T, E]. A router gives
weights and numbers of experts, [T, K] each, and the weights at these numbers are that. Two forms
become nn.router, by which they are computed at once; every other one, with sigmoids, biases and
groups, is what it is written with (_choose.py), and its weights are spread over the experts.
"""

import operator
from dataclasses import dataclass

from ._choose import spread
from ._layers import _is_call
from ._pointwise import pointwise
from ._text import tensor
from ._trace import aten, shape_of


def before_casts(node):
    """The node before casts from floats to floats."""
    while _is_call(node, aten._to_copy.default) and all(
            x.meta["val"].dtype.is_floating_point for x in (node, node.args[0])):
        node = node.args[0]
    return node


def number_of(operand):
    return float(operand) if isinstance(operand, (int, float)) else None


@dataclass(frozen=True)
class Softmax:
    """The largest `chosen` of a softmax."""
    logits: object          # node [T, experts]
    chosen: int             # experts of a token
    normalized: bool
    scale: float

    @property
    def reads(self):
        return [self.logits]

    def write(self, lowering, front, experts):
        """Value [..., experts] of f32."""
        emitter, shape = lowering.emitter, (*front, experts)
        logits = lowering.get(self.logits)
        if logits.kind != "f32":
            logits = pointwise(lowering, [logits], logits.shape, "f32",
                               lambda body, inputs: body.cast(*inputs[0], "f32"))
        logits = emitter.plain(emitter.reshape(logits, shape))
        attributes = ["normalized"] if self.normalized else []
        attributes += [f"top_k = {self.chosen} : i64"]
        attributes += [f"scale = {self.scale:.17e} : f64"] if self.scale != 1 else []
        return emitter.tensor(
            f"nn.router {logits} {{{', '.join(attributes)}}} : ({tensor(shape, 'f32')}) -> "
            f"{tensor(shape, 'f32')}", shape, "f32")


@dataclass(frozen=True)
class Spread:
    """Weights of any origin at the numbers of their experts."""
    weights: object         # node [T, chosen]
    ids: object             # node [T, chosen]
    chosen: int

    @property
    def reads(self):
        return [self.weights, self.ids]

    def write(self, lowering, front, experts):
        emitter = lowering.emitter
        weights, ids = (emitter.force(lowering.get(node)) for node in (self.weights, self.ids))
        value = spread(lowering, weights, ids, experts, "f32")
        return emitter.compact(emitter.reshape(value, (*front, experts)))


def find_routing(weights, ids):
    """How nodes [T, K], the weights and the numbers of the experts that have them, are written."""
    return _softmax_routing(weights, ids) or Spread(weights, ids, shape_of(ids)[1])


def _is_sum(node, of):
    """Whether the node is the sum of `of` over its last dimension, which is kept."""
    return (_is_call(node, aten.sum.dim_IntList) and node.args[0] is of
            and list(node.args[1]) in ([-1], [1]) and node.args[2:3] == (True,))


def _softmax(node):
    """What the node is the softmax of, over its last dimension."""
    node = before_casts(node)
    if _is_call(node, aten.softmax.int, aten._softmax.default) and node.args[1] in (-1, 1):
        return before_casts(node.args[0])
    return None


def _is_chosen(node, topk):
    """Whether the node is the scores that were chosen."""
    return _is_call(node, operator.getitem) and node.args == (topk, 0)


def _softmax_routing(weights, ids):
    """Softmax of the nodes, or None."""
    if not _is_call(ids, operator.getitem) or ids.args[1] != 1 or not _is_call(
            ids.args[0], aten.topk.default):
        return None
    topk = ids.args[0]
    scores, chosen, *options = topk.args
    if options and options[0] not in (-1, 1) or options[1:2] == [False] or len(
            shape_of(scores)) != 2 or topk.kwargs:
        return None
    scale, normalized, node = 1.0, False, before_casts(weights)
    while not _is_chosen(node, topk):
        if _is_call(node, aten.mul.Tensor) and number_of(node.args[1]) is not None and (
                not normalized):
            scale *= number_of(node.args[1])
            node = before_casts(node.args[0])
        elif _is_call(node, aten.div.Tensor) and not normalized and _is_sum(
                node.args[1], node.args[0]):
            normalized, node = True, before_casts(node.args[0])
        else:
            # The softmax of the largest logits: of all, divided by the sum of these.
            largest = None if normalized else _softmax(node)
            return (Softmax(before_casts(scores), chosen, True, scale)
                    if largest is not None and _is_chosen(largest, topk) else None)
    logits = _softmax(scores)
    return None if logits is None else Softmax(logits, chosen, normalized, scale)
