"""The runtime's engine from Python: LLM, and engine.Engine's promises.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

On test/fixtures/text-model, which knows its texts by heart: what it continues is the text,
whatever the degree and the company.
"""

import json
import pathlib
import re
import shutil
import threading
import time

import pytest

import tp_mlir
from tp_mlir import _generator, _tools, engine

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "text-model"
KNOWN = json.loads((FOLDER / "continuations.json").read_text())["continuations"]
ONE = max(KNOWN, key=lambda one: len(one["prompt_ids"]))


@pytest.fixture(scope="module")
def llm():
    # In bf16 company and chunks move logits so far that another token may be drawn.
    with tp_mlir.LLM(FOLDER, mesh="tp=2", rows=4, chunk=16, context=256, dtype="f32") as model:
        yield model


def test_known_by_heart(llm):
    prompts = [one["prompt_ids"] for one in KNOWN]
    answers = llm.generate(prompts, max_tokens=24)
    for answer, one in zip(answers, KNOWN):
        assert list(answer.ids) == one["ids"][:24]
        assert answer.finish == ("length" if len(one["ids"]) >= 24 else "stop")
        assert answer.text is None


def test_text(llm):
    answer = llm.generate(ONE["prompt"], max_tokens=20, logprobs=1)
    assert list(answer.ids) == ONE["ids"][:20]
    assert answer.text == llm.tokenizer.decode(ONE["ids"][:20])
    assert [token.top[0][0] for token in answer.logprobs] == list(answer.ids)
    assert "".join(llm.stream(ONE["prompt"], max_tokens=20)) == answer.text
    ids = list(llm.stream(ONE["prompt_ids"], max_tokens=20))
    assert ids == ONE["ids"][:20]


def test_stops_and_samples(llm):
    stop = ONE["ids"][5]
    answer = llm.generate(ONE["prompt_ids"], max_tokens=20, stop_ids={stop})
    assert answer.ids == tuple(ONE["ids"][:ONE["ids"].index(stop) + 1])
    assert answer.finish == "stop"
    options = dict(max_tokens=20, temperature=3.0, seed=7)
    first, second = llm.generate([ONE["prompt_ids"]] * 2, **options)
    assert first.ids == second.ids != tuple(ONE["ids"][:20])
    assert llm.generate(ONE["prompt_ids"], **{**options, "seed": 8}).ids != first.ids
    assert llm.generate(ONE["prompt_ids"], top_p=0.0, **options).ids == tuple(ONE["ids"][:20])


def test_refusals(llm):
    def refused(ids, **options):
        with pytest.raises(engine.ContextError) as error:
            llm.engine.submit(ids, engine.Params(**options), lambda event: None)
        return str(error.value)

    assert refused([]) == "expected at least one token"
    vocabulary = llm.engine.vocabulary
    assert refused([1, vocabulary]) == (
        f"position 1: expected an id in [0, {vocabulary}), got {vocabulary}")
    assert refused([1] * 256).startswith("expected at most 255 tokens, as the context of 256")
    assert refused([1], top_k=-1) == "top-k: expected at least 0, got -1"
    # Nothing is taken for what C has in its place: a default, or the low bits.
    assert refused([1], max_tokens=0) == "max-tokens: expected at least 1, got 0"
    assert refused([1], repetition_penalty=0.0) == (
        "repetition penalty: expected a number above 0, got 0")
    assert refused([1, 2**32 + 5]) == "position 1: expected an id of 32 bits, got 4294967301"
    assert refused([1], stop_ids=frozenset({2**32})).startswith("stop id 0: expected an id of 32")
    assert refused([1], logit_bias={2**40: 1.0}).startswith("bias 0: expected an id of 32 bits")
    assert llm.generate(ONE["prompt_ids"], max_tokens=2**64 + 1).finish in ("length", "stop")


def test_weights_that_are_no_numbers(tmp_path):
    """The tensor is named, in Python and by tp-run, as the input's fault."""
    folder, name = tmp_path / "model", "model.layers.1.mlp.down_proj.weight"
    shutil.copytree(FOLDER, folder)
    file = folder / "model.safetensors"
    blob = bytearray(file.read_bytes())
    start = 8 + int.from_bytes(blob[:8], "little")
    place = json.loads(blob[8:start])[name]
    at, end = (start + offset for offset in place["data_offsets"])
    assert place["dtype"] == "BF16"
    blob[at + 10:at + 14] = b"\xc0\x7f\x80\xff"
    file.write_bytes(blob)
    program = tp_mlir.compile(folder, tmp_path / "g.tpa", mesh="tp=2", rows=2, chunk=8, context=64,
                              dtype="f32", generate=True)
    message = ("the logits of position 1 are not numbers: the weights hold values that are not "
               f"finite: '{name}' of '{file}' (1 NaN and 1 infinite of {(end - at) // 2})")
    with tp_mlir.LLM(folder, program=program.path) as model:
        with pytest.raises(engine.EngineError) as error:
            model.generate([1, 2], max_tokens=2)
    assert str(error.value) == message
    (tmp_path / "prompts.json").write_text("[[1, 2], [1, 2, 3]]")
    with pytest.raises(tp_mlir.InputError) as error:
        _tools.run("tp-run", [program.path, "--weights", folder, "--generate",
                              tmp_path / "prompts.json"])
    assert str(error.value) == f"tp-run: error: prompt 0: {message}"


def test_cancel_from_its_own_event(llm):
    events, ended = [], threading.Event()

    def on_event(event):
        events.append(event)
        if len(events) == 2:
            llm.engine.cancel(number[0])
        if event.finish is not None:
            ended.set()

    number = []
    number.append(llm.engine.submit(ONE["prompt_ids"], engine.Params(max_tokens=200), on_event))
    assert ended.wait(60)
    assert events[-1].finish == "cancel"
    stats = llm.engine.stats()
    assert stats.pages_held == 0 and stats.running == 0


def test_drain_and_close():
    model = tp_mlir.LLM(FOLDER, rows=2, chunk=8, context=64)
    ended = []
    model.engine.submit(ONE["prompt_ids"][:8], engine.Params(max_tokens=5), ended.append)
    assert model.engine.drain(60)
    assert ended[-1].finish == "length"
    with pytest.raises(engine.ClosedError):
        model.generate([1, 2])
    model.close()
    model.close()
    with pytest.raises(engine.ClosedError):
        model.generate([1, 2])
    assert model.engine.stats().pages == 0


def test_close_cancels(monkeypatch):
    model = tp_mlir.LLM(FOLDER, rows=2, chunk=8, context=256)
    following, events, slow = model.engine._calls["next"], [], []

    def next_event(handle, seconds, event):
        # As if a step took longer than a wait for events, just when it closes.
        if not slow:
            while not model.engine._closing:
                time.sleep(0.01)
            slow.append(True)
            event._obj.request = 0
            return 0
        return following(handle, seconds, event)

    monkeypatch.setitem(model.engine._calls, "next", next_event)
    model.engine.submit(ONE["prompt_ids"][:8], engine.Params(max_tokens=240), events.append)
    model.close()
    assert slow and events[-1].finish in ("cancel", "length")


def test_a_plan():
    """Experts whole on their ranks."""
    folder = FOLDER.parent / "mixtral"
    texts = [one for one in json.loads((folder / "generation.json").read_text())["texts"]
             if len(one["prompt"]) < 16]
    with tp_mlir.LLM(folder, mesh="tp=2", plan="expert", rows=2, chunk=4, context=32, dtype="f32",
                     timeout=100) as model:
        answers = model.generate([one["prompt"] for one in texts], max_tokens=7,
                                 stop_ids=model.engine.stop_ids)
    assert len(texts) > 1
    assert [list(answer.ids) for answer in answers] == [one["ids"] for one in texts]
    with pytest.raises(tp_mlir.UsageError, match="unknown plan 'a-plan'"):
        tp_mlir.LLM(FOLDER, plan="a-plan")
    # The error alone, not the stages before it.
    with pytest.raises(tp_mlir.InputError, match="^error: .* degree 9 does not fit "):
        tp_mlir.LLM(FOLDER, mesh="tp=9")
    with pytest.raises(tp_mlir.UsageError, match="abacus"):
        tp_mlir.LLM(FOLDER, target="abacus")
    for timeout in (0, -1, float("nan")):
        with pytest.raises(tp_mlir.UsageError, match="timeout: expected seconds above 0, got "):
            tp_mlir.LLM(FOLDER, context=32, timeout=timeout)


def test_a_folder_that_is_none():
    with pytest.raises(tp_mlir.InputError, match="^/nowhere: expected a checkpoint folder or a "
                       "GGUF file, found "):
        tp_mlir.LLM("/nowhere")
    with pytest.raises(tp_mlir.InputError, match="^'owner/name' is not on this machine; "):
        tp_mlir.LLM("owner/name")


def test_any_number_of_prompts():
    """More than the engine's queue takes; the progress counts up to all of them."""
    told = []
    with tp_mlir.LLM(FOLDER, rows=4, chunk=16, context=64, dtype="f32", queue=3) as model:
        prompts = [ONE["prompt_ids"][:2 + i % 5] for i in range(40)]
        answers = model.generate(iter(prompts), max_tokens=2,
                                 progress=lambda done, total: told.append((done, total)))
        assert told == [(i + 1, 40) for i in range(40)]
        alone = {len(ids): model.generate(ids, max_tokens=2).ids for ids in prompts[:5]}
        assert [answer.ids for answer in answers] == [alone[len(ids)] for ids in prompts]
        assert model.generate([]) == []
        # A prompt that is refused ends the others.
        with pytest.raises(engine.ContextError):
            model.generate([[5] * 10, [5] * 64], max_tokens=50)
        assert model.engine.drain(10)
        assert model.engine.stats().pages_held == 0


def test_a_cache_that_is_shared():
    """Room for a quarter of what all rows can have: some give way, and no answer changes."""
    prompts = [one["prompt_ids"][:3 + 5 * i % 17] for i, one in enumerate(KNOWN * 4)][:8]
    with tp_mlir.LLM(FOLDER, rows=4, chunk=16, context=96, cells=96, dtype="f32") as model:
        alone = [model.generate(ids, max_tokens=40).ids for ids in prompts[:2]]
        assert model.engine.stats().pages == 3 and model.engine.stats().evictions == 0
        about, memory = model.engine.about.split("; one rank takes ")
        assert about == ("up to 4 requests in a step (--rows), each of at most 96 tokens (--context); "
                         "a cache of 96 tokens (--cells, --memory) for all")
        assert re.fullmatch(r"[\d.]+ MiB, of which parameters are [\d.]+ MiB and the cache [\d.]+ KiB",
                            memory)
        assert not model.engine.notes
        answers = model.generate(prompts, max_tokens=40)
        assert [one.ids for one in answers[:2]] == alone
        stats = model.engine.stats()
        assert stats.evictions > 0
        asked = sum(map(len, prompts)) + sum(map(len, prompts[:2]))
        assert 0 < stats.prompt_tokens <= asked <= stats.prompt_tokens + stats.shared_tokens
    with tp_mlir.LLM(FOLDER, rows=4, chunk=16, context=96, memory="7500KiB", dtype="f32") as model:
        assert 3 <= model.engine.stats().pages < 12
        assert [model.generate(ids, max_tokens=40).ids for ids in prompts[:2]] == alone
    with pytest.raises(tp_mlir.InputError, match="expected --cells to be from 1 to what all rows can "
                       "fill, 64, got 65"):
        tp_mlir.LLM(FOLDER, rows=2, context=32, cells=65)


def test_a_cache_that_is_shorter_than_the_context():
    """It is said that the cache's tokens are the limit then, and not --context."""
    told = {"artifact": {"ranks": 2}, "memory": {
        "parameter_bytes": 2048, "state_bytes": 1024,
        "entries": {"main": {"peak_bytes": 9e9}, "step_1": {"peak_bytes": 4096}}},
        "manifest": {"generation": {"rows": 1, "context": 4096, "cells": 1024}}}
    about, (note,) = _generator._describe(told)
    assert about == (
        "up to 1 request in a step (--rows), each of at most 1,024 tokens (--context); a cache of 1,024 "
        "tokens (--cells, --memory) for all; each of 2 ranks takes 4.0 KiB, of which parameters are "
        "2.0 KiB and the cache 1.0 KiB")
    assert note == ("the cache has 1,024 tokens (--cells, --memory), so that a prompt and its answer "
                    "have at most as many together, and not the 4,096 of --context")


def test_guesses(llm):
    """A text that quotes itself is answered in fewer steps, and as without guesses."""
    prompts = [one["prompt_ids"] + one["ids"][:60] + one["prompt_ids"]
               for one in KNOWN[1:] if len(one["ids"]) > 60][:3]
    options = [{}, {"temperature": 0.5, "seed": 3, "top_p": 0.9}, {"logprobs": 2}]
    with tp_mlir.LLM(FOLDER, mesh="tp=2", rows=4, chunk=16, context=256, dtype="f32",
                     speculate=3) as model:
        for each in options:
            expected = llm.generate(prompts, max_tokens=40, **each)
            made = model.generate(prompts, max_tokens=40, **each)
            assert [one.ids for one in made] == [one.ids for one in expected]
            for one, other in zip(made, expected):
                assert [x.chosen for x in one.logprobs] == pytest.approx(
                    [x.chosen for x in other.logprobs], abs=1e-4)
        stats = model.engine.stats()
        assert 0 < stats.accepted_tokens < stats.guessed_tokens
        # One that says the same again and again is guessed.
        ids = [7, 8, 9] * 9
        assert model.generate(ids, max_tokens=24).ids == llm.generate(ids, max_tokens=24).ids
        after = model.engine.stats()
        # The host chooses here, and nothing is guessed.
        guessed = after.guessed_tokens
        model.generate(prompts[0], max_tokens=8, repetition_penalty=1.1)
        assert model.engine.stats().guessed_tokens == guessed


def test_stop_strings(llm):
    whole = llm.generate(ONE["prompt"], max_tokens=20)
    stop = whole.text[9:14]
    answer = llm.generate(ONE["prompt"], max_tokens=20, stop=["never to be seen", stop])
    assert answer.text == whole.text[:whole.text.index(stop)] and answer.finish == "stop"
    assert answer.ids == whole.ids[:len(answer.ids)] and len(answer.ids) < 20
    assert "".join(llm.stream(ONE["prompt"], max_tokens=20, stop=stop)) == answer.text
    # Ids then have a text too.
    assert llm.generate(ONE["prompt_ids"], max_tokens=20, stop=stop).text == answer.text
    assert llm.generate([1, 2], max_tokens=1).text is None


def test_chat(llm):
    messages = [{"role": "user", "content": "What is this?"}]
    answer = llm.chat(messages, max_tokens=12)
    ids = llm.tokenizer.encode_chat(messages)
    assert answer.ids == llm.generate(ids, max_tokens=12, stop_ids=llm.tokenizer.stop_ids).ids
    ends = [i for i in answer.ids if i in llm.tokenizer.stop_ids]
    assert answer.text == llm.tokenizer.decode([i for i in answer.ids if i not in ends])
    both = llm.chat([messages, messages], max_tokens=12, progress=None)
    assert [one.text for one in both] == [answer.text] * 2
    more = [*messages, {"role": "assistant", "content": "Apache"}]
    made = llm.chat(more, max_tokens=3, add_generation_prompt=False, continue_final_message=True)
    assert made.ids == llm.generate(llm.tokenizer.encode_chat(
        more, continue_final_message=True), max_tokens=3).ids
