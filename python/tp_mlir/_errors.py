"""The tools' exit codes as exceptions.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import re


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


def text_of(error):
    """What to print of an exception: of a file that cannot be opened or written, which and why."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"'{error.filename}': {error.strerror}"
    return str(error)


def exit_code(error):
    """That of a program that ends with `error`, or without one."""
    return 0 if error is None else max(1, getattr(error, "code", 1))
