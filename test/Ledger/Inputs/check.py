# check.py: check --explain=json of a model against its counts and its bound.
#
# Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: check.py FILE N kind=count...
# The object must have the promised keys, these totals and no others, the
# traffic and the messages of a ring of N ranks, and traffic equal to the bound.
import json
import sys

report = json.load(open(sys.argv[1]))
ranks = int(sys.argv[2])
expected = {k: int(v) for k, v in (arg.split("=") for arg in sys.argv[3:])}

keys = {"id", "kind", "axis", "type", "count", "bytes", "traffic", "messages",
        "cause", "annotation", "location", "pass"}
factor = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1}
totals = {}
for line in report["collectives"]:
    assert keys <= set(line), keys - set(line)
    assert all(line[k] != "" for k in keys), line
    assert line["annotation"] != "none", line
    assert " over factor " in line["cause"] or " factor " in line["cause"], line
    assert line["axis"] == "tp", line
    sent = -(-factor[line["kind"]] * (ranks - 1) * line["bytes"] // ranks)
    assert line["traffic"] == sent, (line, sent)
    assert line["messages"] == factor[line["kind"]] * (ranks - 1), line
    total = totals.setdefault(line["kind"], [0, 0, 0])
    for i, value in enumerate((1, line["bytes"], line["traffic"])):
        total[i] += line["count"] * value
assert len({line["id"] for line in report["collectives"]}) == len(report["collectives"])
given = {k: [v["count"], v["bytes"], v["traffic"]] for k, v in report["totals"].items()}
assert given == totals, (given, totals)
assert {k: v[0] for k, v in totals.items()} == expected, totals
assert report["traffic"] == sum(v[2] for v in totals.values())
assert report["traffic"] == report["bound"], (report["traffic"], report["bound"])

for share, suffix in ((report["parameters"], "_bytes"), (report["flops"], "")):
    more = share["per_rank" + suffix] - share["model" + suffix] / ranks
    excess = share["excess"]
    assert set(excess) == {"replicated", "copies", "padding"}
    assert abs(sum(excess.values()) - more) <= 2, (excess, more)
for tensor in report["parameters"]["replicated"]:
    assert any(part in tensor["name"] for part in ("norm", "bias", "k_proj", "v_proj")), tensor
print("ok", " ".join(f"{k}={v[0]}" for k, v in sorted(totals.items())))
