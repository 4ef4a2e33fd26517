"""What the files beside tokenizer.json say of its tokens, and what becomes of each key.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The law is that of `AutoTokenizer.from_pretrained` of transformers 5, in the order in which it
reads the files:

1. tokenizer_config.json has the names of special tokens and the other settings.
2. Its `added_tokens_decoder`, if it has one, lists all added tokens, and special_tokens_map.json
   and added_tokens.json do not count. Without one, the names in special_tokens_map.json replace
   those of the settings, and the added tokens are those of added_tokens.json and tokenizer.json.
3. Added tokens that the vocabulary lacks come after it in the order of their ids, then named
   tokens, then the extra ones.
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
# Keys that change neither ids nor text here, by the reason.
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
    """The text of a token, which a file gives as a text or as an object."""
    return token.get("content") if isinstance(token, dict) else token


def _is_token(value):
    return isinstance(content(value), str) and content(value) != ""


def _refuse(path, key, expected, value):
    text = json.dumps(value, ensure_ascii=False)
    raise TextError(f"{path}: {key}: expected {expected}, got {text[:80]}")


def _check(path, settings):
    """Raises TextError where a key has another type than it may have."""
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
    """Whether the key of a JSON object is a token's id."""
    return key.isascii() and key.isdecimal() and len(key) <= 10


def added_token(entry, special=None):
    """A token of a file with all its flags; `special` as the file says unless it is given."""
    if isinstance(entry, str):
        entry = {"content": entry}
    special = entry.get("special", False) if special is None else special
    flags = {key: entry.get(key, False) for key in ("single_word", "lstrip", "rstrip")}
    return {"content": entry["content"], "special": special, **flags,
            "normalized": entry.get("normalized", not special)}


class Settings:
    """The settings of one checkpoint.

    Attributes:
        config: what tokenizer_config.json says, with what special_tokens_map.json replaces.
        names: special tokens by name; each a text or an object with flags.
        extra: further special tokens, likewise.
        added: added tokens with their flags, by id.
        source: the file that these are in, beside tokenizer.json.
        notes: what is not as a file says, for the log.
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
        """Takes the special tokens from the settings, to which special_tokens_map.json adds."""
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
        # A model may name tokens of its own, such as image_token.
        own = {key: value for key, value in self.config.items()
               if key.endswith("_token") and key not in NAMES and _is_token(value)}
        self.names = {key: self.config[key] for key in NAMES if self.config.get(key)}
        self.names |= own | named

    def default_names(self, names):
        """Takes special tokens that the settings say nothing of; the standard ones come first."""
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
        """A note that lists keys which count for nothing, once, by reason; none if all count.

        Args:
            more: reasons by key, of keys that count for other checkpoints.
            limit: positions of the model. A tokenizer that takes as many or more has no limit of
                its own.
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
    """A list for a message, of which the rest is counted."""
    rest = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + rest
