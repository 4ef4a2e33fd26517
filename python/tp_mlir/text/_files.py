"""The files of a tokenizer, and how they are read.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import json
import pathlib

from .. import _checkpoint

# Everything that a tokenizer may be read from; a folder of templates comes with it.
FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
         "vocab.json", "merges.txt", "chat_template.jinja", "chat_template.json")
TEMPLATES = "additional_chat_templates"
# Vocabularies in formats that are not read.
_OTHERS = ("tokenizer.model", "tekken.json", "tiktoken.model", "spiece.model",
           "sentencepiece.bpe.model", "spm.model", "vocab.txt", "tokenizer.gguf")
# Files of processors, which prepare images and sound.
_PROCESSORS = ("processor_config.json", "preprocessor_config.json",
               "video_preprocessor_config.json", "image_processor_config.json",
               "feature_extractor_config.json")


class TextError(ValueError):
    """A file of the tokenizer that is missing, broken, or asks for what is not supported."""


def check_file(path):
    """Raises TextError if the file is of another kind."""
    _checkpoint.check_file(path, TextError)


def read(path, kind=dict):
    """A JSON file's value; an empty one if there is no such file."""
    check_file(path)
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return kind()
    except (OSError, ValueError, RecursionError) as error:
        raise TextError(f"cannot read {path}: {error}") from error
    if not isinstance(value, kind):
        raise TextError(f"{path}: expected a JSON object, got {type(value).__name__}")
    return value


def read_text(path):
    """A file of UTF-8 text."""
    check_file(path)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise TextError(f"cannot read {path}: {error}") from error


@contextlib.contextmanager
def package_errors(words):
    """Raises TextError, with `words` before its own, for what the package `tokenizers` raises: no
    narrower class than Exception, and a panic of its Rust, which is not even one."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise TextError(f"{words}: {error}") from error


def copy_sources(folder):
    """Paths, relative to `folder`, of all files there that a tokenizer is read from."""
    found = [name for name in FILES if (folder / name).is_file()]
    return [*map(pathlib.Path, found),
            *(path.relative_to(folder) for path in sorted((folder / TEMPLATES).glob("*.jinja")))]


def missing(folder):
    """The error of a folder without a vocabulary that can be read."""
    there = [name for name in (*_OTHERS, "vocab.json", "merges.txt")
             if (folder / name).is_file()]
    there += sorted(path.name for path in folder.glob("*.tiktoken"))
    instead = f" (found {', '.join(there)}, which is not read)" if there else ""
    return TextError(f"no tokenizer.json in {folder}{instead}; where there is another form of it, "
                     "AutoTokenizer.from_pretrained(...).save_pretrained(...) of the package "
                     "transformers writes one")


def unread(folder, read_names):
    """Notes on files of `folder` that say something about text and are not read."""
    notes = []
    there = [name for name in (*_OTHERS, "vocab.json", "merges.txt")
             if name not in read_names and (folder / name).is_file()]
    if there:
        notes.append(f"{', '.join(there)}: not read: tokenizer.json has the vocabulary")
    there = [name for name in _PROCESSORS if (folder / name).is_file()]
    if there:
        notes.append(f"{', '.join(there)}: not read: for images and sound")
    return notes
