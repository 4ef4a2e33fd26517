"""The fixtures, and how far from PyTorch a run of them may be.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

f32 must agree to 2e-5 of the largest value. bf16 and f16 are compared with PyTorch's
f32, and their error with that of PyTorch's own bf16 or f16, of which fixture.json has
the norm (scripts/make-fixtures):

- All elements: a norm of at most 1.25 times PyTorch's. An error is a sum of many small
  ones, each proportional to a rounding, so its norm adds up their squares and hardly
  depends on chance. A kernel rounds less often than PyTorch, which rounds after every
  operation. Only results that are summed over N ranks are rounded more often. In units
  of the square of one rounding of the whole result: the N parts together 1, as the
  square of each is 1/N of it; the sum 1 where it is made in f32 (the CPU), and
  sum(k/N for k = 2..N) where it is rounded at each hop of a ring (NCCL); in all 2, or
  2, 2.7 and 3.25 for N = 2, 3, 4, instead of PyTorch's 1. Two of about fifteen roundings
  on the way through a layer are such sums: the norm may grow by 1.14 at N = 4 (seen: 1.16;
  1.21 where an output has but 96 elements).
- Each element: at most 8 times the root mean square of PyTorch's errors. Of 12 000
  normally distributed errors one is beyond 4 times their spread, and the spread differs
  up to twofold between rows (attention) and columns (weights of norms). PyTorch's own
  largest error would be no measure: it is one draw, between 3 and 11 times the root
  mean square.
"""

import json
import os
import pathlib

import numpy
from safetensors.numpy import load_file

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
PLANS = ("megatron", "megatron-sp")
F32_TOLERANCE = 2e-5
NORM_FACTOR = 1.25
ELEMENT_FACTOR = 8


def fixtures():
    """Folder and facts of each fixture, or of the one that FIXTURE names."""
    for path in sorted(FIXTURES.glob("*/fixture.json")):
        folder = path.parent
        if folder.name == "all-minilm-l6-v2":
            continue
        if os.environ.get("FIXTURE", folder.name) == folder.name:
            yield folder, json.loads(path.read_text())


def runs(facts, most):
    """Plan, degree and type: f32 and bf16 at every degree up to `most`, of which one is the
    same with every plan; f16, whose programs differ from bf16's in the type alone, at the
    largest, and with sequences split at the smallest. Of a mixture of experts, which is a
    dense model but for these, a few; its experts are cut by their width, and from each other."""
    if "experts" in facts:
        yield from (("megatron", degree, "f32") for degree in facts["degrees"])
        yield from (("megatron", 2, "bf16"), ("megatron-sp", 2, "f32"), ("expert", 2, "bf16"),
                    ("expert", 4, "f32"), ("expert-sp", 2, "f32"))
        return
    for plan in PLANS:
        split = plan != "megatron"
        degrees = [degree for degree in facts["degrees_sp" if split else "degrees"]
                   if split < degree <= most]
        few = degrees[:1] if split else degrees[-1:]
        for degree in degrees:
            for dtype in ("f32", "bf16", "f16"):
                if dtype != "f16" or degree in few:
                    yield plan, degree, dtype


def check(outputs, folder, facts, dtype):
    """Compares all outputs of a run with the fixture's."""
    expected = load_file(folder / "expected.safetensors")
    assert set(outputs) == set(facts["outputs"])
    for name, value in outputs.items():
        want, theirs = expected[name], facts["outputs"][name]
        assert value.shape == want.shape
        assert numpy.isfinite(value).all(), f"{name} is not finite"
        difference = value.astype(numpy.float64) - want
        worst = numpy.abs(difference).max()
        if dtype == "f32":
            worst /= numpy.abs(want).max()
            assert worst <= F32_TOLERANCE, f"{name} is off by {worst:.2e} of the largest value"
            continue
        norm = theirs[f"{dtype}_norm"]
        ratio = numpy.linalg.norm(difference) / norm
        assert ratio <= NORM_FACTOR, f"{name} is {ratio:.2f} times as far as PyTorch's {dtype}"
        worst /= norm / want.size ** 0.5
        assert worst <= ELEMENT_FACTOR, (
            f"an element of {name} is off by {worst:.1f} times the root mean square of the "
            f"errors of PyTorch's {dtype}")
