"""Numbers on a command line, and what they may be.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import math


def _expected(what, least, most, above):
    if most is not None:
        return f"{what} from {least} to {most}"
    if least is None:
        return what
    return f"{what} above {least}" if above else f"{what} of at least {least}"


def _parser(kind, what, least, most, above):
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        is_below = least is not None and not (value > least if above else value >= least)
        if not math.isfinite(value) or is_below or (most is not None and value > most):
            raise argparse.ArgumentTypeError(
                f"expected {_expected(what, least, most, above)}, got '{text}'")
        return value

    return parse


def integer(least=None, most=None):
    """The type of an option that is an integer, of at least `least`, at most `most`."""
    return _parser(int, "an integer", least, most, False)


def number(least=None, most=None, above=False):
    """The same of any finite number; with `above`, larger than `least`."""
    return _parser(float, "a number", least, most, above)
