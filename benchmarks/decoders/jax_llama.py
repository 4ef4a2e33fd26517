"""One-token steps of a Llama in JAX, compiled, with a static cache.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: jax_llama.py CHECKPOINT
"""

import functools
import sys
import time

import jax
import jax.numpy as jnp

import checkpoint

CELLS, FIRST = 128, 16


def step(config, weights, caches, ids, position):
    """ids [rows], position -> the likeliest next ids, the caches."""
    heads, size = config["num_attention_heads"], config["hidden_size"] // config[
        "num_attention_heads"]
    shared = heads // config["num_key_value_heads"]
    angles = position * config["rope_theta"] ** (-jnp.arange(0, size, 2) / size)
    cos, sin = jnp.cos(angles), jnp.sin(angles)

    def norm(x, name):
        wide = x.astype(jnp.float32)
        scale = jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + config["rms_norm_eps"])
        return (wide * scale).astype(x.dtype) * weights[name + ".weight"]

    def linear(x, name):
        return x @ weights[name + ".weight"].T

    def rotate(x):
        a, b = jnp.split(x.astype(jnp.float32), 2, -1)
        return jnp.concatenate((a * cos - b * sin, b * cos + a * sin), -1).astype(x.dtype)

    x = weights["model.embed_tokens.weight"][ids]
    rows, made = ids.shape[0], []
    for i, (keys, values) in enumerate(caches):
        layer = f"model.layers.{i}."
        y = norm(x, layer + "input_layernorm")
        q, k, v = (linear(y, f"{layer}self_attn.{p}_proj").reshape(rows, -1, size) for p in "qkv")
        keys = jax.lax.dynamic_update_index_in_dim(keys, rotate(k), position, 1)
        values = jax.lax.dynamic_update_index_in_dim(values, v, position, 1)
        made.append((keys, values))
        q = rotate(q).reshape(rows, -1, shared, size)
        scores = jnp.einsum("rgsd,rcgd->rgsc", q, keys).astype(jnp.float32) / size ** 0.5
        scores = jnp.where(jnp.arange(CELLS) <= position, scores, -jnp.inf)
        y = jnp.einsum("rgsc,rcgd->rgsd", jax.nn.softmax(scores).astype(x.dtype), values)
        x = x + linear(y.reshape(rows, -1), layer + "self_attn.o_proj")
        y = norm(x, layer + "post_attention_layernorm")
        y = jax.nn.silu(linear(y, layer + "mlp.gate_proj")) * linear(y, layer + "mlp.up_proj")
        x = x + linear(y, layer + "mlp.down_proj")
    return linear(norm(x, "model.norm"), "lm_head").argmax(-1), made


def main():
    config, dtype, tensors = checkpoint.load(sys.argv[1])
    kind = {"f32": jnp.float32, "bf16": jnp.bfloat16, "f16": jnp.float16}[dtype]
    weights = {name: jnp.asarray(values.view(kind)) for name, values in tensors.items()}
    shape = (CELLS, config["num_key_value_heads"],
             config["hidden_size"] // config["num_attention_heads"])
    run = jax.jit(functools.partial(step, config), donate_argnums=1)

    def decode(rows, tokens):
        caches = [tuple(jnp.zeros((rows, *shape), kind) for _ in range(2))
                  for _ in range(config["num_hidden_layers"])]
        ids, caches = run(weights, caches, jnp.arange(rows), 0)
        ids.block_until_ready()
        start = time.perf_counter()
        for at in range(tokens):
            ids, caches = run(weights, caches, ids, FIRST + at)
        ids.block_until_ready()
        return (time.perf_counter() - start) / tokens

    decode(1, 1)
    checkpoint.serve(decode)


main()
