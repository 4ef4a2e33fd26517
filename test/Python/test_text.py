"""Tokenizers, chat templates and streams of text.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

What transformers makes of the templates is in templates/expected.json
(scripts/make-template-references).
"""

import builtins
import json
import pathlib
import random
import shutil
import sys

import pytest
import tokenizers

from tp_mlir import _commands, text
from tp_mlir.text import _stream

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parent / "fixtures" / "text-model"
TEMPLATES = HERE / "templates"
PIECES = ["Grüß", " dich", " 👋🏽", " the", " licence", "\n", "東京", " ", "é", "x", "  two"]


@pytest.fixture(scope="module")
def tokenizer():
    return text.Tokenizer(MODEL)


def sentencepiece(folder):
    """A tokenizer as Llama 2 has it: blanks are letters, unknown characters are bytes."""
    vocabulary = {"<unk>": 0, "<s>": 1, "</s>": 2}
    for token in [f"<0x{i:02X}>" for i in range(256)] + list("▁abcdehilnst"):
        vocabulary[token] = len(vocabulary)
    made = tokenizers.Tokenizer(tokenizers.models.BPE(
        vocabulary, [], unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.add_special_tokens(["<s>", "</s>"])
    made.normalizer = tokenizers.normalizers.Sequence([
        tokenizers.normalizers.Prepend("▁"), tokenizers.normalizers.Replace(" ", "▁")])
    made.decoder = tokenizers.decoders.Sequence([
        tokenizers.decoders.Replace("▁", " "), tokenizers.decoders.ByteFallback(),
        tokenizers.decoders.Fuse(), tokenizers.decoders.Strip(" ", 1, 0)])
    made.save(str(folder / "tokenizer.json"))
    return text.Tokenizer(folder)


def templates():
    expected = json.loads((TEMPLATES / "expected.json").read_text(encoding="utf-8"))
    conversations = json.loads((TEMPLATES / "conversations.json").read_text(encoding="utf-8"))
    assert sorted(expected) == sorted(path.stem for path in TEMPLATES.glob("*.jinja"))
    for family, cases in expected.items():
        assert list(cases) == list(conversations)
        for name, conversation in conversations.items():
            yield pytest.param(family, conversation, cases[name], id=f"{family}-{name}")


@pytest.mark.parametrize("family, conversation, want", templates())
def test_template(family, conversation, want):
    source = (TEMPLATES / f"{family}.jinja").read_text(encoding="utf-8")
    template = text.ChatTemplate(source, {"bos_token": "<|begin|>", "eos_token": "<|end|>"})
    options = {"add_generation_prompt": True, "date_string": "26 Jul 2024", **conversation}
    if want is None:
        with pytest.raises(text.TemplateError, match="the chat template refuses the conversation"):
            template.render(**options)
    else:
        assert template.render(**options) == want


def test_template_says_why():
    template = text.ChatTemplate((TEMPLATES / "gemma.jinja").read_text(encoding="utf-8"))
    with pytest.raises(text.TemplateError) as error:
        template.render([{"role": "system", "content": "x"}])
    assert str(error.value) == ("the chat template refuses the conversation: "
                                "System role not supported")


@pytest.mark.parametrize("source", [
    "{{ messages.append(1) }}", "{{ ''.__class__.__mro__ }}", "{{ messages | attr('__class__') }}",
    "{{ 1 / 0 }}", "{{ messages[9].role }}", "{{ strftime_now.__globals__ }}"])
def test_template_is_boxed_in(source):
    template = text.ChatTemplate(source + "{{ messages[0].none.none }}")
    with pytest.raises(text.TemplateError):
        template.render([{"role": "user", "content": "x"}])


def test_template_broken():
    with pytest.raises(text.TemplateError) as error:
        text.ChatTemplate("\n{% for %}")
    assert str(error.value).startswith("the chat template 'default' is broken in line 2: ")


def test_template_names():
    template = text.ChatTemplate({"default": "plain", "tool_use": "tools",
                                  "rag": "{{ documents }}"})
    assert template.render([]) == "plain"
    assert template.render([], tools=[]) == "tools"
    assert template.render([], documents=["a"], name="rag") == "['a']"
    with pytest.raises(text.TemplateError) as error:
        template.render([], name="none")
    assert str(error.value) == "no chat template 'none'; there are: default, rag, tool_use"
    with pytest.raises(text.TemplateError,
                       match="expected what JSON can say, got a value of type 'object'"):
        template.render([{"role": object()}])


def test_template_files(tmp_path):
    shutil.copy(MODEL / "tokenizer.json", tmp_path)
    config = {"chat_template": [{"name": "default", "template": "a"},
                                {"name": "tool_use", "template": "b {{ eos_token }}"}],
              "eos_token": {"content": "<|eot|>", "lstrip": False}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert text.Tokenizer(tmp_path).template.render([]) == "a"
    assert text.Tokenizer(tmp_path).template.render([], tools=[]) == "b <|eot|>"
    (tmp_path / "chat_template.jinja").write_text("file")
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "rag.jinja").write_text("more")
    tokenizer = text.Tokenizer(tmp_path)
    assert tokenizer.template.render([]) == "file"
    assert tokenizer.template.render([], name="rag") == "more"


def test_begin_token(tokenizer):
    ids = tokenizer.encode("Hello")
    assert ids[0] == tokenizer.bos == 0 and 0 not in ids[1:]
    assert tokenizer.encode("<|begin|>Hello") == ids
    assert tokenizer.encode("Hello", add_special_tokens=False) == ids[1:]
    chat = tokenizer.encode_chat([{"role": "user", "content": "Hello!"}])
    assert chat.count(tokenizer.bos) == 1 and chat[0] == tokenizer.bos
    assert tokenizer.decode(chat) == "\nHello!\n\n"
    assert tokenizer.decode(ids) == "Hello"
    assert tokenizer.token(0) == "<|begin|>" and tokenizer.size == 700


def test_references(tokenizer):
    """Prompts and conversations become the ids that transformers gave."""
    data = json.loads((MODEL / "continuations.json").read_text(encoding="utf-8"))
    chats = 0
    for case in data["continuations"]:
        if "messages" in case:
            chats += 1
            assert tokenizer.encode_chat(case["messages"]) == case["prompt_ids"]
        else:
            assert tokenizer.encode(case["prompt"]) == case["prompt_ids"]
        decoder = text.StreamDecoder(tokenizer, prompt=case["prompt_ids"])
        assert decoder.push(case["ids"]) + decoder.flush() == case["text"]
    assert chats >= 3


@pytest.mark.parametrize("generation, config, want", [
    (None, None, set()), ([1, 2], None, {1, 2}), (None, 7, {7}), (3, [3, 4], {3, 4}), (0, 0, {0})])
def test_stop_ids(tmp_path, generation, config, want):
    shutil.copy(MODEL / "tokenizer.json", tmp_path)
    for name, value in (("generation_config", generation), ("config", config)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"eos_token_id": value}))
    assert text.Tokenizer(tmp_path).stop_ids == want


def test_stop_ids_of_another_file(tmp_path):
    """As tp-compile's --generation-config; what does not count is not read."""
    shutil.copy(MODEL / "tokenizer.json", tmp_path)
    (tmp_path / "config.json").write_text('{"eos_token_id": 3}')
    (tmp_path / "generation_config.json").write_text("no JSON")
    (tmp_path / "other.json").write_text('{"eos_token_id": [4]}')
    assert text.Tokenizer(tmp_path, "none").stop_ids == {3}
    assert text.Tokenizer(tmp_path, tmp_path / "other.json").stop_ids == {3, 4}
    with pytest.raises(text.TextError, match="generation_config.json"):
        text.Tokenizer(tmp_path, str(tmp_path))


def test_stop_ids_of_a_text_among_others(tmp_path):
    shutil.copy(MODEL / "tokenizer.json", tmp_path)
    (tmp_path / "config.json").write_text(
        '{"eos_token_id": [1, 106], "text_config": {"eos_token_id": 2}}')
    assert text.Tokenizer(tmp_path).stop_ids == {1, 2, 106}


def test_stop_ids_broken(tmp_path):
    shutil.copy(MODEL / "tokenizer.json", tmp_path)
    (tmp_path / "config.json").write_text('{"eos_token_id": ["</s>"]}')
    with pytest.raises(text.TextError) as error:
        text.Tokenizer(tmp_path)
    path = tmp_path / "config.json"
    assert str(error.value) == (
        f"{path}: eos_token_id: expected an id or a list of them, got [\"</s>\"]")


def test_broken_files(tmp_path):
    with pytest.raises(text.TextError) as error:
        text.Tokenizer(tmp_path)
    assert str(error.value) == (
        f"no tokenizer.json in {tmp_path}; where there is another form of it, "
        "AutoTokenizer.from_pretrained(...).save_pretrained(...) of the package transformers "
        "writes one")
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(text.TextError, match=f"cannot read {tmp_path}/tokenizer.json: "):
        text.Tokenizer(tmp_path)
    shutil.copy(MODEL / "tokenizer.json", tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("[]")
    with pytest.raises(text.TextError,
                       match="tokenizer_config.json: expected a JSON object, got list"):
        text.Tokenizer(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(text.TemplateError) as error:
        text.Tokenizer(tmp_path).encode_chat([])
    assert str(error.value) == text.NO_TEMPLATE == (
        "the checkpoint has no chat template, in tokenizer_config.json or chat_template.jinja: "
        "expected one, or a prompt that is no conversation (LLM.generate, /v1/completions of "
        "tp-serve)")


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1\n"


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "config.json"])
def test_pointers(name, tmp_path):
    shutil.copy(MODEL / "tokenizer.json", tmp_path)
    (tmp_path / name).write_text(POINTER)
    with pytest.raises(text.TextError) as error:
        text.Tokenizer(tmp_path)
    assert str(error.value) == (f"{tmp_path / name} is what Git LFS leaves in place of a file: "
                                "run `git lfs pull` in its directory")


def test_missing_package(monkeypatch):
    real = builtins.__import__

    def refuse(name, *arguments, **options):
        if name.partition(".")[0] == "tokenizers":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.delitem(sys.modules, "tokenizers")
    monkeypatch.setattr(builtins, "__import__", refuse)
    monkeypatch.setattr("importlib.import_module", lambda name: refuse(name))
    with pytest.raises(ImportError) as error:
        text.Tokenizer(MODEL)
    assert str(error.value) == ("the package tokenizers is not installed; "
                                "pip install './python[text]' in a checkout of tp-mlir brings it")


def test_server_without_a_package(monkeypatch, capsys):
    """Said when it starts, not to the client whose request needs the package."""
    monkeypatch.setitem(sys.modules, "llguidance", None)
    assert _commands.serve() == 1
    assert capsys.readouterr().err == (
        "tp-serve: the package llguidance is not installed; pip install './python[serve]' in a "
        "checkout of tp-mlir brings it\n")


def streamed(tokenizer, ids, draw, **options):
    """The pieces of a stream that is cut anywhere."""
    decoder, pieces = text.StreamDecoder(tokenizer, **options), []
    while ids:
        count = draw.randint(1, 3)
        pieces.append(decoder.push(ids[:count]))
        ids = ids[count:]
    return pieces + [decoder.flush()], decoder


@pytest.mark.parametrize("seed", range(40))
def test_stream_of_texts(tokenizer, tmp_path, seed):
    """The pieces of any text make the text, and none is half a character."""
    draw = random.Random(seed)
    whole = "".join(draw.choices(PIECES, k=draw.randint(0, 30)))
    for one in (tokenizer, sentencepiece(tmp_path)):
        ids = one.encode(whole, add_special_tokens=False)
        pieces, _ = streamed(one, ids, draw)
        assert "".join(pieces) == one.decode(ids) == whole, f"seed {seed}"
        # A cut in the prompt's midst keeps the blank that an answer begins with.
        at = draw.randint(0, len(ids))
        while "\ufffd" in one.decode(ids[:at]).replace("�", "", whole.count("�")):
            at -= 1
        pieces, _ = streamed(one, ids[at:], draw, prompt=ids[:at])
        assert one.decode(ids[:at]) + "".join(pieces) == whole, f"seed {seed}"


@pytest.mark.parametrize("seed", range(40))
def test_stream_of_any_ids(tokenizer, seed):
    """Bytes that are no characters, and special tokens, too."""
    draw = random.Random(seed)
    # The last of them long, so that old tokens are forgotten.
    below = draw.choice([10, 200, 262, 700])
    ids = [draw.randrange(below) for _ in range(draw.choice([1, 5, 30, 300]))]
    pieces, _ = streamed(tokenizer, ids, draw)
    assert "".join(pieces) == tokenizer.decode(ids), f"seed {seed}"


def first_stop(whole, stops):
    """By definition: after each character, does a stop string end here?"""
    for end in range(1, len(whole) + 1):
        found = [s for s in stops if whole[:end].endswith(s)]
        if found:
            longest = max(found, key=len)
            return whole[:end - len(longest)], longest
    return whole, None


@pytest.mark.parametrize("seed", range(60))
def test_stop_strings(seed):
    draw = random.Random(seed)
    whole = "".join(draw.choices("abc", k=draw.randint(0, 40)))
    stops = ["".join(draw.choices("abc", k=draw.randint(1, 6))) for _ in range(draw.randint(0, 3))]
    finder, made, rest = _stream.StopStrings(stops), "", whole
    while rest:
        count = draw.randint(1, 5)
        made += finder.push(rest[:count])
        rest = rest[count:]
        # What is certain is never taken back, and what is held is never more than needed.
        assert first_stop(whole, stops)[0].startswith(made)
        assert finder.found or len(whole) - len(rest) - len(made) < max(map(len, stops), default=1)
    made += finder.flush()
    assert (made, finder.found) == first_stop(whole, stops), f"seed {seed}"


def test_stop_across_tokens(tokenizer):
    ids = tokenizer.encode("one two STOP three", add_special_tokens=False)
    assert not any("STOP" in tokenizer.token(i) for i in ids)
    pieces, decoder = streamed(tokenizer, ids, random.Random(1), stop=["STOP", "never"])
    assert "".join(pieces) == "one two " and decoder.stopped == "STOP"
    # One character holds nothing back that is not its own.
    pieces, decoder = streamed(tokenizer, ids, random.Random(1), stop="X")
    assert "".join(pieces) == "one two STOP three" and decoder.stopped is None
