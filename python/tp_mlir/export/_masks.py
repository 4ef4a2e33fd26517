"""What a mask that the module computes depends on.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A mask is computed from positions and from the padding mask of the input, by operations that
look at one element at a time. So each element of it is a constant, or a function of one element
of one input, which is 0 or 1. Evaluating the module's own operations on both cases, and on the
number of the element, gives all there is to know, without a pattern for how masks are
written. Whatever does not fit is no mask, and stays what it is.
"""

import math
from dataclasses import dataclass

import torch

from ._bands import Band, find_band
from ._trace import aten, shape_of

_MOVES = {aten.unsqueeze.default, aten.expand.default, aten.view.default, aten.reshape.default,
          aten.permute.default, aten.transpose.int, aten.slice.Tensor, aten.select.int,
          aten.squeeze.dims, aten.squeeze.dim, aten.index.Tensor, aten.repeat.default}
_ELEMENTWISE = {aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.rsub.Scalar,
                aten.add.Scalar, aten.sub.Scalar, aten.mul.Scalar, aten.eq.Tensor,
                aten.eq.Scalar, aten.ne.Scalar, aten.ne.Tensor, aten.gt.Scalar, aten.lt.Scalar,
                aten.ge.Scalar, aten.le.Scalar, aten.bitwise_and.Tensor,
                aten.bitwise_or.Tensor, aten.bitwise_not.default, aten.logical_and.default,
                aten.logical_or.default, aten.logical_not.default, aten.where.self,
                aten._to_copy.default, aten.masked_fill.Scalar, aten.minimum.default}


@dataclass
class Cells:
    """`where`: the element of `source` that each element depends on, -1 if none; what it is
    if that element is 0, and if it is 1."""
    source: object
    where: torch.Tensor
    zero: torch.Tensor
    one: torch.Tensor


@dataclass(frozen=True)
class Mask:
    """Keys of the band that the padding mask, a node [batch, keys] or None, lets through."""
    band: Band
    padding: object


def evaluate(lowering, node, constant, memo=None):
    """Cells of a node, of constants as `constant` gives them; None if it is no mask."""
    memo = {} if memo is None else memo
    if node in memo:
        return memo[node]
    memo[node] = _evaluate(lowering, node, constant, memo)
    return memo[node]


def _evaluate(lowering, node, constant, memo):
    traced = lowering.traced
    if node in traced.inputs:
        value = node.meta["val"]
        if len(value.shape) != 2 or not (value.dtype == torch.bool or (
                "mask" in traced.inputs[node] and not value.dtype.is_floating_point)):
            return None
        where = torch.arange(value.numel()).reshape(value.shape)
        zeros = torch.zeros(value.shape, dtype=value.dtype)
        return Cells(node, where, zeros, torch.ones_like(zeros))
    if node.op != "call_function" or node.target not in _MOVES | _ELEMENTWISE:
        return None
    operands = {}
    for operand in node.all_input_nodes:
        if operand not in traced.constants:
            operands[operand] = evaluate(lowering, operand, constant, memo)
            if operands[operand] is None:
                return None
    sources = {cells.source for cells in operands.values()}
    if len(sources) != 1:
        return None

    def apply(case):
        def value(operand):
            if operand in operands:
                return getattr(operands[operand], case)
            # The mask lies as the trace saw it, whatever its positions are.
            return (traced.constants[operand] if node.target is aten.index.Tensor
                    else constant(operand))
        return node.target(*torch.fx.node.map_arg(node.args, value),
                           **torch.fx.node.map_arg(dict(node.kwargs), value))
    zero, one = apply("zero"), apply("one")
    if node.target in _MOVES:
        return Cells(sources.pop(), apply("where"), zero, one)
    where = torch.full((), -1)
    for cells in operands.values():
        first, second = torch.broadcast_tensors(where, cells.where)
        if bool(((first >= 0) & (second >= 0) & (first != second)).any()):
            return None
        where = torch.maximum(first, second)
    return Cells(sources.pop(), where.expand(shape_of(node)), zero, one)


def _seen(data):
    """Which elements let a key through; None if it is more than a mask (a bias)."""
    if data.dtype == torch.bool:
        return data
    if not data.dtype.is_floating_point:
        return None
    hidden = data <= -1e4 if data.dtype == torch.float16 else data <= -1e30
    if not bool(((data == 0) | hidden).all()):
        return None
    return ~hidden


def _matrix(seen, queries, keys):
    """Booleans [..., queries, keys] that are the same in front, [queries, keys]; else None."""
    seen = seen.expand(torch.broadcast_shapes(seen.shape, (1, queries, keys)))
    seen = seen.reshape(-1, queries, keys) if not _repeats(seen) else seen[
        (0,) * (seen.dim() - 2)][None]
    if not bool((seen == seen[:1]).all()):
        return None
    return seen[0]


def _repeats(data):
    """All dimensions in front of the last two have stride 0 or size 1."""
    return all(size == 1 or stride == 0
               for size, stride in zip(data.shape[:-2], data.stride()[:-2]))


def classify(lowering, node, queries, keys, invert=False):
    """The Mask that a node [..., queries, keys] is, or None."""
    key = (node, queries, keys, invert)
    if key not in lowering.masks:
        lowering.masks[key] = _classify(lowering, *key)
    return lowering.masks[key]


def _classify(lowering, node, queries, keys, invert):
    positions, data = lowering.positions, lowering.traced.constants
    found = _mask_of(lowering, node, queries, keys, invert, data.get)
    band = found and find_band(found[0].numpy())
    if band is None:
        return None

    def seen_at(places):
        again = _mask_of(lowering, node, queries, keys, invert, positions.reading(places))
        return again and again[0]
    if queries == keys == positions.length:
        band = positions.widen(band, seen_at)
    return Mask(band, found[1])


def _mask_of(lowering, node, queries, keys, invert, constant):
    """(booleans [queries, keys], node of the padding mask or None), or None."""
    if node in lowering.traced.constants:
        seen = _seen(constant(node))
        seen = None if seen is None else _matrix(~seen if invert else seen, queries, keys)
        return None if seen is None else (seen, None)
    cells = evaluate(lowering, node, constant)
    if cells is None:
        return None
    zero, one = _seen(cells.zero), _seen(cells.one)
    if zero is None or one is None:
        return None
    if invert:
        zero, one = ~zero, ~one
    shape = torch.broadcast_shapes(one.shape, (1, 1, queries, keys))
    if len(shape) != 4:
        return None
    batch = shape_of(cells.source)[0]
    if shape_of(cells.source)[1] != keys or shape[0] not in (1, batch):
        return None
    seen = _matrix(one.expand(one.shape), queries, keys)
    if seen is None:
        return None
    # Where the band sees, the key's own element of the padding mask must decide.
    where, zero, one = (t.expand(shape) for t in (cells.where, zero, one))
    expected = torch.arange(batch * keys).reshape(batch, 1, 1, keys)
    if shape[0] == 1 and batch != 1:
        return None
    if bool((zero | (one & (where != expected))).any()):
        return None
    return seen, cells.source


def combine(masks):
    """One Mask that lets through what all of `masks` do; None if that is none."""
    padding = {mask.padding for mask in masks if mask.padding is not None}
    if len(padding) > 1:
        return None
    lows = [mask.band.low for mask in masks if mask.band.low is not None]
    highs = [mask.band.high for mask in masks if mask.band.high is not None]
    band = Band(max(lows, default=None), min(highs, default=None))
    if band.low is not None and band.high is not None and band.low > band.high:
        return None
    return Mask(band, next(iter(padding), None))


def is_hidden(number):
    """A number that hides a key when the softmax sees it."""
    return isinstance(number, (int, float)) and (math.isinf(number) and number < 0
                                                 or number <= -1e4)
