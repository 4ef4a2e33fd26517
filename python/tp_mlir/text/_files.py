"""Reads the files of a tokenizer.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import json
import pathlib

from .. import _checkpoint

# Files that a tokenizer is read from, beside a folder of templates.
FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
         "vocab.json", "merges.txt", "chat_template.jinja", "chat_template.json")
TEMPLATES = "additional_chat_templates"
# Vocabularies in formats that are not supported.
_OTHERS = ("tokenizer.model", "tekken.json", "tiktoken.model", "spiece.model",
           "sentencepiece.bpe.model", "spm.model", "vocab.txt", "tokenizer.gguf")
# Configurations of image and audio processors.
_PROCESSORS = ("processor_config.json", "preprocessor_config.json",
               "video_preprocessor_config.json", "image_processor_config.json",
               "feature_extractor_config.json")


class TextError(ValueError):
    """A file of the tokenizer that is missing, broken, or asks for what is not supported."""


def check_file(path):
    """Raises TextError if the file is of another kind."""
    _checkpoint.check_file(path, TextError)


def read(path, kind=dict):
    """Returns the value of a JSON file, or an empty `kind` if there is no such file."""
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
    """Returns the text of a UTF-8 file."""
    check_file(path)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise TextError(f"cannot read {path}: {error}") from error


@contextlib.contextmanager
def package_errors(words):
    """Turns errors of the package `tokenizers` into a TextError that begins with `words`. The
    package raises plain Exception, and PanicException, which is no Exception, for a Rust panic."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise TextError(f"{words}: {error}") from error


def copy_sources(folder):
    """Returns the paths, relative to `folder`, of the files that its tokenizer is read from."""
    found = [name for name in FILES if (folder / name).is_file()]
    return [*map(pathlib.Path, found),
            *(path.relative_to(folder) for path in sorted((folder / TEMPLATES).glob("*.jinja")))]


def missing(folder):
    """Returns the error for a folder without a vocabulary that can be read."""
    there = [name for name in (*_OTHERS, "vocab.json", "merges.txt")
             if (folder / name).is_file()]
    there += sorted(path.name for path in folder.glob("*.tiktoken"))
    instead = f" (found {', '.join(there)}, which is not read)" if there else ""
    return TextError(f"no tokenizer.json in {folder}{instead}; where there is another form of it, "
                     "AutoTokenizer.from_pretrained(...).save_pretrained(...) of the package "
                     "transformers writes one")


def unread(folder, read_names):
    """Returns notes on files of `folder` that are not read, although their names suggest it."""
    notes = []
    there = [name for name in (*_OTHERS, "vocab.json", "merges.txt")
             if name not in read_names and (folder / name).is_file()]
    if there:
        notes.append(f"{', '.join(there)}: not read: tokenizer.json has the vocabulary")
    there = [name for name in _PROCESSORS if (folder / name).is_file()]
    if there:
        notes.append(f"{', '.join(there)}: not read: for images and sound")
    return notes
