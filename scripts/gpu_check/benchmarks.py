"""How fast: prefill, row kernels, launches, shares, loading.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A ratio says what was divided by what, both measured in this run on this card. A
figure that misses its aim is recorded as such and is no failure of the step. All
programs of Llama-3-8B's shape read one random checkpoint that the first step
writes. Without a card the programs run and are compared with nothing.
"""

import array
import json
import pathlib
import random
import shutil
import tempfile
import time

from . import programs
from .files import torch_bytes, write_safetensors
from .shapes import Llama

BYTES = {"f32": 4, "bf16": 2, "f16": 2, "i64": 8}


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


def step_seconds(stats):
    return stats["steps"]["median"]


def device_seconds(stats):
    """Between the beginning and the end of a step, by the device's clock; else the host's."""
    return stats["steps"].get("device_median") or step_seconds(stats)


def aim(ratio, least):
    return {"ratio": round(ratio, 4), "aim": least, "reached": ratio >= least}


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


def checkpoint(pack, record, seconds):
    """Random bf16 weights of Llama-3-8B's shape, for the steps that follow."""
    start, torch = time.monotonic(), card()
    folder = pack.scratch / "llama"
    folder.mkdir()
    (folder / "config.json").write_text((pack.root / "inputs/llama.json").read_text())
    tensors = Llama(pack.facts["llama"], 1).checkpoint()
    needed = sum(2 * programs.elements(shape) for shape in tensors.values())
    free = shutil.disk_usage(folder).free
    if free < needed * 5 // 4:
        return record(name="written", status="skipped", why=f"{needed} bytes, {free} are free; "
                      "set TMPDIR; what follows makes random weights anew each time")

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
    record(name="written", status="passed", bytes=size,
           seconds=round(time.monotonic() - start, 1))


def prefill(pack, record, seconds):
    """A long prompt against its matrix products and attention, PyTorch, torch.compile."""
    start, model, torch = time.monotonic(), Model(pack), card()
    stats = model.measure("prefill")
    step = step_seconds(stats)
    record(name="step", status="passed", seconds=step, device_seconds=device_seconds(stats),
           load=stats["load"], weights=model.weights.split("/")[-1])
    if not torch:
        return
    from . import peers
    shape = model.shape("prefill")
    llama = peers.Model(torch, shape)
    products = peers.products_seconds(torch, llama)
    attention, whose = peers.attention_seconds(torch, shape)
    bare = products + attention * shape.layers
    record(name="bare products and attention / step", status="passed", **aim(bare / step, 0.9),
           products=products, attention=attention * shape.layers, attention_by=whose)
    with torch.no_grad():
        eager = peers.seconds(torch, lambda: llama.forward(llama.layer))
        record(name="PyTorch eager / step", status="passed", **aim(eager / step, 1), seconds=eager)
        if time.monotonic() - start > seconds - 30:
            return record(name="torch.compile / step", status="not run", why="no time left")
        try:
            layer = torch.compile(llama.layer)
            compiled = peers.seconds(torch, lambda: llama.forward(layer))
        except Exception as error:  # PyTorch's fault is not ours
            return record(name="torch.compile / step", status="note", why=str(error)[:300])
    record(name="torch.compile / step", status="passed", **aim(compiled / step, 1),
           seconds=compiled)


def rows(pack, record, seconds):
    """A row kernel's rate against a copy's and against torch.compile's kernel."""
    torch, end = card(), time.monotonic() + seconds
    if torch:
        from . import peers
        rate = peers.copy_rate(torch)
        record(name="copy", status="passed", bytes_per_second=rate)
    for item in pack.items("row benchmark"):
        name = item["name"]
        if time.monotonic() > end - 5:
            record(name=name, status="not run", why="no time left")
            continue
        shape, element = tuple(item["shape"]), item["dtype"]
        program = programs.program(item["kernel"], element, [shape])
        moved = sum(BYTES[t] * programs.elements(s) for s, t in program.inputs.values())
        moved += sum(BYTES[t] * programs.elements(s) for _, s, t in program.outputs.values())
        stats = measure(pack, item, repeat=30, seconds=end - time.monotonic())
        step = device_seconds(stats)
        result = {"seconds": step, "bytes_per_second": moved / step}
        if not torch:
            record(name=name, status="passed", **result)
            continue
        record(name=f"{name} / copy", status="passed", **aim(moved / step / rate, 0.9), **result)
        try:
            peer = peers.row_seconds(torch, item["kernel"], program, shape, element)
            record(name=f"torch.compile / {name}", status="passed", **aim(peer / step, 1),
                   seconds=peer)
        except Exception as error:  # PyTorch's fault is not ours
            record(name=f"torch.compile / {name}", status="note", why=str(error)[:300])


def launch(pack, record, seconds):
    """The host's and the launches' share of a short step."""
    model = Model(pack)
    graph = model.measure("short", repeat=50, seconds=seconds / 2)
    step, inside = step_seconds(graph), device_seconds(graph)
    share = 1 - inside / step
    record(name="outside the graph / step", status="passed", seconds=step, device_seconds=inside,
           ratio=round(share, 4), aim="below 0.03", reached=share < 0.03)
    eager = model.measure("short", repeat=50, seconds=seconds / 2,
                          environment={"TPRT_CUDA_GRAPHS": "0"})
    record(name="launched one by one / graph", status="passed",
           ratio=round(step_seconds(eager) / step, 4), seconds=step_seconds(eager))


def shares(pack, record, seconds):
    """One rank's share of TP = 2, 4, 8 alone on the card: collectives are left out."""
    model, whole = Model(pack), None
    for ranks in (1, 2, 4, 8):
        options = ["--only-rank", "0"] if ranks > 1 else []
        stats = model.measure("prefill", *options, ranks=ranks, repeat=10, seconds=seconds / 3)
        step = step_seconds(stats)
        whole = whole or step
        record(name=f"rank 0 of {ranks}", status="passed", seconds=step,
               whole_over_share=round(whole / step, 3),
               collectives="left out" if ranks > 1 else "none")


def mlp(pack, record, seconds):
    """Two matrices and SiLU, h 4096, f 11008, batch 16, 128 tokens, f32; published: 1.90."""
    times = []
    for ranks in (1, 2):
        item = next(i for i in pack.items("benchmark") if i["name"] == f"mlp, TP={ranks}")
        options = ["--only-rank", "0"] if ranks > 1 else []
        stats = measure(pack, item, *options, repeat=20, seconds=seconds / 2)
        times.append(device_seconds(stats))
    record(name="one rank / rank 0 of 2 alone", status="passed",
           ratio=round(times[0] / times[1], 3), published_on_two_cards=1.90,
           seconds=times, collectives="left out")


def loading(pack, record, seconds):
    """Weights from a file against the file's own rate and the bus; memory as stated."""
    model, torch = Model(pack), card()
    path = pack.scratch / "llama" / "model.safetensors"
    begin, size, buffer = time.monotonic(), 0, bytearray(64 << 20)
    with open(path, "rb", buffering=0) as file:
        while size < 4 << 30 and (count := file.readinto(buffer)):
            size += count
    file_rate = size / (time.monotonic() - begin)
    stats = model.measure("short", repeat=3, seconds=seconds)
    rate = stats["load"]["bytes"] / stats["load"]["seconds"]
    rates = {"bytes_per_second": rate, "file_bytes_per_second": file_rate}
    if torch:
        from . import peers
        rates["bus_bytes_per_second"] = peers.host_rate(torch)
    slower = min(rates.get("bus_bytes_per_second", file_rate), file_rate)
    record(name="weights loaded / slower of file and bus", status="passed",
           **aim(rate / slower, 0.8), **rates)
    for rank in stats["ranks"]:
        device = rank.get("device", {})
        allocated = device.get("allocated_bytes", rank["peak_bytes"])
        stated = rank["stated_peak_bytes"] + device.get("workspace_bytes", 0)
        record(name=f"allocated / stated, rank {rank['rank']}", status="passed",
               ratio=round(allocated / stated, 4), aim="within 3 %",
               reached=abs(allocated / stated - 1) <= 0.03, allocated=allocated, stated=stated,
               **device)
