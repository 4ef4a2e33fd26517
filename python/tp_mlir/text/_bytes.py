"""The bytes that a token contributes to a text.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A token need not be a whole character, so it has no text of its own. It has bytes, and the text of
several tokens is their concatenated bytes, decoded as UTF-8. The decoder of tokenizer.json
determines the bytes:

    byte-level BPE           Ġthe           20 74 68 65     each character stands for a byte
    sentencepiece            ▁the           20 74 68 65     ▁ stands for a space
      with byte fallback     <0xE2>         e2
    WordPiece                the, ##re      20 74 68 65, 72 65

Some decoders drop the space before the first token of a text. Invalid UTF-8 becomes U+FFFD. With
byte fallback, the package `tokenizers` also replaces the valid characters beside invalid bytes;
this module keeps them.
"""

import functools

_BYTE_TOKEN = len("<0x00>")


@functools.cache
def _alphabet():
    """Returns the characters of byte-level BPE, and the byte of each that does not stand for its
    own code point. Printable bytes stand for themselves; the others are mapped, in order, to the
    characters from U+0100 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = {256 + i: byte for i, byte in enumerate(
        byte for byte in range(256) if byte not in plain)}
    return frozenset(map(chr, [*plain, *others])), others


def _byte_level(text):
    letters, latin = _alphabet()
    # Added tokens may contain other characters; the decoder keeps their text.
    return text.translate(latin).encode("latin-1") if letters.issuperset(text) else text.encode()


def _fallback(text):
    if len(text) == _BYTE_TOKEN and text.startswith("<0x") and text.endswith(">"):
        try:
            return bytes([int(text[3:5], 16)])
        except ValueError:
            pass
    return text


def _clean(text, rules):
    for old, new in rules:
        text = text.replace(old, new)
    return text


CLEANED = ((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"),
           (" 'm", "'m"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"))
_WORD_PIECE = (*CLEANED[:7], (" do not", " don't"), *CLEANED[7:])


def cleaned(text):
    """Applies `clean_up_tokenization_spaces` to `text`."""
    return _clean(text, CLEANED)


class Decoder:
    """Computes the bytes of tokens as a tokenizer's decoder does.

    Args:
        spec: "decoder" of tokenizer.json.

    Attributes:
        unknown: types of steps that are not implemented here; if there are any, the tokenizer
            decodes each token alone.
        ends_words: whether a token carries the space that follows it, which the last token of a
            text loses.
    """

    def __init__(self, spec):
        self._steps = list(_flat(spec))
        self.unknown = [step["type"] for step in self._steps if not _is_known(step)]
        self.ends_words = any(step["type"] == "BPEDecoder" for step in self._steps)

    def piece(self, token, first=False):
        """Returns the bytes of a token.

        Args:
            token: as the vocabulary spells it.
            first: whether it begins a text.
        """
        value, joined = token, False
        if not self._steps:
            value = token if first else " " + token
        for step in self._steps:
            kind = step["type"]
            if kind == "Strip":
                value = _strip(step, value, joined, first)
            elif isinstance(value, str):
                value = _STEPS[kind](step, value, first)
            joined |= kind in ("Fuse", "ByteLevel")
        return value if isinstance(value, bytes) else value.encode()


def _flat(spec):
    if spec and spec["type"] == "Sequence":
        for one in spec["decoders"]:
            yield from _flat(one)
    elif spec:
        yield spec


def _is_known(step):
    if step["type"] == "Replace":
        return "String" in step["pattern"]
    return step["type"] == "Strip" or step["type"] in _STEPS


def _strip(step, value, joined, first):
    """Strips each token, or, after a step that joins the tokens, the beginning of the text."""
    space = step["content"] if isinstance(value, str) else step["content"].encode()
    if joined and not first:
        return value
    for _ in range(step["start"]):
        value = value.removeprefix(space)
    for _ in range(0 if joined else step["stop"]):
        value = value.removesuffix(space)
    return value


def _metaspace(step, text, first):
    dropped = first and step.get("prepend_scheme", "always") != "never"
    return text.replace(step["replacement"], "" if dropped else " ")


def _word_piece(step, text, first):
    prefix = step["prefix"]
    if not first:
        text = text[len(prefix):] if text.startswith(prefix) else " " + text
    return _clean(text, _WORD_PIECE) if step["cleanup"] else text


_STEPS = {
    "ByteLevel": lambda step, text, first: _byte_level(text),
    "ByteFallback": lambda step, text, first: _fallback(text),
    "Replace": lambda step, text, first: text.replace(step["pattern"]["String"], step["content"]),
    "Fuse": lambda step, text, first: text,
    "Metaspace": _metaspace,
    "WordPiece": _word_piece,
    "BPEDecoder": lambda step, text, first: text.replace(step["suffix"], " "),
}
