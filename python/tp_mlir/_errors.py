"""The tools' exit codes as exceptions.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import errno
import os
import re
import tempfile


class ToolError(RuntimeError):
    """A program ended with an error; the message is what it printed.

    Attributes:
        tool: the program's name, such as "tp-compile".
        code: its exit code; negative if a signal ended it.
    """

    def __init__(self, tool, code, text):
        super().__init__(text.strip() or f"{tool} ended with code {code} and said nothing")
        self.tool = tool
        self.code = code


class InputError(ToolError, ValueError):
    """Exit code 1: the model, the plan, the inputs or the environment."""


class NotFiniteError(InputError, ArithmeticError):
    """Training whose losses or gradients are infinite or no numbers, step after step."""


class UsageError(ToolError, TypeError):
    """Exit code 2: an option that the program does not take."""


class DifferenceError(ToolError):
    """Exit code 3: a result that differs, or a rank lost."""


class DeviceError(ToolError):
    """Exit code 5: a device failed, or code on it."""


def from_exit(tool, code, text):
    """The exception for `code`, with what `tool` said of it: not how far it came before."""
    said = re.search(r"^.*\b(error|warning): ", text, re.MULTILINE)
    text = text[said.start():] if said else text
    kinds = {1: InputError, 2: UsageError, 3: DifferenceError, 5: DeviceError}
    kind = kinds.get(code, ToolError)
    return kind(tool, code, text)


@contextlib.contextmanager
def writing(path):
    """Within it an OSError that names no file, as one of a write does not, is one of `path`."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        # numpy counts the elements that were written instead of saying why there are no more.
        number = error.errno or errno.ENOSPC
        raise OSError(number, os.strerror(number), str(path)) from error


def text_of(error):
    """What to print of an exception: of a file that cannot be opened or written, which and why;
    of one for temporary files, how to have these elsewhere."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        # A copy writes its second file.
        is_copy = error.errno in (errno.ENOSPC, errno.EDQUOT) and error.filename2 is not None
        name = error.filename2 if is_copy else error.filename
        text = error.strerror if name is None else f"'{name}': {error.strerror}"
    is_full = any(os.strerror(number) in text for number in (errno.ENOSPC, errno.EDQUOT))
    if is_full and "TMPDIR" not in text and os.path.join(tempfile.gettempdir(), "tp-") in text:
        text += f"; temporary files are in {tempfile.gettempdir()}, and $TMPDIR names another folder"
    return text


def exit_code(error):
    """That of a program that ends with `error`, or without one."""
    return 0 if error is None else max(1, getattr(error, "code", 1))
