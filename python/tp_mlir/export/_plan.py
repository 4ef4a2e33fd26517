"""The plan that comes with an export: how its parameters are cut.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Where the model's configuration says it (`base_model_tp_plan`), it counts. The rest follows from
the program: a linear layer whose input comes, by operations on single features or heads, from other
linear layers alone, which nothing else reads, is the second of a pair, as Megatron cuts them:
those are cut by their outputs, it by its inputs. Word tables and heads are cut by the vocabulary.
"""

import re

from ._values import Parameter

COLUMN = [["tp"], []]
ROW = [[], ["tp"]]
# Each expert by its width, as a dense layer.
_EXPERTS = {"width": [[], ["tp"], []], "inputs": [[], [], ["tp"]], "biases": [[], ["tp"]]}
INPUT = "an input"      # among the origins of a value
_NAME = re.compile(r"%[\w]+")
# What a value may pass between the two layers of a pair; all work feature by feature or head
# by head, or are a norm of a projection.
_BETWEEN = ("arith.", "math.", "nn.silu", "nn.gelu", "nn.attention", "nn.rotary", "nn.softmax",
            "nn.causal_conv", "nn.gated_delta_rule", "nn.rms_norm", "nn.layer_norm", "tensor.", "linalg.")


class Flow:
    """What reads what, from the lines that were written."""

    def __init__(self, emitter, parameters, features):
        self.parameters = parameters    # SSA name: name in the checkpoint
        self.features = features        # arguments of floats
        self.operands, self.operation = {}, {}
        for text in [*emitter.head, *emitter.lines]:
            left, _, right = text.partition(" = ")
            # Scalars of a body are names too, but no values of the program.
            outside = right.split("{\n")[0]
            for name in _NAME.findall(left):
                self.operation[name] = right.split()[0]
                self.operands[name] = _NAME.findall(outside)
        self.linears = {result: (weight, bias, rows)
                        for weight, bias, rows, result in emitter.linears}
        self.mixed = set()      # linear layers that more than another layer reads: a residual
        self._memo = {}

    def origins(self, name):
        """The linear layers that a value comes from, INPUT among them if masks and the like come
        in; None if features come from anywhere else."""
        if name in self._memo:
            return self._memo[name]
        pending = [name]
        # Depth first without recursion: models are deep.
        while pending:
            top = pending[-1]
            if top in self._memo:
                pending.pop()
                continue
            missing = [] if self._is_source(top) else [
                o for o in self.operands[top] if o not in self._memo]
            if missing:
                pending += missing
                continue
            self._memo[top] = self._combine(top)
            pending.pop()
        return self._memo[name]

    def before(self, name):
        """The linear layers that a value comes from, if it comes from them alone."""
        return (self.origins(name) or frozenset()) - {INPUT}

    def _is_source(self, name):
        return name in self.linears or name in self.parameters or name not in self.operands

    def _combine(self, name):
        if name in self.linears:
            return frozenset([name])
        if name in self.parameters:
            return frozenset()
        if name not in self.operands:
            return None if name in self.features else frozenset([INPUT])
        operation = self.operation[name]
        found = [self._memo[o] for o in self.operands[name]]
        origins = self._pass(operation, found)
        if origins is None:
            self.mixed.update(*(part for part in found if part))
        return origins

    def _pass(self, operation, found):
        """Origins of an operation's result from those of its operands."""
        if any(part is None for part in found):
            return None
        together = frozenset().union(*found)
        if not together - {INPUT}:
            # Constants and masks; but words are features.
            return None if INPUT in together and operation == "nn.embedding" else together
        if not operation.startswith(_BETWEEN):
            return None
        if operation in ("arith.addf", "arith.subf") and together not in found:
            return None             # a residual; else a part of it is added again
        return together


def structural(emitter, results, features):
    """{name in the checkpoint: "column", "row", "whole"} of weights and biases; of the matrices of
    experts, which have three dimensions, "width" and "inputs" for what is made of it, and of biases
    of the width "biases"."""
    parameters = {ssa: key[0] for key, ssa in emitter.parameters.items()}
    flow = Flow(emitter, parameters, features)
    cuts, pairs, tables = {}, [], _word_tables(flow)
    for value in [*(rows for _, _, rows in flow.linears.values()), *results]:
        flow.origins(value)
    for weight, bias, rows in reversed(flow.linears.values()):
        if not isinstance(weight, Parameter) or weight.name in tables:
            continue                # a head that is the word table, cut by the vocabulary
        before = flow.before(rows)
        if not before or before & flow.mixed:
            continue
        firsts = [flow.linears[name] for name in sorted(before, key=lambda n: int(n[1:]))]
        # One that others of them come from, as keys that all heads share beside the latents.
        earlier = {flow.linears[name][0] for _, _, x in firsts for name in flow.before(x)}
        earlier = {w.name for w in earlier if isinstance(w, Parameter)}
        firsts = [first for first in firsts
                  if not isinstance(first[0], Parameter) or first[0].name not in earlier]
        if any(not isinstance(w, Parameter) or cuts.get(w.name) == "row"
               for w, _, _ in firsts) or cuts.get(weight.name) == "column":
            continue
        pair = {}
        for first, first_bias, _ in firsts:
            pair[first.name] = "column"
            if isinstance(first_bias, Parameter):
                pair[first_bias.name] = "column"
        pair[weight.name] = "row"
        if isinstance(bias, Parameter):
            pair[bias.name] = "whole"
        pairs.append(pair)
        cuts |= pair
    cuts = {name: cut for pair in reversed(pairs) for name, cut in pair.items()}
    for gate, up, down in emitter.experts:
        cuts |= {gate.name: "width", up.name: "width", down.name: "inputs"}
    cuts |= {bias.name: "biases" for bias in emitter.expert_biases}
    _cut_vocabulary(flow, results, tables, cuts)
    return cuts


def _word_tables(flow):
    """Names of the tables that ids are looked up in."""
    tables = {}
    for name, operation in flow.operation.items():
        if operation == "nn.embedding":
            ids, table = flow.operands[name][:2]
            if table in flow.parameters and ids.startswith("%arg"):
                tables[flow.parameters[table]] = True
    return tables


def _cut_vocabulary(flow, results, tables, cuts):
    """The largest table of words, and layers that end in a result."""
    for name in tables:
        if not re.search(r"(position|pos_|type|wpe)", name):
            cuts.setdefault(name, "column")
    for result in results:
        origins = flow.origins(result)
        for name in (origins or frozenset()) - {INPUT}:
            weight, bias, rows = flow.linears[name]
            if isinstance(weight, Parameter) and (weight.name in tables
                                                  or flow.origins(rows) is None):
                cuts.setdefault(weight.name, "column")
                if isinstance(bias, Parameter):
                    cuts.setdefault(bias.name, "column")


def declared(module):
    """The same from the model's own plan, by patterns of module paths; {} if it has none."""
    plan, prefixes = {}, {}
    for path, part in module.named_modules():
        config = getattr(part, "config", None)
        rules = getattr(config, "base_model_tp_plan", None)
        prefix = getattr(part, "base_model_prefix", "")
        if not rules or path in prefixes:
            continue
        base = f"{prefix}." if prefix and hasattr(part, prefix) else ""
        if any(path.startswith(other) for other in prefixes if other != path) and prefixes:
            continue
        prefixes[path] = True
        for key, style in rules.items():
            if style.endswith("gather_output"):
                continue            # a layer by itself, where the program may have a pair
            cut = ("column" if style.startswith(("colwise", "embedding_rowwise")) else
                   "row" if style.startswith("rowwise") else None)
            if cut:
                plan[(path + "." if path else "") + base + key] = cut
    return plan


def to_json(emitter, module, results, features):
    """A plan as tp-compile reads it."""
    cuts = structural(emitter, results, features)
    names = {key[0]: len(key[2]) for key in emitter.parameters}
    for pattern, cut in declared(module).items():
        regex = re.compile(re.escape(pattern).replace(r"\*", r"[^.]+") + r"\.(weight|bias)$")
        for name in names:
            match = regex.match(name)
            if match:
                cuts[name] = "whole" if cut == "row" and match[1] == "bias" else cut
    for name in names:
        cuts.setdefault(name, "whole")
    grouped = {}
    for name, cut in cuts.items():
        if name in names:
            pattern = re.sub(r"(?<![^.])\d+(?![^.])", "*", name)
            grouped.setdefault(pattern, {}).setdefault((cut, names[name]), []).append(name)
    by_cut = {}
    for pattern, kinds in grouped.items():
        # One rule for all layers, unless they differ.
        for key, members in kinds.items():
            by_cut.setdefault(key, []).extend([pattern] if len(kinds) == 1 else members)
    rules = []
    for (cut, rank), patterns in by_cut.items():
        rule = {"parameter": patterns}
        if cut in _EXPERTS:
            rule["dims"] = _EXPERTS[cut]
        elif cut == "whole" or rank not in (1, 2) or (cut == "row" and rank == 1):
            rule["whole"] = True
        elif rank == 1:
            rule["dims"] = [["tp"]]
        else:
            rule["dims"] = COLUMN if cut == "column" else ROW
        rules.append(rule)
    rules.append({"argument": "*", "dim": 0, "axes": ["dp"], "when_axis": "dp", "even": "batch"})
    return {"version": 1, "rules": rules}
