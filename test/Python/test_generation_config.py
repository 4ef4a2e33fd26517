"""generation_config.json: what it says is what tp-run, LLM and tp-serve do.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

test/Inputs/generation-rules.json has what transformers makes of texts, by its logits processors and
by `generate` (scripts/make-generation-rules).
"""

import json
import pathlib
import queue
import subprocess

import httpx
import numpy
import pytest
from real_server import FOLDER, RealServer

import tp_mlir
from tp_mlir import _tools, engine, sampling

TEST = pathlib.Path(__file__).resolve().parents[1]
RULES = json.loads((TEST / "Inputs" / "generation-rules.json").read_text())
MODEL = TEST / "fixtures" / RULES["model"]


def listed(value):
    return value if isinstance(value, list) else [value]


def params(config, **more):
    """A configuration as a request says it."""
    config = dict(config)
    stops = frozenset(listed(config.pop("eos_token_id", None) or []))
    names = {"max_new_tokens": "max_tokens", "min_new_tokens": "min_tokens"}
    if "forced_eos_token_id" in config:
        config["forced_eos_token_id"] = listed(config["forced_eos_token_id"])
    return engine.Params(stop_ids=stops, **{names.get(key, key): value
                                            for key, value in config.items()}, **more)


@pytest.mark.parametrize("case", RULES["scores"], ids=range(len(RULES["scores"])))
def test_definition(case):
    """The definition is that of transformers' processors, token by token."""
    got = sampling.adjusted(case["logits"], params(case["config"]), case["prompt"],
                            case["generated"])
    want = [-numpy.inf if score is None else score for score in case["scores"]]
    numpy.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


# tp-run is tried with a forced end by the length of all, and with nine keys at once.
FILES = (11, 15)
SAMPLED = {"do_sample": True, "temperature": 2.0, "top_k": 7, "repetition_penalty": 1.3,
           "suppress_tokens": [40, 41], "begin_suppress_tokens": [5], "max_new_tokens": 9}


def checkpoint(folder, config):
    """The model with another generation_config.json."""
    for name in ("config.json", "model.safetensors"):
        (folder / name).symlink_to(MODEL / name)
    (folder / "generation_config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("number", FILES)
def test_tp_run(number, tmp_path):
    """The ids of transformers.generate, in company and twice, on one rank or two."""
    case = RULES["answers"][number]
    config = {"max_new_tokens": 14, **case["config"]}
    config = {key: value for key, value in config.items() if value is not None}
    folder = checkpoint(tmp_path, config)
    _tools.run("tp-compile", [folder, "--generate", "--context", 40, "--rows", 4, "--chunk", 2,
                              "--dtype", "f32", "--mesh", f"tp={1 + number % 2}",
                              "-o", tmp_path / "g.tpa"])
    (tmp_path / "prompts.json").write_text(json.dumps([case["prompt"], [3, 5], case["prompt"]]))
    done = subprocess.run(
        [_tools.find("tp-run"), tmp_path / "g.tpa", "--weights", folder, "--generate",
         tmp_path / "prompts.json", "--output", tmp_path / "out.json"],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    got = [one["ids"] for one in json.loads((tmp_path / "out.json").read_text())]
    assert got[0] == got[2] == case["ids"]
    assert done.stderr.startswith("tp-run: generation_config.json: defaults of requests: ")


@pytest.fixture(scope="module")
def plain():
    """The model without such a file."""
    with tp_mlir.LLM(MODEL, mesh="tp=2", rows=4, chunk=4, context=40, dtype="f32",
                     generation_config="none") as llm:
        yield llm


@pytest.mark.parametrize("number", range(len(RULES["answers"])))
def test_request(number, plain):
    """A request that says the same has the same answer, beside others."""
    case = RULES["answers"][number]
    config, length = {"max_new_tokens": 14, **case["config"]}, len(case["prompt"])
    config["max_new_tokens"] = config["max_new_tokens"] or config.pop("max_length") - length
    if "min_length" in config:
        config["min_new_tokens"] = config.pop("min_length") - length
    other = params({"max_new_tokens": 14, "suppress_tokens": [1]}, temperature=1.0)
    events = [queue.SimpleQueue() for _ in range(3)]
    for one, told in zip((other, params(config), other), events):
        plain.engine.submit(case["prompt"], one, told.put)
    answers = [[], [], []]
    for told, answer in zip(events, answers):
        event = engine.Event()
        while event.finish is None:
            event = told.get(timeout=60)
            answer.extend(event.ids)
    assert answers[1] == case["ids"] and answers[0] == answers[2]


def test_parameters_that_are_refused(plain):
    def refused(**options):
        with pytest.raises(engine.ContextError) as error:
            plain.engine.submit([1, 2], engine.Params(**options), lambda event: None)
        return str(error.value)

    assert plain.engine.defaults == {} and plain.engine.notes == ()
    assert refused(temperature=float("nan")) == "temperature: expected a number, got nan"
    assert refused(top_p=2.0) == "top-p: expected a number in [0, 1], got 2"
    assert refused(suppress_tokens=[4, 131]) == (
        "parameters.suppress_tokens[1]: expected an integer in [0, 130], got 131")
    assert refused(bad_words_ids=[[]]) == "parameters.bad_words_ids[0]: expected at least one id"
    assert refused(no_repeat_ngram_size=-1).startswith(
        "parameters.no_repeat_ngram_size: expected an integer in [0, ")
    assert refused(sequence_bias=[([1], float("inf"))]).startswith(
        "expected numbers and lists of them as parameters: ")
    assert refused(suppress_tokens=object()).startswith(
        "expected numbers and lists of them as parameters: got <object")
    assert plain.generate([1, 2], max_tokens=3, suppress_tokens={4}, top_k=numpy.int64(2),
                          temperature=numpy.float32(1)).finish == "length"


def test_served(tmp_path, caplog):
    """LLM and tp-serve take a file's defaults alike, and requests that say otherwise win."""
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({**SAMPLED, "low_memory": True}))
    options = dict(mesh="tp=2", rows=4, chunk=4, context=64, dtype="f32", generation_config=path)
    prompt = list(range(20, 40))
    own = {key: value for key, value in SAMPLED.items() if key not in ("do_sample",
                                                                       "max_new_tokens")}
    with tp_mlir.LLM(FOLDER, **options) as llm:
        defaults, stops = llm.engine.defaults, llm.engine.stop_ids
        sampled = llm.generate(prompt, seed=7)
        greedy = llm.generate(prompt, seed=7, temperature=0.0, repetition_penalty=1.0)
        assert llm.generate(prompt, seed=7, max_tokens=9, **own).ids == sampled.ids
        texts = [llm.tokenizer.decode([i for i in one.ids if i not in stops])
                 for one in (sampled, greedy)]
        assert llm.engine.notes == tuple(record.message for record in caplog.records)
    assert {key: round(value, 6) if isinstance(value, float) else value
            for key, value in defaults.items()} == {**own, "max_new_tokens": 9}
    assert sampled.ids != greedy.ids and len(sampled.ids) <= 9
    assert [note.partition(": ")[::2] for note in llm.engine.notes] == [
        ("mine.json", "defaults of requests: begin_suppress_tokens [5], max_new_tokens 9, "
         "repetition_penalty 1.3, suppress_tokens [40,41], temperature 2, top_k 7; "
         "--generation-config none leaves them out"),
        ("mine.json", "ignored: low_memory: how transformers computes; answers do not depend on "
         "it")]
    with RealServer("--mesh", "tp=2", "--rows", 4, "--chunk", 4, "--context", 64, "--dtype", "f32",
                    "--generation-config", path) as server:
        for want, body in zip(texts, ({}, {"temperature": 0, "repetition_penalty": 1})):
            made = httpx.post(server.url + "/v1/completions", timeout=60, json={
                "model": "text-model", "prompt": prompt, "seed": 7, **body})
            assert made.json()["choices"][0]["text"] == want
