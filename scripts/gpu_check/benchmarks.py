"""How fast: prefill, row kernels, launches, shares, loading.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A ratio says what was divided by what, both measured in this run on this card. A
figure that misses its aim is recorded as such and is no failure of the step.
"""

import json
import pathlib
import tempfile
import time

from . import programs
from .files import write_safetensors, write_torch


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
    """Between the first and the last node of a step, by the device's clock."""
    seconds = sorted(stats["steps"].get("device_seconds", []))
    return seconds[len(seconds) // 2] if seconds else None


def find(pack, name):
    return next(item for item in pack.items("benchmark") if item["name"] == name)


def aim(ratio, least):
    return {"ratio": round(ratio, 4), "aim": least, "reached": ratio >= least}


def write_ids(path, tokens, vocabulary=128256):
    import array
    ids = array.array("q", ((i * 7919 + 13) % vocabulary for i in range(tokens)))
    write_safetensors(path, {"input_ids": ("I64", (1, tokens), ids.tobytes())})


def with_ids(tokens, work):
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "in.safetensors"
        write_ids(path, tokens)
        return work(path)


def prefill(pack, record, seconds):
    """2048 tokens against its matrix products and attention, PyTorch, torch.compile."""
    import torch
    from . import peers
    item, start = find(pack, "llama-3-8b, 2048 tokens"), time.monotonic()
    stats = with_ids(2048, lambda ids: measure(pack, item, "--input", ids))
    step = step_seconds(stats)
    record(name="step", status="passed", seconds=step, load=stats["load"],
           memory=stats["ranks"])
    if not torch.cuda.is_available():
        return
    shape = peers.Shape(2048)
    llama = peers.Llama(torch, shape)
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
        layer = torch.compile(llama.layer)
        compiled = peers.seconds(torch, lambda: llama.forward(layer))
    record(name="torch.compile / step", status="passed", **aim(compiled / step, 1),
           seconds=compiled)


def rows(pack, record, seconds):
    """A row kernel's rate against a copy's and against torch.compile's kernel."""
    import torch
    from . import peers
    card = torch.cuda.is_available()
    rate = peers.copy_rate(torch) if card else None
    if card:
        record(name="copy", status="passed", bytes_per_second=rate)
    end = time.monotonic() + seconds
    size = {"f32": 4, "bf16": 2, "f16": 2, "i64": 8}
    for item in pack.items("row benchmark"):
        if time.monotonic() > end - 5:
            record(name=item["name"], status="not run", why="no time left")
            continue
        kernel, element = item["kernel"], item["dtype"]
        program = programs.program(kernel, element, [tuple(item["shape"])])
        moved = sum(size[t] * elements(shape) for shape, t in program.inputs.values())
        moved += sum(size[t] * elements(shape) for _, shape, t in program.outputs.values())
        stats = measure(pack, item, repeat=30, seconds=end - time.monotonic())
        step = device_seconds(stats) or step_seconds(stats)
        result = {"seconds": step, "bytes_per_second": moved / step,
                  "by": "device" if device_seconds(stats) else "host"}
        if not card:
            record(name=item["name"], status="passed", **result)
            continue
        record(name=f"{item['name']} / copy", status="passed",
               **aim(moved / step / rate, 0.9), **result)
        values = programs.random_inputs(program.inputs, torch, "cuda")
        kind = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}[element]
        reference = torch.compile(
            lambda v, k=kernel, s=tuple(item["shape"]), t=kind:
            {n: y.to(t) for n, y in programs.reference(k, torch, v, 0, s).items()})
        try:
            with torch.no_grad():
                peer = peers.seconds(torch, lambda: reference(values))
        except Exception as error:
            record(name=f"torch.compile / {item['name']}", status="note", why=str(error)[:300])
            continue
        record(name=f"torch.compile / {item['name']}", status="passed", **aim(peer / step, 1),
               seconds=peer)
        del values
        torch.cuda.empty_cache()


def elements(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def launch(pack, record, seconds):
    """The host's and the launches' share of a step of 128 tokens."""
    item = find(pack, "llama-3-8b, 128 tokens")

    def work(ids):
        graph = measure(pack, item, "--input", ids, repeat=50, seconds=seconds / 2)
        step, inside = step_seconds(graph), device_seconds(graph)
        facts = {"seconds": step, "device_seconds": inside}
        if inside:
            share = 1 - inside / step
            facts.update(share=round(share, 4), aim=0.03, reached=share < 0.03)
        record(name="outside the graph, of a step", status="passed", **facts)
        eager = measure(pack, item, "--input", ids, repeat=50, seconds=seconds / 2,
                        environment={"TPRT_CUDA_GRAPHS": "0"})
        record(name="launched one by one / graph", status="passed",
               ratio=round(step_seconds(eager) / step, 4), seconds=step_seconds(eager))
    with_ids(128, work)


def shares(pack, record, seconds):
    """One rank's share of TP = 2, 4, 8 alone on the card: collectives are left out."""
    whole = None
    for ranks in (1, 2, 4, 8):
        name = "llama-3-8b, 2048 tokens" + (f", TP={ranks}" if ranks > 1 else "")
        options = ["--only-rank", "0"] if ranks > 1 else []
        stats = with_ids(2048, lambda ids: measure(pack, find(pack, name), "--input", ids,
                                                   *options, repeat=10, seconds=seconds / 3))
        step = step_seconds(stats)
        whole = whole or step
        record(name=f"rank 0 of {ranks}", status="passed", seconds=step,
               whole_over_share=round(whole / step, 3),
               collectives="left out" if ranks > 1 else "none")


def mlp(pack, record, seconds):
    """Two matrices and SiLU, h 4096, f 11008, batch 16, 128 tokens, f32; published: 1.90."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "in.safetensors"
        data = bytes(16 * 128 * 4096 * 4)
        write_safetensors(path, {"x": ("F32", (16, 128, 4096), data)})
        times = []
        for ranks in (1, 2):
            item = find(pack, f"two-matrix MLP, TP={ranks}")
            options = ["--only-rank", "0"] if ranks > 1 else []
            stats = measure(pack, item, "--input", path, *options, repeat=20,
                            seconds=seconds / 2)
            times.append(device_seconds(stats) or step_seconds(stats))
    record(name="one rank / rank 0 of 2 alone", status="passed",
           ratio=round(times[0] / times[1], 3), published_on_two_cards=1.90,
           seconds=times, collectives="left out")


def loading(pack, record, seconds):
    """Weights from a file against the file's own rate and the bus; memory as stated."""
    import torch
    from . import peers
    item = find(pack, "llama-3-8b, 4 layers")
    card = torch.cuda.is_available()
    shape = peers.Shape(128, layers=4)
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        checkpoint = directory / "checkpoint"
        checkpoint.mkdir()
        (checkpoint / "config.json").write_text((pack.root / item["config"]).read_text())
        path = checkpoint / "model.safetensors"
        write_torch(path, torch, checkpoint_tensors(torch, shape, "cuda" if card else "cpu"))
        begin = time.monotonic()
        buffer, size = bytearray(64 << 20), 0
        with open(path, "rb", buffering=0) as file:
            while count := file.readinto(buffer):
                size += count
        file_rate = size / (time.monotonic() - begin)
        write_ids(directory / "in.safetensors", 128)
        stats = measure(pack, {**item, "weights": str(checkpoint)}, "--input",
                        directory / "in.safetensors", repeat=3, seconds=seconds)
    rate = stats["load"]["bytes"] / stats["load"]["seconds"]
    bus = peers.host_rate(torch) if card else file_rate
    record(name="weights loaded / slower of file and bus", status="passed",
           **aim(rate / min(bus, file_rate), 0.8), bytes_per_second=rate,
           file_bytes_per_second=file_rate, bus_bytes_per_second=bus)
    for rank in stats["ranks"]:
        ratio = rank["peak_bytes"] / rank["stated_peak_bytes"]
        record(name=f"allocated / stated, rank {rank['rank']}", status="passed",
               ratio=round(ratio, 4), aim="within 3 %", reached=abs(ratio - 1) <= 0.03, **rank)


def checkpoint_tensors(torch, shape, where):
    def values(*size):
        return torch.empty(size, dtype=torch.bfloat16, device=where).normal_(0, 0.02).cpu()
    names = {"q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj",
             "o": "self_attn.o_proj", "gate": "mlp.gate_proj", "up": "mlp.up_proj",
             "down": "mlp.down_proj"}
    tensors = {"model.embed_tokens.weight": values(shape.vocabulary, shape.hidden),
               "lm_head.weight": values(shape.vocabulary, shape.hidden),
               "model.norm.weight": torch.ones(shape.hidden, dtype=torch.bfloat16)}
    for i in range(shape.layers):
        for name, size in shape.products().items():
            tensors[f"model.layers.{i}.{names[name]}.weight"] = values(*size)
        for norm in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"model.layers.{i}.{norm}.weight"] = torch.ones(shape.hidden,
                                                                    dtype=torch.bfloat16)
    return tensors
