"""The curve of a loss, drawn as SVG.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Each step's loss in a light line and, over many steps, their running mean in a dark one. Colours
suit light and dark pages alike.
"""

import html
import math

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 400, 64, 16, 40, 48
# More points than this in a line are no more than pixels.
_POINTS = 1400
_SMOOTHED = 40


def ticks(low, high, count):
    """Round numbers from low to high, about as many as count."""
    raw = (high - low) / count
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _mean(values):
    """The running mean, over about a twentieth of all values."""
    weight, mean, total, made = 1 - 20 / len(values), 0.0, 0.0, []
    for value in values:
        mean, total = weight * mean + value, weight * total + 1
        made.append(mean / total)
    return made


def draw(steps, losses, title):
    """SVG of the losses of these steps; those that are no numbers leave a gap.

    Args:
        steps: rising numbers, as many as losses, at least one.
        title: a line above the curve.
    """
    good = [loss for loss in losses if math.isfinite(loss)]
    low, high = (min(good), max(good)) if good else (0.0, 1.0)
    margin = 0.05 * (high - low) or 0.5
    low, high = low - margin, high + margin
    begin, end = steps[0], max(steps[-1], steps[0] + 1)

    def x(step):
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (step - begin) / (end - begin)

    def y(loss):
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - loss) / (high - low)

    def line(values, style):
        every = max(1, len(values) // _POINTS)
        path, pen = [], "M"
        for step, value in list(zip(steps, values))[::every]:
            if math.isfinite(value):
                path.append(f"{pen}{x(step):.1f} {y(value):.1f}")
            pen = "L" if math.isfinite(value) else "M"
        return f'<path d="{"".join(path)}" fill="none" {style}/>'

    def text(x, y, words, style=""):
        return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{html.escape(words)}</text>'

    parts = [text(_LEFT, 24, title, 'font-size="14"'),
             text(_WIDTH / 2, _HEIGHT - 10, "step", 'text-anchor="middle"')]
    for tick in ticks(low, high, 6):
        parts.append(f'<path d="M{_LEFT} {y(tick):.1f}H{_WIDTH - _RIGHT}" stroke="#8884"/>')
        parts.append(text(_LEFT - 8, y(tick) + 4, f"{tick:.4g}", 'text-anchor="end"'))
    for tick in ticks(begin, end, 8):
        if tick == int(tick):
            parts.append(text(x(tick), _HEIGHT - _BOTTOM + 18, f"{tick:.0f}",
                              'text-anchor="middle"'))
    smooth = len(good) == len(losses) >= _SMOOTHED
    parts.append(line(losses, f'stroke="#3b82f6" stroke-opacity="{0.4 if smooth else 1}"'))
    if smooth:
        parts.append(line(_mean(losses), 'stroke="#3b82f6" stroke-width="2"'))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            f'width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" font-size="12" '
            f'fill="#888">\n' + "\n".join(parts) + "\n</svg>\n")
