"""tokenizer.json from a GGUF file's metadata.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Two kinds of vocabulary: "gpt2", pairs of bytes with a list of merges, whose texts are first cut by
an expression that metadata name; and "llama", pieces with scores, of which merges are made.
"""

import enum

from ._metadata import GgufError

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


def _split(expression):
    return [{"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated",
             "invert": False}, {**_BYTES, "use_regex": False}]


def _words(digits):
    return _split(rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}|{_REST}")


_LLAMA3, _QWEN2 = _words(r"\p{N}{1,3}"), _words(r"\p{N}")
_GPT2 = [{**_BYTES, "use_regex": True}]
_DIGITS = [{"type": "Digits", "individual_digits": True}, *_GPT2]
_TEKKEN = _split(
    rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+|[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*|"
    r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
#: What cuts a text, by `tokenizer.ggml.pre`.
_CUTS = {"llama-bpe": _LLAMA3, "llama3": _LLAMA3, "llama-v3": _LLAMA3, "qwen2": _QWEN2,
         "deepseek-r1-qwen": _QWEN2, "gpt-2": _GPT2, "phi-2": _GPT2, "smollm": _DIGITS,
         "starcoder": _DIGITS, "refact": _DIGITS, "command-r": _DIGITS, "tekken": _TEKKEN}
#: Whose texts that are tokens are not taken apart, whatever the merges say.
_WHOLE = {"llama-bpe", "llama3", "llama-v3", "tekken"}
_COMPOSED = {"qwen2", "deepseek-r1-qwen"}
_SPACE = "\u2581"
ADVICE = "a tokenizer.json of the model that the file was made from, put beside, gives text"


class _Kind(enum.IntEnum):
    NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)


class _Vocabulary:
    def __init__(self, file):
        self.file = file
        self.tokens = self._list("tokens", str)
        if not self.tokens:
            raise GgufError(f"{file.path}: there is no vocabulary: {ADVICE}")
        if len(set(self.tokens)) != len(self.tokens):
            raise GgufError(f"{file.path}: metadata 'tokenizer.ggml.tokens': expected each token "
                            f"once: {ADVICE}")
        self.kinds = self._list("token_type", int) or [_Kind.NORMAL] * len(self.tokens)
        if len(self.kinds) != len(self.tokens):
            raise GgufError(f"{file.path}: metadata 'tokenizer.ggml.token_type': expected "
                            f"{len(self.tokens)} items, got {len(self.kinds)}")

    def get(self, key, default=None):
        return self.file.metadata.get(f"tokenizer.ggml.{key}", default)

    def _list(self, key, kind):
        value = self.get(key, [])
        words = {str: "texts", int: "integers"}.get(kind, "numbers")
        if not isinstance(value, list) or not all(isinstance(one, kind) for one in value):
            raise GgufError(f"{self.file.path}: metadata 'tokenizer.ggml.{key}': expected a list "
                            f"of {words}")
        try:
            "".join(value if kind is str else ()).encode()
        except UnicodeEncodeError:
            raise GgufError(f"{self.file.path}: metadata 'tokenizer.ggml.{key}': expected UTF-8: "
                            f"{ADVICE}") from None
        return value

    def scores(self):
        return self._list("scores", (int, float))

    def merges(self):
        pairs = [tuple(line.split(" ")) for line in self._list("merges", str)]
        if not pairs or any(len(pair) != 2 for pair in pairs):
            raise GgufError(f"{self.file.path}: metadata 'tokenizer.ggml.merges': expected pairs "
                            f"of tokens: {ADVICE}")
        return pairs

    def token(self, name):
        """The id and text of a token with a name; None if there is none."""
        number = self.get(f"{name}_token_id")
        if not isinstance(number, int) or not 0 <= number < len(self.tokens):
            return None
        return number, self.tokens[number]

    def ids(self):
        return {token: i for i, token in enumerate(self.tokens)}

    def added(self, normalizes):
        """Tokens that are found in a text before anything else."""
        return [{"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
                 "normalized": kind == _Kind.USER and normalizes,
                 "special": kind in (_Kind.CONTROL, _Kind.UNKNOWN)}
                for i, (token, kind) in enumerate(zip(self.tokens, self.kinds))
                if kind in (_Kind.CONTROL, _Kind.USER, _Kind.UNKNOWN)]


def _byte_pairs(vocabulary):
    cut = vocabulary.get("pre", "")
    if cut not in _CUTS:
        raise GgufError(f"{vocabulary.file.path}: unsupported metadata 'tokenizer.ggml.pre' "
                        f"{cut!r}: expected one of {', '.join(_CUTS)}: {ADVICE}")
    steps = _CUTS[cut]
    return {
        "normalizer": {"type": "NFC"} if cut in _COMPOSED else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
        "decoder": {**_BYTES, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False,
                  "byte_fallback": False, "ignore_merges": cut in _WHOLE,
                  "vocab": vocabulary.ids(),
                  "merges": [list(pair) for pair in vocabulary.merges()]}}, False


def _make_merges(vocabulary):
    """Pairs that make a piece, those of the highest score first: what is merged first where
    pieces compete."""
    scores, ids = vocabulary.scores(), vocabulary.ids()
    if len(scores) != len(vocabulary.tokens):
        raise GgufError(f"{vocabulary.file.path}: metadata 'tokenizer.ggml.scores': expected "
                        f"{len(vocabulary.tokens)} items, got {len(scores)}")
    found = []
    for i, (token, kind) in enumerate(zip(vocabulary.tokens, vocabulary.kinds)):
        if kind != _Kind.NORMAL:
            continue
        for at in range(1, len(token)):
            left, right = ids.get(token[:at]), ids.get(token[at:])
            if left is not None and right is not None:
                found.append((-scores[i], left, right, token[:at], token[at:]))
    found.sort()
    return [[left, right] for *_, left, right in found]


def _pieces(vocabulary):
    unknown = vocabulary.token("unknown")
    has_prefix = vocabulary.get("add_space_prefix", True) is not False
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": _SPACE}
    normalizer = {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": _SPACE}, replace]} if has_prefix else replace
    steps = [{"type": "Replace", "pattern": {"String": _SPACE}, "content": " "},
             {"type": "ByteFallback"}, {"type": "Fuse"}]
    if has_prefix:
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {
        "normalizer": normalizer, "pre_tokenizer": None,
        "decoder": {"type": "Sequence", "decoders": steps},
        "model": {"type": "BPE", "dropout": None, "unk_token": unknown and unknown[1],
                  "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True,
                  "byte_fallback": True, "ignore_merges": False, "vocab": vocabulary.ids(),
                  "merges": _make_merges(vocabulary)}}, not has_prefix


def _around(vocabulary):
    """What stands before and after a text."""
    is_pieces = vocabulary.get("model") == "llama"
    before = vocabulary.token("bos") if vocabulary.get("add_bos_token", is_pieces) else None
    after = vocabulary.token("eos") if vocabulary.get("add_eos_token", False) else None
    if not before and not after:
        return None
    def special(token, kind=0):
        return {"SpecialToken": {"id": token[1], "type_id": kind}}
    def sequence(name, kind):
        return [*([special(before, kind)] if before else []),
                {"Sequence": {"id": name, "type_id": kind}},
                *([special(after, kind)] if after else [])]
    return {"type": "TemplateProcessing", "single": sequence("A", 0),
            "pair": sequence("A", 0) + sequence("B", 1),
            "special_tokens": {token[1]: {"id": token[1], "ids": [token[0]], "tokens": [token[1]]}
                               for token in (before, after) if token}}


def read_tokenizer(file):
    """tokenizer.json and tokenizer_config.json of a file, as dicts."""
    vocabulary = _Vocabulary(file)
    makers = {"gpt2": _byte_pairs, "llama": _pieces}
    kind = vocabulary.get("model")
    if kind not in makers:
        raise GgufError(f"{file.path}: unsupported metadata 'tokenizer.ggml.model' {kind!r}: "
                        f"expected 'gpt2' or 'llama': {ADVICE}")
    parts, normalizes = makers[kind](vocabulary)
    config = {"tokenizer_class": "PreTrainedTokenizerFast"}
    for name, key in (("bos_token", "bos"), ("eos_token", "eos"), ("unk_token", "unknown"),
                      ("pad_token", "padding")):
        token = vocabulary.token(key)
        if token:
            config[name] = token[1]
    whole = {"version": "1.0", "truncation": None, "padding": None,
             "added_tokens": vocabulary.added(normalizes),
             "normalizer": parts["normalizer"], "pre_tokenizer": parts["pre_tokenizer"],
             "post_processor": _around(vocabulary), "decoder": parts["decoder"],
             "model": parts["model"]}
    return whole, config


def read_ends(file):
    """generation_config.json: the ids at which an answer ends."""
    ids = [file.metadata.get(f"tokenizer.ggml.{name}_token_id") for name in ("eos", "eot", "eom")]
    ends = list(dict.fromkeys(i for i in ids if isinstance(i, int)))
    return {"eos_token_id": ends} if ends else {}
