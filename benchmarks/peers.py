"""Processes that take turns, and the environment of other programs.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
import statistics
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]
PEERS = ROOT / "build/peers"


def installed(program, packages):
    """True if `packages` of `program` are in the environment, which are installed if not."""
    python = PEERS / "bin/python"
    if not python.exists():
        venv.create(PEERS, with_pip=True)
    done = subprocess.run([python, "-m", "pip", "install", "--quiet",
                           "--disable-pip-version-check", *packages],
                          capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{program} is left out: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
    return done.returncode == 0


class Worker:
    """A process that answers lines with numbers, and all answers to each line."""

    def __init__(self, *command):
        environment = dict(os.environ, TP_MLIR_BIN=str(ROOT / "build/dev/bin"),
                           PYTHONPATH=str(ROOT / "python"), JAX_PLATFORMS="cpu")
        self.command, self.answers = command, {}
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, env=environment)

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{pathlib.Path(sys.argv[0]).name}: {' '.join(map(str, self.command))} "
                             f"ended with code {self.process.wait()}")
        return line.strip()

    def wait(self):
        while self.read() != "ready":
            pass
        return self

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self.answers.setdefault(line, []).append(float(self.read()))

    def median(self, line):
        return statistics.median(self.answers[line])

    def close(self):
        self.process.stdin.close()
        self.process.wait()
