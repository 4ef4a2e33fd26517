"""Operations that only say where elements are: views, slices, concatenations, look-ups.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import operator

import numpy

from . import _text
from ._lower import lowers
from ._trace import aten, kind_of, shape_of
from ._types import Unsupported
from ._values import Constant, Parameter, Tensor, Value
from ._views import View


@lowers(aten.view.default, aten.reshape.default, aten._unsafe_view.default,
        aten.squeeze.dims, aten.squeeze.dim, aten.squeeze.default)
def _reshape(lowering, node, x, *rest):
    return lowering.emitter.reshape(lowering.get(x), shape_of(node))


@lowers(aten.unsqueeze.default)
def _unsqueeze(lowering, node, x, dim):
    value = lowering.get(x)
    return value.seen(value.view.insert(dim % len(shape_of(node))))


@lowers(aten.expand.default)
def _expand(lowering, node, x, *rest, **options):
    value = lowering.get(x)
    return value.seen(value.view.expand(shape_of(node)))


@lowers(aten.repeat.default)
def _repeat(lowering, node, x, repeats):
    value, result = lowering.get(x), shape_of(node)
    old = (1,) * (len(result) - len(value.shape)) + value.shape
    wide = [size for n, size in zip(repeats, old) for size in (n, size)]
    narrow = [size for size in old for size in (1, size)]
    value = lowering.emitter.reshape(value, narrow)
    return lowering.emitter.reshape(value.seen(value.view.expand(wide)), result)


def permuted(value, order):
    if isinstance(value, Constant):
        return Constant(value.data.permute(order), value.kind)
    return value.seen(value.view.permute(order))


@lowers(aten.permute.default)
def _permute(lowering, node, x, order):
    return permuted(lowering.get(x), [d % len(order) for d in order])


@lowers(aten.transpose.int)
def _transpose(lowering, node, x, a, b):
    order = list(range(len(shape_of(node))))
    order[a], order[b] = order[b], order[a]
    return permuted(lowering.get(x), order)


@lowers(aten.t.default)
def _t(lowering, node, x):
    return permuted(lowering.get(x), list(reversed(range(len(shape_of(node))))))


@lowers(aten.slice.Tensor)
def _slice(lowering, node, x, dim=0, start=None, end=None, step=1):
    value, result = lowering.get(x), shape_of(node)
    dim %= len(result)
    size = value.shape[dim]
    start = min(max(start + size if (start or 0) < 0 else start or 0, 0), size)
    if 0 in result:
        return Constant(node.meta["val"].new_empty(result, device="cpu"), kind_of(node))
    return lowering.emitter.slice(value, dim, start, result[dim], step)


@lowers(aten.select.int)
def _select(lowering, node, x, dim, index):
    value = lowering.get(x)
    dim %= len(value.shape)
    row = lowering.emitter.slice(value, dim, index % value.shape[dim], 1)
    return lowering.emitter.reshape(row, shape_of(node))


def _cut(lowering, value, dim, sizes):
    parts, start = [], 0
    for size in sizes:
        parts.append((value, dim, start, size))
        start += size
    return parts


@lowers(aten.split_with_sizes.default)
def _split_with_sizes(lowering, node, x, sizes, dim=0):
    value = lowering.get(x)
    return _cut(lowering, value, dim % len(value.shape), sizes)


@lowers(aten.split.Tensor)
def _split(lowering, node, x, size, dim=0):
    value = lowering.get(x)
    dim %= len(value.shape)
    whole = value.shape[dim]
    return _cut(lowering, value, dim, [min(size, whole - i) for i in range(0, whole, size)])


@lowers(aten.chunk.default)
def _chunk(lowering, node, x, chunks, dim=0):
    dim %= len(lowering.get(x).shape)
    return _cut(lowering, lowering.get(x), dim, [v.shape[dim] for v in node.meta["val"]])


@lowers(aten.unbind.int)
def _unbind(lowering, node, x, dim=0):
    value = lowering.get(x)
    dim %= len(value.shape)
    shape = value.shape[:dim] + value.shape[dim + 1:]
    return [lowering.emitter.reshape(lowering.emitter.slice(value, dim, i, 1), shape)
            for i in range(value.shape[dim])]


@lowers(operator.getitem)
def _getitem(lowering, node, x, index):
    part = lowering.get(x)[index]
    # A part is written when it is read, for those that nobody reads are not written.
    if callable(part):
        return part()
    return lowering.emitter.slice(*part) if isinstance(part, tuple) else part


def concatenate(lowering, values, dim, shape, kind):
    emitter = lowering.emitter
    names = [emitter.plain(value) for value in values]
    types = ", ".join(_text.tensor(value.shape, kind) for value in values)
    return emitter.tensor(f"tensor.concat dim({dim}) {', '.join(names)} : ({types}) -> "
                          f"{_text.tensor(shape, kind)}", shape, kind)


@lowers(aten.cat.default)
def _cat(lowering, node, parts, dim=0):
    values, shape, kind = [lowering.get(part) for part in parts], shape_of(node), kind_of(node)
    if any(value.kind != kind for value in values):
        raise Unsupported("of different types")
    return concatenate(lowering, values, dim % len(shape), shape, kind)


@lowers(aten.stack.default)
def _stack(lowering, node, parts, dim=0):
    shape = shape_of(node)
    dim %= len(shape)
    one = shape[:dim] + (1,) + shape[dim + 1:]
    values = [lowering.emitter.reshape(lowering.get(part), one) for part in parts]
    return concatenate(lowering, values, dim, shape, kind_of(node))


@lowers(aten.constant_pad_nd.default)
def _pad(lowering, node, x, pads, value=0):
    x, shape, kind = lowering.get(x), shape_of(node), kind_of(node)
    rank = len(shape)
    low, high = [0] * rank, [0] * rank
    for i in range(len(pads) // 2):
        low[rank - 1 - i], high[rank - 1 - i] = pads[2 * i], pads[2 * i + 1]
    if min(low + high) < 0:
        raise Unsupported("that cuts")
    emitter = lowering.emitter
    number = emitter.fresh()
    name = emitter.plain(x)
    emitter.line(f"{number} = {_text.scalar(value, kind)}")
    arguments = ", ".join(f"%i{i}: index" for i in range(rank))
    return emitter.tensor(
        f"tensor.pad {name} low{_text.ints(low)} high{_text.ints(high)} {{\n"
        f"    ^bb0({arguments}):\n      tensor.yield {number} : {kind}\n    }} : "
        f"{_text.tensor(x.shape, kind)} to {_text.tensor(shape, kind)}", shape, kind)


def as_range(numbers):
    """(first, count) of consecutive ascending numbers, or None."""
    numbers = numpy.asarray(numbers).reshape(-1)
    if numbers.size and (numbers == numbers[0] + numpy.arange(numbers.size)).all():
        return int(numbers[0]), numbers.size
    return None


@lowers(aten.embedding.default)
def _embedding(lowering, node, table, ids, padding_row=-1, scales_gradient=False, is_sparse=False):
    """The row of padding has no gradient; a sparse gradient is one in another layout."""
    if scales_gradient:
        raise Unsupported("with scale_grad_by_freq=True, whose gradient is divided by how often an "
                          "id occurs: set it to False, which changes no result")
    table, ids, shape = lowering.get(table), lowering.get(ids), shape_of(node)
    emitter = lowering.emitter
    if isinstance(ids, Constant):
        data, repeated = ids.without_repetition()
        rows = as_range(data.numpy())
        if rows and rows[0] >= 0 and not 0 <= padding_row - rows[0] < rows[1]:
            # Rows of the table side by side, all of them trained: a box of it.
            value = emitter.slice(table, 0, *rows)
            value = emitter.reshape(value, tuple(data.shape) + value.shape[1:])
            return value.seen(value.view.expand(shape))
    if isinstance(table, Constant):
        table = emitter.force(table)
    rows = emitter.matrix(table) if isinstance(table.source, Parameter) else emitter.plain(table)
    if not _text.is_float(table.kind):
        raise Unsupported("of a table of integers")
    index = emitter.plain(ids)
    padding = f" {{padding_row = {padding_row} : i64}}" if padding_row >= 0 else ""
    return emitter.tensor(
        f"nn.embedding {index}, {rows}{padding} : ({_text.tensor(ids.shape, ids.kind)}, "
        f"{_text.tensor(table.shape, table.kind)}) -> {_text.tensor(shape, table.kind)}",
        shape, table.kind)


@lowers(aten.index_select.default)
def _index_select(lowering, node, x, dim, index):
    dim %= len(shape_of(node))
    return _index(lowering, node, x, [None] * dim + [index])


@lowers(aten.index.Tensor)
def _index(lowering, node, x, indices):
    """By constant positions: ranges, rows, and repetitions of these; or rows of a table."""
    value, shape = lowering.get(x), shape_of(node)
    indices = [None if i is None else lowering.get(i) for i in indices]
    computed = [i for i in indices if i is not None and not isinstance(i, Constant)]
    if computed:
        if len(computed) == len(indices) == 1 and len(value.shape) == 2 and _text.is_float(
                value.kind) and computed[0].kind in ("i64", "i32"):
            return _embedding(lowering, node, x, node.args[1][0])
        raise Unsupported("at computed positions")
    indices += [None] * (len(value.shape) - len(indices))
    given = [dim for dim, i in enumerate(indices) if i is not None]
    together = numpy.broadcast_shapes(*(indices[dim].shape for dim in given))
    adjacent = given == list(range(given[0], given[0] + len(given)))
    position = given[0] if adjacent else 0
    rest = [dim for dim in range(len(value.shape)) if dim not in given]
    taken = {}      # dimension of `together`: dimension of the value, or repetition
    emitter = lowering.emitter
    for dim in given:
        if indices[dim].kind == "i1":
            raise Unsupported("by a mask")
        data = indices[dim].data.expand(together) if together else indices[dim].data
        varying = [axis for axis in range(len(together))
                   if not bool((data == data.narrow(axis, 0, 1)).all())]
        if len(varying) > 1 or (varying and varying[0] in taken):
            raise Unsupported("along several dimensions at once")
        if not varying:
            row = int(data.reshape(-1)[0]) % value.shape[dim]
            value = emitter.slice(value, dim, row, 1)
            continue
        line = data.movedim(varying[0], 0).reshape(together[varying[0]], -1)[:, 0].numpy()
        value = _take(emitter, value, dim, numpy.where(line < 0, line + value.shape[dim], line))
        taken[varying[0]] = dim
    dims = [value.view.dims[taken[a]] if a in taken else () for a in range(len(together))]
    others = [value.view.dims[dim] for dim in rest]
    dims = others[:position] + dims + others[position:]
    value = value.seen(View(value.view.tensor, tuple(dims)))
    return value.seen(value.view.expand(shape))


def _take(emitter, value, dim, line):
    """Positions `line` of a dimension: a range, or each of a range several times."""
    if as_range(line):
        return emitter.slice(value, dim, *as_range(line))
    times = int((line == line[0]).sum())
    once = line[::times]
    if len(line) % times or (numpy.repeat(once, times) != line).any() or not as_range(once):
        raise Unsupported("at positions that are no range")
    value = emitter.slice(value, dim, *as_range(once))
    shape = value.shape
    wide = shape[:dim + 1] + (1,) + shape[dim + 1:]
    value = emitter.reshape(value, wide)
    value = value.seen(value.view.expand(shape[:dim + 1] + (times,) + shape[dim + 1:]))
    return emitter.reshape(value, shape[:dim] + (len(line),) + shape[dim + 1:])


@lowers(aten.slice_scatter.default)
def _slice_scatter(lowering, node, x, source, dim=0, start=None, end=None, step=1):
    value, part = lowering.get(x), lowering.get(source)
    shape, kind = shape_of(node), kind_of(node)
    dim %= len(shape)
    offsets, steps = [0] * len(shape), [1] * len(shape)
    offsets[dim], steps[dim] = (start or 0) % shape[dim], step
    emitter = lowering.emitter
    into, name = emitter.plain(value), emitter.plain(part)
    return emitter.tensor(
        f"tensor.insert_slice {name} into {into}{_text.ints(offsets)} {_text.ints(part.shape)} "
        f"{_text.ints(steps)} : {_text.tensor(part.shape, kind)} into {_text.tensor(shape, kind)}",
        shape, kind)


@lowers(aten.copy.default)
def _copy(lowering, node, into, source, *rest):
    value = lowering.get(source)
    if value.kind != kind_of(node):
        raise Unsupported("that casts")
    if isinstance(value, Constant):
        return Constant(value.data.expand(shape_of(node)), value.kind)
    return value.seen(value.view.expand(shape_of(node)))
