"""Figures in the unit that keeps them short.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""


def _scaled(value, units):
    """The value in the largest unit that it reaches, or in the last one."""
    for unit, size in units:
        if abs(value) >= size:
            break
    return value / size, unit


def bytes_text(value):
    """15.3 MiB: powers of 1024, as tp-compile, tp-run and nvidia-smi count memory."""
    if abs(value) < 1024:
        return f"{value:.0f} B"
    scaled, unit = _scaled(value, [(unit, 1024.0**power) for power, unit in
                                   ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB"))])
    return f"{scaled:.1f} {unit}"


def part_text(part, whole):
    """67.7 of 79.6 GiB."""
    of = bytes_text(whole)
    unit = of.rsplit(" ", 1)[1]
    text = bytes_text(part)
    return f"{text.removesuffix(f' {unit}')} of {of}"


def rate_text(value, unit):
    """989 TFLOP/s, 3.35 TB/s: powers of 1000, as data sheets count."""
    scaled, prefix = _scaled(value, [("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3),
                                     ("", 1.0)])
    return f"{scaled:.4g} {prefix}{unit}"


def figure_text(value, unit):
    """A profile's figure, whose unit is `B`, `FLOP/s`, `B/s`, `s` or `per hour`."""
    if unit == "B":
        return f"{bytes_text(value)} ({value / 1e9:.1f} GB)" if value >= 1e9 else bytes_text(value)
    if unit == "s":
        return seconds_text(value)
    return rate_text(value, unit) if unit.endswith("/s") else f"{value:g} {unit}"


def seconds_text(value):
    """25.3 ms."""
    if not value:
        return "0 s"
    scaled, unit = _scaled(value, [("s", 1.0), ("ms", 1e-3), ("us", 1e-6)])
    return f"{scaled:.3g} {unit}"


def count_text(value):
    """131,072; 12.3 where it is small."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def price_text(value):
    """1,234; 12.35; 0.004: money, in whatever it was given."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}" if value >= 1 else f"{value:#.2g}"
