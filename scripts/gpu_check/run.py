"""Runs every step, each in a process of its own with a time limit.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A step appends its results to a file, one JSON object per line, so that one that
crashes or is out of time keeps what it had.
"""

import json
import os
import pathlib
import sys
import tempfile
import threading
import time
import traceback

from . import benchmarks, correctness
from .files import Pack, execute

# Name, function, seconds: the unproven first, then what is right, then speed.
STEPS = [
    ("device", correctness.device, 30),
    ("two ranks on one card", correctness.two_on_one, 60),
    ("kernels against PyTorch", correctness.kernels, 75),
    ("fixtures", correctness.fixtures, 150),
    ("MiniLM", correctness.minilm, 40),
    ("lost rank", correctness.lost_rank, 40),
    ("checkpoint for what follows", benchmarks.checkpoint, 60),
    ("prefill of Llama-3-8B", benchmarks.prefill, 100),
    ("row kernels", benchmarks.rows, 60),
    ("launch overhead", benchmarks.launch, 40),
    ("one rank's share", benchmarks.shares, 50),
    ("two-matrix MLP", benchmarks.mlp, 30),
    ("loading and memory", benchmarks.loading, 50),
    ("sanitizers", correctness.sanitizers, 80),
]


def run_step(root, scratch, name, path, seconds):
    """In the process of one step."""
    pack, lock = Pack(root, scratch), threading.Lock()

    def record(**result):
        with lock, open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
    function = {step: work for step, work, _ in STEPS}[name]
    try:
        function(pack, record, seconds)
    except ImportError as error:
        record(name=name, status="skipped", why=f"needs {error.name}")
    except RuntimeError as error:
        record(name=name, status="failed", why=str(error)[-1500:])
    except Exception:
        record(name=name, status="failed", why=traceback.format_exc()[-1500:])


def judge(results, ended):
    states = {result["status"] for result in results}
    if "failed" in states:
        return "failed"
    if ended:
        return ended
    if "not run" in states:
        return "in part"
    return "passed" if "passed" in states else "skipped"


def describe(result):
    skipped = {"name", "status", "lines", "message"}
    parts = [f"{key} {value}" for key, value in result.items() if key not in skipped]
    return f"    {result['status']:8} {result['name']}" + (": " if parts else "") + ", ".join(parts)


def run(root, output, seconds, only):
    unknown = set(only or ()) - {name for name, _, _ in STEPS}
    if unknown:
        raise SystemExit(f"gpu-check: no step {sorted(unknown)[0]!r}; there are: "
                         + ", ".join(name for name, _, _ in STEPS))
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as scratch:
        return run_steps(root, scratch, output, seconds, only)


def run_steps(root, scratch, output, seconds, only):
    start = time.monotonic()
    report = {"date": time.strftime("%Y-%m-%d %H:%M:%S %z"), "steps": {},
              "pack": {k: v for k, v in Pack(root).facts.items() if k != "items"}}
    script = pathlib.Path(__file__).resolve().parent.parent / "gpu-check"
    for name, _, limit in STEPS:
        if only and name not in only:
            continue
        left = seconds - (time.monotonic() - start)
        if left < 5:
            report["steps"][name] = {"status": "not run", "why": "no time left", "results": []}
            print(f"{name}: not run, no time left", flush=True)
            continue
        limit = min(limit, left - 2)
        path = pathlib.Path(scratch) / "results"
        path.write_text("")
        began = time.monotonic()
        result = execute([sys.executable, script, "step", root, scratch, name, path,
                          f"{limit - 3:.0f}"], limit)
        results = [json.loads(line) for line in path.read_text().splitlines()]
        ended = "" if result.code == 0 else "out of time" if result.code == 124 else "failed"
        status = judge(results, ended)
        report["steps"][name] = {"status": status, "results": results,
                                 "seconds": round(time.monotonic() - began, 1)}
        if ended:
            report["steps"][name]["why"] = result.why()
        counts = {}
        for one in results:
            counts[one["status"]] = counts.get(one["status"], 0) + 1
        print(f"{name}: {status}, {report['steps'][name]['seconds']} s, "
              + ", ".join(f"{n} {state}" for state, n in counts.items())
              + (f" ({report['steps'][name]['why']})" if ended else ""), flush=True)
        many = len(results) > 20
        for one in results:
            if not many or one["status"] not in ("passed", "not run"):
                print(describe(one), flush=True)
        pathlib.Path(output).write_text(json.dumps(report, indent=1) + "\n")
    report["seconds"] = round(time.monotonic() - start, 1)
    report["status"] = ("failed" if any(step["status"] == "failed"
                                        for step in report["steps"].values()) else "passed")
    temporary = pathlib.Path(str(output) + ".new")
    temporary.write_text(json.dumps(report, indent=1) + "\n")
    os.replace(temporary, output)
    print(f"{report['status']} in {report['seconds']} s; all numbers are in {output}")
    return 0 if report["status"] == "passed" else 3
