"""Operations on each element.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

One linalg.generic over the axes of the largest operand, in their order in memory, whatever
order the module sees them in; or, where the operands lie alike, one operation of arith or nn on
tensors.
"""

import math

import torch

from . import _text
from ._bands import find_band
from ._emit import _positions
from ._lower import PATTERNS, Match, lowers
from ._text import is_float
from ._trace import aten, kind_of, shape_of
from ._types import Unsupported
from ._values import Constant, Tensor, Value
from ._views import Atom, View, refine

F32 = "f32"


class InBand(Constant):
    """A constant of two values: one where the positions in two dimensions are in a band, the
    other elsewhere. Two numbers and a comparison, not a table of s * t elements."""

    def __init__(self, constant, dims, band, inside, outside):
        super().__init__(constant.data, constant.kind)
        self.dims, self.band, self.inside, self.outside = dims, band, inside, outside

    def write(self, body, loops):
        """The element at the positions of the loops of the two dimensions."""
        i, j = (body.index(loop) for loop in loops)
        distance = body.binary("arith.subi", j, i, "i64")
        seen = None
        for bound, predicate in ((self.band.low, "sge"), (self.band.high, "sle")):
            if bound is not None:
                test = body.op(f"arith.cmpi {predicate}, {distance}, "
                               f"{body.constant(bound, 'i64')} : i64")
                seen = test if seen is None else body.binary("arith.andi", seen, test, "i1")
        inside, outside = (body.constant(n, self.kind) for n in (self.inside, self.outside))
        return body.op(f"arith.select {seen}, {inside}, {outside} : {self.kind}")


def find_in_band(constant, shape):
    """The InBand of `shape` that a constant is, or None."""
    data, _ = constant.without_repetition()
    data = data.reshape((1,) * (len(shape) - data.dim()) + tuple(data.shape))
    dims = [dim for dim, size in enumerate(data.shape) if size != 1]
    if len(dims) != 2 or any(data.shape[dim] != shape[dim] for dim in dims):
        return None
    matrix = data.squeeze()
    corner = matrix[0, 0]
    seen = matrix == corner
    others = matrix[~seen]
    if not bool((others == others[0]).all()):
        return None
    for mask, inside, outside in ((seen, corner, others[0]), (~seen, others[0], corner)):
        band = find_band(mask.numpy())
        if band is not None:
            return InBand(constant, dims, band, inside.item(), outside.item())
    return None


def align(lowering, operands, shape, inline=lambda constant: False):
    """Each Value expanded to `shape` and split alike, and the sizes of each dimension's parts.
    Constants that are one number, or `inline`, stay as they are."""
    emitter = lowering.emitter
    values = []
    for operand in operands:
        if isinstance(operand, Constant):
            if operand.splat is not None or inline(operand):
                values.append(operand)
                continue
            operand = emitter.force(operand)
        values.append(operand.seen(operand.view.expand(shape)))
    parts = []
    for dim in range(len(shape)):
        def groups():
            return [[a.size for a in value.view.dims[dim]] for value in values
                    if isinstance(value, Value)
                    and any(a.axis is not None for a in value.view.dims[dim])]
        sizes = refine(groups())
        if sizes is None:
            values = [value if isinstance(value, Constant) or len(value.view.dims[dim]) < 2
                      else emitter.compact(value) for value in values]
            sizes = refine(groups())
        if not sizes and shape[dim] != 1:
            sizes = (shape[dim],)
        parts.append(sizes)
    wide = [size for sizes in parts for size in sizes]
    aligned = []
    for value in values:
        if isinstance(value, Value):
            value = emitter.reshape(value, wide)
        aligned.append(value)
    return aligned, parts


def pointwise(lowering, operands, shape, kind, write):
    """`write(body, inputs)`, with (name, kind) of each operand, gives the result's name."""
    emitter, shape = lowering.emitter, tuple(shape)
    operands = [(isinstance(o, Constant) and o.splat is None and find_in_band(o, shape)) or o
                for o in operands]
    values, parts = align(lowering, operands, shape, lambda c: isinstance(c, InBand))
    if any(isinstance(v, InBand) and any(len(parts[dim]) > 1 for dim in v.dims) for v in values):
        # Its positions are no single loops.
        values, parts = align(lowering, operands, shape)
    values = [emitter.force(v) if isinstance(v, Value) else v for v in values]
    sizes = [size for dim in parts for size in dim]
    leader = next((v for v in values if isinstance(v, Value) and not v.view.is_broadcast
                   and math.prod(v.view.tensor) == math.prod(sizes)), None)
    if leader is not None:
        loops = leader.view.tensor
        loop_of = [dim[0].axis for dim in leader.view.dims]
    else:
        # In the order that is seen, with dimensions of size one.
        loops, loop_of = [], []
        for size, dim in zip(shape, parts):
            for part in dim or [1]:
                if part != 1:
                    loop_of.append(len(loops))
                loops.append(part)
    first_part = [sum(map(len, parts[:dim])) for dim in range(len(shape))]

    def place(value):
        if isinstance(value, InBand):
            bounds = [loop_of[first_part[dim]] for dim in value.dims]
            return lambda body: value.write(body, bounds)
        if isinstance(value, Constant):
            return "splat"
        return _positions(value.view, [loop_of[i] for i, dim in enumerate(value.view.dims) if dim])
    maps = [place(value) for value in values]
    name = emitter.generic(values, list(loops), kind, write, maps)
    at, dims = 0, []
    for dim in parts:
        group = []
        for size in dim:
            group.append((loop_of[at], size))
            at += 1
        dims.append(group)
    return _seen(name, loops, dims, kind)


def _seen(name, loops, dims, kind):
    view = View(tuple(loops), tuple(tuple(Atom(*atom) for atom in group) for group in dims))
    return Value(Tensor(name, tuple(loops)), view, kind)


def alike(lowering, value):
    """The value written, and its axes' view: for operations on tensors that treat every element
    alike. A broadcast is copied."""
    value = lowering.emitter.force(value)
    if value.view.is_broadcast or math.prod(value.shape) != math.prod(value.view.tensor):
        value = lowering.emitter.compact(value)
    return value


def on_tensor(lowering, operation, value):
    """An operation of nn of one operand, on the tensor as it lies."""
    value = alike(lowering, value)
    shape = value.view.tensor
    written = lowering.emitter.tensor(
        f"{operation} {value.source.name} : {_text.tensor(shape, value.kind)}", shape, value.kind)
    return Value(written.source, value.view, value.kind)


def as_operand(operand, kind):
    """A number as a constant of that type; Values as they are."""
    if isinstance(operand, (Value, Constant)):
        return operand
    return Constant(torch.tensor(operand, dtype=_DTYPE[kind]), kind)


_DTYPE = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
          "f64": torch.float64, "i64": torch.int64, "i32": torch.int32, "i16": torch.int16,
          "i8": torch.int8, "i1": torch.bool}


def computed(lowering, node, operands, write, kind=None, result=None):
    """Elements computed in type `kind` (default the result's) from operands cast to it.
    `write(body, *names)` gives a name of type `result`, default the same."""
    out = kind_of(node)
    kind = kind or out

    def cast(body, inputs):
        names = [body.cast(name, old, kind) for name, old in inputs[:-1]]
        return body.cast(write(body, *names), result or kind, out)
    return pointwise(lowering, [as_operand(o, kind) for o in operands], shape_of(node), out, cast)


def _binary(float_op, integer_op):
    def lower(lowering, node, a, b, alpha=1):
        a, b, kind = lowering.get(a), lowering.get(b), kind_of(node)
        name = float_op if is_float(kind) else integer_op
        if name is None:
            raise Unsupported(f"of type {kind}")
        if alpha == 1 and isinstance(a, Value) and isinstance(b, Value):
            a, b = lowering.emitter.force(a), lowering.emitter.force(b)
            if a.view == b.view and not a.view.is_broadcast and a.kind == b.kind == kind:
                shape = a.view.tensor
                written = lowering.emitter.tensor(
                    f"{name} {a.source.name}, {b.source.name} : {_text.tensor(shape, kind)}",
                    shape, kind)
                return Value(written.source, a.view, kind)

        def write(body, x, y):
            if alpha != 1:
                times = "arith.mulf" if is_float(kind) else "arith.muli"
                y = body.binary(times, y, body.constant(alpha, kind), kind)
            return body.binary(name, x, y, kind)
        return computed(lowering, node, [a, b], write)
    return lower


for _name, _float, _integer in (("add", "addf", "addi"), ("sub", "subf", "subi"),
                                ("mul", "mulf", "muli"), ("div", "divf", None)):
    _function = _binary(f"arith.{_float}", _integer and f"arith.{_integer}")
    lowers(getattr(aten, _name).Tensor, getattr(aten, _name).Scalar)(_function)
lowers(aten.minimum.default)(_binary("arith.minimumf", "arith.minsi"))
lowers(aten.maximum.default)(_binary("arith.maximumf", "arith.maxsi"))


@lowers(aten.rsub.Scalar, aten.rsub.Tensor)
def _rsub(lowering, node, a, b, alpha=1):
    return _binary("arith.subf", "arith.subi")(lowering, node, b, a, alpha)


def _logical(operation):
    def lower(lowering, node, a, b):
        return computed(lowering, node, [lowering.get(a), lowering.get(b)],
                        lambda body, x, y: body.binary(operation, x, y, kind_of(node)))
    return lower


lowers(aten.bitwise_and.Tensor, aten.logical_and.default)(_logical("arith.andi"))
lowers(aten.bitwise_or.Tensor, aten.logical_or.default)(_logical("arith.ori"))
lowers(aten.bitwise_xor.Tensor, aten.logical_xor.default)(_logical("arith.xori"))


@lowers(aten.logical_not.default, aten.bitwise_not.default)
def _not(lowering, node, x):
    if kind_of(node) != "i1":
        raise Unsupported(f"of type {kind_of(node)}")
    return computed(lowering, node, [lowering.get(x), True],
                    lambda body, a, b: body.binary("arith.xori", a, b, "i1"))


def _unary(operation):
    def lower(lowering, node, x):
        if not is_float(kind_of(node)):
            raise Unsupported(f"of type {kind_of(node)}")
        kind = "f64" if kind_of(node) == "f64" else F32
        return computed(lowering, node, [lowering.get(x)],
                        lambda body, a: body.op(f"{operation} {a} : {kind}"), kind)
    return lower


for _name, _operation in (("neg", "arith.negf"), ("exp", "math.exp"), ("log", "math.log"),
                          ("tanh", "math.tanh"), ("rsqrt", "math.rsqrt"), ("sqrt", "math.sqrt"),
                          ("cos", "math.cos"), ("sin", "math.sin"), ("abs", "math.absf"),
                          ("log1p", "math.log1p"), ("erf", "math.erf"), ("floor", "math.floor"),
                          ("expm1", "math.expm1")):
    lowers(getattr(aten, _name).default)(_unary(_operation))


@lowers(aten.reciprocal.default)
def _reciprocal(lowering, node, x):
    return computed(lowering, node, [lowering.get(x)],
                    lambda body, a: body.binary("arith.divf", body.constant(1, F32), a, F32), F32)


@lowers(aten.sigmoid.default)
def _sigmoid(lowering, node, x):
    def write(body, a):
        one = body.constant(1, F32)
        power = body.op(f"math.exp {body.op(f'arith.negf {a} : f32')} : f32")
        return body.binary("arith.divf", one, body.binary("arith.addf", power, one, F32), F32)
    return computed(lowering, node, [lowering.get(x)], write, F32)


@lowers(aten.silu.default)
def _silu(lowering, node, x):
    return on_tensor(lowering, "nn.silu", lowering.get(x))


@lowers(aten.gelu.default)
def _gelu(lowering, node, x, approximate="none"):
    kind = {"none": "erf", "tanh": "tanh"}[approximate]
    return on_tensor(lowering, f"nn.gelu {kind}", lowering.get(x))


def _factors(lowering, node):
    """The operands of a product, and of those that are products; numbers multiplied."""
    number, nodes, pending = 1.0, [], [node]
    while pending:
        part = pending.pop()
        constant = lowering.constant(part)
        if isinstance(part, (int, float)):
            number *= part
        elif constant is not None and constant.numel() == 1:
            number *= float(constant)
        elif part.target in (aten.mul.Tensor, aten.mul.Scalar):
            pending += part.args[:2]
        else:
            nodes.append(part)
    return number, nodes


def _plus(lowering, node, wanted):
    """x if the node is x + `wanted`, a number."""
    if node.target in (aten.add.Tensor, aten.add.Scalar) and not node.kwargs:
        for x, number in (node.args[:2], node.args[1::-1]):
            constant = lowering.constant(number)
            if constant is not None and constant.numel() == 1:
                number = float(constant)
            if number == wanted and isinstance(x, torch.fx.Node):
                return x
    return None


def _match_tanh_gelu(lowering, node):
    """x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))), as GPT-2 writes it."""
    if node.target is not aten.mul.Tensor:
        return None
    half, parts = _factors(lowering, node)
    if len(parts) != 2 or half != 0.5:
        return None
    for x, rest in (parts, parts[::-1]):
        curve = _plus(lowering, rest, 1.0)
        if curve is None or curve.target is not aten.tanh.default:
            continue
        scale, inner = _factors(lowering, curve.args[0])
        if len(inner) != 1 or abs(scale - math.sqrt(2 / math.pi)) > 1e-6:
            continue
        total = inner[0]
        if total.target is not aten.add.Tensor or x not in total.args:
            continue
        cubic, cubes = _factors(lowering, next((a for a in total.args if a is not x), x))
        is_cube = cubes == [x] * 3 or len(cubes) == 1 and (
            cubes[0].target is aten.pow.Tensor_Scalar and cubes[0].args == (x, 3.0))
        if is_cube and abs(cubic - 0.044715) < 1e-8:
            return Match("gelu", [x], lambda: on_tensor(lowering, "nn.gelu tanh",
                                                        lowering.get(x)))
    return None


PATTERNS.append(_match_tanh_gelu)


@lowers(aten.relu.default)
def _relu(lowering, node, x):
    kind = kind_of(node)
    operation = "arith.maximumf" if is_float(kind) else "arith.maxsi"
    return computed(lowering, node, [lowering.get(x), 0],
                    lambda body, a, b: body.binary(operation, a, b, kind))


@lowers(aten.clamp.default, aten.hardtanh.default)
def _clamp(lowering, node, x, low=None, high=None):
    kind = kind_of(node)
    least, most = (("arith.maximumf", "arith.minimumf") if is_float(kind)
                   else ("arith.maxsi", "arith.minsi"))

    def write(body, a):
        if low is not None:
            a = body.binary(least, a, body.constant(low, kind), kind)
        if high is not None:
            a = body.binary(most, a, body.constant(high, kind), kind)
        return a
    return computed(lowering, node, [lowering.get(x)], write)


@lowers(aten.clamp.Tensor)
def _clamp_by(lowering, node, x, low=None, high=None):
    kind = kind_of(node)
    operations = [(bound, "arith." + name + ("imumf" if is_float(kind) else "si"))
                  for bound, name in ((low, "max"), (high, "min")) if bound is not None]

    def write(body, a, *bounds):
        for (_, operation), bound in zip(operations, bounds):
            a = body.binary(operation, a, bound, kind)
        return a
    return computed(lowering, node, [lowering.get(o) for o in (x, *(b for b, _ in operations))],
                    write)


@lowers(aten.pow.Tensor_Scalar)
def _power(lowering, node, x, exponent):
    if exponent == -0.5 or exponent == 0.5:
        name = "math.rsqrt" if exponent < 0 else "math.sqrt"
        return computed(lowering, node, [lowering.get(x)],
                        lambda body, a: body.op(f"{name} {a} : f32"), F32)
    if exponent != int(exponent) or not 1 <= exponent <= 8:
        raise Unsupported(f"with the exponent {exponent}")
    kind = kind_of(node)
    times = "arith.mulf" if is_float(kind) else "arith.muli"

    def write(body, a):
        result = a
        for _ in range(int(exponent) - 1):
            result = body.binary(times, result, a, kind)
        return result
    return computed(lowering, node, [lowering.get(x)], write)


@lowers(aten._to_copy.default)
def _cast(lowering, node, x, **options):
    return computed(lowering, node, [lowering.get(x)], lambda body, a: a,
                    kind=lowering.get(x).kind)


def _compare(predicate, float_predicate):
    def lower(lowering, node, a, b):
        a, b = lowering.get(a), lowering.get(b)
        kinds = [o.kind for o in (a, b) if isinstance(o, (Value, Constant))]
        kind = max(kinds, key=lambda k: (is_float(k), _text.bits(k)))
        if not is_float(kind) and any(isinstance(o, float) for o in (a, b)):
            kind = F32
        if is_float(kind):
            write = (lambda body, x, y: body.op(f"arith.cmpf {float_predicate}, {x}, {y} : {kind}"))
        elif kind == "i1" and predicate not in ("eq", "ne"):
            raise Unsupported("of booleans")
        else:
            write = (lambda body, x, y: body.op(f"arith.cmpi {predicate}, {x}, {y} : {kind}"))
        return computed(lowering, node, [a, b], write, kind, result="i1")
    return lower


for _name, _integer, _float in (("eq", "eq", "oeq"), ("ne", "ne", "une"), ("lt", "slt", "olt"),
                                ("le", "sle", "ole"), ("gt", "sgt", "ogt"), ("ge", "sge", "oge")):
    _function = _compare(_integer, _float)
    lowers(getattr(aten, _name).Tensor, getattr(aten, _name).Scalar)(_function)


@lowers(aten.where.self)
def _where(lowering, node, condition, a, b):
    kind = kind_of(node)

    def write(body, inputs):
        (c, c_kind), *rest = inputs[:-1]
        x, y = (body.cast(name, old, kind) for name, old in rest)
        return body.op(f"arith.select {body.cast(c, c_kind, 'i1')}, {x}, {y} : {kind}")
    operands = [as_operand(lowering.get(o), kind) for o in (condition, a, b)]
    return pointwise(lowering, operands, shape_of(node), kind, write)


@lowers(aten.masked_fill.Scalar)
def _masked_fill(lowering, node, x, mask, value):
    return _where(lowering, node, mask, value, x)
