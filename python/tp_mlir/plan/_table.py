"""The figures as text, as CSV and as JSON.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import csv
import io
import json
import re

from . import _figures
from .._units import bytes_text, count_text, part_text, price_text, seconds_text

KINDS = {"parameters": "parameters", "kv_cache": "KV cache", "gradients": "gradients",
          "moments": "moments and masters", "kept_values": "kept values",
          "activations": "activations", "communication": "communication", "other": "other",
          "workspace": "workspace"}
_TIMES = {"prefill": "prefill", "token": "token", "step": "step", "run": "run"}


def _memory(row):
    return part_text(row["total_bytes"], row["device_bytes"])


# Columns that only some rows have: key, title, text of a value.
_OPTIONAL = (
    ("tokens_per_second", "tokens/s", count_text),
    ("longest_context", "longest context", "{:,}".format),
    ("most_users", "max. users", "{:,}".format),
    ("most_sequences", "max. sequences", "{:,}".format),
    ("of_peak", "of peak", "{:.0%}".format),
    ("replicas", "replicas", "{:,}".format),
    ("devices", "devices", "{:,}".format),
    ("price_per_million_tokens", "price of 1M tokens", price_text),
    ("price_per_million_prompt_tokens", "1M prompt tokens", price_text))


def _columns(rows):
    """(title, text of a row) of each column that some row has: what decides comes first."""
    sized = [row for row in rows if "memory" in row]
    columns = [("mesh", lambda row: row["mesh"]), ("plan", lambda row: row["plan"])]
    if len({row.get("users") for row in sized}) > 1:
        columns.append(("users", lambda row: f"{row['users']:,}"))
    columns += [("fits", lambda row: "yes" if row["fits"] else "no"), ("memory of a rank", _memory)]
    if any("meets_latency" in row for row in sized):
        columns.append(("in time", lambda row: "yes" if row["meets_latency"] else "no"))
    for kind, title in _TIMES.items():
        if any(kind in row["times"] for row in sized):
            columns.append((title, lambda row, kind=kind: seconds_text(
                row["times"][kind]["seconds"])))
    columns.append(("comm.", lambda row: f"{_figures.communication_part(row):.0%}"))
    for key, title, text in _OPTIONAL:
        if any(key in row for row in sized):
            columns.append((title, lambda row, key=key, text=text: (
                text(row[key]) if key in row else "-")))
    price = "service_price_per_hour" if any("replicas" in row for row in sized) else "price_per_hour"
    if any(price in row for row in sized):
        columns.append(("price of an hour", lambda row: (
            price_text(row[price]) if price in row else "-")))
    return columns


def cells(report):
    """The table: a list of titles, and a list of texts for each row that has figures."""
    columns = _columns(report["rows"])
    return [title for title, _ in columns], [
        [text(row) for _, text in columns] for row in report["rows"] if "memory" in row]


def memory(report):
    """Memory of a rank by kind: a list of titles, and a list of texts for each row."""
    rows = [row for row in report["rows"] if "memory" in row]
    kinds = [kind for kind in KINDS if any(row["memory"].get(kind) for row in rows)]
    return (["mesh", "plan", *(KINDS[kind] for kind in kinds), "total"],
            [[row["mesh"], row["plan"],
              *(bytes_text(row["memory"].get(kind, 0)) for kind in kinds),
              bytes_text(row["total_bytes"])] for row in rows])


def collectives_title(report):
    """What the collectives are of: a step serves all users of a replica together."""
    users = {row["users"] for row in report["rows"] if "users" in row}
    if not users or users == {1}:
        return f"collectives of {report['unit']}"
    many = f"all {users.pop():,} users" if len(users) == 1 else "all users of a replica"
    return f"collectives of a step that gives {many} a token"


def collectives(report):
    """What is communicated: a list of titles, and of each kind, axis and link of a row."""
    return (["mesh", "plan", "collective", "axis", "link", "calls", "bytes", "sent by a rank",
             "time"],
            [[row["mesh"], row["plan"], one["kind"], one["axis"], one["link"], str(one["count"]),
              bytes_text(one["bytes"]), bytes_text(one["traffic"]), seconds_text(one["seconds"])]
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


def refusals(rows):
    """Why candidates have no figures; where one reason differs by the degree alone, it is said once."""
    alike = {}
    for row in rows:
        if "refusal" in row:
            reason = re.sub(rf"\b{row['degree']}\b", "N", row["refusal"])
            alike.setdefault((row["plan"], reason), []).append(row)
    return [f"{', '.join(row['mesh'] for row in some)} with {some[0]['plan']}: {some[0]['refusal']}"
            for some in alike.values()]


def as_text(report):
    lines = [report["title"], report["trust"], ""]
    if any("memory" in row for row in report["rows"]):
        lines += [*_aligned(*cells(report)), "", "memory of a rank:", *_aligned(*memory(report))]
    if any(row.get("collectives") for row in report["rows"]):
        lines += ["", f"{collectives_title(report)}:", *_aligned(*collectives(report))]
    if report["checks"]:
        lines += ["", "held against this machine:", *_aligned(*checks(report))]
    if refused := refusals(report["rows"]):
        lines += ["", "what cannot be compiled:", *refused]
    lines += ["", *report["notes"]] if report["notes"] else []
    return "\n".join([*lines, "", report["recommendation"]]) + "\n"


def as_json(report):
    return json.dumps(report, indent=2) + "\n"


def as_csv(report):
    """Plain numbers: bytes and seconds, a line for each candidate."""
    keys = ["plan", "degree", "mesh", "ranks", "nodes", "users", "fits", "meets_latency", "recommended",
            "total_bytes", "device_bytes", "tokens_per_second", "longest_context", "most_users", "most_sequences",
            "of_peak", "replicas", "devices", "price_per_hour", "service_price_per_hour",
            "price_per_million_tokens", "price_per_million_prompt_tokens"]
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
