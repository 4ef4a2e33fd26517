"""Steps of generation against the plain program of the same artifact.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Random texts of different lengths go on side by side, by chunks and single tokens in any
mixture, on pages in any order that hold what earlier texts left. After each step, a row's
logits are those of `main` at that position of the whole text, and the token that it chooses is
the one that the definition of sampling chooses from them. FIXTURE=name in the
environment runs one folder.

f32 must agree as reference.py says. Of a cache of 16 bits keys and values are rounded and
nothing else is, so a run may be as far off as PyTorch's, which rounds everything to that
type, by the same measures. A program and cache of bf16 are given the texts of
generation.json, token by token behind each prompt: the logits that chose a token may be as
far from f32's, by the first measure, as PyTorch's bf16 is there, with and without steps.
"""

import os
import random

import numpy
import pytest
from generation import CHUNK, PAGE, ROWS, causal, compiled, config, context, ends, recorded
from reference import ELEMENT_FACTOR, F32_TOLERANCE, NORM_FACTOR

from tp_mlir import sampling
from tp_mlir.engine import Params

# Scripts of a run: two, and more in all of these. SCRIPTS=number in the environment: that
# many of each of these.
MANY = {("llama-gqa", 2), ("mistral-window", 2), ("qwen3", 4)}
SCRIPTS = int(os.environ.get("SCRIPTS", 25))


def accepted():
    """Each fixture at the ends of its degrees, and where many are drawn."""
    chosen = set(ends())
    for folder, _, degree in causal():
        if (folder, degree) in chosen or (folder.name, degree) in MANY:
            yield pytest.param(folder, degree, id=f"{folder.name}-{degree}")


def widest():
    """Each fixture at the largest of these ends."""
    for folder, degree in dict(ends()).items():
        yield pytest.param(folder, degree, id=f"{folder.name}-{degree}")


NARROW = {"gpt2": ["f16"], "llama-gqa": ["bf16", "f16"], "mistral-window": ["bf16"], "qwen3": ["f16"]}


def narrow():
    for folder, facts, _ in causal([2]):
        for dtype in NARROW.get(folder.name, []):
            yield pytest.param(folder, facts, dtype, id=f"{folder.name}-{dtype}")


class Model:
    """A fixture that is open, and what a script has to know of it."""

    def __init__(self, folder, degree, dtype="f32", kv_dtype=None):
        self.vocabulary = config(folder)["vocab_size"]
        self.window = config(folder).get("sliding_window") or 0
        self.context = context(folder)
        self.session = compiled(folder, degree, dtype, kv_dtype).open(folder)
        self.cells = self.session.states()["keys"].shape[1]

    def draw_text(self, draw):
        edges = (PAGE - 1, PAGE, PAGE + 1, self.window - 1, self.window, self.window + 1,
                 self.context, draw.randint(1, self.context))
        length = draw.choice([n for n in edges if 1 <= n <= self.context])
        return [draw.randrange(self.vocabulary) for _ in range(length)]

    def lay_out(self, texts, draw):
        """A table of pages that are nobody else's, -1 where a text has none."""
        pages = list(range(self.cells // PAGE))
        draw.shuffle(pages)
        table = numpy.full((ROWS, -(-self.context // PAGE)), -1, numpy.int32)
        for row, text in enumerate(texts):
            for i in range(-(-len(text) // PAGE)):
                table[row, i] = pages.pop()
        return table

    def plain(self, texts):
        """Logits of `main`, [row, position, vocabulary]."""
        ids = numpy.zeros((ROWS, self.context), numpy.int64)
        for row, text in enumerate(texts):
            ids[row, :len(text)] = text
        mask = numpy.ones_like(ids)
        return self.session.run({"input_ids": ids, "attention_mask": mask}, "main")["logits"]

    def play(self, texts, draw, prompts=None):
        """Row, position and logits of each row's last token in each step. Behind a prompt of
        so many tokens they come one by one."""
        prompts = prompts or [self.context] * ROWS
        table, done = self.lay_out(texts, draw), [0] * ROWS
        while any(done[row] < len(text) for row, text in enumerate(texts)):
            size = draw.choice((1, 2, 4, CHUNK, CHUNK, CHUNK))
            ids, starts, context = [], [0], []
            # A step has no more rows than tokens.
            rows = sorted(draw.sample(range(ROWS), min(size, ROWS)))
            for row in rows:
                text = texts[row]
                most = prompts[row] - done[row] if done[row] < prompts[row] else 1
                share = min(draw.choice((0, 1, size // 2, size)), size - len(ids), most,
                            len(text) - done[row])
                ids += text[done[row]:done[row] + share]
                starts.append(len(ids))
                context.append(done[row] if share else 0)
                done[row] += share
            ids += [0] * (size - len(ids))
            given = {"ids": [ids], "starts": starts, "context": context, "table": table[rows]}
            given = {name: numpy.array(value, numpy.int32) for name, value in given.items()}
            ends = numpy.array([done[row] for row in rows])
            has_tokens = numpy.diff(starts) > 0
            wishes = [Params(temperature=draw.choice((0, 0.5, 1.5)), top_k=draw.choice((0, 5)),
                             top_p=draw.choice((0.5, 1.0)), min_p=draw.choice((0, 0.25)),
                             seed=draw.getrandbits(63)) for _ in rows]
            positions = numpy.where(has_tokens & (draw.random() < 0.8), ends, -1)
            results = self.session.run(
                given | settings(positions, wishes), f"step_{size}")
            check_tokens(results, positions, wishes)
            for place in numpy.flatnonzero(has_tokens):
                yield rows[place], ends[place] - 1, results["logits"][place]
            if self.window:
                # Pages that no later token sees.
                for row in range(ROWS):
                    table[row, :max(done[row] + 1 - self.window, 0) // PAGE] = -1


def settings(positions, wishes):
    """The inputs that say how each row's next token is chosen."""
    def collect(name, dtype):
        return numpy.array([getattr(params, name) for params in wishes], dtype)
    return {"positions": positions.astype(numpy.int32),
            "seeds": collect("seed", numpy.int64),
            "temperatures": collect("temperature", numpy.float32),
            "top_k": collect("top_k", numpy.int32),
            "top_p": collect("top_p", numpy.float32),
            "min_p": collect("min_p", numpy.float32)}


def check_tokens(results, positions, wishes):
    """The tokens are those of the definition, from the step's own logits."""
    for row, (position, params) in enumerate(zip(positions, wishes)):
        token, logits = results["tokens"][row], results["logits"][row]
        if token < 0:
            # Too many to choose from, or the end of the nucleus is too near.
            assert position < 0 or (params.temperature and (params.top_p < 1 or params.min_p))
            continue
        assert position >= 0
        assert token == sampling.sample(logits, params, [0] * int(position))
        wanted = sampling.logprobs(logits, token, 0).chosen
        assert abs(results["logprobs"][row] - wanted) <= 1e-5 * max(1, abs(wanted))


def errors(model, seed, scripts=2):
    """Differences, and the values that there should be, one row for each row's last
    token."""
    draw = random.Random(seed)
    differences, wanted = [], []
    for _ in range(scripts):
        texts = [model.draw_text(draw) for _ in range(ROWS)]
        plain = model.plain(texts)
        for row, position, logits in model.play(texts, draw):
            assert numpy.isfinite(logits).all(), f"position {position} is not finite"
            wanted.append(plain[row, position])
            differences.append(logits.astype(numpy.float64) - wanted[-1])
    return numpy.array(differences), numpy.array(wanted)


@pytest.mark.parametrize("folder, degree", accepted())
def test_steps(folder, degree):
    model = Model(folder, degree)
    with model.session:
        scripts = SCRIPTS if (folder.name, degree) in MANY else 2
        differences, wanted = errors(model, degree, scripts)
    worst = numpy.abs(differences).max() / numpy.abs(wanted).max()
    assert worst <= F32_TOLERANCE, f"logits are off by {worst:.2e} of the largest value"


@pytest.mark.parametrize("folder, facts, dtype", narrow())
def test_narrow_cache(folder, facts, dtype):
    model = Model(folder, 2, kv_dtype=dtype)
    with model.session:
        differences, _ = errors(model, 1)
        states = model.session.states()
    for name, state in states.items():
        rounded = (state.view(numpy.uint32) & 0xFFFF0000).view(numpy.float32)
        if dtype == "f16":
            rounded = state.astype(numpy.float16).astype(numpy.float32)
        assert state.any() and numpy.array_equal(state, rounded), f"{name} is not of {dtype}"
    shape = facts["batch"], facts["seq"], model.vocabulary
    theirs = facts["outputs"]["logits"][f"{dtype}_norm"] / numpy.prod(shape) ** 0.5
    ours = (differences ** 2).mean() ** 0.5
    assert ours <= NORM_FACTOR * theirs, f"errors of {ours:.2e}, PyTorch's of {theirs:.2e}"
    worst = numpy.abs(differences).max()
    assert worst <= ELEMENT_FACTOR * theirs, f"off by {worst:.2e}, PyTorch's of {theirs:.2e}"


def in_turn(texts):
    """Texts of generation.json without the last token, ROWS at a time, some of them empty,
    and the lengths of their prompts."""
    for begin in range(0, len(texts), ROWS):
        some = texts[begin:begin + ROWS]
        none = [[]] * (ROWS - len(some))
        yield ([text["prompt"] + text["ids"][:-1] for text in some] + none,
               [len(text["prompt"]) for text in some] + [1] * len(none))


def choices(model, texts, prompts, steps):
    """The logits from which each token behind the prompts is chosen."""
    if steps:
        made = {(row, position): logits for row, position, logits
                in model.play(texts, random.Random(1), prompts) if position + 1 >= prompts[row]}
        return [made[place] for place in sorted(made)]
    plain = model.plain(texts)
    return [plain[row, position] for row, text in enumerate(texts)
            for position in range(prompts[row] - 1, len(text))]


@pytest.mark.parametrize("folder, degree", widest())
def test_bf16(folder, degree):
    facts, differences = recorded(folder), {False: [], True: []}
    exact, narrow = Model(folder, degree), Model(folder, degree, "bf16", "bf16")
    with exact.session, narrow.session:
        for texts, prompts in in_turn(facts["texts"]):
            wanted = numpy.array(choices(exact, texts, prompts, False))
            for steps, found in differences.items():
                found.extend(choices(narrow, texts, prompts, steps) - wanted)
    for steps, found in differences.items():
        assert len(found) == sum(len(text["ids"]) for text in facts["texts"])
        ratio = numpy.linalg.norm(found) / facts["bf16_norm"]
        assert ratio <= NORM_FACTOR, (
            f"{'steps are' if steps else 'main is'} {ratio:.2f} times as far as PyTorch's bf16")
