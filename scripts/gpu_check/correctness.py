"""Are the results right: kernels, fixtures, MiniLM, lost ranks.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Each step is a function of the pack, a function that records one result, and the
seconds it has. The order of the lists is the order of importance: what time does
not allow is recorded as not run.
"""

import concurrent.futures
import json
import math
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time

from . import programs
from .files import difference, read_safetensors, write_torch

F32_TOLERANCE = 2e-5  # of the largest value
# Of the errors of PyTorch's own bf16 or f16: of the norm of all, and for each element
# of the root mean square (test/Integration/reference.py has the reasons).
NORM_FACTOR, ELEMENT_FACTOR = 1.25, 8
MINILM_TOLERANCE = {"f32": 1e-5, "bf16": 4e-3, "f16": 6e-4}
# Of the largest value: what f32 leaves; up to four roundings on the way.
KERNEL_TOLERANCE = {"f32": 2e-5, "bf16": 2 ** -6, "f16": 2 ** -9}


# A check begun with less time is stopped by the end of the step, not by a fault.
LEAST_SECONDS = 6


def deadline_loop(items, record, seconds, work, at_once=6):
    """work(item) for all, several at once; those left over at the end, or with too little of it
    left, are recorded."""
    end = time.monotonic() + seconds - LEAST_SECONDS

    def guarded(item):
        name = item["name"]
        if time.monotonic() > end:
            return record(name=name, status="not run", why="no time left")
        try:
            return work(item, end + LEAST_SECONDS - time.monotonic())
        except Exception as error:  # one fault does not end the others
            return record(name=name, status="failed", why=f"{type(error).__name__}: {error}")
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        list(pool.map(guarded, items))


def check_outputs(item, folder, got, record, seconds):
    expected = read_safetensors(folder / "expected.safetensors")
    facts = json.loads((folder / "fixture.json").read_text())["outputs"]
    outputs = read_safetensors(got)
    if set(outputs) != set(facts):
        raise ValueError(f"outputs {sorted(outputs)}, expected {sorted(facts)}")
    worst, wrong = 0.0, {}
    for name, tensor in outputs.items():
        distance, norm, largest = difference(tensor, expected[name])
        if item["dtype"] == "f32":
            off = distance / (F32_TOLERANCE * largest)
        else:
            theirs = facts[name][f"{item['dtype']}_norm"]
            elements = math.prod(tensor[1])
            off = max(norm / (NORM_FACTOR * theirs),
                      distance * elements ** 0.5 / (ELEMENT_FACTOR * theirs))
        worst = max(worst, off)
        if not off <= 1:
            wrong[name] = {"distance": distance, "norm": norm, "largest": largest}
    record(name=item["name"], status="failed" if wrong else "passed",
           of_tolerance=round(worst, 4), seconds=round(seconds, 2),
           **({"why": "results differ", "off": wrong} if wrong else {}))


def run_and_compare(pack, item, record, seconds, compare, environment=None):
    """The seconds it took, if it ran; whether its results are right is recorded."""
    with tempfile.TemporaryDirectory() as directory:
        output = pathlib.Path(directory) / "out.safetensors"
        # A collective that hangs is named by tp-run before the time is up.
        result = pack.run(item, "--input", pack.root / item["inputs"], "--output", output,
                          "--timeout", f"{max(5, min(25, seconds - 8)):.0f}",
                          seconds=min(60, seconds), environment=environment)
        if result.code:
            record(name=item["name"], **result.fault())
            return None
        compare(output, result.seconds)
        return result.seconds


def fixture(pack, item, record, seconds, environment=None):
    folder = pack.root / item["folder"]
    return run_and_compare(pack, item, record, seconds,
                           lambda output, took: check_outputs(item, folder, output, record, took),
                           environment)


def priority(item):
    return (("f32", "bf16", "f16").index(item["dtype"]), item["plan"] != "megatron",
            item["degree"], item["name"])


def fixtures_alone(pack, record, seconds):
    """Every fixture on one rank."""
    items = [i for i in pack.items("fixture") if i["degree"] == 1]
    deadline_loop(sorted(items, key=priority), record, seconds,
                  lambda item, left: fixture(pack, item, record, left), 5)


def fixtures_together(pack, record, seconds):
    """Every fixture on several ranks. Kernels that wait for each other take turns on the
    card: fewer programs at once."""
    end = time.monotonic() + seconds
    items = [i for i in pack.items("fixture") if i["degree"] > 1]
    if pack.on_card(items[0]) and pack.recall("two ranks") is None:
        items = sorted(items, key=priority)[:3]  # enough to see that it is still so
    for dtype in programs.TYPES:
        some = [i for i in items if i["dtype"] == dtype]
        deadline_loop(sorted(some, key=priority), record, end - time.monotonic(),
                      lambda item, left: fixture(pack, item, record, left), 4)


def minilm(pack, record, seconds):
    """Against PyTorch's f32 embeddings of the same weights, which were rounded to bf16."""
    def one(item, left):
        want = read_safetensors(pack.root / item["expected"])["sentence_embedding"]

        def compare(output, took):
            got = read_safetensors(output)["sentence_embedding"]
            distance, _, _ = difference(got, want)
            limit = MINILM_TOLERANCE[item["dtype"]]
            record(name=item["name"], status="passed" if distance <= limit else "failed",
                   distance=distance, tolerance=limit, seconds=round(took, 2))
        run_and_compare(pack, item, record, left, compare)
    deadline_loop(sorted(pack.items("minilm"), key=priority), record, seconds, one, 3)


def kernel(pack, item, record, seconds, environment=None):
    """One generated kernel at friendly and odd shapes against PyTorch's f32."""
    import torch
    where = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = False
    name, element = item["kernel"], item["dtype"]
    program = programs.program(name, element)
    values = programs.random_inputs(program.inputs, torch, where)
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        write_torch(directory / "in.safetensors", torch, values)
        result = pack.run(item, "--input", directory / "in.safetensors", "--output",
                          directory / "out.safetensors", seconds=min(60, seconds),
                          environment=environment)
        if result.code:
            return record(name=item["name"], **result.fault())
        outputs = read_safetensors(directory / "out.safetensors")
    worst, where_worst, off = 0.0, "", {}
    for i, shape in enumerate(programs.KERNELS[name][1]):
        for output, want in programs.reference(name, torch, values, i, shape).items():
            _, sizes, data = outputs[output]
            got = torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(sizes)
            want = want.float().cpu()
            apart = (got - want).abs()
            limit = KERNEL_TOLERANCE[element] * max(want.abs().max().item(), 1e-9)
            most = apart.max().item()
            ratio = most / limit if most == most else float("inf")
            if ratio > worst:
                worst, where_worst = ratio, f"{output} of {shape}"
            if ratio > 1:
                wrong = ~(apart <= limit)
                off[output] = {"shape": list(sizes), "wrong": int(wrong.sum()),
                               "first": wrong.nonzero()[0].tolist(), "of_tolerance": ratio}
    return record(name=item["name"], status="failed" if off else "passed",
                  of_tolerance=round(worst, 4), worst=where_worst,
                  seconds=round(result.seconds, 2),
                  **({"why": "results differ", "off": off} if off else {}))


def kernels(pack, record, seconds):
    import torch  # or the step is skipped as a whole
    record(name="reference", status="note", torch=torch.__version__)
    deadline_loop(pack.items("kernel"), record, seconds,
                  lambda item, left: kernel(pack, item, record, left), 5)


def ranks_of(launcher):
    """The processes that tp-run started, by rank."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            if parent != launcher:
                continue
            variables = (path.parent / "environ").read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        for variable in variables:
            if variable.startswith(b"TPRT_RANK="):
                found[int(variable.partition(b"=")[2])] = int(path.parent.name)
    return found


def lose_a_rank(pack, item, record, seconds, name, number):
    """A rank that is killed or frozen in the middle of steps is named by the others. On a busy machine
    steps may begin late: a rank that is lost before them is lost once more, later."""
    # Loading and the first steps: as long as a whole run took before, and more.
    usual = pack.recall("two ranks")
    wait = (usual or 8) + 3 if pack.on_card(item) else 2 * (usual or 0) + 1
    end = time.monotonic() + seconds
    while True:
        left = end - time.monotonic()
        facts = lose_once(pack, item, left, number, wait)
        is_early = facts.get("code") == 3 and facts.get("named_after") == "never"
        wait *= 3
        if not is_early or end - time.monotonic() < wait + 15:
            return record(name=name, **facts)


def lose_once(pack, item, seconds, number, wait):
    """Returns what to record of a rank that is lost `wait` seconds after all ranks are there."""
    process = subprocess.Popen(
        [str(part) for part in pack.command(item, "--input", pack.root / item["inputs"],
                                            "--repeat", "100000000", "--timeout", "30")],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, **pack.environment(item)})
    lines, named = [], []

    def listen():
        for line in process.stderr:
            lines.append(line)
            if "rank 1 is lost" in line and "collective" in line and not named:
                named.append(time.monotonic())
    listener = threading.Thread(target=listen)
    listener.start()
    try:
        end = time.monotonic() + seconds / 2
        ranks = {}
        while (len(ranks) < item["degree"] and process.poll() is None
               and time.monotonic() < end):
            time.sleep(0.1)
            ranks = ranks_of(process.pid)
        end = time.monotonic() + min(wait, seconds / 2)
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        if process.poll() is not None or len(ranks) < item["degree"]:
            listener.join(1) if process.poll() is not None else None
            return {"status": "failed", "why": "ended by itself: " + "".join(lines)[-600:]}
        start = time.monotonic()
        os.kill(ranks[1], number)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            pass
        took = time.monotonic() - start
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        listener.join()
    heard = named[0] - start if named else None
    # A machine with a card has nothing else to do; beside other tests a rank may look late.
    alone = pack.on_card(item) and "TPRT_CUDA_LIBRARY" not in os.environ
    limit = 10 if alone else 20
    good = process.returncode == 3 and heard is not None and heard < limit
    return {"status": "passed" if good else "failed", "code": process.returncode,
            "named_after": round(heard, 2) if named else "never", "seconds": round(took, 2),
            "message": "".join(lines).strip()[-800:],
            **({} if good else {"why": f"expected code 3 and rank 1 named within {limit} s"})}


def lost_rank(pack, record, seconds):
    item = next(i for i in pack.items("fixture")
                if i["degree"] == 2 and i["dtype"] == "f32" and i["plan"] == "megatron")
    for name, number in (("killed", signal.SIGKILL), ("frozen", signal.SIGSTOP)):
        lose_a_rank(pack, item, record, seconds / 2, name, number)
