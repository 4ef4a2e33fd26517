"""Builds the package of the files that are there now, and notes their commit.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

All else is in pyproject.toml. setuptools copies the package to build/lib, and packages what is there:
a module that has been removed since an earlier build would come along.
"""

import pathlib
import shutil
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent


def commit():
    """That of the checkout, as the programs have theirs; empty outside of one."""
    try:
        return subprocess.run(["git", "-C", str(HERE), "rev-parse", "--short=12", "HEAD"],
                              capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


class Build(build_py):
    def run(self):
        place = pathlib.Path(self.build_lib) / "tp_mlir"
        if not self.editable_mode:
            shutil.rmtree(place, ignore_errors=True)
        super().run()
        if not self.editable_mode:
            place.mkdir(parents=True, exist_ok=True)
            (place / "_commit.py").write_text(
                f'"""Written by setup.py: the commit that this package is of."""\n\n'
                f'COMMIT = "{commit()}"\n', encoding="utf-8")


setup(cmdclass={"build_py": Build})
