"""A checkpoint's folder, and what people give in its place or have in it by mistake.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The compiler and the runtime say the same of it (runtime/include/tprt/foreign.h,
lib/Import/ModelPath.cpp), which the tests compare; programs that read a file before them say
it here.
"""

import hashlib
import json
import os
import pathlib
import shutil
import sys

from . import _cache, _errors, _forks, _tools, _version

_PICKLE = ", which is not read because it can hold code: save the model again with " \
          "save_pretrained, which writes safetensors"
_PAGE = "is a web page: the download did not give the file itself"
_BEGINNINGS = {
    b"version https://git-lfs.github.com":
        "is what Git LFS leaves in place of a file: run `git lfs pull` in its directory",
    b"PK\x03\x04": "is in PyTorch's own format" + _PICKLE,
    b"\x80\x02": "is a pickle" + _PICKLE,
    b"GGUF": "is a GGUF file: `tp-gguf FILE -o DIR` makes a checkpoint directory of it, without a "
             "copy of the weights",
    b"<!DOCTYPE": _PAGE,
    b"<html": _PAGE,
}
_HUB = "is not on this machine; if it is the name of a model on a hub, download it first " \
       "(hf download NAME --local-dir DIR) and give DIR"
_PICKLED_WEIGHTS = ("pytorch_model.bin", "pytorch_model.bin.index.json")


def _kind(path):
    """What a file is that begins as another kind does; None if it is none of these, or cannot
    be read."""
    try:
        with open(path, "rb") as file:
            head = file.read(max(map(len, _BEGINNINGS)))
    except OSError:
        return None
    return next((words for beginning, words in _BEGINNINGS.items() if head.startswith(beginning)),
                None)


def check_file(path, error=ValueError):
    """Raises `error` if a file of a checkpoint is of another kind."""
    if words := _kind(path):
        raise error(f"{path} {words}")


def _is_hub_name(text):
    """True if what is not there may be `owner/name`, or `gpt2`, or the address of a page."""
    if text.startswith(("https:/", ".", "~")):      # A path has one of the slashes.
        return text[0] == "h"
    owner, slash, name = text.partition("/")
    if not slash:
        return "." not in text
    return bool(owner and name and "/" not in name and not pathlib.Path(owner).is_dir())


def _of_model(given, path, expected):
    if not path.exists():
        if _is_hub_name(given):
            return f"'{given}' {_HUB}"
        return f"{given}: expected {expected}, found nothing"
    if path.suffix == ".tpa":
        return f"'{given}' is compiled already: tp-run runs it, tp-inspect says what is in it"
    if path.suffix in (".json", ".safetensors"):
        return f"'{given}' is a file of a checkpoint: expected its directory, '{path.parent}'"
    words = _kind(path)
    if not words and path.suffix == ".gguf":
        words = "is no GGUF file: expected one, which begins with \"GGUF\""
    return f"'{given}' {words}" if words else f"{given}: expected {expected}, found a file"


def check_model(given, error=ValueError, expected="a checkpoint folder", is_whole=True):
    """Raises `error` if there is something else in the place of a folder, or nothing, or, where a
    whole model `is_whole` wanted, an adapter."""
    path = pathlib.Path(given)
    if not path.is_dir():
        raise error(_of_model(str(given), path, expected))
    if is_whole and (path / "adapter_config.json").is_file():
        try:
            read_limits(path)  # Says what is to be done with an adapter.
        except _errors.ToolError as failure:
            raise error(str(failure)) from failure


# Folders of files, so that each is made once; beside it what keeps it.
_made = {}
# Folders that are kept for the next start, at most.
_MOST_KEPT = 16


def _is_gguf(path):
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"GGUF"
    except OSError:
        return False


def _prune(place):
    kept = sorted(place.iterdir(), key=lambda one: one.stat().st_mtime)
    for one in kept[:-_MOST_KEPT]:
        shutil.rmtree(one, ignore_errors=True)


def _folder_of(file):
    """The checkpoint folder of a GGUF file: one that was kept of it, or a new one."""
    from . import gguf

    about = file.stat()
    told = [str(file), about.st_size, about.st_mtime_ns, _version.VERSION]
    key = hashlib.sha256(json.dumps(told).encode()).hexdigest()
    if key in _made:
        return _made[key][0]
    cache, holder = _cache.folder(), None
    place = cache / "gguf" / key if cache else None
    try:
        if place:
            place.mkdir(parents=True, exist_ok=True)
            os.utime(place)
            _prune(place.parent)
    except OSError:
        place = None
    if not place:
        holder = _forks.Folder()
        place = pathlib.Path(holder.path)
    folder = place / file.stem
    if not folder.is_dir():
        try:
            notes = gguf.write_folder(file, folder)
        except OSError:
            if not folder.is_dir():  # Else another process was faster.
                raise
            notes = []
        for note in notes:
            print(f"{file}: {note}", file=sys.stderr, flush=True)
    _made[key] = folder, holder
    return folder


def open_model(given, error=ValueError, expected="a checkpoint folder or a GGUF file",
               is_whole=True):
    """The checkpoint folder of what people give: itself, or of a GGUF file a folder with a link to
    it, which is kept where programs are. Raises `error` if there is something else in its place, as
    `check_model` does."""
    path = pathlib.Path(given)
    if path.is_dir() or not _is_gguf(path):
        check_model(given, error, expected, is_whole)
        return given
    from . import gguf

    try:
        return _folder_of(path.resolve())
    except gguf.GgufError as failure:
        raise error(str(failure)) from failure


def check_weights(folder):
    """Of a folder without safetensors: raises ValueError if it has weights that only PyTorch
    reads."""
    for name in _PICKLED_WEIGHTS:
        if (folder / name).exists():
            raise ValueError(f"weights '{folder}': {name} is in PyTorch's own format{_PICKLE}")


def read_config(folder, needed=""):
    """What config.json says; of a model of text and more, what it says of the text, too.
    `needed`: words that follow where there is none."""
    path = folder / "config.json"
    check_file(path)
    if not path.is_file():
        raise ValueError(f"no config.json in {folder}{needed}")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON: {error}") from error
    if not isinstance(config, dict):
        raise ValueError(f"{path}: expected an object")
    return {**config, **text_config(config)}


def read_limits(folder):
    """How many positions a sequence may have: a dict of `positions` (as config.json says, or the
    default of its class in transformers), `is_stated` (config.json says it), `longest` and
    `longest_generated`, the most that --seq and --context may be, and a `reason` where an operation
    of the model bounds them. Raise ToolError if the folder
    cannot be imported."""
    return json.loads(_tools.run("tp-import", [folder, "--limits"]))


def text_config(config):
    """The object for the text in the config.json of a model of text and more; else {}."""
    text = config.get("text_config")
    return text if isinstance(text, dict) else {}
