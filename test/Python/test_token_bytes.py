"""Tokens are bytes: text, log-probabilities and offsets of every kind of tokenizer.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import asyncio
import codecs
import itertools
import json
import random

import httpx
import pytest
from echo_engine import EchoEngine
from small_tokenizers import KINDS, write

from tp_mlir import serve, text
from tp_mlir.engine import Logprobs
from tp_mlir.serve import _answers, _responses

# Kinds of tokenizer.json, and classes that bring another decoder.
FILES = {**{kind: (kind, {}) for kind in KINDS},
         "llama": ("sentencepiece", {"tokenizer_class": "LlamaTokenizer"}),
         "gemma": ("sentencepiece", {"tokenizer_class": "GemmaTokenizer"}),
         "cleaned": ("unigram", {"clean_up_tokenization_spaces": True}),
         "added": ("byte-level", {"eos_token": "<a>", "added_tokens_decoder": {
             "262": {"content": "<a>", "special": True}, "263": {"content": "é ü"},
             "264": {"content": "東"}}})}


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory):
    found = {}
    for name, (kind, settings) in FILES.items():
        folder = tmp_path_factory.mktemp("tokenizer")
        found[name] = text.Tokenizer(write(folder, kind, {"tokenizer_config.json": settings}))
    return found


def joined(tokenizer, ids, begins=True):
    """The bytes of visible tokens, one after the other."""
    data = b""
    for i in ids:
        if not tokenizer.is_special(i):
            data += tokenizer.bytes(i, begins)
            begins = False
    return data


def is_open(data):
    """True if a character lacks bytes at the end."""
    utf8 = codecs.getincrementaldecoder("utf-8")("replace")
    utf8.decode(data)
    return utf8.getstate()[0] != b""


def some_ids(tokenizer, draw):
    """Any, or those of a text, whose characters are whole."""
    if draw.random() < 0.5:
        return [draw.randrange(tokenizer.size) for _ in range(draw.randint(1, 12))]
    whole = "".join(draw.choices(["lo ", "a", " é", "x", "東京 ", "!", "👋🏽", " s"],
                                 k=draw.randint(1, 8)))
    return tokenizer.encode(whole) or [0]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("seed", range(25))
def test_joined_bytes(tokenizers, name, seed):
    draw, tokenizer = random.Random(f"{name} {seed}"), tokenizers[name]
    ids = some_ids(tokenizer, draw)
    got = tokenizer.decode(ids)
    want = joined(tokenizer, ids).decode("utf-8", "replace")
    assert got == (tokenizer.clean(want) if tokenizer.clean else want), f"seed {seed}"
    # The package's own text, but for bytes that are no UTF-8.
    own = tokenizer._tokenizer.decode(ids, skip_special_tokens=True)
    if "\ufffd" not in own and not tokenizer.clean:
        assert got == own, f"seed {seed}"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("seed", range(25))
def test_stream(tokenizers, name, seed):
    """Pieces make the text; a prompt in front changes the first blank alone; offsets index the
    text."""
    draw, tokenizer = random.Random(f"{name} {seed}"), tokenizers[name]
    ids, prompt = some_ids(tokenizer, draw), tokenizer.encode("lo a") if draw.random() < 0.5 else []
    decoder, pieces, places = text.StreamDecoder(tokenizer, prompt=prompt), "", []
    for i in ids:
        places.append((decoder.offset, tokenizer.bytes(i, decoder.is_first)))
        pieces += decoder.push([i])
    pieces += decoder.flush()
    want = joined(tokenizer, ids, not prompt).decode("utf-8", "replace")
    assert pieces == (tokenizer.clean(want) if tokenizer.clean else want), f"seed {seed}"
    assert decoder.certain == len(pieces)
    for i, (offset, data) in zip(ids, places):
        assert 0 <= offset <= len(pieces)
        shown = data.decode("utf-8", "ignore")
        whole = shown.encode() == data and not tokenizer.is_special(i)
        if whole and not tokenizer.clean and "\ufffd" not in pieces:
            assert pieces[offset:offset + len(shown)] == shown, f"seed {seed}"


@pytest.mark.parametrize("name", FILES)
def test_strings_are_distinct(tokenizers, name):
    tokenizer = tokenizers[name]
    ids = range(tokenizer.size + 3)
    assert len({tokenizer.token(i) for i in ids}) == len(ids)
    for i in ids:
        data, string = tokenizer.bytes(i), tokenizer.token(i)
        if string == f"token_id:{i}":
            continue
        if string.startswith("bytes:"):
            assert bytes.fromhex(string.removeprefix("bytes:").replace("\\x", "")) == data
        else:
            assert string.encode() == data


def test_strings(tokenizers):
    byte_level, pieces = tokenizers["added"], tokenizers["sentencepiece"]
    assert [byte_level.token(i) for i in byte_level.encode("lo é\u2019東<a>")] == [
        "lo", " ", "é", "bytes:\\xe2\\x80", "bytes:\\x99", "東", "<a>"]
    assert byte_level.token(9999) == "token_id:9999" and byte_level.bytes(9999) == b""
    assert [pieces.token(i) for i in pieces.encode("a lo東", add_special_tokens=False)] == [
        " a", " ", "lo", "bytes:\\xe6", "bytes:\\x9d", "bytes:\\xb1"]
    # The byte of a letter that is a token itself.
    assert pieces.token(pieces._tokenizer.token_to_id("<0x61>")) == "bytes:\\x61"
    assert pieces.token(pieces._tokenizer.token_to_id("a")) == "a"
    # An answer keeps the blank that begins it, a text does not.
    first = pieces._tokenizer.token_to_id("▁a")
    assert pieces.bytes(first) == b" a" and pieces.bytes(first, first=True) == b"a"


def test_replaced_alone(tokenizers):
    """A byte that is none of a character's leaves its neighbours as they are."""
    pieces = tokenizers["sentencepiece"]
    ids = [pieces._tokenizer.token_to_id(f"<0x{byte:02X}>") for byte in (0xC3, 0xA9, 0xFF, 0x61)]
    assert pieces.decode(ids) == "é\ufffda"


def test_words_that_end(tmp_path):
    """Tokens that have the blank after them, as GPT-1's."""
    spec = json.loads((write(tmp_path, "bare") / "tokenizer.json").read_text())
    spec["decoder"] = {"type": "BPEDecoder", "suffix": "</w>"}
    spec["model"]["vocab"] = {"?": 0, "lo": 1, "a</w>": 2, "x</w>": 3}
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec))
    tokenizer = text.Tokenizer(tmp_path)
    for ids in itertools.product(range(4), repeat=3):
        assert tokenizer.decode(ids) == tokenizer._tokenizer.decode(ids)


def test_unknown_decoder(tmp_path):
    spec = json.loads((write(tmp_path, "bare") / "tokenizer.json").read_text())
    spec["decoder"] = {"type": "Replace", "pattern": {"Regex": "o$"}, "content": "0"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec))
    tokenizer = text.Tokenizer(tmp_path)
    assert tokenizer.decode([1, 2]) == "al0"
    assert tokenizer.notes == ["tokenizer.json: decoder Replace: not known here, so each token is "
                               "decoded by itself"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("seed", range(5))
def test_no_row_is_lost(tokenizers, name, seed):
    draw, tokenizer = random.Random(f"{name} {seed}"), tokenizers[name]
    likeliest = draw.sample(range(tokenizer.size + 2), min(20, tokenizer.size + 2))
    chosen = draw.choice([likeliest[0], draw.randrange(tokenizer.size)])
    values = {i: -0.25 * place for place, i in enumerate(likeliest)}
    token = _answers.Token(chosen, Logprobs(values.get(chosen, -99.0), tuple(values.items())), 0,
                           False)
    made = _responses.Completions(tokenizer).logprobs([token])
    assert len(made["top_logprobs"][0]) == len({*likeliest, chosen}), f"seed {seed}"
    assert made["top_logprobs"][0][made["tokens"][0]] == made["token_logprobs"][0]
    one, = _responses.Chats(tokenizer).logprobs([token])["content"]
    assert [bytes(row["bytes"]) for row in one["top_logprobs"]] == list(
        map(tokenizer.bytes, likeliest))


def test_first_of_a_text(tokenizers):
    """Without a prompt that is seen, the first token has no blank, and its rivals have none."""
    pieces = tokenizers["sentencepiece"]
    a, b = (pieces._tokenizer.token_to_id(token) for token in ("▁a", "▁b"))
    token = _answers.Token(a, Logprobs(-1.0, ((a, -1.0), (b, -2.0))), 0, True)
    one, = _responses.Chats(pieces).logprobs([token])["content"]
    assert (one["token"], one["bytes"]) == (" a", list(b"a"))
    assert [row["bytes"] for row in one["top_logprobs"]] == [list(b"a"), list(b"b")]
    decoder = text.StreamDecoder(pieces, prompt=[1])
    assert decoder.is_first and decoder.push([a, b]) == "a b" and not decoder.is_first


def served(tokenizer, bodies):
    """Answers of a server whose engine says the prompt again."""
    engine = EchoEngine(vocabulary=tokenizer.size)
    app = serve.create_app(engine, tokenizer, serve.Settings(model="echo"))

    async def ask():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://echo") as client:
            return [await client.post("/v1/completions", json={"model": "echo", **body})
                    for body in bodies]

    try:
        return asyncio.run(ask())
    finally:
        engine.close()


def gathered(lines):
    """The text, the log-probabilities and the events of a stream."""
    events = [json.loads(line.removeprefix("data: ")) for line in lines.splitlines()
              if line.startswith("data: {")]
    choices = [choice for event in events for choice in event["choices"]]
    found = {}
    for choice in choices:
        for key, values in (choice["logprobs"] or {}).items():
            found.setdefault(key, []).extend(values)
    return "".join(choice["text"] for choice in choices), found, choices


@pytest.mark.parametrize("name", FILES)
def test_server(tokenizers, name):
    draw, tokenizer = random.Random(name), tokenizers[name]
    prompts = [some_ids(tokenizer, draw) for _ in range(6)]
    asked = [{"prompt": [0, *ids], "max_tokens": len(ids), "logprobs": 2, "ignore_eos": True,
              **draw.choice([{}, {"stop": "a"}, {"stop": ["o", "lo "]}])} for ids in prompts]
    bodies = [{**body, "stream": stream} for body in asked for stream in (False, True)]
    answers = served(tokenizer, bodies)
    for ids, body, whole, stream in zip(prompts, asked, answers[::2], answers[1::2]):
        choice, = whole.json()["choices"]
        shown, values = choice["text"], choice["logprobs"]
        if "stop" not in body:
            assert values["tokens"] == [tokenizer.token(i) for i in ids]
        # A character that the prompt leaves open is whole in the answer.
        if "stop" not in body and not tokenizer.clean and not is_open(joined(tokenizer, ids)):
            assert joined(tokenizer, ids, False).decode("utf-8", "replace") == shown
        assert values["text_offset"] == sorted(values["text_offset"])
        assert all(offset <= len(shown) for offset in values["text_offset"])
        text_of_stream, rows, choices = gathered(stream.text)
        assert text_of_stream == shown and rows == values
        # No token comes before the text that it begins in.
        length = 0
        for one in choices:
            length += len(one["text"])
            assert all(at <= length for at in (one["logprobs"] or {}).get("text_offset", ()))


def test_text_that_is_not_taken(tmp_path):
    """A tokenizer without a token for what it does not know refuses a text, and says so."""
    spec = json.loads((write(tmp_path, "bare") / "tokenizer.json").read_text())
    spec["model"]["unk_token"] = "<none>"
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec))
    tokenizer = text.Tokenizer(tmp_path)
    answer, = served(tokenizer, [{"prompt": "lo unheard"}])
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("the tokenizer does not take the text: ")
    assert answer.json()["error"]["param"] == "prompt"
