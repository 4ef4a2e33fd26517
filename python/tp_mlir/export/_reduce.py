"""Sums and maxima over dimensions, and sums of products.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Loops run over the operands' axes in their order; sums are in f32. A product with a matrix of
the checkpoint is nn.linear; batched products have as many loops as the operands have dimensions
beneath their views, so that flattened batches are separate again.
"""

import math

import torch

from . import _text
from ._emit import _positions
from ._lower import lowers
from ._movement import permuted
from ._pointwise import align, alike, computed, on_tensor, pointwise
from ._text import is_float
from ._trace import aten, kind_of, shape_of
from ._types import Unsupported
from ._values import Constant, Parameter, Product, Tensor, Value
from ._views import Atom, View

F32 = "f32"


def accumulator(kind):
    return ("f64" if kind == "f64" else F32) if is_float(kind) else kind


# How each kind begins, and the operations on floats and on integers.
_COMBINERS = {"sum": (0, "arith.addf", "arith.addi"),
              "max": (-math.inf, "arith.maximumf", "arith.maxsi"),
              "min": (math.inf, "arith.minimumf", "arith.minsi"),
              "any": (0, None, "arith.ori")}


def reduce(lowering, value, dims, keep, combiner, kind, divide_by=None):
    """The reduction over `dims` in type `kind`; `divide_by` is for means."""
    emitter = lowering.emitter
    rank = len(value.shape)
    dims = [d % rank for d in dims] if dims else list(range(rank))
    value = emitter.force(value)
    if value.view.is_broadcast:
        value = emitter.compact(value)
    shape, acc = value.shape, accumulator(kind)
    loops = value.view.tensor
    reduced = {atom.axis for d in dims for atom in value.view.dims[d]}
    kept = [axis for axis in range(len(loops)) if axis not in reduced]
    if not keep and len(kept) > 1:
        # Axes of size one of reduced dimensions go with them.
        plain = value.view.is_plain
        kept = [axis for axis in kept if not (plain and axis in dims)]
    init, on_floats, on_integers = _COMBINERS[combiner]
    if not is_float(acc) and init:
        init = int(math.copysign(2 ** (_text.bits(acc) - 1), init)) + (init > 0) * -1
    operation = on_floats if is_float(acc) else on_integers

    def write(body, inputs):
        (name, old), (output, _) = inputs
        return body.binary(operation, output, body.cast(name, old, acc), acc)
    iterators = ["reduction" if axis in reduced else "parallel" for axis in range(len(loops))]
    if reduced:
        name = emitter.generic([value], list(loops), acc, write, [list(range(len(loops)))],
                               iterators, kept, init)
        result = tuple(loops[axis] for axis in kept)
        number = {axis: i for i, axis in enumerate(kept)}
        view = View(result, tuple(
            () if d in dims else tuple(Atom(number[a.axis], a.size) for a in value.view.dims[d])
            for d in range(rank)))
        value = Value(Tensor(name, result), view, acc)
    if not keep:
        value = value.seen(View(value.view.tensor, tuple(
            value.view.dims[d] for d in range(rank) if d not in dims)))
    if divide_by is None and acc == kind and value.kind == kind:
        return value
    last = [Constant(torch.tensor(float(divide_by)), F32)] if divide_by else []

    def finish(body, inputs):
        name = body.cast(inputs[0][0], inputs[0][1], acc)
        if divide_by:
            name = body.binary("arith.divf", name, body.cast(*inputs[1], acc), acc)
        return body.cast(name, acc, kind)
    return pointwise(lowering, [value, *last], value.shape, kind, finish)


@lowers(aten.mean.dim, aten.mean.default)
def _mean(lowering, node, x, dims=None, keep=False, **options):
    value = lowering.get(x)
    count = math.prod(value.shape[d] for d in dims) if dims else math.prod(value.shape)
    return reduce(lowering, value, dims, keep, "sum", kind_of(node), count)


@lowers(aten.sum.dim_IntList, aten.sum.default)
def _sum(lowering, node, x, dims=None, keep=False, **options):
    value, kind = lowering.get(x), kind_of(node)
    return reduce(lowering, value, dims, keep, "sum", kind)


@lowers(aten.amax.default)
def _amax(lowering, node, x, dims=(), keep=False):
    return reduce(lowering, lowering.get(x), list(dims), keep, "max", kind_of(node))


@lowers(aten.amin.default)
def _amin(lowering, node, x, dims=(), keep=False):
    return reduce(lowering, lowering.get(x), list(dims), keep, "min", kind_of(node))


@lowers(aten.any.dim, aten.any.default, aten.any.dims)
def _any(lowering, node, x, dims=None, keep=False):
    dims = [dims] if isinstance(dims, int) else dims
    value = lowering.get(x)
    if value.kind != "i1":
        raise Unsupported(f"of type {value.kind}")
    return reduce(lowering, value, dims, keep, "any", "i1")


@lowers(aten.cumsum.default)
def _cumsum(lowering, node, x, dim, **options):
    """A sum over the positions up to each: quadratic, and meant for positions."""
    emitter = lowering.emitter
    value = emitter.force(lowering.get(x))
    shape, kind = value.shape, kind_of(node)
    value = emitter.compact(value)
    rank = len(shape)
    dim %= rank
    acc = accumulator(kind)

    def write(body, inputs):
        (name, old), (output, _) = inputs
        here = body.op(f"linalg.index {dim} : index")
        there = body.op(f"linalg.index {rank} : index")
        before = body.op(f"arith.cmpi ule, {there}, {here} : index")
        term = body.op(f"arith.select {before}, {body.cast(name, old, acc)}, "
                       f"{body.constant(0, acc)} : {acc}")
        return body.binary("arith.addf" if is_float(acc) else "arith.addi", output, term, acc)
    source = [rank if d == dim else d for d in range(rank)]
    name = emitter.generic([value], [*shape, shape[dim]], acc, write, [source],
                           ["parallel"] * rank + ["reduction"], list(range(rank)), 0)
    result = Value(Tensor(name, shape), View.of(shape), acc)
    return result if acc == kind else computed(lowering, node, [result], lambda body, a: a, acc)


@lowers(aten.softmax.int, aten._softmax.default)
def _softmax(lowering, node, x, dim, kind=None):
    value, kind = lowering.get(x), kind_of(node)
    rank = len(value.shape)
    if value.kind != kind:
        value = computed(lowering, node, [value], lambda body, a: a, value.kind)
    order = [d for d in range(rank) if d != dim % rank] + [dim % rank]
    value = alike(lowering, permuted(value, order))
    # Over the last axis of the tensor, whatever the order of the others.
    last = value.view.dims[-1]
    if len(last) != 1 or last[0].axis != len(value.view.tensor) - 1:
        value = lowering.emitter.compact(value)
    value = on_tensor(lowering, "nn.softmax", value)
    return permuted(value, [order.index(d) for d in range(rank)])


# -- products

def sum_over_last(lowering, operands, whole, kind, write):
    """The sum over the last dimension of `whole` of terms that `write(body, inputs, index)` gives,
    from operands that are broadcast to `whole`; `index(dim)` is the position in a dimension, which
    then is one loop. Batches that a view has joined stay apart. In type `kind`."""
    emitter = lowering.emitter
    operands, parts = align(lowering, operands, whole)
    loops = [size for dim in parts for size in dim]
    kept = len(loops) - len(parts[-1])
    first = [sum(map(len, parts[:dim])) for dim in range(len(whole))]
    operands = [emitter.force(value) if isinstance(value, Value) else value for value in operands]
    maps = ["splat" if isinstance(v, Constant) else
            _positions(v.view, [i for i, dim in enumerate(v.view.dims) if dim]) for v in operands]

    def term(body, inputs):
        def index(dim):
            assert len(parts[dim]) <= 1, "operands whose positions count are written out first"
            return body.index(first[dim]) if parts[dim] else body.constant(0, "i64")
        *inputs, (output, _) = inputs
        return body.binary("arith.addf" if is_float(kind) else "arith.addi", output,
                           write(body, inputs, index), kind)
    iterators = ["parallel"] * kept + ["reduction"] * (len(loops) - kept)
    name = emitter.generic(operands, loops, kind, term, maps, iterators, list(range(kept)), 0)
    sizes = tuple(loops[:kept])
    return emitter.reshape(Value(Tensor(name, sizes), View.of(sizes), kind), whole[:-1])


def contract(lowering, a, b, kind):
    """a[..., m, k] b[..., k, n], the dimensions in front broadcast."""
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    (m, k), n = a.shape[-2:], b.shape[-1]
    emitter = lowering.emitter
    # As operands of one element-wise product [batch, m, n, k].
    first, second = emitter.force(a), emitter.force(b)
    first = first.seen(first.view.insert(len(a.shape) - 1))
    second = permuted(second, [*range(len(b.shape) - 2), len(b.shape) - 1, len(b.shape) - 2])
    second = second.seen(second.view.insert(len(b.shape) - 2))
    acc = accumulator(kind)

    def write(body, inputs, index):
        (x, x_kind), (y, y_kind) = inputs
        return body.binary("arith.mulf" if is_float(acc) else "arith.muli",
                           body.cast(x, x_kind, acc), body.cast(y, y_kind, acc), acc)
    value = sum_over_last(lowering, [first, second], (*batch, m, n, k), acc, write)
    if acc == kind:
        return value
    return pointwise(lowering, [value], value.shape, kind,
                     lambda body, inputs: body.cast(inputs[0][0], acc, kind))


def linear(lowering, x, weight, bias, place=None):
    """x[..., k] weight[n, k]ᵀ + bias, not yet written."""
    emitter = lowering.emitter
    x = emitter.force(x)
    # Rows of the tensor as it lies, if the module sees them in its order: a batch and positions
    # that it has joined stay apart.
    rows = _join_last(emitter, x) if x.view.is_ordered else emitter.compact(x)
    outputs = weight.shape[0]
    product = Product(rows, weight, bias, 0, (outputs,), emitter.place)
    tensor = rows.view.tensor[:-1] + (outputs,)
    last_axis = len(tensor) - 1
    view = View(tensor, rows.view.dims[:-1] + (
        (Atom(last_axis, outputs),) if outputs != 1 else (),))
    return Value(product, view, x.kind)


def _join_last(emitter, x):
    """An ordered view whose last dimension is the last axis of the tensor."""
    view, last = x.view, x.view.dims[-1]
    size = math.prod(atom.size for atom in last)
    axis = len(view.tensor)
    while axis and math.prod(view.tensor[axis:]) < size:
        axis -= 1
    if math.prod(view.tensor[axis:]) != size:
        return emitter.compact(x)
    if size == 1:
        axis = len(view.tensor) - 1 if view.tensor[-1:] == (1,) else len(view.tensor)
    tensor = view.tensor[:axis] + (size,)
    name = emitter.reshape_tensor(x.source.name, view.tensor, tensor, x.kind)
    dims = view.dims[:-1] + ((Atom(axis, size),) if size != 1 else (),)
    return Value(Tensor(name, tensor), View(tensor, dims), x.kind)


def is_weight(value):
    return isinstance(value, Value) and isinstance(value.source, Parameter) and len(
        value.shape) == 2 and len(value.source.shape) == 2 and is_float(value.kind)


def _fits(*values):
    return len({value.kind for value in values if value is not None}) == 1


@lowers(aten.linear.default)
def _linear(lowering, node, x, weight, bias=None):
    x, weight = lowering.get(x), lowering.get(weight)
    bias = lowering.get(bias) if bias is not None else None
    if isinstance(bias, Constant):
        bias = lowering.emitter.force(bias)
    if isinstance(weight, Constant):
        weight = lowering.emitter.force(weight)
    if not _fits(x, weight, bias):
        raise Unsupported("of operands of different types")
    return linear(lowering, x, weight, bias)


@lowers(aten.addmm.default)
def _addmm(lowering, node, bias, x, matrix, beta=1, alpha=1):
    bias, x, matrix = lowering.get(bias), lowering.get(x), lowering.get(matrix)
    if alpha != 1 or beta != 1:
        raise Unsupported("with alpha or beta")
    if is_weight(matrix) and isinstance(bias, Value) and len(bias.shape) == 1 and isinstance(
            bias.source, Parameter) and _fits(x, matrix, bias):
        return linear(lowering, x, permuted(matrix, [1, 0]), bias)
    product = _product(lowering, x, matrix, kind_of(node))
    return computed(lowering, node, [product, bias],
                    lambda body, a, b: body.binary("arith.addf", a, b, kind_of(node)))


@lowers(aten.mm.default, aten.bmm.default, aten.matmul.default)
def _matmul(lowering, node, a, b):
    a, b = lowering.get(a), lowering.get(b)
    emitter, shape = lowering.emitter, shape_of(node)
    if len(a.shape) == 1:
        a = emitter.reshape(a, (1, *a.shape))
    if len(b.shape) == 1:
        b = emitter.reshape(b, (*b.shape, 1))
    return emitter.reshape(_product(lowering, a, b, kind_of(node)), shape)


def _product(lowering, a, b, kind):
    if is_weight(b) and _fits(a, b):
        return linear(lowering, a, permuted(b, [1, 0]), None)
    return contract(lowering, a, b, kind)


@lowers(aten.baddbmm.default)
def _baddbmm(lowering, node, added, a, b, beta=1, alpha=1):
    kind = kind_of(node)
    product = contract(lowering, lowering.get(a), lowering.get(b), kind)

    def write(body, x, y):
        terms = []
        for name, scale in ((x, beta), (y, alpha)):
            if scale != 1:
                name = body.binary("arith.mulf", name, body.constant(scale, kind), kind)
            terms.append(name)
        return body.binary("arith.addf", *terms, kind)
    if beta == 0:
        return computed(lowering, node, [product], lambda body, y: body.binary(
            "arith.mulf", y, body.constant(alpha, kind), kind))
    return computed(lowering, node, [lowering.get(added), product], write)
