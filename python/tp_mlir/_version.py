"""--version of the commands.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

It is the compiler's: our version, the commit it was built from, LLVM's. A package that is
installed has no other commit than that of the programs it runs.
"""

import argparse

from . import _tools
from ._errors import ToolError


class _Print(argparse.Action):
    def __init__(self, option_strings, dest, **unused):
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS,
                         help="say which this is")

    def __call__(self, parser, *unused):
        try:
            text = _tools.run("tp-compile", ["--version"])
        except ToolError as error:
            parser.exit(error.code, f"{parser.prog}: {error}\n")
        print(text.replace("tp-compile", parser.prog, 1), end="")
        parser.exit()


def add(parser):
    """Adds --version to a command's options."""
    parser.add_argument("--version", action=_Print)
