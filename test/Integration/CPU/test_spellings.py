"""Checkpoints that hold a parameter twice: a head beside a tied table, parts beside a fused tensor.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

What a program computes from a head of its own is what it computes where config.json says that
the head is not tied. What the compiler says is in test/Import/spellings.test and
tensor-parts.test.
"""

import json
import re
import shutil
import struct

import numpy
import pytest
from families import FAMILIES
from reference import FIXTURES
from safetensors.numpy import save_file

import tp_mlir
from tp_mlir import InputError, _tools

# Their defaults tie; each with the names of its table and its head.
TIED = {
    "gemma": ("model.embed_tokens", "lm_head"),
    "gemma3-images": ("language_model.model.embed_tokens", "lm_head"),
    "cohere": ("model.embed_tokens", "lm_head"),
    "opt": ("model.decoder.embed_tokens", "lm_head"),
    "bloom": ("transformer.word_embeddings", "lm_head"),
    "mpt": ("transformer.wte", "lm_head"),
    "starcoder2": ("model.embed_tokens", "lm_head"),
    "smollm3": ("model.embed_tokens", "lm_head"),
    "roberta-masked": ("roberta.embeddings.word_embeddings", "lm_head.decoder"),
}


def load_file(path):
    """The tensors of a file, those of bf16 as f32."""
    data = path.read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, entry in json.loads(data[8:start]).items():
        if name == "__metadata__":
            continue
        begin, end = (start + offset for offset in entry["data_offsets"])
        if entry["dtype"] == "BF16":
            words = numpy.frombuffer(data[begin:end], numpy.uint16).astype(numpy.uint32)
            values = (words << 16).view(numpy.float32)
        else:
            values = numpy.frombuffer(data[begin:end],
                                      {"F32": numpy.float32, "F16": numpy.float16}[entry["dtype"]])
        found[name] = values.reshape(entry["shape"])
    return found


def copy(source, target, tensors=None, config=None):
    """The checkpoint with other tensors and other keys in its config.json; None: without the
    key."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    whole = json.loads((source / "config.json").read_text())
    for part in whole, whole.get("text_config", {}):
        part.update(config or {})
    (target / "config.json").write_text(json.dumps(
        {key: value for key, value in whole.items() if value is not None}))
    own = load_file(source / "model.safetensors")
    save_file(own | (tensors or {}), target / "model.safetensors")
    return target


def head_of(folder, table):
    """Values of its own."""
    return -load_file(folder / "model.safetensors")[table + ".weight"]


def outputs(folder, weights, mesh="tp=1", **options):
    program = tp_mlir.compile(folder, mesh=mesh, seq=8, dtype="f32", **options)
    ids = numpy.arange(8, dtype=numpy.int64)[None] + 3
    return program.run(weights, {"input_ids": ids})["logits"]


@pytest.mark.parametrize("family", TIED)
def test_a_head_of_its_own_is_the_head(family, tmp_path):
    table, head = TIED[family]
    source = FAMILIES / family
    tensors = {head + ".weight": head_of(source, table)}
    own = copy(source, tmp_path / "own", tensors, {"tie_word_embeddings": None})
    said = copy(source, tmp_path / "said", tensors, {"tie_word_embeddings": False})
    got, want = outputs(own, own), outputs(said, said)
    assert numpy.array_equal(got, want)
    tied = outputs(own, own, ignore=head + ".weight")
    assert numpy.array_equal(tied, outputs(source, source))
    assert not numpy.allclose(got, tied)


def test_both_are_the_head_if_they_are_equal(tmp_path):
    """On two ranks, and with values of another type that are equal to those of f32."""
    source = FAMILIES / "gemma"
    name = "model.embed_tokens.weight"
    table = load_file(source / "model.safetensors")[name].astype(numpy.float16)
    plain = copy(source, tmp_path / "plain", {name: table.astype(numpy.float32)})
    both = copy(source, tmp_path / "both", {name: table.astype(numpy.float32),
                                            "lm_head.weight": table})
    got = outputs(both, both, mesh="tp=2")
    assert numpy.array_equal(got, outputs(plain, plain, mesh="tp=2"))
    # And the program of the one runs the other.
    assert numpy.array_equal(got, outputs(plain, both, mesh="tp=2"))


@pytest.mark.parametrize("backend, degree", [("threads", 1), ("threads", 2), ("processes", 1),
                                             ("processes", 2)])
def test_other_weights_than_compiled_from_are_compared(backend, degree, tmp_path):
    """The last value alone differs, which is in the last rank's share."""
    source = FIXTURES / "gpt2"
    head = load_file(source / "model.safetensors")["transformer.wte.weight"].copy()
    head[-1, -1] += 1
    other = copy(source, tmp_path / "other", {"lm_head.weight": head})
    program = tp_mlir.compile(source, mesh=f"tp={degree}", seq=8)
    ids = {"input_ids": numpy.arange(8, dtype=numpy.int64)[None]}
    with pytest.raises(InputError) as error:
        program.run(other, ids, backend=backend)
    assert "tensors 'transformer.wte.weight' of " in str(error.value)
    assert "and 'lm_head.weight' of " in str(error.value)
    assert "--ignore transformer.wte.weight or --ignore lm_head.weight" in str(error.value)
    assert "--untie" in str(error.value)
    for options in {"untie": True}, {"ignore": "lm_head.weight"}:
        tp_mlir.compile(other, mesh=f"tp={degree}", seq=8, **options).run(other, ids,
                                                                        backend=backend)
    # A program of the config alone follows the config.
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copyfile(source / "config.json", bare / "config.json")
    program = tp_mlir.compile(bare, mesh=f"tp={degree}", seq=8, ignore="lm_head.weight")
    program.run(other, ids, backend=backend)


def shards(folder, parts, weight_map):
    """The folder's tensors in files of a sharded checkpoint."""
    (folder / "model.safetensors").unlink()
    for name, tensors in parts.items():
        save_file(tensors, folder / name)
    (folder / "model.safetensors.index.json").write_text(json.dumps(
        {"metadata": {}, "weight_map": weight_map}))


def test_the_index_decides(tmp_path):
    """One tensor in two files, one that the index does not list, and a head beside its table in
    another file."""
    source = FAMILIES / "gemma"
    tensors = load_file(source / "model.safetensors")
    norm = "model.norm.weight"
    head = head_of(source, "model.embed_tokens")
    folder = copy(source, tmp_path / "index")
    shards(folder, {"a.safetensors": tensors | {"stray": numpy.ones(3, numpy.float32)},
                    "b.safetensors": {norm: -tensors[norm], "lm_head.weight": head}},
           dict.fromkeys(tensors, "a.safetensors") | {norm: "b.safetensors",
                                                       "lm_head.weight": "b.safetensors"})
    want = copy(source, tmp_path / "one", {norm: -tensors[norm], "lm_head.weight": head})
    program = tp_mlir.compile(folder, mesh="tp=2", seq=8, dtype="f32", untie=True)
    ids = {"input_ids": numpy.arange(8, dtype=numpy.int64)[None] + 3}
    expected = outputs(want, want, mesh="tp=2", untie=True)
    for backend in "threads", "processes":
        got = program.run(folder, ids, backend=backend)["logits"]
        assert numpy.array_equal(got, expected)
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    del index["weight_map"]["lm_head.weight"]
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    tied = copy(source, tmp_path / "tied", {norm: -tensors[norm]})
    assert numpy.array_equal(outputs(folder, folder), outputs(tied, tied))


def test_parts_of_a_fused_tensor(tmp_path):
    """Equal parts are read as well as the whole; others than compiled from are compared."""
    source = FAMILIES / "phi3"
    tensors = load_file(source / "model.safetensors")
    heads = tensors["model.layers.0.self_attn.o_proj.weight"].shape[1]
    fused = "model.layers.{}.self_attn.qkv_proj.weight"
    queries = {f"model.layers.{i}.self_attn.q_proj.weight":
               numpy.ascontiguousarray(tensors[fused.format(i)][:heads])
               for i in range(64) if fused.format(i) in tensors}
    both = copy(source, tmp_path / "both", queries)
    want = outputs(source, source, mesh="tp=2")
    assert numpy.array_equal(outputs(both, both, mesh="tp=2"), want)
    last = list(queries)[-1]
    other = copy(source, tmp_path / "other", queries | {last: -queries[last]})
    with pytest.raises(InputError, match="hold different values"):
        outputs(other, other)
    for backend in "threads", "processes":
        program = tp_mlir.compile(both, mesh="tp=2", seq=8)
        with pytest.raises(InputError, match=r"--ignore model.layers.\*.self_attn.qkv_proj.weight "
                           r"or --ignore model.layers.\*.self_attn.q_proj.weight"):
            program.run(other, {"input_ids": numpy.zeros((1, 8), numpy.int64)}, backend=backend)
    got = outputs(other, other, mesh="tp=2", ignore="*.q_proj.weight")
    assert numpy.array_equal(got, want)


def split_groups(folder):
    """The parts of projections that hold the queries, the key and the value of each KV head side
    by side, as tensors of their own."""
    config = json.loads((folder / "config.json").read_text())
    heads = config.get("num_attention_heads") or config["n_head"]
    groups = config.get("num_kv_heads") or heads
    parts = {}
    for name, whole in load_file(folder / "model.safetensors").items():
        if "query_key_value" not in name:
            continue
        rows = whole.reshape(groups, heads // groups + 2, -1, *whole.shape[1:])
        for part, own in (("q", rows[:, :-2]), ("k", rows[:, -2]), ("v", rows[:, -1])):
            parts[name.replace("query_key_value", part + "_proj")] = numpy.ascontiguousarray(
                own.reshape(-1, *whole.shape[1:]))
    return parts


@pytest.mark.parametrize("family", ["falcon-40b", "gpt-neox", "bloom"])
def test_parts_of_a_tensor_laid_out_by_kv_heads(family, tmp_path):
    source = FAMILIES / family
    parts = split_groups(source)
    both = copy(source, tmp_path / "both", parts)
    want = outputs(source, source, mesh="tp=2")
    assert numpy.array_equal(outputs(both, both, mesh="tp=2"), want)
    # The parts alone are read too.
    got = outputs(both, both, mesh="tp=2", ignore="*.query_key_value.*")
    assert numpy.abs(got - want).max() < 1e-5 * numpy.abs(want).max()
    program = tp_mlir.compile(both, mesh="tp=2", seq=8)
    for part in "qkv":
        name = [name for name in parts if f".{part}_proj.weight" in name][-1]
        values = parts[name].copy()
        values[-1, -1] += 1
        other = copy(source, tmp_path / "other", parts | {name: values})
        pattern = name.replace(".1.", ".*.")
        advice = re.escape(pattern.replace(f"{part}_proj", "query_key_value")) + " or --ignore " + (
            re.escape(pattern))
        with pytest.raises(InputError, match=advice):
            outputs(other, other)
        for backend in "threads", "processes":
            with pytest.raises(InputError, match=advice):
                program.run(other, {"input_ids": numpy.zeros((1, 8), numpy.int64)}, backend=backend)
        assert numpy.array_equal(
            outputs(other, other, mesh="tp=2", ignore=f"*.{part}_proj.*"), want)
    wide = copy(source, tmp_path / "wide", parts | {name: numpy.zeros((1, 1), numpy.float32)})
    with pytest.raises(InputError, match="expected shape .* from config.json, got .1, 1."):
        outputs(wide, wide)


def test_experts_beside_their_stack(tmp_path):
    source = FIXTURES / "mixtral"
    tensors = load_file(source / "model.safetensors")
    stacks = {}
    for layer in range(64):
        base = f"model.layers.{layer}.block_sparse_moe.experts."
        count = sum(name.startswith(base) and name.endswith("w1.weight") for name in tensors)
        if count:
            parts = {w: numpy.stack([tensors[f"{base}{e}.{w}.weight"] for e in range(count)])
                     for w in ("w1", "w2", "w3")}
            stacks[base + "gate_up_proj"] = numpy.concatenate([parts["w1"], parts["w3"]], 1)
            stacks[base + "down_proj"] = parts["w2"]
    both = copy(source, tmp_path / "both", stacks)
    want = outputs(source, source, mesh="tp=2")
    assert numpy.array_equal(outputs(both, both, mesh="tp=2"), want)
    # The stacks alone are read too.
    got = outputs(both, both, mesh="tp=2", ignore="*.experts.*.weight")
    assert numpy.array_equal(got, want)
    name = list(stacks)[0]
    other = copy(source, tmp_path / "other", stacks | {name: -stacks[name]})
    with pytest.raises(InputError, match="gate_up_proj.* stand for the same parameter"):
        outputs(other, other)
    program = tp_mlir.compile(both, mesh="tp=2", seq=8)
    with pytest.raises(InputError, match="gate_up_proj.* stand for the same parameter"):
        program.run(other, {"input_ids": numpy.zeros((1, 8), numpy.int64)})


def train(program, weights, out, tmp_path, *more):
    numpy.save(tmp_path / "tokens.npy", numpy.arange(4 * 9, dtype=numpy.int32) % 60)
    _tools.run("tp-run", [program.path, "--weights", weights, "--train", tmp_path / "tokens.npy",
                          "--lr", "1e-2", "--steps", 2, "--save", out, *more])
    return (load_file(out / "model.safetensors"),
            json.loads((out / "config.json").read_text()))


def test_what_was_read_is_saved(tmp_path):
    """A head of its own is trained and saved by itself, and the config says so; of a tied one both
    spellings are saved, unless one was left out."""
    source = FAMILIES / "starcoder2"
    table, head = "model.embed_tokens.weight", "lm_head.weight"
    own = copy(source, tmp_path / "own", {head: head_of(source, "model.embed_tokens")})
    program = tp_mlir.compile(own, mesh="tp=2", seq=8, batch=2, dtype="f32", train="adamw", untie=True)
    tensors, config = train(program, own, tmp_path / "a", tmp_path)
    before = load_file(own / "model.safetensors")
    for name in table, head:
        assert 1e-3 < numpy.abs(tensors[name] - before[name]).max() < 1e-1
    assert not numpy.allclose(tensors[table], tensors[head])
    assert config["tie_word_embeddings"] is False
    # It is read again as it is, without a word.
    assert numpy.isfinite(outputs(tmp_path / "a", tmp_path / "a")).all()
    said = copy(own, tmp_path / "said", config={"tie_word_embeddings": False})
    again = tp_mlir.compile(said, mesh="tp=2", seq=8, batch=2, dtype="f32", train="adamw")
    assert numpy.array_equal(train(again, said, tmp_path / "b", tmp_path)[0][head], tensors[head])

    program = tp_mlir.compile(own, mesh="tp=2", seq=8, batch=2, dtype="f32", train="adamw", ignore=head)
    tensors, config = train(program, own, tmp_path / "c", tmp_path)
    assert head not in tensors and config["tie_word_embeddings"] is True

    both = copy(source, tmp_path / "both", {head: before[table]})
    program = tp_mlir.compile(both, mesh="tp=2", seq=8, batch=2, dtype="f32", train="adamw")
    tensors, config = train(program, both, tmp_path / "d", tmp_path)
    assert numpy.array_equal(tensors[head], tensors[table])
    assert config["tie_word_embeddings"] is True
    with pytest.raises(InputError, match="stand for the same parameter"):
        train(program, own, tmp_path / "e", tmp_path)


def test_parts_of_what_is_trained_are_not_saved(tmp_path):
    source = FAMILIES / "phi3"
    fused = "model.layers.0.self_attn.qkv_proj.weight"
    tensors = load_file(source / "model.safetensors")
    heads = tensors["model.layers.0.self_attn.o_proj.weight"].shape[1]
    apart = "model.layers.0.self_attn.q_proj.weight"
    both = copy(source, tmp_path / "both",
                {apart: numpy.ascontiguousarray(tensors[fused][:heads])})
    program = tp_mlir.compile(both, seq=8, batch=2, dtype="f32", train="sgd")
    saved, _ = train(program, both, tmp_path / "out", tmp_path)
    assert apart not in saved and not numpy.array_equal(saved[fused], tensors[fused])


def test_python_has_the_options(tmp_path, capfd):
    """LLM, with a warning that its user sees."""
    source = FAMILIES / "gemma"
    own = copy(source, tmp_path / "own", {"lm_head.weight": head_of(source, "model.embed_tokens")})
    ids = [3, 4, 5]
    answers = {}
    for name, options in {"": {}, "untie": {"untie": True},
                          "ignore": {"ignore": ["lm_head.weight"]}}.items():
        with tp_mlir.LLM(own, context=32, rows=1, chunk=4, **options) as model:
            answers[name] = model.generate(ids, max_tokens=4).ids
        assert ("warning: tie_word_embeddings" in capfd.readouterr().err) == (not options)
    with tp_mlir.LLM(source, context=32, rows=1, chunk=4) as model:
        assert answers["ignore"] == model.generate(ids, max_tokens=4).ids
    assert answers[""] == answers["untie"] != answers["ignore"]
