"""The curve of a loss, drawn as SVG.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Each step's loss in a light line and, over many steps, the mean around each in a dark one. Both begin with
the first loss and end with the last, which is labelled. Colours suit light and dark pages alike; a drawing
that is opened by itself has the background of the reader's theme.
"""

import html
import itertools
import math

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 400, 76, 56, 56, 48
# More points than this in a line are no more than pixels.
_POINTS = 1400
_SMOOTHED = 40
_COLOUR = "#3b82f6"


def ticks(low, high, count):
    """Round numbers from low to high, about as many as count."""
    raw = (high - low) / count
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _around(low, high, count):
    """Ticks of which the first is not above `low` and the last not below `high`."""
    inside = ticks(low, high, count)
    step = inside[1] - inside[0]
    before = [inside[0] - step] if inside[0] > low else []
    return [*before, *inside, *([inside[-1] + step] if inside[-1] < high else [])]


def labels(values):
    """Texts of ticks, all with as many digits behind the point: 5.8, 6.0."""
    for digits in range(8):
        texts = [f"{value:.{digits}f}" for value in values]
        if all(math.isclose(float(text), value, rel_tol=1e-6, abs_tol=1e-9)
               for text, value in zip(texts, values)):
            return texts
    return [f"{value:.4g}" for value in values]


def _window(count):
    """Over how many values a mean smooths: a twentieth of them, and never fewer than five."""
    return max(5, count // 20)


def _mean(values):
    """The mean around each value: of about _window of them, and fewer at both ends, where as many are
    before it as behind, so that a curve that falls is not lowered at its begin."""
    half = _window(len(values)) // 2
    sums = [0.0, *itertools.accumulate(values)]
    made = []
    for i in range(len(values)):
        reach = min(half, i, len(values) - 1 - i)
        made.append((sums[i + reach + 1] - sums[i - reach]) / (2 * reach + 1))
    return made


class _Plot:
    """Places of a drawing of so many steps and such losses."""

    def __init__(self, steps, losses):
        good = [loss for loss in losses if math.isfinite(loss)]
        low, high = (min(good), max(good)) if good else (0.0, 1.0)
        margin = 0.02 * (high - low) or 0.5
        self.ticks = _around(low - margin, high + margin, 6)
        self.low, self.high = self.ticks[0], self.ticks[-1]
        self.begin, self.end = steps[0], max(steps[-1], steps[0] + 1)

    def x(self, step):
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (step - self.begin) / (self.end - self.begin)

    def y(self, loss):
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (self.high - loss) / (self.high - self.low)

    def line(self, steps, values, style):
        every = max(1, len(values) // _POINTS)
        path, pen = [], "M"
        for i in sorted({*range(0, len(values), every), len(values) - 1}):
            if math.isfinite(values[i]):
                path.append(f"{pen}{self.x(steps[i]):.1f} {self.y(values[i]):.1f}")
            pen = "L" if math.isfinite(values[i]) else "M"
        return f'<path d="{"".join(path)}" fill="none" {style}/>'


def _text(x, y, words, style=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{html.escape(words)}</text>'


def _axes(plot, unit):
    for tick, label in zip(plot.ticks, labels(plot.ticks)):
        yield f'<path d="M{_LEFT} {plot.y(tick):.1f}H{_WIDTH - _RIGHT}" stroke="#8884"/>'
        yield _text(_LEFT - 8, plot.y(tick) + 4, label, 'text-anchor="end"')
    for tick in ticks(plot.begin, plot.end, 8):
        if tick == int(tick):
            yield _text(plot.x(tick), _HEIGHT - _BOTTOM + 18, f"{tick:.0f}", 'text-anchor="middle"')
    middle = _TOP + (_HEIGHT - _TOP - _BOTTOM) / 2
    yield _text(16, middle, unit, f'text-anchor="middle" transform="rotate(-90 16 {middle:.1f})"')
    yield _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 10, "step", 'text-anchor="middle"')


def _legend(entries):
    """Lines (style, words) above the right end of the drawing, from right to left."""
    x = _WIDTH - _RIGHT
    for style, words in reversed(entries):
        yield _text(x, _TOP - 10, words, 'text-anchor="end"')
        x -= 6.4 * len(words) + 8
        yield f'<path d="M{x - 22} {_TOP - 14}H{x}" {style}/>'
        x -= 40


def draw(steps, losses, title, unit="loss (nats per token)"):
    """SVG of the losses of these steps; those that are no numbers leave a gap.

    Args:
        steps: rising numbers, as many as losses, at least one.
        title: a line above the curve.
        unit: what the values are, beside their axis.
    """
    plot = _Plot(steps, losses)
    finite = all(map(math.isfinite, losses))
    smooth = finite and len(losses) >= _SMOOTHED
    each = f'stroke="{_COLOUR}" stroke-opacity="{0.5 if smooth else 1}"'
    parts = [_text(_LEFT, 22, title, 'font-size="14"'), *_axes(plot, unit),
             plot.line(steps, losses, each)]
    if smooth:
        thick = f'stroke="{_COLOUR}" stroke-width="2"'
        parts += [plot.line(steps, _mean(losses), thick), *_legend(
            [(each, "each step"), (thick, f"mean of about {_window(len(losses))}")])]
    if math.isfinite(losses[-1]):
        x, y = plot.x(steps[-1]), plot.y(losses[-1])
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{_COLOUR}"/>')
        parts.append(_text(x + 6, y + 4, f"{losses[-1]:.4g}"))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            f'width="{_WIDTH}" height="{_HEIGHT}" '
            'style="max-width:100%;height:auto;color-scheme:light dark" '
            f'font-family="sans-serif" font-size="12" fill="#888">\n' + "\n".join(parts) +
            "\n</svg>\n")
