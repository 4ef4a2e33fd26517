"""The figures as text, as CSV and as JSON.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import csv
import io
import json

from . import _figures
from ._units import bytes_text, count_text, seconds_text

KINDS = {"parameters": "parameters", "kv_cache": "KV cache", "gradients": "gradients",
          "moments": "moments", "kept_values": "kept values", "activations": "activations",
          "communication": "communication", "other": "other", "workspace": "workspace"}
_TIMES = {"prefill": "prefill", "token": "token", "step": "step", "run": "run"}


def _columns(rows):
    """(title, text of a row) of each column that some row has."""
    sized = [row for row in rows if "memory" in row]
    columns = [("mesh", lambda row: row["mesh"]), ("plan", lambda row: row["plan"])]
    for kind, title in KINDS.items():
        if any(row["memory"].get(kind) for row in sized):
            columns.append((title, lambda row, kind=kind: bytes_text(row["memory"].get(kind, 0))))
    columns.append(("in all", lambda row: bytes_text(sum(row["memory"].values()))))
    columns.append(("fits", lambda row: "yes" if row["fits"] else "no"))
    for kind, title in _TIMES.items():
        if any(kind in row["times"] for row in sized):
            columns.append((title, lambda row, kind=kind: seconds_text(
                row["times"][kind]["seconds"])))
    columns.append(("of it comm.", lambda row: f"{100 * _figures.communication_part(row):.0f} %"))
    if any("tokens_per_second" in row for row in sized):
        columns.append(("tokens/s", lambda row: count_text(row["tokens_per_second"])))
    for key, title in (("longest_context", "longest context"), ("most_users", "most users"),
                       ("most_sequences", "most sequences")):
        if any(key in row for row in sized):
            columns.append((title, lambda row, key=key: f"{row[key]:,}"))
    if any("of_peak" in row for row in sized):
        columns.append(("of peak", lambda row: f"{100 * row.get('of_peak', 0):.0f} %"))
    return columns


def cells(report):
    """The table: a list of titles, and a list of texts for each row that has figures."""
    columns = _columns(report["rows"])
    return [title for title, _ in columns], [
        [text(row) for _, text in columns] for row in report["rows"] if "memory" in row]


def collectives(report):
    """What is communicated: a list of titles, and of each kind, axis and link of a row."""
    return (["mesh", "plan", "collective", "axis", "link", "calls", "bytes", "sent by a rank"],
            [[row["mesh"], row["plan"], one["kind"], one["axis"], one["link"],
              str(one["count"]), bytes_text(one["bytes"]), bytes_text(one["traffic"])]
             for row in report["rows"] for one in row.get("collectives", ())])


def _aligned(titles, rows):
    """Lines; of the columns the first two are words, the others figures."""
    widths = [max(map(len, column)) for column in zip(titles, *rows)]
    def line(texts):
        return "  ".join(text.ljust(width) if i < 2 else text.rjust(width)
                         for i, (text, width) in enumerate(zip(texts, widths))).rstrip()
    return [line(titles), *map(line, rows)]


def checks(report):
    """What was predicted of this machine, and measured: titles and rows."""
    def text(one):
        unit = bytes_text if one["what"] == "memory" else seconds_text
        return [one["mesh"], one["plan"], one["what"], unit(one["predicted"]),
                unit(one["measured"]), f"{100 * one['error']:+.1f} %"]
    return (["mesh", "plan", "figure", "predicted", "measured", "error"],
            list(map(text, report["checks"])))


def refusals(report):
    return [f"{row['mesh']} with {row['plan']}: {row['refusal']}" for row in report["rows"]
            if "refusal" in row]


def as_text(report):
    lines = [report["title"], report["trust"], ""]
    if any("memory" in row for row in report["rows"]):
        lines += _aligned(*cells(report))
    if any(row.get("collectives") for row in report["rows"]):
        lines += ["", f"collectives of {report['unit']}:", *_aligned(*collectives(report))]
    if report["checks"]:
        lines += ["", "held against this machine:", *_aligned(*checks(report))]
    if refusals(report):
        lines += ["", "what does not fit the model:", *refusals(report)]
    lines += ["", *report["notes"]] if report["notes"] else []
    return "\n".join([*lines, "", report["recommendation"]]) + "\n"


def as_json(report):
    return json.dumps(report, indent=2) + "\n"


def as_csv(report):
    """Plain numbers: bytes and seconds, a line for each candidate."""
    keys = ["plan", "degree", "mesh", "ranks", "nodes", "fits", "program_bytes",
            "available_bytes", "tokens_per_second", "longest_context", "most_users",
            "most_sequences", "of_peak"]
    kinds = [kind for kind in KINDS if any(
        kind in row.get("memory", ()) for row in report["rows"])]
    times = [kind for kind in _TIMES if any(kind in row.get("times", ()) for row in report["rows"])]
    keys = [key for key in keys if any(key in row for row in report["rows"])]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*keys, *(f"{kind}_bytes" for kind in kinds),
                     *(f"{kind}_seconds" for kind in times),
                     *(f"{kind}_communication_seconds" for kind in times), "refusal"])
    for row in report["rows"]:
        memory, spent = row.get("memory", {}), row.get("times", {})
        writer.writerow([*(row.get(key, "") for key in keys),
                         *(memory.get(kind, "") for kind in kinds),
                         *(spent.get(kind, {}).get("seconds", "") for kind in times),
                         *(spent.get(kind, {}).get("communication", "") for kind in times),
                         row.get("refusal", "")])
    return out.getvalue()
