"""One-token steps of a Llama in PyTorch, with a static cache.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: torch_llama.py CHECKPOINT THREADS eager|compile
"""

import sys
import time

import torch
import torch.nn.functional as F

import checkpoint

CELLS, FIRST = 128, 16


class Llama:
    """Weights as they lie in the file, and the cache of `rows` rows."""

    def __init__(self, folder, rows):
        self.config, dtype, tensors = checkpoint.load(folder)
        self.dtype = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[dtype]
        self.w = {name: torch.from_numpy(values).view(self.dtype)
                  for name, values in tensors.items()}
        c = self.config
        self.size = c["hidden_size"] // c["num_attention_heads"]
        shape = (rows, c["num_key_value_heads"], CELLS, self.size)
        self.caches = [(torch.zeros(shape, dtype=self.dtype), torch.zeros(shape, dtype=self.dtype))
                       for _ in range(c["num_hidden_layers"])]
        exponents = torch.arange(0, self.size, 2) / self.size
        angles = torch.outer(torch.arange(CELLS), c["rope_theta"] ** -exponents)
        self.cos = torch.cat((angles.cos(), angles.cos()), -1).to(self.dtype)
        self.sin = torch.cat((angles.sin(), angles.sin()), -1).to(self.dtype)
        self.cells = torch.arange(CELLS)

    def norm(self, x, name):
        return F.rms_norm(x, x.shape[-1:], self.w[name + ".weight"], self.config["rms_norm_eps"])

    def linear(self, x, name):
        return F.linear(x, self.w[name + ".weight"])

    def rotate(self, x, position):
        half = self.size // 2
        turned = torch.cat((-x[..., half:], x[..., :half]), -1)
        return x * self.cos[position] + turned * self.sin[position]

    def step(self, ids, position):
        """ids [rows], position [1] -> the likeliest next ids."""
        rows = ids.shape[0]
        x = self.w["model.embed_tokens.weight"][ids]
        mask = (self.cells <= position)[None, None, None, :]
        for i, (keys, values) in enumerate(self.caches):
            layer = f"model.layers.{i}."
            y = self.norm(x, layer + "input_layernorm")
            q, k, v = (self.linear(y, f"{layer}self_attn.{p}_proj").view(rows, -1, 1, self.size)
                       for p in "qkv")
            keys.index_copy_(2, position, self.rotate(k, position))
            values.index_copy_(2, position, v)
            y = F.scaled_dot_product_attention(self.rotate(q, position), keys, values, mask,
                                               enable_gqa=True)
            x = x + self.linear(y.reshape(rows, -1), layer + "self_attn.o_proj")
            y = self.norm(x, layer + "post_attention_layernorm")
            y = F.silu(self.linear(y, layer + "mlp.gate_proj")) * self.linear(
                y, layer + "mlp.up_proj")
            x = x + self.linear(y, layer + "mlp.down_proj")
        return self.linear(self.norm(x, "model.norm"), "lm_head").argmax(-1)


def main():
    folder, threads, mode = sys.argv[1:]
    torch.set_num_threads(int(threads))
    models = {}

    def decode(rows, tokens):
        if rows not in models:
            model = Llama(folder, rows)
            step = torch.compile(model.step) if mode == "compile" else model.step
            models[rows] = step
            with torch.inference_mode():
                for at in range(3):
                    step(torch.arange(rows), torch.tensor([at]))
        step = models[rows]
        with torch.inference_mode():
            ids, start = torch.arange(rows), time.perf_counter()
            for at in range(tokens):
                ids = step(ids, torch.tensor([FIRST + at]))
        return (time.perf_counter() - start) / tokens

    decode(1, 1)
    checkpoint.serve(decode)


main()
