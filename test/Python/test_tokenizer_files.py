"""The files beside tokenizer.json: each key counts, is refused, or is said not to count.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

What AutoTokenizer of transformers makes of the cases in tokenizers/cases.json is in
tokenizers/expected.json (scripts/make-tokenizer-references).
"""

import json
import logging
import pathlib
import random
import re
import shutil
import types

import pytest
import tokenizers
from small_tokenizers import write

from tp_mlir import LLM, chat, serve, text, train

FOLDER = pathlib.Path(__file__).resolve().parent / "tokenizers"
CASES = json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
TEXTS = EXPECTED.pop("")
SETTINGS = "tokenizer_config.json"


def made(folder, kind="byte-level", model_type="llama", **files):
    """A Tokenizer; files are named with _ for the dot before json."""
    files = {name.replace("_json", ".json"): value for name, value in files.items()}
    return text.Tokenizer(write(folder, kind, files, model_type))


def refused(folder, **options):
    with pytest.raises(text.TextError) as error:
        made(folder, **options)
    return str(error.value).removeprefix(f"{folder}/")


def settings(folder, kind="byte-level", **config):
    return made(folder, kind, tokenizer_config_json=config)


@pytest.mark.parametrize("name", CASES)
def test_as_transformers(name, tmp_path):
    want = EXPECTED[name]
    tokenizer = text.Tokenizer(write(tmp_path, **CASES[name]))
    assert tokenizer.special_tokens == want["names"]
    assert (tokenizer.bos, tokenizer.eos, tokenizer.size) == (
        want["bos"], want["eos"], want["size"])
    for one, ids, plain, shown in zip(TEXTS, want["ids"], want["plain"], want["texts"]):
        # A text that begins with <s> gets no second one here.
        doubled = want["bos"] is not None and ids[:2] == [want["bos"]] * 2
        assert tokenizer.encode(one) == ids[doubled:], one
        assert tokenizer.encode(one, add_special_tokens=False) == plain, one
        assert tokenizer.decode(ids) == shown, one


def test_every_case_is_recorded():
    assert list(CASES) == list(EXPECTED)


def test_end_token(tmp_path):
    """The tokenizer's own ends an answer, beside those of the other files."""
    files = {"generation_config_json": {"eos_token_id": [3, 4]},
             "config_json": {"model_type": "llama", "eos_token_id": 5}}
    assert made(tmp_path, "begun", **files).stop_ids == {3, 4, 5}
    files["special_tokens_map_json"] = {"eos_token": "</s>"}
    assert made(tmp_path, "begun", **files).stop_ids == {3, 4, 5, 263}
    # One that is a word of the vocabulary, and one that is in added_tokens.json alone.
    assert made(tmp_path, tokenizer_config_json={"eos_token": "lo"},
                special_tokens_map_json={}, generation_config_json={}).stop_ids == {258}
    assert made(tmp_path, tokenizer_config_json={"eos_token": "<a>"},
                added_tokens_json={"<a>": 262}).stop_ids == {262}


def test_around(tmp_path):
    assert made(tmp_path).around == ((), ())
    # Nothing is added, so nothing is taken away.
    assert settings(tmp_path, bos_token="<s>").encode("<s><s>a") == [262, 262, 64]
    (tmp_path / SETTINGS).unlink()
    assert made(tmp_path, "begun").around == ((262,), ())
    folder = tmp_path / "vocabulary"
    folder.mkdir()
    both = made(folder, "vocabulary", "opt", tokenizer_config_json={
        "tokenizer_class": "GPT2Tokenizer", "bos_token": "lo", "eos_token": "</s>",
        "add_bos_token": True, "add_eos_token": True})
    assert both.around == ((258,), (262,)) and both.encode("a")[-1] == 262


@pytest.mark.parametrize("kind, config, notes", [
    ("byte-level", {}, []),
    # Neutral values are not listed.
    ("byte-level", {"add_bos_token": False, "bos_token": None, "legacy": None, "padding_side": None,
                    "errors": "", "tokenizer_class": "PreTrainedTokenizerFast"}, []),
    ("begun", {"add_bos_token": True, "bos_token": "<s>"}, []),
    ("byte-level", {"model_max_length": 512, "padding_side": "left", "frobnicate": 1,
                    "truncation_side": "left", "processor_class": "P", "legacy": True},
     ["ignored: model_max_length (the model's context is the limit); padding_side, "
      "truncation_side (nothing is padded or truncated); frobnicate (unknown); processor_class "
      "(not about text); legacy (tokenizer.json says how text is split)"]),
    ("byte-level", {"auto_map": {"AutoTokenizer": ["a.B", None]}},
     ["ignored: auto_map (code of a checkpoint is never run)"]),
    ("byte-level", {"clean_up_tokenization_spaces": True},
     ["ignored: clean_up_tokenization_spaces (it would strip spaces from the text of a BPE)"]),
    ("byte-level", {"add_bos_token": True, "bos_token": "<s>"},
     ["ignored: add_bos_token (the post-processor of tokenizer.json decides, and puts no '<s>' "
      "before a text)"]),
    ("begun", {"add_bos_token": False, "bos_token": "<s>", "add_eos_token": True,
               "eos_token": "</s>"},
     ["ignored: add_bos_token (the post-processor of tokenizer.json decides, and puts '<s>' before "
      "a text)",
      "ignored: add_eos_token (the post-processor of tokenizer.json decides, and puts no '</s>' "
      "after a text)"]),
    ("byte-level", {"add_eos_token": True},
     ["ignored: add_eos_token (the post-processor of tokenizer.json decides, and puts nothing "
      "after a text)"])])
def test_notes(kind, config, notes, tmp_path):
    assert settings(tmp_path, kind, **config).notes == [f"{SETTINGS}: {note}" for note in notes]


def test_length_of_the_model(tmp_path):
    config = {"config_json": {"model_type": "llama", "max_position_embeddings": 512}}
    for length, said in ((512, 0), (1e30, 0), (128, 1)):
        notes = made(tmp_path, tokenizer_config_json={"model_max_length": length}, **config).notes
        assert len(notes) == said


def test_notes_of_other_files(tmp_path):
    for name in ("tokenizer.model", "merges.txt", "preprocessor_config.json"):
        (tmp_path / name).touch()
    assert made(tmp_path).notes == [
        "tokenizer.model, merges.txt: not read: tokenizer.json has the vocabulary",
        "preprocessor_config.json: not read: for images and sound"]


def test_truncation_and_padding(tmp_path):
    write(tmp_path, "begun")
    before = text.Tokenizer(tmp_path).encode("lo a b x")
    made = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    made.enable_truncation(2)
    made.enable_padding(length=9)
    made.save(str(tmp_path / "tokenizer.json"))
    tokenizer = text.Tokenizer(tmp_path)
    assert tokenizer.encode("lo a b x") == before
    assert tokenizer.notes == ["tokenizer.json: ignored: truncation, padding (nothing is padded or "
                               "truncated)"]


def test_notes_of_added_tokens(tmp_path):
    """added_tokens_decoder decides; what it leaves out elsewhere is said."""
    listed = {"262": {"content": "<s>", "special": True}, "263": {"content": "</s>"}}
    tokenizer = made(
        tmp_path, "begun",
        tokenizer_config_json={"added_tokens_decoder": listed, "eos_token": "</s>"},
        special_tokens_map_json={"eos_token": "<a>", "additional_special_tokens": ["<q>"]},
        added_tokens_json={"<s>": 262, "<a>": 264})
    assert tokenizer.notes == [
        "special_tokens_map.json: ignored: eos_token, additional_special_tokens "
        f"(added_tokens_decoder of {SETTINGS} decides)",
        f"added_tokens.json: ignored: '<a>' (264) (added_tokens_decoder of {SETTINGS} decides)"]
    listed["7"] = listed.pop("263")
    assert settings(tmp_path, "begun", added_tokens_decoder=listed).notes[-1] == (
        f"{SETTINGS}: ignored: id 7 of '</s>' (in tokenizer.json it has 263)")


def test_class_with_its_own_parts(tmp_path):
    tokenizer = made(tmp_path, "begun", "gpt_neox", tokenizer_config_json={})
    assert tokenizer.notes[0] == (
        "tokenizer.json: ignored: normalizer, post_processor (a GPTNeoXTokenizer builds its own, "
        'as in transformers; tokenizer_class "PreTrainedTokenizerFast" uses those of the file)')
    assert tokenizer.around == ((), ())
    tokenizer = made(tmp_path, "begun", "gpt_neox",
                     tokenizer_config_json={"tokenizer_class": "PreTrainedTokenizerFast"})
    assert tokenizer.notes == [] and tokenizer.around == ((262,), ())
    # A class that is used whatever the file names.
    assert made(tmp_path, "byte-level", "qwen2", tokenizer_config_json={
        "tokenizer_class": "PreTrainedTokenizerFast"}).notes[0] == (
            "tokenizer.json: ignored: normalizer, pre_tokenizer (a Qwen2Tokenizer builds its own, "
            "as in transformers)")
    assert made(tmp_path, "byte-level", "gpt2", tokenizer_config_json={}).notes == []
    # The same without what is a default, as GPT-2's own file.
    spec = json.loads((tmp_path / "tokenizer.json").read_text())
    del spec["pre_tokenizer"]["use_regex"], spec["decoder"]["use_regex"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec))
    assert text.Tokenizer(tmp_path).notes == []


def test_beyond_the_vocabulary(tmp_path):
    config = {"config_json": {"model_type": "llama", "vocab_size": 262}}
    assert made(tmp_path, **config).notes == []
    tokenizer = made(tmp_path, tokenizer_config_json={"pad_token": "<pad>", "eos_token": "lo"},
                     **config)
    assert tokenizer.notes == [
        "tokens beyond the model's vocabulary of 262: '<pad>' (262); a prompt with one is refused"]
    assert tokenizer.stop_ids == {258}
    assert made(tmp_path, tokenizer_config_json={"eos_token": "<a>"}, **config).stop_ids == set()
    many = {f"<{i}>": 262 + i for i in range(6)}
    assert made(tmp_path, added_tokens_json=many, tokenizer_config_json={}, **config).notes == [
        "tokens beyond the model's vocabulary of 262: '<0>' (262), '<1>' (263), '<2>' (264), "
        "'<3>' (265) and 2 more; a prompt with one is refused"]
    (tmp_path / "added_tokens.json").unlink()
    assert refused(tmp_path, kind="begun", **config) == (
        "the tokenizer puts '<s>' around a text, which has id 262, and the model's vocabulary ends "
        "before 262: expected the tokenizer that belongs to the model")


@pytest.mark.parametrize("name, value, message", [
    (SETTINGS, {"eos_token": 2}, "eos_token: expected a token, got 2"),
    (SETTINGS, {"eos_token": {"text": "x"}}, 'eos_token: expected a token, got {"text": "x"}'),
    (SETTINGS, {"add_bos_token": "yes"}, 'add_bos_token: expected true or false, got "yes"'),
    (SETTINGS, {"additional_special_tokens": "<a>"},
     'additional_special_tokens: expected a list of tokens, or an object of name to token, got '
     '"<a>"'),
    (SETTINGS, {"extra_special_tokens": [7]}, "extra_special_tokens: expected a list of tokens, or "
     "an object of name to token, got [7]"),
    (SETTINGS, {"added_tokens_decoder": {"x": {"content": "a"}}},
     'added_tokens_decoder: expected an object of id to token, got {"x": {"content": "a"}}'),
    (SETTINGS, {"added_tokens_decoder": ["<a>"]},
     'added_tokens_decoder: expected an object of id to token, got ["<a>"]'),
    (SETTINGS, {"tokenizer_class": 1}, "tokenizer_class: expected a name, got 1"),
    (SETTINGS, {"chat_template": 7}, "chat_template: expected a text, or a list of objects with "
     "name and template, got 7"),
    (SETTINGS, {"chat_template": [{"name": "default"}]}, "chat_template: expected a text, or a "
     'list of objects with name and template, got [{"name": "default"}]'),
    (SETTINGS, {"fast_tokenizer_files": ["tokenizer.4.0.0.json"]},
     "fast_tokenizer_files: expected tokenizer.json alone, got [\"tokenizer.4.0.0.json\"]; rename "
     "the one to be read, and remove the key"),
    ("special_tokens_map.json", {"eos_token": []}, "eos_token: expected a token, got []"),
    ("added_tokens.json", {"<a>": "262"}, '\'<a>\': expected a token\'s id, got "262"'),
    ("added_tokens.json", {"<a>": 270}, "'<a>' is to have id 270, but a tokenizer gives it 262: "
     "expected an id that the vocabulary has it under, or the next after the vocabulary"),
    (SETTINGS, {"added_tokens_decoder": {"7": {"content": "<a>"}}},
     "'<a>' is to have id 7, but a tokenizer gives it 262: expected an id that the vocabulary has "
     "it under, or the next after the vocabulary")])
def test_refusals(name, value, message, tmp_path):
    assert refused(tmp_path, **{name.replace(".json", "_json"): value}) == f"{name}: {message}"


@pytest.mark.parametrize("flags, why", [
    ({"content": "\ud800"}, "'utf-8' codec can't encode character"),
    ({"content": "<a>", "lstrip": "left"}, "'str' object cannot be converted to 'PyBool'")])
def test_broken_tokens(flags, why, tmp_path):
    with pytest.raises(text.TextError) as error:
        settings(tmp_path, eos_token=flags)
    assert str(error.value).startswith(
        f"{tmp_path}: expected a token with flags that are true or false, got "
        f'{{"content": {json.dumps(flags["content"])}, ')
    assert why in str(error.value)


def test_ids_of_tokenizer_json(tmp_path):
    spec = json.loads((write(tmp_path, "begun") / "tokenizer.json").read_text())
    spec["added_tokens"][1]["id"] = 300
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec))
    with pytest.raises(text.TextError, match="tokenizer.json: '</s>' is to have id 300, but a tok"):
        text.Tokenizer(tmp_path)


def test_a_panic_of_the_package(tmp_path):
    """Its Rust has errors that are no Exception."""
    spec = json.loads((write(tmp_path, "byte-level") / "tokenizer.json").read_text())
    spec["model"]["continuing_subword_prefix"] = "four"
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec))
    with pytest.raises(text.TextError, match=f"cannot read {tmp_path}/tokenizer.json: "):
        text.Tokenizer(tmp_path)


def test_sound(tmp_path):
    spec = json.loads((write(tmp_path, "bare") / "tokenizer.json").read_text())
    spec["decoder"] = {"type": "CTC", "pad_token": "?", "word_delimiter_token": "x",
                       "cleanup": True}
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec))
    with pytest.raises(text.TextError) as error:
        text.Tokenizer(tmp_path)
    assert str(error.value) == (f"{tmp_path}/tokenizer.json: the decoder CTC is for sound, and is "
                                "not supported")


def test_vocabularies_of_other_kinds(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    for name in ("tokenizer.model", "vocab.json", "merges.txt"):
        (tmp_path / name).touch()
    with pytest.raises(text.TextError) as error:
        text.Tokenizer(tmp_path)
    assert str(error.value) == (
        f"no tokenizer.json in {tmp_path} (found tokenizer.model, vocab.json, merges.txt, which is "
        "not read); where there is another form of it, "
        "AutoTokenizer.from_pretrained(...).save_pretrained(...) of the package transformers "
        "writes one")


@pytest.mark.parametrize("name, content, message", [
    ("vocab.json", '{"a": "x"}', "vocab.json: 'a': expected an id of the vocabulary, got \"x\""),
    ("merges.txt", "#version: 0.2\nl o\nlo\n",
     "merges.txt, line 3: expected two tokens, got 1")])
def test_broken_vocabulary(name, content, message, tmp_path):
    write(tmp_path, "vocabulary", model_type="gpt2")
    (tmp_path / name).write_text(content)
    with pytest.raises(text.TextError) as error:
        text.Tokenizer(tmp_path)
    assert str(error.value) == f"{tmp_path}/{message}"


def test_templates(tmp_path):
    """The default one, with tools tool_use; files come before the configuration."""
    named = [{"name": name, "template": name + " {{ image_token }}"}
             for name in ("default", "tool_use", "rag")]
    config = {"chat_template": named, "image_token": "<a>"}
    tokenizer = settings(tmp_path, **config)
    assert tokenizer.template.render([]) == "default <a>"
    assert tokenizer.template.render([], tools=[]) == "tool_use <a>"
    assert tokenizer.notes == ["chat templates 'default', 'rag', 'tool_use': 'default' is used, "
                               "and 'tool_use' where there are tools"]
    tokenizer = settings(tmp_path, chat_template=named[1:])
    assert tokenizer.notes == ["chat templates 'rag', 'tool_use': none is 'default', which is used"]
    (tmp_path / "chat_template.json").write_text('{"chat_template": "of a processor"}')
    assert settings(tmp_path).template.render([]) == "of a processor"
    tokenizer = settings(tmp_path, **config)
    assert tokenizer.template.render([]) == "default <a>"
    assert tokenizer.notes[0] == "chat_template.json: ignored (the tokenizer has its own)"
    (tmp_path / "chat_template.json").unlink()
    (tmp_path / "chat_template.jinja").write_text("file")
    tokenizer = settings(tmp_path, **config)
    assert tokenizer.template.render([], tools=[]) == "file"
    assert tokenizer.notes == [f"{SETTINGS}: ignored: chat_template (chat_template.jinja comes "
                               "first)"]


def test_programs_say_it(tmp_path, capsys, monkeypatch, caplog):
    write(tmp_path, "byte-level", {SETTINGS: {"padding_side": "left"}})
    note = f"{SETTINGS}: ignored: padding_side (nothing is padded or truncated)"

    def opening(folder, **options):
        raise RuntimeError("enough")

    for main, name in ((chat.main, "tp-chat"), (serve.main, "tp-serve")):
        assert main(opening, [str(tmp_path)]) != 0
        assert f"{name}: {note}\n" in capsys.readouterr().err
    (tmp_path / "text").write_text("a b lo")
    assert train.main([str(tmp_path), str(tmp_path / "text"), "--seq", "2", "-o",
                       str(tmp_path / "out")]) != 0
    said = capsys.readouterr().err
    assert f"tp-train: {note}\n" in said
    monkeypatch.setattr("tp_mlir._generator.open_engine",
                        lambda folder, **options: types.SimpleNamespace(notes=()))
    with caplog.at_level(logging.WARNING):
        assert LLM(tmp_path).tokenizer.size == 262
    assert note in caplog.text


def test_a_single_file(tmp_path, capsys):
    """tp-train takes a tokenizer.json alone, and names the files beside it."""
    write(tmp_path, "byte-level", {SETTINGS: {"eos_token": "</s>"}})
    (tmp_path / "text").write_text("a b")
    file = tmp_path / "tokenizer.json"
    assert train.main([*map(str, (tmp_path, tmp_path / "text", "-o", tmp_path / "out")),
                       "--seq", "2", "--tokenizer", str(file)]) != 0
    assert (f"tp-train: {file}: read alone; ignored: {SETTINGS} (--tokenizer {tmp_path} reads them "
            "too)\n") in capsys.readouterr().err


@pytest.mark.parametrize("name", CASES)
def test_pieces(name, tmp_path, monkeypatch):
    """The ids of a text in pieces are those of the whole, wherever it is cut."""
    tokenizer = text.Tokenizer(write(tmp_path, **CASES[name]))
    draw, most = random.Random(name), 0
    for margin in (32, 100):
        monkeypatch.setattr(text._tokenizer, "_MARGIN", margin)
        words = [draw.choice([*TEXTS, " ", "\n", "a" * 30]) for _ in range(15)]
        whole = draw.choice(["", " "]).join(words) + " " * draw.randrange(70)
        for size in (1, 7, 150, len(whole)):
            pieces = list(tokenizer.encode_pieces(whole, size))
            assert sum(pieces, []) == tokenizer.encode(whole, add_special_tokens=False), size
            most = max(most, len(pieces))
    assert most > 1
    assert list(tokenizer.encode_pieces("")) == []


def test_training_text(tmp_path, monkeypatch):
    """The tokens around a text are added once, however long it is, and not to a text that has
    them already."""
    monkeypatch.setattr(train, "_PIECE", 8)
    tokenizer = made(tmp_path, "vocabulary", "opt", tokenizer_config_json={
        "tokenizer_class": "GPT2Tokenizer", "bos_token": "<s>", "eos_token": "</s>",
        "add_bos_token": True, "add_eos_token": True})
    body = "a lo b\n" * 5
    (tmp_path / "one").write_text(body)
    (tmp_path / "none").write_text("")
    (tmp_path / "marked").write_text(f"<s>{body}</s>")
    ids = train.tokenise(tokenizer, [tmp_path / name for name in ("one", "none", "marked")])
    once = [tokenizer.bos, *tokenizer.encode(body, add_special_tokens=False), tokenizer.eos]
    assert list(ids) == once * 2
    assert train._says_around(tokenizer) == "each text has '<s>' before it and '</s>' after it"
    # An end token that the model does not have ends no text.
    tokenizer = made(tmp_path, "begun", tokenizer_config_json={"eos_token": "<a>"},
                     config_json={"model_type": "llama", "vocab_size": 264})
    assert train._says_around(tokenizer) == "each text has '<s>' before it and nothing after it"


def test_sources_are_copied(tmp_path):
    """All files that count go with a checkpoint: what is read there is the same."""
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    write(source, "byte-level", {
        SETTINGS: {"eos_token": "<a>"}, "added_tokens.json": {"<q>": 262, "<a>": 263},
        "special_tokens_map.json": {"bos_token": "<q>"}, "chat_template.jinja": "x",
        "additional_chat_templates/rag.jinja": "y"})
    for path in text.copy_sources(source):
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / path, out / path)
    before, after = text.Tokenizer(source), text.Tokenizer(out)
    assert before.special_tokens == after.special_tokens == {"bos_token": "<q>", "eos_token": "<a>"}
    assert after.encode("lo<q><a>") == before.encode("lo<q><a>")[:] == [258, 262, 263]
    assert after.template.render([], name="rag") == "y"


def test_every_key_has_a_row():
    """docs/Serving.md says of each key what becomes of it."""
    page = (FOLDER.parents[2] / "docs" / "Serving.md").read_text(encoding="utf-8")
    from tp_mlir.text import _settings
    rows = set(re.findall(r"`([a-z_]+)`", page))
    assert {*_settings._HONOURED, *_settings._REASONS} <= rows


def test_ids_end_where_texts_do(tmp_path, monkeypatch):
    """A prompt of ids ends at the tokenizer's end token too, and needs no tokenizer."""
    monkeypatch.setattr("tp_mlir._generator.open_engine", lambda folder, **options:
                        types.SimpleNamespace(stop_ids=frozenset({3}), notes=[]))
    (tmp_path / "one").mkdir()
    tokenizer = made(tmp_path / "one", tokenizer_config_json={"eos_token": "</s>"})
    assert tokenizer.eos in tokenizer.stop_ids
    for prompt in ([1, 2], "a"):
        asked = LLM(tmp_path / "one")._asked(prompt, (), {})
        assert asked.params.stop_ids == {3} | tokenizer.stop_ids
    (tmp_path / "two").mkdir()
    assert LLM(tmp_path / "two")._asked([1, 2], (), {"stop_ids": {4}}).params.stop_ids == {3, 4}
