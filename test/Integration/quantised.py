"""Quantised checkpoints of random numbers, written from the descriptions of their formats.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

`write(folder, format, seed)` makes a small Llama whose linear layers are quantised, and beside it
one whose weights are the numbers that these stand for, in f32. Nothing here is shared with the
compiler, the runtime or tp-quantize: elements are packed one by one, by numpy.
"""

import json

import numpy
from safetensors.numpy import save_file

LAYERS = 2
LINEAR = {"self_attn.q_proj": ("heads", "hidden"), "self_attn.k_proj": ("keys", "hidden"),
          "self_attn.v_proj": ("keys", "hidden"), "self_attn.o_proj": ("hidden", "heads"),
          "mlp.gate_proj": ("width", "hidden"), "mlp.up_proj": ("width", "hidden"),
          "mlp.down_proj": ("hidden", "width")}


class E4M3(numpy.ndarray):
    """Bytes that are floats of eight bits in the file, for which numpy has no type."""


def e4m3(bits):
    """The number that each byte is: sign, four bits of exponent, three of mantissa."""
    bits = bits.astype(numpy.int64)
    exponent, mantissa = bits >> 3 & 15, bits & 7
    value = numpy.where(exponent == 0, mantissa * 2.0 ** -9,
                        (8 + mantissa) * 2.0 ** (exponent - 10.0))
    value = numpy.where(bits & 127 == 127, numpy.nan, value)
    return numpy.where(bits & 128, -value, value).astype(numpy.float32)


def pack(numbers, bits, axis, order=None):
    """Numbers of [0, 2**bits) in words of 32 bits along `axis`, from the low bits up. Element j of
    a word is number order[j] of its part."""
    numbers = numpy.moveaxis(numbers.astype(numpy.int64), axis, -1)
    each = 32 // bits
    missing = -numbers.shape[-1] % each
    numbers = numpy.pad(numbers, [(0, 0)] * (numbers.ndim - 1) + [(0, missing)])
    numbers = numbers.reshape(*numbers.shape[:-1], -1, each)
    words = numpy.zeros(numbers.shape[:-1], numpy.uint32)
    for j in range(each):
        words |= (numbers[..., order[j] if order else j] << (bits * j)).astype(numpy.uint32)
    return numpy.ascontiguousarray(numpy.moveaxis(words.view(numpy.int32), -1, axis))


def scales_of(rng, shape, size, dtype=numpy.float32):
    """Scales that keep a row's product about one; one of them is zero."""
    scales = rng.uniform(0.5, 1.5, shape) / (size * numpy.sqrt(shape[-1] * 16))
    scales.flat[rng.integers(scales.size)] = 0 if scales.size > 1 else scales.flat[0]
    return scales.astype(dtype)


def spread(scales, group, k):
    """[n, groups] to [n, k]."""
    return numpy.repeat(scales, group, axis=1)[:, :k]


def integers(rng, n, k, bits):
    half = 1 << (bits - 1)
    q = rng.integers(-half, half, (n, k))
    q.flat[0], q.flat[-1] = -half, half - 1
    return q


def compressed_tensors(rng, n, k, bits, group, symmetric=True, order=None, packed=True):
    """(tensors, weight) of compressed-tensors' integers."""
    q = integers(rng, n, k, bits)
    half, groups = 1 << (bits - 1), -(-k // group) if group else 1
    scales = scales_of(rng, (n, groups), half, numpy.float16).astype(numpy.float32)
    zeros = numpy.zeros((n, groups), numpy.int64)
    tensors = {"weight_scale": scales}
    if packed:
        tensors |= {"weight_packed": pack(q + half, bits, 1),
                    "weight_shape": numpy.array([n, k], numpy.int64)}
    else:
        tensors["weight"] = q.astype(numpy.int8)
    if not symmetric:
        zeros = rng.integers(-half, half, (n, groups))
        zeros.flat[0], zeros.flat[-1] = -half, half - 1
        tensors["weight_zero_point"] = (pack(zeros + half, bits, 0) if packed
                                        else zeros.astype(numpy.int8))
    member = numpy.arange(k) // (group or k)
    if order == "group":
        member = rng.permutation(member)
        tensors["weight_g_idx"] = member.astype(numpy.int32)
    return tensors, (q - zeros[:, member]).astype(numpy.float32) * scales[:, member]


def compressed_float(rng, n, k, strategy):
    bits = rng.integers(0, 256, (n, k)).astype(numpy.uint8)
    bits[bits & 127 > 118] = 3
    shape = {"channel": (n, 1), "tensor": (1, 1)}[strategy]
    scales = scales_of(rng, shape, 16)
    return ({"weight": bits.view(E4M3),
             "weight_scale": scales.reshape(-1) if strategy == "tensor" else scales},
            e4m3(bits) * scales)


E2M1 = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], numpy.float32)


def nibbles(rng, n, k):
    """(two to a byte, the first in the low bits; their numbers)."""
    q = rng.integers(0, 16, (n, k))
    q.flat[:16] = numpy.arange(16)
    return (q[:, ::2] | q[:, 1::2] << 4).astype(numpy.uint8), E2M1[q]


def nvfp4(rng, n, k, divides):
    """A scale in e4m3 of each 16 inputs, and one in f32 of all these."""
    packed, numbers = nibbles(rng, n, k)
    bits = rng.integers(0x28, 0x48, (n, k // 16)).astype(numpy.uint8)
    bits.flat[0], bits.flat[-1] = 0, 1
    outer = numpy.float32(rng.uniform(0.5, 1.5) / (4 * numpy.sqrt(k)))
    weight = numbers * numpy.repeat(e4m3(bits) * outer, 16, axis=1)
    tensors = {"weight_scale": bits.view(E4M3)}
    if divides:
        return tensors | {"weight_packed": packed, "input_global_scale": numpy.ones(1, numpy.float32),
                          "weight_global_scale": numpy.array([1 / outer], numpy.float32)}, weight
    return tensors | {"weight": packed, "weight_scale_2": numpy.array(outer, numpy.float32),
                      "input_scale": numpy.array(1, numpy.float32)}, weight


def microscaled(rng, n, k, bits):
    """Powers of two of each 32 inputs, the exponent plus 127 in a byte."""
    exponents = rng.integers(118, 124, (n, k // 32)).astype(numpy.uint8)
    exponents.flat[0] = 0
    scales = numpy.repeat(2.0 ** (exponents.astype(numpy.float64) - 127), 32, axis=1)
    if bits == 4:
        packed, numbers = nibbles(rng, n, k)
        return ({"weight_packed": packed, "weight_scale": exponents},
                (numbers * scales).astype(numpy.float32))
    elements = rng.integers(0, 0x50, (n, k)).astype(numpy.uint8) | 0x80 * rng.integers(0, 2, (n, k))
    elements = elements.astype(numpy.uint8)
    return ({"weight": elements.view(E4M3), "weight_scale": exponents},
            (e4m3(elements) * scales).astype(numpy.float32))


def blocks(rng, n, k, size):
    bits = rng.integers(0, 256, (n, k)).astype(numpy.uint8)
    bits[bits & 127 > 118] = 3
    scales = scales_of(rng, (-(-n // size), -(-k // size)), 64)
    weight = numpy.repeat(numpy.repeat(scales, size, 0)[:n], size, 1)[:, :k]
    return {"weight": bits.view(E4M3), "weight_scale_inv": scales}, e4m3(bits) * weight


def gptq(rng, n, k, bits, group, version, order):
    half, groups = 1 << (bits - 1), -(-k // group)
    q = integers(rng, n, k, bits) + half
    # The first version stores a zero point less one.
    zeros = rng.integers(1 if version == 1 else 0, 2 * half, (n, groups))
    scales = scales_of(rng, (n, groups), half, numpy.float16)
    member = numpy.arange(k) // group
    if order:
        member = rng.permutation(member)
    tensors = {"qweight": pack(q.T, bits, 0), "scales": numpy.ascontiguousarray(scales.T),
               "qzeros": pack(zeros.T - (version == 1), bits, 1),
               "g_idx": member.astype(numpy.int32)}
    return tensors, ((q - zeros[:, member]).astype(numpy.float32)
                     * scales.astype(numpy.float32)[:, member])


def awq(rng, n, k, group):
    q, groups = rng.integers(0, 16, (n, k)), -(-k // group)
    zeros = rng.integers(0, 16, (n, groups))
    zeros.flat[0], zeros.flat[-1] = 0, 15
    scales = scales_of(rng, (n, groups), 8, numpy.float16)
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    tensors = {"qweight": pack(q.T, 4, 1, order), "qzeros": pack(zeros.T, 4, 1, order),
               "scales": numpy.ascontiguousarray(scales.T)}
    return tensors, ((q - spread(zeros, group, k)).astype(numpy.float32)
                     * spread(scales.astype(numpy.float32), group, k))


def scheme(bits=4, group=None, strategy="group", symmetric=True, kind="int", order=None,
           form="pack-quantized", activations=None):
    weights = {"num_bits": bits, "type": kind, "strategy": strategy, "symmetric": symmetric,
               "group_size": group, "dynamic": False, "actorder": order, "observer": "minmax"}
    return {"quant_method": "compressed-tensors", "format": form, "ignore": ["lm_head"],
            "quantization_status": "compressed", "kv_cache_scheme": None,
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights,
                                          "input_activations": activations,
                                          "output_activations": None}}}


def gptq_config(bits, group, version, order):
    return {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": order,
            "sym": False, "checkpoint_format": "gptq" if version == 1 else "gptq_v2"}


def activations(strategy, kind="float", **more):
    return {"num_bits": 8, "type": kind, "strategy": strategy, "symmetric": True,
            "dynamic": strategy != "tensor", "observer": None, "observer_kwargs": {}} | more


def modelopt(algorithm, **more):
    """What ModelOpt writes beside a config.json that says nothing."""
    return {"producer": {"name": "modelopt", "version": "0.33.0"},
            "quantization": {"quant_algo": algorithm, "kv_cache_quant_algo": "FP8",
                             "exclude_modules": ["lm_head", "*router*"]} | more}


FORMATS = {
    "int4-g16": (scheme(group=16), lambda r, n, k: compressed_tensors(r, n, k, 4, 16)),
    "int4-g32-asymmetric": (scheme(group=32, symmetric=False),
                            lambda r, n, k: compressed_tensors(r, n, k, 4, 32, False)),
    "int4-g32-actorder": (scheme(group=32, order="group"),
                          lambda r, n, k: compressed_tensors(r, n, k, 4, 32, order="group")),
    "int4-channel": (scheme(strategy="channel"),
                     lambda r, n, k: compressed_tensors(r, n, k, 4, 0)),
    "int8-packed": (scheme(8, strategy="channel"),
                    lambda r, n, k: compressed_tensors(r, n, k, 8, 0)),
    "int8-asymmetric": (scheme(8, strategy="channel", symmetric=False, form="int-quantized"),
                        lambda r, n, k: compressed_tensors(r, n, k, 8, 0, False, packed=False)),
    "fp8-channel": (scheme(8, strategy="channel", kind="float", form="float-quantized"),
                    lambda r, n, k: compressed_float(r, n, k, "channel")),
    "fp8-tensor": (scheme(8, strategy="tensor", kind="float", form="naive-quantized"),
                   lambda r, n, k: compressed_float(r, n, k, "tensor")),
    "fp8-blocks": ({"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3",
                    "weight_block_size": [32, 32]}, lambda r, n, k: blocks(r, n, k, 32)),
    "gptq": (gptq_config(4, 32, 1, False), lambda r, n, k: gptq(r, n, k, 4, 32, 1, False)),
    "gptq-8-v2": (gptq_config(8, 32, 2, False), lambda r, n, k: gptq(r, n, k, 8, 32, 2, False)),
    "gptq-order": (gptq_config(4, 32, 1, True), lambda r, n, k: gptq(r, n, k, 4, 32, 1, True)),
    "awq": ({"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm",
             "zero_point": True}, lambda r, n, k: awq(r, n, k, 32)),
    "modelopt-fp8": (modelopt("FP8"),
                     lambda r, n, k: static(*compressed_float(r, n, k, "tensor"))),
    "fbgemm": ({"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0,
                "modules_to_not_convert": ["lm_head"]},
               lambda r, n, k: bounded(*compressed_float(r, n, k, "channel"), 1200)),
}


# Weights in 8 bits, and what becomes of the inputs: kind, inputs of a group (0: all), or a scale.
RECIPES = {
    "int8-token": (scheme(8, strategy="channel", form="int-quantized",
                          activations=activations("token", "int")),
                   lambda r, n, k: compressed_tensors(r, n, k, 8, 0, packed=False), ("int", 0)),
    "fp8-token": (scheme(8, strategy="channel", kind="float", form="float-quantized",
                         activations=activations("token")),
                  lambda r, n, k: compressed_float(r, n, k, "channel"), ("float", 0)),
    "fp8-group": (scheme(8, strategy="channel", kind="float", form="float-quantized",
                         activations=activations("group", group_size=32)),
                  lambda r, n, k: compressed_float(r, n, k, "channel"), ("float", 32)),
    "fp8-static": (scheme(8, strategy="tensor", kind="float", form="float-quantized",
                          activations=activations("tensor")),
                   lambda r, n, k: static(*compressed_float(r, n, k, "tensor")), ("float", None)),
    "fp8-blocks": ({"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3",
                    "weight_block_size": [32, 32]}, lambda r, n, k: blocks(r, n, k, 32),
                   ("float", 32)),
    "modelopt-fp8": (FORMATS["modelopt-fp8"][0],
                     lambda r, n, k: static(*compressed_float(r, n, k, "tensor")), ("float", None)),
    "fbgemm": ({"quant_method": "fbgemm_fp8", "activation_scale_ub": 0.75},
               lambda r, n, k: bounded(*compressed_float(r, n, k, "channel"), 0.75),
               ("float", 0, 0.75)),
}
INPUT_SCALE = 0.01


def static(tensors, weight):
    return tensors | {"input_scale": numpy.array([INPUT_SCALE], numpy.float32)}, weight


def bounded(tensors, weight, bound):
    return tensors | {"input_scale_ub": numpy.array([bound], numpy.float32)}, weight


def rounded(x, kind, group, bound=numpy.inf):
    """Inputs [tokens, k] as a recipe rounds them, by the definition, in f64."""
    k, limit = x.shape[1], 127 if kind == "int" else 448
    if group is None:
        scales = numpy.full_like(x, INPUT_SCALE)
    else:
        size = group or k
        pieces = [numpy.abs(x[:, i:i + size]).max(1, keepdims=True).repeat(
            min(size, k - i), 1) for i in range(0, k, size)]
        scales = numpy.minimum(numpy.concatenate(pieces, 1), bound) / limit
    q = numpy.divide(x, scales, out=numpy.zeros_like(x), where=scales > 0)
    q = q.clip(-limit, limit)
    if kind == "int":
        return numpy.rint(q) * scales
    step = numpy.maximum(2.0 ** numpy.floor(numpy.log2(numpy.abs(q) + 1e-300)), 2.0 ** -6) / 8
    return numpy.rint(q / step) * step * scales


def forward(c, weights, ids, recipe=None, cache=lambda layer, keys, values: (keys, values),
            of_experts=None):
    """Logits [tokens, vocabulary] of a Llama, or Mixtral, in f64; `weights` are numbers by name,
    `cache` says what attention reads of a layer's keys and values [tokens, KV heads, size], and
    `of_experts` is the recipe of what experts' gate and up read."""
    weights = {name: value.astype(numpy.float64) for name, value in weights.items()}
    heads, keys, size = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
    tokens = len(ids)

    def linear(x, path):
        return (rounded(x, *recipe) if recipe else x) @ weights[f"{path}.weight"].T

    def norm(x, path):
        scale = numpy.sqrt((x * x).mean(-1, keepdims=True) + c["rms_norm_eps"])
        return x / scale * weights[f"{path}.weight"]

    angles = numpy.arange(tokens)[:, None] * c["rope_theta"] ** (-numpy.arange(0, size, 2) / size)
    cos, sin = (numpy.tile(f(angles), 2)[:, None] for f in (numpy.cos, numpy.sin))

    def rotate(x):
        first, second = numpy.split(x, 2, -1)
        return x * cos + numpy.concatenate([-second, first], -1) * sin

    def experts(h, path):
        scores = h @ weights[f"{path}.gate.weight"].T
        read = rounded(h, *of_experts) if of_experts else h
        sums = numpy.zeros_like(h)
        for token, scores in enumerate(scores):
            best = numpy.argsort(-scores)[:c["num_experts_per_tok"]]
            shares = numpy.exp(scores[best] - scores[best].max())
            for e, share in zip(best, shares / shares.sum()):
                gate, down, up = (weights[f"{path}.experts.{e}.w{i}.weight"] for i in (1, 2, 3))
                inner = gate @ read[token]
                inner = inner / (1 + numpy.exp(-inner)) * (up @ read[token])
                sums[token] += share * (down @ inner)
        return sums

    x = weights["model.embed_tokens.weight"][ids]
    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}"
        h = norm(x, f"{layer}.input_layernorm")
        q, k, v = (linear(h, f"{layer}.self_attn.{name}_proj").reshape(tokens, -1, size)
                   for name in "qkv")
        q = rotate(q)
        k, v = (value.repeat(heads // keys, 1) for value in cache(i, rotate(k), v))
        scores = numpy.einsum("shd,thd->hst", q, k) / numpy.sqrt(size)
        before = numpy.subtract.outer(numpy.arange(tokens), numpy.arange(tokens))
        seen = (before >= 0) & (before < (c.get("sliding_window") or tokens))
        scores = numpy.where(seen, scores, -numpy.inf)
        scores = numpy.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        context = numpy.einsum("hst,thd->shd", scores, v).reshape(tokens, -1)
        x = x + linear(context, f"{layer}.self_attn.o_proj")
        h = norm(x, f"{layer}.post_attention_layernorm")
        if c["model_type"] == "mixtral":
            x = x + experts(h, f"{layer}.block_sparse_moe")
            continue
        gate, up = (linear(h, f"{layer}.mlp.{name}_proj") for name in ("gate", "up"))
        x = x + linear(gate / (1 + numpy.exp(-gate)) * up, f"{layer}.mlp.down_proj")
    return norm(x, "model.norm") @ weights["lm_head.weight"].T


def dequantised(tensors):
    """The numbers of what tp-quantize writes, by the names that they have in 16 bits. `tensors` is
    name: array, bytes of e4m3 being U8."""
    numbers = {}
    for name, value in tensors.items():
        path, _, part = name.rpartition(".")
        scales = tensors.get(f"{path}.weight_scale")
        if part in ("weight_scale", "weight_shape"):
            continue
        if part == "weight_packed":
            n, k = tensors[f"{path}.weight_shape"]
            # One of int8's is all of a row's: 8 bits where a row has 4 to a word.
            bits = 4 if value.shape[1] * 8 < k + 8 else 8
            shifts = numpy.arange(0, 32, bits, dtype=numpy.uint32)
            codes = value.view(numpy.uint32)[..., None] >> shifts & ((1 << bits) - 1)
            codes = codes.astype(numpy.int64).reshape(n, -1)[:, :k] - (1 << (bits - 1))
            value = codes * spread(scales, -(-k // scales.shape[1]), k)
        elif part == "weight" and scales is not None:
            n, k = value.shape
            value = e4m3(value) * (scales if scales.shape == (n, 1) else numpy.repeat(
                spread(scales, 128, k), 128, 0)[:n])
        numbers[f"{path}.weight"] = value.astype(numpy.float32)
    return numbers


def read(path):
    """Name: array of a file; 16-bit floats as f32, e4m3 as bytes."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, tensors = json.loads(data[8:8 + length]), {}
    types = {"F32": "<f4", "I32": "<i4", "I64": "<i8", "F8_E4M3": "u1", "BF16": "<u2",
             "F16": "<f2"}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + at for at in entry["data_offsets"])
        value = numpy.frombuffer(data[begin:end], types[entry["dtype"]])
        if entry["dtype"] == "BF16":
            value = (value.astype(numpy.uint32) << 16).view(numpy.float32)
        tensors[name] = value.reshape(entry["shape"])
    return tensors


def config(**changes):
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "float32",
            "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": LAYERS,
            "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 8,
            "hidden_act": "silu", "rms_norm_eps": 1e-5, "vocab_size": 67,
            "max_position_embeddings": 64, "rope_theta": 10000.0,
            "tie_word_embeddings": False} | changes


def save(folder, config, tensors, quantization=None):
    folder.mkdir(parents=True, exist_ok=True)
    if quantization and "producer" in quantization:
        (folder / "hf_quant_config.json").write_text(json.dumps(quantization))
    elif quantization:
        config = config | {"quantization_config": quantization}
    (folder / "config.json").write_text(json.dumps(config))
    save_file({name: numpy.ascontiguousarray(value) for name, value in tensors.items()},
              folder / "model.safetensors", {"format": "pt"})
    relabel(folder / "model.safetensors",
            [name for name, value in tensors.items() if isinstance(value, E4M3)])


def relabel(path, names, dtype="F8_E4M3"):
    """Bits become floats."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    for name in names:
        header[name]["dtype"] = dtype
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length:])


def narrow(path, dtype):
    """Rounds all tensors of a file of f32 to `dtype`; bf16 by cutting bits off."""
    tensors = read(path)
    if dtype == "F16":
        save_file({name: value.astype(numpy.float16) for name, value in tensors.items()}, path)
    elif dtype == "BF16":
        save_file({name: (numpy.ascontiguousarray(value).view(numpy.uint32) >> 16).astype(
            numpy.uint16) for name, value in tensors.items()}, path)
        relabel(path, list(tensors), "BF16")


def write_mixtral(folder, name, seed, experts=4):
    """The same of a Mixtral, by the name of a recipe."""
    rng = numpy.random.default_rng(seed)
    quantization, quantise = RECIPES[name][:2]
    c = config(model_type="mixtral", architectures=["MixtralForCausalLM"], num_local_experts=experts,
               num_experts_per_tok=2)
    hidden, width = c["hidden_size"], c["intermediate_size"]
    plain = {"model.embed_tokens.weight": rng.normal(size=(c["vocab_size"], hidden)),
             "model.norm.weight": rng.uniform(0.5, 1.5, hidden),
             "lm_head.weight": rng.normal(size=(c["vocab_size"], hidden)) / 8}
    sizes = {}
    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}"
        for norm in ("input_layernorm", "post_attention_layernorm"):
            plain[f"{layer}.{norm}.weight"] = rng.uniform(0.5, 1.5, hidden)
        plain[f"{layer}.block_sparse_moe.gate.weight"] = rng.normal(size=(experts, hidden)) / 4
        sizes |= {f"{layer}.self_attn.{part}_proj": (n, hidden) for part, n in (
            ("q", 64), ("k", 16), ("v", 16), ("o", hidden))}
        for e in range(experts):
            sizes |= {f"{layer}.block_sparse_moe.experts.{e}.w{part}": size for part, size in (
                (1, (width, hidden)), (2, (hidden, width)), (3, (width, hidden)))}
    plain = {key: value.astype(numpy.float32) for key, value in plain.items()}
    quantised = dict(plain)
    for path, size in sizes.items():
        tensors, weight = quantise(rng, *size)
        plain[f"{path}.weight"] = weight.astype(numpy.float32)
        quantised |= {f"{path}.{part}": value for part, value in tensors.items()}
    save(folder / "plain", c, plain)
    save(folder / "quantised", c, quantised, quantization)
    return folder / "quantised", folder / "plain", c


def write(folder, name, seed, skip=(), recipes=False, **changes):
    """Writes folder/quantised and folder/plain; layers' modules whose name ends with one of `skip`
    stay in f32. Returns the two."""
    rng = numpy.random.default_rng(seed)
    quantization, quantise = (FORMATS | RECIPES if recipes else FORMATS)[name][:2]
    c = config(**changes)
    sizes = {"hidden": c["hidden_size"], "width": c["intermediate_size"],
             "heads": c["num_attention_heads"] * c["head_dim"],
             "keys": c["num_key_value_heads"] * c["head_dim"]}
    plain = {"model.embed_tokens.weight": rng.normal(size=(c["vocab_size"], sizes["hidden"])),
             "model.norm.weight": rng.uniform(0.5, 1.5, sizes["hidden"]),
             "lm_head.weight": rng.normal(size=(c["vocab_size"], sizes["hidden"])) / 8}
    for i in range(c["num_hidden_layers"]):
        for norm in ("input_layernorm", "post_attention_layernorm"):
            plain[f"model.layers.{i}.{norm}.weight"] = rng.uniform(0.5, 1.5, sizes["hidden"])
    plain = {key: value.astype(numpy.float32) for key, value in plain.items()}
    quantised = dict(plain)
    for i in range(c["num_hidden_layers"]):
        for module, (n, k) in LINEAR.items():
            path = f"model.layers.{i}.{module}"
            tensors, weight = quantise(rng, sizes[n], sizes[k])
            plain[f"{path}.weight"] = weight.astype(numpy.float32)
            if path.endswith(tuple(skip)) if skip else False:
                quantised[f"{path}.weight"] = weight.astype(numpy.float32)
            else:
                quantised |= {f"{path}.{part}": value for part, value in tensors.items()}
    if "producer" in quantization:
        for i in range(c["num_hidden_layers"]):
            for kind in "kv":
                quantised[f"model.layers.{i}.self_attn.{kind}_proj.{kind}_scale"] = numpy.ones(
                    1, numpy.float32)
    save(folder / "plain", c, plain)
    save(folder / "quantised", c, quantised, quantization)
    return folder / "quantised", folder / "plain"


def write_gpt_oss(folder, seed, **changes):
    """The same of gpt-oss, whose experts alone are quantised: stacks of all of them, the rows of
    gate and up in turn, and beside it stacks [experts, inputs, outputs] of the numbers."""
    rng = numpy.random.default_rng(seed)
    c = {"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "dtype": "float32",
         "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": LAYERS,
         "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 8, "vocab_size": 67,
         "num_local_experts": 6, "num_experts_per_tok": 2, "sliding_window": 5, "swiglu_limit": 2.0,
         "max_position_embeddings": 64, "rope_theta": 10000.0, "tie_word_embeddings": False,
         "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "truncate": False,
                          "original_max_position_embeddings": 16}} | changes
    hidden, width, experts = c["hidden_size"], c["intermediate_size"], c["num_local_experts"]
    heads, keys = (c[key] * c["head_dim"] for key in ("num_attention_heads", "num_key_value_heads"))
    plain = {"model.embed_tokens.weight": rng.normal(size=(c["vocab_size"], hidden)),
             "model.norm.weight": rng.uniform(0.5, 1.5, hidden),
             "lm_head.weight": rng.normal(size=(c["vocab_size"], hidden)) / 8}
    stacks = {}
    for i in range(c["num_hidden_layers"]):
        layer = f"model.layers.{i}"
        for name, n, k in (("q", heads, hidden), ("k", keys, hidden), ("v", keys, hidden),
                           ("o", hidden, heads)):
            plain[f"{layer}.self_attn.{name}_proj.weight"] = rng.normal(size=(n, k)) / k ** 0.5
            plain[f"{layer}.self_attn.{name}_proj.bias"] = rng.normal(size=n) / 4
        plain[f"{layer}.self_attn.sinks"] = rng.normal(size=c["num_attention_heads"])
        for norm in ("input_layernorm", "post_attention_layernorm"):
            plain[f"{layer}.{norm}.weight"] = rng.uniform(0.5, 1.5, hidden)
        plain[f"{layer}.mlp.router.weight"] = rng.normal(size=(experts, hidden)) / 4
        plain[f"{layer}.mlp.router.bias"] = rng.normal(size=experts) / 4
        for name, n, k in (("gate_up", 2 * width, hidden), ("down", hidden, width)):
            path = f"{layer}.mlp.experts.{name}_proj"
            packed, numbers = nibbles(rng, experts * n, k)
            exponents = rng.integers(122, 125, (experts * n, k // 32)).astype(numpy.uint8)
            exponents.flat[0] = 0
            scales = numpy.repeat(2.0 ** (exponents.astype(numpy.float64) - 127), 32, axis=1)
            stacks[f"{path}_blocks"] = packed.reshape(experts, n, k // 32, 16)
            stacks[f"{path}_scales"] = exponents.reshape(experts, n, k // 32)
            plain[path] = (numbers * scales).reshape(experts, n, k).transpose(0, 2, 1)
            plain[f"{path}_bias"] = rng.normal(size=(experts, n)) / 4
    plain = {key: value.astype(numpy.float32) for key, value in plain.items()}
    others = {key: value for key, value in plain.items() if f"{key}_blocks" not in stacks}
    save(folder / "plain", c, plain)
    save(folder / "quantised", c, others | stacks, {
        "quant_method": "mxfp4", "modules_to_not_convert": [
            "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]})
    return folder / "quantised", folder / "plain"
