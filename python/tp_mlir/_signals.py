"""SIGTERM as an exception, where there is something to put away.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import signal


class Terminated(KeyboardInterrupt):
    """A signal such as SIGTERM, where Ctrl-C would be a KeyboardInterrupt.

    Attributes:
        number: the signal's.
    """

    def __init__(self, number=signal.SIGTERM):
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def heard(numbers, handler):
    """Within it the signals go to `handler`, all but those that are ignored (nohup). For the
    main thread alone."""
    before = {number: signal.signal(number, handler) for number in numbers
              if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield
    finally:
        for number, old in before.items():
            # One that Python did not set cannot be set by it.
            signal.signal(number, signal.SIG_DFL if old is None else old)


@contextlib.contextmanager
def sigterm_raises(*more):
    """Within it SIGTERM, and each of `more`, raises Terminated in the main thread, so that files
    that are temporary and processes that were started do not stay behind. What comes while they
    are put away changes nothing. For the main thread alone."""
    raised = []

    def end(number, frame):
        if not raised:
            raised.append(number)
            raise Terminated(number)

    with heard((signal.SIGTERM, *more), end):
        yield


@contextlib.contextmanager
def doing(words, left="nothing was left behind"):
    """Within it an interrupt is told as one of `words`, such as "compiling".

    Args:
        left: what the interrupt leaves, or a function that says so once it has come.
    """
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if not hasattr(interrupt, "doing"):
            interrupt.doing = words
            interrupt.left = left() if callable(left) else left
        raise


def describe(interrupt):
    """What was interrupted, and what is left of it."""
    how = "interrupted"
    if (number := getattr(interrupt, "number", signal.SIGINT)) != signal.SIGINT:
        how = f"ended by {signal.Signals(number).name}"
    words = getattr(interrupt, "doing", None)
    left = getattr(interrupt, "left", "nothing was left behind")
    return f"{how}{f' while {words}' if words else ''}; {left}"


def exit_code(interrupt):
    """As a shell has it of a program that the signal ended."""
    return 128 + getattr(interrupt, "number", signal.SIGINT)
