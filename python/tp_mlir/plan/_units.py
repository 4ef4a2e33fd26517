"""Figures in the unit that keeps them short.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""


def bytes_text(value):
    """16.0 MB: decimal, as devices are sold."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value:.0f} B"


def seconds_text(value):
    """25.3 ms."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.3g} us" if value else "0 s"


def count_text(value):
    """131,072; 12.3 where it is small."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
