"""Programs of one kernel: their IR, inputs, and PyTorch's definition of each.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A program holds one kernel at several shapes, each with inputs and outputs of its
own. The same description makes the IR when packing and the inputs and the
reference on the machine with the card, so that nothing else travels.
"""

SCALE = 0.7  # of random inputs

# Small and odd, one element, past a block's threads, and a real model's.
ROWS = [(2, 3, 97), (1, 1, 8), (3, 5, 1000), (1, 33, 4096), (2, 2, 11008)]
GEMM_FORMS = ("relu", "biased", "scaled", "sum", "both")  # what follows a product
PRODUCTS = [(5, 7, 12), (33, 64, 100), (128, 512, 256)]
HEADS = [(1, 7, 3, 8), (2, 33, 5, 64), (1, 128, 8, 128)]


def tensor(shape, element):
    return "tensor<" + "x".join(map(str, shape)) + f"x{element}>"


def elements(shape):
    count = 1
    for size in shape:
        count *= size
    return count


class Program:
    """The text of a function, its inputs {name: (shape, element type)} and outputs."""

    def __init__(self):
        self.inputs, self.outputs, self.lines, self.maps = {}, {}, [], 0

    def input(self, name, shape, element):
        self.inputs[name] = (tuple(shape), element)
        return "%" + name

    def add(self, line):
        self.lines.append("  " + line)

    def output(self, name, value, shape, element):
        self.outputs[name] = (value, tuple(shape), element)

    def text(self, default=None):
        """With a default, inputs may be left out: all "ones" or all "zeros"."""
        extra = f', tp.default = "{default}"' if default else ""
        arguments = ", ".join(f'%{name}: {tensor(*what)} {{tp.name = "{name}"{extra}}}'
                              for name, what in self.inputs.items())
        results = ", ".join(f'{tensor(shape, element)} {{tp.name = "{name}"}}'
                            for name, (_, shape, element) in self.outputs.items())
        values = ", ".join(value for value, _, _ in self.outputs.values())
        types = ", ".join(tensor(shape, element) for _, shape, element in self.outputs.values())
        return (f"func.func @main({arguments}) -> ({results}) {{\n" + "\n".join(self.lines)
                + f"\n  return {values} : {types}\n}}\n")


def broadcast_last(program, i, element, shape, function, x, w):
    """%y<i> = function of x and of w, which has the last dimension alone."""
    rank = len(shape)
    dims = ", ".join(f"d{d}" for d in range(rank))
    kinds = ", ".join(['"parallel"'] * rank)
    whole = tensor(shape, element)
    program.add(f"%e{i} = tensor.empty() : {whole}")
    program.add(f"%y{i} = linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({dims})>, "
                f"affine_map<({dims}) -> (d{rank - 1})>, affine_map<({dims}) -> ({dims})>], "
                f"iterator_types = [{kinds}]}} ins({x}, {w} : {whole}, "
                f"{tensor(shape[-1:], element)}) outs(%e{i} : {whole}) {{")
    program.add(f"^bb0(%a: {element}, %b: {element}, %o: {element}):")
    for line in function:
        program.add("  " + line.replace("T", element))
    program.add(f"}} -> {whole}")
    return f"%y{i}"


# Each adds one kernel at one shape; the reference below has the same names.

def residual_rms_norm(p, i, shape, t):
    x, r = p.input(f"x{i}", shape, t), p.input(f"r{i}", shape, t)
    w = p.input(f"w{i}", shape[-1:], t)
    whole = tensor(shape, t)
    p.add(f"%s{i} = arith.addf {x}, {r} : {whole}")
    p.add(f"%n{i} = nn.rms_norm %s{i}, {w} {{epsilon = 1.0e-5 : f64}} : "
          f"({whole}, {tensor(shape[-1:], t)}) -> {whole}")
    p.output(f"sum{i}", f"%s{i}", shape, t)
    p.output(f"norm{i}", f"%n{i}", shape, t)


def layer_norm(p, i, shape, t):
    x, w = p.input(f"x{i}", shape, t), p.input(f"w{i}", shape[-1:], t)
    b = p.input(f"b{i}", shape[-1:], t)
    whole, row = tensor(shape, t), tensor(shape[-1:], t)
    p.add(f"%n{i} = nn.layer_norm {x}, {w} bias {b} {{epsilon = 1.0e-5 : f64}} : "
          f"({whole}, {row}, {row}) -> {whole}")
    p.output(f"norm{i}", f"%n{i}", shape, t)


def bias_gelu(p, i, shape, t):
    x, b = p.input(f"x{i}", shape, t), p.input(f"b{i}", shape[-1:], t)
    whole = tensor(shape, t)
    y = broadcast_last(p, i, t, shape, ["%0 = arith.addf %a, %b : T", "linalg.yield %0 : T"], x, b)
    for kind in ("erf", "tanh"):
        p.add(f"%{kind}{i} = nn.gelu {kind} {y} : {whole}")
        p.output(f"{kind}{i}", f"%{kind}{i}", shape, t)


def swiglu(p, i, shape, t):
    gate, up = p.input(f"gate{i}", shape, t), p.input(f"up{i}", shape, t)
    whole = tensor(shape, t)
    p.add(f"%s{i} = nn.silu {gate} : {whole}")
    p.add(f"%y{i} = arith.mulf %s{i}, {up} : {whole}")
    p.output(f"y{i}", f"%y{i}", shape, t)


def softmax(p, i, shape, t):
    x = p.input(f"x{i}", shape, t)
    p.add(f"%y{i} = nn.softmax {x} : {tensor(shape, t)}")
    p.output(f"y{i}", f"%y{i}", shape, t)


def user_row_operation(p, i, shape, t):
    x, w = p.input(f"x{i}", shape, t), p.input(f"w{i}", shape[-1:], t)
    y = broadcast_last(p, i, t, shape, [
        "%one = arith.constant 1.0 : T", "%0 = math.absf %a : T", "%1 = arith.addf %0, %one : T",
        "%2 = arith.divf %a, %1 : T", "%3 = arith.mulf %2, %b : T", "linalg.yield %3 : T"], x, w)
    p.output(f"y{i}", y, shape, t)


def cast(p, i, shape, t):
    x = p.input(f"x{i}", shape, "f32" if t != "f32" else "bf16")
    operation = "truncf" if t != "f32" else "extf"
    source = tensor(shape, "f32" if t != "f32" else "bf16")
    p.add(f"%y{i} = arith.{operation} {x} : {source} to {tensor(shape, t)}")
    p.output(f"y{i}", f"%y{i}", shape, t)


def embedding(p, i, shape, t):
    """A part of a table: ids of other parts give rows of zeros."""
    rows, first = 61, 7
    ids = p.input(f"ids{i}", shape[:2], "i64")
    table = p.input(f"table{i}", (rows, shape[-1]), t)
    p.add(f"%o{i} = arith.constant {first} : index")
    p.add(f"%y{i} = nn.embedding {ids}, {table} offset %o{i} : "
          f"({tensor(shape[:2], 'i64')}, {tensor((rows, shape[-1]), t)}, index) -> "
          f"{tensor(shape, t)}")
    p.output(f"y{i}", f"%y{i}", shape, t)


def rotary(p, i, shape, t):
    x, half = p.input(f"x{i}", shape, t), shape[-1] // 2
    frequencies = ", ".join(f"{700.0 ** (-j / half):.9e}" for j in range(half))
    table = tensor((shape[1], half), "f32")
    p.add(f"%c{i}, %n{i} = nn.rotary_table {{inv_freq = dense<[{frequencies}]> : "
          f"tensor<{half}xf32>}} : {table}, {table}")
    whole = tensor(shape, t)
    p.add(f"%y{i} = nn.rotary {x}, %c{i}, %n{i} : ({whole}, {table}, {table}) -> {whole}")
    p.output(f"y{i}", f"%y{i}", shape, t)


# batch, queries, keys, query heads, key heads, head size, causal, window, mask
ATTENTIONS = [
    dict(b=1, s=5, t=5, hq=2, hk=1, d=16, causal=True),
    dict(b=2, s=33, t=33, hq=6, hk=2, d=64, causal=True),
    dict(b=1, s=130, t=130, hq=4, hk=4, d=128, causal=True),
    dict(b=2, s=65, t=65, hq=3, hk=3, d=32, causal=False, mask=True),
    dict(b=1, s=70, t=70, hq=4, hk=2, d=96, causal=False),
    dict(b=1, s=100, t=100, hq=8, hk=8, d=64, causal=True, window=17),
    dict(b=1, s=9, t=77, hq=4, hk=1, d=128, causal=True),
    dict(b=2, s=256, t=256, hq=8, hk=2, d=128, causal=True),
]


def attention(p, i, shape, t):
    a = ATTENTIONS[shape]
    queries = (a["b"], a["s"], a["hq"], a["d"])
    keys = (a["b"], a["t"], a["hk"], a["d"])
    q = p.input(f"q{i}", queries, t)
    k, v = p.input(f"k{i}", keys, t), p.input(f"v{i}", keys, t)
    mask, type_of_mask = "", ""
    if a.get("mask"):
        mask = " mask " + p.input(f"mask{i}", keys[:2], "i64")
        type_of_mask = ", " + tensor(keys[:2], "i64")
    flags = [f"scale = {a['d'] ** -0.5!r} : f64"]
    if a["causal"]:
        flags.insert(0, "causal")
    if a.get("window"):
        flags.append(f"window = {a['window']} : i64")
    p.add(f"%y{i} = nn.attention {q}, {k}, {v}{mask} {{{', '.join(flags)}}} : "
          f"({tensor(queries, t)}, {tensor(keys, t)}, {tensor(keys, t)}{type_of_mask}) -> "
          f"{tensor(queries, t)}")
    p.output(f"y{i}", f"%y{i}", queries, t)


def gemm(p, i, shape, t):
    """What a product's library does beside it; the shape is rows, n, k."""
    rows, n, k = shape
    x, w, y = tensor((rows, k), t), tensor((n, k), t), tensor((rows, n), t)
    # Each form multiplies an input of its own: equal products would be computed once.
    names = {name: p.input(f"{name}{i}", size, t) for name, size in
             {**{f"x_{form}": (rows, k) for form in GEMM_FORMS}, "nan": (rows, k),
              "w": (n, k), "b": (n,), "r": (rows, n), "v": (n, n)}.items()}
    for name, value in {"zero": 0.0, "one": 1.0, "factor": 0.3}.items():
        p.add(f"%{name}{i} = arith.constant dense<{value}> : {y}")

    def add(name, operation, *operands):
        p.add(f"%{name}{i} = arith.{operation} " + ", ".join(f"%{o}{i}" for o in operands)
              + f" : {y}")

    def linear(name, x_name):
        p.add(f"%{name}{i} = nn.linear {names[x_name]}, {names['w']} : ({x}, {w}) -> {y}")
    for form in ("relu", "scaled", "sum", "both"):
        linear(f"{form}_of", f"x_{form}")
    p.add(f"%biased_of{i} = nn.linear {names['x_biased']}, {names['w']} bias {names['b']} : "
          f"({x}, {w}, {tensor((n,), t)}) -> {y}")
    add("relu", "maximumf", "relu_of", "zero")
    add("biased", "maximumf", "biased_of", "zero")
    add("scaled", "mulf", "scaled_of", "factor")
    add("half_sum", "mulf", "sum_of", "factor")
    add("sum", "addf", "half_sum", "r")
    add("half_both", "mulf", "both_of", "factor")
    add("both", "maximumf", "half_both", "zero")
    # One where relu has kept NaN, behind a product that reads it from memory.
    linear("nan_of", "nan")
    add("kept_of", "maximumf", "nan_of", "zero")
    p.add(f"%through{i} = nn.linear %kept_of{i}, {names['v']} : ({y}, {tensor((n, n), t)}) -> {y}")
    p.add(f"%isnan{i} = arith.cmpf uno, %through{i}, %through{i} : {y}")
    p.add(f"%kept{i} = arith.select %isnan{i}, %one{i}, %zero{i} : "
          f"{tensor((rows, n), 'i1')}, {y}")
    for name in (*GEMM_FORMS, "kept"):
        p.output(f"{name}{i}", f"%{name}{i}", (rows, n), t)


# rows, n, k, element of the weight, rows and columns of a group (0: all): few rows and more than
# tensor cores have tiles for, a real model's, and what no vector divides.
QUANTIZED = [(1, 512, 1024, "i4", 1, 128), (8, 4096, 512, "f8E4M3FN", 128, 128),
             (3, 65, 99, "i8", 1, 0), (40, 130, 160, "i4", 1, 32), (17, 99, 67, "i4", 1, 20),
             (96, 256, 192, "f8E4M3FN", 1, 0), (512, 4096, 256, "i4", 1, 128),
             (2048, 1280, 128, "f8E4M3FN", 128, 128)]


def quantized_linear(p, i, shape, t):
    rows, n, k, element, group_n, group_k = shape
    groups = (-(-n // group_n) if group_n else 1, -(-k // group_k) if group_k else 1)
    line = (k + 1) // 2 if element == "i4" else k
    x = p.input(f"x{i}", (rows, k), t)
    w, s = p.input(f"w{i}", (n, line), "i8"), p.input(f"s{i}", groups, "f32")
    p.add(f"%y{i} = nn.quantized_linear {x}, {w}, {s} {{element = {element}, "
          f"group = array<i64: {group_n}, {group_k}>}} : ({tensor((rows, k), t)}, "
          f"{tensor((n, line), 'i8')}, {tensor(groups, 'f32')}) -> {tensor((rows, n), t)}")
    p.output(f"y{i}", f"%y{i}", (rows, n), t)


def dequantized(torch, values, scales, shape):
    """The numbers that a weight stands for: four bits two to a byte, the first in the low ones."""
    _, n, k, element, group_n, group_k = shape
    if element == "i4":
        low = values.to(torch.int32) & 255
        values = torch.stack([(low & 15 ^ 8) - 8, (low >> 4 ^ 8) - 8], -1).reshape(n, -1)[:, :k]
    elif element == "f8E4M3FN":
        values = values.view(torch.float8_e4m3fn)
    spread = scales.repeat_interleave(group_n or n, 0)[:n]
    return values.float() * spread.repeat_interleave(group_k or k, 1)[:, :k]


KERNELS = {
    "residual_rms_norm": (residual_rms_norm, ROWS),
    "layer_norm": (layer_norm, ROWS),
    "bias_gelu": (bias_gelu, ROWS),
    "swiglu": (swiglu, ROWS),
    "softmax": (softmax, ROWS),
    "user_row_operation": (user_row_operation, ROWS),
    "cast": (cast, ROWS),
    "embedding": (embedding, ROWS),
    "rotary": (rotary, HEADS),
    "attention": (attention, range(len(ATTENTIONS))),
    "gemm": (gemm, PRODUCTS),
    "quantized_linear": (quantized_linear, QUANTIZED),
}
TYPES = ("f32", "bf16", "f16")

# One row kernel at one large shape, to be timed: 512 MiB of bf16 in each tensor, ten
# times what caches hold, so that neither they nor a launch count.
LARGE = {**{name: (1, 32768, 8192) for name in
            ("residual_rms_norm", "layer_norm", "bias_gelu", "swiglu", "softmax",
             "user_row_operation", "cast")}, "rotary": (16, 2048, 64, 128)}


def program(kernel, element, shapes=None):
    make, usual = KERNELS[kernel]
    result = Program()
    for i, shape in enumerate(shapes or usual):
        make(result, i, shape, element)
    return result


def tables(kernel, torch, shape, device):
    """What a program makes once and not in each step: rotary's cosines and sines."""
    if kernel != "rotary":
        return None
    half = shape[-1] // 2
    frequency = torch.tensor([700.0 ** (-j / half) for j in range(half)], device=device)
    angle = torch.arange(shape[1], device=device)[:, None] * frequency
    return angle.cos()[:, None], angle.sin()[:, None]


def reference(kernel, torch, values, i, shape, made=None):
    """What PyTorch makes of the inputs of one shape, computed in f32: {output: tensor};
    `made`: its `tables`, if they are there already."""
    f = torch.nn.functional
    wide = {name: v.float() if v.is_floating_point() else v for name, v in values.items()}

    def get(name):
        return wide[f"{name}{i}"]
    if kernel == "residual_rms_norm":
        # The sum is rounded to the element type before it is normalised.
        total = (get("x") + get("r")).to(values[f"x{i}"].dtype).float()
        norm = total * torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + 1e-5) * get("w")
        return {f"sum{i}": total, f"norm{i}": norm}
    if kernel == "layer_norm":
        return {f"norm{i}": f.layer_norm(get("x"), shape[-1:], get("w"), get("b"), 1e-5)}
    if kernel == "bias_gelu":
        y = (get("x") + get("b")).to(values[f"x{i}"].dtype).float()
        return {f"erf{i}": f.gelu(y), f"tanh{i}": f.gelu(y, approximate="tanh")}
    if kernel == "swiglu":
        return {f"y{i}": f.silu(get("gate")) * get("up")}
    if kernel == "softmax":
        return {f"y{i}": get("x").softmax(-1)}
    if kernel == "user_row_operation":
        return {f"y{i}": get("x") / (1 + get("x").abs()) * get("w")}
    if kernel == "cast":
        return {f"y{i}": get("x")}
    if kernel == "embedding":
        ids, table = get("ids") - 7, get("table")
        inside = (ids >= 0) & (ids < table.shape[0])
        return {f"y{i}": table[ids.clamp(0, table.shape[0] - 1)] * inside[..., None]}
    if kernel == "rotary":
        x, half = get("x"), shape[-1] // 2
        c, s = made or tables(kernel, torch, shape, x.device)
        a, b = x[..., :half], x[..., half:]
        return {f"y{i}": torch.cat([a * c - b * s, b * c + a * s], -1)}
    if kernel == "gemm":
        y = {form: get(f"x_{form}") @ get("w").T for form in GEMM_FORMS}
        factor = torch.tensor(0.3).to(values[f"w{i}"].dtype).float().item()
        return {f"relu{i}": y["relu"].relu(), f"biased{i}": (y["biased"] + get("b")).relu(),
                f"scaled{i}": y["scaled"] * factor, f"sum{i}": y["sum"] * factor + get("r"),
                f"both{i}": (y["both"] * factor).relu(),
                f"kept{i}": torch.ones_like(y["relu"])}
    if kernel == "quantized_linear":
        weight = dequantized(torch, values[f"w{i}"], values[f"s{i}"], shape)
        return {f"y{i}": get("x") @ weight.T}
    assert kernel == "attention"
    a = ATTENTIONS[shape]
    q, k, v = (get(n).transpose(1, 2) for n in "qkv")
    k, v = (x.repeat_interleave(a["hq"] // a["hk"], 1) for x in (k, v))
    at = torch.arange(a["s"], device=q.device)[:, None] + a["t"] - a["s"]
    key = torch.arange(a["t"], device=q.device)[None]
    seen = torch.ones(a["s"], a["t"], dtype=torch.bool, device=q.device)
    if a["causal"]:
        seen = key <= at
    if a.get("window"):
        seen = seen & (key > at - a["window"])
    seen = seen[None, None]
    if a.get("mask"):
        seen = seen & (get("mask") != 0)[:, None, None]
    scores = (q @ k.transpose(2, 3) * a["d"] ** -0.5).masked_fill(~seen, -float("inf"))
    return {f"y{i}": (scores.softmax(-1) @ v).transpose(1, 2)}


def random_inputs(inputs, torch, device, seed=1):
    """Values for a program's inputs; ids reach past the table, masks pad on the right."""
    generator = torch.Generator(device=device).manual_seed(seed)
    types = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
    values = {}
    for name, (shape, element) in inputs.items():
        if element == "i64" and name.startswith("mask"):
            length = torch.full((shape[0], 1), shape[1], device=device)
            length[1:] = shape[1] * 2 // 3
            at = torch.arange(shape[1], device=device)[None]
            values[name] = (at < length).long()
        elif name.startswith("nan"):
            values[name] = torch.full(shape, float("nan"), device=device).to(types[element])
        elif element == "i8":  # bytes that are numbers as floats, too
            half, sign = (torch.randint(0, end, shape, generator=generator, device=device)
                          for end in (120, 2))
            values[name] = (half - 128 * sign).to(torch.int8)
        elif element == "i64":
            values[name] = torch.randint(0, 75, shape, generator=generator, device=device)
        else:
            value = torch.randn(shape, generator=generator, device=device) * SCALE
            values[name] = value.to(types[element])
    return values
