"""Functions of one nn.cache_write and one nn.paged_attention, by seed.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A step of generation: rows of any lengths on pages in any order, single tokens and pieces of
prompts, rows without a token, padding tokens, windows, values of another size; sometimes rows and positions that
no step would have, and pages that are missing. Cells that no token sees are no numbers.
"""

import random

from random_rows import tensor


def makeRows(r, tokens, rows, page, slots):
    """Row and position of each token."""
    limit = page * slots
    if not r.randrange(5):  # no step has these
        return ([r.choice([-1, rows, *range(rows), 0]) for _ in range(tokens)],
                [r.randrange(-2, limit + 3) for _ in range(tokens)])
    padding = r.choice([0, 0, r.randrange(tokens)])
    cuts = sorted(r.randrange(tokens - padding + 1) for _ in range(rows - 1))
    starts = [0, *cuts, tokens - padding]
    names, positions = [], []
    for row in range(rows):
        count = starts[row + 1] - starts[row]
        # Often right before or behind the end of a page.
        context = max(0, r.choice([0, r.randrange(limit),
                                   r.randrange(slots) * page + r.randrange(-1, 2)]))
        context = min(context, max(0, limit - count))
        names += [row] * count
        positions += [context + i for i in range(count)]
    return names + [-1] * padding, positions + [-1] * padding


def findCell(table, page, pages, row, position):
    """The cell, or -1."""
    slot = position // page
    if not 0 <= row < len(table) or position < 0 or slot >= len(table[0]):
        return -1
    entry = table[row][slot]
    return entry * page + position % page if 0 <= entry < pages else -1


def makePaged(seed):
    r = random.Random(seed)
    query = r.choice(["bf16", "f16", "f32"])
    cache = r.choice([query, query, "bf16", "f16", "f32"])
    head = r.choice([16, 32, 64, 128, 128, 1, 5, 24, 33, 80, 200, 256, r.randint(1, 256)])
    kv, group = r.choice([1, 1, 2, 3]), r.choice([1, 1, 2, 4, 7, 8, 33, 71])
    rows, page = r.choice([1, 2, 3, 5, 16]), r.choice([1, 4, 16, 24, 32, 32, 64])
    tokens = r.choice([1, 1, 2, 4, 5, 8, 16, 17, 33, 64, 100])
    slots = r.choice([1, 2, 3, 5, 12, 40])
    while tokens * kv * group * slots * page * head > 2_000_000:
        if slots > 3:
            slots = slots // 2 + 1
        elif tokens > 8:
            tokens //= 2
        elif group > 1:
            group = group // 2
        elif page > 4:
            page //= 2
        else:
            kv, head = 1, head // 2 + 1
    names, positions = makeRows(r, tokens, rows, page, slots)
    pages = rows * slots
    numbers = list(range(pages))
    r.shuffle(numbers)
    table = [numbers[row * slots:(row + 1) * slots] for row in range(rows)]
    for _ in range(r.choice([0, 0, 1, 3])):
        table[r.randrange(rows)][r.randrange(slots)] = r.choice([-1, pages])
    window = r.choice([0, 0, 1, 3, page, page + 1, 3 * page])
    seen = set()
    for row, position in zip(names, positions):
        first = max(0, position - window + 1) if window else 0
        seen |= {findCell(table, page, pages, row, p) for p in range(first, position + 1)}
    cells = pages * page
    alive = [int(cell in seen) for cell in range(cells)]
    written = [findCell(table, page, pages, row, p) for row, p in zip(names, positions)]
    written = [c if written.index(c) == i else r.choice([-1, cells]) for i, c in enumerate(written)]
    q, new = tensor([1, tokens, kv * group, head], query), tensor([tokens, kv, head], cache)
    pool = tensor([cells, kv, head], cache)
    forms = random.Random(seed + 1)
    size = head if forms.randrange(3) else forms.choice([1, 8, 24, 64, 100, forms.randint(1, 256)])
    values = tensor([cells, kv, size], cache)
    result = tensor([1, tokens, kv * group, size], query)
    nan = {"f32": "0x7FC00000", "bf16": "0x7FC0", "f16": "0x7E00"}[cache]
    maps = ("[affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a)>, "
            "affine_map<(a, b, c) -> (a, b, c)>]")

    def numbersOf(name, values, shape):
        return f"  %{name} = arith.constant dense<{values}> : {tensor(shape, 'i32')}\n"

    body = numbersOf("rows", names, [tokens]) + numbersOf("positions", positions, [tokens])
    body += numbersOf("cells", written, [tokens]) + numbersOf("table", table, [rows, slots])
    body += f"  %alive = arith.constant dense<{alive}> : {tensor([cells], 'i1')}\n"
    body += f"  %nan = arith.constant {nan} : {cache}\n"
    for name, pool in (("v", values), ("k", pool)):
        body += f"""  %e{name} = tensor.empty() : {pool}
  %p{name} = linalg.generic {{indexing_maps = {maps}, iterator_types = ["parallel", "parallel", "parallel"]}} ins(%{name}, %alive : {pool}, {tensor([cells], 'i1')}) outs(%e{name} : {pool}) {{
  ^bb0(%in: {cache}, %is: i1, %out: {cache}):
    %s = arith.select %is, %in, %nan : {cache}
    linalg.yield %s : {cache}
  }} -> {pool}
"""
    attributes = f"page = {page} : i64, scale = {r.choice(['0.125', '1.0', '0.3', '-0.5'])} : f64"
    if window:
        attributes += f", window = {window} : i64"
    if not forms.randrange(4):
        attributes += f", soft_cap = {forms.choice(['1.5', '30.0'])} : f64"
    many = tensor([tokens], "i32")
    extra = ("", "", "")
    for name, shape in (("sinks", [kv * group]), ("bias", [kv * group, slots * page])):
        if not forms.randrange(4):
            kind = tensor(shape, forms.choice([query, "f32"]))
            added = (f", %{name}: {kind}", f" {name} %{name}", f", {kind}")
            extra = tuple(new + old for new, old in zip(added, extra))
    body += f"""  %keys = nn.cache_write %new, %cells, %pk : ({new}, {many}, {pool}) -> {pool}
  %y = nn.paged_attention %q, %keys, %pv, %rows, %positions, %table{extra[1]} {{{attributes}}} : ({q}, {pool}, {values}, {many}, {many}, {tensor([rows, slots], 'i32')}{extra[2]}) -> {result}
  return %y : {result}
"""
    return f"func.func @main(%q: {q}, %new: {new}, %k: {pool}, %v: {values}{extra[0]}) -> {result} {{\n{body}}}\n"
