"""The ranks of a program that are processes, where nobody else has started them.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

This process becomes rank 0; the others follow it until it closes its session
(`_follow`). They find each other as those of a launcher do, by variables of the
environment (docs/RuntimeABI.md), under a name that no other job has.
"""

import contextlib
import os
import pathlib
import secrets
import signal
import subprocess
import sys

from . import _forks

# How long ranks may take to end once they have nothing to do.
_END_SECONDS = 5


def of_program(told, backend):
    """The backend of a program that tp-inspect tells of, and how many ranks it has. Of several on
    GPUs, where none is named, it is nccl, for which the runtime would expect a launcher."""
    ranks, device = told["artifact"]["ranks"], told["manifest"]["target"].get("device", "cpu")
    return backend or ("nccl" if device == "cuda" and ranks > 1 else None), ranks


class Ranks:
    """Ranks 1 to count - 1, started."""

    def __init__(self, count, *arguments):
        """`arguments`: those of _follow."""
        job = {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count),
               "MASTER_ADDR": f"tp-mlir-{secrets.token_hex(8)}", "MASTER_PORT": "1"}
        package = str(pathlib.Path(__file__).resolve().parents[1])
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))

        def place(rank):
            return {**job, "RANK": str(rank), "LOCAL_RANK": str(rank)}

        self._first, self._processes = place(0), {}
        _forks.watch(self)
        try:
            for rank in range(1, count):
                self._processes[rank] = subprocess.Popen(
                    [sys.executable, "-m", "tp_mlir._follow", *map(str, arguments)],
                    env={**os.environ, **place(rank), "PYTHONPATH": path},
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        except BaseException:
            self.end(0)
            raise

    def forked(self):
        """They are no children of this process."""
        self._processes = {}

    @contextlib.contextmanager
    def first(self):
        """This process is rank 0 for what is opened meanwhile."""
        before = {name: os.environ.get(name) for name in self._first}
        os.environ.update(self._first)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value

    def killed(self):
        """How ranks were killed, as far as they were: what they cannot say themselves."""
        return "".join(
            f"; rank {rank} was killed by signal {-code} ({signal.strsignal(-code)})"
            for rank, process in self._processes.items() if (code := process.poll() or 0) < 0)

    def end(self, seconds=_END_SECONDS):
        """Waits for them, and kills those that do not end."""
        for process in self._processes.values():
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
