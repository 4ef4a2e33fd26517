"""A rank that _ranks starts: `python -m tp_mlir._follow PROGRAM WEIGHTS BACKEND TIMEOUT IS_CHECKPOINT`.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import signal
import sys

from ._errors import InputError, ToolError
from ._session import Session


def main(path, weights, backend, timeout, is_checkpoint):
    # Who interrupts the program means rank 0, which ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        Session(path, weights, backend, float(timeout) or None,
                is_checkpoint=is_checkpoint == "1", leads=True)
    except InputError:
        return 1  # rank 0 says it
    except ToolError as error:
        print(f"tp-mlir: {error}", file=sys.stderr)
        return error.code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
