"""GGUF files at several degrees against the numbers that they stand for.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json

import gguf_files
import numpy
import pytest
import quantised

import tp_mlir
from tp_mlir import _tools, gguf, plan

SEED = 20261127


def opened(tmp_path, model):
    """The checkpoint folder of a model's file, and the plain one."""
    path, plain = model.write(tmp_path)
    folder = tmp_path / "folder"
    gguf.write_folder(path, folder)
    return folder, plain


def logits(folder, degree, dtype="f32", **options):
    program = tp_mlir.compile(folder, mesh=f"tp={degree}", seq=8, dtype=dtype, **options)
    ids = numpy.random.default_rng(SEED).integers(0, 67, (1, 8))
    return program.run(folder, {"input_ids": ids})["logits"], ids


def compare(folder, plain, degrees):
    expected, _ = logits(plain, 1)
    for degree in degrees:
        got, _ = logits(folder, degree)
        error = numpy.abs(got - expected).max() / numpy.abs(expected).max()
        assert error < 2e-5, f"at {degree}, seed {SEED}"


@pytest.mark.parametrize("kinds", (("Q8_0",), ("Q4_K", "Q6_K"), ("Q4_0", "Q4_1", "Q5_0", "Q5_1"),
                                   ("Q2_K", "Q3_K", "Q5_K"), ("IQ4_NL", "IQ4_XS", "MXFP4"),
                                   ("F16", "BF16", "F32")), ids="-".join)
def test_types(tmp_path, kinds):
    """Every type in a model's linear layers and table, alone and on two ranks."""
    folder, plain = opened(tmp_path, gguf_files.llama(SEED, kinds))
    compare(folder, plain, (1, 2))


def test_reference(tmp_path):
    """A Llama by its definition, in f64, with queries and keys in llama.cpp's order."""
    model = gguf_files.llama(SEED, ("Q8_0", "Q4_K"))
    folder, _ = opened(tmp_path, model)
    got, ids = logits(folder, 4)
    expected = quantised.forward(model.config, model.weights, ids[0])
    assert numpy.abs(got[0] - expected).max() < 2e-5 * numpy.abs(expected).max()


@pytest.mark.parametrize("architecture, tied", (("qwen2", True), ("qwen3", False), ("gemma", True)))
def test_architectures(tmp_path, architecture, tied):
    """Biases, norms of heads, norms that are stored plus one, and tables that are heads."""
    folder, plain = opened(tmp_path, gguf_files.llama(SEED, ("Q4_K", "Q6_K"), architecture, tied))
    compare(folder, plain, (2,))


@pytest.mark.parametrize("kind", ("Q4_K", "Q6_K"))
def test_experts(tmp_path, kind):
    """Experts' scales stay packed alone; two ranks have half of a block of down's inputs."""
    folder, plain = opened(tmp_path, gguf_files.llama(SEED, (kind,), "qwen3moe",
                                                      intermediate_size=256))
    compare(folder, plain, (1, 2))


def test_memory(tmp_path):
    """Scales and minima of Q4_K are an f16 and eight bytes for 256 weights."""
    model = gguf_files.llama(SEED, ("Q4_K",))
    folder, _ = opened(tmp_path, model)
    weights = sum(value.size for value in model.weights.values() if value.ndim == 2)
    norms = sum(value.nbytes for value in model.weights.values() if value.ndim == 1)
    tp_mlir.compile(folder, seq=8, dtype="f32", output=tmp_path / "x.tpa")
    told = json.loads(_tools.run("tp-inspect", [tmp_path / "x.tpa", "--json"]))
    explained = json.loads(_tools.run("tp-compile", [folder, "--seq", "8", "--explain=json"]))
    expected = weights * (4 + 20 * 8 / 256) / 8 + norms
    assert explained["parameters"]["per_rank_bytes"] == expected
    # Each tensor begins with a line of a cache.
    assert expected <= told["memory"]["parameter_bytes"] < expected * 1.03


def test_text(tmp_path):
    """Steps that generate look rows up in the table, and give the ids of the plain program."""
    folder, plain = opened(tmp_path, gguf_files.llama(SEED, ("Q4_K", "Q6_K", "Q8_0"), tied=True))

    def answer(folder, degree):
        with tp_mlir.LLM(folder, mesh=f"tp={degree}", dtype="f32", context=32, rows=2,
                         chunk=8) as llm:
            return [list(one.ids) for one in llm.generate([[1, 5, 9], [60] * 11], max_tokens=6)]

    assert answer(folder, 2) == answer(plain, 1)


def test_file_itself(tmp_path):
    """The file takes the place of the folder, and bf16 rounds as it does elsewhere."""
    model = gguf_files.llama(SEED, ("Q8_0", "Q5_1"))
    folder, plain = opened(tmp_path, model)
    program = tp_mlir.compile(tmp_path / "model-file.gguf", seq=8, dtype="bf16")
    ids = {"input_ids": numpy.random.default_rng(SEED).integers(0, 67, (1, 8))}
    got = program.run(tmp_path / "model-file.gguf", ids)["logits"]
    assert (got == program.run(folder, ids)["logits"]).all()
    expected, _ = logits(plain, 1)
    assert numpy.abs(got - expected).max() < 0.03 * numpy.abs(expected).max()


@pytest.mark.parametrize("cache", ("none", "kept"))
def test_text_of_the_file(tmp_path, monkeypatch, cache):
    """An engine opens the file, whose end tokens end answers, with and without a cache."""
    monkeypatch.setenv("TP_MLIR_CACHE", cache if cache == "none" else str(tmp_path / cache))
    model = gguf_files.llama(SEED, ("Q4_K", "Q6_K"))

    def answer(given):
        with tp_mlir.LLM(given, dtype="f32", context=32, rows=2, chunk=8) as llm:
            return list(llm.generate([[1, 5, 9]], max_tokens=6)[0].ids)

    folder, _ = opened(tmp_path, model)
    file = tmp_path / "model-file.gguf"
    ids = answer(folder)
    assert answer(file) == ids and len(ids) == 6
    gguf_files.write_file(file, model.metadata | {"tokenizer.ggml.eos_token_id": ids[2]},
                          model.tensors)
    end = ids.index(ids[2])
    assert answer(file) in (ids[:end], ids[:end + 1])


def test_plan_of_the_file(tmp_path, capsys):
    """tp-plan sizes the file as it does the folder."""
    folder, _ = opened(tmp_path, gguf_files.llama(SEED, ("Q8_0",)))

    def rows(given):
        plan.main([str(given), "--gpu", "h100", "--degrees", "1,2", "--context", "32", "--format",
                   "json"])
        return json.loads(capsys.readouterr().out)["rows"]

    assert rows(tmp_path / "model-file.gguf") == rows(folder)


def test_refused(tmp_path):
    """A folder without the file, and a file with a tensor of another model."""
    model = gguf_files.llama(SEED, ("Q8_0",))
    model.tensors["blk.0.attn_sinks.weight"] = gguf_files.tensor(model.rng, "F32", 8)[0]
    folder, _ = opened(tmp_path, model)
    with pytest.raises(tp_mlir.InputError, match="tensor 'blk.0.attn_sinks.weight' has no place in "
                       "a model of architecture 'llama' that is known here"):
        logits(folder, 1)
    (folder / "model.gguf").unlink()
    with pytest.raises(tp_mlir.InputError, match='quant_method "gguf" needs model.gguf in '):
        logits(folder, 1)
