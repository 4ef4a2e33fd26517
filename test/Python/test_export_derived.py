"""What is derived from exports: training by a loss, checkpoints, and generation of what people write.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import copy
import math
import re

import numpy
import pytest

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed; pip install './python[export]'")

from test_export_torch import Call  # noqa: E402

import tp_mlir  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

nn, functional = torch.nn, torch.nn.functional

RATE, STEPS = 0.1, 4


def trained(module, tensors, loss, degree, **inputs):
    """Losses of steps of SGD, ours and PyTorch's; `loss` of what the module gives."""
    export = tp_mlir.export(module, tensors, outputs=inputs.pop("outputs", None))
    export.weights()
    module = copy.deepcopy(module)
    optimizer, want = torch.optim.SGD(module.parameters(), lr=RATE), []
    for _ in range(STEPS):
        value = loss(module(*tensors))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        want.append(value.item())
    batch = {name: tensor.numpy() for name, tensor in zip(export.inputs, tensors)} | inputs
    with export.compile(mesh=f"tp={degree}", train="sgd").train(lr=RATE) as trainer:
        return [trainer.step(batch).loss for _ in range(STEPS)], want


class Words(nn.Module):
    """Tied to its table, with a buffer that is a mask, one of integers, and a layer that is not used."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(16, 8)
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)
        self.head = nn.Linear(8, 16, bias=False)
        self.head.weight = self.table.weight
        self.unused = nn.Linear(2, 2)
        self.register_buffer("mask", torch.tril(torch.ones(6, 6)))
        self.register_buffer("count", torch.tensor(3))

    def forward(self, words):
        x = self.table(words)
        weights = torch.softmax((x @ x.mT).masked_fill(self.mask == 0, -1e9), -1)
        return {"logits": self.head(weights @ x + self.down(torch.relu(self.up(x))))}


def test_saves_whatever_its_inputs_are_called(tmp_path):
    """What is saved is the module's whole state, which load_state_dict takes, and training goes on
    from it as it went."""
    torch.manual_seed(4)
    ids, x, y = torch.randint(0, 16, (2, 6)), torch.randn(12, 8), torch.randint(0, 6, (12,))
    own = Call(lambda self, x, y: {"loss": functional.cross_entropy(self.layers(x), y)})
    own.layers = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 6))
    for name, module, tensors, outputs, more in (
            ("words", Words(), (ids,), ["logits"], {"targets": ids.numpy()}),
            ("own", own, (x, y), ["loss"], {})):
        export = tp_mlir.export(module.eval(), tensors, outputs=outputs)
        batch = {name: tensor.numpy() for name, tensor in zip(export.inputs, tensors)} | more
        program, folder = export.compile(mesh="tp=2", train="adamw"), tmp_path / name
        with program.train(lr=RATE) as trainer:
            trainer.step(batch)
            trainer.save(folder)
            (loss, _), after = trainer.evaluate(batch), trainer.step(batch)
        loaded = copy.deepcopy(module)
        loaded.load_state_dict(load_file(folder / "model.safetensors"), strict=True)
        result = loaded(*tensors)
        want = result["loss"] if "loss" in result else functional.cross_entropy(
            result["logits"].flatten(0, 1), ids.flatten())
        assert loss == pytest.approx(want.item(), rel=1e-5)
        with program.train(lr=RATE, resume=folder) as trainer:
            assert trainer.steps == 1 and trainer.step(batch) == after


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("reduction, ignored", [("mean", -100), ("sum", 3), ("mean", 3)])
def test_cross_entropy(reduction, ignored, degree):
    """A loss of the module's own, whose targets are an input like others."""
    torch.manual_seed(1)
    x, y = torch.randn(12, 8), torch.randint(0, 6, (12,))
    y[2] = ignored
    module = Call(lambda self, x, y: functional.cross_entropy(
        self.layers(x), y, ignore_index=ignored, reduction=reduction))
    module.layers = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 6))
    ours, want = trained(module.eval(), (x, y), lambda value: value, degree)
    assert numpy.allclose(ours, want, rtol=2e-5)


def test_classes_of_rows():
    """Logits of whole rows have a loss, too."""
    torch.manual_seed(2)
    module = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 6)).eval()
    x, y = torch.randn(12, 8), torch.randint(0, 6, (12,))
    ours, want = trained(module, (x,), lambda logits: functional.cross_entropy(logits, y), 2,
                         targets=y.numpy())
    assert numpy.allclose(ours, want, rtol=2e-5)


@pytest.mark.parametrize("options, problem", [
    ({"weight": torch.ones(6)}, "with weights of classes"),
    ({"label_smoothing": 0.1}, "with label_smoothing")])
def test_cross_entropy_that_is_refused(options, problem):
    for x, y, words in ((torch.randn(4, 6), torch.rand(4, 6).softmax(1),
                         "of probabilities in the place of classes"),
                        (torch.randn(2, 6, 3), torch.randint(0, 6, (2, 3)),
                         "of logits of 3 dimensions; expected [rows, classes]")):
        with pytest.raises(tp_mlir.InputError, match=re.escape(words)):
            tp_mlir.export(Call(lambda self, x, y: functional.cross_entropy(x, y)).eval(), (x, y))
    module = Call(lambda self, x, y: functional.cross_entropy(x, y, **options)).eval()
    with pytest.raises(tp_mlir.InputError, match=problem):
        tp_mlir.export(module, (torch.randn(4, 6), torch.randint(0, 6, (4,))))


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_generates_and_trains(name):
    """scripts/survey-exports asks this of every architecture."""
    import export_checks
    from export_models import build
    model, args, kwargs, entry = build(name)
    export = tp_mlir.export(model, args, kwargs, outputs=entry.outputs)
    assert export_checks.check_generation(export, model, 2) <= 2e-5
    reference = export_checks.train_reference(export, model)
    losses, weights = export_checks.check_training(export, model.config.vocab_size, reference, 2)
    assert losses <= 1e-4 and weights <= 1e-2


class Attention(nn.Module):
    """Attention as people write it: a buffer of what sees what, scores, a softmax."""

    def __init__(self, size, heads, length, places):
        super().__init__()
        self.heads, self.places = heads, places
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.register_buffer("seen", torch.tril(torch.ones(64, 64)).view(1, 1, 64, 64))

    def forward(self, x):
        batch, length, size = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(x).split(size, 2))
        if self.places == "rotated":
            angles = torch.outer(torch.arange(length).float(), torch.tensor([1.0, 0.1, 0.01, 0.001]))

            def turn(z):
                a, b = z.chunk(2, -1)
                return torch.cat([a * angles.cos() - b * angles.sin(),
                                  b * angles.cos() + a * angles.sin()], -1)
            q, k = turn(q), turn(k)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        if self.places == "distances":
            at = torch.arange(length)
            slopes = torch.tensor([2.0 ** -(2 * i + 1) for i in range(self.heads)])
            scores = scores + slopes[:, None, None] * (at[None, None] - at[None, :, None])
        scores = scores.masked_fill(self.seen[:, :, :length, :length] == 0, -math.inf)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, size))


@pytest.mark.parametrize("places", ["learned", "rotated", "distances"])
def test_what_people_write_generates(places):
    torch.manual_seed(3)
    words, size, length = 61, 32, 20

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(words, size), nn.Embedding(64, size)
            self.layers = nn.ModuleList([Attention(size, 4, length, places) for _ in range(2)])

        def forward(self, ids):
            x = self.words(ids)
            if places == "learned":
                x = x + self.places(torch.arange(ids.shape[1]))
            for layer in self.layers:
                x = x + layer(x)
            return x @ self.words.weight.T
    model = Model().eval()
    export = tp_mlir.export(model, (torch.randint(0, words, (1, length)),))
    assert export.matched["attention"] == 2
    program = export.compile(mesh="tp=2", generate=True, context=length, rows=2, chunk=4)
    prompts = [[5, 6, 7, 8, 9], [1], [2, 3] * 4]
    for prompt, answer in zip(prompts, program.generate(prompts, max_tokens=6)):
        with torch.no_grad():
            logits = model(torch.tensor([[*prompt, *answer.ids]]))[0]
        for place, chosen in enumerate(answer.ids, len(prompt) - 1):
            assert logits[place].max() - logits[place, chosen] <= 2e-5 * logits[place].abs().max()
