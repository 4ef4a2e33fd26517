"""A checkpoint's tokenizer and what its files say about it.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import pathlib

from .. import _checkpoint
from .._packages import needed
from ._template import ChatTemplate, TemplateError

_NAMED_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token",
                 "mask_token")


class TextError(ValueError):
    """A file of the tokenizer that is missing or broken."""


def _read(path, kind=dict):
    """A JSON file's value; an empty one if there is no such file."""
    _checkpoint.check_file(path, TextError)
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return kind()
    except (OSError, ValueError) as error:
        raise TextError(f"cannot read {path}: {error}") from error
    if not isinstance(value, kind):
        raise TextError(f"{path}: expected a JSON object, got {type(value).__name__}")
    return value


def _special_tokens(config):
    """Their texts by name; each is a string or an object with one."""
    found = {}
    for name in _NAMED_TOKENS:
        value = config.get(name)
        value = value.get("content") if isinstance(value, dict) else value
        if isinstance(value, str):
            found[name] = value
    return found


def _templates(folder, config):
    """Texts by name. A file of its own comes before what the configuration holds."""
    value, found = config.get("chat_template"), {}
    if isinstance(value, str):
        found["default"] = value
    elif isinstance(value, list):
        found = {entry["name"]: entry["template"] for entry in value}
    elif isinstance(value, dict):
        found = dict(value)
    files = {path.stem: path for path in (folder / "additional_chat_templates").glob("*.jinja")}
    if (folder / "chat_template.jinja").is_file():
        files["default"] = folder / "chat_template.jinja"
    return {**found, **{name: path.read_text(encoding="utf-8") for name, path in files.items()}}


def _generation_config(folder, choice):
    """The path that `choice` names, as tp-compile's --generation-config; None: no file counts."""
    if choice is None:
        return folder / "generation_config.json"
    if choice == "none":
        return None
    path = pathlib.Path(choice)
    return path / "generation_config.json" if path.is_dir() else path


def _stop_ids(folder, choice):
    """Every id that ends an answer: each file may name one, a list, or none, and so may what
    config.json says of the text in a model of text and more."""
    found = set()
    config, own = _read(folder / "config.json"), _generation_config(folder, choice)
    for name, place in ((own, _read(own) if own else {}),
                        ("config.json", config), ("config.json", _checkpoint.text_config(config))):
        value = place.get("eos_token_id")
        values = value if isinstance(value, list) else [] if value is None else [value]
        for one in values:
            if not isinstance(one, int) or isinstance(one, bool):
                raise TextError(f"{folder / name}: eos_token_id: expected an id or a list of "
                                f"them, got {json.dumps(value)}")
        found.update(values)
    return frozenset(found)


class Tokenizer:
    """Text to ids and back, as the checkpoint's own files say.

    Args:
        folder: with tokenizer.json; tokenizer_config.json, chat_template.jinja,
            generation_config.json and config.json are read where they exist.
        generation_config: a file that counts instead of generation_config.json, or "none".

    Attributes:
        stop_ids: ids that end an answer, of generation_config.json and config.json.
        bos, eos: what begins and what ends a text, as ids; None if the tokenizer has no such
            token.
        template: ChatTemplate, or None.
        size: ids are below this.
    """

    def __init__(self, folder, generation_config=None):
        _checkpoint.check_model(folder, TextError)
        folder = pathlib.Path(folder)
        path = folder / "tokenizer.json"
        _checkpoint.check_file(path, TextError)
        if not path.is_file():
            raise TextError(f"no tokenizer.json in {folder}; where there is another form of it, "
                            "AutoTokenizer.from_pretrained(...).save_pretrained(...) of the package "
                            "transformers writes one")
        try:
            self._tokenizer = needed("tokenizers", "text").Tokenizer.from_file(str(path))
        except ImportError:
            raise
        except Exception as error:  # the package raises no narrower class
            raise TextError(f"cannot read {path}: {error}") from error
        # A file may ask for these, for training.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        config = _read(folder / "tokenizer_config.json")
        names = _special_tokens({**_read(folder / "special_tokens_map.json"), **config})
        sources = _templates(folder, config)
        self.template = ChatTemplate(sources, names) if sources else None
        self.bos, self.eos = (self._tokenizer.token_to_id(names[name]) if name in names else None
                              for name in ("bos_token", "eos_token"))
        self.stop_ids = _stop_ids(folder, generation_config)
        added = self._tokenizer.get_added_tokens_decoder()
        self._special = frozenset(i for i, token in added.items() if token.special)
        self.size = max(self._tokenizer.get_vocab().values(), default=-1) + 1

    def encode(self, text, add_special_tokens=True):
        """Ids of a text, with what the tokenizer puts around one, such as a token that begins
        it. A text that begins with that token already gets no second one."""
        try:
            text.encode()
        except UnicodeEncodeError:
            raise TextError("expected a text, got half of a character or bytes that are no UTF-8 "
                            "in it") from None
        ids = self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids
        if add_special_tokens and self.bos is not None and ids[:2] == [self.bos, self.bos]:
            del ids[0]
        return ids

    def encode_chat(self, messages, **options):
        """Ids of a conversation that an answer is to follow. Its template writes all special
        tokens itself. Options are those of ChatTemplate.render."""
        if self.template is None:
            raise TemplateError("the checkpoint has no chat template, in tokenizer_config.json or "
                                "chat_template.jinja; give it a prompt instead")
        text = self.template.render(messages, **{"add_generation_prompt": True, **options})
        return self.encode(text, add_special_tokens=False)

    def decode(self, ids):
        """The text of ids, without special tokens."""
        return self._tokenizer.decode(ids, skip_special_tokens=True)

    def token(self, i):
        """The text of one id, special or not; "" if it is none."""
        return self._tokenizer.decode([i], skip_special_tokens=False)

    def is_special(self, i):
        return i in self._special
