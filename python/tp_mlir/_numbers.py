"""Values on a command line, and what they may be.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import math


def _expected(what, least, most, above, below):
    if below is not None:
        return f"{what} of at least {least} and below {below}"
    if most is not None:
        return f"{what} from {least} to {most}"
    if least is None:
        return what
    return f"{what} above {least}" if above else f"{what} of at least {least}"


def _parser(kind, what, least, most, above, below=None):
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        is_below = least is not None and not (value > least if above else value >= least)
        is_above = (most is not None and value > most) or (below is not None and value >= below)
        if not math.isfinite(value) or is_below or is_above:
            raise argparse.ArgumentTypeError(
                f"expected {_expected(what, least, most, above, below)}, got '{text}'")
        return value

    return parse


def integer(least=None, most=None):
    """The type of an option that is an integer, of at least `least`, at most `most`."""
    return _parser(int, "an integer", least, most, False)


def number(least=None, most=None, above=False, below=None):
    """The same of any finite number; with `above`, larger than `least`; `below` excludes itself."""
    return _parser(float, "a number", least, most, above, below)


def word(*words):
    """The type of an option that is one of a few words."""
    def parse(text):
        if text not in words:
            raise argparse.ArgumentTypeError(f"expected {', '.join(words[:-1])} or {words[-1]}, "
                                             f"got '{text}'")
        return text

    return parse
