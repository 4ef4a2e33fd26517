"""Mixtures of experts: nn.router and nn.experts.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Models of transformers are traced with their experts as batched products (_trace.py): of T tokens
that use K experts each there are T·K rows, and for each row the matrices of its expert are picked.

    gate, up = split(bmm(gate_up[ids], rows))           rows: each token K times
    result = sum over K of (bmm(down[ids], act(gate) * up) * weights)
    weights, ids = topk(softmax(logits)), the weights perhaps over their sum, times a number

Everything between the logits and the sum is looked at; a form that is another in any place stays
what it is, and its look-ups are reported, for nn.experts is the one form that experts have here.
"""

import math
import operator
from dataclasses import dataclass

import torch

from . import _text
from ._layers import _is_call, _last_axis
from ._lower import PATTERNS, Match
from ._movement import permuted
from ._pointwise import pointwise
from ._text import tensor
from ._trace import aten, kind_of, shape_of
from ._values import Parameter, Tensor, Value

_RESHAPES = (aten.view.default, aten.reshape.default, aten.squeeze.dims, aten.squeeze.dim,
             aten.unsqueeze.default)


@dataclass(frozen=True)
class Picked:
    """Outputs of one product with each row's own matrix, of `offset`, ... `size` of them."""
    weight: object          # node of [experts, outputs, inputs], or of its transpose
    transposed: bool
    rows: object            # node [T·K, inputs]
    ids: object             # node [T, K]
    offset: int
    size: int


@dataclass(frozen=True)
class Routing:
    logits: object          # node [T, experts]
    chosen: int             # experts of a token
    normalized: bool
    scale: float


def _reshaped(node, shape):
    """The node before operations that only regroup elements in order, if it has the shape."""
    while isinstance(node, torch.fx.Node) and shape_of(node) != shape and node.target in _RESHAPES:
        node = node.args[0]
    return node if isinstance(node, torch.fx.Node) and shape_of(node) == shape else None


def _before_casts(node):
    """The node before casts from floats to floats."""
    while _is_call(node, aten._to_copy.default) and all(
            x.meta["val"].dtype.is_floating_point for x in (node, node.args[0])):
        node = node.args[0]
    return node


def _number(operand):
    return float(operand) if isinstance(operand, (int, float)) else None


# -- products with picked matrices

def _picked(node, tokens):
    """Picked of a node [T·K, outputs]; None if it is none."""
    if _is_call(node, operator.getitem) and _is_call(node.args[0], aten.split_with_sizes.default):
        split, part = node.args
        source, sizes, *dim = split.args
        found = _picked(source, tokens) if (dim or [0])[0] in (-1, 1) else None
        return found and _part(found, sum(sizes[:part]), sizes[part])
    if _is_call(node, aten.slice.Tensor) and node.args[1] in (-1, 1):
        start, _, step = (*node.args[2:], *(0, None, 1)[len(node.args) - 2:])
        found = _picked(node.args[0], tokens) if step == 1 else None
        return found and _part(found, start % found.size, shape_of(node)[1])
    count, outputs = shape_of(node)
    for column, front in ((True, (count, outputs, 1)), (False, (count, 1, outputs))):
        product = _reshaped(node, front)
        if not _is_call(product, aten.bmm.default):
            continue
        matrices, rows = product.args if column else product.args[::-1]
        if not _is_call(matrices, aten.index.Tensor) or len(matrices.args[1]) != 1:
            continue
        rows = _reshaped(rows, (count, shape_of(rows)[1] * shape_of(rows)[2]))
        ids = matrices.args[1][0]
        ids = isinstance(ids, torch.fx.Node) and _reshaped(ids, tokens)
        if rows is not None and ids:
            return Picked(matrices.args[0], not column, rows, ids, 0, outputs)
    return None


def _part(picked, offset, size):
    return Picked(picked.weight, picked.transposed, picked.rows, picked.ids,
                  picked.offset + offset, size)


def _activation(node):
    """(name in nn.experts, what it is of) of an activation."""
    if _is_call(node, aten.silu.default):
        return "silu", node.args[0]
    if _is_call(node, aten.relu.default):
        return "relu", node.args[0]
    if _is_call(node, aten.gelu.default):
        approximate = node.kwargs.get("approximate", "none")
        return "gelu_tanh" if approximate == "tanh" else "gelu_erf", node.args[0]
    return None


def _gated(node, tokens):
    """(activation, gate, up) of activation(gate) * up; None if it is another thing."""
    if not _is_call(node, aten.mul.Tensor):
        return None
    for first, second in (node.args, node.args[::-1]):
        found = _activation(first)
        if found and isinstance(second, torch.fx.Node):
            gate, up = (_picked(x, tokens) for x in (found[1], second))
            if gate and up and gate.rows is up.rows and gate.ids is up.ids:
                return found[0], gate, up
    return None


def _tokens(rows, chosen):
    """The node [T, inputs] of which each row stands `chosen` times in `rows`."""
    count, inputs = shape_of(rows)
    wide = _reshaped(rows, (count // chosen, chosen, inputs))
    if chosen == 1 and not _is_call(wide, aten.expand.default):
        return rows
    if not _is_call(wide, aten.expand.default):
        return None
    single = wide.args[0]
    if shape_of(single) != (count // chosen, 1, inputs):
        return None
    return _reshaped(single, (count // chosen, inputs))


# -- the router

def _is_sum(node, of):
    """Whether the node is the sum of `of` over its last dimension, which is kept."""
    return (_is_call(node, aten.sum.dim_IntList) and node.args[0] is of
            and list(node.args[1]) in ([-1], [1]) and node.args[2:3] == (True,))


def _softmax(node):
    """What the node is the softmax of, over its last dimension."""
    node = _before_casts(node)
    if _is_call(node, aten.softmax.int, aten._softmax.default) and node.args[1] in (-1, 1):
        return _before_casts(node.args[0])
    return None


def _is_chosen(node, topk):
    """Whether the node is the scores that were chosen."""
    return _is_call(node, operator.getitem) and node.args == (topk, 0)


def _routing(weights, ids):
    """Routing of nodes [T, K]: the weights, and the numbers of the experts that have them."""
    if not _is_call(ids, operator.getitem) or ids.args[1] != 1 or not _is_call(
            ids.args[0], aten.topk.default):
        return None
    topk = ids.args[0]
    scores, chosen, *options = topk.args
    if options and options[0] not in (-1, 1) or options[1:2] == [False] or len(
            shape_of(scores)) != 2 or topk.kwargs:
        return None
    scale, normalized, node = 1.0, False, _before_casts(weights)
    while not _is_chosen(node, topk):
        if _is_call(node, aten.mul.Tensor) and _number(node.args[1]) is not None and (
                not normalized):
            scale *= _number(node.args[1])
            node = _before_casts(node.args[0])
        elif _is_call(node, aten.div.Tensor) and not normalized and _is_sum(
                node.args[1], node.args[0]):
            normalized, node = True, _before_casts(node.args[0])
        else:
            # The softmax of the largest logits: of all, divided by the sum of these.
            largest = None if normalized else _softmax(node)
            return (Routing(_before_casts(scores), chosen, True, scale)
                    if largest is not None and _is_chosen(largest, topk) else None)
    logits = _softmax(scores)
    return None if logits is None else Routing(logits, chosen, normalized, scale)


# -- the whole

@dataclass(frozen=True)
class Experts:
    tokens: object
    routing: Routing
    activation: str
    gate: Picked
    up: Picked
    down: Picked


def _find(node):
    """Experts of a node [T, outputs] that is the sum over the experts of each token."""
    total = _before_casts(node)
    if not _is_call(total, aten.sum.dim_IntList) or list(total.args[1]) not in ([1], [-2]) or (
            len(total.args) > 2 and total.args[2]):
        return None
    parts = total.args[0]
    if len(shape_of(parts)) != 3:
        return None
    count, chosen, outputs = shape_of(parts)
    weighted = _reshaped(parts, (count * chosen, outputs))
    if not _is_call(weighted, aten.mul.Tensor):
        return None
    for product, weights in (weighted.args, weighted.args[::-1]):
        if not isinstance(product, torch.fx.Node) or not isinstance(weights, torch.fx.Node):
            continue
        if shape_of(product) != (count * chosen, outputs) or shape_of(weights) != (
                count * chosen, 1):
            continue
        down = _picked(_before_casts(product), (count, chosen))
        weights = _reshaped(_before_casts(weights), (count, chosen))
        if not down or weights is None or down.offset or down.size != outputs:
            continue
        gated = _gated(down.rows, (count, chosen))
        routing = _routing(weights, down.ids)
        tokens = gated and _tokens(gated[1].rows, chosen)
        if routing and tokens is not None and gated[1].ids is down.ids and (
                routing.chosen == chosen):
            return Experts(tokens, routing, *gated, down)
    return None


def _match_experts(lowering, node):
    if not _is_call(node, aten.sum.dim_IntList, aten._to_copy.default):
        return None
    found = _find(node)
    parameters = lowering.traced.parameters
    if found is None or kind_of(node) != kind_of(found.tokens) or any(
            part.weight not in parameters for part in (found.gate, found.up, found.down)):
        return None
    reads = [found.tokens, found.routing.logits, found.gate.weight, found.up.weight,
             found.down.weight]
    return Match("experts", reads, lambda: _write(lowering, found, kind_of(node)))


def _matrices(lowering, picked):
    """(SSA name, type, Parameter) of [experts, outputs, inputs]."""
    value = lowering.get(picked.weight)
    if picked.transposed:
        value = permuted(value, [0, 2, 1])
    value = lowering.emitter.slice(value, 1, picked.offset, picked.size)
    return (lowering.emitter.matrix(value), tensor(value.shape, value.kind),
            value.source if isinstance(value.source, Parameter) else None)


def _write(lowering, found, kind):
    emitter, routing = lowering.emitter, found.routing
    x = _last_axis(lowering, lowering.get(found.tokens))
    front = x.view.tensor[:-1]
    experts = shape_of(routing.logits)[-1]
    shape = (*front, experts)
    logits = lowering.get(routing.logits)
    if logits.kind != "f32":
        logits = pointwise(lowering, [logits], logits.shape, "f32",
                           lambda body, inputs: body.cast(*inputs[0], "f32"))
    logits = emitter.plain(emitter.reshape(logits, shape))
    attributes = ["normalized"] if routing.normalized else []
    attributes += [f"top_k = {routing.chosen} : i64"]
    attributes += [f"scale = {routing.scale:.17e} : f64"] if routing.scale != 1 else []
    weights = emitter.tensor(
        f"nn.router {logits} {{{', '.join(attributes)}}} : ({tensor(shape, 'f32')}) -> "
        f"{tensor(shape, 'f32')}", shape, "f32")
    matrices = [_matrices(lowering, part) for part in (found.gate, found.up, found.down)]
    names = [x.source.name, weights.source.name, *(name for name, _, _ in matrices)]
    types = [tensor(x.view.tensor, kind), tensor(shape, "f32"), *(text for _, text, _ in matrices)]
    result = (*front, found.down.size)
    written = emitter.tensor(
        f"nn.experts {', '.join(names)} {{activation = {_text.quote(found.activation)}, "
        f"active = {routing.chosen / experts:.17e} : f64, top_k = {routing.chosen} : i64}} : "
        f"({', '.join(types)}) -> {tensor(result, kind)}", result, kind)
    emitter.experts.append([parameter for _, _, parameter in matrices])
    count = math.prod(front)
    return emitter.reshape(Value(Tensor(written.source.name, result), written.view, kind),
                           (count, found.down.size))


PATTERNS.append(_match_experts)
