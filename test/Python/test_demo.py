"""The demo's programs run with the packages that the demo installs and the programs that it builds,
and no others.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Modules that only tests have here are not found; {change} shortens the program.
PROGRAM = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
sys.argv, sys.path = [{name!r}, *{arguments}], [{scripts!r}, *sys.path]
import pathlib
demo = __import__({name!r})
{change}
sys.exit(demo.main())
"""


def modules(requirements):
    lines = (ROOT / f"python/requirements-{requirements}.txt").read_text().splitlines()
    return {re.split("[=<>~]", line)[0].replace("-", "_") for line in lines
            if line and line[0] not in "#-"}


def built(folder):
    """A folder of the programs that scripts/demo builds."""
    line, = re.findall("^ninja -C build/dev (.*)$", (ROOT / "scripts/demo").read_text(), re.MULTILINE)
    folder.mkdir()
    for target in line.split():
        program = pathlib.Path(os.environ["TP_MLIR_BIN"]) / target
        if program.exists():  # A library is no program.
            (folder / target).symlink_to(program)
    return folder


@pytest.mark.parametrize("name, arguments, change, code, said", [
    ("embed", ["1", "2"], "", 0, r"Largest difference between degrees \[1, 2\]"),
    ("continue", [], "", 0, "96 tokens as transformers' own"),
    # Two steps teach nothing, so its end says that they did not.
    ("learn", [], "demo.STEPS, demo.ROOT = 2, pathlib.Path({folder!r})", 1,
     "0 of 3 go on as the text does")])
def test_demo(name, arguments, change, code, said, tmp_path):
    absent = modules("test") - modules("demo")
    assert "pytest" in absent
    program = PROGRAM.format(absent=absent, name=name, arguments=arguments,
                             scripts=str(ROOT / "scripts"),
                             change=change.format(folder=str(tmp_path)))
    environment = {**os.environ, "TP_MLIR_BIN": str(built(tmp_path / "bin"))}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env=environment)
    assert done.returncode == code, done.stderr
    assert re.search(said, done.stdout), done.stdout + done.stderr
