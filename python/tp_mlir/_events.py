"""A run's log as event files of TensorBoard, while the run goes.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

tp-run writes the log and knows nothing of this: a thread reads what is new in it.
"""

import json
import pathlib
import threading

from ._packages import needed

_SECONDS = 1
# Keys of a line of the log, and the names of their curves.
_CURVES = {"loss": "train/loss", "grad_norm": "train/grad_norm", "lr": "train/lr",
           "tokens_per_second": "train/tokens_per_second", "peak_bytes": "train/peak_bytes",
           "skipped": "train/skipped", "eval_loss": "eval/loss"}


class Events:
    """Use it in a `with`, around the run.

    Args:
        folder: where the event file goes; None writes none.
        log: the run's log, which need not be there yet.
    """

    def __init__(self, folder, log):
        self._writer, self._log, self._read = None, pathlib.Path(log), 0
        if folder is not None:
            self._make, self._folder = needed("tensorboardX", "tensorboard").SummaryWriter, folder
        self._is_wanted, self._ended = folder is not None, threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def _follow(self):
        while not self._ended.wait(_SECONDS):
            self._take()
        self._take()

    def _take(self):
        """Writes lines that are new and whole."""
        try:
            with open(self._log, "rb") as file:
                if file.seek(0, 2) < self._read:
                    self._begin_again()
                file.seek(self._read)
                new = file.read()
        except OSError:
            return
        whole = new[:new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            try:
                self._add(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue  # A line that a full disk has cut.
        if self._writer:
            self._writer.flush()

    def _begin_again(self):
        """tp-run, which goes on from a checkpoint, has removed the lines behind it."""
        self._read = 0
        if self._writer:
            self._writer.close()
            self._writer = None

    def _add(self, line):
        step = line["step"]
        if self._writer is None:
            # Earlier files do not count from this step on: each has all lines.
            self._writer = self._make(str(self._folder), purge_step=step)
        for key, name in _CURVES.items():
            if isinstance(line.get(key), (int, float)):
                self._writer.add_scalar(name, line[key], step)

    def __enter__(self):
        if self._is_wanted:
            self._thread.start()
        return self

    def __exit__(self, *unused):
        self._ended.set()
        if self._is_wanted:
            self._thread.join()
        if self._writer:
            self._writer.close()
