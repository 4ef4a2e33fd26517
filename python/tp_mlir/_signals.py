"""SIGTERM as an exception, where there is something to put away.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import signal


class Terminated(KeyboardInterrupt):
    """SIGTERM, where Ctrl-C would be a KeyboardInterrupt."""


@contextlib.contextmanager
def sigterm_raises():
    """Within it SIGTERM raises Terminated in the main thread, so that files that are temporary
    and processes that were started do not stay behind. For the main thread alone."""
    def end(number, frame):
        raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def exit_code(interrupt):
    """As a shell has it of a program that the signal ended."""
    return 128 + (signal.SIGTERM if isinstance(interrupt, Terminated) else signal.SIGINT)
