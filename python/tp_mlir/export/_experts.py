"""Mixtures of experts: nn.experts.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Models of transformers are traced with their experts as batched products (_trace.py): of T tokens
that use K experts each there are T·K rows, and for each row the matrices of its expert are picked.

    gate, up = split(bmm(gate_up[ids], rows) + biases[ids])         rows: each token K times
    result = sum over K of ((bmm(down[ids], act(gate) * up) + bias[ids]) * weights)

Everything between the tokens and the sum is looked at; a form that is another in any place stays
what it is, and its look-ups are reported, for nn.experts is the one form that experts have here.
Where weights and ids come from is the router's business (_routing.py).
"""

import math
import operator
from dataclasses import dataclass, field, replace

import torch

from . import _text
from ._layers import _is_call, _last_axis
from ._lower import PATTERNS, Match
from ._movement import permuted
from ._pointwise import pointwise
from ._reduce import contract
from ._routing import before_casts, find_routing, number_of
from ._text import tensor
from ._trace import aten, kind_of, shape_of
from ._values import Parameter, Tensor, Value

_RESHAPES = (aten.view.default, aten.reshape.default, aten.squeeze.dims, aten.squeeze.dim,
             aten.unsqueeze.default)


@dataclass(frozen=True)
class Picked:
    """Outputs `offset`, ... of one product with each row's own matrix, every `step`th, `size` of
    them."""
    weight: object          # node of [experts, outputs, inputs], or of its transpose
    bias: object            # node of [experts, outputs], or None
    transposed: bool
    rows: object            # node [T·K, inputs]
    ids: object             # node [T, K]
    offset: int
    size: int
    step: int = 1

    def cut(self, offset, size, step=1):
        return replace(self, offset=self.offset + offset * self.step, size=size,
                       step=self.step * step)


@dataclass(frozen=True)
class Gated:
    """activation(min(gate, limit)) * (clamp(up, -limit, limit) + up_offset)"""
    gate: Picked
    up: Picked
    activation: str
    options: dict = field(default_factory=dict)     # attributes of nn.experts


def _reshaped(node, shape):
    """The node before operations that only regroup elements in order, if it has the shape."""
    while isinstance(node, torch.fx.Node) and shape_of(node) != shape and node.target in _RESHAPES:
        node = node.args[0]
    return node if isinstance(node, torch.fx.Node) and shape_of(node) == shape else None


def _without_reshapes(node):
    while _is_call(node, *_RESHAPES):
        node = node.args[0]
    return node


# -- products with picked matrices

def _chosen(node, tokens):
    """(parameter, ids [T, K]) of rows of a parameter that the tokens pick."""
    if not _is_call(node, aten.index.Tensor) or len(node.args[1]) != 1:
        return None
    ids = node.args[1][0]
    ids = _reshaped(ids, tokens) if isinstance(ids, torch.fx.Node) else None
    return (node.args[0], ids) if ids is not None else None


def _picked(node, tokens):
    """Picked of a node [T·K, outputs]; None if it is none."""
    if not isinstance(node, torch.fx.Node):
        return None
    node = _without_reshapes(before_casts(node))
    if _is_call(node, operator.getitem) and _is_call(node.args[0], aten.split_with_sizes.default):
        split, part = node.args
        source, sizes, *dim = split.args
        found = _picked(source, tokens) if (dim or [0])[0] in (-1, 1) else None
        return found and found.cut(sum(sizes[:part]), sizes[part])
    if _is_call(node, aten.slice.Tensor) and node.args[1] in (-1, 1):
        start, _, step = (*node.args[2:], *(0, None, 1)[len(node.args) - 2:])
        found = _picked(node.args[0], tokens)
        return found and found.cut(start % found.size, shape_of(node)[1], step)
    if _is_call(node, aten.add.Tensor) and not node.kwargs:
        for product, bias in (node.args, node.args[::-1]):
            found, rows = _product(product, tokens), _chosen(bias, tokens)
            if found and rows and rows[1] is found.ids and shape_of(bias)[1:] == (found.size,):
                return replace(found, bias=rows[0])
        return None
    return _product(node, tokens)


def _product(node, tokens):
    product, count = _without_reshapes(node), math.prod(tokens)
    if not _is_call(product, aten.bmm.default):
        return None
    for column, (matrices, rows) in ((True, product.args), (False, product.args[::-1])):
        picked = _chosen(matrices, tokens)
        inner = _reshaped(rows, (count, math.prod(shape_of(rows)[1:])))
        if picked and inner is not None and shape_of(product)[2 if column else 1] == 1:
            outputs = math.prod(shape_of(product)[1:])
            return Picked(picked[0], None, not column, inner, picked[1], 0, outputs)
    return None


# -- what is between the products

def _activation(node):
    """(name in nn.experts, its slope, what it is of) of an activation."""
    if _is_call(node, aten.silu.default):
        return "silu", 1.0, node.args[0]
    if _is_call(node, aten.relu.default):
        return "relu", 1.0, node.args[0]
    if _is_call(node, aten.gelu.default):
        approximate = node.kwargs.get("approximate", "none")
        return "gelu_tanh" if approximate == "tanh" else "gelu_erf", 1.0, node.args[0]
    if _is_call(node, aten.mul.Tensor):
        for x, part in (node.args, node.args[::-1]):
            if not _is_call(part, aten.sigmoid.default):
                continue
            inner = part.args[0]
            if inner is x:
                return "silu", 1.0, x
            if _is_call(inner, aten.mul.Tensor) and inner.args[0] is x and number_of(
                    inner.args[1]) is not None:
                return "silu", number_of(inner.args[1]), x
    return None


def _bounds(node):
    """(the node before a clamp, (least, most))"""
    if _is_call(node, aten.clamp.default):
        low, high, *_ = (*node.args[1:], None, None)
        return node.args[0], (number_of(low), number_of(high))
    return node, (None, None)


def _gated(node, tokens):
    """Gated of a node [T·K, width]; None if it is another thing."""
    if _is_call(node, aten.pow.Tensor_Scalar) and node.args[1] == 2 and _is_call(
            node.args[0], aten.relu.default):
        found = _picked(node.args[0].args[0], tokens)
        return found and Gated(found, found, "relu")        # relu(x)² = relu(x) x
    if not _is_call(node, aten.mul.Tensor):
        return None
    for first, second in (node.args, node.args[::-1]):
        activation = _activation(first)
        if not activation:
            continue
        name, alpha, inner = activation
        inner, (low, limit) = _bounds(inner)
        offset = 0.0
        if _is_call(second, aten.add.Tensor) and number_of(second.args[1]) is not None:
            second, offset = second.args[0], number_of(second.args[1])
        second, bounds = _bounds(second)
        gate, up = _picked(inner, tokens), _picked(second, tokens)
        if gate and up and gate.rows is up.rows and gate.ids is up.ids and low is None and (
                bounds == ((None, None) if limit is None else (-limit, limit))) and (
                (gate.bias is None) == (up.bias is None)):
            options = {"alpha": alpha} if alpha != 1 else {}
            options |= {"limit": limit} if limit is not None else {}
            return Gated(gate, up, name, options | ({"up_offset": offset} if offset else {}))
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


# -- the whole

@dataclass(frozen=True)
class Experts:
    tokens: object
    routing: object         # with reads, chosen and write: _routing.py
    gated: Gated
    down: Picked

    @property
    def parameters(self):
        parts = (self.gated.gate, self.gated.up, self.down)
        return [part.weight for part in parts] + [part.bias for part in parts if part.bias]


def _find(node):
    """Experts of a node [T, outputs] that is the sum over the experts of each token."""
    total = before_casts(node)
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
        down = _picked(product, (count, chosen))
        weights = _reshaped(before_casts(weights), (count, chosen))
        if not down or weights is None or down.cut(0, outputs) != down:
            continue
        gated = _gated(before_casts(down.rows), (count, chosen))
        tokens = gated and _tokens(gated.gate.rows, chosen)
        if tokens is not None and gated and gated.gate.ids is down.ids:
            return Experts(tokens, find_routing(weights, down.ids), gated, down)
    return None


def _match_experts(lowering, node):
    if not _is_call(node, aten.sum.dim_IntList, aten._to_copy.default):
        return None
    found = _find(node)
    if found is None or kind_of(node) != kind_of(found.tokens) or any(
            part not in lowering.traced.parameters for part in found.parameters):
        return None
    reads = [found.tokens, *found.routing.reads, *found.parameters]
    return Match("experts", reads, lambda: _write(lowering, found, kind_of(node)))


def _matrices(lowering, picked):
    """(SSA name, type, Parameter) of [experts, outputs, inputs]."""
    value = lowering.get(picked.weight)
    if picked.transposed:
        value = permuted(value, [0, 2, 1])
    value = lowering.emitter.slice(value, 1, picked.offset, picked.size, picked.step)
    return _operand(lowering, value)


def _operand(lowering, value):
    return (lowering.emitter.matrix(value), tensor(value.shape, value.kind),
            value.source if isinstance(value.source, Parameter) else None)


def _bias(lowering, picked):
    """Value [experts, outputs] of f32, and its Parameter."""
    value = lowering.emitter.slice(lowering.get(picked.bias), 1, picked.offset, picked.size,
                                   picked.step)
    source = value.source
    if value.kind != "f32":
        value = pointwise(lowering, [value], value.shape, "f32",
                          lambda body, inputs: body.cast(*inputs[0], "f32"))
    return value, source


def _write(lowering, found, kind):
    emitter, gated, down = lowering.emitter, found.gated, found.down
    x = _last_axis(lowering, lowering.get(found.tokens))
    front, chosen = x.view.tensor[:-1], found.routing.chosen
    experts = shape_of(down.weight)[0]
    weights = found.routing.write(lowering, front, experts)
    matrices = [_matrices(lowering, part) for part in (gated.gate, gated.up, down)]
    biases = []
    if gated.gate.bias is not None:
        parts = [_bias(lowering, part) for part in (gated.gate, gated.up)]
        biases = [(_operand(lowering, value)[:2], source) for value, source in parts]
    names = [x.source.name, weights.source.name, *(name for name, _, _ in matrices)]
    types = [tensor(x.view.tensor, kind), tensor(weights.shape, "f32"),
             *(text for _, text, _ in matrices), *(text for (_, text), _ in biases)]
    added = f" biases {', '.join(name for (name, _), _ in biases)}" if biases else ""
    options = "".join(f", {key} = {value:.17e} : f64" for key, value in gated.options.items())
    shape = (*front, down.size)
    written = emitter.tensor(
        f"nn.experts {', '.join(names)}{added} {{activation = {_text.quote(gated.activation)}, "
        f"active = {chosen / experts:.17e} : f64, top_k = {chosen} : i64{options}}} : "
        f"({', '.join(types)}) -> {tensor(shape, kind)}", shape, kind)
    emitter.experts.append([parameter for _, _, parameter in matrices])
    emitter.expert_biases += [source for _, source in biases]
    result = Value(Tensor(written.source.name, shape), written.view, kind)
    if down.bias is not None:
        result = _add_down_bias(lowering, result, weights, _bias(lowering, down)[0])
    return emitter.reshape(result, (math.prod(front), down.size))


def _add_down_bias(lowering, result, weights, bias):
    """What the experts of a token add, each times its weight."""
    total = contract(lowering, weights, bias, "f32")
    return pointwise(lowering, [result, total], result.shape, result.kind,
                     lambda body, inputs: body.binary(
                         "arith.addf", inputs[0][0], body.cast(*inputs[1], result.kind),
                         result.kind))


PATTERNS.append(_match_experts)
