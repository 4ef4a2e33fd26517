"""Builds the `tokenizers.Tokenizer` of a checkpoint from its files.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

_settings.py reads the tokens that the files beside tokenizer.json declare, and _pipelines.py knows
the components that a tokenizer class brings. This module combines them, and refuses files whose
ids the tokenizer would not reproduce.
"""

import json

from .. import _checkpoint
from .._packages import needed
from . import _bytes, _files, _pipelines
from ._files import TextError
from ._settings import Settings, added_token, content, some

_CLEAN_BPE = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
_SPLITS = "tokenizer.json says how text is split"
_FLAGS = ("content", "special", "single_word", "lstrip", "rstrip", "normalized")
_EMPTY = {"type": "BPE", "vocab": {}, "merges": []}
# Texts to encode with and without special tokens; a vocabulary may lack some of them.
_PROBES = ("x", "a", "0", " ", "the")


def _vocabulary(folder, name):
    """Builds the tokenizer.json of a checkpoint that has vocab.json and merges.txt instead. The
    tokenizer class `name` brings its other components."""
    paths = [folder / file for file in ("vocab.json", "merges.txt")]
    if name not in _pipelines.FROM_VOCABULARY or not all(path.is_file() for path in paths):
        raise _files.missing(folder)
    vocabulary = _files.read(paths[0])
    for token, i in vocabulary.items():
        if not isinstance(i, int) or isinstance(i, bool) or i < 0:
            raise TextError(f"{paths[0]}: '{token}': expected an id of the vocabulary, got "
                            f"{json.dumps(i)}")
    merges = []
    for number, line in enumerate(_files.read_text(paths[1]).split("\n"), 1):
        if not line.strip() or line.startswith("#version"):
            continue
        merges.append(line.split())
        if len(merges[-1]) != 2:
            raise TextError(f"{paths[1]}, line {number}: expected two tokens, got "
                            f"{len(merges[-1])}")
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
            "post_processor": None, "normalizer": None, "pre_tokenizer": None, "decoder": None,
            "model": {"type": "BPE", "vocab": vocabulary, "merges": merges}}


def _is_bpe(spec):
    """Returns whether a tokenizer class can reuse the vocabulary and merges."""
    model = spec.get("model") if isinstance(spec, dict) else None
    return isinstance(model, dict) and isinstance(model.get("vocab"), dict) and "merges" in model


def _limit(config):
    """Returns the model's number of positions, or 0 if config.json does not give it."""
    config = {**config, **_checkpoint.text_config(config)}
    found = [config.get(key) for key in ("max_position_embeddings", "n_positions", "seq_length")]
    return next((value for value in found if isinstance(value, int)), 0)


class Built:
    """
    Attributes:
        backend: tokenizers.Tokenizer, which neither pads nor truncates.
        names: texts of the special tokens by name.
        special: ids that decoding leaves out.
        around: ids that encoding adds before a text, and ids that it adds after it.
        config: tokenizer_config.json, with the keys that special_tokens_map.json replaces.
        clean: whether decoding removes spaces before punctuation.
        decoder: _bytes.Decoder.
        notes: messages about keys and files that are ignored.
    """

    def __init__(self, folder, model_config):
        self._limit = _limit(model_config)
        self._folder, self._path = folder, folder / "tokenizer.json"
        self._from_file = self._path.is_file()
        declared = _files.read(folder / "tokenizer_config.json").get("tokenizer_class")
        self._type, declared = (
            value if isinstance(value, str) else None for value in (
                model_config.get("model_type"), declared or model_config.get("tokenizer_class")))
        self._package = needed("tokenizers", "text")
        _files.check_file(self._path)
        text = _files.read_text(self._path) if self._from_file else ""
        name = _pipelines.class_of(self._type, declared, '"ByteLevel"' in text)
        spec = self._read(text, name) if self._from_file else _vocabulary(folder, name)
        self._settings = Settings(folder, spec)
        self.config, self.notes = self._settings.config, list(self._settings.notes)
        self._take_pipeline(spec, name)
        self._add_tokens()
        # Some files enable these for training.
        asked = [key for key in ("truncation", "padding") if spec.get(key)]
        if asked:
            self.notes.append(f"tokenizer.json: ignored: {', '.join(asked)} (nothing is padded or "
                              "truncated)")
        self.backend.no_truncation()
        self.backend.no_padding()
        self.backend.encode_special_tokens = bool(self.config.get("split_special_tokens"))
        self._check_ids(spec)
        self.names = {key: content(value) for key, value in self._settings.names.items()}
        self._put_around()
        self._read_decoder()
        self._note(folder)

    def _made(self, text):
        with _files.package_errors(f"cannot read {self._path}"):
            return self._package.Tokenizer.from_str(text)

    def _read(self, text, name):
        """Parses tokenizer.json. Also makes the backend, unless a class will rebuild it."""
        try:
            spec = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TextError(f"cannot read {self._path}: {error}") from error
        if name in _pipelines.PIPELINES and _is_bpe(spec):
            # Components that are not reused are validated too. Written back, they have every
            # default, which makes them comparable.
            written = json.loads(self._made(json.dumps({**spec, "model": _EMPTY})).to_str())
            spec |= {key: written[key] for key in ("normalizer", "pre_tokenizer", "decoder")}
        else:
            self.backend = self._made(text)
        return spec

    def _take_pipeline(self, spec, name):
        """Rebuilds the backend if the tokenizer class has components of its own."""
        settings, config = self._settings, self.config
        self._pipeline = _pipelines.PIPELINES.get(name) if _is_bpe(spec) else None
        if self._pipeline is None:
            return
        settings.default_names(self._pipeline.names)
        other = _pipelines.replaced(spec, self._pipeline.parts(config)) if self._from_file else []
        if self._pipeline.bare and _pipelines.puts_around(spec.get("post_processor")):
            other.append("post_processor")
        if other:
            way_out = "" if _pipelines.class_of(self._type, _pipelines.GENERIC, False) else (
                f'; tokenizer_class "{_pipelines.GENERIC}" uses those of the file')
            self.notes.append(f"tokenizer.json: ignored: {', '.join(other)} (a {name} builds its "
                              f"own, as in transformers{way_out})")
        self.backend = self._made(json.dumps(_pipelines.rebuilt(
            spec, self._pipeline, config, content(settings.names.get("unk_token")))))

    def _add_tokens(self):
        """Adds the listed tokens in the order of their ids, then the named ones, then the extra
        ones. A token that exists already takes the flags of its last entry."""
        settings = self._settings
        there = [{flag: getattr(token, flag) for flag in _FLAGS}
                 for token in self.backend.get_added_tokens_decoder().values()]
        added = [token for _, token in sorted(settings.added.items())]
        texts = {token["content"] for token in [*there, *added]}
        named = {content(token) for token in settings.names.values()}
        for token in [*settings.names.values(), *settings.extra]:
            one = added_token(token, True if isinstance(token, str) else None)
            if one["content"] not in texts and one not in added:
                added.append(one)
        added = [{**token, "special": token["special"] or token["content"] in named}
                 for token in added]
        if self._pipeline and self._pipeline.special:
            flags = {token["content"]: token for token in [*there, *added]}
            added += [{**(flags[text] if self._pipeline.keeps_flags else added_token(text, True)),
                       "special": True} for text in (content(token) for token in [
                           *settings.names.values(), *settings.extra])]
        self.backend.add_tokens([self._token(token) for token in added])
        # A token that was special once stays special, as in the package.
        special = {token["content"] for token in [*there, *added] if token["special"]}
        self.special = frozenset(map(self.backend.token_to_id, special))

    def _token(self, token):
        try:
            return self._package.AddedToken(**token)
        except (TypeError, ValueError) as error:
            raise TextError(f"{self._folder}: expected a token with flags that are true or false, "
                            f"got {json.dumps(token)}: {error}") from error

    def _check_ids(self, spec):
        """Raises TextError if a token would get another id than its file gives it."""
        in_file = {one["content"] for one in spec.get("added_tokens") or ()}
        for i, token in sorted(self._settings.added.items()):
            text, got = token["content"], self.backend.token_to_id(token["content"])
            if got == i:
                continue
            source = self._settings.source
            if source != "tokenizer.json" and text in in_file:
                self.notes.append(f"{source}: ignored: id {i} of '{text}' (in tokenizer.json it "
                                  f"has {got})")
                continue
            if text in in_file:
                source = "tokenizer.json"
            raise TextError(f"{self._folder / source}: '{text}' is to have id {i}, but a tokenizer "
                            f"gives it {got}: expected an id that the vocabulary has it under, or "
                            "the next after the vocabulary")

    def _put_around(self):
        if not self._from_file:
            self._make_template()
        self.around = ((), ())
        if not self.backend.num_special_tokens_to_add(False):
            return
        for probe in _PROBES:
            whole, part = (self.backend.encode(probe, add_special_tokens=on).ids
                           for on in (True, False))
            for at in range(len(whole) - len(part) + 1 if part else 0):
                if whole[at:at + len(part)] == part:
                    self.around = tuple(whole[:at]), tuple(whole[at + len(part):])
                    return

    def _make_template(self):
        """Without tokenizer.json, the settings decide which tokens surround a text."""
        begin, end = ([self.names[f"{which}_token"]] if self.config.get(f"add_{which}_token")
                      and f"{which}_token" in self.names else [] for which in ("bos", "eos"))
        self.backend.post_processor = self._package.processors.TemplateProcessing(
            single=[*begin, "$A", *end], special_tokens=[
                (text, self.backend.token_to_id(text)) for text in {*begin, *end}])

    def _read_decoder(self):
        decoder = self.backend.decoder
        self.decoder = _bytes.Decoder(json.loads(decoder.__getstate__()) if decoder else None)
        if "CTC" in self.decoder.unknown:
            raise TextError(f"{self._path}: the decoder CTC is for sound, and is not supported")
        if self.decoder.unknown:
            self.notes.append(f"tokenizer.json: decoder {', '.join(self.decoder.unknown)}: not "
                              "known here, so each token is decoded by itself")

    def _note(self, folder):
        """Adds notes about keys that do not count for this tokenizer."""
        config, more = self.config, {}
        keys = self._pipeline.keys if self._pipeline else ()
        more |= {key: _SPLITS for key in ("add_prefix_space", "legacy") if key not in keys}
        is_bpe = type(self.backend.model).__name__ == "BPE"
        self.clean = bool(config.get("clean_up_tokenization_spaces")
                          and (not is_bpe or config.get(_CLEAN_BPE)))
        if is_bpe and not self.clean:
            more["clean_up_tokenization_spaces"] = "it would strip spaces from the text of a BPE"
        self.notes += self._settings.ignored(more, self._limit)
        for which, there in zip(("bos", "eos"), self.around):
            key, name = f"add_{which}_token", self.names.get(f"{which}_token")
            puts = name is not None and self.backend.token_to_id(name) in there
            asked = config.get(key)
            if asked is not None and asked != puts and (name is not None or asked):
                what = f"puts {'' if puts else 'no '}'{name}' " if name else "puts nothing "
                self.notes.append(f"tokenizer_config.json: ignored: {key} (the post-processor of "
                                  f"tokenizer.json decides, and {what}"
                                  f"{'before' if which == 'bos' else 'after'} a text)")
        self.notes += _files.unread(folder, () if self._from_file else _files.FILES)


def beyond(backend, size):
    """Names the tokens whose ids are `size` or more; None if there are none."""
    found = sorted((i, text) for text, i in backend.get_vocab().items() if i >= size)
    return some([f"'{text}' ({i})" for i, text in found]) if found else None
