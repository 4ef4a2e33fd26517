"""What constants are at positions that the trace has not seen.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A trace has the positions 0 to S - 1, and what a module computes from them alone is constant there:
of a window that is wider, of chunks that are longer and of a scale that begins later nothing is to
be seen. Steps of generation go on beyond, so the computation of such a constant is repeated on
other positions, p[0], ..., p[S - 1], in the shapes of the trace:

    arange(S)                       p
    what works element by element   the same of operands at p
    rows of a longer constant       those at p, as far as there are rows
    what combines positions         as it was: steps have positions one behind the other

The program then has what was found, or says up to which position it holds (`tp.positions`).
"""

import torch

from ._bands import Band

aten = torch.ops.aten

# No program is asked about more; floats count exactly so far.
MOST = 1 << 20

_MOVES = {aten.unsqueeze.default, aten.expand.default, aten.view.default, aten.reshape.default,
          aten._unsafe_view.default, aten.permute.default, aten.transpose.int, aten.squeeze.dims,
          aten.squeeze.dim, aten.squeeze.default, aten._to_copy.default, aten.clone.default,
          aten.repeat.default}
_BANDS = {aten.tril.default, aten.triu.default}


class Positions:
    """Constants of a trace at other positions than its own.

    Attributes:
        length: positions of the trace; 0 if no argument is token ids [batch, positions].
        limit: the number of positions for which the program is what the module is.
    """

    def __init__(self, traced):
        self.traced, self.limit = traced, MOST
        ids = [node.meta["val"] for node in traced.inputs
               if node.meta["val"].dtype in (torch.int64, torch.int32)]
        shapes = {tuple(value.shape) for value in ids if value.dim() == 2}
        self.length = shapes.pop()[1] if len(shapes) == 1 else 0
        self._depends = {}

    def spread(self, end):
        """As many positions as the trace has, from 0 to `end`, which is the last one."""
        count = max(self.length - 1, 1)
        return torch.tensor([i * end // count for i in range(self.length)])

    def depends(self, node):
        """Whether a constant is another one at other positions. Models are deep."""
        pending = [node]
        while pending:
            top = pending[-1]
            if top in self._depends:
                pending.pop()
                continue
            operands = [] if self._is_source(top) else [
                o for o in self._operands(top) if o not in self._depends]
            if operands:
                pending += operands
                continue
            self._depends[top] = self._is_source(top) or any(
                self._depends[o] for o in self._operands(top))
            pending.pop()
        return self._depends[node]

    def _data(self, node):
        data = self.traced.constants.get(node)
        return data if isinstance(data, torch.Tensor) else None

    def _operands(self, node):
        """Those that have positions where the node has them."""
        if node.op != "call_function" or self._data(node) is None:
            return []
        if node.target is aten.index.Tensor or node.target is aten.embedding.default:
            return [o for o in node.all_input_nodes if self._data(o) is not None]
        if not (node.target in _MOVES or node.target in _BANDS or self._is_whole(node)
                or torch.Tag.pointwise in getattr(node.target, "tags", ())):
            return []
        return [o for o in node.all_input_nodes if self._data(o) is not None]

    def _is_whole(self, node):
        """Whether positions are not taken apart."""
        if node.target is aten.cat.default:
            shape = self._data(node).shape
            dim = node.args[1] if len(node.args) > 1 else 0
            return all(self._data(part) is not None
                       and self._data(part).shape[dim] not in (1, self.length)
                       for part in node.args[0]) and shape[dim] != self.length
        if node.target not in (aten.slice.Tensor, aten.select.int):
            return False
        dim = node.args[1] if len(node.args) > 1 else 0
        source = self._data(node.args[0])
        return source is not None and source.shape[dim] != self.length

    def _is_source(self, node):
        data = self._data(node)
        if data is None or not self.length:
            return False
        if self._sliced(node) is not None or (
                node.target in _BANDS and data.shape[-2:] == (self.length,) * 2):
            return True
        return node.target in (aten.arange.default, aten.arange.start, aten.arange.start_step) and (
            data.shape == (self.length,) and bool((data == torch.arange(self.length)).all()))

    def _sliced(self, node):
        """The dimension along which a node is the first rows of a longer constant."""
        if node.target is not aten.slice.Tensor or self._data(node.args[0]) is None:
            return None
        source, dim, start, *rest = (*node.args, 0, 0)[:max(len(node.args), 3)]
        dim %= self._data(source).dim()
        rows = self._data(source).shape[dim]
        step = rest[1] if len(rest) > 1 else 1
        return dim if not start and step == 1 and rows > self.length and (
            self._data(node).shape[dim] == self.length) else None

    def at(self, node, places):
        """The constant at positions `places`; `self.rows` is how many of them are known."""
        self.rows = MOST
        return self._at(node, places, {})

    def reading(self, places):
        """A function of nodes, as `at`."""
        memo = {}
        self.rows = MOST
        return lambda node: self._at(node, places, memo)

    def _at(self, node, places, memo):
        if self._data(node) is None or not self.depends(node):
            return self.traced.constants.get(node)
        pending = [node]
        while pending:
            top = pending[-1]
            if top in memo:
                pending.pop()
                continue
            missing = [o for o in self._operands(top) if o not in memo and self.depends(o)]
            if missing:
                pending += missing
                continue
            memo[top] = self._compute(top, places, memo)
            pending.pop()
        return memo[node]

    def _compute(self, node, places, memo):
        data, target = self._data(node), node.target
        if not self.depends(node):
            return data

        def value(operand):
            return memo.get(operand, self.traced.constants[operand])
        dim = self._sliced(node)
        if dim is not None:
            source = value(node.args[0])
            return source.index_select(dim, self._inside(places, source.shape[dim]))
        if self._is_source(node) and target not in _BANDS:
            return places.to(data.dtype)
        args = torch.fx.node.map_arg(node.args, value)
        kwargs = dict(torch.fx.node.map_arg(dict(node.kwargs), value))
        if target in _BANDS and data.shape[-2:] == (self.length,) * 2:
            distance = places[None] - places[:, None]
            shift = args[1] if len(args) > 1 else kwargs.get("diagonal", 0)
            kept = distance <= shift if target is aten.tril.default else distance >= shift
            return torch.where(kept, args[0], torch.zeros_like(args[0]))
        if target is aten.embedding.default:
            ids = self._original(node.args[1], args[0].shape[0], args[1])
            return torch.nn.functional.embedding(ids, args[0])
        if target is aten.index.Tensor:
            found = [index if of is None or not self.depends(of) else
                     self._original(of, size, index)
                     for of, index, size in zip(node.args[1], args[1], args[0].shape)]
            return target(args[0], found)
        if kwargs.get("device") is not None:
            kwargs["device"] = torch.device("cpu")
        if target in (aten.view.default, aten._unsafe_view.default):
            target = aten.reshape.default
        return target(*args, **kwargs)

    def _original(self, node, size, index):
        """Numbers that look positions up are those of the trace, as the positions lie there."""
        return self.traced.constants[node] if size == self.length else self._inside(index, size)

    def _inside(self, places, size):
        self.rows = min(self.rows, size)
        return places.clamp(max=size - 1)

    # -- masks

    def widen(self, band, seen_at):
        """The Band that a causal one of the trace is at all positions. `seen_at(places)` says which
        keys [queries, keys] are seen there, or gives None."""
        count = self.length
        if count < 2 or band.high not in (0, None):
            return band

        def holds(band, places):
            seen = seen_at(places)
            distance = places[None] - places[:, None]
            want = torch.ones_like(distance, dtype=torch.bool)
            if band.high is not None:
                want &= distance <= band.high
            if band.low is not None:
                want &= distance >= band.low
            return seen is not None and bool((seen == want).all())

        def everywhere(band, end):
            last = torch.arange(count)
            ends = [self.spread(end), end - last.flip(0)]
            if band.low is not None:
                ends.append((last * max(-band.low // 2, 1) + 3).clamp(max=end))
            return all(holds(band, places) for places in ends)
        self.rows = MOST
        seen_at(self.spread(MOST - 1))
        end = self.rows - 1
        if end < count or everywhere(band, end):
            return band
        if band.low is None:
            width = self._width(seen_at, end)
            wider = Band(1 - width, band.high)
            if everywhere(wider, end):
                return wider
            self.limit = min(self.limit, width if everywhere(band, width - 1) else count)
        else:
            self.limit = min(self.limit, count)
        return band

    def _width(self, seen_at, end):
        """How many positions are seen from the first one on."""
        low, high = self.length - 1, end
        while high - low > 1:
            places = torch.tensor([0] + [low + (high - low) * i // (self.length - 1)
                                         for i in range(1, self.length)])
            seen = seen_at(places)
            if seen is None:
                return self.length
            hidden = [int(p) for p, s in zip(places[1:], seen[1:, 0]) if not s]
            first = min(hidden, default=high)
            if not hidden:
                return high + 1
            low, high = max([low] + [int(p) for p in places[1:] if int(p) < first]), first
        return high

    # -- other constants

    def follow(self, node, function):
        """Lowers the limit to the trace's length if a constant is not `function(places)`, by its
        elements in order, at other positions too."""
        if self.length < 2 or not self.depends(node):
            return
        self.at(node, self.spread(MOST - 1))
        places = self.spread(min(self.rows, 1 << 16) - 1)
        now, want = self.at(node, places), function(places)
        if now.numel() != want.numel() or not torch.allclose(
                now.reshape(want.shape).float(), want, rtol=2.0 ** -7, atol=1e-5):
            self.limit = min(self.limit, self.length)

    def check(self, node):
        """Lowers the limit to the positions up to which a constant goes on as it began: the same
        everywhere, or a first number and a step for each position. Others are tables, which end
        anyway."""
        data = self._data(node)
        if data is None or self.length < 2 or not self.depends(node) or data.dtype == torch.bool and (
                not bool((data == data.reshape(-1)[0]).all())):
            return
        wide = data.double()
        dims = [d for d in range(data.dim()) if data.shape[d] == self.length and not bool(
            (wide == wide.narrow(d, 0, 1)).all())]
        if len(dims) > 1:
            return

        def predicted(places):
            if not dims:
                return wide
            first, second = (wide.narrow(dims[0], i, 1) for i in (0, 1))
            steps = places.reshape([-1 if d == dims[0] else 1 for d in range(data.dim())])
            return first + (second - first) * steps

        def goes_on(places):
            now = self.at(node, places)
            return now.shape == data.shape and torch.allclose(
                now.double(), predicted(places), rtol=1e-5, atol=0)
        if not goes_on(torch.arange(self.length)):
            return
        self.at(node, self.spread(MOST - 1))
        low, high = self.length, self.rows
        if goes_on(self.spread(high - 1)):
            return
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if goes_on(self.spread(middle - 1)) else (low, middle)
        self.limit = min(self.limit, low)
