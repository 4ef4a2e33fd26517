"""generation_config.json: what it says is what tp-run, LLM and tp-serve do.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

test/Inputs/generation-rules.json has what transformers makes of texts, by its logits processors and
by `generate` (scripts/make-generation-rules).
"""

import json
import pathlib
import shutil
import subprocess

import numpy
import pytest

import tp_mlir
from tp_mlir import _tools, engine, sampling

TEST = pathlib.Path(__file__).resolve().parents[1]
RULES = json.loads((TEST / "Inputs" / "generation-rules.json").read_text())
MODEL = TEST / "fixtures" / RULES["model"]


def listed(value):
    return value if isinstance(value, list) else [value]


def params(config, **more):
    """Of a configuration, as a request says it."""
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


def checkpoint(folder, config):
    """The model with another generation_config.json."""
    for name in ("config.json", "model.safetensors"):
        (folder / name).symlink_to(MODEL / name)
    (folder / "generation_config.json").write_text(json.dumps(config))
    return folder


def compiled(folder, out, *more):
    _tools.run("tp-compile", [folder, "--generate", "--context", 40, "--rows", 4, "--chunk", 8,
                              "--dtype", "f32", "-o", out, *more])
    return out


def run(program, folder, prompts, *more):
    place = pathlib.Path(program).parent
    (place / "prompts.json").write_text(json.dumps(prompts))
    done = subprocess.run(
        [_tools.find("tp-run"), program, "--weights", folder, "--generate",
         place / "prompts.json", "--output", place / "out.json", *map(str, more)],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [one["ids"] for one in json.loads((place / "out.json").read_text())], done.stderr


@pytest.mark.parametrize("number", range(len(RULES["answers"])))
def test_tp_run(number, tmp_path):
    """tp-run gives the ids of transformers.generate, on one rank and on two in turn."""
    case = RULES["answers"][number]
    config = {"max_new_tokens": 14, **case["config"]}
    folder = checkpoint(tmp_path, {key: value for key, value in config.items()
                                   if value is not None})
    program = compiled(folder, tmp_path / "g.tpa", "--mesh", f"tp={1 + number % 2}")
    # In company, and alone.
    got, said = run(program, folder, [case["prompt"], [3, 5], case["prompt"]])
    assert got[0] == got[2] == case["ids"]
    assert f"generation_config.json: defaults of requests: {min(config)}" in said \
        or "eos_token_id" in config or min(config) not in said


@pytest.fixture(scope="module")
def plain():
    """The model without such a file."""
    with tp_mlir.LLM(MODEL, mesh="tp=2", rows=4, chunk=8, context=40, dtype="f32",
                     generation_config="none") as llm:
        yield llm


@pytest.mark.parametrize("number", range(len(RULES["answers"])))
def test_request(number, plain):
    """A request that says the same has the same answer, beside others."""
    case = RULES["answers"][number]
    config = {"max_new_tokens": 14, **case["config"]}
    most = config.pop("max_length", 0) - len(case["prompt"])
    config["max_new_tokens"] = config["max_new_tokens"] or most
    if "min_length" in config:
        config["min_new_tokens"] = config.pop("min_length") - len(case["prompt"])
    other = params({"max_new_tokens": 14, "suppress_tokens": [1]}, temperature=1.0)
    events = []
    for one in (other, params(config), other):
        events.append([])
        plain.engine.submit(case["prompt"], one, events[-1].append)
    assert plain.engine.drain is not None
    answer = [i for event in engine.stream(plain.engine, case["prompt"], params(config))
              for i in event.ids]
    assert answer == case["ids"]
    while not all(one and one[-1].finish for one in events):
        pass
    assert [i for event in events[1] for i in event.ids] == case["ids"]
