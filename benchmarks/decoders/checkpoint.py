"""A checkpoint of random weights, and how the programs that are compared read it.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

All of them read the same file, so that they have weights of equal bits. bf16, which numpy
lacks, is kept as its bits.
"""

import json
import pathlib
import sys

import numpy as np

NAMES = {"f32": "F32", "bf16": "BF16", "f16": "F16"}
BYTES = {"f32": 4, "bf16": 2, "f16": 2}


def shapes(config):
    """The tensors of a Llama, by name."""
    h, f, v = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    kv = h // config["num_attention_heads"] * config["num_key_value_heads"]
    found = {"model.embed_tokens.weight": (v, h), "model.norm.weight": (h,),
             "lm_head.weight": (v, h)}
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        for name, shape in (("input_layernorm", (h,)), ("post_attention_layernorm", (h,)),
                            ("self_attn.q_proj", (h, h)), ("self_attn.k_proj", (kv, h)),
                            ("self_attn.v_proj", (kv, h)), ("self_attn.o_proj", (h, h)),
                            ("mlp.gate_proj", (f, h)), ("mlp.up_proj", (f, h)),
                            ("mlp.down_proj", (h, f))):
            found[layer + name + ".weight"] = shape
    return found


def read_bytes(config, dtype):
    """Bytes of weights that one token reads: all but the embedding's table."""
    return BYTES[dtype] * sum(int(np.prod(shape)) for name, shape in shapes(config).items()
                              if name != "model.embed_tokens.weight")


def narrow(values, dtype):
    """f32 as another type, to nearest even; bf16 as its bits."""
    if dtype == "bf16":
        bits = values.view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return values.astype(np.float16 if dtype == "f16" else np.float32)


def write(config, dtype, folder):
    """About normal weights with deviation 0.02; norms are ones."""
    folder.mkdir(parents=True, exist_ok=True)
    config = dict(config, torch_dtype={"f32": "float32", "bf16": "bfloat16",
                                       "f16": "float16"}[dtype])
    (folder / "config.json").write_text(json.dumps(config))
    header, at = {}, 0
    for name, shape in shapes(config).items():
        size = BYTES[dtype] * int(np.prod(shape))
        header[name] = {"dtype": NAMES[dtype], "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 64 + 56)  # data begin at a multiple of 64
    random = np.random.default_rng(1)
    # Renamed when it is whole: a run that is interrupted leaves none.
    part = folder / "model.safetensors.part"
    with open(part, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for shape in shapes(config).values():
            values = (np.ones(shape, np.float32) if len(shape) == 1 else
                      random.standard_normal(shape, np.float32) * np.float32(0.02))
            narrow(values, dtype).tofile(file)
    part.rename(folder / "model.safetensors")


def load(folder):
    """The configuration, the type, and the tensors as they lie in the file."""
    config = json.loads((pathlib.Path(folder) / "config.json").read_text())
    dtype = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}[config["torch_dtype"]]
    path = pathlib.Path(folder) / "model.safetensors"
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    data = np.memmap(path, np.uint8, "c", offset=8 + size)
    kind = {"f32": np.float32, "bf16": np.uint16, "f16": np.float16}[dtype]
    tensors = {name: data[entry["data_offsets"][0]:entry["data_offsets"][1]].view(kind)
               .reshape(entry["shape"]) for name, entry in header.items()}
    return config, dtype, tensors


def serve(decode, **others):
    """Answers each line `decode ROWS TOKENS` with the seconds of a step, by
    decode(rows, tokens), and lines that begin with another name by that."""
    commands = {"decode": decode, **others}
    print("ready", flush=True)
    for line in sys.stdin:
        name, *numbers = line.split()
        print(commands[name](*map(int, numbers)), flush=True)
