"""Attention: the call of scaled_dot_product_attention, and its definition written out.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

nn.attention never materialises the scores and knows its heads, so that more ranks than KV heads
cost nothing; products and a softmax do neither. Soft caps, biases of heads and positions, and
values of another size are part of it. What it cannot say (a bias of each sequence) stays products
and a softmax, with the same result.
"""

import math
import operator
from dataclasses import dataclass, field

import torch

from . import _text
from ._bands import Band
from ._lower import PATTERNS, Match, lowers
from ._masks import Mask, classify, combine, is_hidden
from ._movement import permuted
from ._pointwise import pointwise
from ._reduce import contract
from ._trace import aten, kind_of, shape_of, without_widening
from ._values import Constant, Value

_PRODUCTS = (aten.matmul.default, aten.bmm.default)


@dataclass
class Scores:
    """What becomes of the products of queries and keys before the softmax, in this order."""
    scale: float
    mask: Mask
    cap: float = None           # score = cap tanh(score / cap)
    biases: list = field(default_factory=list)     # nodes that are added: at most one
    sinks: object = None        # node of a number of each head that joins its rows' sums

    def reads(self):
        return self.biases + ([] if self.sinks is None else [self.sinks]) + ([] if self.mask.padding is None else [self.mask.padding])


def attention(lowering, q, k, v, scores, result):
    """nn.attention of Values [..., s, d] with up to four dimensions."""
    emitter, mask = lowering.emitter, scores.mask
    batch, heads = _grid(lowering, q, scores)

    def arrange(value, is_key):
        count = heads if len(value.shape) != 4 else value.shape[1]
        value = emitter.reshape(value, (math.prod(value.shape[:-2]) // count, count,
                                        *value.shape[-2:]))
        if value.shape[0] != batch:
            value = value.seen(value.view.expand((batch, *value.shape[1:])))
        return permuted(value, [0, 2, 1, 3])
    q, k, v = arrange(q, False), *_without_repetition(arrange(k, True), arrange(v, True))
    causal, window = mask.band.as_attention(q.shape[1], k.shape[1])
    names = [emitter.plain(value) for value in (q, k, v)]
    types = [_text.tensor(value.shape, value.kind) for value in (q, k, v)]
    extra = ""
    if mask.padding is not None:
        padding = lowering.get(mask.padding)
        extra = f" mask {emitter.plain(padding)}"
        types.append(_text.tensor(padding.shape, padding.kind))
    for node in scores.biases:
        bias = _bias(lowering, node, heads, q.shape[1], k.shape[1])
        extra += f" bias {emitter.plain(bias)}"
        types.append(_text.tensor(bias.shape, bias.kind))
    if scores.sinks is not None:
        sinks = lowering.get(scores.sinks)
        extra += f" sinks {emitter.plain(sinks)}"
        types.append(_text.tensor(sinks.shape, sinks.kind))
    attributes = (["causal"] if causal else []) + [f"scale = {scores.scale:.17e} : f64"]
    attributes += [f"soft_cap = {scores.cap:.17e} : f64"] if scores.cap else []
    attributes += [f"window = {window} : i64"] if window else []
    shape = (*q.shape[:-1], v.shape[-1])
    written = emitter.tensor(
        f"nn.attention {', '.join(names)}{extra} {{{', '.join(attributes)}}} : "
        f"({', '.join(types)}) -> {_text.tensor(shape, q.kind)}", shape, q.kind)
    return emitter.reshape(permuted(written, [0, 2, 1, 3]), result)


def _bias_shape(node, scores):
    """(heads or 1, queries or 1, keys or 1) of a bias of scores [..., queries, keys]; None if it
    is another for each sequence, or no numbers."""
    if kind_of(node) not in ("f32", "bf16", "f16"):
        return None
    shape = shape_of(node)
    if len(shape) > len(scores) or len(scores) not in (3, 4):
        return None
    shape = (1,) * (len(scores) - len(shape)) + tuple(shape)
    if len(scores) == 4:
        return shape[1:] if shape[0] == 1 else None
    return shape


def _summands(lowering, node, scores):
    """(biases, masks) that what is added to scores is the sum of: at most one bias, and masks;
    None if it is more. A bias that is hidden where a mask is none is the sum of both."""
    if not isinstance(node, torch.fx.Node):
        return None
    found = classify(lowering, node, *scores[-2:])
    if found is not None:
        return [], [found]
    parts = ()
    if node.target is aten.add.Tensor and not node.kwargs:
        parts = [_summands(lowering, operand, scores) for operand in node.args]
    elif node.target is aten.where.self:
        for bias, other, invert in (node.args[1:] + (False,), node.args[:0:-1] + (True,)):
            if is_hidden(_number(lowering, other)):
                found = classify(lowering, node.args[0], *scores[-2:], invert)
                parts = [_summands(lowering, bias, scores), found and ([], [found])]
                break
    if parts and all(parts):
        biases, masks = (sum(lists, []) for lists in zip(*parts))
        if masks and len(biases) <= 1:
            return biases, masks
    return None if _bias_shape(node, scores) is None else ([node], [])


def _bias(lowering, node, heads, queries, keys):
    """The Value of a bias, [heads or 1, queries, keys]."""
    value = lowering.get(node)
    if isinstance(value, Constant) and len(value.shape) == 3 and value.shape[0] > heads:
        value = Constant(value.data[:heads], value.kind)    # the same for each sequence
    value = lowering.emitter.force(value)
    shape = value.shape[-3:]
    shape = (1,) * (3 - len(shape)) + tuple(shape)
    value = lowering.emitter.reshape(value, shape)
    return value.seen(value.view.expand((shape[0], queries, keys)))


def _grid(lowering, q, scores):
    """Batch and heads of queries [..., s, d]."""
    front = q.shape[:-2]
    if len(front) == 2:
        return front
    total = math.prod(front)
    if scores.mask.padding is not None:
        batch = shape_of(scores.mask.padding)[0]
        return batch, total // batch
    # Flattened: the outer part is the batch, where there are parts.
    parts = q.view.dims[0] if isinstance(q, Value) and len(front) == 1 else ()
    batch, heads = (parts[0].size, total // parts[0].size) if len(parts) > 1 else (1, total)
    for node in scores.biases:
        if len(shape_of(node)) == 3 and shape_of(node)[0] == total and not _repeats(
                lowering.constant(node), heads):
            return 1, total     # each sequence's heads are heads of their own
    return batch, heads


def _repeats(constant, count):
    """Whether a constant is its first `count` rows again and again."""
    return constant is not None and all(
        torch.equal(part, constant[:count]) for part in constant.split(count))


def _without_repetition(k, v):
    """Keys and values [b, t, heads, d] without what repeats each KV head for its queries."""
    if isinstance(k, Constant) or isinstance(v, Constant):
        return k, v
    (keys, a), (values, b) = k.view.unrepeat(2), v.view.unrepeat(2)
    if math.prod(atom.size for atom in a) != math.prod(atom.size for atom in b):
        return k, v
    return k.seen(keys), v.seen(values)


def _usable(q, k, v, mask):
    """Whether nn.attention can say it, from the nodes' shapes."""
    q, k, v = shape_of(q), shape_of(k), shape_of(v)
    return (mask is not None and q[-1] == k[-1] and len(q) == len(k) == len(v) <= 4
            and len(q) >= 2 and k[:-1] == v[:-1]
            and mask.band.as_attention(q[-2], k[-2]) is not None
            and (len(q) != 4 or q[1] % k[1] == 0))


# -- the call

def _arguments(node):
    names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
    values = dict(zip(names, node.args)) | dict(node.kwargs)
    scale = values.get("scale")
    if scale is None:
        scale = shape_of(values["query"])[-1] ** -0.5
    return (values["query"], values["key"], values["value"], values.get("attn_mask"),
            values.get("is_causal", False), scale)


def _mask_of_call(lowering, q, k, mask, causal):
    queries, keys = shape_of(q)[-2], shape_of(k)[-2]
    if causal:
        return Mask(Band(None, 0 if keys > 1 else None), None)
    if mask is None:
        return Mask(Band(None, None), None)
    return classify(lowering, mask, queries, keys)


def _scores_of_call(lowering, node):
    """Scores of a call whose mask is a mask, or a bias; None if it is more than that."""
    q, k, _, mask, causal, scale = _arguments(node)
    found = _mask_of_call(lowering, q, k, mask, causal)
    if found is not None:
        return Scores(scale, found)
    found = _summands(lowering, mask, (*shape_of(q)[:-1], shape_of(k)[-2]))
    if found is None:
        return None
    biases, masks = found
    mask = combine(masks)
    return mask and Scores(scale, mask, biases=biases)


def _match_call(lowering, node):
    if node.target is not aten.scaled_dot_product_attention.default:
        return None
    q, k, v = _arguments(node)[:3]
    scores = _scores_of_call(lowering, node)
    if scores is None or not _usable(q, k, v, scores.mask):
        return None
    return Match("attention", [q, k, v] + scores.reads(),
                 lambda: attention(lowering, *map(lowering.get, (q, k, v)), scores,
                                   shape_of(node)))


@lowers(aten.scaled_dot_product_attention.default)
def _written_out(lowering, node, *args, **kwargs):
    """The definition."""
    query, key, value, given, causal, scale = _arguments(node)
    q, k, v = map(lowering.get, (query, key, value))
    k, v = (_repeat_heads(lowering, x, q.shape) for x in (k, v))
    order = [*range(len(k.shape) - 2), len(k.shape) - 1, len(k.shape) - 2]
    scores = contract(lowering, q, permuted(k, order), "f32")
    operands = [scores]
    if causal:
        # PyTorch's first query sees the first key alone, whatever their numbers.
        seen = Band(None, 0).positions(*scores.shape[-2:])
        operands.append(Constant(torch.from_numpy(seen), "i1"))
    elif given is not None:
        operands.append(lowering.get(given))
    shape = scores.shape

    def write(body, inputs):
        score = body.binary("arith.mulf", inputs[0][0], body.constant(scale, "f32"), "f32")
        if len(inputs) < 3:
            return score
        name, kind = inputs[1]
        if kind != "i1":
            return body.binary("arith.addf", score, body.cast(name, kind, "f32"), "f32")
        hidden = body.constant(-math.inf, "f32")
        return body.op(f"arith.select {name}, {score}, {hidden} : f32")
    scores = pointwise(lowering, operands, shape, "f32", write)
    weights = _softmax_of(lowering, scores)
    return contract(lowering, weights, v, kind_of(node))


def _repeat_heads(lowering, value, queries):
    """KV heads [..., hk, t, d] repeated for the heads of the queries, as a view."""
    if len(queries) < 3 or value.shape[-3] in (1, queries[-3]):
        return value
    front, (count, *rest) = value.shape[:-3], value.shape[-3:]
    value = lowering.emitter.force(value)
    wide = (*front, count, queries[-3] // count, *rest)
    value = value.seen(value.view.insert(len(front) + 1).expand(wide))
    return lowering.emitter.reshape(value, (*front, queries[-3], *rest))


def _softmax_of(lowering, scores):
    written = lowering.emitter.plain(scores)
    return lowering.emitter.tensor(
        f"nn.softmax {written} : {_text.tensor(scores.shape, 'f32')}", scores.shape, "f32")


# -- written out

def _number(lowering, operand):
    """The number that an operand is, or None."""
    if isinstance(operand, (int, float)):
        return float(operand)
    constant = lowering.constant(operand)
    return float(constant) if constant is not None and constant.numel() == 1 else None


def _keeps_scores(node):
    """A view that only groups what is in front of the last two dimensions."""
    return node.target in (aten.view.default, aten.reshape.default) and shape_of(node)[
        -2:] == shape_of(node.args[0])[-2:]


class _Scores:
    """Scores followed back from the softmax to the product of queries and keys."""

    def __init__(self, lowering, node):
        self.lowering, self.scale, self.masks = lowering, 1.0, []
        self.cap, self.biases, self.shape = None, [], shape_of(node)
        self.queries, self.keys = shape_of(node)[-2:]
        self.q = self.k = None
        self.found = self._follow(node)

    def _classify(self, node, invert=False):
        return classify(self.lowering, node, self.queries, self.keys, invert)

    def _follow(self, node):
        if not isinstance(node, torch.fx.Node) or node.op != "call_function":
            return False
        if node in self.lowering.traced.constants:
            return False
        target, args = node.target, node.args
        if target is aten._to_copy.default or _keeps_scores(node):
            return self._follow(args[0])
        if target in _PRODUCTS:
            self.q, self.k = args[:2]
            return True
        if target in (aten.mul.Tensor, aten.div.Tensor, aten.mul.Scalar, aten.div.Scalar):
            return self._follow_scale(node)
        if target is aten.add.Tensor and not node.kwargs:
            for scores, mask in (args[:2], args[1::-1]):
                found = isinstance(mask, torch.fx.Node) and self._classify(mask)
                if found:
                    self.masks.append(found)
                    return self._follow(scores)
            return self._follow_bias(*args[:2])
        if target is aten.tanh.default:
            return self._follow_cap(node)
        if target is aten.where.self:
            for scores, other, invert in ((args[1], args[2], False), (args[2], args[1], True)):
                if is_hidden(_number(self.lowering, other)):
                    found = self._classify(args[0], invert)
                    if found:
                        self.masks.append(found)
                        return self._follow(scores)
            return False
        if target is aten.baddbmm.default:
            found = self._classify(args[0])
            if node.kwargs.get("beta", 1) != 1 or not (found or self._add_bias(args[0])):
                return False
            self.masks += [found] if found else []
            self.scale *= node.kwargs.get("alpha", 1)
            self.q, self.k = args[1:3]
            return True
        return False

    def _add_bias(self, node):
        """Whether what is added to scores as they are is a bias, the first."""
        if not isinstance(node, torch.fx.Node) or self.biases or self.scale != 1 or self.cap:
            return False
        found = _summands(self.lowering, node, self.shape)
        if found is None:
            return False
        self.biases, masks = found
        self.masks += masks
        return True

    def _follow_bias(self, a, b):
        """Scores plus a bias, in either order: the scores come from a product."""
        for scores, bias in ((a, b), (b, a)):
            before = list(self.masks)
            if self._add_bias(bias):
                if self._follow(scores):
                    return True
                self.biases = []
                self.scale, self.cap, self.masks = 1.0, None, before
        return False

    def _follow_cap(self, node):
        """c tanh(x / c); the c in front is the scale so far. A mask before would be capped."""
        if self.cap:
            return False
        self.cap, masks = self.scale, len(self.masks)
        return self._follow(node.args[0]) and len(self.masks) == masks

    def _follow_scale(self, node):
        a, b = node.args[:2]
        number = _number(self.lowering, b)
        if number is None and node.target is aten.mul.Tensor:
            a, number = b, _number(self.lowering, a)
        if not number:
            return False
        # Masked scores stay hidden only if the scale does not undo the mask.
        if self.masks and not 1e-3 <= abs(number) <= 1e3:
            return False
        self.scale *= number if node.target in (aten.mul.Tensor, aten.mul.Scalar) else 1 / number
        return number > 0 and self._follow(a)


def _transposed(shape):
    return shape[:-2] + (shape[-1], shape[-2])


def _all_but_last(node):
    """What the node is all columns but the last of, or None."""
    if not isinstance(node, torch.fx.Node) or node.target is not aten.slice.Tensor:
        return None
    source, dim, start, end, *step = (*node.args, *(0, 0, None)[len(node.args) - 1:])
    columns = shape_of(source)[-1]
    whole = dim in (-1, len(shape_of(source)) - 1) and not start and end in (-1, columns - 1)
    return source if whole and step in ([], [1]) else None


def _without_sinks(node):
    """(scores, node [heads] of the sinks) of scores [b, heads, s, t] beside which, as a last
    column, is a number of each head; perhaps with each row's largest subtracted, which changes no
    softmax. (None, None) of anything else."""
    if node.target is aten.sub.Tensor and not node.kwargs:
        whole, largest = node.args
        if isinstance(largest, torch.fx.Node) and largest.target is operator.getitem:
            largest = largest.args[0] if largest.args[1] == 0 else None
        if not isinstance(largest, torch.fx.Node) or largest.target not in (
                aten.max.dim, aten.amax.default) or largest.args[0] is not whole:
            return None, None
        if largest.args[1] not in (-1, 3, [-1], [3]) or largest.args[2:] != (True,):
            return None, None
        node = whole
    if node.target is not aten.cat.default or len(node.args[0]) != 2 or (
            node.args[1:] not in ((-1,), (3,))) or len(shape_of(node)) != 4:
        return None, None
    scores, column = node.args[0]
    heads = shape_of(node)[1]
    if shape_of(column)[-1] != 1:
        return None, None
    while column.target in (aten.expand.default, aten.view.default, aten.reshape.default,
                            aten.unsqueeze.default, aten.expand_copy.default):
        if shape_of(column)[1:2] != (heads,) or shape_of(column)[3:] != (1,):
            break
        column = column.args[0]
    return (scores, column) if shape_of(column) == (heads,) else (None, None)


def _match_product(lowering, node):
    """softmax(q kᵀ scale + mask) v"""
    if node.target not in _PRODUCTS or len(shape_of(node)) not in (3, 4):
        return None
    weights, v = node.args[:2]
    while isinstance(weights, torch.fx.Node) and (
            weights.target is aten._to_copy.default or weights.op == "call_function"
            and _keeps_scores(weights)):
        weights = weights.args[0]
    last = _all_but_last(weights)
    weights = last or weights
    if not isinstance(weights, torch.fx.Node) or weights.target not in (
            aten.softmax.int, aten._softmax.default):
        return None
    if weights.args[1] not in (-1, len(shape_of(weights)) - 1):
        return None
    logits, sinks = weights.args[0], None
    if last:
        logits, sinks = _without_sinks(logits)
        if sinks is None or sinks in lowering.traced.constants:
            return None
    scores = _Scores(lowering, logits)
    if not scores.found:
        return None
    mask = combine(scores.masks)
    # Products of widened numbers: scores are in f32 here too.
    q, k = without_widening(scores.q), without_widening(scores.k)
    if mask is None or any(isinstance(x, torch.fx.Node) and x in lowering.traced.constants
                           for x in (q, k, v)):
        return None
    if mask.padding is not None and shape_of(mask.padding)[0] > 1 and any(
            len(shape_of(node)) == 3 and shape_of(node)[0] > 1 for node in scores.biases):
        return None     # heads of all sequences in one dimension, each with its own bias
    keys = _transposed(shape_of(k))
    if not (shape_of(q)[-1] == keys[-1] and keys[:-1] == shape_of(v)[:-1]
            and len(shape_of(q)) == len(keys) == len(shape_of(node))
            and shape_of(q)[:-2] == keys[:-2]
            and mask.band.as_attention(scores.queries, scores.keys) is not None
            and kind_of(q) == kind_of(k) == kind_of(v) == kind_of(node)):
        return None
    order = [*range(len(keys) - 2), len(keys) - 1, len(keys) - 2]

    def write():
        values = lowering.get(q), permuted(lowering.get(k), order), lowering.get(v)
        return attention(lowering, *values, found, shape_of(node))
    found = Scores(scores.scale, mask, scores.cap, scores.biases, sinks)
    return Match("attention", [q, k, v] + found.reads(), write)


PATTERNS += [_match_call, _match_product]
