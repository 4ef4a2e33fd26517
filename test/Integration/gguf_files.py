"""GGUF files of random blocks, and the checkpoints that they stand for.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Nothing here is shared with the compiler, the runtime or tp-gguf: files are written from the
format's description, and what blocks stand for is what the package `gguf` made of them
(scripts/make-gguf-blocks).
"""

import json
import pathlib
import struct

import numpy
from safetensors.numpy import load_file, save_file

_BLOCKS = load_file(pathlib.Path(__file__).parents[1] / "Inputs" / "gguf-blocks.safetensors")
#: Numbers of tensor types.
TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8, "Q2_K": 10,
         "Q3_K": 11, "Q4_K": 12, "Q5_K": 13, "Q6_K": 14, "IQ4_NL": 20, "IQ4_XS": 23, "BF16": 30,
         "MXFP4": 39}
QUANTISED = [name for name in TYPES if name in _BLOCKS]


def _text(text):
    data = text.encode(errors="surrogateescape")
    return struct.pack("<Q", len(data)) + data


def _value(value):
    """The type of a metadata value, and its bytes."""
    if isinstance(value, bool):
        return 7, struct.pack("<?", value)
    if isinstance(value, int):
        return 4, struct.pack("<I", value)
    if isinstance(value, float):
        return 6, struct.pack("<f", value)
    if isinstance(value, str):
        return 8, _text(value)
    kinds = [_value(one) for one in value]
    return 9, struct.pack("<IQ", kinds[0][0], len(kinds)) + b"".join(data for _, data in kinds)


def write_file(path, metadata, tensors, version=3, alignment=32):
    """`tensors`: by name, (type, shape with the innermost dimension last, bytes)."""
    head, data = struct.pack("<4sIQQ", b"GGUF", version, len(tensors), len(metadata)), b""
    for key, value in metadata.items():
        kind, payload = _value(value)
        head += _text(key) + struct.pack("<I", kind) + payload
    for name, (kind, shape, payload) in tensors.items():
        head += _text(name) + struct.pack("<I", len(shape))
        head += b"".join(struct.pack("<Q", extent) for extent in reversed(shape))
        head += struct.pack("<IQ", TYPES.get(kind, kind), len(data))
        data += payload + bytes(-len(payload) % alignment)
    path.write_bytes(head + bytes(-len(head) % alignment) + data)


def tensor(rng, kind, *shape):
    """A tensor of random numbers as the file has it, and the numbers."""
    if kind in _BLOCKS:
        size = _BLOCKS[f"{kind}.values"].shape[1]
        chosen = rng.integers(0, len(_BLOCKS[kind]), (*shape[:-1], shape[-1] // size))
        return ((kind, shape, _BLOCKS[kind][chosen].tobytes()),
                _BLOCKS[f"{kind}.values"][chosen].reshape(shape))
    values = (rng.standard_normal(shape) * 0.06).astype(numpy.float32)
    if kind == "F16":
        values = values.astype(numpy.float16)
        return (kind, shape, values.tobytes()), values.astype(numpy.float32)
    if kind == "BF16":
        bits = (values.view(numpy.uint32) >> 16).astype(numpy.uint16)
        return (kind, shape, bits.tobytes()), (bits.astype(numpy.uint32) << 16).view(numpy.float32)
    return (kind, shape, values.tobytes()), values


def paired(values, heads):
    """Rows of queries or keys as llama.cpp has those of a Llama: neighbours are rotated together."""
    rows = values.reshape(heads, 2, values.shape[0] // heads // 2, *values.shape[1:])
    return rows.swapaxes(1, 2).reshape(values.shape)


def halved(values, heads):
    """The reverse."""
    rows = values.reshape(heads, values.shape[0] // heads // 2, 2, *values.shape[1:])
    return rows.swapaxes(1, 2).reshape(values.shape)


class Model:
    """A small model under construction: its GGUF file, and the same in f32 with the names of
    transformers."""

    def __init__(self, architecture, seed, config, metadata=None):
        self.architecture, self.rng, self.config = architecture, numpy.random.default_rng(seed), config
        self.metadata = {"general.architecture": architecture}
        self.metadata |= {f"{architecture}.{key}": value for key, value in {
            "block_count": config["num_hidden_layers"], "context_length": 64,
            "embedding_length": config["hidden_size"],
            "feed_forward_length": config["intermediate_size"],
            "attention.head_count": config["num_attention_heads"],
            "attention.head_count_kv": config["num_key_value_heads"],
            "attention.key_length": config["head_dim"],
            "attention.value_length": config["head_dim"],
            "attention.layer_norm_rms_epsilon": config["rms_norm_eps"],
            "rope.freq_base": config["rope_theta"], **(metadata or {})}.items()}
        self.tensors, self.weights = {}, {}

    def add(self, own, name, kind, *shape, change=lambda values: values):
        self.tensors[own], values = tensor(self.rng, kind, *shape)
        self.weights[name] = change(values)

    def norm(self, own, name, size, less=0):
        values = self.rng.uniform(0.5, 1.5, size).astype(numpy.float32)
        self.tensors[own] = "F32", (size,), values.tobytes()
        self.weights[name] = values - numpy.float32(less)

    def write(self, folder):
        path, plain = folder / "model-file.gguf", folder / "plain"
        write_file(path, self.metadata, self.tensors)
        plain.mkdir()
        (plain / "config.json").write_text(json.dumps(self.config))
        save_file({name: numpy.ascontiguousarray(value) for name, value in self.weights.items()},
                  plain / "model.safetensors")
        return path, plain


def llama(seed, kinds, architecture="llama", tied=False, **changes):
    """A model of linear layers of these types, in turn; the table has the last one's."""
    is_gemma, experts = architecture == "gemma", 4 if architecture == "qwen3moe" else 0
    c = {"model_type": architecture, "vocab_size": 67, "hidden_size": 256,
         "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8,
         "num_key_value_heads": 2, "head_dim": 32, "rms_norm_eps": 1e-5, "rope_theta": 700.0,
         "max_position_embeddings": 64, "tie_word_embeddings": tied} | changes
    if is_gemma:
        c["hidden_activation"] = "gelu_pytorch_tanh"
    metadata = {}
    if experts:
        metadata = {"expert_count": experts, "expert_used_count": 2,
                    "expert_feed_forward_length": c["intermediate_size"]}
        c |= {"model_type": "qwen3_moe", "num_experts": experts, "num_experts_per_tok": 2,
              "moe_intermediate_size": c["intermediate_size"], "decoder_sparse_step": 1,
              "mlp_only_layers": [], "norm_topk_prob": True}
    model = Model(architecture, seed, c, metadata)
    hidden, width, size = c["hidden_size"], c["intermediate_size"], c["head_dim"]
    heads, keys = c["num_attention_heads"], c["num_key_value_heads"]
    turns = [kinds[i % len(kinds)] for i in range(7)]
    model.add("token_embd.weight", "model.embed_tokens.weight", kinds[-1], c["vocab_size"], hidden)
    model.norm("output_norm.weight", "model.norm.weight", hidden, is_gemma)
    if not tied:
        model.add("output.weight", "lm_head.weight", kinds[0], c["vocab_size"], hidden)
    for i in range(c["num_hidden_layers"]):
        own, name = f"blk.{i}", f"model.layers.{i}"
        model.norm(f"{own}.attn_norm.weight", f"{name}.input_layernorm.weight", hidden, is_gemma)
        model.norm(f"{own}.ffn_norm.weight", f"{name}.post_attention_layernorm.weight", hidden,
                   is_gemma)
        for (part, other, shape, count), kind in zip((
                ("attn_q", "self_attn.q_proj", (heads * size, hidden), heads),
                ("attn_k", "self_attn.k_proj", (keys * size, hidden), keys),
                ("attn_v", "self_attn.v_proj", (keys * size, hidden), 0),
                ("attn_output", "self_attn.o_proj", (hidden, heads * size), 0),
                ("ffn_gate", "mlp.gate_proj", (width, hidden), 0),
                ("ffn_up", "mlp.up_proj", (width, hidden), 0),
                ("ffn_down", "mlp.down_proj", (hidden, width), 0)), turns):
            if experts and part.startswith("ffn"):
                model.add(f"{own}.{part}_exps.weight", f"{name}.{other}", kind, experts, *shape)
                stack = model.weights.pop(f"{name}.{other}")
                for e in range(experts):
                    model.weights[f"{name}.mlp.experts.{e}.{other.split('.')[1]}.weight"] = stack[e]
                continue
            turned = count and architecture == "llama"
            model.add(f"{own}.{part}.weight", f"{name}.{other}.weight", kind, *shape,
                      change=(lambda values, count=count: halved(values, count)) if turned
                      else lambda values: values)
            if architecture == "qwen2" and part in ("attn_q", "attn_k", "attn_v"):
                model.add(f"{own}.{part}.bias", f"{name}.{other}.bias", "F32", shape[0])
        if experts:
            model.add(f"{own}.ffn_gate_inp.weight", f"{name}.mlp.gate.weight", "F32", experts, hidden)
        if architecture in ("qwen3", "qwen3moe"):
            for part, other in (("attn_q_norm", "q_norm"), ("attn_k_norm", "k_norm")):
                model.norm(f"{own}.{part}.weight", f"{name}.self_attn.{other}.weight", size)
    return model
