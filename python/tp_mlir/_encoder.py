"""A checkpoint that turns token ids into one vector: a model of sentence-transformers.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The program has an entry for each of several lengths; a batch runs on the shortest that holds it,
padded. Its ranks are threads of this process.
"""

import pathlib
import threading

import numpy

from . import _checkpoint, _program
from ._errors import InputError, UsageError

# Sequences in a step, and the most tokens of one, unless it is said.
ROWS, LONGEST = 8, 512
_LEAST = 16
# Options of an engine that generates, which mean nothing here.
_FOREIGN = ("program", "chunk", "page", "cells", "memory", "speculate", "kv_dtype", "generation_config")


def is_encoder(folder):
    """True if a checkpoint folder says how its vectors become one, as sentence-transformers do."""
    return (pathlib.Path(folder) / "modules.json").is_file()


def _lengths(context):
    """The entries' lengths: powers of two, and the longest."""
    found, length = [], _LEAST
    while length < context:
        found.append(length)
        length *= 4
    return [*found, context]


class Encoder:
    """
    Args:
        folder: the checkpoint.
        options: mesh, plan, target, dtype, quantize, untie, ignore as tp-compile's; `context`, the most
            tokens of a sequence; `rows`, the sequences in a step; `timeout` as tp-run's.

    Attributes:
        context: most tokens of a sequence.
        vocabulary: ids are below this.
        size: numbers of a vector.
        about, notes: as engine.Engine has them.
        failure: None, or the exception that has ended it.

    Any thread may use it. Close it.
    """

    def __init__(self, folder, context=None, rows=None, backend=None, timeout=None, **options):
        folder = _checkpoint.open_model(folder)
        for name in _FOREIGN:
            if options.pop(name, None) is not None:
                raise UsageError("tp-serve", 2, f"--{name.replace('_', '-')}: the model gives "
                                 "embeddings and generates nothing")
        if backend not in (None, "threads"):
            raise UsageError("tp-serve", 2, f"--backend: expected threads for a model that gives "
                             f"embeddings, got '{backend}'")
        if not is_encoder(folder):
            raise InputError("tp-serve", 1, f"{folder} gives no embeddings: expected a checkpoint of "
                             "sentence-transformers, which has modules.json")
        longest = _checkpoint.read_limits(folder)["longest"]
        self.context = context or min(longest, LONGEST)
        self._rows, self._lock = rows or ROWS, threading.Lock()
        self.failure, self.notes = None, ()
        self.about = f"up to {self._rows} texts in a step (--rows), each of at most {self.context:,} " \
                     "tokens (--context)"
        self.vocabulary = _checkpoint.read_config(pathlib.Path(folder))["vocab_size"]
        program = _program.compile(folder, batch=self._rows, seq=_lengths(self.context), **options)
        self._session = program.open(folder, timeout=timeout)
        try:
            self.size = self.embed([[0]]).shape[1]
        except BaseException:
            self.close()
            raise

    def embed(self, sequences):
        """Returns a float32 array [sequences, size]. Sequences of like lengths run together.

        Args:
            sequences: lists of token ids, each of 1 to `context`.
        """
        order = sorted(range(len(sequences)), key=lambda i: len(sequences[i]))
        made = [None] * len(sequences)
        for begin in range(0, len(order), self._rows):
            part = order[begin:begin + self._rows]
            for i, vector in zip(part, self._step([sequences[i] for i in part])):
                made[i] = vector
        return numpy.array(made, numpy.float32)

    def _step(self, sequences):
        length = max(map(len, sequences))
        ids = numpy.zeros((self._rows, length), numpy.int64)
        mask = numpy.zeros_like(ids)
        # A row without any token has no mean.
        mask[:, 0] = 1
        for row, one in enumerate(sequences):
            ids[row, :len(one)] = one
            mask[row, :len(one)] = 1
        with self._lock:
            try:
                outputs = self._session.run({"input_ids": ids, "attention_mask": mask})
            except Exception as error:
                self.failure = error
                raise
        return outputs["sentence_embedding"][:len(sequences)]

    def close(self):
        with self._lock:
            self._session.close()
