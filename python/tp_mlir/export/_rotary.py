"""Rotary position embedding written out: x cos + rotate_half(x) sin.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Tables of cosines and sines that follow from frequencies become nn.rotary_table, a few numbers;
other constant tables stay constants. Tables that depend on inputs are no pattern.
"""

import torch

from . import _text
from ._lower import PATTERNS, Match
from ._movement import permuted
from ._trace import aten, shape_of
from ._values import Constant


def _call(node, *targets):
    return isinstance(node, torch.fx.Node) and node.target in targets


def _slice_of(node):
    """(source, start, end) of a contiguous part of the last dimension, or None."""
    if not isinstance(node, torch.fx.Node) or node.op != "call_function":
        return None
    size = shape_of(node)[-1] if isinstance(node.meta.get("val"), torch.Tensor) else None
    rank = len(shape_of(node)) if size is not None else 0
    if _call(node, aten.slice.Tensor):
        source, dim, start = node.args[0], *([*node.args[1:3], 0, 0][:2])
        if dim % rank != rank - 1 or (len(node.args) > 4 and node.args[4] != 1):
            return None
        start = (start or 0) % shape_of(source)[-1] if start else 0
        return source, start, start + size
    if node.target.__name__ == "getitem" and _call(node.args[0], aten.split_with_sizes.default,
                                                   aten.split.Tensor, aten.chunk.default):
        split, index = node.args
        dim = split.args[2] if len(split.args) > 2 else 0
        if dim % rank != rank - 1:
            return None
        start = sum(part.shape[-1] for part in split.meta["val"][:index])
        return split.args[0], start, start + size
    return None


def _rotated(node):
    """x if the node is cat(-x[r:], x[:r])."""
    if not _call(node, aten.cat.default) or len(node.args[0]) != 2:
        return None
    if len(node.args) < 2 or node.args[1] % len(shape_of(node)) != len(shape_of(node)) - 1:
        return None
    negative, first = node.args[0]
    if not _call(negative, aten.neg.default):
        return None
    upper, lower = _slice_of(negative.args[0]), _slice_of(first)
    if not upper or not lower or upper[0] is not lower[0]:
        return None
    size = shape_of(upper[0])[-1]
    return upper[0] if (upper[1:], lower[1:]) == ((size // 2, size), (0, size // 2)) else None


def _tables(lowering, node):
    """(x, nodes of the cosines and of the sines) if the node is x cos + rotated(x) sin."""
    if not _call(node, aten.add.Tensor) or node.kwargs:
        return None
    constants = lowering.traced.constants
    for straight, turned in (node.args[:2], node.args[1::-1]):
        if not _call(straight, aten.mul.Tensor) or not _call(turned, aten.mul.Tensor):
            continue
        for x, cosines in (straight.args[:2], straight.args[1::-1]):
            for half, sines in (turned.args[:2], turned.args[1::-1]):
                if cosines in constants and sines in constants and x not in constants:
                    source = _rotated(half)
                    if source is not None and source is x:
                        return x, cosines, sines
    return None


class Rotation:
    """cos and sin [s, r], the dimension of positions, and the frequencies if there are."""

    def __init__(self, lowering, shape, cosines, sines):
        self.found = False
        if len(shape) != 4 or shape[-1] % 2:
            return
        tables = []
        for node in (cosines, sines):
            data = lowering.constant(node)
            if not isinstance(data, torch.Tensor) or not data.dtype.is_floating_point:
                return
            data = data.reshape((1,) * (4 - data.dim()) + tuple(data.shape)).float()
            for axis in range(3):       # a batch, or heads, that all have the same
                first = data.narrow(axis, 0, 1)
                if data.shape[axis] > 1 and bool((data == first).all()):
                    data = first
            tables.append(data)
        half = shape[-1] // 2
        for position in (2, 1):
            rows = shape[position]
            if all(data.numel() == rows * shape[-1] and data.shape[position] == rows
                   and torch.equal(data[..., :half], data[..., half:]) for data in tables):
                self.found, self.position = True, position
                self.cos, self.sin = (data[..., :half].reshape(rows, half) for data in tables)
                self.frequencies = self._find_frequencies(lowering, cosines)
                if self.frequencies is not None and rows == lowering.positions.length:
                    lowering.positions.follow(cosines, self._cosines)
                return

    def _cosines(self, places):
        frequencies, factor = self.frequencies
        half = (places[:, None].float() * frequencies[None]).cos() * factor
        return torch.cat([half, half], -1)

    def _find_frequencies(self, lowering, node):
        """(inverse frequencies, factor): a constant that the table was made from, and makes
        it."""
        pending, seen = [node], set()
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            pending += [n for n in node.all_input_nodes if n in lowering.traced.constants]
            data = lowering.constant(node)
            if not isinstance(data, torch.Tensor) or not data.dtype.is_floating_point:
                continue
            if data.numel() != self.cos.shape[1] or max(data.shape, default=0) != data.numel():
                continue
            frequencies = data.reshape(-1).float()
            factor = float(self.cos[0, 0])
            angles = torch.arange(self.cos.shape[0])[:, None].float() * frequencies[None]
            error = max(float((angles.cos() * factor - self.cos).abs().max()),
                        float((angles.sin() * factor - self.sin).abs().max()))
            # Tables in 16 bits are rounded.
            exact = lowering.constant(node).dtype == torch.float32 and error < 1e-6 * abs(factor)
            if exact or error < 2.0 ** -8 * abs(factor) and _is_rounded(self.cos):
                return frequencies, factor
        return None

    def names(self, lowering):
        """SSA names of the tables, at the head of the function."""
        emitter = lowering.emitter
        shape = tuple(self.cos.shape)
        if self.frequencies is None:
            return [emitter.force(Constant(t, "f32")).source.name for t in (self.cos, self.sin)
                    ] if not _repeats(self.cos) and not _repeats(self.sin) else None
        frequencies, factor = self.frequencies
        numbers = ", ".join(_text.number(x, "f32") for x in frequencies.tolist())
        text = (f"nn.rotary_table {{attention_scaling = {factor:.17e} : f64, inv_freq = "
                f"dense<[{numbers}]> : tensor<{shape[1]}xf32>}} : "
                f"{_text.tensor(shape, 'f32')}, {_text.tensor(shape, 'f32')}")
        cache = lowering.rotary_tables
        if text not in cache:
            cos, sin = emitter.fresh("cos"), emitter.fresh("sin")
            emitter.head.append(f"    {cos}, {sin} = {text} loc(\"rotary_emb\")")
            cache[text] = cos, sin
        return cache[text]


def _is_rounded(table):
    return bool((table == table.bfloat16().float()).all()) or bool(
        (table == table.half().float()).all())


def _repeats(table):
    return tuple(Constant(table, "f32").dense()[0]) != tuple(table.shape)


def _write(lowering, x, rotation):
    """Heads that are the same, as keys repeated for the queries that share them, are rotated
    once."""
    emitter, value = lowering.emitter, lowering.get(x)
    order = [0, rotation.position, 3 - rotation.position, 3]
    value, repeats = permuted(value, order), ()
    if not isinstance(value, Constant):
        view, repeats = value.view.unrepeat(2)
        value = value.seen(view)
    cos, sin = rotation.names(lowering)
    table = _text.tensor(rotation.cos.shape, "f32")
    kind = _text.tensor(value.shape, value.kind)
    name = emitter.plain(value)
    written = emitter.tensor(f"nn.rotary {name}, {cos}, {sin} : ({kind}, {table}, {table}) -> "
                             f"{kind}", value.shape, value.kind)
    return permuted(written.seen(written.view.repeat(2, repeats)), order)


def _memory(data):
    return data.data_ptr(), tuple(data.shape), data.stride(), data.dtype


def _find(lowering, node):
    """(x, Rotation) of a rotation of all of x."""
    found = _tables(lowering, node)
    if not found:
        return None
    x, cosines, sines = found
    # All layers have the same tables, as views of one tensor.
    cache = lowering.rotations
    key = (shape_of(x), *(_memory(lowering.constant(node)) for node in (cosines, sines)))
    if key not in cache:
        cache[key] = Rotation(lowering, shape_of(x), cosines, sines)
    rotation = cache[key]
    if not rotation.found or (rotation.frequencies is None and (
            _repeats(rotation.cos) or _repeats(rotation.sin))):
        return None
    return x, rotation


def _match(lowering, node):
    kind = node.meta["val"].dtype if isinstance(node.meta.get("val"), torch.Tensor) else None
    inner = node.args[0] if _call(node, aten._to_copy.default) else node
    found = _find(lowering, inner)
    if found:
        x, rotation = found
        while _call(x, aten._to_copy.default) and x.meta["val"].dtype != kind:
            x = x.args[0]
        if x.meta["val"].dtype != kind:
            return None
        return Match("rotary", [x], lambda: _write(lowering, x, rotation))
    # The first part of each head is rotated, the rest passed on.
    if not _call(node, aten.cat.default) or len(node.args[0]) != 2:
        return None
    if len(node.args) < 2 or node.args[1] % len(shape_of(node)) != len(shape_of(node)) - 1:
        return None
    first, rest = node.args[0]
    found = _find(lowering, first)
    if not found:
        return None
    part, rotation = found
    a, b = _slice_of(part), _slice_of(rest)
    if not a or not b or a[0] is not b[0] or a[1] != 0 or a[2] != b[1] or b[2] != shape_of(
            a[0])[-1]:
        return None
    return Match("rotary", [a[0]], lambda: _write(lowering, a[0], rotation))


PATTERNS.append(_match)
