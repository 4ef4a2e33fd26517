"""A hundred steps of torch.optim.AdamW.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

training.json beside a checkpoint has the losses of two runs on the file of tokens that is
made here, in float32 and in bfloat16 with float32 masters, and of the first the norms of the
gradients before they are clipped, and of each weight at the end the norm and the sum with random
signs. The settings, all away from their defaults, are those of
test/Integration/training.py.
"""

import json
import tempfile

import numpy
import torch
import training
from safetensors.numpy import save_file
from torch.nn import functional
from transformers import AutoModelForCausalLM

from . import gradients


def write_data():
    """Rows of a walk that is easy to learn: from each token one of three others follows."""
    draw = numpy.random.RandomState(5)
    following = draw.randint(0, training.VOCABULARY, (training.VOCABULARY, 3))
    rows = numpy.empty((training.ROWS, training.SEQ + 1), numpy.int32)
    for row in rows:
        row[0] = draw.randint(training.VOCABULARY)
        for i in range(training.SEQ):
            row[i + 1] = following[row[i], min(draw.geometric(0.7), 3) - 1]
    labels = rows.copy()
    ignored = numpy.where(numpy.arange(training.ROWS) % 2, 0.1, 0.8)
    labels[draw.rand(*rows.shape) < ignored[:, None]] = -100
    # Micro-batches that add nothing: the second of each third step.
    number = numpy.arange(training.ROWS) // training.BATCH
    labels[number % (3 * training.ACCUMULATE) == 3] = -100
    save_file({"tokens": rows, "labels": labels}, training.DATA)


class Run:
    """A model and its optimizer; `masters` are what is updated, in float32."""

    def __init__(self, folder, dtype, clip):
        self.model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, attn_implementation="eager").eval()
        self.clip = clip
        self.weights = list(self.model.parameters())
        self.masters = self.weights
        if dtype == torch.bfloat16:
            wide = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
            self.masters = list(wide.parameters())
        decayed = [p for p in self.masters if p.ndim > 1]
        plain = [p for p in self.masters if p.ndim == 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": training.WEIGHT_DECAY},
             {"params": plain, "weight_decay": 0.0}],
            lr=0.0, betas=training.BETAS, eps=training.EPS, foreach=False, fused=False)

    def step(self, micro_batches, rate):
        """Loss, counted tokens, and the norm of the gradient before it is clipped."""
        total, tokens = 0.0, 0
        sums = [torch.zeros_like(p) for p in self.masters]
        for ids, labels in micro_batches:
            logits = self.model(input_ids=torch.from_numpy(ids)).logits
            logits = logits.float() if logits.dtype == torch.bfloat16 else logits
            loss = functional.cross_entropy(
                logits.flatten(0, 1), torch.from_numpy(labels).flatten(), ignore_index=-100,
                reduction="sum")
            self.model.zero_grad(set_to_none=True)
            loss.backward()
            for found, weight in zip(sums, self.weights):
                found += weight.grad
            total, tokens = total + loss.item(), tokens + int((labels != -100).sum())
        for master, found in zip(self.masters, sums):
            master.grad = found / tokens
        norm = torch.nn.utils.clip_grad_norm_(self.masters, self.clip, foreach=False)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        if self.masters is not self.weights:
            with torch.no_grad():
                for weight, master in zip(self.weights, self.masters):
                    weight.copy_(master)
        return total / tokens, tokens, norm.item()


def train(folder, dtype, clip):
    run = Run(folder, dtype, clip)
    steps = [run.step(training.batches(step), training.rate(step))
             for step in range(training.STEPS)]
    return steps, dict(gradients.parameters(run.model, gradients.stored_names(folder)))


def write(folder, made_with):
    clip = training.CLIP[folder.name]
    with tempfile.TemporaryDirectory() as scratch:
        source = training.checkpoint(folder, scratch)
        (plain, weights), (exact, _), (narrow, _) = (
            train(source, dtype, clip) for dtype in
            (torch.float32, torch.float64, torch.bfloat16))
    worst = max(abs(a[0] - b[0]) for a, b in zip(plain, exact))
    clipped = sum(norm > clip for _, _, norm in plain)
    print(f"{folder.name:20} loss {plain[0][0]:.3f} to {plain[-1][0]:.3f}, bf16 "
          f"{narrow[-1][0]:.3f}; {clipped} of {len(plain)} steps are clipped; f32 is at most "
          f"{worst:.1e} off", flush=True)
    assert worst < 1e-5, "the run is chaotic"
    assert 10 < clipped < len(plain) - 10 and plain[-1][0] < 0.7 * plain[0][0]
    found = {"made_with": made_with,
             "losses": [loss for loss, _, _ in plain], "tokens": [n for _, n, _ in plain],
             "norms": [norm for _, _, norm in plain],
             "bf16_losses": [loss for loss, _, _ in narrow],
             "weights": {name: training.digest(name, weight.detach().numpy())
                         for name, weight in weights.items()}}
    (folder / "training.json").write_text("{\n" + ",\n".join(
        f' "{name}": {json.dumps(value)}' for name, value in found.items()) + "\n}\n")
