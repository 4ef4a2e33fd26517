"""Programs exported from PyTorch, with weights that are made rather than stored.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

test/Python/exports has, of each model, the exported text (NAME.mlir), its plan, the shapes of its
weights and inputs and the collectives that it needs by count of ranks (NAME.json), and what PyTorch
gave (NAME.safetensors). Weights and inputs are random numbers that follow from their names, so
that scripts/make-export-fixtures gives PyTorch the same.
"""

import json
import pathlib
import zlib

import numpy

FOLDER = pathlib.Path(__file__).resolve().parent / "exports"
IMPORTED = FOLDER / "imported"      # of checkpoints of test/fixtures
SEQUENCE = 16
DEGREES = (1, 2, 4)


def facts():
    """Facts of each fixture by name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}


def weight(name, shape):
    """A weight by name: matrices keep the size of what they multiply, scales are about one."""
    random = numpy.random.RandomState(zlib.crc32(name.encode()))
    numbers = random.standard_normal(shape)
    if len(shape) < 2:
        return (numbers * 0.1 + name.endswith("weight")).astype(numpy.float32)
    return (numbers / numpy.sqrt(numpy.prod(shape[1:]))).astype(numpy.float32)


def weights(shapes):
    return {name: weight(name, shape) for name, shape in shapes.items()}


def inputs(shapes):
    """Inputs by name: ids from 3 on, a mask whose last row ends early, floats."""
    arrays = {}
    for name, shape in shapes.items():
        random = numpy.random.RandomState(zlib.crc32(name.encode()))
        if "mask" in name:
            arrays[name] = numpy.ones(shape, numpy.int64)
            arrays[name][-1, shape[1] - 3:] = 0
        elif "ids" in name:
            arrays[name] = random.randint(3, 92, shape)
        else:
            arrays[name] = random.standard_normal(shape).astype(numpy.float32)
    return arrays
