"""Linear attention of transformers' models is one operation, its parts are cut by heads.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import sys

import pytest

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed; pip install './python[export]'")
pytest.importorskip("transformers")

import export_checks  # noqa: E402
from export_models import build  # noqa: E402

import tp_mlir  # noqa: E402


@pytest.mark.parametrize("name", ["mamba2", "qwen3_5"])
def test_steps_and_derivatives(name):
    model, args, kwargs, entry = build(name)
    file = sys.modules[type(model).__module__]
    functions = [getattr(file, key, None) for key in ("torch_chunk_gated_delta_rule",
                                                      "mamba2_chunk_scan")]
    export = tp_mlir.export(model, args, kwargs, outputs=entry.outputs)
    assert functions == [getattr(file, key, None) for key in ("torch_chunk_gated_delta_rule",
                                                              "mamba2_chunk_scan")]
    assert "nn.gated_delta_rule" in export.text and "tensor.concat" not in export.text
    totals = export.compile(mesh="tp=2").explain().totals
    assert {kind: total["count"] for kind, total in totals.items()} == entry.collectives(2)
    assert export_checks.check_generation(export, model, 2) <= 2e-5
    reference = export_checks.train_reference(export, model)
    losses, weights = export_checks.check_training(export, model.config.vocab_size, reference, 2)
    assert losses <= 1e-4 and weights <= 1e-2


def test_slices_of_what_works_by_channels():
    """They are boxes of the weights, through a convolution, an activation and what was put
    together; what is part of two of these stays a slice."""
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.into, self.more = torch.nn.Linear(6, 8), torch.nn.Linear(6, 4)
            self.conv = torch.nn.Conv1d(12, 12, 3, padding=2, groups=12)

        def forward(self, x):
            both = torch.cat([self.into(x), self.more(x)], -1).transpose(1, 2)
            y = torch.nn.functional.silu(self.conv(both)[:, :, :5]).transpose(1, 2)
            a, b, c = y.split([3, 5, 4], -1)
            across = y[..., 7:9]
            return a.sum(-1, keepdim=True) + b, c, across
    torch.manual_seed(4)
    export = tp_mlir.export(Model().eval(), (torch.randn(2, 5, 6),))
    assert export.matched["causal_conv"] == 4       # three parts, and all for the one across
    assert "source <shape = [12, 1, 3], offsets = [3, 0, 0]" in export.text
