"""The command line of the package's programs.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import difflib
import re


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, as those of the compiled programs are: the program, the
    option that is wrong, what was expected of it, and the nearest option to one that there is not.
    """

    def error(self, message):
        message = re.sub(r"^argument (\S+): ", r"for \1: ", message)
        message = message.replace("expected one argument", "expected a value").replace(
            "the following arguments are required: ", "missing ")
        if found := re.fullmatch(r"(.*): invalid choice: (.*) \(choose from (.*)\)", message):
            choices = found[3].replace("'", "")
            message = f"{found[1]}: expected one of {choices}, got {found[2]}"
        if found := re.fullmatch(r"unrecognized arguments: (.*)", message):
            message = self._unknown(found[1])
        self.exit(2, f"{self.prog}: {message}; {self.prog} --help lists the options\n")

    def _unknown(self, words):
        option = next((word.partition("=")[0] for word in words.split() if word.startswith("-")),
                      None)
        if option is None:
            return f"unexpected argument: {words}"
        # An abbreviation matches one option at most, so that a known name is none of these.
        known = [name[2:] for name in self._option_string_actions if name.startswith("--")]
        near = difflib.get_close_matches(option.lstrip("-"), known, 1, cutoff=0.7)
        return f"unknown option {option}" + (f"; did you mean --{near[0]}?" if near else "")
