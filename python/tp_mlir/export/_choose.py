"""Elements that values choose: the largest, those at computed positions, and the way back.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Nothing is sorted and nothing is looked up. An element's rank is the number of those that come
before it, and each choice is a sum over a dimension of which one term is not zero:

    rank[e]    = sum over o of (x[o] > x[e], or x[o] = x[e] and o < e)
    values[j]  = sum over e of (x[e] where rank[e] = j)
    indices[j] = sum over e of (e where rank[e] = j)
    max        = least e of (e where x[e] is the largest)
    gather     = sum over e of (x[e] where e = index[j])
    scatter    = sum over j of (source[j] where index[j] = e)

So all of it is cut, differentiated and computed token by token as any other sum is. The terms are
as many as the dimension is long, squared, which suits experts and groups of them.
"""

import math
import operator

import torch

from ._lower import lowers
from ._movement import permuted
from ._pointwise import as_operand, pointwise
from ._reduce import reduce, sum_over_last
from ._text import is_float
from ._trace import aten, kind_of, shape_of
from ._types import Unsupported
from ._values import Constant, Value


def _along_last(lowering, value, dim):
    """The value with dimension `dim` as the last one, which is one axis of the tensor."""
    rank = len(value.shape)
    value = lowering.emitter.force(permuted(value, _order(rank, dim)))
    return value if len(value.view.dims[-1]) <= 1 else lowering.emitter.compact(value)


def _order(rank, dim):
    return [d for d in range(rank) if d != dim % rank] + [dim % rank]


def _back(value, dim):
    """The inverse of _along_last."""
    order = _order(len(value.shape), dim)
    return permuted(value, [order.index(d) for d in range(len(order))])


def _row(value):
    """x[..., n] as x[..., 1, n]."""
    return value.seen(value.view.insert(len(value.shape) - 1))


def _column(value):
    """x[..., n] as x[..., n, 1]."""
    return value.seen(value.view.insert(len(value.shape)))


def _where(body, test, value, kind):
    """The value where the test holds, else zero."""
    return body.op(f"arith.select {test}, {value}, {body.constant(0, kind)} : {kind}")


def _equal(body, a, b, kind):
    return body.op(f"arith.cmpi eq, {a}, {b} : {kind}")


def _ranks(lowering, x, largest):
    """[..., n] of i32."""
    size = x.shape[-1]

    def write(body, inputs, index):
        (own, kind), (other, _) = inputs
        more, same = (("cmpf ogt" if largest else "cmpf olt", "cmpf oeq") if is_float(kind) else
                      ("cmpi sgt" if largest else "cmpi slt", "cmpi eq"))
        before = body.op(f"arith.{more}, {other}, {own} : {kind}")
        equal = body.op(f"arith.{same}, {other}, {own} : {kind}")
        last = len(x.shape)
        lower = body.op(f"arith.cmpi slt, {index(last)}, {index(last - 1)} : i64")
        tied = body.binary("arith.andi", equal, lower, "i1")
        return _where(body, body.binary("arith.ori", before, tied, "i1"),
                      body.constant(1, "i32"), "i32")
    return sum_over_last(lowering, [_column(x), _row(x)], (*x.shape, size), "i32", write)


@lowers(aten.topk.default)
def _topk(lowering, node, x, count, dim=-1, largest=True, in_order=True):
    """(values, indices), in order whether or not it is asked for; of equals the first one comes
    first."""
    x = _along_last(lowering, lowering.get(x), dim)
    ranks = _ranks(lowering, x, largest)
    last = len(x.shape)
    whole = (*x.shape[:-1], count, x.shape[-1])

    def chosen(kind, element):
        def write(body, inputs, index):
            (rank, _), *rest = inputs
            place = body.cast(index(last - 1), "i64", "i32")
            return _where(body, _equal(body, rank, place, "i32"), element(rest, index), kind)
        return write

    def values():
        write = chosen(x.kind, lambda rest, index: rest[0][0])
        return _back(sum_over_last(lowering, [_row(ranks), _row(x)], whole, x.kind, write), dim)

    def indices():
        write = chosen("i64", lambda rest, index: index(last))
        return _back(sum_over_last(lowering, [_row(ranks)], whole, "i64", write), dim)
    return [values, indices]


def _first(lowering, x, largest):
    """[..., 1] of i64: where the first of the largest elements of x[..., n] is. Two sums as long as
    the dimension, so that it may be the vocabulary."""
    extreme = reduce(lowering, x, [-1], True, "max" if largest else "min", x.kind)

    def write(body, inputs):
        (own, kind), (most, _), (place, _) = inputs[:-1]
        same = body.op(f"arith.cmpf oeq, {own}, {most} : {kind}") if is_float(kind) else _equal(
            body, own, most, kind)
        past = body.constant(x.shape[-1], "i64")
        return body.op(f"arith.select {same}, {place}, {past} : i64")
    places = Constant(torch.arange(x.shape[-1]), "i64")
    places = pointwise(lowering, [x, extreme, places], x.shape, "i64", write)
    return reduce(lowering, places, [-1], True, "min", "i64")


def _dropped(lowering, value, dim, keep):
    """The result [..., 1] of a choice along `dim`, which is there or not."""
    value = _back(value, dim)
    if keep:
        return value
    dim %= len(value.shape)
    return lowering.emitter.reshape(value, value.shape[:dim] + value.shape[dim + 1:])


def _extreme(largest):
    """(values, indices); the derivative is that of the element that was taken."""
    def lower(lowering, node, x, dim, keep=False):
        x = _along_last(lowering, lowering.get(x), dim)
        index = _first(lowering, x, largest)

        def values():
            def write(body, inputs, place):
                (element, kind), (wanted, _) = inputs
                return _where(body, _equal(body, place(len(x.shape)), wanted, "i64"), element, kind)
            whole = (*index.shape, x.shape[-1])
            taken = sum_over_last(lowering, [_row(x), _column(index)], whole, x.kind, write)
            return _dropped(lowering, taken, dim, keep)
        return [values, lambda: _dropped(lowering, index, dim, keep)]
    return lower


def _place_of_extreme(largest):
    def lower(lowering, node, x, dim=None, keep=False):
        value = lowering.get(x)
        if dim is None:
            value, dim, keep = lowering.emitter.reshape(value, (math.prod(value.shape),)), 0, False
        x = _along_last(lowering, value, dim)
        return _dropped(lowering, _first(lowering, x, largest), dim, keep)
    return lower


lowers(aten.max.dim)(_extreme(True))
lowers(aten.min.dim)(_extreme(False))
lowers(aten.argmax.default)(_place_of_extreme(True))
lowers(aten.argmin.default)(_place_of_extreme(False))


@lowers(aten.gather.default)
def _gather(lowering, node, x, dim, index, **options):
    value, index = lowering.get(x), lowering.get(index)
    shape, kind = shape_of(node), kind_of(node)
    if isinstance(value, Constant) and value.splat is not None:
        return Constant(value.data.reshape(-1)[0].expand(shape), kind)
    dim %= len(shape)
    _expect_same(value.shape, index.shape, dim)
    value, index = (_along_last(lowering, v, dim) for v in (value, index))

    def write(body, inputs, place):
        (element, _), (wanted, wanted_kind) = inputs
        here = _equal(body, place(len(shape)), body.cast(wanted, wanted_kind, "i64"), "i64")
        return _where(body, here, element, kind)
    whole = (*index.shape, value.shape[-1])
    return _back(sum_over_last(lowering, [_row(value), _column(index)], whole, kind, write), dim)


def _expect_same(shape, index, dim):
    """A dimension that an index has shorter would take a part of the tensor."""
    if any(a != b for d, (a, b) in enumerate(zip(shape, index)) if d != dim):
        raise Unsupported("of fewer rows than the tensor has")


def spread(lowering, source, index, size, kind):
    """source[..., k] (or a number) at positions index[..., k] of a last dimension of `size`: a sum
    where several are at the same, zero where none is."""
    last = len(index.shape) - 1

    def write(body, inputs, place):
        (element, old), (wanted, wanted_kind) = inputs
        here = _equal(body, place(last), body.cast(wanted, wanted_kind, "i64"), "i64")
        return _where(body, here, body.cast(element, old, kind), kind)
    operands = [_row(source) if isinstance(source, Value) else source, _row(index)]
    return sum_over_last(lowering, operands, (*index.shape[:-1], size, index.shape[-1]), kind,
                         write)


def _scattered(lowering, node, dim, index, source, kind):
    """What comes to each element of the node's shape from `source` at positions `index`."""
    shape, index = shape_of(node), lowering.get(index)
    dim %= len(shape)
    _expect_same(shape, index.shape, dim)
    if isinstance(source, Value) and source.shape != index.shape:
        raise Unsupported("of a source that is larger than the index")
    if isinstance(source, Value):
        source = _along_last(lowering, source, dim)
    index = _along_last(lowering, index, dim)
    return _back(spread(lowering, source, index, shape[dim], kind), dim)


def _replaced(lowering, node, x, dim, index, source):
    """x, but `source` at the positions of an index."""
    kind = kind_of(node)
    hits = _scattered(lowering, node, dim, index, as_operand(1, "i32"), "i32")

    def write(body, inputs):
        (old, _), (new, _), (hit, _) = inputs[:-1]
        hit = body.op(f"arith.cmpi ne, {hit}, {body.constant(0, 'i32')} : i32")
        return body.op(f"arith.select {hit}, {new}, {old} : {kind}")
    return pointwise(lowering, [lowering.get(x), source, hits], shape_of(node), kind, write)


def _are_distinct(index, dim):
    """Whether a node has no number twice along `dim`: indices of the largest elements."""
    if index.target is not operator.getitem or index.args[1] != 1 or (
            index.args[0].target is not aten.topk.default):
        return False
    rank, (_, _, *along) = len(shape_of(index)), index.args[0].args
    return (along or [-1])[0] % rank == dim % rank


@lowers(aten.scatter.value)
def _scatter_value(lowering, node, x, dim, index, value):
    return _replaced(lowering, node, x, dim, index, as_operand(value, kind_of(node)))


@lowers(aten.scatter.src)
def _scatter_source(lowering, node, x, dim, index, source):
    if not _are_distinct(index, dim):
        raise Unsupported("at positions that may be the same, of which PyTorch keeps any one")
    new = _scattered(lowering, node, dim, index, _source(lowering, source), kind_of(node))
    return _replaced(lowering, node, x, dim, index, new)


@lowers(aten.scatter_add.default)
def _scatter_add(lowering, node, x, dim, index, source):
    kind = kind_of(node)
    new = _scattered(lowering, node, dim, index, _source(lowering, source), kind)
    return pointwise(lowering, [lowering.get(x), new], shape_of(node), kind,
                     lambda body, inputs: body.binary(
                         "arith.addf" if is_float(kind) else "arith.addi", inputs[0][0],
                         inputs[1][0], kind))


def _source(lowering, source):
    """A number stays one; other constants are written."""
    source = lowering.get(source)
    if isinstance(source, Constant) and source.splat is None:
        return lowering.emitter.force(source)
    return source
