"""What the steps' results say of each thing that has to be shown on a card.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Each figure has a value, a bound and a verdict: reached, missed, in part, not
measured, or reported where there is no bound.
"""


class Records(dict):
    """The results by step; `ended`: the steps that came to their end."""


def all_of(*steps):
    """How many of the steps' results are right."""
    def figure(records):
        results = [r for step in steps for r in records.get(step, [])
                   if r["status"] in ("passed", "failed", "not run")]
        passed = sum(r["status"] == "passed" for r in results)
        failed = sum(r["status"] == "failed" for r in results)
        worst = max((r["of_tolerance"] for r in results if "of_tolerance" in r), default=None)
        whole = passed == len(results) and all(step in records.ended for step in steps)
        verdict = ("not measured" if not passed + failed else "missed" if failed
                   else "reached" if whole else "in part")
        return {"value": f"{passed} of {len(results)} right", "bound": "all", "verdict": verdict,
                **({"worst_of_tolerance": worst} if worst is not None else {})}
    return figure


def one_of(step, *names):
    """What the first result of one of these names says."""
    def figure(records):
        for name in names:
            for r in records.get(step, []):
                if r["name"] == name and "value" in r:
                    return {"value": r["value"], "bound": r.get("bound", "none"),
                            "verdict": r.get("verdict", "reported")}
        return {"value": None, "verdict": "not measured"}
    return figure


def least_of(step, begin, end, count):
    """The smallest value among the results with such names, of which there are `count`."""
    def figure(records):
        results = [r for r in records.get(step, []) if r["name"].startswith(begin)
                   and r["name"].endswith(end) and "value" in r and "verdict" in r]
        if not results:
            return {"value": None, "verdict": "not measured"}
        worst = min(results, key=lambda r: r["value"])
        missed = [r["name"] for r in results if r["verdict"] != "reached"]
        return {"value": worst["value"], "of": worst["name"], "bound": worst["bound"],
                "each": {r["name"]: r["value"] for r in results},
                "verdict": "missed" if missed else
                "reached" if len(results) >= count else "in part"}
    return figure


def table(step, begin):
    def figure(records):
        values = {r["name"]: r["value"] for r in records.get(step, [])
                  if r["name"].startswith(begin) and "value" in r}
        return {"value": values or None, "bound": "none",
                "verdict": "reported" if values else "not measured"}
    return figure


PREFILL, ROWS, LOADING = "prefill of Llama-3-8B", "row kernels", "loading and memory"
DECODING = "generation of Llama-3-8B"
FIGURES = [
    (3, "two and four ranks on one card", all_of("two ranks on one card")),
    (3, "kernels equal to PyTorch", all_of("kernels against PyTorch")),
    (3, "fixtures at N = 1", all_of("fixtures, one rank")),
    (3, "texts of fixtures and of the text model at N = 1", all_of("generation of fixtures")),
    (3, "fixtures at N = 2, 4", all_of("fixtures, several ranks")),
    (3, "MiniLM at N = 1, 2, 4", all_of("MiniLM")),
    (3, "gradients of fixtures at N = 1, 2", all_of("gradients of fixtures")),
    (3, "memcheck and racecheck clean", all_of("sanitizers")),
    (3, "a killed and a frozen rank named within 10 s", all_of("lost rank")),
    (4, "prefill of 2048: bare products and best attention / step",
     one_of(PREFILL, "bare products and attention / step")),
    (4, "prefill of 2048: PyTorch eager / step", one_of(PREFILL, "PyTorch eager / step")),
    (4, "prefill of 2048: torch.compile / step", one_of(PREFILL, "torch.compile / step")),
    (4, "decoding of 2, 8, 64 texts / of one", table(DECODING, "step of ")),
    (4, "decoding of 1, 2, 8, 64 texts: bytes read per second / a copy's",
     table(DECODING, "bytes read / copy, ")),
    (4, "decoding of 1, 2, 8, 64 texts: PyTorch in a graph / step, the worst",
     least_of(DECODING, "PyTorch in a graph / step", "", 4)),
    (4, "a prompt in pieces of 512: PyTorch in a graph / piece",
     one_of(DECODING, "PyTorch in a graph / piece of 512")),
    (4, "training, four layers, 2048 tokens: bare products and best attention / step",
     one_of("training step", "bare products and attention / training step")),
    (4, "training: PyTorch eager / step", one_of("training step", "PyTorch eager / training step")),
    (4, "training: torch.compile / step", one_of("training step", "torch.compile / training step")),
    (4, "row kernels / copy, the worst", least_of(ROWS, "", " / copy", 8)),
    (4, "torch.compile / row kernels, the worst", least_of(ROWS, "torch.compile / ", "", 8)),
    (4, "128 tokens: outside the graph / step",
     one_of("launch overhead", "outside the graph / step")),
    (4, "whole / one rank's share, TP = 2, 4, 8, collectives left out",
     table("one rank's share", "rank 0 of ")),
    (5, "two-matrix MLP: one rank / rank 0 of 2 alone; published on two cards: 1.90",
     one_of("two-matrix MLP", "one rank / rank 0 of 2 alone")),
    (6, "weights loaded / slower of file and bus, file on disk",
     one_of(LOADING, "weights loaded / slower of file and bus, file on disk")),
    (6, "weights loaded / slower of file and bus, file in memory",
     one_of(LOADING, "weights loaded / slower of file and bus, file in memory")),
    (6, "allocated / stated", one_of(LOADING, "allocated / stated, rank 0")),
]


def figures(steps):
    """`steps`: {name: what the report has of it}."""
    records = Records((name, step["results"]) for name, step in steps.items())
    records.ended = {name for name, step in steps.items() if step["status"] == "passed"}
    return [{"item": item, "what": what, **figure(records)} for item, what, figure in FIGURES]


def lines(found):
    for one in found:
        value = one["value"]
        if isinstance(value, dict):
            value = ", ".join(f"{k}: {v}" for k, v in value.items())
        yield (f"  {one['item']}  {one['verdict']:12}  {one['what']}: "
               f"{'-' if value is None else value}"
               + (f" ({one['bound']})" if one.get("bound", "none") != "none" else ""))
