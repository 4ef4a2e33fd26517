"""Exports hold beyond the positions of their trace, or say how far they hold.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import re

import pytest

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed; pip install './python[export]'")

import tp_mlir  # noqa: E402

nn, functional = torch.nn, torch.nn.functional
SEED = int(os.environ.get("SEED", "1"))
WORDS, SIZE, HEADS = 61, 32, 4


class Model(nn.Module):
    """One layer of attention, whose mask and scale of queries are functions of the positions."""

    def __init__(self, mask, scale=None):
        super().__init__()
        self.words, self.qkv = nn.Embedding(WORDS, SIZE), nn.Linear(SIZE, 3 * SIZE)
        self.mask, self.scale = mask, scale
        self.register_buffer("local", torch.ones(40, 40).tril().triu(-6) > 0, persistent=False)

    def forward(self, ids):
        x = self.words(ids)
        batch, length, size = x.shape
        at = torch.arange(length)
        if self.scale:
            x = x * self.scale(at)[:, None]
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2)
                   for part in self.qkv(x).split(size, 2))
        mask = self.mask(self, at[:, None], at[None])
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return (x + y.transpose(1, 2).reshape(x.shape)) @ self.words.weight.T


def causal(module, q, k):
    return k <= q


def exported(mask, scale=None, length=5):
    torch.manual_seed(SEED)
    model = Model(mask, scale).eval()
    export = tp_mlir.export(model, (torch.randint(0, WORDS, (1, length)),))
    found = re.search(r"tp.positions = (\d+)", export.text)
    return model, export, found and int(found[1])


@pytest.mark.parametrize("mask, window", [
    (causal, None),
    (lambda m, q, k: (k <= q) & (k > q - 9), 9),
    (lambda m, q, k: (k <= q) & (q - k < 3), 3),
    (lambda m, q, k: (k <= q) & ((q - k) // 4096 == 0), 4096),
    (lambda m, q, k: m.local[:q.shape[0], :k.shape[1]], 7),
    (lambda m, q, k: torch.zeros(q.shape[0], k.shape[1]).masked_fill(
        torch.ones(q.shape[0], k.shape[1]).triu(1).bool() | (k + 70000 <= q), -torch.inf), 70000)])
def test_windows_wider_than_the_trace(mask, window):
    model, export, limit = exported(mask)
    found = re.search(r"window = (\d+)", export.text)
    assert (found and int(found[1])) == window
    # Of a buffer so many rows are known.
    assert limit is None or window == 7


@pytest.mark.parametrize("mask, scale, limit", [
    (lambda m, q, k: (k <= q) & (k // 12 == q // 12), None, 12),
    (causal, lambda at: 1.0 + torch.floor((at + 1) / 20), 19),
    (causal, lambda at: at.clamp(max=30) * 0.1, 31),
    (causal, lambda at: torch.where(at < 1000, 1.0, 2.0), 1000),
    (causal, lambda at: at * 0.25 + 1, None)])
def test_what_begins_later_limits_the_context(mask, scale, limit):
    model, export, found = exported(mask, scale)
    assert found == limit
    if limit and limit < 100:
        with pytest.raises(tp_mlir.InputError,
                           match=f"expected --context to be from 1 to the {limit} positions"):
            export.compile(mesh="tp=1", generate=True, context=limit + 1)


@pytest.mark.parametrize("mask", [lambda m, q, k: (k <= q) & (k > q - 9),
                                  lambda m, q, k: (k <= q) & (k // 12 == q // 12)])
def test_steps_beyond_the_trace(mask):
    model, export, limit = exported(mask, lambda at: torch.where(at < 500, 1.0, 2.0))
    program = export.compile(mesh="tp=1", generate=True, context=limit if limit < 100 else 30,
                             rows=1, chunk=4)
    count = 8 if limit < 100 else 24
    answer = program.generate([[5, 6, 7]], max_tokens=count)[0]
    logits = model(torch.tensor([[5, 6, 7, *answer.ids]]))[0].detach()
    for place, chosen in enumerate(answer.ids, 2):
        assert logits[place].max() - logits[place, chosen] <= 2e-5 * logits[place].abs().max()
