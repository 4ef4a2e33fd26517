"""Losses of a module's own: cross-entropies of classes. Others are what they are written with.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from . import _text
from ._lower import lowers
from ._pointwise import pointwise
from ._reduce import F32, reduce
from ._text import tensor
from ._trace import aten, kind_of
from ._types import Unsupported
from ._values import Tensor, Value
from ._views import View

# PyTorch's numbers for `reduction`.
_NONE, _MEAN, _SUM = range(3)


def _count(lowering, targets, classes):
    """f32[]: how many targets are classes."""
    def write(body, inputs):
        name, kind = inputs[0]
        past = body.constant(classes, kind)
        # As unsigned numbers, negative ones are beyond all classes.
        return body.cast(body.op(f"arith.cmpi ult, {name}, {past} : {kind}"), "i1", F32)
    counted = pointwise(lowering, [targets], targets.shape, F32, write)
    return reduce(lowering, counted, None, False, "sum", F32)


def _without(lowering, targets, ignored):
    """The targets, -100 where they are `ignored`, which may be the number of a class."""
    def write(body, inputs):
        name, kind = inputs[0]
        same = body.op(f"arith.cmpi eq, {name}, {body.constant(ignored, kind)} : {kind}")
        return body.op(f"arith.select {same}, {body.constant(-100, kind)}, {name} : {kind}")
    return pointwise(lowering, [targets], targets.shape, targets.kind, write)


@lowers(aten.cross_entropy_loss.default)
def _cross_entropy(lowering, node, x, target, weight=None, reduction=_MEAN, ignored=-100,
                   smoothing=0.0):
    emitter, logits, targets = lowering.emitter, lowering.get(x), lowering.get(target)
    if _text.is_float(targets.kind):
        raise Unsupported("of probabilities in the place of classes")
    if len(logits.shape) != 2:
        raise Unsupported(f"of logits of {len(logits.shape)} dimensions; expected [rows, classes]")
    if weight is not None or smoothing:
        raise Unsupported("with weights of classes" if weight is not None else
                          "with label_smoothing")
    rows, classes = logits.shape
    targets = emitter.force(targets)
    if ignored >= 0:
        targets = _without(lowering, targets, ignored)
    names = emitter.plain(emitter.force(logits)), emitter.plain(targets)
    name = emitter.fresh()
    emitter.line(f"{name} = nn.cross_entropy {names[0]}, {names[1]} : "
                 f"({tensor((rows, classes), logits.kind)}, {tensor((rows,), targets.kind)}) -> "
                 f"{tensor((rows,), F32)}")
    losses = Value(Tensor(name, (rows,)), View.of((rows,)), F32)
    operands = [losses]
    if reduction != _NONE:
        operands = [reduce(lowering, losses, None, False, "sum", F32)]
    if reduction == _MEAN:
        operands.append(_count(lowering, targets, classes))
    kind = kind_of(node)

    def finish(body, inputs):
        total = inputs[0][0]
        if reduction == _MEAN:
            total = body.binary("arith.divf", total, inputs[1][0], F32)
        return body.cast(total, F32, kind)
    if len(operands) == 1 and kind == F32:
        return operands[0]
    return pointwise(lowering, operands, operands[0].shape, kind, finish)
