"""--version of the commands, and whether the programs belong to this package.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

An installed package has the commit that it was built of (setup.py), and the programs have theirs. One
that is used from a checkout has none: it is as new as its files.
"""

import argparse
import functools
import os
import re
import subprocess
import sys

VERSION = "0.1.0"


def commit():
    """The commit that this package was built of; empty for the files of a checkout."""
    try:
        from ._commit import COMMIT
    except ImportError:
        return ""
    return COMMIT


def mismatch(path, said):
    """What to say of a program at `path` whose --version has said so; None if it belongs to this
    package, or if that cannot be known."""
    found = re.search(r"\(commit (\w+)\)", said)
    if not found or not commit() or found[1] == commit():
        return None
    return (f"this package is of commit {commit()}, and {path} of {found[1]}: expected both of one "
            "checkout (scripts/setup installs the package again, ninja makes the programs)")


# Folders of programs that were told to belong to another package.
_told = set()


@functools.cache
def check(path):
    """Says in one line, once for all programs of a folder, that they do not belong to this package."""
    if not commit():
        return
    try:
        said = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return  # Whoever runs it next says what is wrong with it.
    words = mismatch(path, said)
    build = os.path.dirname(path)
    if words and build not in _told:
        _told.add(build)
        print(f"tp_mlir: {words}", file=sys.stderr, flush=True)


class _Print(argparse.Action):
    def __init__(self, option_strings, dest, **unused):
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS,
                         help="say which this is, and which programs it runs")

    def __call__(self, parser, *unused):
        from . import _tools
        from ._errors import ToolError

        own = f" (commit {commit()})" if commit() else ", of a checkout"
        print(f"{parser.prog}: tp-mlir {VERSION}{own}")
        try:
            path = _tools.find("tp-compile")
            print(f"{_tools.run('tp-compile', ['--version']).strip()}, {path}")
        except ToolError as error:
            parser.exit(error.code, f"{parser.prog}: {error}\n")
        parser.exit()


def add(parser):
    """Adds --version to a command's options."""
    parser.add_argument("--version", action=_Print)
