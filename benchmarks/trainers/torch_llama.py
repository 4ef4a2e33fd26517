"""Gradients of a Llama's loss in PyTorch.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: torch_llama.py THREADS f32|bf16 eager|compile NAME=NUMBER...

Sizes as those of test/Differentiate/Inputs/llama.py. Each line of standard input is answered with
the seconds of one forward and backward.
"""

import sys
import time

import torch
import torch.nn.functional as F

threads, dtype, mode, *words = sys.argv[1:]
torch.set_num_threads(int(threads))
S = {name: int(number) for name, number in (word.split("=") for word in words)}
H, D, NQ, NK = S["hidden"], S["head"], S["heads"], S["kv"]
TYPE = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]


def weight(*shape):
    return torch.nn.Parameter((torch.randn(shape) * 0.02).to(TYPE))


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = (torch.nn.Parameter(torch.ones(H, dtype=TYPE)) for _ in range(2))
        self.q, self.k, self.v = weight(NQ * D, H), weight(NK * D, H), weight(NK * D, H)
        self.o, self.gate, self.up = weight(H, NQ * D), weight(S["mlp"], H), weight(S["mlp"], H)
        self.down = weight(H, S["mlp"])

    def forward(self, h, cos, sin):
        def turn(x):
            half = D // 2
            return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin

        x = F.rms_norm(h, (H,), self.n1, 1e-5)
        q, k, v = (F.linear(x, w).view(*h.shape[:2], -1, D).transpose(1, 2) for w in (self.q, self.k, self.v))
        o = F.scaled_dot_product_attention(turn(q), turn(k), v, is_causal=True, enable_gqa=True)
        h = h + F.linear(o.transpose(1, 2).reshape(*h.shape[:2], -1), self.o)
        x = F.rms_norm(h, (H,), self.n2, 1e-5)
        return h + F.linear(F.silu(F.linear(x, self.gate)) * F.linear(x, self.up), self.down)


class Llama(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = weight(S["vocabulary"], H), weight(S["vocabulary"], H)
        self.layers = torch.nn.ModuleList(Layer() for _ in range(S["layers"]))
        self.n = torch.nn.Parameter(torch.ones(H, dtype=TYPE))
        angles = torch.outer(torch.arange(S["seq"]), 10000.0 ** (-torch.arange(0, D, 2) / D))
        angles = torch.cat((angles, angles), -1)
        self.register_buffer("cos", angles.cos().to(TYPE))
        self.register_buffer("sin", angles.sin().to(TYPE))

    def forward(self, ids, labels):
        h = F.embedding(ids, self.table)
        for layer in self.layers:
            h = layer(h, self.cos, self.sin)
        logits = F.linear(F.rms_norm(h, (H,), self.n, 1e-5), self.head)
        return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), reduction="sum")


torch.manual_seed(1)
model = Llama()
ids = torch.randint(S["vocabulary"], (S["batch"], S["seq"]))
labels = torch.randint(S["vocabulary"], (S["batch"], S["seq"]))
loss_of = torch.compile(model) if mode == "compile" else model


def step():
    model.zero_grad(set_to_none=True)
    start = time.perf_counter()
    loss_of(ids, labels).backward()
    return time.perf_counter() - start


for _ in range(2):
    step()
print("ready", flush=True)
for _ in sys.stdin:
    print(step(), flush=True)
