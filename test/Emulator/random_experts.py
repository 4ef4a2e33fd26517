"""Functions of one nn.experts or nn.experts_backward, by seed.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Rows that use as many experts as they may, fewer or none; experts of all rows or of none; sizes
that chunks divide and that they do not, also of addresses. What no row uses is no number: the
matrices of experts without a row, rows without an expert, and positions of the width that are
left out.
"""

import random

from random_rows import tensor

NAN = {"f32": "0x7FC00000", "bf16": "0x7FC0", "f16": "0x7E00"}


def makeRouting(r, rows, experts, most):
    """A weight for each row and expert."""
    favourites = r.sample(range(experts), r.randint(1, experts))
    form = r.choice(["any", "full", "favourites", "one"])
    routing = []
    for _ in range(rows):
        line = [0.0] * experts
        among = favourites if form in ("favourites", "one") else range(experts)
        count = min(len(among), most if form == "full" else r.randint(0, most))
        for expert in [favourites[0]] if form == "one" else r.sample(among, count):
            line[expert] = r.choice([1, -1]) * r.choice([0.125, 0.5, 1.0, 1.75])
        routing.append(line)
    if not r.randrange(3):  # not a number, nor zero: a weight all the same
        routing[r.randrange(rows)] = [-0.0] * experts
    return routing


def masked(name, shape, kind, alive):
    """`name` where the first dimension is alive, no number elsewhere."""
    dims = ", ".join(f"d{i}" for i in range(len(shape)))
    loops = ", ".join(['"parallel"'] * len(shape))
    one, type_ = f"affine_map<({dims}) -> ({dims})>", tensor(shape, kind)
    flags = tensor([shape[0]], "i1")
    return f"""  %a{name} = arith.constant dense<{[int(is_) for is_ in alive]}> : {flags}
  %e{name} = tensor.empty() : {type_}
  %m{name} = linalg.generic {{indexing_maps = [{one}, affine_map<({dims}) -> (d0)>, {one}], iterator_types = [{loops}]}} ins(%{name}, %a{name} : {type_}, {flags}) outs(%e{name} : {type_}) {{
  ^bb0(%in: {kind}, %is: i1, %out: {kind}):
    %s = arith.select %is, %in, %nan : {kind}
    linalg.yield %s : {kind}
  }} -> {type_}
"""


def replace(name, shape, kind, dim, inside, number):
    """`name` with `number` where `inside`, along the dimension, is zero."""
    identity = "affine_map<(d0, d1, d2) -> (d0, d1, d2)>"
    type_, flags = tensor(shape, kind), tensor([len(inside)], "i32")
    return f"""  %o{name} = tensor.empty() : {type_}
  %q{name} = linalg.generic {{indexing_maps = [{identity}, affine_map<(d0, d1, d2) -> (d{dim})>, {identity}], iterator_types = ["parallel", "parallel", "parallel"]}} ins(%m{name}, %inside : {type_}, {flags}) outs(%o{name} : {type_}) {{
  ^bb0(%in: {kind}, %number: i32, %out: {kind}):
    %none = arith.constant 0 : i32
    %is = arith.cmpi ne, %number, %none : i32
    %s = arith.select %is, %in, {number} : {kind}
    linalg.yield %s : {kind}
  }} -> {type_}
"""


def leaveOut(r, kind, experts, k, f, n, isBackward):
    """Positions of the width, and the matrices without numbers there, %qg, %qu and %qd, but for
    those that zeros are multiplied with."""
    inside = [int(r.randrange(4) > 0) * r.choice([1, -2]) for _ in range(f)]
    first, last = ("%zero", "%nan") if isBackward else ("%nan", "%zero")
    text = f"  %zero = arith.constant 0.0 : {kind}\n"
    text += f"  %inside = arith.constant dense<{inside}> : {tensor([f], 'i32')}\n"
    text += replace("g", [experts, f, k], kind, 1, inside, first)
    text += replace("u", [experts, f, k], kind, 1, inside, first)
    return text + replace("d", [experts, n, f], kind, 2, inside, last)


def makeExperts(seed):
    r = random.Random(seed)
    kind = ["bf16", "f16", "f32"][seed % 3]
    experts = r.choice([1, 2, 3, 8, 31, 32, 33, 64, 70])
    most = min(experts, r.choice([1, 2, 2, 4, 8, experts]))
    rows = r.choice([1, 2, 7, 16, 33, 64, 100, 257])
    sizes = [1, 2, 7, 8, 16, 24, 33, 40, 64, 72, 130, 136]
    k, f, n = r.choice(sizes), r.choice(sizes), r.choice(sizes)
    while rows * most * f * (k + n) > 2_000_000 or experts * f * (k + n) > 600_000:
        if rows > 64:
            rows //= 2
        elif experts > 8:
            experts //= 2
            most = min(most, experts)
        else:
            k, f, n = k // 2 + 1, f // 2 + 1, n // 2 + 1
    routing = makeRouting(r, rows, experts, most)
    activation = r.choice(["relu", "silu", "gelu_erf", "gelu_tanh"])
    x, result = tensor([rows, k], kind), tensor([rows, n], kind)
    inner, outer = tensor([experts, f, k], kind), tensor([experts, n, f], kind)
    weights = tensor([rows, experts], "f32")
    used = [any(line[e] for line in routing) for e in range(experts)]
    body = f"  %nan = arith.constant {NAN[kind]} : {kind}\n"
    body += f"  %r = arith.constant dense<{routing}> : {weights}\n"
    body += masked("x", [rows, k], kind, [any(line) for line in routing])
    body += masked("g", [experts, f, k], kind, used) + masked("d", [experts, n, f], kind, used)
    body += masked("u", [experts, f, k], kind, used)
    # What an expert is expected to have decides about tiles; any answer is right.
    attributes = f'activation = "{activation}", active = {r.choice([most / experts, 0.01, 1.0])}'
    attributes += " : f64"
    if most < experts or r.randrange(2):
        attributes += f", top_k = {most} : i64"
    given = "%mx"
    if not r.randrange(3):  # begins anywhere
        skipped = r.randint(1, 7)
        flat, longer = tensor([rows * k], kind), tensor([rows * k + skipped], kind)
        body += f"""  %f = tensor.collapse_shape %mx [[0, 1]] : {x} into {flat}
  %p = tensor.pad %f low[{skipped}] high[0] {{
  ^bb0(%i: index):
    tensor.yield %nan : {kind}
  }} : {flat} to {longer}
  %c = tensor.extract_slice %p[{skipped}] [{rows * k}] [1] : {longer} to {flat}
  %z = tensor.expand_shape %c [[0, 1]] output_shape [{rows}, {k}] : {flat} into {x}
"""
        given = "%z"
    operands, made, extra = [x, weights, inner, inner, outer], [result], ""
    names, operation = f"{given}, %r, %mg, %mu, %md", "experts"
    if not r.randrange(3):
        body += leaveOut(r, kind, experts, k, f, n, seed % 2)
        operands.append(tensor([f], "i32"))
        names = f"{given}, %r, %qg, %qu, %qd inside %inside"
    if seed % 2:  # its derivative
        operands, extra = [result, *operands], f"%y: {result}, "
        names, operation = f"%my, {names}", "experts_backward"
        body += masked("y", [rows, n], kind, [any(line) for line in routing])
        made = [x, weights, *(tensor(shape, "f32") for shape in
                              ([experts, f, k], [experts, f, k], [experts, n, f]))]
    results = ", ".join(f"%{i}" for i in range(len(made)))
    body += f"""  {results} = nn.{operation} {names} {{{attributes}}} : ({', '.join(operands)}) -> ({', '.join(made)})
  return {results} : {', '.join(made)}
"""
    return (f"func.func @main({extra}%x: {x}, %g: {inner}, %u: {inner}, %d: {outer}) -> "
            f"({', '.join(made)}) {{\n{body}}}\n")
