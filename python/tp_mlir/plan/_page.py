"""The figures as one page that needs no other file: bars of memory, curves of scaling, tables.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Drawings are SVG in the page; colours suit light and dark. Every mark says its figure to a pointer.
"""

import html

from .. import _curve
from . import _table
from ._units import bytes_text, count_text, seconds_text

_COLOURS = {"parameters": "#2563eb", "kv_cache": "#d97706", "gradients": "#7c3aed",
            "moments": "#db2777", "kept_values": "#0d9488", "activations": "#16a34a",
            "communication": "#dc2626", "other": "#64748b", "workspace": "#94a3b8"}
_LINES = ("#2563eb", "#d97706", "#16a34a", "#db2777", "#7c3aed", "#0d9488")
_STYLE = """
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem
auto;padding:0 1rem}h1{font-size:1.3rem}h2{font-size:1.05rem;margin-top:2rem}table{border-collapse:
collapse;font-size:13px;font-variant-numeric:tabular-nums}td,th{padding:.2rem .6rem;text-align:
right;border-bottom:1px solid #8884;white-space:nowrap}td:nth-child(-n+2),th:nth-child(-n+2){
text-align:left}.scroll{overflow-x:auto}.take{border-left:4px solid #2563eb;padding:.3rem .8rem}
.trust{color:#888}svg{max-width:100%;height:auto}svg text{fill:currentColor;font:12px system-ui}
.sources td{text-align:left;white-space:normal}
"""


def _text(words):
    return html.escape(str(words))


def _label(x, y, words, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_text(words)}</text>'


def _svg(width, height, parts, title):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" aria-label="{_text(title)}">'
            + "".join(parts) + "</svg>")


def _bar(row, kinds, left, y, scale):
    """One stacked bar, with a line where the device ends."""
    x, parts = left, []
    for kind in kinds:
        size = row["memory"].get(kind, 0)
        title = f"{_table.KINDS[kind]}: {bytes_text(size)}"
        parts.append(f'<rect x="{x:.1f}" y="{y}" width="{size * scale:.1f}" height="18" '
                     f'fill="{_COLOURS[kind]}"><title>{_text(title)}</title></rect>')
        x += size * scale
    end = left + (row["available_bytes"] + row["memory"]["workspace"]) * scale
    parts.append(f'<path d="M{end:.1f} {y - 4}v26" stroke="currentColor" stroke-width="2">'
                 '<title>memory of the device</title></path>')
    whole = bytes_text(sum(row["memory"].values()))
    parts.append(_label(max(x, end) + 8, y + 13, whole if row["fits"] else f"{whole}: too much"))
    return parts


def _bars(rows):
    """Memory of a rank, a bar for each candidate."""
    kinds = [kind for kind in _COLOURS if any(row["memory"].get(kind) for row in rows)]
    left, width = 190, 960
    largest = max(max(sum(row["memory"].values()),
                      row["available_bytes"] + row["memory"]["workspace"]) for row in rows)
    scale = (width - left - 150) / largest
    parts, y = [], 12
    for row in rows:
        parts.append(_label(left - 10, y + 13, f"{row['mesh']} {row['plan']}", "end"))
        parts += _bar(row, kinds, left, y, scale)
        y += 32
    x = left
    for kind in kinds:
        parts.append(f'<rect x="{x}" y="{y + 6}" width="12" height="12" '
                     f'fill="{_COLOURS[kind]}"/>' + _label(x + 17, y + 16, _table.KINDS[kind]))
        x += 32 + 7 * len(_table.KINDS[kind])
    return _svg(width, y + 28, parts, "memory of a rank by kind")


def _curves(rows, value, unit, title):
    """One line for each plan over ranks."""
    width, height, left, top, bottom = 460, 300, 70, 30, 40
    lines = {}
    for row in rows:
        lines.setdefault(row["plan"], []).append((row["ranks"], value(row)))
    ranks = sorted({row["ranks"] for row in rows})
    most = max(y for points in lines.values() for _, y in points) * 1.08 or 1

    def at(x):
        return left + (width - left - 20) * (ranks.index(x) + 0.5) / len(ranks)

    def up(y):
        return height - bottom - (height - top - bottom) * y / most
    parts = [_label(left, 18, title)]
    for tick in _curve.ticks(0, most, 5):
        parts.append(f'<path d="M{left} {up(tick):.1f}H{width - 20}" stroke="#8884"/>' +
                     _label(left - 6, up(tick) + 4, unit(tick), "end"))
    parts += [_label(at(x), height - bottom + 18, x, "middle") for x in ranks]
    parts.append(_label((left + width) / 2, height - 4, "ranks", "middle"))
    for colour, (plan, points) in zip(_LINES * len(lines), sorted(lines.items())):
        points.sort()
        path = "L".join(f"{at(x):.1f} {up(y):.1f}" for x, y in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for x, y in points:
            parts.append(f'<circle cx="{at(x):.1f}" cy="{up(y):.1f}" r="4" fill="{colour}"><title>'
                         f'{_text(f"{plan} on {x}: {unit(y)}")}</title></circle>')
        end = points[-1]
        parts.append(f'<text x="{at(end[0]):.1f}" y="{up(end[1]) - 9:.1f}" text-anchor="middle" '
                     f'style="fill:{colour}">{_text(plan)}</text>')
    return _svg(width, height, parts, title)


def _drawings(rows):
    yield "<h2>Memory of a rank</h2>" + _bars(rows)
    yield "<h2>Scaling</h2>"
    for kind in rows[0]["times"]:
        yield _curves(rows, lambda row, kind=kind: row["times"][kind]["seconds"], seconds_text,
                      f"time of {'a ' if kind != 'prefill' else ''}{kind}")
    if "tokens_per_second" in rows[0]:
        yield _curves(rows, lambda row: row["tokens_per_second"], count_text, "tokens a second")
        yield _curves(rows, lambda row: row["tokens_per_second"] / row["ranks"], count_text,
                      "tokens a second for each rank")


def _html_table(titles, rows, kind=""):
    head = "".join(f"<th>{_text(title)}</th>" for title in titles)
    body = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>"
                   for row in rows)
    return f'<div class="scroll"><table class="{kind}"><tr>{head}</tr>{body}</table></div>'


def as_html(report):
    rows = [row for row in report["rows"] if "memory" in row]
    parts = [f"<h1>{_text(report['title'])}</h1>",
             f'<p class="take">{_text(report["recommendation"])}</p>',
             f'<p class="trust">{_text(report["trust"])}</p>', *_drawings(rows),
             "<h2>Figures</h2>", _html_table(*_table.cells(report))]
    if report.get("checks"):
        parts += ["<h2>Held against this machine</h2>", _html_table(*_table.checks(report))]
    parts += [f"<p>{_text(note)}</p>" for note in report["notes"]]
    if _table.refusals(report):
        parts += ["<h2>What does not fit the model</h2><ul>",
                  *(f"<li>{_text(line)}</li>" for line in _table.refusals(report)), "</ul>"]
    parts += [f"<h2>Collectives of {_text(report['unit'])}</h2>",
              _html_table(*_table.collectives(report)), "<h2>What the times stand on</h2>",
              _html_table(["figure", "value", "source"],
                          [[what, f"{figure['value']:g}", figure["source"]]
                           for what, figure in report["sources"].items()] +
                          [[f"reached of it, {what}", f"{value:g}", "efficiency of the profile"]
                           for what, value in report["efficiency"].items()], "sources")]
    return ('<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width"><title>{_text(report["title"])}</title>'
            f"<style>{_STYLE}</style>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n")
