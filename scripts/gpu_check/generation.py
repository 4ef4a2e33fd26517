"""Generation: what fixtures continue, and how fast Llama-3-8B's shape decodes.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Beside each checkpoint that generates text lies what `transformers.generate` makes of prompts,
greedily in f32 (test/Integration/generation.py); beside the text model also what it knows by
heart. A step of decoding reads all weights and the cache of its texts: it is compared with a
copy's bytes per second, and with PyTorch's step as a CUDA graph.
"""

import json
import math
import pathlib
import statistics
import tempfile
import time

from .benchmarks import Model, card, judged
from .correctness import ELEMENT_FACTOR, F32_TOLERANCE, NORM_FACTOR, deadline_loop
from .shapes import Llama


def texts_of(path):
    """What is known of all of them, and {prompt, ids} of each; where they are known also the
    log-probabilities, by how much each token led, and whether it ended by itself."""
    facts = json.loads(path.read_text())
    if isinstance(facts, list):
        return {}, facts
    return facts, facts.get("texts") or [{"prompt": one["prompt_ids"], "ids": one["ids"]}
                                         for one in facts["continuations"]]


def context_of(texts):
    return max(len(text["prompt"]) + len(text["ids"]) for text in texts)


def write_prompts(directory, prompts):
    path = pathlib.Path(directory) / "prompts.json"
    path.write_text(json.dumps(prompts))
    return path


class Judge:
    """Of answers beside what is recorded. A log-probability may be off by twice what a logit
    may, and so may the lead of one token before another: if that was no larger, another may
    have been chosen, and what follows tells nothing."""

    def __init__(self, facts, texts, dtype, vocabulary):
        self.texts = texts
        count = sum(len(text["ids"]) for text in texts)
        if "largest" not in facts:  # what is known by heart leads by far
            self.element, self.norm = 0, math.inf
        elif dtype == "f32":
            self.element, self.norm = 2 * F32_TOLERANCE * facts["largest"], math.inf
        else:
            theirs = 2 * facts[f"{dtype}_norm"] / (count * vocabulary) ** 0.5
            self.element, self.norm = ELEMENT_FACTOR * theirs, NORM_FACTOR * theirs

    def compare(self, answers):
        """The largest part of what is allowed, and what is wrong."""
        apart, wrong = [], []
        for text, answer in zip(self.texts, answers, strict=True):
            wanted, got = text["ids"], answer["ids"]
            at = next((i for i, (a, b) in enumerate(zip(wanted, got)) if a != b), None)
            same = min(len(wanted), len(got)) if at is None else at
            if at is not None and not ("margins" in text and text["margins"][at] <= self.element):
                wrong.append({"prompt": len(text["prompt"]), "token": at, "ids": got[:at + 1],
                              "expected": wanted[:at + 1]})
            stops = text.get("finish") == "stop"
            if at is None and (len(got) < len(wanted) or stops and got != wanted):
                wrong.append({"prompt": len(text["prompt"]), "ids": got, "expected": wanted})
            for one, expected in zip(answer["logprobs"][:same], text.get("logprobs", ())):
                distance = abs(one["logprob"] - expected)
                apart.append(distance if distance == distance else math.inf)
        root = statistics.fmean(one * one for one in apart) ** 0.5 if apart else 0
        part = max(max(apart, default=0) / self.element if apart else 0, root / self.norm)
        return part, wrong


def fixture(pack, item, record, seconds, environment=None):
    facts, texts = texts_of(pack.root / item["texts"])
    vocabulary = json.loads((pack.root / item["weights"] / "config.json").read_text())["vocab_size"]
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "answers.json"
        result = pack.run(
            item, "--generate", write_prompts(directory, [text["prompt"] for text in texts]),
            "--max-tokens", max(len(text["ids"]) for text in texts), "--logprobs", "0",
            "--output", path, seconds=min(60, seconds), environment=environment)
        if result.code:
            return record(name=item["name"], **result.fault())
        answers = json.loads(path.read_text())
    part, wrong = Judge(facts, texts, item["dtype"], vocabulary).compare(answers)
    good = part <= 1 and not wrong
    return record(name=item["name"], status="passed" if good else "failed",
                  of_tolerance=round(part, 4), texts=len(texts),
                  seconds=round(result.seconds, 2),
                  **({} if good else {"why": "texts differ", "off": wrong}))


def fixtures(pack, record, seconds):
    """Every fixture that generates, on one rank, and what the text model knows by heart."""
    order = sorted(pack.items("generation"), key=lambda item: (
        item["dtype"] != "f32", "continuations" not in item["texts"], item["name"]))
    deadline_loop(order, record, seconds,
                  lambda item, left: fixture(pack, item, record, left), 5)


def generate(pack, item, batch, prompt, new, seconds):
    """tp-run's statistics of that many texts, all of one length; none begins as another."""
    vocabulary = pack.facts["llama"]["vocabulary"]
    prompts = [[(i * 7919 + row * 31 + 13) % vocabulary for i in range(prompt)]
               for row in range(batch)]
    with tempfile.TemporaryDirectory() as directory:
        result = pack.run(item, "--generate", write_prompts(directory, prompts), "--max-tokens",
                          new, "--stats", "json", "--output",
                          pathlib.Path(directory) / "answers.json", seconds=seconds)
    if result.code:
        raise RuntimeError(f"{item['name']}: {result.why()}")
    return json.loads(result.out)


def step_of(stats, tokens):
    """The median, by the host's clock and by the device's. Of the steps of so many texts, most
    have them all: new tokens are more than the steps that read prompts."""
    entry = stats["steps"]["entries"][f"step_{tokens}"]
    return entry["median"], entry.get("device_median", entry["median"])


def bytes_read(shape, batch, position):
    """Of weights, and of the cache of so many texts that have come to a position."""
    layer = sum(outer * inner for outer, inner in shape.products().values())
    weights = shape.layers * layer + shape.vocabulary * shape.hidden
    return 2 * (weights + batch * position * shape.layers * 2 * shape.kv_heads * shape.size)


class Steps:
    """Of the programs of the pack: how long each step took, and what PyTorch is to do."""

    def __init__(self, pack, record):
        item, = pack.items("generation benchmark")
        self.pack, self.record = pack, record
        self.item = {**item, "weights": Model(pack).weights}
        self.shape = Llama(pack.facts["llama"], item["context"])
        self.seconds, self.works = {}, {}

    def note(self, name, took, batch, tokens, position, **more):
        self.seconds[name], self.works[name] = took[0], (batch, tokens, position)
        self.record(name=name, status="passed", seconds=took[0], device_seconds=took[1],
                    tokens_per_second=round(batch * tokens / took[0], 1), position=position, **more)

    def measure(self, batch, prompt, seconds):
        """One token more of each of so many texts; and a piece of a prompt, where the prompt is
        four of them: the middle one."""
        new, piece = self.item["new"], self.item["chunk"]
        stats = generate(self.pack, self.item, batch, prompt, new, seconds)
        if prompt == 4 * piece:
            self.note(f"piece of {piece}", step_of(stats, piece), 1, piece, 3 * piece // 2)
        steps, position = stats["generation"]["steps"], prompt + new // 2
        read, took = bytes_read(self.shape, batch, position), step_of(stats, batch)
        self.note(f"step of {batch}", took, batch, 1, position, bytes=read,
                  bytes_per_second=read / took[0],
                  host_share=round(steps["host_seconds"] / steps["seconds"], 4))
        if batch > 1 and "step of 1" in self.seconds:
            self.record(name=f"step of {batch} / step of 1", status="passed",
                        value=round(took[0] / self.seconds["step of 1"], 4))


def speed(pack, record, seconds):
    """Steps of 1, 2, 8 and 64 texts, and of a prompt in pieces, against a copy and PyTorch."""
    start, torch, steps = time.monotonic(), card(), Steps(pack, record)
    for batch, prompt in steps.item["texts"]:
        left = seconds * (0.7 if torch else 1) - (time.monotonic() - start)
        if left < 10:
            record(name=f"step of {batch}", status="not run", why="no time left")
            continue
        try:
            steps.measure(batch, prompt, left)
        except RuntimeError as error:  # the others are still to be measured
            record(name=f"step of {batch}", status="failed", why=str(error))
    if not torch:
        return
    from . import peers
    with torch.no_grad():
        llama = peers.Model(torch, steps.shape)
        decoders = {name: peers.Decoder(torch, llama, *what)
                    for name, what in steps.works.items()}
        graphs = {name: peers.graphed(torch, one.forward) for name, one in decoders.items()}
        graphs["copy"], copied = peers.copy(torch)
        times = peers.in_turns(torch, graphs)
    rate = copied / times["copy"]
    for name, took in steps.seconds.items():
        batch, tokens, position = steps.works[name]
        if tokens == 1:
            share = bytes_read(steps.shape, batch, position) / took / rate
            record(name=f"bytes read / copy, {name}", status="passed", value=round(share, 4),
                   copy_bytes_per_second=rate)
        record(name=f"PyTorch in a graph / {name}", status="passed",
               **judged(times[name] / took, "above 1", times[name] > took), seconds=times[name],
               attention_by=decoders[name].attention_by)
