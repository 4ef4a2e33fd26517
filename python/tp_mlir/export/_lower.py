"""From the graph to text: patterns first, then one function for each operation.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Nodes are visited backwards from the outputs. Where a pattern ends (attention written out, a norm,
a rotation) only what the pattern reads is needed; elsewhere all operands. Then what is needed is
written in the graph's order. All operations without a form are collected and reported together.
"""

import torch
from torch.utils import _pytree

from . import _text
from .._errors import InputError
from ._emit import Emitter
from ._positions import MOST, Positions
from ._trace import kind_of, line_of, path_of, shape_of
from ._types import KINDS, Unsupported, expect_dense, expect_kind
from ._values import Constant, Parameter, Tensor, Value
from ._views import View

TABLE = {}          # ATen operation: function(lowering, node, *args, **kwargs) -> Value
PATTERNS = []       # function(lowering, node) -> Match or None


def lowers(*operations):
    def register(function):
        for operation in operations:
            TABLE[operation] = function
        return function
    return register


class Match:
    """What a pattern that ends in a node reads, and the function that writes it."""

    def __init__(self, name, reads, write):
        self.name, self.reads, self.write = name, reads, write


class Lowering:
    """Writes one traced module.

    Attributes after run(): results, names of the values returned; features, names of the
    arguments of floats; matched, the number of patterns by name.
    """

    def __init__(self, traced):
        self.traced, self.emitter = traced, Emitter()
        self.emitter.aliases = traced.aliases
        self.values, self.matched, self.features = {}, {}, set()
        self.positions, self.read = Positions(traced), {}
        # Layers share masks, rotations and their tables, which are found once.
        self.masks, self.rotations, self.rotary_tables = {}, {}, {}

    def get(self, operand):
        """The Value or Constant of a node; anything else as it is. Unsupported if a constant is
        of a type that programs have not."""
        if not isinstance(operand, torch.fx.Node):
            return operand
        if operand in self.traced.constants:
            data = self.traced.constants[operand]
            self.read[operand] = True
            if isinstance(data, (tuple, list)):
                return [self._constant(operand, part) for part in data]
            return self._constant(operand, data)
        return self.values[operand]

    def _constant(self, node, data):
        names = sorted(self.traced.origins.get(node, ()))
        subject = f"constant {', '.join(names)}" if names else "a constant"
        expect_dense(data, subject)
        return Constant(data, expect_kind(data.dtype, subject))

    def constant(self, operand):
        """The tensor that a node always is, or None."""
        return self.traced.constants.get(operand) if isinstance(operand, torch.fx.Node) else None

    def run(self):
        matches, needed = self._find_needed()
        arguments = self._arguments(needed)
        problems = {}

        def note(problem, node):
            subject = problem.subject or node.target
            # A node that is no operation is found where it is read.
            place = node if node.op == "call_function" else next(iter(node.users), node)
            problems.setdefault(f"{subject}: {problem}", []).append(place)

        for node in self.traced.nodes:
            if node not in needed or node.op == "output":
                continue
            self.emitter.place = path_of(node)
            try:
                if node in self.traced.paired:
                    self._stand_in(node)    # what reads it is refused
                elif node in matches:
                    self.values[node] = matches[node].write()
                elif node.op == "placeholder":
                    self._placeholder(node)
                else:
                    self.values[node] = self._lower(node)
            except Unsupported as problem:
                note(problem, node)
                self._stand_in(node)
        for _, node in self.traced.outputs:
            try:
                self.get(node)
            except Unsupported as problem:
                note(problem, node)
        if problems:
            raise _unsupported(problems)
        self.emitter.place = ""
        return self._function(arguments)

    @staticmethod
    def kind_of_weight(tensor):
        return KINDS.get(tensor.dtype)

    def _find_needed(self):
        matches, needed = {}, set()
        pending = [node for _, node in self.traced.outputs if node not in self.traced.constants]
        while pending:
            node = pending.pop()
            if node in needed or node in self.traced.constants:
                continue
            needed.add(node)
            match = self._match(node)
            if match:
                matches[node] = match
                self.matched[match.name] = self.matched.get(match.name, 0) + 1
            pending += match.reads if match else node.all_input_nodes
        return matches, needed

    def _match(self, node):
        values = _pytree.tree_leaves(node.meta.get("val"))
        if node.op != "call_function" or any(
                isinstance(value, torch.Tensor) and value.dtype not in KINDS for value in values):
            return None
        try:
            return next((m for m in (p(self, node) for p in PATTERNS) if m), None)
        except Unsupported:
            return None     # of a type that no pattern has; the operation itself will say so

    def _lower(self, node):
        function = TABLE.get(node.target)
        if function is None:
            raise Unsupported("is not in the table")
        numbers = _pytree.tree_leaves((node.args, node.kwargs))
        if any(isinstance(number, complex) for number in numbers):
            raise Unsupported("a complex number; write its real and imaginary part apart")
        return function(self, node, *node.args, **node.kwargs)

    def _placeholder(self, node):
        if node in self.values:
            return
        name = self.traced.parameters[node]
        shape, kind = shape_of(node), expect_kind(node.meta["val"].dtype, name)
        source = Parameter(name, shape, (0,) * len(shape), shape)
        self.values[node] = Value(source, View.of(shape), kind)

    def _stand_in(self, node):
        """Something of the node's type, so that the operations after it are tried too."""
        def one(value):
            kind = KINDS.get(value.dtype, "f32")
            shape = tuple(value.shape)
            return Value(Tensor("%unsupported", shape), View.of(shape), kind)
        value = node.meta.get("val")
        if isinstance(value, (tuple, list)):
            self.values[node] = [one(v) if isinstance(v, torch.Tensor) else None for v in value]
        elif isinstance(value, torch.Tensor):
            self.values[node] = one(value)

    def _arguments(self, needed):
        """The text of the function's arguments."""
        texts = []
        # Without a padding mask all tokens are real ones.
        padding = {mask.padding for mask in self.masks.values() if mask}
        for i, (node, name) in enumerate(self.traced.inputs.items()):
            shape, kind = shape_of(node), kind_of(node)
            bound = self._bound(node, name)
            extra = f", tp.range = array<i64: 0, {bound}>" if bound else ""
            extra += ', tp.default = "ones"' if node in padding else ""
            texts.append(f"%arg{i}: {_text.tensor(shape, kind)} "
                         f"{{tp.name = {_text.quote(name)}{extra}}}")
            if _text.is_float(kind):
                self.features.add(f"%arg{i}")
            self.values[node] = Value(Tensor(f"%arg{i}", shape), View.of(shape), kind)
        return texts

    def _bound(self, node, name):
        """The number of values that an integer input may have, where that is known."""
        if node.meta["val"].dtype not in (torch.int64, torch.int32):
            return None
        if "mask" in name:
            return 2
        tables = [user.args[0] for user in node.users
                  if user.target is torch.ops.aten.embedding.default and user.args[1] is node]
        return min((shape_of(table)[0] for table in tables), default=None)

    def _function(self, arguments):
        results = []
        for name, node in self.traced.outputs:
            value = self.get(node)
            if isinstance(value, Constant):
                value = self.emitter.force(value)
            results.append((name, self.emitter.plain(value), value.shape, value.kind))
        types = ", ".join(f"{_text.tensor(s, k)} {{tp.name = {_text.quote(n)}}}"
                          for n, _, s, k in results)
        emitter = self.emitter
        self.results = [name for _, name, _, _ in results]
        attributes = self._module_attributes()
        return "\n".join([
            f"module{attributes} {{",
            f"  func.func @main({', '.join(arguments)}) -> ({types}) {{",
            *emitter.head, *emitter.lines,
            f"    return {', '.join(v for _, v, _, _ in results)} : "
            + ", ".join(_text.tensor(s, k) for _, _, s, k in results),
            "  }", "}", ""])

    def _module_attributes(self):
        read = {key[0] for key in self.emitter.parameters}
        for node in self.read:
            self.positions.check(node)
        attributes = []
        if self.positions.limit < MOST:
            attributes.append(f"tp.positions = {self.positions.limit} : i64")
        unread = [name for first in self.traced.state if first not in read
                  for name in [first, *self.traced.aliases.get(first, [])]]
        if unread:
            attributes.append(f"tp.ignored_tensors = [{', '.join(map(_text.quote, unread))}]")
        return f" attributes {{{', '.join(attributes)}}}" if attributes else ""


def _unsupported(problems):
    lines = ["the module has operations that have no form in the compiler:"]
    for problem, nodes in problems.items():
        places = {}
        for node in nodes:
            places.setdefault(line_of(node), path_of(node) or "the module itself")
        times = f" ({len(nodes)} times)" if len(nodes) > 1 else ""
        lines.append(f"  {problem}{times}")
        lines += [f"    at {path}, {line}" for line, path in places.items()]
    return InputError("export", 1, "\n".join(lines))
