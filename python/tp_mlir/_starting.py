"""An interrupt while a program of the package is still imported.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

NumPy and tokenizers take a second, in which nothing has begun yet.
"""

import contextlib
import os
import sys

_PROGRAMS = ("tp-chat", "tp-plan", "tp-quantize", "tp-serve", "tp-train")


@contextlib.contextmanager
def interrupts_told():
    """Within it an interrupt ends the process in one line, if it runs one of the programs."""
    try:
        yield
    except KeyboardInterrupt:
        program = os.path.basename(sys.argv[0] if sys.argv else "")
        if program not in _PROGRAMS:
            raise
        print(f"{program}: interrupted while starting; nothing was left behind", file=sys.stderr)
        sys.exit(130)
