"""What an operation's operands are: constants, and tensors seen through views.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A Value is a view of a source. Two sources are not written until somebody needs them, because
slices of them should be boxes of a parameter instead: parameters themselves, and linear layers
whose outputs are cut (the queries, keys and values of one fused projection).
"""

import math
from dataclasses import dataclass, field, replace

from . import _text
from ._views import View


@dataclass(frozen=True)
class Tensor:
    """A value of the program, by its name there."""
    name: str
    shape: tuple


@dataclass(frozen=True)
class Parameter:
    """The box of a checkpoint tensor that begins at `offsets`, of every steps[i]th element (none:
    of each)."""
    name: str
    full: tuple
    offsets: tuple
    shape: tuple
    steps: tuple = ()

    def cut(self, axis, offset, size, step=1):
        offsets, shape = list(self.offsets), list(self.shape)
        steps = list(self.steps or (1,) * len(shape))
        offsets[axis] += offset * steps[axis]
        steps[axis] *= step
        shape[axis] = size
        steps = () if set(steps) == {1} else tuple(steps)
        return replace(self, offsets=tuple(offsets), shape=tuple(shape), steps=steps)


@dataclass
class Product:
    """Outputs `offset`, ... of a linear layer; the axes behind those of the rows are the sizes
    of `outputs`, of which the stride of each is the product of those behind it."""
    rows: object            # Value whose last axis is contracted
    weight: object          # Value [n, k] of a Parameter
    bias: object            # Value [n] of a Parameter, or None
    offset: int
    outputs: tuple          # sizes, major first
    place: str
    written: object = field(default=None, compare=False)

    @property
    def shape(self):
        return self.rows.view.tensor[:-1] + self.outputs

    def split(self, axis, outer):
        at = axis - (len(self.rows.view.tensor) - 1)
        if at < 0:
            return None
        sizes = self.outputs
        return replace(self, written=None,
                       outputs=sizes[:at] + (outer, sizes[at] // outer) + sizes[at + 1:])

    def cut(self, axis, offset, size, step=1):
        """None if what is left is no range of outputs."""
        at = axis - (len(self.rows.view.tensor) - 1)
        if at < 0 or step != 1 or math.prod(self.outputs[:at]) != 1:
            return None
        stride = math.prod(self.outputs[at + 1:])
        outputs = self.outputs[:at] + (size,) + self.outputs[at + 1:]
        return replace(self, written=None, offset=self.offset + offset * stride, outputs=outputs)


@dataclass
class Value:
    source: object
    view: View
    kind: str

    @property
    def shape(self):
        return self.view.shape

    def seen(self, view):
        return Value(self.source, view, self.kind)


class Constant:
    """A tensor that does not depend on inputs or parameters; `data` is PyTorch's."""

    def __init__(self, data, kind):
        self.data, self.kind = data, kind

    @property
    def shape(self):
        return tuple(self.data.shape)

    @property
    def splat(self):
        """The number that all elements are, or None."""
        if self.data.numel() == 0:
            return None
        first = self.data[(0,) * self.data.dim()]
        if self.data.numel() > 1 and not bool((self.data == first).all()):
            return None
        return first.item()

    def without_repetition(self):
        """The data of which each dimension is one or not all the same, and which dimensions
        of it are repeated."""
        data, repeated = self.data, []
        for dim in range(data.dim()):
            first = data.narrow(dim, 0, 1)
            if data.shape[dim] > 1 and bool((data == first).all()):
                data = first
                repeated.append(dim)
        return data, repeated

    def dense(self):
        """(shape, text of the attribute); the shape has no repeated dimension."""
        data, _ = self.without_repetition()
        data = data.contiguous()
        shape = tuple(data.shape)
        if data.numel() == 1:
            return shape, _text.dense(shape, self.kind, None, splat=data.reshape(-1)[0].item())
        if self.kind == "i1":
            return shape, _text.dense(shape, "i1", data.reshape(-1).tolist())
        return shape, _text.dense(shape, self.kind, raw_bytes(data))


def raw_bytes(data):
    """Little-endian bytes of a contiguous tensor, of any element type."""
    import torch
    return data.reshape(-1).view(torch.uint8).numpy().tobytes()
