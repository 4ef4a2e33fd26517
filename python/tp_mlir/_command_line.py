"""The command line of the package's programs.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import contextlib
import difflib
import itertools
import os
import re
import sys

from . import _signals
from ._errors import exit_code, text_of

# Options that people know from other programs, and ours that do the same.
_ELSEWHERE = {"--tp": "--mesh tp={}", "--tensor-parallel-size": "--mesh tp={}",
              "--tensor-parallel": "--mesh tp={}", "--dp": "--mesh dp={}", "--ep": "--mesh ep={}",
              "--max-model-len": "--context {}", "--max-num-seqs": "--rows {}",
              "--kv-cache-dtype": "--kv-dtype {}", "--served-model-name": "--model-name {}",
              "--learning-rate": "--lr {}", "--batch-size": "--batch {}", "--device": "--target {}",
              "--gpu-memory-utilization": "--memory {}"}


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, as those of the compiled programs are: the program, the
    option that is wrong, what was expected of it, and the nearest option to one that there is not.
    Options are named in full, and given once.

    Attributes:
        instead: for options without a value, what a value is said by.
    """

    def __init__(self, *args, **options):
        super().__init__(*args, allow_abbrev=False, **options)
        self.instead, self._given = {}, []

    def error(self, message):
        message = re.sub(r"^argument (\S+): ", r"for \1: ", message)
        message = message.replace("expected one argument", "expected a value").replace(
            "the following arguments are required: ", "missing ")
        if found := re.fullmatch(r"(.*): invalid choice: (.*) \(choose from (.*)\)", message):
            choices = found[3].replace("'", "")
            message = f"{found[1]}: expected one of {choices}, got {found[2]}"
        if found := re.fullmatch(r"unrecognized arguments: (.*)", message):
            message = self._unknown(found[1].split())
        self.exit(2, f"{self.prog}: {message}; {self.prog} --help lists the options\n")

    def parse_args(self, args=None, namespace=None):
        """As argparse has it; what --help and --version print may find nobody to read it."""
        self._given = list(map(str, sys.argv[1:] if args is None else args))
        try:
            self._check_repeated()
            return super().parse_args(args, namespace)
        except SystemExit as ended:
            # What is still in the buffer belongs to the answer.
            if code := self._flush():
                raise SystemExit(code) from ended
            raise
        except OSError as error:
            raise SystemExit(self._lost(error)) from error

    def _check_repeated(self):
        """An error if an option is given two values, of which the last would count alone."""
        values = {}
        words = iter(self._given)
        for word in itertools.takewhile(lambda word: word != "--", words):
            name, equals, value = word.partition("=")
            action = self._option_string_actions.get(name)
            if action is None or isinstance(action, argparse._AppendAction):
                continue
            if action.nargs != 0 and not equals:
                value = next(words, "")
            if values.setdefault(action.dest, value) != value:
                self.error(f"argument {name}: expected one value, got '{values[action.dest]}' and "
                           f"'{value}'")

    def _flush(self):
        try:
            sys.stdout.flush()
            return 0
        except OSError as error:
            return self._lost(error)

    def _print_message(self, message, file=None):
        """Raises OSError, which argparse's own would swallow."""
        if message:
            (file or sys.stderr).write(message)

    def _lost(self, error):
        _drop_output()
        if not isinstance(error, BrokenPipeError):
            print(f"{self.prog}: cannot write to standard output: {error.strerror}",
                  file=sys.stderr)
        return 1

    def _unexpected(self, words):
        for option, value in zip(self._given, self._given[1:]):
            action = self._option_string_actions.get(option)
            if value == words[0] and action is not None and action.nargs == 0:
                instead = self.instead.get(option, "")
                return f"for {option}: expected no value, got '{value}'" + (
                    f"; {instead.format(value)}" if instead else "")
        return f"unexpected argument: {' '.join(words)}"

    def _unknown(self, words):
        at, word = next(((i, word) for i, word in enumerate(words) if word.startswith("-")),
                        (0, None))
        if word is None:
            return self._unexpected(words)
        option, equals, value = word.partition("=")
        if option in _ELSEWHERE:
            here = _ELSEWHERE[option]
            given = value if equals else "".join(words[at + 1:at + 2])
            if "=" in here and not given.isdigit():
                given = "N"
            if here.split()[0] in self._option_string_actions:
                return f"unknown option {option}; did you mean {here.format(given).strip()}?"
        known = [name[2:] for name in self._option_string_actions if name.startswith("--")]
        near = difflib.get_close_matches(option.lstrip("-"), known, 1, cutoff=0.7)
        return f"unknown option {option}" + (f"; did you mean --{near[0]}?" if near else "")


def carry_out(program, body, parser=None):
    """Returns the exit code of a program, that of `body()` or 0 for None. What goes wrong is told in
    one line of standard error, and so is an interrupt. Of options that a compiled program advises
    in an error, those that `parser` does not know are said to be that program's."""
    try:
        code = body() or 0
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _drop_output()  # Nobody reads any more, as behind `| head`.
        return 1
    except (ValueError, OSError, RuntimeError, ImportError) as error:
        print(f"{program}: {_text(error)}{_foreign(program, error, parser)}", file=sys.stderr)
        return exit_code(error)
    except KeyboardInterrupt as interrupt:
        print(f"{program}: {_signals.describe(interrupt)}", file=sys.stderr)
        return _signals.exit_code(interrupt)


def _text(error):
    """As text_of has it; an error without a file is one of standard output if that is at fault."""
    if isinstance(error, OSError) and error.filename is None:
        try:
            sys.stdout.flush()
        except OSError as same:
            _drop_output()
            return f"cannot write to standard output: {same.strerror}"
    return text_of(error)


def put(text):
    """Writes to standard output; raises an OSError of that name, for a stream keeps no piece that
    could not be written."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _drop_output()
        raise OSError(f"cannot write to standard output: {error.strerror}") from error


def _foreign(program, error, parser):
    tool = getattr(error, "tool", program)
    if parser is None or tool == program or not tool.startswith("tp-"):
        return ""
    named = dict.fromkeys(re.findall(r"(?<![\w-])--[a-z][a-z-]+", str(error)))
    other = [name for name in named if name not in parser._option_string_actions]
    if not other:
        return ""
    are = "are options" if len(other) > 1 else "is an option"
    return f" ({' and '.join(other)} {are} of {tool}, and not of {program})"


def _drop_output():
    """What is still to be written would fail again when the interpreter ends."""
    with open(os.devnull, "w", encoding="utf-8") as nothing, \
            contextlib.suppress(OSError, ValueError):
        os.dup2(nothing.fileno(), sys.stdout.fileno())
