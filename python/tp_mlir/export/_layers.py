"""Norms, convolutions, and what else a layer is written with.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch

from . import _text
from ._lower import PATTERNS, Match, lowers
from ._movement import permuted
from ._pointwise import pointwise
from ._reduce import linear
from ._text import tensor
from ._trace import aten, kind_of, shape_of, without_widening
from ._types import Unsupported
from ._values import Constant, Tensor, Value
from ._views import View


def _last_axis(lowering, value):
    """The value such that its last dimension is the last axis of the tensor."""
    value = lowering.emitter.force(value)
    last = value.view.dims[-1]
    if not value.view.is_broadcast and len(last) == 1 and last[0].axis == len(
            value.view.tensor) - 1 and math.prod(value.shape) == math.prod(value.view.tensor):
        return value
    return lowering.emitter.compact(value)


def _vector(lowering, value, kind):
    """A weight of a norm: SSA name."""
    if isinstance(value, Constant):
        value = lowering.emitter.force(value)
    if value.kind != kind:
        value = pointwise(lowering, [value], value.shape, kind,
                          lambda body, inputs: body.cast(inputs[0][0], inputs[0][1], kind))
    return lowering.emitter.plain(value)


def norm(lowering, operation, x, weight, bias, epsilon):
    """nn.rms_norm or nn.layer_norm of the last dimension."""
    emitter = lowering.emitter
    x = _last_axis(lowering, lowering.get(x))
    kind, shape, size = x.kind, x.view.tensor, x.shape[-1]
    weight = lowering.get(weight) if weight is not None else Constant(torch.ones(size), "f32")
    if isinstance(weight, Constant):
        weight = Constant(weight.data.to(_dtype(kind)).expand(size), kind)
    w = _whole(lowering, weight, kind, size)
    extra = extra_type = ""
    if bias is not None:
        b = _whole(lowering, lowering.get(bias), kind, size)
        extra, extra_type = f" bias {b}", f", {tensor((size,), kind)}"
    written = emitter.tensor(
        f"{operation} {x.source.name}, {w}{extra} {{epsilon = {epsilon:.17e} : f64}} : "
        f"({tensor(shape, kind)}, {tensor((size,), kind)}{extra_type}) -> "
        f"{tensor(shape, kind)}", shape, kind)
    return Value(written.source, x.view, kind)


def _whole(lowering, value, kind, size):
    value = lowering.emitter.force(value)
    if value.view.is_broadcast:
        value = lowering.emitter.compact(value)
    return _vector(lowering, value, kind)


def _dtype(kind):
    return {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16,
            "f64": torch.float64}[kind]


@lowers(aten.layer_norm.default)
def _layer_norm(lowering, node, x, shape, weight=None, bias=None, epsilon=1e-5, *rest):
    if len(shape) != 1:
        raise Unsupported("over several dimensions")
    return norm(lowering, "nn.layer_norm", x, weight, bias, epsilon)


@lowers(aten.native_layer_norm.default)
def _native_layer_norm(lowering, node, x, shape, weight, bias, epsilon):
    return [_layer_norm(lowering, node, x, shape, weight, bias, epsilon)]


@lowers(aten.rms_norm.default)
def _rms_norm(lowering, node, x, shape, weight=None, epsilon=None):
    if len(shape) != 1:
        raise Unsupported("over several dimensions")
    if epsilon is None:
        epsilon = torch.finfo(node.meta["val"].dtype).eps
    return norm(lowering, "nn.rms_norm", x, weight, None, epsilon)


# -- RMS norms that are written out

def _without_casts(node):
    while isinstance(node, torch.fx.Node) and node.target is aten._to_copy.default:
        node = node.args[0]
    return node


def _is_call(node, *targets):
    return isinstance(node, torch.fx.Node) and node.target in targets


def _normalised(node, constants):
    """(x, epsilon) if the node is x * rsqrt(mean(x²) + epsilon) over the last dimension."""
    if not _is_call(node, aten.mul.Tensor):
        return None
    for x, scale in (node.args, node.args[::-1]):
        if _is_call(scale, aten.rsqrt.default) or (
                _is_call(scale, aten.pow.Tensor_Scalar) and scale.args[1] == -0.5):
            total = scale.args[0]
        else:
            continue
        if not _is_call(total, aten.add.Tensor) or not isinstance(total.args[1], float):
            continue
        mean, epsilon = total.args
        if not _is_call(mean, aten.mean.dim) or len(mean.args) < 3 or not mean.args[2] or list(
                mean.args[1]) not in ([-1], [len(shape_of(node)) - 1]):
            continue
        square = mean.args[0]
        squared = (_is_call(square, aten.pow.Tensor_Scalar) and square.args[1] == 2 or
                   _is_call(square, aten.mul.Tensor) and square.args[0] is square.args[1])
        # x itself may be multiplied before it is widened, as T5 does.
        if squared and without_widening(square.args[0]) is without_widening(x):
            return x, epsilon
    return None


def _match_rms_norm(lowering, node):
    """weight * normalised(x), with casts in between; the weight may be computed (1 + w)."""
    if not _is_call(node, aten.mul.Tensor, aten._to_copy.default):
        return None
    inner = _without_casts(node)
    if not _is_call(inner, aten.mul.Tensor):
        return None
    for weight, factor in (inner.args, inner.args[::-1]):
        if not isinstance(weight, torch.fx.Node) or len(shape_of(weight)) != 1:
            continue
        found = _normalised(_without_casts(factor), lowering.traced.constants)
        if not found or shape_of(weight)[0] != shape_of(inner)[-1]:
            continue
        x = _without_casts(found[0])
        # The norm gives its operand's type: the casts around it must undo each other.
        if x.meta["val"].dtype != node.meta["val"].dtype:
            x = found[0]
            if x.meta["val"].dtype != node.meta["val"].dtype:
                continue
        weight = _without_casts(weight)
        return Match("rms_norm", [x, weight],
                     lambda: norm(lowering, "nn.rms_norm", x, weight, None, found[1]))
    return None


PATTERNS.append(_match_rms_norm)


# -- convolutions

@lowers(aten.convolution.default)
def _convolution(lowering, node, x, weight, bias, stride, padding, dilation, transposed,
                 output_padding, groups):
    if transposed:
        raise Unsupported("transposed")
    emitter, x = lowering.emitter, lowering.get(x)
    weight, shape, kind = lowering.get(weight), shape_of(node), kind_of(node)
    rank, window = len(stride), weight.shape[2:]
    bias = lowering.get(bias) if bias is not None else None
    if not any(padding) and groups == 1 and list(stride) == list(window) and all(
            x.shape[2 + i] % window[i] == 0 for i in range(rank)):
        return _patches(lowering, x, weight, bias, window)
    if any(padding):
        x = _padded(emitter, x, padding)
    result = _products(emitter, x, weight, shape, stride, dilation, groups)
    operands = [result]
    if bias is not None:
        bias = emitter.reshape(bias, (1, bias.shape[0]) + (1,) * rank)
        operands.append(bias)

    def finish(body, inputs):
        total = inputs[0][0]
        if bias is not None:
            total = body.binary("arith.addf", total, body.cast(*inputs[1], "f32"), "f32")
        return body.cast(total, "f32", kind)
    if bias is None and kind == "f32":
        return result
    return pointwise(lowering, operands, shape, kind, finish)


def _match_causal_conv(lowering, node):
    """The first positions of a convolution of each channel by itself, which has as many as its window
    needs in front: each position and those before it."""
    if not _is_call(node, aten.slice.Tensor) or not _is_call(node.args[0], aten.convolution.default):
        return None
    _, dim, start, *step = node.args[:3] + node.args[4:]
    x, weight, bias, stride, padding, dilation, transposed, _, groups = node.args[0].args
    shape = shape_of(weight)
    if (dim, start, *step) not in ((2, 0), (2, 0, 1)) or len(shape) != 3 or transposed or not (
            shape[1] == 1 and shape[0] == groups == shape_of(x)[1]
            and (list(stride), list(padding), list(dilation)) == ([1], [shape[2] - 1], [1])
            and shape_of(node) == shape_of(x) and kind_of(weight) == kind_of(x)):
        return None

    def write():
        emitter, kind = lowering.emitter, kind_of(x)
        value = _last_axis(lowering, permuted(lowering.get(x), [0, 2, 1]))
        sizes = value.shape
        names = [emitter.plain(value), emitter.matrix(lowering.get(weight))]
        types = [tensor(sizes, kind), tensor(shape, kind)]
        extra = ""
        if bias is not None:
            extra = f" bias {_whole(lowering, lowering.get(bias), kind, groups)}"
            types.append(tensor((groups,), kind))
        written = emitter.tensor(f"nn.causal_conv {', '.join(names)}{extra} : "
                                 f"({', '.join(types)}) -> {tensor(sizes, kind)}", sizes, kind)
        return permuted(written, [0, 2, 1])
    return Match("causal_conv", [x, weight] + ([bias] if bias is not None else []), write)


PATTERNS.append(_match_causal_conv)


def _products(emitter, x, weight, shape, stride, dilation, groups):
    """The sums, f32; groups of channels, if there are several, are a loop of their own."""
    rank, batch = len(stride), shape[0]
    inputs, outputs = weight.shape[1], shape[1] // groups
    group = [groups] if groups > 1 else []
    x = emitter.reshape(x, (batch, *group, inputs, *x.shape[2:]))
    weight = emitter.reshape(weight, (*group, outputs, inputs, *weight.shape[2:]))
    # Loops: batch, group, output, positions, input, window.
    place = 2 + len(group)
    channel = place + rank
    x_map = [*range(place - 1), channel] + [f"d{place + i} * {stride[i]} + d{channel + 1 + i} * {dilation[i]}"
                                            for i in range(rank)]
    w_map = [*range(1, place), channel] + [channel + 1 + i for i in range(rank)]
    sizes = [batch, *group, outputs, *shape[2:], inputs, *weight.shape[len(group) + 2:]]

    def write(body, inputs):
        (a, a_kind), (b, b_kind), (out, _) = inputs
        product = body.binary("arith.mulf", body.cast(a, a_kind, "f32"),
                              body.cast(b, b_kind, "f32"), "f32")
        return body.binary("arith.addf", out, product, "f32")
    iterators = ["parallel"] * channel + ["reduction"] * (1 + rank)
    operands = [emitter.compact(x), emitter.compact(weight)]
    name = emitter.generic(operands, sizes, "f32", write, [x_map, w_map], iterators,
                           list(range(channel)), 0)
    found = tuple(sizes[:channel])
    return emitter.reshape(Value(Tensor(name, found), View.of(found), "f32"), shape)


def _patches(lowering, x, weight, bias, window):
    """Windows side by side: a linear layer of their pixels."""
    emitter, rank = lowering.emitter, len(window)
    batch, channels = x.shape[:2]
    grid = [x.shape[2 + i] // window[i] for i in range(rank)]
    wide = [batch, channels] + [size for pair in zip(grid, window) for size in pair]
    order = [0] + [2 + 2 * i for i in range(rank)] + [1] + [3 + 2 * i for i in range(rank)]
    pixels = permuted(emitter.reshape(x, wide), order)
    pixels = emitter.reshape(pixels, (batch, math.prod(grid), channels * math.prod(window)))
    outputs = weight.shape[0]
    matrix = emitter.reshape(emitter.force(weight), (outputs, channels * math.prod(window)))
    result = linear(lowering, pixels, matrix, bias)
    result = permuted(result, [0, 2, 1])
    return emitter.reshape(result, (batch, outputs, *grid))


def _padded(emitter, x, padding):
    kind, shape = x.kind, x.shape
    larger = shape[:2] + tuple(n + 2 * p for n, p in zip(shape[2:], padding))
    low = _text.ints([0, 0, *padding])
    name, zero = emitter.plain(x), emitter.fresh()
    emitter.line(f"{zero} = {_text.scalar(0, kind)}")
    arguments = ", ".join(f"%i{i}: index" for i in range(len(shape)))
    return emitter.tensor(
        f"tensor.pad {name} low{low} high{low} {{\n    ^bb0({arguments}):\n"
        f"      tensor.yield {zero} : {kind}\n    }} : {tensor(shape, kind)} to "
        f"{tensor(larger, kind)}", larger, kind)
