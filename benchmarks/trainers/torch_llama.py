"""Training steps of a Llama in PyTorch: gradient, clipping, fused AdamW.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: torch_llama.py THREADS f32|bf16 eager|compile|dtensor NAME=NUMBER...

Each line of standard input is answered: `step` with the seconds of one, `memory` with the bytes of all processes at
their peak, less those of the libraries when they were loaded. bf16 is autocast beside f32 weights. dtensor is tensor parallel on one process for each thread, which
gloo connects: linear layers by columns and rows, the loss on split logits.
"""

import contextlib
import os
import resource
import subprocess
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.tensor import DTensor, Replicate, init_device_mesh
from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel, loss_parallel,
                                               parallelize_module)

threads, dtype, mode, *words = sys.argv[1:]
S = {name: int(number) for name, number in (word.split("=") for word in words)}
H, D, NQ, NK = S["hidden"], S["head"], S["heads"], S["kv"]
SPLIT = mode == "dtensor"


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


BEGAN = peak_bytes()


def linear(rows, columns):
    made = torch.nn.Linear(columns, rows, bias=False)
    torch.nn.init.normal_(made.weight, std=0.02)
    return made


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = (torch.nn.Parameter(torch.ones(H)) for _ in range(2))
        self.q, self.k, self.v = linear(NQ * D, H), linear(NK * D, H), linear(NK * D, H)
        self.o, self.gate, self.up = linear(H, NQ * D), linear(S["mlp"], H), linear(S["mlp"], H)
        self.down = linear(H, S["mlp"])

    def forward(self, h, cos, sin):
        def turn(x):
            half = D // 2
            return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin

        x = F.rms_norm(h, (H,), self.n1, 1e-5)
        q, k, v = (w(x).view(*h.shape[:2], -1, D).transpose(1, 2) for w in (self.q, self.k, self.v))
        o = F.scaled_dot_product_attention(turn(q).to(v.dtype), turn(k).to(v.dtype), v, is_causal=True, enable_gqa=True)
        h = h + self.o(o.transpose(1, 2).reshape(*h.shape[:2], -1))
        x = F.rms_norm(h, (H,), self.n2, 1e-5)
        return h + self.down(F.silu(self.gate(x)) * self.up(x))


class Llama(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(S["vocabulary"], H)
        torch.nn.init.normal_(self.table.weight, std=0.02)
        self.head = linear(S["vocabulary"], H)
        self.layers = torch.nn.ModuleList(Layer() for _ in range(S["layers"]))
        self.n = torch.nn.Parameter(torch.ones(H))
        angles = torch.outer(torch.arange(S["seq"]), 10000.0 ** (-torch.arange(0, D, 2) / D))
        angles = torch.cat((angles, angles), -1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, ids, labels):
        h = self.table(ids)
        for layer in self.layers:
            h = layer(h, self.cos, self.sin)
        logits = self.head(F.rms_norm(h, (H,), self.n, 1e-5))
        return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())


def begin_ranks():
    """This process is rank 0 and starts the others, which do what it does."""
    size = int(threads)
    os.environ.setdefault("RANK", "0")
    os.environ.update(WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1")
    if os.environ["RANK"] == "0":
        store = dist.TCPStore("127.0.0.1", 0, size, True, wait_for_workers=False)
        os.environ["MASTER_PORT"] = str(store.port)
        for rank in range(1, size):
            subprocess.Popen([sys.executable, *sys.argv], env=dict(os.environ, RANK=str(rank)),
                             stdin=subprocess.DEVNULL)
    else:
        store = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), size, False)
    dist.init_process_group("gloo", store=store, rank=int(os.environ["RANK"]), world_size=size)
    return init_device_mesh("cpu", (size,))


def split(model, mesh):
    parallelize_module(model, mesh, {"table": RowwiseParallel(input_layouts=Replicate()),
                                     "head": ColwiseParallel(use_local_output=False)})
    for layer in model.layers:
        parallelize_module(layer, mesh, {name: ColwiseParallel() for name in ("q", "k", "v", "gate", "up")})
        parallelize_module(layer, mesh, {name: RowwiseParallel() for name in ("o", "down")})


def own(tensor):
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def clip(parameters, most):
    """clip_grad_norm_, which takes no mixture of split and other parameters."""
    if not SPLIT:
        return torch.nn.utils.clip_grad_norm_(parameters, most, foreach=True)
    parts = [[own(p.grad) for p in parameters if isinstance(p, DTensor) is kind] for kind in (True, False)]
    squares = torch.nn.utils.get_total_norm(parts[0]) ** 2
    dist.all_reduce(squares)
    norm = (squares + torch.nn.utils.get_total_norm(parts[1]) ** 2).sqrt()
    torch.nn.utils.clip_grads_with_norm_([p for p in parameters if not isinstance(p, DTensor)], most, norm)
    torch._foreach_mul_(parts[0], torch.clamp(most / (norm + 1e-6), max=1.0))
    return norm


torch.set_num_threads(1 if SPLIT else int(threads))
mesh = begin_ranks() if SPLIT else None
torch.manual_seed(1)
model = Llama()
if SPLIT:
    split(model, mesh)
ids = torch.randint(S["vocabulary"], (S["batch"], S["seq"]))
labels = torch.randint(S["vocabulary"], (S["batch"], S["seq"]))
loss_of = torch.compile(model) if mode == "compile" else model
weights = list(model.parameters())
groups = [{"params": [p for p in weights if isinstance(p, DTensor) is kind and (p.dim() > 1) is matrix],
           "weight_decay": 0.1 * matrix} for kind in (True, False) for matrix in (True, False)]
optimizer = torch.optim.AdamW([group for group in groups if group["params"]], lr=1e-4, fused=True)


def step():
    start = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    with loss_parallel() if SPLIT else contextlib.nullcontext():
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16"):
            loss = loss_of(ids, labels)
        loss.backward()
    clip(weights, 1.0)
    optimizer.step()
    return time.perf_counter() - start


def memory():
    peak = torch.tensor(peak_bytes() - BEGAN)
    if SPLIT:
        dist.all_reduce(peak)
    return int(peak)


def ask(command):
    """What all ranks do then; the end of input ends them."""
    if SPLIT:
        said = [command]
        dist.broadcast_object_list(said, src=0)
        command = said[0]
    if command is None:
        return False
    answer = memory() if command == "memory" else step()
    if not SPLIT or dist.get_rank() == 0:
        print(answer, flush=True)
    return True


for _ in range(2):
    step()
if SPLIT and dist.get_rank() != 0:
    while ask(""):
        pass
else:
    print("ready", flush=True)
    for line in sys.stdin:
        ask(line.strip())
    ask(None)
if SPLIT:
    dist.destroy_process_group()
