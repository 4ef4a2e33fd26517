"""Training steps of a Llama in JAX: gradient, clipping, AdamW, one compiled function with donated buffers.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: jax_llama.py f32|bf16 NAME=NUMBER...

Each line of standard input is answered: `step` with the seconds of one, `memory` with the bytes of the process at its
peak, less those of the libraries when they were loaded. bf16 computes with rounded copies of f32 weights.
"""

import functools
import resource
import sys
import time

import jax
import jax.numpy as jnp

dtype, *words = sys.argv[1:]
S = {name: int(number) for name, number in (word.split("=") for word in words)}
H, D, NQ, NK, MLP = S["hidden"], S["head"], S["heads"], S["kv"], S["mlp"]
TYPE = {"f32": jnp.float32, "bf16": jnp.bfloat16}[dtype]
LAYER = {"q": (NQ * D, H), "k": (NK * D, H), "v": (NK * D, H), "o": (H, NQ * D), "gate": (MLP, H), "up": (MLP, H),
         "down": (H, MLP), "n1": (H,), "n2": (H,)}


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


BEGAN = peak_bytes()


def make(key, shape):
    return jax.random.normal(key, shape) * 0.02 if len(shape) > 1 else jnp.ones(shape)


def norm(x, weight):
    wide = x.astype(jnp.float32)
    scale = jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-5)
    return ((wide * scale) * weight).astype(TYPE)


def linear(x, weight):
    return jnp.einsum("bsk,nk->bsn", x, weight.astype(TYPE))


def loss_of(weights, ids, labels):
    angles = jnp.outer(jnp.arange(S["seq"]), 10000.0 ** (-jnp.arange(0, D, 2) / D))
    cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]

    def turn(x):
        a, b = jnp.split(x.astype(jnp.float32), 2, -1)
        return jnp.concatenate((a * cos - b * sin, b * cos + a * sin), -1).astype(TYPE)

    h = weights["table"][ids].astype(TYPE)
    for layer in weights["layers"]:
        x = norm(h, layer["n1"])
        q, k, v = (linear(x, layer[name]).reshape(*h.shape[:2], -1, D) for name in "qkv")
        o = jax.nn.dot_product_attention(turn(q), turn(k), v, is_causal=True)
        h = h + linear(o.reshape(*h.shape[:2], -1), layer["o"])
        x = norm(h, layer["n2"])
        h = h + linear(jax.nn.silu(linear(x, layer["gate"])) * linear(x, layer["up"]), layer["down"])
    logits = linear(norm(h, weights["n"]), weights["head"]).astype(jnp.float32)
    target = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return (jax.nn.logsumexp(logits, -1) - target).mean()


@functools.partial(jax.jit, donate_argnums=(0, 1, 2))
def train(weights, m, v, count, ids, labels):
    loss, gradient = jax.value_and_grad(loss_of)(weights, ids, labels)
    size = jnp.sqrt(sum((g * g).sum() for g in jax.tree.leaves(gradient)))
    factor = jnp.minimum(1.0, 1.0 / (size + 1e-6))
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * (g * factor), m, gradient)
    v = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * (g * factor) ** 2, v, gradient)
    first, second = 1 - 0.9 ** count, 1 - 0.95 ** count

    def update(p, m, v):
        decay = 1 - 1e-4 * 0.1 if p.ndim > 1 else 1
        return p * decay - 1e-4 / first * m / (jnp.sqrt(v / second) + 1e-8)

    return jax.tree.map(update, weights, m, v), m, v, loss


def main():
    keys = iter(jax.random.split(jax.random.key(1), 16 * S["layers"] + 4))
    table = (S["vocabulary"], H)
    weights = {"table": make(next(keys), table), "head": make(next(keys), table), "n": jnp.ones(H),
               "layers": [{name: make(next(keys), shape) for name, shape in LAYER.items()}
                          for _ in range(S["layers"])]}
    ids, labels = (jax.random.randint(next(keys), (S["batch"], S["seq"]), 0, S["vocabulary"]) for _ in range(2))
    m, v = (jax.tree.map(jnp.zeros_like, weights) for _ in range(2))
    count = 0

    def step():
        nonlocal weights, m, v, count
        start, count = time.perf_counter(), count + 1
        weights, m, v, loss = train(weights, m, v, jnp.float32(count), ids, labels)
        jax.block_until_ready((weights, m, v, loss))
        return time.perf_counter() - start

    for _ in range(2):
        step()
    print("ready", flush=True)
    for line in sys.stdin:
        print(peak_bytes() - BEGAN if line.strip() == "memory" else step(), flush=True)


main()
