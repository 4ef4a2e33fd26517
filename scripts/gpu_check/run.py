"""Runs every step, each in a process of its own with a time limit.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A step appends its results to a file, one JSON object per line, so that one that
crashes or is out of time keeps what it had. Steps of one wave run beside each
other: those whose speed nobody measures. The report is written after each wave.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

from . import benchmarks, correctness, figures, first, generation, quantised, sanitize, training
from .files import Pack, end_with_parent, execute

# Name, function, seconds: the unproven first, then what is right, then speed.
WAVES = [
    [("device", first.device, 60)],
    [("first launches", first.launches, 120)],
    [("two ranks on one card", first.two_on_one, 110)],
    [("kernels against PyTorch", correctness.kernels, 90),
     ("fixtures, one rank", correctness.fixtures_alone, 90),
     ("generation of fixtures", generation.fixtures, 90),
     ("checkpoint for what follows", benchmarks.checkpoint, 90),
     ("PyTorch's compiled kernels", benchmarks.compile_peers, 90),
     ("sanitizers", sanitize.sanitizers, 90)],
    [("fixtures, several ranks", correctness.fixtures_together, 130)],
    [("MiniLM", correctness.minilm, 45)],
    [("gradients of fixtures", training.gradients, 90)],
    [("lost rank", correctness.lost_rank, 70)],
    [("prefill of Llama-3-8B", benchmarks.prefill, 90)],
    [("generation of Llama-3-8B", generation.speed, 90)],
    [("quantised Llama-3-8B", quantised.speed, 120)],
    [("training step", training.step, 90)],
    [("row kernels", benchmarks.rows, 70)],
    [("launch overhead", benchmarks.launch, 40)],
    [("loading and memory", benchmarks.loading, 50)],
    [("one rank's share", benchmarks.shares, 50)],
    [("two-matrix MLP", benchmarks.mlp, 40)],
    [("failures again", sanitize.again, 60)],
]
STEPS = {name: work for wave in WAVES for name, work, _ in wave}
# Without these nothing else can work.
GATE = "first launches"


def run_step(root, scratch, name, path, seconds):
    """In the process of one step."""
    pack, lock, start = Pack(root, scratch), threading.Lock(), time.time()

    def record(**result):
        result["at"] = round(time.time() - start, 1)
        with lock, open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
    try:
        STEPS[name](pack, record, seconds)
    except ImportError as error:
        record(name=name, status="skipped", why=f"needs {error.name}")
    except RuntimeError as error:
        record(name=name, status="failed", why=str(error)[-1500:])
    except Exception:
        record(name=name, status="failed", why=traceback.format_exc()[-1500:])


def say(text):
    """To standard output, which may have gone away; the report has it all."""
    try:
        print(text, flush=True)
    except OSError:
        pass


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
    hidden = {"name", "status", "lines", "message", "log", "at"}
    parts = [f"{key} {value}" for key, value in result.items() if key not in hidden]
    return (f"    {result['status']:8} {result['name']}" + (": " if parts else "")
            + ", ".join(parts))[:700]


class Clocks:
    """Clocks, power and memory of the card, once per second, while steps run. It also keeps
    the driver awake between programs."""

    COLUMNS = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "memory.used",
               "utilization.gpu", "clocks_event_reasons.active")

    def __init__(self, wanted):
        self.samples, self.process, self.columns = [], None, self.COLUMNS
        if wanted and shutil.which("nvidia-smi"):
            self.begin()
            threading.Thread(target=self.listen, daemon=True).start()

    def begin(self):
        self.process = subprocess.Popen(
            ["nvidia-smi", "--query-gpu=" + ",".join(self.columns), "--id=0",
             "--format=csv,noheader,nounits", "--loop-ms=1000"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=end_with_parent)

    def listen(self):
        while True:
            for line in self.process.stdout:
                values = [part.strip() for part in line.split(",")]
                if len(values) == len(self.columns):
                    self.samples.append((time.monotonic(), dict(zip(self.columns, values))))
            # It may not know the last column.
            if self.samples or len(self.columns) < len(self.COLUMNS):
                return
            self.columns = self.COLUMNS[:-1]
            self.begin()

    def between(self, begin, end):
        """What it was like while the card worked."""
        rows = [values for at, values in list(self.samples) if begin <= at <= end]

        def numbers(column, rows):
            return [float(row[column]) for row in rows
                    if row[column].replace(".", "", 1).isdigit()]
        busy = [row for row in rows if any(value >= 50 for value in
                                           numbers("utilization.gpu", [row]))]
        facts = {"samples": len(rows), "busy": len(busy)}
        for name, column, of in (("sm_mhz", "clocks.sm", busy), ("mem_mhz", "clocks.mem", busy),
                                 ("watts", "power.draw", busy),
                                 ("celsius", "temperature.gpu", rows),
                                 ("used_mib", "memory.used", rows)):
            values = numbers(column, of)
            if values:
                facts[name] = [min(values), max(values)]
        reasons = sorted({row[self.COLUMNS[-1]] for row in busy if self.COLUMNS[-1] in row})
        return {**facts, **({"reasons": reasons} if reasons else {})} if rows else {}

    def end(self):
        if self.process:
            self.process.terminate()


class Runner:
    def __init__(self, root, scratch, output, seconds, only, keep_going):
        self.root, self.scratch, self.output = root, pathlib.Path(scratch), output
        self.only, self.keep_going = only, keep_going
        self.start, self.seconds = time.monotonic(), seconds
        self.pack = Pack(root, scratch)
        self.report = {"date": time.strftime("%Y-%m-%d %H:%M:%S %z"), "status": "running",
                       "pack": {k: v for k, v in self.pack.facts.items() if k != "items"},
                       "libraries": {}, "figures": [], "steps": {}}
        self.script = pathlib.Path(__file__).resolve().parent.parent / "gpu-check"

    def left(self):
        return self.seconds - (time.monotonic() - self.start)

    def write(self):
        self.report["seconds"] = round(time.monotonic() - self.start, 1)
        self.report["figures"] = figures.figures(self.report["steps"])
        temporary = pathlib.Path(str(self.output) + ".new")
        temporary.write_text(json.dumps(self.report, indent=1) + "\n")
        os.replace(temporary, self.output)

    def step(self, name, limit):
        path = self.scratch / f"results of {name}"
        path.write_text("")
        began = time.monotonic()
        result = execute([sys.executable, self.script, "step", self.root, self.scratch, name,
                          path, f"{limit - 3:.0f}"], limit)
        results = []
        for line in path.read_text().splitlines():
            try:
                results.append(json.loads(line))
            except ValueError:  # it was ended in the middle of it
                pass
        ended = "" if result.code == 0 else "out of time" if result.code == 124 else "failed"
        step = {"status": judge(results, ended), "results": results,
                "seconds": round(time.monotonic() - began, 1)}
        if ended:
            step.update(why=result.why(), log=result.err[-3000:])
        clocks = self.clocks.between(began, time.monotonic())
        if clocks:
            step["clocks"] = clocks
        self.report["steps"][name] = step

    def tell(self, name):
        step = self.report["steps"][name]
        results, counts = step["results"], {}
        for one in results:
            counts[one["status"]] = counts.get(one["status"], 0) + 1
        say(f"{name}: {step['status']}, {step['seconds']} s, "
              + ", ".join(f"{n} {state}" for state, n in counts.items())
              + (f" ({step['why']})" if "why" in step else ""))
        many = len(results) > 20
        for one in results:
            if not many or one["status"] not in ("passed", "not run"):
                say(describe(one))

    def wave(self, wave, later):
        wave = [one for one in wave if not self.only or one[0] in self.only]
        if not wave:
            return
        # Half of what later ones may take is theirs.
        limit = min(max(limit for _, _, limit in wave), self.left() - 2 - later / 2)
        if limit < 5:
            limit = min(max(limit for _, _, limit in wave), self.left() - 2)
        if limit < 5:
            for name, _, _ in wave:
                self.report["steps"][name] = {"status": "not run", "why": "no time left",
                                              "results": []}
                say(f"{name}: not run, no time left")
            return
        say(f"[{time.monotonic() - self.start:.0f} s] " + ", ".join(name for name, _, _ in wave))
        threads = [threading.Thread(target=self.step, args=(name, min(most, limit)))
                   for name, _, most in wave]
        for thread in threads:
            thread.start()
        for name, thread in zip((name for name, _, _ in wave), threads):
            thread.join()
            self.tell(name)
        failed = []
        for step in self.report["steps"].values():
            failed += [r["name"] for r in step["results"] if r["status"] == "failed"][:1]
        self.pack.remember("failed", failed)
        self.write()

    def run(self):
        self.clocks = Clocks(self.pack.backend == "nccl")
        fault = self.pack.settle()
        if fault:
            self.report.update(status="failed", why=fault)
            self.write()
            say(f"gpu-check: {fault}")
            return 3
        self.report["libraries"] = {name: value for name, value in os.environ.items()
                                    if name.startswith("TPRT_") or name == "LD_LIBRARY_PATH"}
        try:
            for i, wave in enumerate(WAVES):
                later = sum(max(limit for _, _, limit in one) for one in WAVES[i + 1:]
                            if not self.only or any(name in self.only for name, _, _ in one))
                self.wave(wave, later)
                gate = self.report["steps"].get(GATE)
                if (any(name == GATE for name, _, _ in wave) and gate and not self.keep_going
                        and gate["status"] == "failed"
                        and not any(r["status"] == "passed" for r in gate["results"])):
                    say("nothing runs: the rest is left out (--keep-going: not)")
                    self.wave(WAVES[-1], 0)
                    self.report["stopped"] = "no program of the first launches runs"
                    break
        finally:
            self.clocks.end()
            weights = self.scratch / "llama"
            if weights.is_symlink():
                shutil.rmtree(weights.resolve(), ignore_errors=True)
        steps = self.report["steps"].values()
        self.report["status"] = ("failed" if any(step["status"] == "failed" for step in steps)
                                 else "passed")
        self.write()
        if self.pack.backend == "nccl":
            say("figures (item, verdict, what, bound):")
            for line in figures.lines(self.report["figures"]):
                say(line)
        say(f"{self.report['status']} in {self.report['seconds']} s; all numbers are in "
              f"{self.output}")
        return 0 if self.report["status"] == "passed" else 3


def run(root, output, seconds, only, keep_going):
    unknown = set(only or ()) - set(STEPS)
    if unknown:
        raise SystemExit(f"gpu-check: no step {sorted(unknown)[0]!r}; there are: "
                         + ", ".join(STEPS))
    # A run that is told to stop still removes what it wrote.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as scratch:
        return Runner(root, scratch, output, seconds, only, keep_going).run()
