"""Finding and running the programs.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from . import _version
from ._errors import InputError, from_exit


def find(tool):
    """The path of `tool`: $TP_MLIR_BIN, the installation's bin, then the PATH. The first time it
    says so if the program does not belong to this package."""
    path = _find(tool)
    _version.check(path)
    return path


def _find(tool):
    folders = []
    if os.environ.get("TP_MLIR_BIN"):
        folders.append(pathlib.Path(os.environ["TP_MLIR_BIN"]))
    folders.append(pathlib.Path(sys.prefix) / "bin")
    for folder in folders:
        if os.access(folder / tool, os.X_OK):
            return str(folder / tool)
    path = shutil.which(tool)
    if path:
        return path
    raise InputError(
        tool, 1, f"{tool} is neither in $TP_MLIR_BIN, nor in {sys.prefix}/bin, nor on the PATH; "
        "build tp-mlir and set TP_MLIR_BIN to the build tree's bin")


# Lines that relay_remarks has passed on.
_said = set()


def relay_remarks(text):
    """Pass on what a tool that succeeded says about its input, each line once in a process."""
    for line in text.splitlines():
        if (": remark: " in line or ": warning: " in line) and line not in _said:
            _said.add(line)
            print(line, file=sys.stderr, flush=True)


def inspect(program):
    """What tp-inspect says of an artifact."""
    return json.loads(run("tp-inspect", ["--json", program]))


def run(tool, arguments, progress=False):
    """Run `tool`; return its standard output. Raise ToolError if it fails.

    Its remarks and warnings go to this process's standard error, each once. With
    `progress`, all its messages do as they come, and are still part of the exception.
    """
    command = [find(tool), *map(str, arguments)]
    if not progress:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise from_exit(tool, done.returncode, done.stderr)
        relay_remarks(done.stderr)
        return done.stdout
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        import threading

        lines = []

        def relay():
            for line in process.stderr:
                lines.append(line)
                sys.stderr.write(line)
                sys.stderr.flush()

        relay_thread = threading.Thread(target=relay)
        relay_thread.start()
        output = process.stdout.read()
        code = process.wait()
        relay_thread.join()
    if code != 0:
        raise from_exit(tool, code, "".join(lines))
    return output


def options(**options):
    """--name value for each option that is given, --name for one that is True; a list with
    commas between its items."""
    arguments = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        arguments.append(f"--{name.replace('_', '-')}")
        if isinstance(value, (list, tuple)):
            value = ",".join(map(str, value))
        if value is not True:
            arguments.append(str(value))
    return arguments
