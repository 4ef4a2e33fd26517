"""Are the results right: devices, kernels, fixtures, MiniLM, lost ranks, sanitizers.

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
import platform
import re
import shutil
import signal
import subprocess
import tempfile
import time

from . import programs
from .files import difference, execute, read_safetensors, write_torch

F32_TOLERANCE = 2e-5  # of the largest value
# Of the errors of PyTorch's own bf16 or f16: of the norm of all, and for each element
# of the root mean square (test/Integration/reference.py has the reasons).
NORM_FACTOR, ELEMENT_FACTOR = 1.25, 8
MINILM_TOLERANCE = {"f32": 1e-5, "bf16": 4e-3, "f16": 6e-4}
# Of the largest value: what f32 leaves; up to four roundings on the way.
KERNEL_TOLERANCE = {"f32": 2e-5, "bf16": 2 ** -7, "f16": 2 ** -10}


def deadline_loop(items, record, seconds, work, at_once=6):
    """work(item) for all, several at once; those left over at the end are recorded."""
    end = time.monotonic() + seconds

    def guarded(item):
        name = item["name"]
        if time.monotonic() > end:
            return record(name=name, status="not run", why="no time left")
        try:
            return work(item, end - time.monotonic())
        except Exception as error:  # one fault does not end the others
            return record(name=name, status="failed", why=f"{type(error).__name__}: {error}")
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        list(pool.map(guarded, items))


def device(pack, record, seconds):
    """What this machine is; nothing here can fail but the lack of a card."""
    facts = {"host": platform.platform(), "python": platform.python_version(),
             "cores": os.cpu_count(), "glibc": platform.libc_ver()[1]}
    for name, command in {
            "gpu": ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.sm,"
                    "clocks.max.sm,pci.bus_id", "--format=csv,noheader"],
            "compute-sanitizer": ["compute-sanitizer", "--version"]}.items():
        if shutil.which(command[0]):
            facts[name] = execute(command, seconds / 2).out.strip()[:300]
    try:
        import torch
        facts["torch"] = torch.__version__
        if torch.cuda.is_available():
            p = torch.cuda.get_device_properties(0)
            facts.update(cuda=torch.version.cuda, device=p.name, memory=p.total_memory,
                         multiprocessors=p.multi_processor_count,
                         nccl=".".join(map(str, torch.cuda.nccl.version())))
    except ImportError:
        facts["torch"] = "not installed"
    record(name="machine", status="passed", **facts)


def check_outputs(item, folder, got, record, seconds):
    expected = read_safetensors(folder / "expected.safetensors")
    facts = json.loads((folder / "fixture.json").read_text())["outputs"]
    outputs = read_safetensors(got)
    if set(outputs) != set(facts):
        raise ValueError(f"outputs {sorted(outputs)}, expected {sorted(facts)}")
    worst, ok = 0.0, True
    for name, tensor in outputs.items():
        distance, norm, largest = difference(tensor, expected[name])
        if item["dtype"] == "f32":
            off = distance / (F32_TOLERANCE * largest)
        else:
            theirs = facts[name][f"{item['dtype']}_norm"]
            elements = math.prod(tensor[1])
            off = max(norm / (NORM_FACTOR * theirs),
                      distance * elements ** 0.5 / (ELEMENT_FACTOR * theirs))
        worst, ok = max(worst, off), ok and off <= 1
    record(name=item["name"], status="passed" if ok else "failed",
           of_tolerance=round(worst, 4), seconds=round(seconds, 2))


def run_and_compare(pack, item, record, seconds, compare, environment=None):
    with tempfile.TemporaryDirectory() as directory:
        output = pathlib.Path(directory) / "out.safetensors"
        result = pack.run(item, "--input", pack.root / item["inputs"], "--output", output,
                          seconds=min(60, seconds), environment=environment)
        if result.code:
            return record(name=item["name"], status="failed", why=result.why())
        return compare(output, result.seconds)


def fixture(pack, item, record, seconds, environment=None):
    folder = pack.root / item["folder"]
    run_and_compare(pack, item, record, seconds,
                    lambda output, took: check_outputs(item, folder, output, record, took),
                    environment)


def two_on_one(pack, record, seconds):
    """Two processes with their own NCCL_HOSTID on one card: unproven until it runs."""
    items = [i for i in pack.items("fixture") if i["dtype"] == "f32" and i["plan"] == "megatron"]
    for degree, graphs in ((2, "0"), (2, "1"), (4, "1")):
        item = next((i for i in items if i["degree"] == degree), None)
        if item is None:
            continue
        item = {**item, "name": f"{item['name']}, {'graph' if graphs == '1' else 'no graph'}"}
        log = pack.scratch / f"nccl-{degree}-{graphs}"
        fixture(pack, item, record, seconds / 3, {
            "NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": f"{log}.%p", "TPRT_CUDA_GRAPHS": graphs})
        for path in pack.scratch.glob(log.name + ".*"):
            lines = path.read_text(errors="replace").splitlines()
            record(name="NCCL's log", status="note", lines=lines[:4] + lines[-12:])


def priority(item):
    return (("f32", "bf16", "f16").index(item["dtype"]), item["plan"] != "megatron",
            item["degree"], item["name"])


def fixtures(pack, record, seconds):
    # Kernels that wait for each other take turns on the card: fewer at once.
    end = time.monotonic() + seconds
    items = sorted(pack.items("fixture"), key=priority)
    for some, at_once in ([i for i in items if i["degree"] == 1], 6), (
            [i for i in items if i["degree"] > 1], 4):
        deadline_loop(some, record, end - time.monotonic(),
                      lambda item, left: fixture(pack, item, record, left), at_once)


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


def kernels(pack, record, seconds):
    """Every generated kernel at friendly and odd shapes against PyTorch's f32."""
    import torch
    where = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = False

    def one(item, left):
        kernel, element = item["kernel"], item["dtype"]
        program = programs.program(kernel, element)
        values = programs.random_inputs(program.inputs, torch, where)
        with tempfile.TemporaryDirectory() as directory:
            directory = pathlib.Path(directory)
            write_torch(directory / "in.safetensors", torch, values)
            result = pack.run(item, "--input", directory / "in.safetensors", "--output",
                              directory / "out.safetensors", seconds=min(60, left))
            if result.code:
                return record(name=item["name"], status="failed", why=result.why())
            outputs = read_safetensors(directory / "out.safetensors")
        worst, where_worst = 0.0, ""
        for i, shape in enumerate(programs.KERNELS[kernel][1]):
            for name, want in programs.reference(kernel, torch, values, i, shape).items():
                _, sizes, data = outputs[name]
                got = torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(sizes)
                want = want.float().cpu()
                off = (got - want).abs().max().item() / max(want.abs().max().item(), 1e-9)
                off = off / KERNEL_TOLERANCE[element] if off == off else float("inf")
                if off > worst:
                    worst, where_worst = off, f"{name} of {shape}"
        return record(name=item["name"], status="passed" if worst <= 1 else "failed",
                      of_tolerance=round(worst, 4), worst=where_worst,
                      seconds=round(result.seconds, 2))
    deadline_loop(pack.items("kernel"), record, seconds, one)


def children(process):
    """Its child processes, in the order in which they were started."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[1]) == process:
            found.append((int(fields[19]), int(path.parent.name)))
    return [child for _, child in sorted(found)]


def lose_a_rank(pack, item, record, seconds, name, number):
    """A rank that is killed or frozen in the middle of steps is named by the others."""
    process = subprocess.Popen(
        [str(part) for part in pack.command(item, "--input", pack.root / item["inputs"],
                                            "--repeat", "100000000", "--timeout", "30")],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, **pack.environment(item)})
    try:
        end = time.monotonic() + seconds / 2
        ranks = []
        while (len(ranks) < item["degree"] and process.poll() is None
               and time.monotonic() < end):
            time.sleep(0.1)
            ranks = children(process.pid)
        # Loading and the first steps.
        end = time.monotonic() + (min(8, seconds / 4) if pack.on_card(item) else 1)
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        if process.poll() is not None or len(ranks) < item["degree"]:
            text = process.stderr.read() if process.poll() is not None else "no ranks"
            return record(name=name, status="failed", why=f"ended by itself: {text[-400:]}")
        start = time.monotonic()
        os.kill(ranks[1], number)
        _, err = process.communicate(timeout=20)
        took = time.monotonic() - start
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    named = "rank 1 is lost" in err and "collective" in err
    good = process.returncode == 3 and named and took < 4
    return record(name=name, status="passed" if good else "failed", code=process.returncode,
                  seconds=round(took, 2), message=err.strip()[-500:])


def lost_rank(pack, record, seconds):
    item = next(i for i in pack.items("fixture")
                if i["degree"] == 2 and i["dtype"] == "f32" and i["plan"] == "megatron")
    for name, number in (("killed", signal.SIGKILL), ("frozen", signal.SIGSTOP)):
        lose_a_rank(pack, item, record, seconds / 2, name, number)


def sanitizers(pack, record, seconds):
    tool = shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin")
    if not tool or pack.backend != "nccl":
        return record(name="compute-sanitizer", status="skipped", why="not found")
    chosen = [i for i in pack.items("kernel") if i["dtype"] == "bf16"]
    chosen += [i for i in pack.items("fixture")
               if i["degree"] == 1 and i["dtype"] == "f32" and i["plan"] == "megatron"][:4]
    items = [{**item, "name": f"{check}: {item['name']}", "check": check}
             for item in chosen for check in ("memcheck", "racecheck")]

    def one(item, left):
        with tempfile.TemporaryDirectory() as directory:
            inputs = pathlib.Path(directory) / "in.safetensors"
            if item["kind"] == "kernel":
                import torch
                program = programs.program(item["kernel"], item["dtype"])
                write_torch(inputs, torch, programs.random_inputs(program.inputs, torch, "cpu"))
            else:
                inputs = pack.root / item["inputs"]
            result = execute(
                [tool, "--tool", item["check"], "--target-processes", "all", "--error-exitcode",
                 "77", *pack.command(item, "--input", inputs, "--timeout", "300")],
                min(90, left), pack.environment(item))
        text = result.out + result.err
        clean = (result.code == 0 and re.search(r"SUMMARY: 0 (errors|hazards)", text)
                 and not re.search(r"SUMMARY: [1-9]", text))
        record(name=item["name"], status="passed" if clean else "failed",
               seconds=round(result.seconds, 1),
               **({} if clean else {"why": text[-800:]}))
    deadline_loop(items, record, seconds, one, 4)
