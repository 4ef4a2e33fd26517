"""How fast: prefill, row kernels, launches, shares, loading.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A ratio says what was divided by what, both measured in this run on this card. A
figure that misses its bound is recorded as such and is no failure of the step. All
programs of Llama-3-8B's shape read one random checkpoint that an earlier step
writes. Without a card the programs run and are compared with nothing.
"""

import array
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import statistics
import tempfile
import time

from . import programs
from .files import torch_bytes, write_safetensors
from .shapes import Llama

BYTES = {"f32": 4, "bf16": 2, "f16": 2, "i64": 8}
WARM_UP = 5  # steps that are not counted, where there are many


def card():
    """torch, where it sees a card; None otherwise."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def measure(pack, item, *options, repeat=20, seconds=100, environment=None):
    """tp-run's statistics, or an error with its last words."""
    result = pack.run(item, "--repeat", str(repeat), "--stats", "json", *options,
                      seconds=seconds, environment=environment)
    if result.code:
        raise RuntimeError(f"{item['name']}: {result.why()}")
    return json.loads(result.out)


def settled(times):
    return times[WARM_UP:] if len(times) > 2 * WARM_UP else times


def steps_of(stats):
    """Of the one entry that ran."""
    entry, = (one for one in stats["steps"]["entries"].values() if one["count"])
    return entry


def step_seconds(*stats):
    """The median over the runs, by the host's clock."""
    return statistics.median(t for one in stats for t in settled(steps_of(one)["seconds"]))


def device_seconds(*stats):
    """Between the beginning and the end of a step, by the device's clock; else the host's."""
    if any("device_seconds" not in steps_of(one) for one in stats):
        return step_seconds(*stats)
    return statistics.median(t for one in stats for t in settled(steps_of(one)["device_seconds"]))


def judged(value, bound, reached):
    return {"value": round(value, 4), "bound": bound,
            "verdict": "reached" if reached else "missed"}


def aim(ratio, least):
    return judged(ratio, f"at least {least}", ratio >= least)


class Model:
    """The Llama programs of the pack on the checkpoint of this run."""

    def __init__(self, pack):
        self.pack, self.facts = pack, pack.facts["llama"]
        path = pack.scratch / "llama"
        self.weights = str(path) if (path / "model.safetensors").exists() else "random:1"

    def tokens(self, which):
        return self.facts["tokens"][which]

    def shape(self, which, ranks=1):
        return Llama(self.facts, self.tokens(which), ranks)

    def measure(self, which, *options, ranks=1, **more):
        name = f"llama, {which}, TP={ranks}"
        item = next(i for i in self.pack.items("benchmark") if i["name"] == name)
        tokens = self.tokens(which)
        ids = array.array("q", ((i * 7919 + 13) % self.facts["vocabulary"]
                                for i in range(tokens)))
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "in.safetensors"
            write_safetensors(path, {"input_ids": ("I64", (1, tokens), ids.tobytes())})
            return measure(self.pack, {**item, "weights": self.weights}, "--input", path,
                           *options, **more)


def place_for(needed):
    """Where 16 GB fit: a disk, so that a file's own rate can be told from memory's."""
    places = [tempfile.gettempdir(), "/var/tmp", "/dev/shm"]
    return next((place for place in places if os.path.isdir(place)
                 and shutil.disk_usage(place).free > needed * 5 // 4), None)


def checkpoint(pack, record, seconds):
    """Random bf16 weights of Llama-3-8B's shape, for the steps that follow."""
    start, torch = time.monotonic(), card()
    tensors = Llama(pack.facts["llama"], 1).checkpoint()
    needed = sum(2 * programs.elements(shape) for shape in tensors.values())
    folder = pack.scratch / "llama"
    folder.mkdir()
    if shutil.disk_usage(folder).free < needed * 5 // 4:
        place = place_for(needed)
        if place is None:
            return record(name="written", status="skipped", why=f"{needed} bytes do not fit; set "
                          "TMPDIR; what follows makes random weights anew each time")
        folder.rmdir()
        # The run removes it when it ends.
        folder.symlink_to(tempfile.mkdtemp(prefix="gpu-check-weights-", dir=place))
    (folder / "config.json").write_text((pack.root / "inputs/llama.json").read_text())

    def values(shape):
        count = programs.elements(shape)
        if len(shape) == 1:
            return array.array("H", [0x3F80]) * count  # ones
        if torch:
            value = torch.empty(shape, dtype=torch.bfloat16, device="cuda").normal_(0, 0.02)
            return torch_bytes(torch, value)
        # Some of 0.005 to 0.03, of both signs; the rest repeats them.
        some = array.array("H", (random.choice((0x3C00, 0xBC00)) | random.getrandbits(7)
                                 for _ in range(min(count, 4096))))
        return (some * (count // len(some) + 1))[:count]
    size = write_safetensors(folder / "model.safetensors.part", {
        name: ("BF16", shape, lambda shape=shape: values(shape))
        for name, shape in tensors.items()})
    (folder / "model.safetensors.part").rename(folder / "model.safetensors")
    written = time.monotonic() - start
    record(name="written", status="passed", bytes=size, seconds=round(written, 1),
           place=os.path.realpath(folder))
    # On the disk, so that reading it later can be told from reading memory.
    with open(folder / "model.safetensors", "rb") as file:
        os.fsync(file.fileno())
    record(name="on the disk", status="note", seconds=round(time.monotonic() - start - written, 1))


def compile_peers(pack, record, seconds):
    """What torch.compile makes for the steps that follow, kept in its cache."""
    torch, start = card(), time.monotonic()
    if not torch:
        return record(name="torch.compile", status="skipped", why="no card")
    from . import peers
    llama = peers.Model(torch, Model(pack).shape("prefill"), layers=1)
    works = {"layer": lambda: peers.compiled_layer(torch, llama)}
    for item in pack.items("row benchmark"):
        shape, element = tuple(item["shape"]), item["dtype"]
        works[item["name"]] = lambda item=item, shape=shape, element=element: peers.compiled_row(
            torch, item["kernel"], shape, element)()
    for name, work in works.items():
        if time.monotonic() - start > seconds:
            return record(name="torch.compile", status="not run", why="no time left")
        began = time.monotonic()
        try:
            with torch.no_grad():
                if name == "layer":
                    llama.forward(work())
                else:
                    work()
            record(name=name, status="passed", seconds=round(time.monotonic() - began, 1))
        except Exception as error:  # PyTorch's fault is not ours
            record(name=name, status="note", why=str(error)[:600])
        torch.cuda.empty_cache()
    return None


def prefill(pack, record, seconds):
    """A long prompt against its matrix products and attention, PyTorch, torch.compile. What
    is compared takes turns: ours, the others round by round, ours again."""
    start, model, torch = time.monotonic(), Model(pack), card()
    first = model.measure("prefill", repeat=30, seconds=seconds / 2)
    record(name="step", status="passed", seconds=step_seconds(first),
           device_seconds=device_seconds(first), load=first["load"],
           weights=model.weights.split("/")[-1])
    if torch:
        from . import peers
        shape = model.shape("prefill")
        llama, layer = peers.Model(torch, shape), None
        with torch.no_grad():
            each = peers.products_each(torch, llama)
            attention, whose = peers.attention_seconds(torch, shape)
            works = {"products": peers.products(torch, llama),
                     "products by cuBLASLt": peers.products(torch, llama, "cublaslt"),
                     "PyTorch eager": lambda: llama.forward(llama.layer)}
            if time.monotonic() - start < seconds * 0.6:
                try:
                    layer = peers.compiled_layer(torch, llama)
                    llama.forward(layer)
                    works["torch.compile"] = lambda: llama.forward(layer)
                except Exception as error:  # PyTorch's fault is not ours
                    record(name="torch.compile", status="note", why=str(error)[:600])
            else:
                record(name="torch.compile", status="not run", why="no time left")
            times = peers.in_turns(torch, works)
        del llama, works, layer
        torch.cuda.empty_cache()
    runs = [first]
    if time.monotonic() - start < seconds * 0.8:
        runs.append(model.measure("prefill", repeat=30,
                                  seconds=seconds - (time.monotonic() - start)))
    step = step_seconds(*runs)
    if torch:
        products = min(times["products"], times["products by cuBLASLt"])
        bare = products + attention * shape.layers
        record(name="bare products and attention / step", status="passed",
               **aim(bare / step, 0.9), seconds=step, products=products, each_product=each,
               attention=attention * shape.layers, attention_by=whose,
               runs=[step_seconds(one) for one in runs])
        for name in ("PyTorch eager", "torch.compile"):
            if name in times:
                record(name=f"{name} / step", status="passed",
                       **judged(times[name] / step, "above 1", times[name] > step),
                       seconds=times[name])
    if time.monotonic() - start < seconds * 0.85:
        parts(model, record, seconds - (time.monotonic() - start))


def parts(model, record, seconds):
    """Where a step's time goes, call by call: seconds and calls of each kind and call."""
    repeat = 4
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "trace.json"
        model.measure("prefill", "--timeline", path, repeat=repeat, seconds=seconds)
        trace = json.loads(path.read_text())
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    total, kinds = {}, {}
    for event in events:
        if event.get("ph") == "X" and event["cat"] != "step":
            for where, key in ((total, event["name"]), (kinds, event["cat"])):
                seen = where.setdefault(key, [0.0, 0])
                seen[0] += event["dur"] / 1e6 / repeat
                seen[1] += 1 / repeat
    record(name="parts of a step, call by call", status="note",
           kinds={k: round(t, 6) for k, (t, _) in kinds.items()},
           calls={k: [round(t, 6), round(n)] for k, (t, n) in
                  sorted(total.items(), key=lambda one: -one[1][0])[:24]})


def rows(pack, record, seconds):
    """A row kernel's rate against a copy's and against torch.compile's kernel."""
    torch, end = card(), time.monotonic() + seconds
    if torch:
        from . import peers
    for item in pack.items("row benchmark"):
        name = item["name"]
        if time.monotonic() > end - 5:
            record(name=name, status="not run", why="no time left")
            continue
        shape, element = tuple(item["shape"]), item["dtype"]
        program = programs.program(item["kernel"], element, [shape])
        moved = sum(BYTES[t] * programs.elements(s) for s, t in program.inputs.values())
        moved += sum(BYTES[t] * programs.elements(s) for _, s, t in program.outputs.values())
        works, times, fault = {}, {}, ""
        if torch:
            # The copy beside each, so that both have the same clocks.
            works["copy"], copied = peers.copy(torch)
            try:
                works["torch.compile"] = peers.compiled_row(torch, item["kernel"], shape, element)
                works["torch.compile"]()
            except Exception as error:  # PyTorch's fault is not ours
                works.pop("torch.compile", None)
                fault = str(error)[:600]
            times = peers.in_turns(torch, works)
            works.clear()
            torch.cuda.empty_cache()
        try:
            stats = measure(pack, item, repeat=60, seconds=max(5, end - time.monotonic()))
        except RuntimeError as error:  # the other kernels are still to be measured
            record(name=name, status="failed", why=str(error))
            continue
        step = device_seconds(stats)
        result = {"seconds": step, "bytes_per_second": moved / step}
        if not torch:
            record(name=name, status="passed", **result)
            continue
        rate = copied / times["copy"]
        record(name=f"{name} / copy", status="passed", **aim(moved / step / rate, 0.9), **result,
               copy_bytes_per_second=rate)
        if fault:
            record(name=f"torch.compile / {name}", status="note", why=fault)
        else:
            record(name=f"torch.compile / {name}", status="passed",
                   **aim(times["torch.compile"] / step, 1), seconds=times["torch.compile"])


def launch(pack, record, seconds):
    """The host's and the launches' share of a short step."""
    model, start = Model(pack), time.monotonic()
    graph = model.measure("short", repeat=100, seconds=seconds)
    step, inside = step_seconds(graph), device_seconds(graph)
    share = 1 - inside / step
    record(name="outside the graph / step", status="passed",
           **judged(share, "below 0.03", share < 0.03), seconds=step, device_seconds=inside)
    took = time.monotonic() - start
    if took > seconds / 2:
        return record(name="launched one by one / graph", status="not run", why="no time left")
    alone = model.measure("short", repeat=100, seconds=seconds - took,
                          environment={"TPRT_CUDA_GRAPHS": "0"})
    return record(name="launched one by one / graph", status="passed",
                  value=round(step_seconds(alone) / step, 4), seconds=step_seconds(alone),
                  device_seconds=device_seconds(alone))


def shares(pack, record, seconds):
    """One rank's share of each degree packed alone on the card: collectives are left out."""
    model, whole, end = Model(pack), None, time.monotonic() + seconds
    for ranks in sorted(i["degree"] for i in pack.items("benchmark")
                        if i["name"].startswith("llama, prefill,")):
        if time.monotonic() > end - 5:
            record(name=f"rank 0 of {ranks}", status="not run", why="no time left")
            continue
        stats = model.measure("prefill", "--only-rank", "0", ranks=ranks, repeat=20,
                              seconds=end - time.monotonic())
        step = device_seconds(stats)
        whole = whole or step
        record(name=f"rank 0 of {ranks}", status="passed", seconds=step,
               value=round(whole / step, 3), whole_over_share=round(whole / step, 3),
               collectives="left out" if ranks > 1 else "none")


def mlp(pack, record, seconds):
    """Two matrices and SiLU, h 4096, f 11008, batch 16, 128 tokens, f32; published: 1.90."""
    runs, start = {1: [], 2: []}, time.monotonic()
    for ranks in (1, 2, 1, 2):  # in turns, twice if there is time
        took = time.monotonic() - start
        if runs[2] and took > seconds / 3:
            break
        item = next(i for i in pack.items("benchmark") if i["name"] == f"mlp, TP={ranks}")
        runs[ranks].append(measure(pack, item, "--only-rank", "0", repeat=40,
                                   seconds=seconds - took))
    times = [device_seconds(*runs[ranks]) for ranks in (1, 2)]
    record(name="one rank / rank 0 of 2 alone", status="passed",
           value=round(times[0] / times[1], 3), published_on_two_cards=1.90,
           published_seconds=[7.59e-3, 3.99e-3], seconds=times,
           parameter_bytes=[runs[ranks][0]["ranks"][0]["parameter_bytes"] for ranks in (1, 2)],
           collectives="left out")


def read_rate(path, most=4 << 30, at_once=1):
    """Bytes per second of reading a file's beginning."""
    most = min(most, os.path.getsize(path))
    part = most // at_once

    def read(number):
        buffer, at, end = bytearray(16 << 20), number * part, (number + 1) * part
        with open(path, "rb", buffering=0) as file:
            while at < end and (count := os.preadv(file.fileno(), [buffer], at)):
                at += count
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        list(pool.map(read, range(at_once)))
    return most / (time.monotonic() - begin)


def forget(path):
    """Has the kernel drop the file from memory; whether it could (a disk's, not tmpfs's)."""
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return not os.path.realpath(path).startswith("/dev/shm")


def loading(pack, record, seconds):
    """Weights from a file against the file's own rate and the bus; memory as stated."""
    model, torch, start = Model(pack), card(), time.monotonic()
    path = pack.scratch / "llama" / "model.safetensors"
    bus = None
    if torch:
        from . import peers
        bus = peers.host_rate(torch)

    def compare(name, file_rate, stats, **more):
        rate = stats["load"]["bytes"] / stats["load"]["seconds"]
        slower = min(bus or file_rate, file_rate)
        record(name=name, status="passed", **aim(rate / slower, 0.8), bytes_per_second=rate,
               file_bytes_per_second=file_rate, bus_bytes_per_second=bus, **more)
    if path.exists():
        read_rate(path)  # if it is not in memory already
        cached, several = read_rate(path), read_rate(path, at_once=8)
        stats = model.measure("short", repeat=3, seconds=seconds - (time.monotonic() - start))
        compare("weights loaded / slower of file and bus, file in memory", cached, stats,
                file_read_by_8_threads=several)
        if time.monotonic() - start < seconds / 2 and forget(path):
            cold = read_rate(path, 2 << 30)
            forget(path)
            name = "weights loaded / slower of file and bus, file on disk"
            try:
                compare(name, cold, model.measure(
                    "short", repeat=3, seconds=seconds - (time.monotonic() - start)))
            except RuntimeError as error:  # a slow disk; the rest has been measured
                record(name=name, status="not run", why=str(error), file_bytes_per_second=cold)
    else:
        stats = model.measure("short", repeat=3, seconds=seconds)
        record(name="weights loaded / slower of file and bus", status="skipped",
               why="there is no checkpoint")
    for rank in stats["ranks"]:
        device = rank.get("device", {})
        allocated = device.get("allocated_bytes", rank["peak_bytes"])
        stated = rank["stated_peak_bytes"]
        workspace = device.get("workspace_bytes", 0)
        ratio = (allocated - workspace) / stated
        record(name=f"allocated / stated, rank {rank['rank']}", status="passed",
               **judged(ratio, "0.97 to 1.03", abs(ratio - 1) <= 0.03),
               with_workspace=round(allocated / stated, 4), allocated=allocated, stated=stated,
               **device)
