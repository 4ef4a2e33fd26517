"""Quantised checkpoints at every degree against the numbers that they stand for.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import pathlib
import shutil

import numpy
import pytest
import quantised
from safetensors.numpy import load_file, save_file

import tp_mlir
from tp_mlir import _tools, quantize

FIXTURES = pathlib.Path(__file__).parents[2] / "fixtures"
TEXT_MODEL = FIXTURES / "text-model"
SEED = 20261126
PLANS = ("megatron", "megatron-sp")


def compiled(folder, degree=1, plan=None, **options):
    recipe = json.loads((folder / "config.json").read_text()).get("quantization_config", {})
    if recipe.get("quant_method") in ("fp8", "fbgemm_fp8") or (
            folder / "hf_quant_config.json").exists():
        options["activations"] = "float"
    return tp_mlir.compile(folder, mesh=f"tp={degree}", plan=plan, seq=8, dtype="f32", **options)


def inputs(vocabulary=67):
    ids = numpy.random.default_rng(SEED).integers(0, vocabulary, (1, 8))
    return {"input_ids": ids}


def cases(degrees, plans):
    """Degree and plan. On one rank all plans are one program."""
    for degree in degrees:
        for plan in plans if degree > 1 else plans[:1]:
            yield degree, plan


def compare(folder, plain, degrees, plans=PLANS):
    expected = compiled(plain).run(plain, inputs())
    for degree, plan in cases(degrees, plans):
        got = compiled(folder, degree, plan).run(folder, inputs())
        for name, value in expected.items():
            error = numpy.abs(got[name] - value).max() / numpy.abs(value).max()
            assert error < 2e-5, f"{name} at {degree} under {plan}, seed {SEED}"


@pytest.mark.parametrize("name", quantised.FORMATS)
def test_formats(tmp_path, name):
    """Five groups over four ranks, of which the last has fewer."""
    folder, plain = quantised.write(tmp_path, name, SEED)
    compare(folder, plain, (1, 4))


@pytest.mark.parametrize("name", ("gptq", "fp8-blocks", "int8-asymmetric"))
def test_degrees(tmp_path, name):
    """Up to one group a rank, with KV heads on several ranks."""
    folder, plain = quantised.write(tmp_path, name, SEED, intermediate_size=256)
    compare(folder, plain, (2, 4, 8))


@pytest.mark.parametrize("name", ("gptq", "awq", "int4-g32-asymmetric", "fp8-blocks"))
def test_smaller_groups(tmp_path, name):
    """Six groups over four ranks, which are read as twelve."""
    folder, plain = quantised.write(tmp_path, name, SEED, intermediate_size=192)
    compare(folder, plain, (4,))


@pytest.mark.parametrize("name", (*quantised.FORMATS, "gpt-oss"))
def test_verified(tmp_path, name):
    """Where some are read as smaller groups: the values of each stage, of numbers that are made up."""
    folder = (quantised.write_gpt_oss(tmp_path, SEED) if name == "gpt-oss" else
              quantised.write(tmp_path, name, SEED, intermediate_size=192))[0]
    degree = 2 if name == "gpt-oss" else 4
    out = _tools.run("tp-verify", [folder, "--mesh", f"tp={degree}", "--plan", "megatron", "--seq", 8,
                                   "--dtype", "f32"])
    assert out.count("equal,") == 3 and "cannot judge" not in out, out


@pytest.mark.parametrize("width, degrees", ((96, (1, 2)), (224, (4,))))
def test_gpt_oss(tmp_path, width, degrees):
    """Three groups of the width over two ranks, seven over four, and six experts over four."""
    folder, plain = quantised.write_gpt_oss(tmp_path, SEED, intermediate_size=width)
    compare(folder, plain, degrees, ("megatron", "expert"))


@pytest.mark.parametrize("name", quantised.RECIPES)
def test_recipes(tmp_path, name):
    """Inputs are rounded as the recipe says, whichever parts of them ranks have. A number that is
    rounded the other way here and there, because it was computed in f32, is what may differ."""
    folder, plain = quantised.write(tmp_path, name, SEED, recipes=True)
    c, weights = quantised.config(), load_file(plain / "model.safetensors")
    ids = inputs()["input_ids"][0]
    recipe = quantised.RECIPES[name][2]
    expected = quantised.forward(c, weights, ids, recipe)
    unrounded = quantised.forward(c, weights, ids)
    effect = numpy.linalg.norm(unrounded - expected)
    for degree, plan in cases((1, 2, 4), PLANS):
        program = tp_mlir.compile(folder, mesh=f"tp={degree}", plan=plan, seq=8, dtype="f32")
        (got,) = program.run(folder, inputs()).values()
        error = numpy.linalg.norm(got[0] - expected)
        assert error < 0.2 * effect, f"{name} at {degree} under {plan}, seed {SEED}"


@pytest.mark.parametrize("name", ("int8-token", "fp8-group", "fp8-blocks", "fp8-static"))
def test_recipes_of_experts(tmp_path, name):
    """What gate and up read is rounded too, by scales that are found at run time; what down reads is
    not, nor are inputs with a scale of the file's, which each expert has of its own."""
    folder, plain, c = quantised.write_mixtral(tmp_path, name, SEED)
    weights, ids = load_file(plain / "model.safetensors"), inputs()["input_ids"][0]
    recipe, is_static = quantised.RECIPES[name][2], name == "fp8-static"
    rounded, others = (quantised.forward(c, weights, ids, recipe, of_experts=of)
                       for of in (recipe, None))
    expected, effect = others if is_static else rounded, numpy.linalg.norm(rounded - others)
    for degree, plan in ((1, "megatron"), (2, "megatron"), (2, "expert")):
        program = tp_mlir.compile(folder, mesh=f"tp={degree}", plan=plan, seq=8, dtype="f32")
        (got,) = program.run(folder, inputs()).values()
        error = numpy.linalg.norm(got[0] - expected)
        assert error < 0.2 * effect, f"{name} at {degree} under {plan}, seed {SEED}"


@pytest.mark.parametrize("name", ("int8", "int4-g32", "fp8-channel", "fp8-block"))
def test_text(tmp_path, name, monkeypatch):
    """What tp-quantize makes of the text model gives, token for token, the text of the numbers
    that it stands for: prompts in chunks, rows that come and go."""
    folder, plain = tmp_path / "quantised", tmp_path / "plain"
    monkeypatch.setattr("sys.argv", ["tp-quantize", str(TEXT_MODEL), "--format", name, "-o",
                                     str(folder)])
    assert quantize.main() == 0
    shutil.copytree(TEXT_MODEL, plain)
    save_file(quantised.dequantised(quantised.read(folder / "model.safetensors")),
              plain / "model.safetensors", {"format": "pt"})
    known = json.loads((TEXT_MODEL / "continuations.json").read_text())["continuations"]

    def answer(folder, degree):
        with tp_mlir.LLM(folder, mesh=f"tp={degree}", dtype="f32", context=128, rows=3,
                         chunk=16) as llm:
            done = llm.generate([one["prompt_ids"] for one in known[:5]], max_tokens=16)
        return [list(one.ids) for one in done]

    expected = answer(plain, 1)
    assert answer(folder, 1) == expected
    assert answer(folder, 2) == expected


@pytest.mark.parametrize("name", ("int4-g32-asymmetric", "fp8-blocks", "gptq", "gpt-oss"))
def test_memory(tmp_path, name):
    """What a rank has is what the file has, and what is stated: no weight is ever widened. Its
    kernels have the products that the program had."""
    if name == "gpt-oss":
        folder, plain = quantised.write_gpt_oss(tmp_path, SEED, hidden_size=256,
                                                intermediate_size=512, num_local_experts=16)
    else:
        folder, plain = quantised.write(
            tmp_path, name, SEED, hidden_size=512, intermediate_size=1536,
            num_attention_heads=16, num_key_value_heads=4, head_dim=32)
    prompts, program = tmp_path / "prompts.json", tmp_path / "program.tpa"
    prompts.write_text(json.dumps([[5] * 40, [7]]))
    recipe = ["--activations", "float"] if name == "fp8-blocks" else []
    told = json.loads(_tools.run(
        "tp-compile", [folder, *recipe, "--generate", "--context", 64, "--rows", 2, "--chunk", 64,
                       "--mesh", "tp=1", "--dtype", "f32", "-o", program, "--explain=json"]))
    for function in told["functions"]:
        products = sum(work["flops"] * work["count"] for work in function["work"]
                       if work["kernel"] != "rows")
        assert products == pytest.approx(function["flops"]["per_rank"], rel=1e-6)
    (rank,) = json.loads(_tools.run(
        "tp-run", [program, "--weights", folder, "--generate", prompts, "--max-tokens", 3,
                   "--stats=json", "--output", tmp_path / "answers.json"]))["ranks"]
    taken, stated = rank["peak_bytes"] - rank["scratch_bytes"], rank["stated_peak_bytes"]
    # Memory comes in pages of 2 MiB.
    assert abs(taken - stated) <= 0.03 * stated + (4 << 20)
    file = (folder / "model.safetensors").stat().st_size
    assert rank["parameter_bytes"] <= 1.05 * file + (4 << 20)
    assert rank["scratch_bytes"] <= 0.25 * (plain / "model.safetensors").stat().st_size


WHILE_READ = [("int4-g128", "F32", {"hidden_size": 128, "intermediate_size": 256, "head_dim": 16}),
              ("int4-g32", "BF16", {}), ("int8", "F16", {"intermediate_size": 100}),
              ("fp8-block", "BF16", {"hidden_size": 144, "intermediate_size": 400, "head_dim": 24}),
              ("fp8-channel", "F32", {"intermediate_size": 100}), ("mxfp4", "BF16", {})]


@pytest.mark.parametrize("name, dtype, changes", WHILE_READ, ids=lambda value: str(value)[:9])
def test_while_read(tmp_path, name, dtype, changes):
    """What --quantize computes with is what tp-quantize writes, bit for bit, whatever parts of the
    weights ranks have."""
    _, plain = quantised.write(tmp_path, "int4-g16", SEED, **changes)
    quantised.narrow(plain / "model.safetensors", dtype)
    folder = tmp_path / "written"
    assert quantize.main([str(plain), "--format", name, "-o", str(folder)]) == 0
    for degree in (1, 2, 4):
        options = {"mesh": f"tp={degree}", "seq": 8, "dtype": "f32"}
        (expected,) = tp_mlir.compile(folder, **options).run(folder, inputs()).values()
        (got,) = tp_mlir.compile(plain, quantize=name, **options).run(plain, inputs()).values()
        assert numpy.array_equal(got, expected), f"{name} at {degree}, seed {SEED}"


@pytest.mark.parametrize("model, name", (("mixtral", "int8"), ("qwen3-moe", "fp8-channel")))
def test_while_read_experts(tmp_path, model, name):
    """Likewise, of experts that are tensors of their own, on ranks that have parts of each."""
    plain, folder = FIXTURES / model, tmp_path / "written"
    assert quantize.main([str(plain), "--format", name, "-o", str(folder)]) == 0
    for degree in (1, 2):
        options = {"mesh": f"tp={degree}", "seq": 8, "dtype": "f32"}
        expected = tp_mlir.compile(folder, **options).run(folder, inputs())
        got = tp_mlir.compile(plain, quantize=name, **options).run(plain, inputs())
        assert numpy.array_equal(got["logits"], expected["logits"]), f"at {degree}, seed {SEED}"


def test_while_read_memory(tmp_path):
    """A rank holds the packed weights alone, and the scratch to make them is small."""
    _, plain = quantised.write(tmp_path, "int4-g16", SEED, hidden_size=512, intermediate_size=1536,
                               num_attention_heads=16, num_key_value_heads=4, head_dim=32)
    program = tmp_path / "program.tpa"
    _tools.run("tp-compile", [plain, "--quantize", "int4-g128", "--seq", 8, "--dtype", "f32",
                              "-o", program])
    (rank,) = json.loads(_tools.run("tp-run", [program, "--weights", plain, "--input", "random:1",
                                               "--stats=json"]))["ranks"]
    file = (plain / "model.safetensors").stat().st_size
    assert rank["parameter_bytes"] <= 0.25 * file + (4 << 20)
    assert rank["peak_bytes"] <= 0.5 * file + (8 << 20)


def test_while_read_refused(tmp_path):
    def refused(folder, name, words):
        with pytest.raises(Exception, match=words):
            tp_mlir.compile(folder, mesh="tp=1", quantize=name).run(folder, inputs())

    folder, plain = quantised.write(tmp_path, "int8-asymmetric", SEED, intermediate_size=100)
    refused(plain, "int4-g32", "has 100 inputs: expected inputs in multiples of 32, the size")
    refused(folder, "int8", "--quantize int8: the checkpoint is quantised already")
    config = json.loads((folder / "config.json").read_text())
    del config["quantization_config"]
    (folder / "config.json").write_text(json.dumps(config))
    refused(folder, "int8", "is of type I8: expected F32, BF16 or F16")
    weights = load_file(plain / "model.safetensors")
    weights["model.layers.1.mlp.up_proj.weight"][3, 5] = numpy.inf
    save_file(weights, plain / "model.safetensors", {"format": "pt"})
    refused(plain, "int8",
            "': tensor '.*up_proj.weight': expected finite weights to quantise, got inf in row 3")
