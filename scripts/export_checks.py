"""What survey-exports asks of a model beside its forward: that it generates and trains as PyTorch.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import pathlib
import tempfile

import numpy
import torch
from safetensors.torch import load_file

_PROMPTS = (1, 5, 9, 3)     # tokens; more of them than rows, and than a chunk has tokens
_NEW, _STEPS = 6, 8
_BETAS, _EPS, _DECAY, _RATE = (0.9, 0.95), 1e-8, 0.1, 1e-3


def check_generation(exported, model, degree):
    """How far the logits of what was generated are below PyTorch's largest ones, of the largest
    value: 0 where all ids are those of a greedy search. Raises ToolError."""
    random = numpy.random.default_rng(degree)
    words = model.config.vocab_size
    prompts = [random.integers(3, words, size).tolist() for size in _PROMPTS]
    context = next(iter(exported.inputs.values()))[1]
    program = exported.compile(mesh=f"tp={degree}", generate=True, context=context, rows=3, chunk=4)
    worst = 0.0
    for prompt, answer in zip(prompts, program.generate(prompts, max_tokens=_NEW)):
        ids = torch.tensor([[*prompt, *answer.ids]])
        with torch.no_grad():
            logits = model(ids, use_cache=False).logits[0].float()
        assert len(answer.ids) == _NEW, f"{len(answer.ids)} tokens, expected {_NEW}"
        for place, chosen in enumerate(answer.ids, len(prompt) - 1):
            gap = logits[place].max() - logits[place, chosen]
            worst = max(worst, float(gap / logits[place].abs().max()))
    return worst


def _batches(exported, words):
    random = numpy.random.default_rng(7)
    shape = exported.inputs["input_ids"]
    for _ in range(_STEPS):
        yield random.integers(3, words, (shape[0], shape[1] + 1))


def train_reference(exported, model):
    """Losses and weights of eight steps of PyTorch's AdamW; `model` is trained."""
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": _DECAY},
              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=_RATE, betas=_BETAS, eps=_EPS)
    losses = []
    for rows in _batches(exported, model.config.vocab_size):
        rows = torch.tensor(rows)
        logits = model(rows[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: value.detach().clone() for name, value in model.state_dict().items()}


def check_training(exported, words, reference, degree):
    """The largest differences of losses, relative, and of weights, as parts of what a weight
    may move in all steps. Raises ToolError."""
    losses, weights = reference
    program = exported.compile(mesh=f"tp={degree}", train="adamw")
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder) / "trained"
        with program.train(lr=_RATE, betas=_BETAS, eps=_EPS, weight_decay=_DECAY) as trainer:
            ours = [trainer.step(rows).loss
                    for rows in _batches(exported, words)]
            trainer.save(place)
        saved = load_file(place / "model.safetensors")
    of_losses = max(abs(a - b) / abs(b) for a, b in zip(ours, losses))
    # A weight whose gradient is rounding alone moves by the rate, whatever its sign.
    moved = [float((saved[name].float() - weights[name].float()).abs().mean()) / (_RATE * _STEPS)
             for name in saved]
    return of_losses, max(moved)
