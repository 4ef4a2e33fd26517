"""Small tokenizers of each kind, for tests and for scripts/make-tokenizer-references.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

LETTERS = "abcdefhilnostxy<>/|_é.,'!"


def byte_level():
    """As GPT-2 and Llama 3 have it: 256 letters for bytes, and some words."""
    tokens = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "Ġa", "Ġb", "lo", "Ġx", "Ã©", "âĢ"]
    merges = [("Ġ", "a"), ("Ġ", "b"), ("l", "o"), ("Ġ", "x"), ("Ã", "©"), ("â", "Ģ")]
    made = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return made


def begun():
    """The same with <s>, which its post-processor puts before a text."""
    made = byte_level()
    made.add_special_tokens(["<s>", "</s>"])
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", made.token_to_id("<s>"))])
    return made


def sentencepiece():
    """As Llama 2 has it: blanks are letters, unknown characters are bytes."""
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *LETTERS,
              "▁a", "▁b", "lo", "▁x"]
    made = Tokenizer(models.BPE(
        {token: i for i, token in enumerate(tokens)},
        [("▁", "a"), ("▁", "b"), ("l", "o"), ("▁", "x")], unk_token="<unk>", fuse_unk=True,
        byte_fallback=True))
    made.add_special_tokens(["<unk>", "<s>", "</s>"])
    made.normalizer = normalizers.Sequence([
        normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence([
        decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
        decoders.Strip(" ", 1, 0)])
    return made


def word_piece():
    """As BERT has it: ## goes on with a word."""
    tokens = ["[UNK]", *LETTERS, *("##" + letter for letter in LETTERS), "lo", "##lo"]
    made = Tokenizer(models.WordPiece({token: i for i, token in enumerate(tokens)},
                                      unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    return made


def unigram():
    """As T5 and XLM-R have it."""
    tokens = [("<unk>", 0.0), ("▁", -3.0), *((letter, -4.0) for letter in LETTERS), ("▁a", -2.0),
              ("lo", -2.0)]
    made = Tokenizer(models.Unigram(tokens, unk_id=0))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    return made


def bare():
    """Words alone, without a decoder."""
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(["?", "a", "lo", "x"])},
                                      unk_token="?"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return made


KINDS = {"byte-level": byte_level, "begun": begun, "sentencepiece": sentencepiece,
         "word-piece": word_piece, "unigram": unigram, "bare": bare}


def write(folder, kind, files=(), model_type="llama"):
    """A checkpoint's folder with a tokenizer and the files beside it, as {name: value}. Kind
    "vocabulary" is the byte-level one in vocab.json and merges.txt."""
    if kind == "vocabulary":
        model = json.loads(byte_level().to_str())["model"]
        (folder / "vocab.json").write_text(json.dumps(model["vocab"]), encoding="utf-8")
        merges = "".join(" ".join(merge) + "\n" for merge in model["merges"])
        (folder / "merges.txt").write_text("#version: 0.2\n" + merges, encoding="utf-8")
    else:
        KINDS[kind]().save(str(folder / "tokenizer.json"))
    for name, value in {"config.json": {"model_type": model_type}, **dict(files)}.items():
        if name.endswith(".json"):
            value = json.dumps(value)
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(value, encoding="utf-8")
    return folder
