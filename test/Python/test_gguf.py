"""Checkpoint folders for GGUF files: metadata, config.json, tokenizers.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import random
import struct
import subprocess

import gguf_files
import pytest
import small_tokenizers

from tp_mlir import _tools, gguf
from tp_mlir.text import TextError, Tokenizer

SEED = 20261127
TEXTS = ("a b lo", "  x  <a>", "é lo\n\nb", "", "it's 123!", "\U0001f600 a")


def model(**changes):
    small = {"hidden_size": 64, "intermediate_size": 64, "head_dim": 8}
    return gguf_files.llama(SEED, ("Q8_0",), **small | changes)


def written(tmp_path, made, metadata=None):
    path, _ = made.write(tmp_path)
    if metadata:
        gguf_files.write_file(path, made.metadata | metadata, made.tensors)
    return path


def vocabulary(made, model, pre=None):
    """Metadata of a vocabulary, from a tokenizer of the package `tokenizers`."""
    state = json.loads(made.to_str())
    tokens = sorted(state["model"]["vocab"], key=state["model"]["vocab"].get)
    merges = [tuple(pair) for pair in state["model"]["merges"]]
    special = {one["content"] for one in state["added_tokens"]}
    ranks = {left + right: rank for rank, (left, right) in enumerate(merges)}
    metadata = {
        "model": model, "tokens": tokens, "merges": [" ".join(pair) for pair in merges],
        "scores": [-float(ranks.get(token, 1000)) for token in tokens],
        "token_type": [3 if token in special else 6 if token.startswith("<0x") else 1
                       for token in tokens]}
    if pre:
        metadata["pre"] = pre
    for name, token in (("bos", "<s>"), ("eos", "</s>"), ("unknown", "<unk>")):
        if token in tokens:
            metadata[f"{name}_token_id"] = tokens.index(token)
    return {f"tokenizer.ggml.{key}": value for key, value in metadata.items()}


@pytest.mark.parametrize("made, kind, pre", (
    (small_tokenizers.byte_level(), "gpt2", "gpt-2"),
    (small_tokenizers.sentencepiece(), "llama", None)), ids=("gpt2", "llama"))
def test_tokenizers(tmp_path, made, kind, pre):
    """The ids and texts are those of the tokenizer that the metadata describe."""
    path = written(tmp_path, model(vocab_size=made.get_vocab_size()), vocabulary(made, kind, pre))
    assert gguf.write_folder(path, tmp_path / "folder") == []
    got = Tokenizer(tmp_path / "folder")
    for text in TEXTS:
        ids = got.encode(text, add_special_tokens=False)
        assert ids == made.encode(text, add_special_tokens=False).ids, text
    begins = kind == "llama"
    assert (got.encode("a")[0] == got.bos) is begins
    if begins:
        assert got.stop_ids == {got.eos}


def test_tokenizer_of_the_file(tmp_path, monkeypatch, capsys):
    """The file takes the place of a folder; what is made of it is kept, and made anew of another."""
    monkeypatch.setenv("TP_MLIR_CACHE", str(tmp_path / "cache"))
    made = small_tokenizers.byte_level()
    path = written(tmp_path, model(vocab_size=made.get_vocab_size()), vocabulary(made, "gpt2", "gpt-2"))
    text = "a b lo"
    for _ in range(2):
        got = Tokenizer(path)
        assert got.encode(text, add_special_tokens=False) == made.encode(
            text, add_special_tokens=False).ids
    assert len(list((tmp_path / "cache/gguf").iterdir())) == 1
    gguf_files.write_file(path, model().metadata, model().tensors)
    with pytest.raises(TextError, match="no tokenizer.json in "):
        Tokenizer(path)
    assert f"{path}: no tokenizer: " in capsys.readouterr().err
    assert len(list((tmp_path / "cache/gguf").iterdir())) == 2
    path.write_bytes(b"GGUF")
    with pytest.raises(TextError, match="the file ends inside of its header"):
        Tokenizer(path)


def test_rest_of_folder(tmp_path):
    """A chat template, ends of answers, and a link, or a copy, of the weights."""
    more = {"tokenizer.chat_template": "{{ messages }}", "tokenizer.ggml.eot_token_id": 5,
            "tokenizer.ggml.eos_token_id": 2}
    path = written(tmp_path, model(), more)
    (note,) = gguf.write_folder(path, tmp_path / "folder")
    assert ("there is no vocabulary: a tokenizer.json of the model that the file was made from, put "
            "beside, gives text") in note
    assert (tmp_path / "folder/chat_template.jinja").read_text() == "{{ messages }}"
    ends = json.loads((tmp_path / "folder/generation_config.json").read_text())
    assert ends == {"eos_token_id": [2, 5]}
    assert (tmp_path / "folder/model.gguf").resolve() == path.resolve()
    assert gguf.main([str(path), "-o", str(tmp_path / "copy"), "--copy"]) == 0
    assert not (tmp_path / "copy/model.gguf").is_symlink()
    assert gguf.main([str(path), "-o", str(tmp_path / "copy")]) == 1


@pytest.mark.parametrize("metadata, words", (
    ({"general.architecture": "mamba"}, ": unsupported general.architecture 'mamba'; expected one of "
     "llama, qwen2, qwen3, gemma, gemma2, gemma3, phi3, qwen2moe, qwen3moe, granite; the safetensors "
     "that the file was made from may be supported"),
    ({"llama.ssm.size": 3}, ": unsupported metadata llama.ssm.size: what it changes in a model of "
     "architecture 'llama' is not known here"),
    ({"llama.attention.head_count": [8, 4]}, ": metadata 'llama.attention.head_count': expected an "
     "integer, the same for all layers, got [8, 4]"),
    ({"llama.attention.value_length": 16}, ": unsupported metadata 'llama.attention.value_length': "
     "expected 8, the size of keys"),
    ({"llama.rope.scaling.type": "dynamic"}, ": unsupported metadata 'llama.rope.scaling.type' "
     "'dynamic': expected 'none', 'linear', 'yarn' or 'longrope'"),
    ({"llama.rope.scaling.attn_factor": 2.5}, ": unsupported metadata "
     "'llama.rope.scaling.attn_factor' 2.5: expected 1"),
    ({"llama.attention.causal": False}, ": unsupported metadata 'llama.attention.causal' false: "
     "expected a model that generates text"),
    ({"general.alignment": 0}, ": expected general.alignment to be a power of two of at "
     "most 1048576, got 0"),
    ({"llama.block_count": 0}, ": metadata 'llama.block_count': expected 1 to 16384, got 0"),
    ({"llama.rope.freq_base": float("inf")}, ": metadata 'llama.rope.freq_base': expected a finite "
     "number, the same for all layers, got "),
    ({"split.count": 3}, ": is one of 3 files of a model: `llama-gguf-split --merge` makes one file "
     "of them"),
))
def test_refused(tmp_path, metadata, words):
    path = written(tmp_path, model(), metadata)
    with pytest.raises(gguf.GgufError) as caught:
        gguf.write_folder(path, tmp_path / "folder")
    assert words in str(caught.value)
    assert not (tmp_path / "folder").exists() and not (tmp_path / "folder.partial").exists()


def refusal(tmp_path, made, changed=()):
    path = tmp_path / "changed.gguf"
    gguf_files.write_file(path, {key: value for key, value in made.metadata.items()
                                 if key not in changed}, made.tensors)
    with pytest.raises(gguf.GgufError) as caught:
        gguf.write_folder(path, tmp_path / "folder")
    return str(caught.value)


def test_missing(tmp_path):
    assert ": metadata 'llama.context_length' is missing" in refusal(
        tmp_path, model(), {"llama.context_length"})
    made = model()
    del made.tensors["token_embd.weight"]
    assert ": tensor 'token_embd.weight' is missing" in refusal(tmp_path, made)


def test_broken_factors(tmp_path):
    """Tensors whose numbers are read."""
    made = model()
    made.tensors["rope_freqs.weight"] = gguf_files.tensor(made.rng, "F16", 4)[0]
    assert (": tensor 'rope_freqs.weight': expected at most 65536 numbers of type F32, got 4 of "
            "type F16") in refusal(tmp_path, made)
    made.tensors["rope_freqs.weight"] = "F32", (4,), struct.pack("<4f", 1, float("nan"), 1, 1)
    assert ": tensor 'rope_freqs.weight': expected finite numbers" in refusal(tmp_path, made)
    made.tensors["rope_freqs.weight"] = "F32", (4096,), b""
    assert ("of the data reach past the end of the file (truncated?)") in refusal(tmp_path, made)


def test_folder_that_is_there(tmp_path, capsys):
    (tmp_path / "folder").mkdir()
    assert gguf.main([str(written(tmp_path, model())), "-o", str(tmp_path / "folder")]) == 1
    assert "folder is there already: expected a new folder" in capsys.readouterr().err


def test_tokenizers_refused(tmp_path):
    """The folder is made all the same, and says what it lacks."""
    made = small_tokenizers.byte_level()
    path = written(tmp_path, model(), vocabulary(made, "gpt2", "other"))
    (note,) = gguf.write_folder(path, tmp_path / "folder")
    assert "unsupported metadata 'tokenizer.ggml.pre' 'other': expected one of llama-bpe" in note
    assert not (tmp_path / "folder/tokenizer.json").exists()


@pytest.mark.parametrize("metadata, words", (
    ({"model": "bert"}, "unsupported metadata 'tokenizer.ggml.model' 'bert': expected 'gpt2' or "
     "'llama': "),
    ({"tokens": ["a", "a"]}, ": metadata 'tokenizer.ggml.tokens': expected each token once: a "
     "tokenizer.json of the model that the file was made from"),
    ({"tokens": ["\udcff", "b"]}, ": metadata 'tokenizer.ggml.tokens': expected UTF-8: a tokenizer.json "
     "of the model that the file was made from"),
    ({"tokens": [1, 2]}, "'tokenizer.ggml.tokens': expected a list of texts"),
    ({"token_type": [1]}, ": metadata 'tokenizer.ggml.token_type': expected 2 items, got 1"),
    ({"model": "llama", "scores": [0.5]}, ": metadata 'tokenizer.ggml.scores': expected 2 items, "
     "got 1"),
    ({"merges": ["a b c"]}, ": metadata 'tokenizer.ggml.merges': expected pairs of tokens: a "
     "tokenizer.json of the model that the file was made from"),
))
def test_broken_vocabularies(tmp_path, metadata, words):
    whole = {"model": "gpt2", "pre": "gpt-2", "tokens": ["a", "b"], "merges": ["a b"]} | metadata
    path = written(tmp_path, model(), {f"tokenizer.ggml.{key}": value
                                       for key, value in whole.items()})
    (note,) = gguf.write_folder(path, tmp_path / "folder")
    assert words in note


HEAD = struct.pack("<4sIQQ", b"GGUF", 3, 1, 1)
KEY = struct.pack("<Q", 1) + b"k"
TENSOR = struct.pack("<4sIQQQ", b"GGUF", 3, 1, 0, 1) + b"t"


@pytest.mark.parametrize("data, words", (
    (b"", "the file is empty"), (b"GGML", 'expected a GGUF file, which begins with "GGUF"'),
    (struct.pack("<4sI", b"GGUF", 1), "expected version 2 or 3 of GGUF, little-endian, got 1"),
    (HEAD + KEY, "the file ends inside of its header (truncated?)"),
    (HEAD + KEY + struct.pack("<I", 13), "metadata 'k' has the unknown type 13"),
    (HEAD + KEY + struct.pack("<IIQ", 9, 9, 1), "metadata 'k': expected a list of numbers or texts, "
     "got one of type 9"),
    (HEAD + KEY + struct.pack("<IIQ", 9, 4, 1 << 60), ": a list of 1152921504606846976 items "
     "reaches past the end of the file (truncated?)"),
    (TENSOR + struct.pack("<I", 9), "tensor 't': expected 1 to 4 dimensions, got 9"),
))
def test_broken_headers(tmp_path, data, words):
    (tmp_path / "x.gguf").write_bytes(data)
    with pytest.raises(gguf.GgufError) as caught:
        gguf.write_folder(tmp_path / "x.gguf", tmp_path / "folder")
    assert words in str(caught.value)


def test_stretched_rotation(tmp_path):
    """Factors of each frequency are those of a rotation for all lengths."""
    made = model()
    made.tensors["rope_freqs.weight"] = gguf_files.tensor(made.rng, "F32", 4)[0]
    gguf.write_folder(written(tmp_path, made), tmp_path / "folder")
    rope = json.loads((tmp_path / "folder/config.json").read_text())["rope_scaling"]
    assert rope["rope_type"] == "longrope" and rope["short_factor"] == rope["long_factor"]
    assert len(rope["short_factor"]) == 4 and rope["factor"] == 1


def test_broken_files(tmp_path):
    """Files that are cut short or changed at random give an error, or metadata; the compiler's and
    runtime's own parser has a test of its own (runtime/test/GgufTest.cpp)."""
    whole = written(tmp_path, model()).read_bytes()
    head = whole.index(b"token_embd") - 8
    choose, broken = random.Random(SEED), tmp_path / "broken.gguf"
    for i in range(300):
        data = bytearray(whole[:head + 1024])
        if i < 100:
            del data[choose.randrange(head):]
        else:
            for _ in range(choose.randint(1, 4)):
                data[choose.randrange(head)] = choose.choice((0, 255, choose.randrange(256)))
        broken.write_bytes(data)
        try:
            gguf.Gguf(broken)
        except gguf.GgufError as error:
            assert str(broken) in str(error), f"seed {SEED}"
        else:
            assert i >= 100, f"seed {SEED}"


def test_broken_files_in_the_compiler(tmp_path):
    """So do those that the compiler reads."""
    whole = written(tmp_path, model()).read_bytes()
    choose, broken = random.Random(SEED), tmp_path / "broken.gguf"
    head = whole.index(b"blk.1.ffn_down") + 64
    for i in range(12):
        data = bytearray(whole[:choose.randrange(8, head)] if i < 4 else whole)
        for _ in range(choose.randint(1, 4)):
            data[choose.randrange(4, min(head, len(data)))] = choose.choice((0, 255))
        broken.write_bytes(data)
        done = subprocess.run([_tools.find("tp-import"), broken, "--config"], capture_output=True,
                              text=True)
        assert done.returncode in (0, 1), f"seed {SEED}: {done.stderr}"
        assert done.returncode == 0 or f"error: '{broken}': " in done.stderr, f"seed {SEED}"
