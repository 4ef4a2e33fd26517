"""What a page draws: bars of memory, and curves over ranks.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Bars are boxes of the page, so that their labels stay as large as its text on a narrow screen;
curves are SVG. The candidate to take has its label in bold. One that does not fit is pale and dashed in
bars and hollow in curves. Every mark says its figure to a pointer.
"""

import html

from .. import _curve
from . import _table
from .._units import bytes_text, part_text

COLOURS = {"parameters": "#2563eb", "kv_cache": "#d97706", "gradients": "#7c3aed",
           "moments": "#db2777", "kept_values": "#0d9488", "activations": "#16a34a",
           "communication": "#dc2626", "other": "#64748b", "workspace": "#94a3b8"}
_LINES = ("#2563eb", "#d97706", "#16a34a", "#db2777", "#7c3aed", "#0d9488")
# Below this part of a device, bars are drawn to the scale of the largest of them.
_SMALL = 0.2

STYLE = """
.bar{display:grid;grid-template-columns:12rem 1fr 11.5rem;gap:.2rem .8rem;align-items:center;margin:
.35rem 0}.bar>:first-child{text-align:right}.track{position:relative;height:1.2rem}.stack{display:
flex;height:100%;overflow:hidden}.bar.take>span{font-weight:700}.no .stack{opacity:.55;outline:2px dashed #dc2626;
outline-offset:-2px}.end{position:absolute;top:-.35rem;bottom:-.35rem;border-left:2px solid}.ends{
position:relative;height:1.3rem;font-size:12px}.ends span{position:absolute;transform:translateX(
-100%);white-space:nowrap;padding-right:.3rem}.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;
margin:.6rem 0;font-size:13px}.legend i{display:inline-block;width:.8rem;height:.8rem;margin-right:.35rem}.curves{
display:flex;flex-wrap:wrap;gap:1rem}figure{margin:0;width:21.5rem;max-width:100%}figcaption{
font-weight:600;font-size:14px}svg{width:100%;height:auto}svg text{fill:currentColor;font:12px
system-ui,sans-serif}
@media(max-width:40rem){.bar{grid-template-columns:1fr auto}.bar>:first-child{text-align:left}.bar>
.track{grid-row:2;grid-column:1/-1;margin:.15rem 0}.end{top:-.1rem;bottom:
-.1rem}.bar>.ends{grid-column:1/-1}.bar.foot>:not(.ends){display:none}}
"""


def text(words):
    return html.escape(str(words))


def _legend(entries):
    return '<div class="legend">' + "".join(
        f'<span><i style="{style}"></i>{text(words)}</span>' for style, words in entries) + "</div>"


def _class(row):
    return " take" if row["recommended"] else "" if row["fits"] else " no"


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
    return (f'<div class="bar{_class(row)}"><span>{text(row["mesh"])} '
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
        legend.append(("outline:2px dashed #dc2626;outline-offset:-2px",
                       "more than the device holds"))
    return "".join(parts) + _legend(legend)


class _Plot:
    """Places of one drawing: ranks to the right, each as wide as the next; values upwards."""
    width, height, left, top, bottom = 344, 230, 62, 12, 40

    def __init__(self, ranks, plans, most):
        self.ranks, self.plans, self.most = ranks, plans, most

    def x(self, ranks, plan=None):
        """The middle of the column of so many ranks, or beside it, so that no plan hides another."""
        column = (self.width - self.left - 10) / len(self.ranks)
        middle = self.left + column * (self.ranks.index(ranks) + 0.5)
        if plan is None:
            return middle
        step = min(9, column / (len(self.plans) + 1))
        return middle + step * (self.plans.index(plan) - (len(self.plans) - 1) / 2)

    def y(self, value):
        return self.height - self.bottom - (self.height - self.top - self.bottom) * value / self.most


def _path(points):
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _label(x, y, words, anchor):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text(words)}</text>'


def _axes(plot, unit):
    for tick in _curve.ticks(0, plot.most, 5):
        yield (f'<path d="M{plot.left} {plot.y(tick):.1f}H{plot.width - 10}" stroke="#8884"/>' +
               _label(plot.left - 6, plot.y(tick) + 4, unit(tick), "end"))
    for ranks in plot.ranks:
        yield _label(plot.x(ranks), plot.height - plot.bottom + 17, ranks, "middle")
    yield _label((plot.left + plot.width) / 2, plot.height - 5, "ranks", "middle")


def _mark(x, y, is_inside, look, said):
    """A point; or, at the upper edge, a triangle for one that lies beyond it."""
    title = f"<title>{text(said)}</title>"
    if is_inside:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" {look}>{title}</circle>'
    edge = _path([(x - 5, _Plot.top + 4), (x, _Plot.top - 4), (x + 5, _Plot.top + 4)])
    return f'<path d="{edge}Z" {look}>{title}</path>'


def _said(row, value, is_joined):
    """What a point says to a pointer."""
    said = f"{row['plan']} on {row['ranks']}: {value}"
    if not is_joined:
        said += f" with {row['users']:,} user{'s' if row['users'] > 1 else ''}"
    return said if row["fits"] else f"{said}, does not fit"


def _line(plot, colour, rows, key, unit, is_joined):
    """Rows of one plan: those that fit are full points, joined by a line; others are hollow."""
    places = [(plot.x(row["ranks"], row["plan"]), plot.y(key(row))) for row in rows]
    fitting = [place for place, row in zip(places, rows) if row["fits"]]
    if is_joined and len(fitting) > 1:
        yield f'<path d="{_path(fitting)}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for (x, y), row in zip(places, rows):
        look = (f'fill="{colour}"' if row["fits"] else
                f'fill="Canvas" stroke="{colour}" stroke-width="2"')
        yield _mark(x, y, key(row) <= plot.most, look, _said(row, unit(key(row)), is_joined))


def _first_that_fits(rows):
    return min((row for row in rows if row["fits"]), key=lambda row: row["ranks"], default=None)


def _ideal(plot, rows, value, power):
    """What the first row that fits would be on more ranks, were they all used, up to where it
    leaves the drawing."""
    first = _first_that_fits(rows)
    if first is None:
        return []
    points = []
    for ranks in (ranks for ranks in plot.ranks if ranks >= first["ranks"]):
        x, y = plot.x(ranks), value(first) * (ranks / first["ranks"])**power
        if y > plot.most:
            before, below = points[-1]
            part = (plot.most - below) / (y - below)
            points.append((before + part * (x - before), plot.most))
            break
        points.append((x, y))
    return [(x, plot.y(y)) for x, y in points]


def _by_plan(rows):
    plans = {}
    for row in sorted(rows, key=lambda row: row["ranks"]):
        plans.setdefault(row["plan"], []).append(row)
    return plans


def _is_joined(rows):
    """True if all rows have the same load, so that a line between them says something."""
    return len({row.get("users") for row in rows}) == 1


def curves_legend(rows):
    """What the colours and the points of all curves are."""
    plans = list(_by_plan(rows))
    entries = [(f"background:{colour};border-radius:50%", plan)
               for colour, plan in zip(_LINES * len(plans), plans)]
    first = _first_that_fits(next(iter(_by_plan(rows).values()), []))
    if _is_joined(rows) and first and first["ranks"] < max(row["ranks"] for row in rows):
        entries.append(("border-top:2px dashed #888;height:0;vertical-align:middle", "ideal"))
    if not all(row["fits"] for row in rows):
        entries.append(("border:2px solid #888;border-radius:50%;box-sizing:border-box",
                        "more than the device holds (a triangle: above the scale, too)"))
    words = "" if _is_joined(rows) else (
        "<p>Each point has as many users as its row of the table, so that no line joins them.</p>")
    return _legend(entries) + words


def curves(rows, key, unit, title, power):
    """One line for each plan over ranks, and one dashed of ideal scaling. What does not fit does not
    set the scale.

    Args:
        key: gives a row's value.
        power: of the ranks, by which the value would grow if nothing were lost: -1 of a time, 1
            of tokens a second.
    """
    plans, is_joined = _by_plan(rows), _is_joined(rows)
    shown = [row for row in rows if row["fits"]] or rows
    most = max(map(key, shown)) * 1.08 or 1
    plot = _Plot(sorted({row["ranks"] for row in rows}), list(plans), most)
    ideal = _ideal(plot, next(iter(plans.values())), key, power) if is_joined else []
    parts = [*_axes(plot, unit)]
    if len(ideal) > 1:
        parts.append(f'<path d="{_path(ideal)}" fill="none" stroke="#888" '
                     'stroke-dasharray="5 4"><title>ideal scaling</title></path>')
    for colour, one in zip(_LINES * len(plans), plans.values()):
        parts += _line(plot, colour, one, key, unit, is_joined)
    return (f'<figure><figcaption>{text(title)}</figcaption>'
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {plot.width} {plot.height}" '
            f'role="img" aria-label="{text(title)}">{"".join(parts)}</svg></figure>')
