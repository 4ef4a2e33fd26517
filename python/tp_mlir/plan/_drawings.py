"""What a page draws: bars of memory, and curves over ranks.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Bars are boxes of the page, so that their labels stay as large as its text on a narrow screen;
curves are SVG. A candidate that does not fit is pale and dashed in bars and hollow in curves. Every mark
says its figure to a pointer.
"""

import html

from .. import _curve
from . import _table
from ._units import bytes_text, part_text

COLOURS = {"parameters": "#2563eb", "kv_cache": "#d97706", "gradients": "#7c3aed",
           "moments": "#db2777", "kept_values": "#0d9488", "activations": "#16a34a",
           "communication": "#dc2626", "other": "#64748b", "workspace": "#94a3b8"}
_LINES = ("#2563eb", "#d97706", "#16a34a", "#db2777", "#7c3aed", "#0d9488")
# Below this part of a device, bars are drawn to the scale of the largest of them.
_SMALL = 0.2

STYLE = """
.bar{display:grid;grid-template-columns:12rem 1fr 9.5rem;gap:.2rem .8rem;align-items:center;margin:
.35rem 0}.bar>:first-child{text-align:right}.track{position:relative;height:1.2rem}.stack{display:
flex;height:100%;overflow:hidden}.no .stack{opacity:.55;outline:2px dashed #dc2626;
outline-offset:-2px}.end{position:absolute;top:-.35rem;bottom:-.35rem;border-left:2px solid}.ends{
position:relative;height:1.3rem;font-size:12px}.ends span{position:absolute;transform:translateX(
-100%);white-space:nowrap;padding-right:.3rem}.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;
font-size:13px}.legend i{display:inline-block;width:.8rem;height:.8rem;margin-right:.35rem}.curves{
display:flex;flex-wrap:wrap;gap:1rem}figure{margin:0;width:21.5rem;max-width:100%}figcaption{
font-weight:600;font-size:14px}svg{width:100%;height:auto}svg text{fill:currentColor;font:12px
system-ui,sans-serif}
@media(max-width:40rem){.bar{grid-template-columns:1fr auto}.bar>:first-child{text-align:left}.bar>
.track{grid-row:2;grid-column:1/-1}.bar>.ends{grid-column:1/-1}.bar.foot>:not(.ends){display:none}}
"""


def text(words):
    return html.escape(str(words))


def _legend(entries):
    return '<div class="legend">' + "".join(
        f'<span><i style="{style}"></i>{text(words)}</span>' for style, words in entries) + "</div>"


def _bar(row, kinds, whole):
    """A stacked bar of which the full width is `whole` bytes."""
    parts = []
    for kind in kinds:
        size = row["memory"].get(kind, 0)
        title = f"{_table.KINDS[kind]}: {bytes_text(size)}"
        parts.append(f'<span style="width:{100 * size / row["total_bytes"]:.3f}%;'
                     f'background:{COLOURS[kind]}" title="{text(title)}"></span>')
    end = ""
    if row["device_bytes"] <= whole:
        end = (f'<span class="end" style="left:{100 * row["device_bytes"] / whole:.3f}%" '
               f'title="memory of the device: {text(bytes_text(row["device_bytes"]))}"></span>')
    said = part_text(row["total_bytes"], row["device_bytes"])
    return (f'<div class="bar{"" if row["fits"] else " no"}"><span>{text(row["mesh"])} '
            f'{text(row["plan"])}</span><div class="track"><div class="stack" '
            f'style="width:{100 * row["total_bytes"] / whole:.3f}%">{"".join(parts)}</div>{end}'
            f'</div><span>{text(said)}</span></div>')


def bars(rows):
    """Memory of a rank, a bar for each candidate, and a labelled line where the device ends."""
    kinds = [kind for kind in COLOURS if any(row["memory"].get(kind) for row in rows)]
    device = max(row["device_bytes"] for row in rows)
    largest = max(row["total_bytes"] for row in rows)
    whole = largest if largest < _SMALL * device else 1.02 * max(largest, device)
    parts = [_bar(row, kinds, whole) for row in rows]
    if device <= whole:
        parts.append('<div class="bar foot"><span></span><div class="ends"><span style="left:'
                     f'{100 * device / whole:.3f}%">the device ends: {text(bytes_text(device))} '
                     "</span></div><span></span></div>")
    else:
        parts.append(f"<p>The bars are enlarged: the device's {text(bytes_text(device))} are "
                     f"{device / whole:.0f} times as wide as this.</p>")
    legend = [(f"background:{COLOURS[kind]}", _table.KINDS[kind]) for kind in kinds]
    if not all(row["fits"] for row in rows):
        legend.append(("outline:2px dashed #dc2626;outline-offset:-2px", "does not fit"))
    return "".join(parts) + _legend(legend)


class _Plot:
    """Places of one drawing: ranks to the right, each as wide as the next; values upwards."""
    width, height, left, top, bottom = 344, 230, 62, 12, 40

    def __init__(self, ranks, most):
        self.ranks, self.most = ranks, most

    def x(self, ranks):
        wide = self.width - self.left - 10
        return self.left + wide * (self.ranks.index(ranks) + 0.5) / len(self.ranks)

    def y(self, value):
        return self.height - self.bottom - (self.height - self.top - self.bottom) * value / self.most

    def path(self, points):
        return "M" + "L".join(f"{self.x(ranks):.1f} {self.y(value):.1f}" for ranks, value in points)


def _label(x, y, words, anchor):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text(words)}</text>'


def _axes(plot, unit):
    for tick in _curve.ticks(0, plot.most, 5):
        yield (f'<path d="M{plot.left} {plot.y(tick):.1f}H{plot.width - 10}" stroke="#8884"/>' +
               _label(plot.left - 6, plot.y(tick) + 4, unit(tick), "end"))
    for ranks in plot.ranks:
        yield _label(plot.x(ranks), plot.height - plot.bottom + 17, ranks, "middle")
    yield _label((plot.left + plot.width) / 2, plot.height - 5, "ranks", "middle")


def _line(plot, plan, colour, points, unit):
    """Points (ranks, value, fits): joined by a line, hollow where they do not fit."""
    path = plot.path([point[:2] for point in points])
    yield f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for ranks, value, fits in points:
        said = f"{plan} on {ranks}: {unit(value)}{'' if fits else ', does not fit'}"
        look = f'fill="{colour}"' if fits else f'fill="Canvas" stroke="{colour}" stroke-width="2"'
        yield (f'<circle cx="{plot.x(ranks):.1f}" cy="{plot.y(value):.1f}" r="4" {look}>'
               f"<title>{text(said)}</title></circle>")


def _ideal(points, power):
    """What the first of the points that fits would be on more ranks, were they all used."""
    first = next((point for point in points if point[2]), points[0])
    return [(ranks, first[1] * (ranks / first[0])**power) for ranks, *_ in points
            if ranks >= first[0]]


def curves(rows, value, unit, title, power):
    """One line for each plan over ranks, and one dashed of ideal scaling.

    Args:
        power: of the ranks, by which the value would grow if nothing were lost: -1 of a time, 1
            of tokens a second.
    """
    lines = {}
    for row in rows:
        lines.setdefault(row["plan"], []).append((row["ranks"], value(row), row["fits"]))
    lines = {plan: sorted(points) for plan, points in sorted(lines.items())}
    ideal = _ideal(min(lines.values(), key=lambda points: points[0][0]), power)
    if len({row.get("users") for row in rows}) > 1:
        ideal = []              # Each has another load.
    most = max(point[1] for points in lines.values() for point in points) * 1.08 or 1
    plot = _Plot(sorted({row["ranks"] for row in rows}), most)
    inside = [point for point in ideal if point[1] <= most]
    parts = [*_axes(plot, unit)]
    if len(inside) > 1:
        parts.append(f'<path d="{plot.path(inside)}" fill="none" stroke="#888" '
                     'stroke-dasharray="5 4"><title>ideal scaling</title></path>')
    legend = []
    for colour, (plan, points) in zip(_LINES * len(lines), lines.items()):
        parts += _line(plot, plan, colour, points, unit)
        legend.append((f"background:{colour};border-radius:50%", plan))
    if len(inside) > 1:
        legend.append(("border-top:2px dashed #888;height:0;vertical-align:middle", "ideal"))
    if any(not row["fits"] for row in rows):
        legend.append(("border:2px solid #888;border-radius:50%;box-sizing:border-box",
                       "does not fit"))
    return (f'<figure><figcaption>{text(title)}</figcaption>{_legend(legend)}'
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {plot.width} {plot.height}" '
            f'role="img" aria-label="{text(title)}">{"".join(parts)}</svg></figure>')
