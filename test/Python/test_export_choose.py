"""Elements that values choose, and routers that are written with them: each export compares itself
with the module.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os

import pytest

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed; pip install './python[export]'")

from test_export_torch import Call  # noqa: E402

import tp_mlir  # noqa: E402

SEED = int(os.environ.get("SEED", "1"))


def exported(function, *args, **weights):
    """A program that differs from the module raises an error."""
    export = tp_mlir.export(Call(function, **weights).eval(), args)
    assert export.difference is not None
    return export


@pytest.mark.parametrize("draw", range(4))
def test_choices(draw):
    """The largest and smallest along any dimension, and gather and scatter at their places. Of
    equals PyTorch takes any, so there are none."""
    print(f"SEED={SEED}")
    torch.manual_seed(SEED * 100 + draw)
    shape = torch.randint(2, 6, (1 + draw % 3,)).tolist()
    dim = int(torch.randint(-len(shape), len(shape), ()))
    count = int(torch.randint(1, shape[dim] + 1, ()))
    x = torch.randperm(torch.Size(shape).numel()).reshape(shape) * 0.5 - 3.0

    def choose(module, x, y):
        values, places = torch.topk(x, count, dim, largest=draw % 2 == 0)
        integers = torch.topk((x * 2).long(), count, dim)[1]
        return (values, places, integers, torch.gather(y, dim, places),
                x.scatter(dim, places, 7.0), x.scatter(dim, places, values * 2),
                torch.zeros_like(x).scatter(dim, places, values),
                y.scatter_add(dim, places, values))
    exported(choose, x, torch.randn(shape))


@pytest.mark.parametrize("draw", range(3))
def test_first_of_the_largest(draw):
    """Among equals it is the first, as PyTorch's is where it says so."""
    print(f"SEED={SEED}")
    torch.manual_seed(SEED * 100 + draw)
    shape = torch.randint(2, 6, (1 + draw,)).tolist()
    dim = int(torch.randint(-len(shape), len(shape), ()))
    x = torch.randint(-2, 2, shape).float()

    def choose(module, x):
        return (*torch.max(x, dim), *torch.min(x, dim, keepdim=True), x.argmax(dim),
                x.argmin(), torch.max((x * 2).long(), dim)[1], x.clamp(x - x.abs(), -x + 1))
    exported(choose, x)


def test_derivative_of_the_largest():
    """It is that of the element that was taken, among equals too."""
    x = torch.tensor([[1.0, 3.0, 3.0], [0.5, 0.5, -1.0]])
    module = Call(lambda m, x: (x * m.w).max(1)[0].unsqueeze(1) * x, w=torch.ones(2, 3)).eval()
    program = tp_mlir.export(module, (x,)).compile(mesh="tp=1", train="sgd")
    targets = torch.tensor([2, 0])
    _, ours = program.gradients({"arg0": x.numpy(), "targets": targets.numpy()})
    torch.nn.functional.cross_entropy(module(x), targets).backward()
    assert abs(ours["w"] - module.w.grad.numpy()).max() < 1e-6


def test_scatter_adds_where_places_are_the_same():
    exported(lambda m, x, i: x.scatter_add(1, i, m.w), torch.randn(2, 4),
             torch.tensor([[0, 3, 3], [1, 1, 1]]), w=torch.randn(2, 3))


def test_slices_with_a_step_are_boxes_of_a_parameter():
    export = exported(lambda m, x: x @ m.w[:, 1::2] + (x @ m.w)[..., ::2],
                      torch.randn(3, 4), w=torch.randn(4, 6))
    assert ("source <shape = [4, 6], offsets = [0, 1], permutation = [1, 0], steps = [1, 2]>"
            in export.text)


def experts(module, x, weights, ids):
    """What models of transformers compute, as it is traced."""
    count, chosen = ids.shape
    rows = x.unsqueeze(1).expand(-1, chosen, -1).reshape(count * chosen, -1)
    picked = ids.reshape(-1)
    wide = torch.bmm(module.up[picked], rows.unsqueeze(-1)).squeeze(-1)
    gate, up = wide.chunk(2, -1)
    down = torch.bmm(module.down[picked], (torch.relu(gate) * up).unsqueeze(-1)).squeeze(-1)
    return (down * weights.reshape(-1).unsqueeze(-1)).view(count, chosen, -1).sum(1)


def routed(router):
    """A layer of experts with a router: its matrices are cut, its sum is one all-reduce."""
    torch.manual_seed(3)

    def run(module, x):
        logits = x @ module.gate
        return experts(module, x, *router(logits))
    return exported(run, torch.randn(6, 8), gate=torch.randn(8, 4), up=torch.randn(4, 16, 8),
                    down=torch.randn(4, 8, 8))


def sigmoid_of_chosen(logits):
    values, ids = torch.topk(logits, 2)
    return torch.sigmoid(values), ids


def square_roots(logits):
    scores = torch.sqrt(torch.nn.functional.softplus(logits))
    ids = torch.topk(scores + torch.arange(4.0) * 0.1, 3, sorted=False)[1]
    chosen = scores.gather(1, ids)
    return chosen / (chosen.sum(-1, keepdim=True) + 1e-6) * 1.5, ids


def twice_the_same(logits):
    ids = torch.topk(logits, 1)[1]
    return torch.sigmoid(logits)[:, :2], torch.cat([ids, ids], 1)


@pytest.mark.parametrize("router", [sigmoid_of_chosen, square_roots, twice_the_same])
def test_any_router(router):
    export = routed(router)
    assert export.matched == {"experts": 1} and "nn.router" not in export.text
    totals = export.compile(mesh="tp=2").explain().totals
    assert {kind: total["count"] for kind, total in totals.items()} == {"all_reduce": 1}


def test_the_largest_of_a_softmax_are_one_operation():
    export = routed(lambda logits: torch.topk(torch.softmax(logits, -1), 2))
    assert export.matched == {"experts": 1} and "nn.router" in export.text
