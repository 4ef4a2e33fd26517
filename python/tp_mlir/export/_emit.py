"""Writes operations: one method for each form of operation that the front end makes.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Operations on tensors are written where they are needed; constants and tables of angles go to the
head of the function, where they stand outside every layer.
"""

import math

from . import _text
from ._text import affine_map, ints, quote, scalar, tensor
from ._values import Constant, Parameter, Product, Tensor, Value
from ._views import View


class Emitter:
    def __init__(self):
        self.head, self.lines = [], []
        self.place = ""             # the module that is being written, for locations
        self.parameters = {}        # (name, offsets, shape, steps, order): SSA name
        self.linears = []           # (weight's Parameter, transposed, bias's, x, result)
        self.experts = []           # [gate's, up's, down's Parameter] of each nn.experts
        self.expert_biases = []     # Parameters of what is added to gates and ups
        self.aliases = {}           # canonical parameter name: other names
        self._count = 0
        self._constants = {}
        self._memo = {}

    # -- names and lines

    def fresh(self, prefix=""):
        self._count += 1
        return f"%{prefix}{self._count}"

    def line(self, text):
        where = f" loc({quote(self.place)})" if self.place else ""
        self.lines.append(f"    {text}{where}")

    def tensor(self, text, shape, kind):
        """Write `text` as a new value."""
        name = self.fresh()
        self.line(f"{name} = {text}")
        return Value(Tensor(name, tuple(shape)), View.of(shape), kind)

    # -- sources

    def force(self, value):
        """The same view of a tensor that is written."""
        if isinstance(value, Constant):
            shape, text = value.dense()
            view = View.of(shape).expand(value.shape)
            key = (text, shape, value.kind)
            if key not in self._constants:
                name = self.fresh("c")
                self.head.append(
                    f"    {name} = arith.constant {text} : {tensor(shape, value.kind)}")
                self._constants[key] = name
            return Value(Tensor(self._constants[key], shape), view, value.kind)
        source = value.source
        if isinstance(source, Parameter):
            name = self.parameter(source, tuple(range(len(source.shape))), value.kind)
            return Value(Tensor(name, source.shape), value.view, value.kind)
        if isinstance(source, Product):
            if source.written is None:
                source.written = self._write_product(source)
            return Value(source.written, value.view, value.kind)
        return value

    def parameter(self, source, order, kind):
        """SSA name of the box with its dimensions in `order`."""
        key = (source.name, source.offsets, source.shape, source.steps, order)
        if key not in self.parameters:
            name = self.fresh("p")
            shape = tuple(source.shape[i] for i in order)
            box = ""
            if source.shape != source.full or order != tuple(range(len(order))):
                steps = f", steps = {ints(source.steps)}" if source.steps else ""
                box = (f" source <shape = {ints(source.full)}, offsets = {ints(source.offsets)}, "
                       f"permutation = {ints(order)}{steps}>")
            others = self.aliases.get(source.name, [])
            alternatives = f" alternatives [{', '.join(map(quote, others))}]" if others else ""
            self.lines.append(f"    {name} = tp.parameter {quote(source.name)}{box}{alternatives}"
                              f" : {tensor(shape, kind)} loc({quote(source.name)})")
            self.parameters[key] = name
        return self.parameters[key]

    def matrix(self, value):
        """SSA name of a parameter, or of any tensor, with its dimensions as they are seen."""
        axes = [dim[0].axis if len(dim) == 1 else None for dim in value.view.dims]
        if isinstance(value.source, Parameter) and sorted(
                a for a in axes if a is not None) == list(range(len(value.source.shape))):
            return self.parameter(value.source, tuple(axes), value.kind)
        return self.plain(value)

    def _write_product(self, source):
        outputs = math.prod(source.outputs)
        everything = source.weight.shape[0]

        def cut(value):
            if outputs == everything:
                return value
            return self.slice(value, 0, source.offset, outputs)
        place, self.place = self.place, source.place
        result = self.write_linear(source.rows, cut(source.weight),
                                   source.bias and cut(source.bias))
        flat = source.rows.view.tensor[:-1] + (outputs,)
        name = self.reshape_tensor(result, flat, source.shape, source.rows.kind)
        self.place = place
        return Tensor(name, source.shape)

    def write_linear(self, rows, weight, bias):
        """SSA name of rows weightᵀ + bias; of rows all axes of the tensor."""
        rows = self.force(rows)
        kind, shape = rows.kind, rows.view.tensor
        w = self.matrix(weight)
        result = shape[:-1] + (weight.shape[0],)
        b = self.matrix(bias) if bias is not None else None
        name = self.fresh()
        extra = f" bias {b}" if b else ""
        extra_type = f", {tensor(bias.shape, bias.kind)}" if b else ""
        self.line(f"{name} = nn.linear {rows.source.name}, {w}{extra} : ({tensor(shape, kind)}, "
                  f"{tensor(weight.shape, weight.kind)}{extra_type}) -> {tensor(result, kind)}")
        self.linears.append((weight.source, bias and bias.source, rows.source.name, name))
        return name

    # -- shapes

    def reshape_tensor(self, name, old, new, kind):
        """SSA name of a tensor of shape `new` with the elements in order."""
        old, new = tuple(old), tuple(new)
        if old == new:
            return name
        for operation, narrow, wide in (("expand_shape", old, new), ("collapse_shape", new, old)):
            groups = _text.reassociation(narrow, wide) if len(narrow) < len(wide) else None
            if groups is not None:
                result = self.fresh()
                size = f" output_shape {ints(new)}" if operation == "expand_shape" else ""
                groups = "[" + ", ".join(map(ints, groups)) + "]"
                self.line(f"{result} = tensor.{operation} {name} {groups}{size} : "
                          f"{tensor(old, kind)} into {tensor(new, kind)}")
                return result
        middle = _common(old, new)
        return self.reshape_tensor(self.reshape_tensor(name, old, middle, kind), middle, new, kind)

    def split(self, value, axis, outer):
        source = value.source
        view = value.view.split(axis, outer)
        if isinstance(source, Product) and source.written is None:
            divided = source.split(axis, outer)
            if divided:
                return Value(divided, view, value.kind)
        value = self.force(value)
        # Several views of one tensor split it alike.
        key = (value.source.name, axis, outer)
        if key not in self._memo:
            self._memo[key] = self.reshape_tensor(value.source.name, value.source.shape,
                                                  view.tensor, value.kind)
        return Value(Tensor(self._memo[key], view.tensor), view, value.kind)

    def reshape(self, value, shape):
        shape = tuple(shape)
        if isinstance(value, Constant):
            return Constant(value.data.reshape(shape), value.kind)
        if value.shape == shape:
            return value
        while True:
            view = value.view.reshape(shape)
            if isinstance(view, View):
                return value.seen(view)
            if view is None:
                name = self.reshape_tensor(self.plain(value), value.shape, shape, value.kind)
                return Value(Tensor(name, shape), View.of(shape), value.kind)
            value = self.split(value, *view)

    def slice(self, value, dim, offset, size, step=1):
        if isinstance(value, Constant):
            index = slice(offset, offset + (size - 1) * step + 1, step)
            return Constant(value.data[(slice(None),) * dim + (index,)], value.kind)
        if value.shape[dim] == size and step == 1:
            return value
        atoms = value.view.dims[dim]
        if all(atom.axis is None for atom in atoms):
            shape = list(value.shape)
            shape[dim] = size
            dims = list(value.view.dims)
            dims[dim] = ()
            return value.seen(View(value.view.tensor, tuple(dims)).expand(shape))
        if len(atoms) != 1:
            value = self.compact(value)
        axis = value.view.dims[dim][0].axis
        view = value.view.resize(dim, size)
        source = value.source
        if isinstance(source, Parameter) or (
                isinstance(source, Product) and source.written is None):
            part = source.cut(axis, offset, size, step)
            if part:
                return Value(part, view, value.kind)
        value = self.force(value)
        offsets, steps = [0] * len(view.tensor), [1] * len(view.tensor)
        offsets[axis], steps[axis] = offset, step
        name = self.fresh()
        self.line(f"{name} = tensor.extract_slice {value.source.name}{ints(offsets)} "
                  f"{ints(view.tensor)} {ints(steps)} : {tensor(value.source.shape, value.kind)} "
                  f"to {tensor(view.tensor, value.kind)}")
        return Value(Tensor(name, view.tensor), view, value.kind)

    def compact(self, value):
        """The value as a tensor of its shape."""
        return Value(Tensor(self.plain(value), value.shape), View.of(value.shape), value.kind)

    def plain(self, value):
        """SSA name of a tensor of the shape that is seen."""
        value = self.force(value)
        view, kind = value.view, value.kind
        if view.is_plain:
            return value.source.name
        if view.is_ordered:
            return self.reshape_tensor(value.source.name, view.tensor, view.shape, kind)
        key = (value.source.name, view)
        if key in self._memo:
            return self._memo[key]
        atoms = view.atoms
        wide = tuple(atom.size for atom in atoms)
        if not view.is_broadcast and math.prod(wide) == math.prod(view.tensor):
            squeezed = [atom.axis for atom in sorted(atoms, key=lambda a: a.axis)]
            before = tuple(view.tensor[axis] for axis in squeezed)
            name = self.reshape_tensor(value.source.name, view.tensor, before, kind)
            order = [squeezed.index(atom.axis) for atom in atoms]
            empty, result = self.fresh(), self.fresh()
            self.line(f"{empty} = tensor.empty() : {tensor(wide, kind)}")
            self.line(f"{result} = linalg.transpose ins({name} : {tensor(before, kind)}) "
                      f"outs({empty} : {tensor(wide, kind)}) permutation = {ints(order)}")
        else:
            result = self.generic([value], wide, kind, lambda body, inputs: inputs[0][0],
                                  maps=[_positions(view, range(len(wide)))])
        self._memo[key] = self.reshape_tensor(result, wide, view.shape, kind)
        return self._memo[key]

    # -- linalg.generic

    def generic(self, values, loops, kind, write, maps, iterators=None, result=None, init=None):
        """SSA name of a linalg.generic over `loops` (sizes).

        values: written Values, or Constants; maps: of each Value, for each axis of its tensor
        the loop or None; of a Constant "splat", or a function that writes its element.
        `write(body, inputs)` writes the body and returns the name that is yielded; inputs are (name, kind), then the output.
        result: loops of the result's axes; init: the number that a reduction begins with.
        """
        iterators = iterators or ["parallel"] * len(loops)
        result = list(range(len(loops))) if result is None else result
        shape = [loops[i] for i in result]
        body = Body(self)
        inputs, operands, written_maps = [], [], []
        for value, positions in zip(values, maps):
            if positions == "splat":
                inputs.append((body.op(scalar(value.splat, value.kind)), value.kind))
            elif callable(positions):
                inputs.append((positions(body), value.kind))
            else:
                inputs.append((self.fresh("a"), value.kind))
                operands.append((value, inputs[-1]))
                written_maps.append(affine_map(len(loops), positions))
        written_maps.append(affine_map(len(loops), result))
        output = self.fresh("o")
        empty = self.fresh()
        self.line(f"{empty} = tensor.empty() : {tensor(shape, kind)}")
        if init is not None:
            zero, fill = self.fresh(), self.fresh()
            self.line(f"{zero} = {scalar(init, kind)}")
            self.line(f"{fill} = linalg.fill ins({zero} : {kind}) outs({empty} : "
                      f"{tensor(shape, kind)}) -> {tensor(shape, kind)}")
            empty = fill
        yielded = write(body, inputs + [(output, kind)])
        name = self.fresh()
        ins = ""
        if operands:
            names = ", ".join(value.source.name for value, _ in operands)
            kinds = ", ".join(tensor(value.view.tensor, value.kind) for value, _ in operands)
            ins = f"ins({names} : {kinds}) "
        arguments = ", ".join(f"{a}: {k}" for a, k in
                              [argument for _, argument in operands] + [(output, kind)])
        types = ", ".join(f'"{iterator}"' for iterator in iterators)
        self.line(f"{name} = linalg.generic {{indexing_maps = [{', '.join(written_maps)}], "
                  f"iterator_types = [{types}]}} {ins}outs({empty} : {tensor(shape, kind)}) {{\n"
                  f"    ^bb0({arguments}):\n" + "".join(f"      {text}\n" for text in body.lines)
                  + f"      linalg.yield {yielded} : {kind}\n    }} -> {tensor(shape, kind)}")
        return name


class Body:
    """The scalar operations of a linalg.generic."""

    def __init__(self, emitter):
        self.emitter, self.lines = emitter, []

    def op(self, text):
        name = self.emitter.fresh("s")
        self.lines.append(f"{name} = {text}")
        return name

    def binary(self, name, a, b, kind):
        return self.op(f"{name} {a}, {b} : {kind}")

    def constant(self, value, kind):
        return self.op(scalar(value, kind))

    def index(self, loop):
        """The position in a loop, as an i64."""
        return self.op(f"arith.index_cast {self.op(f'linalg.index {loop} : index')} : index to i64")

    def cast(self, name, old, new):
        """As PyTorch converts numbers."""
        if old == new:
            return name
        if _text.is_float(old) and _text.is_float(new):
            if _text.bits(old) == _text.bits(new):
                name, old = self.op(f"arith.extf {name} : {old} to f32"), "f32"
            wider = _text.bits(new) > _text.bits(old)
            return self.op(f"arith.{'extf' if wider else 'truncf'} {name} : {old} to {new}")
        if new == "i1":
            zero = self.constant(0, old)
            compare = "arith.cmpf une," if _text.is_float(old) else "arith.cmpi ne,"
            return self.op(f"{compare} {name}, {zero} : {old}")
        if _text.is_float(new):
            conversion = "uitofp" if old == "i1" else "sitofp"
        elif _text.is_float(old):
            conversion = "fptosi"
        elif _text.bits(new) > _text.bits(old):
            conversion = "extui" if old == "i1" else "extsi"
        else:
            conversion = "trunci"
        return self.op(f"arith.{conversion} {name} : {old} to {new}")


def _positions(view, loops):
    """For each axis of the view's tensor its loop; `loops` are those of the view's atoms."""
    positions = [None] * len(view.tensor)
    for atom, loop in zip(view.atoms, loops):
        if atom.axis is not None:
            positions[atom.axis] = loop
    return positions


def _common(old, new):
    """A shape from which both come by splitting dimensions."""
    middle, i, j = [], 0, 0
    while i < len(old) or j < len(new):
        a = old[i] if i < len(old) else 1
        b = new[j] if j < len(new) else 1
        i, j = i + 1, j + 1
        while a != b:
            if a < b:
                a, i = a * old[i], i + 1
            else:
                b, j = b * new[j], j + 1
        if a != 1:
            middle.append(a)
    return tuple(middle) or (1,)
