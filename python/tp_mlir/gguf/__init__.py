"""Checkpoint folders for GGUF files: `tp-gguf`.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The folder has what the metadata say as config.json, generation_config.json and the files of a
tokenizer, and a link to the file itself, whose weights are read where they lie: compiler and
runtime take their blocks apart (docs/Import.md).
"""

import json
import os
import pathlib
import shutil
import signal
import sys

from .. import _command_line, _signals, _tools, _version
from .._errors import ToolError
from ._metadata import Gguf, GgufError
from ._tokenizer import read_ends, read_tokenizer

__all__ = ["Gguf", "GgufError", "write_folder"]

_WEIGHTS = "model.gguf"


def _write(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=True) + "\n", encoding="utf-8")


def _config(file):
    """config.json of a file, as text: the compiler knows what its metadata stand for."""
    try:
        return json.loads(_tools.run("tp-import", [file, "--config"]))
    except ToolError as error:
        raise GgufError(str(error).removeprefix("error: ")) from error


def write_folder(file, folder, copy=False):
    """Writes a checkpoint folder for a GGUF file.

    Args:
        file: path of the file.
        folder: path of the folder, which must not exist.
        copy: whether the weights are copied, where else the folder has a link to them.

    Returns notes for people: what the folder lacks, and why.

    Raises GgufError where the file is broken, or of a kind that is not supported; then there is
    no folder.
    """
    file, folder = pathlib.Path(file), pathlib.Path(folder)
    gguf, notes = Gguf(file), []
    config = _config(file)
    partial = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        _write(partial / "config.json", config)
        if ends := read_ends(gguf):
            _write(partial / "generation_config.json", ends)
        try:
            tokenizer, settings = read_tokenizer(gguf)
        except GgufError as error:
            notes.append(f"no tokenizer: {error}")
        else:
            _write(partial / "tokenizer.json", tokenizer)
            _write(partial / "tokenizer_config.json", settings)
        template = gguf.metadata.get("tokenizer.chat_template")
        if isinstance(template, str):
            (partial / "chat_template.jinja").write_text(template, encoding="utf-8",
                                                         errors="replace")
        if copy:
            shutil.copyfile(file, partial / _WEIGHTS)
        else:
            (partial / _WEIGHTS).symlink_to(file.resolve())
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return notes


def _parser():
    parser = _command_line.Parser(
        prog="tp-gguf", description="Make a checkpoint folder for a GGUF file.")
    _version.add(parser)
    parser.add_argument("file", metavar="FILE.gguf", type=pathlib.Path, help="the file")
    parser.add_argument("-o", "--output", metavar="OUT", type=pathlib.Path, required=True,
                        help="folder that is made; it must not exist")
    parser.add_argument("--copy", action="store_true",
                        help="copy the weights, instead of a link to FILE.gguf")
    return parser


def _make(args):
    if args.output.exists() or args.output.is_symlink():
        raise GgufError(f"{args.output} is there already: expected a new folder")
    for note in write_folder(args.file, args.output, args.copy):
        print(f"tp-gguf: {note}", file=sys.stderr)
    print(f"tp-gguf: {args.output}: a checkpoint folder, which tp-compile, tp-run, tp-chat and "
          "tp-serve take", file=sys.stderr)


def main(arguments=None):
    args = _parser().parse_args(arguments)

    def body():
        with _signals.doing("making a folder for the file"), \
                _signals.sigterm_raises(signal.SIGHUP):
            _make(args)

    return _command_line.carry_out("tp-gguf", body)
