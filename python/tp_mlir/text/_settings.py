"""Reads the tokens that the files beside tokenizer.json declare, and knows every key.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The rules are those of `AutoTokenizer.from_pretrained` of transformers 5:

1. tokenizer_config.json names the special tokens and has the other settings.
2. If it has an `added_tokens_decoder`, that lists all added tokens, and special_tokens_map.json
   and added_tokens.json are ignored. Otherwise names in special_tokens_map.json take precedence,
   and added_tokens.json and tokenizer.json list the added tokens.
3. Added tokens that the vocabulary lacks are appended to it in the order of their ids, followed
   by named tokens and then the extra ones.
"""

import json

from ._files import TextError, read

NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token",
         "mask_token")
_FLAGS = ("add_bos_token", "add_eos_token", "add_prefix_space", "legacy", "split_special_tokens",
          "clean_up_tokenization_spaces",
          "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output")
_EXTRA = ("extra_special_tokens", "additional_special_tokens")
_HONOURED = {*NAMES, *_FLAGS, *_EXTRA, "added_tokens_decoder", "tokenizer_class", "chat_template",
             "fast_tokenizer_files"}
# Keys that change neither ids nor text, grouped by reason.
_LENGTHS = ("model_max_length", "max_len")
_IGNORED = {
    "the model's context is the limit": _LENGTHS,
    "nothing is padded or truncated": (
        "padding", "padding_side", "truncation", "truncation_side", "truncation_strategy",
        "max_length", "stride", "pad_to_multiple_of", "pad_token_type_id"),
    "tokenizer.json says how text is split": (
        "do_lower_case", "do_basic_tokenize", "never_split", "strip_accents", "trim_offsets",
        "tokenize_chinese_chars", "sp_model_kwargs", "spaces_between_special_tokens", "errors",
        "unk_id", "fix_mistral_regex"),
    "code of a checkpoint is never run": ("auto_map",),
    "templates say it": ("use_default_system_prompt", "default_system_prompt",
                         "chat_control_tokens", "response_template", "response_schema"),
    "not about text": (
        "processor_class", "name_or_path", "model_input_names", "return_token_type_ids",
        "special_tokens_map_file", "tokenizer_file", "vocab_file", "merges_file", "backend",
        "is_local", "local_files_only", "files_loaded", "init_inputs", "use_fast", "verbose",
        "device_map", "transformers_version", "remove_space", "keep_accents"),
}
_REASONS = {key: reason for reason, keys in _IGNORED.items() for key in keys}


def content(token):
    """Returns the text of a token that a file gives as a string or as an object."""
    return token.get("content") if isinstance(token, dict) else token


def _is_token(value):
    return isinstance(content(value), str) and content(value) != ""


def _refuse(path, key, expected, value):
    text = json.dumps(value, ensure_ascii=False)
    raise TextError(f"{path}: {key}: expected {expected}, got {text[:80]}")


def _check(path, settings):
    """Raises TextError if the value of a key has the wrong type."""
    for key, value in settings.items():
        if value is None:
            continue
        if key in NAMES and not _is_token(value):
            _refuse(path, key, "a token", value)
        if key in _FLAGS and not isinstance(value, bool):
            _refuse(path, key, "true or false", value)
        if key in _EXTRA:
            tokens = value.values() if isinstance(value, dict) else value
            if not isinstance(value, (dict, list)) or not all(map(_is_token, tokens)):
                _refuse(path, key, "a list of tokens, or an object of name to token", value)
        if key == "tokenizer_class" and not isinstance(value, str):
            _refuse(path, key, "a name", value)
        if key == "added_tokens_decoder" and not (isinstance(value, dict) and all(
                is_id(key) and isinstance(one, dict) and _is_token(one)
                for key, one in value.items())):
            _refuse(path, key, "an object of id to token", value)


def is_id(key):
    """Returns whether the key of a JSON object is a token id."""
    return key.isascii() and key.isdecimal() and len(key) <= 10


def added_token(entry, special=None):
    """Returns a token of a file with all its flags. `special` overrides the file's flag."""
    if isinstance(entry, str):
        entry = {"content": entry}
    special = entry.get("special", False) if special is None else special
    flags = {key: entry.get(key, False) for key in ("single_word", "lstrip", "rstrip")}
    return {"content": entry["content"], "special": special, **flags,
            "normalized": entry.get("normalized", not special)}


class Settings:
    """The tokenizer settings of one checkpoint.

    Attributes:
        config: tokenizer_config.json, with the keys that special_tokens_map.json replaces.
        names: special tokens by name, each a string or an object with flags.
        extra: further special tokens, likewise.
        added: added tokens with their flags, by id.
        source: the file that lists them, beside tokenizer.json.
        notes: messages about ignored files.
    """

    def __init__(self, folder, spec):
        path, self._folder = folder / "tokenizer_config.json", folder
        self.config, self.notes = read(path), []
        _check(path, self.config)
        files = self.config.get("fast_tokenizer_files")
        if files and files != ["tokenizer.json"]:
            raise TextError(f"{path}: fast_tokenizer_files: expected tokenizer.json alone, got "
                            f"{json.dumps(files)}; rename the one to be read, and remove the key")
        special_map = read(folder / "special_tokens_map.json")
        _check(folder / "special_tokens_map.json", special_map)
        in_file = {one["id"]: added_token(one) for one in spec.get("added_tokens") or ()}
        listed = self.config.get("added_tokens_decoder")
        if listed is not None:
            self._ignore_map(special_map)
        self._name(special_map if listed is None else {})
        added = self._added_file()
        self.source = "tokenizer_config.json" if listed is not None else (
            "added_tokens.json" if added else "tokenizer.json")
        if listed is None:
            specials = {content(one) for one in [*self.names.values(), *self.extra]}
            self.added = {i: added_token({"content": text, "special": text in specials})
                          for text, i in added.items()} | in_file
        else:
            self.added = {int(i): added_token(one) for i, one in listed.items()}
            self._ignore_added(added, in_file)

    def _name(self, special_map):
        """Sets the special tokens of the settings and of special_tokens_map.json."""
        extra, old = (self.config.get(key) for key in _EXTRA)
        if old is not None and not extra:
            extra, old = old, None
        named = dict(extra) if isinstance(extra, dict) else {}
        extra = None if named else extra
        more, old = special_map.get(_EXTRA[0]), special_map.get(_EXTRA[1], old)
        if isinstance(more, dict):
            named, extra = named | more, None
        elif more is not None:
            extra = [*(extra or []), *(one for one in more if one not in (extra or []))]
        self.extra = list(old or []) if extra is None else list(extra)
        self.config |= {key: value for key, value in special_map.items() if key not in _EXTRA}
        # A model may have names of its own, such as image_token.
        own = {key: value for key, value in self.config.items()
               if key.endswith("_token") and key not in NAMES and _is_token(value)}
        self.names = {key: self.config[key] for key in NAMES if self.config.get(key)}
        self.names |= own | named

    def default_names(self, names):
        """Adds default special tokens; the standard names come first."""
        found = self.names | {key: text for key, text in names.items() if key not in self.config}
        standard = {key: found.pop(key) for key in NAMES if key in found}
        self.names = standard | found

    def _added_file(self):
        path = self._folder / "added_tokens.json"
        added = read(path)
        for text, i in added.items():
            if not isinstance(i, int) or isinstance(i, bool) or i < 0 or not text:
                _refuse(path, f"'{text}'", "a token's id", i)
        return added

    def _ignore_map(self, special_map):
        different = [key for key, value in special_map.items() if value and (
            content(value) != content(self.config.get(key)) if not isinstance(value, list) else
            {*map(content, value)} - {*map(content, self.config.get(key) or [])})]
        if different:
            self.notes.append(f"special_tokens_map.json: ignored: {', '.join(different)} "
                              "(added_tokens_decoder of tokenizer_config.json decides)")

    def _ignore_added(self, added, in_file):
        known = {one["content"]: i for i, one in [*self.added.items(), *in_file.items()]}
        lost = [f"'{text}' ({i})" for text, i in added.items() if known.get(text) != i]
        if lost:
            self.notes.append(f"added_tokens.json: ignored: {some(lost)} "
                              "(added_tokens_decoder of tokenizer_config.json decides)")

    def ignored(self, more, limit):
        """Returns a note that lists the ignored keys by reason, or no note if there are none.

        Args:
            more: reasons by key, for keys that other checkpoints honour.
            limit: the model's number of positions, or 0. A maximal length that is not below it
                is not listed.
        """
        found = {}
        for key, value in self.config.items():
            own = key.endswith("_token") and _is_token(value)
            if value in (None, False, "", [], {}) or key not in more and (key in _HONOURED or own):
                continue
            if key in _LENGTHS and isinstance(value, (int, float)) and value >= limit > 0:
                continue
            reason = more.get(key) or _REASONS.get(key, "unknown")
            found.setdefault(reason, []).append(key)
        listed = "; ".join(f"{', '.join(keys)} ({why})" for why, keys in found.items())
        return [f"tokenizer_config.json: ignored: {listed}"] if found else []


def some(texts, most=4):
    """Joins the first `most` texts for a message, and counts the rest."""
    rest = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + rest
