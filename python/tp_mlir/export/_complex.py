"""Complex numbers as pairs of real ones.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Programs have real numbers alone. A complex value of the graph becomes two real ones, its real and
its imaginary part, before anything is lowered, so that tables, patterns, plans and derivatives
see operations that they know:

    view_as_complex(x[..., 2])     x[..., 0], x[..., 1]
    view_as_real(z)                stack(re, im)
    (a + bi) (c + di)              ac - bd, ad + bc         also of products of matrices
    a (c + di)                     ac, ad
    what moves or adds elements    the same of either part

What has no pair stays a complex operation, which is refused by name.
"""

import operator

import torch
from torch.utils import _pytree

from ._rewrite import insert

aten = torch.ops.aten

# Linear over the reals: applied to each part alike.
_LINEAR = {aten.view.default, aten.reshape.default, aten._unsafe_view.default,
           aten.unsqueeze.default, aten.squeeze.dim, aten.squeeze.dims, aten.squeeze.default,
           aten.expand.default, aten.permute.default, aten.transpose.int, aten.t.default,
           aten.slice.Tensor, aten.select.int, aten.cat.default, aten.stack.default,
           aten.index.Tensor, aten.index_select.default, aten.split_with_sizes.default,
           aten.split.Tensor, aten.chunk.default, aten.unbind.int, operator.getitem,
           aten.repeat.default, aten.flip.default, aten.clone.default, aten.neg.default,
           aten.add.Tensor, aten.sub.Tensor, aten.sum.dim_IntList, aten.mean.dim,
           aten.constant_pad_nd.default}
_BILINEAR = {aten.mul.Tensor, aten.mm.default, aten.bmm.default, aten.matmul.default}


def is_complex(node):
    value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    parts = value if isinstance(value, (tuple, list)) else [value]
    return any(isinstance(part, torch.Tensor) and part.dtype.is_complex for part in parts)


class _Splitter:
    """Writes the parts of complex nodes into a graph, each behind its node."""

    def __init__(self, traced):
        self.traced, self.graph = traced, traced.graph
        self.pairs = {}     # complex node: (real part's, imaginary part's)

    def call(self, target, *args, **kwargs):
        return insert(self.graph, self.source, target, *args, **kwargs)

    def constant(self, node):
        data = self.traced.constants[node].resolve_conj()

        def part(take):
            made = self.call(take, node)
            self.traced.constants[made] = take(data).clone()
            self.traced.origins[made] = self.traced.origins.get(node, set())
            return made
        return part(aten.real.default), part(aten.imag.default)

    def parts(self, operand):
        """(real, imaginary) of a node or number; the second is None of a real one, and both are
        None if a complex one has no pair."""
        if isinstance(operand, complex):
            return operand.real, operand.imag
        if not is_complex(operand):
            return operand, None
        if operand not in self.pairs and operand in self.traced.constants:
            with self.graph.inserting_before(self.source):
                self.pairs[operand] = self.constant(operand)
        return self.pairs.get(operand, (None, None))

    def split(self, node):
        """The parts of a complex node, or None."""
        target, args, kwargs = node.target, node.args, dict(node.kwargs)
        if target is aten.view_as_complex.default:
            return tuple(self.call(aten.select.int, args[0], -1, i) for i in (0, 1))
        if target is aten.complex.default:
            return args[:2]
        if target is aten.polar.default:
            length, angle = args
            return tuple(self.call(aten.mul.Tensor, length, self.call(turn, angle))
                         for turn in (aten.cos.default, aten.sin.default))
        if target is aten._to_copy.default:
            return self._cast(node)
        found = [self.parts(operand) for operand in _pytree.tree_leaves(args)]
        if (None, None) in [self.parts(operand) for operand in node.all_input_nodes]:
            return None
        if target in _BILINEAR and not kwargs:
            return self._product(target, *found)
        if target is aten.div.Tensor and not kwargs and found[1][1] is None:
            return tuple(self.call(target, part, args[1]) for part in found[0])
        if target in (aten._conj.default, aten._conj_physical.default, aten.conj_physical.default):
            return found[0][0], self.call(aten.neg.default, found[0][1])
        if target is aten.exp.default:
            (length, angle), = found
            length = self.call(target, length)
            return tuple(self.call(aten.mul.Tensor, length, self.call(turn, angle))
                         for turn in (aten.cos.default, aten.sin.default))
        if target in _LINEAR and all(map(is_complex, node.all_input_nodes)):
            return tuple(self.call(target, *self._with(args, i), **kwargs) for i in (0, 1))
        return None

    def _with(self, args, which):
        return torch.fx.node.map_arg(
            args, lambda operand: self.parts(operand)[which] if is_complex(operand) else operand)

    def _product(self, target, a, b):
        def times(x, y):
            return self.call(target, x, y)
        if a[1] is None:
            return times(a[0], b[0]), times(a[0], b[1])
        if b[1] is None:
            return times(a[0], b[0]), times(a[1], b[0])
        return (self.call(aten.sub.Tensor, times(a[0], b[0]), times(a[1], b[1])),
                self.call(aten.add.Tensor, times(a[0], b[1]), times(a[1], b[0])))

    def _cast(self, node):
        real, imaginary = self.parts(node.args[0])
        if real is None:
            return None
        dtype = torch.empty((), dtype=node.meta["val"].dtype).real.dtype
        real = self.call(aten._to_copy.default, real, dtype=dtype)
        if imaginary is None:
            return real, self.call(aten.zeros_like.default, real)
        return real, self.call(aten._to_copy.default, imaginary, dtype=dtype)

    def join(self, node):
        """The real node in the place of one that is made of a complex one, or None."""
        pair = self.parts(node.args[0]) if node.args else (None, None)
        if pair[0] is None:
            return None
        if node.target is aten.view_as_real.default:
            return self.call(aten.stack.default, list(pair), -1)
        if node.target in (aten.real.default, aten.imag.default):
            return pair[node.target is aten.imag.default]
        if node.target is aten.abs.default:
            squares = [self.call(aten.mul.Tensor, part, part) for part in pair]
            return self.call(aten.sqrt.default, self.call(aten.add.Tensor, *squares))
        return None

    def run(self):
        """The complex nodes that have parts."""
        for node in list(self.graph.nodes):
            if node.op != "call_function" or node in self.traced.constants:
                continue
            reads = any(map(is_complex, node.all_input_nodes))
            self.source = node
            with self.graph.inserting_before(node):
                if is_complex(node):
                    pair = self.split(node)
                    if pair is not None:
                        self.pairs[node] = pair
                elif reads:
                    real = self.join(node)
                    if real is not None:
                        node.replace_all_uses_with(real)
        return set(self.pairs)


def split_complex(traced):
    """Puts real operations in the place of complex ones; gives the nodes that nobody needs then,
    unless an operation without a pair reads them."""
    return _Splitter(traced).run()
