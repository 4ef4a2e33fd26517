"""The figures as one page that needs no other file: what to take, bars, curves, tables.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Colours suit light and dark. On a narrow screen a table's rows become blocks, each of whose
figures has its title beside it, so that nothing lies beyond the edge.
"""

import itertools

from . import _drawings, _table
from ._drawings import text
from .._units import count_text, figure_text, seconds_text

_STYLE = """
:root{color-scheme:light dark}*{box-sizing:border-box}body{font:15px/1.5 system-ui,sans-serif;
max-width:72rem;margin:1.5rem auto;padding:0 1rem}h1{font-size:1.3rem;overflow-wrap:anywhere}
h2{font-size:1.05rem;margin-top:2rem}table{border-collapse:collapse;font-size:13px;
font-variant-numeric:tabular-nums}td,th{padding:.2rem .35rem;text-align:right;border-bottom:1px solid
#8884}th{vertical-align:bottom}td{white-space:nowrap}td:nth-child(-n+2),th:nth-child(-n+2){text-align:left}p.take{
border-left:4px solid #2563eb;padding:.3rem .8rem;font-size:1.05rem}tr.take td{font-weight:700;
background:#2563eb1f}.trust{opacity:.7}
.words td,.words th{text-align:left;white-space:normal;overflow-wrap:anywhere}tr.no td{opacity:.6}li{overflow-wrap:
anywhere}
@media(max-width:40rem){table,tbody,tr,td{display:block;width:100%}tr:first-child{display:none}tr{
padding:.4rem 0;border-bottom:1px solid #8888}td,.words td{display:flex;justify-content:space-between;
gap:1rem;border:0;padding:.05rem 0;text-align:right}td::before{content:attr(data-title);opacity:.7;
text-align:left;flex:none}}
"""


def _html_table(titles, rows, kind="", classes=()):
    """A table; `classes`: those of its rows, where they have any."""
    head = "".join(f"<th>{text(title)}</th>" for title in titles)
    body = "".join(f'<tr class="{name}">' + "".join(
        f'<td data-title="{text(title)}">{text(cell)}</td>' for title, cell in zip(titles, row)) +
        "</tr>" for row, name in itertools.zip_longest(rows, classes, fillvalue=""))
    return f'<table class="{kind}"><tr>{head}</tr>{body}</table>'


def _all_curves(rows):
    for kind in rows[0]["times"]:
        yield _drawings.curves(rows, lambda row, kind=kind: row["times"][kind]["seconds"],
                               seconds_text, "time of prefill" if kind == "prefill" else
                               f"time of a {kind}", -1)
    if "tokens_per_second" in rows[0]:
        yield _drawings.curves(rows, lambda row: row["tokens_per_second"], count_text,
                               "tokens/s", 1)
        yield _drawings.curves(rows, lambda row: row["tokens_per_second"] / row["ranks"],
                               count_text, "tokens/s per rank", 0)
    if priced := [row for row in rows if "price_per_million_tokens" in row]:
        yield _drawings.curves(priced, lambda row: row["price_per_million_tokens"], count_text,
                               "price of a million tokens", 0)


def _sources(report):
    rows = [[what, figure_text(figure["value"], figure["unit"]), figure["source"]]
            for what, figure in report["sources"].items()]
    return _html_table(["figure", "value", "source"], rows + [
        [f"efficiency of {what}", f"{value:.0%}", "the profile: reached of the peak"]
        for what, value in report["efficiency"].items()], "words")


def as_html(report):
    rows = [row for row in report["rows"] if "memory" in row]
    classes = ["take" if row["recommended"] else "" if row["fits"] else "no" for row in rows]
    parts = [f"<h1>{text(report['title'])}</h1>",
             f'<p class="take">{text(report["recommendation"])}</p>',
             f'<p class="trust">{text(report["trust"])}</p>',
             _html_table(*_table.cells(report), classes=classes),
             *(f"<p>{text(note)}</p>" for note in report["notes"])]
    if refused := _table.refusals(report["rows"]):
        parts += ["<h2>What cannot be compiled</h2><ul>",
                  *(f"<li>{text(line)}</li>" for line in refused), "</ul>"]
    parts += ["<h2>Memory of a rank</h2>", _drawings.bars(rows), "<h2>Scaling</h2>",
              _drawings.curves_legend(rows), '<div class="curves">', *_all_curves(rows), "</div>"]
    if report.get("checks"):
        parts += ["<h2>Held against this machine</h2>", _html_table(*_table.checks(report))]
    parts += [f"<h2>{text(_table.collectives_title(report).capitalize())}</h2>",
              _html_table(*_table.collectives(report)), "<h2>Sources</h2>", _sources(report)]
    return ('<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width"><title>{text(report["title"])}</title>'
            f"<style>{_STYLE}{_drawings.STYLE}</style>\n<body>\n" + "\n".join(parts) +
            "\n</body></html>\n")
