"""Functions of one nn.attention, by seed.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Any head size, size of values, grouping, lengths, mask, window, soft cap, bias and sinks; some with infinities, with what is no
number, or with sequences of which no key is seen.
"""

import random

from random_rows import tensor


def makeAttention(seed):
    """A function with one nn.attention."""
    r = random.Random(seed)
    element = r.choice(["bf16", "f16", "f32"])
    head = r.choice([1, 2, 3, 5, 7, 8, 13, 15, 16, 17, 24, 31, 32, 33, 40, 48, 63, 64, 65, 72, 80, 96, 100, 112, 127, 128, 129, 160, 192, 200, 224, 250, 255, 256, r.randint(1, 256)])
    kv = r.choice([1, 1, 2, 3])
    group = r.choice([1, 1, 2, 3, 4, 5, 7, 8, 14, 16, 33])
    batch = r.choice([1, 1, 2, 3])
    queries = r.choice([1, 1, 2, 3, 5, 15, 16, 17, 31, 33, 63, 64, 65, 100, 129])
    keys = r.choice([queries, queries, 1, 2, 7, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 150, 257])
    while batch * queries * kv * group * keys * head > 3_000_000:
        if keys > 40:
            keys = keys // 2 + 1
        elif queries > 20:
            queries = queries // 2 + 1
        elif group > 1:
            group = (group + 1) // 2
        else:
            batch = kv = 1
    causal = r.randrange(100) < 60
    attributes = ["causal"] if causal else []
    if r.randrange(2):
        attributes.append(f"window = {r.choice([1, 2, 5, 16, 31, 64, 65, 1000])} : i64")
    forms = random.Random(seed + 1)
    if not forms.randrange(4):
        attributes.append(f"soft_cap = {forms.choice(['1.5', '30.0'])} : f64")
    attributes.append(f"scale = {r.choice(['0.125', '1.0', '0.3', '20.0', '1.0e-3'])} : f64")
    q = tensor([batch, queries, kv * group, head], element)
    k = tensor([batch, keys, kv, head], element)
    size = head if forms.randrange(3) else forms.choice([1, 8, 16, 33, 64, 80, 128, 200, forms.randint(1, 256)])
    v = tensor([batch, keys, kv, size], element)
    result = tensor([batch, queries, kv * group, size], element)
    arguments, types, mask = f"%q: {q}, %k: {k}, %v: {v}", f"{q}, {k}, {v}", ""
    lines, names = [], {"q": "%q", "k": "%k", "v": "%v"}
    if r.randrange(2):
        bits = r.choice(["i64", "i32", "i1", "i8"])
        m = tensor([batch, keys], bits)
        types, mask = types + f", {m}", " mask %m"
        if r.randrange(2):
            arguments += f", %m: {m}"
        else:  # any keys, perhaps none of a sequence
            seen = r.choice([0, 10, 50, 90])
            rows = [[int(r.randrange(100) < seen) for _ in range(keys)] for _ in range(batch)]
            lines.append(f"%m = arith.constant dense<{rows}> : {m}")
    for word, shape in (("bias", [forms.choice([1, kv * group]), queries, keys]), ("sinks", [kv * group])):
        if not forms.randrange(4):
            kind = tensor(shape, forms.choice([element, "f32"]))
            arguments += f", %{word}: {kind}"
            types, mask = types + f", {kind}", mask + f" {word} %{word}"
    if not r.randrange(3):  # what overflows, and what is no number
        name = r.choice("qkv")
        shape = [batch, queries, kv * group, head] if name == "q" else [batch, keys, kv, size if name == "v" else head]
        kind = tensor(shape, element)
        names[name] = "%changed"
        strange = r.choice({"f32": ["0x7FC00000", "0x7F800000", "0xFF800000", "1.0e38"],
                            "bf16": ["0x7FC0", "0x7F80", "0xFF80", "1.0e38"],
                            "f16": ["0x7E00", "0x7C00", "0xFC00", "6.0e4"]}[element])
        if name == "v":
            # No query need see it, or its probability may be zero in 16 bits.
            strange = "6.0e4"
        at = [r.randrange(s) for s in shape[:3]]
        lines += [f"%empty = tensor.empty() : {kind}",
                  "%changed = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, "
                  "affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = "
                  '["parallel", "parallel", "parallel", "parallel"]} '
                  f"ins(%{name} : {kind}) outs(%empty : {kind}) {{",
                  f"^bb0(%in: {element}, %out: {element}):",
                  f"  %strange = arith.constant {strange} : {element}",
                  "  %true = arith.constant true"]
        last = "%true"
        for i, position in enumerate(at):
            lines += [f"  %i{i} = linalg.index {i} : index",
                      f"  %p{i} = arith.constant {position} : index",
                      f"  %e{i} = arith.cmpi eq, %i{i}, %p{i} : index",
                      f"  %b{i} = arith.andi {last}, %e{i} : i1"]
            last = f"%b{i}"
        lines += [f"  %chosen = arith.select {last}, %strange, %in : {element}",
                  f"  linalg.yield %chosen : {element}", f"}} -> {kind}"]
    body = "".join(f"  {line}\n" for line in lines)
    return (f"func.func @main({arguments}) -> {result} {{\n{body}  %y = nn.attention "
            f"{names['q']}, {names['k']}, {names['v']}{mask} "
            f"{{{', '.join(attributes)}}} : ({types}) -> {result}\n  return %y : {result}\n}}\n")
