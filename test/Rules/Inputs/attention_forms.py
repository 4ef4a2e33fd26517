"""Functions of attention in every combination of its forms, by seed.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

    attention_forms.py RANKS COUNT SEED

Writes a module of COUNT functions, each with an nn.attention, its derivative, or attention over
pages, whose heads lie on RANKS ranks: soft cap, window with and without causality, values of
another size, bias of one head or of each, sinks, mask, grouped heads, heads that the ranks do not
divide. tp-verify holds each against its definition on one device.
"""

import random
import sys


def tensor(shape, element):
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


class Forms:
    """What one attention is, and its text."""

    def __init__(self, r, ranks):
        self.element = r.choice(["f32", "f32", "bf16", "f16"])
        self.kv, self.group = r.choice([(1, 4), (2, 1), (2, 2), (4, 1), (4, 3), (3, 2), (5, 1)])
        if ranks > self.kv:     # more ranks than KV heads: those of one share it
            self.kv, self.group = r.choice([(1, 4), (1, 6), (2, 2), (2, 4), (5, 1)])
        self.b, self.s = r.choice([1, 2]), r.choice([1, 3, 6])
        self.t = self.s + r.choice([0, 0, 1, 4])
        self.d, self.e = r.choice([(4, 4), (6, 4), (3, 8), (8, 5)])
        self.causal = r.random() < 0.5
        self.window = r.choice([None, 1, 2, 3, 5])
        self.cap = r.choice([None, None, 1.5, 30.0])
        self.bias = r.choice([None, 1, self.heads])
        self.bias_element = r.choice([self.element, "f32"])
        self.sinks = r.random() < 0.4
        self.mask = r.random() < 0.3

    @property
    def heads(self):
        return self.kv * self.group

    def attributes(self):
        parts = ["causal"] if self.causal else []
        parts += [f"scale = {0.7 if self.cap is None else 2.0} : f64"]
        parts += [f"window = {self.window} : i64"] if self.window else []
        parts += [f"soft_cap = {self.cap} : f64"] if self.cap else []
        return "{" + ", ".join(parts) + "}"

    def shapes(self):
        f = self.element
        return {"q": tensor([self.b, self.s, self.heads, self.d], f),
                "k": tensor([self.b, self.t, self.kv, self.d], f),
                "v": tensor([self.b, self.t, self.kv, self.e], f),
                "o": tensor([self.b, self.s, self.heads, self.e], f),
                "m": tensor([self.b, self.t], "i1"),
                "l": tensor([self.b, self.s, self.heads], "f32"),
                "bias": tensor([self.bias or 1, self.s, self.t], self.bias_element),
                "sinks": tensor([self.heads], "f32"),
                "dk": tensor([self.b, self.t, self.heads, self.d], "f32"),
                "dv": tensor([self.b, self.t, self.heads, self.e], "f32"),
                "dbias": tensor([self.b, self.heads, self.s, self.t], "f32")}


def split(dimension, rank):
    """A sharding of one dimension."""
    dims = ["{}"] * rank
    dims[dimension] = '{"tp"}'
    return f"{{tp.sharding = #tp.sharding<@mesh, [{', '.join(dims)}]>}}"


def forward(name, f):
    types = f.shapes()
    arguments = [f"%q: {types['q']} {split(2, 4)}", f"%k: {types['k']}", f"%v: {types['v']}"]
    operands, kinds = "%q, %k, %v", ["q", "k", "v"]
    for wanted, word, argument, kind in ((f.mask, "mask", "%m", "m"), (f.bias, "bias", "%x", "bias"),
                                         (f.sinks, "sinks", "%z", "sinks")):
        if wanted:
            arguments.append(f"{argument}: {types[kind]}")
            operands += f" {word} {argument}"
            kinds.append(kind)
    operand_types = ", ".join(types[kind] for kind in kinds)
    return (f"func.func @{name}({', '.join(arguments)}) -> {types['o']} {{\n"
            f"  %o, %l = nn.attention {operands} {f.attributes()} : ({operand_types}) -> "
            f"({types['o']}, {types['l']})\n  return %o : {types['o']}\n}}\n")


def backward(name, f):
    types = f.shapes()
    arguments = [f"%do: {types['o']}", f"%q: {types['q']} {split(2, 4)}", f"%k: {types['k']}",
                 f"%v: {types['v']}", f"%delta: {types['l']}"]
    operands, kinds = "", ["q", "k", "v"]
    for wanted, word, argument, kind in ((f.mask, "mask", "%m", "m"), (f.bias, "bias", "%x", "bias")):
        if wanted:
            arguments.append(f"{argument}: {types[kind]}")
            operands += f" {word} {argument}"
            kinds.append(kind)
    results = ["q", "dk", "dv"] + (["dbias"] if f.bias else [])
    result_types = ", ".join(types[kind] for kind in results)
    values = ", ".join(f"%g#{i}" for i in range(len(results)))
    both = f"{f.attributes()} : ("
    after = "".join(f", {types[kind]}" for kind in kinds[3:])
    return (f"func.func @{name}({', '.join(arguments)}) -> ({result_types}) {{\n"
            f"  %o, %l = nn.attention %q, %k, %v{operands} {both}"
            f"{', '.join(types[kind] for kind in kinds)}) -> ({types['o']}, {types['l']})\n"
            f"  %g:{len(results)} = nn.attention_backward %do, %q, %k, %v, %l, %delta{operands} {both}"
            f"{types['o']}, {types['q']}, {types['k']}, {types['v']}, {types['l']}, {types['l']}"
            f"{after}) -> ({result_types})\n  return {values} : {result_types}\n}}\n")


def paged(name, f):
    tokens, page, cells = f.s, 4, 24
    q, o = (tensor([1, tokens, f.heads, size], f.element) for size in (f.d, f.e))
    keys, values = (tensor([cells, f.kv, size], f.element) for size in (f.d, f.e))
    f.causal = False
    numbers, table, sinks = f"tensor<{tokens}xi32>", "tensor<2x3xi32>", f"tensor<{f.heads}xf32>"
    extra = (" sinks %z", f", %z: {sinks}", f", {sinks}") if f.sinks else ("", "", "")
    if f.bias:
        bias = f"tensor<{f.heads}x{3 * page}xf32>"
        added = (" bias %bias", f", %bias: {bias} {split(0, 2)}", f", {bias}")
        extra = tuple(new + old for new, old in zip(added, extra))
    attributes = f.attributes().replace("{", f"{{page = {page} : i64, ", 1)
    bound = "{tp.range = array<i64: -1, %d>}"
    return (f"func.func @{name}(%q: {q} {split(2, 4)}, %k: {keys}, %v: {values}, "
            f"%r: {numbers} {bound % 2}, %p: {numbers} {bound % 12}, %t: {table} {bound % 6}"
            f"{extra[1]}) -> {o} {{\n"
            f"  %o = nn.paged_attention %q, %k, %v, %r, %p, %t{extra[0]} {attributes} : ({q}, {keys}, "
            f"{values}, {numbers}, {numbers}, {table}{extra[2]}) -> {o}\n  return %o : {o}\n}}\n")


def main():
    ranks, count, seed = map(int, sys.argv[1:])
    r = random.Random(seed)
    print(f'tp.mesh @mesh <["tp"={ranks}]>')
    for i in range(count):
        write = [forward, backward, paged][i % 3]
        print(write(f"f{i}", Forms(r, ranks)))


if __name__ == "__main__":
    main()
