"""README's commands, as they are written.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

They run in a folder that has the checkout's files by the same names, so that what they write lies
there. The commands that install, build and test are those of other tests.
"""

import contextlib
import io
import os
import pathlib
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib

import httpx
import pytest
from real_server import RealServer

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MODEL = "test/fixtures/text-model"
BLOCKS = [textwrap.dedent(block) for block in re.findall(r"(?:^    .*\n)+", README, re.MULTILINE)]


def commands():
    """Those of our tools, in blocks, in the table and in sentences, in order."""
    found = re.findall(r"`(tp-[a-z]+\s[^`]+)`|^    (tp-[a-z]+ .*)$", README, re.MULTILINE)
    return [" ".join((quoted or line).split()).replace("DIR", MODEL) for quoted, line in found]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the checkout's files, its programs on the PATH."""
    folder = tmp_path_factory.mktemp("readme")
    for path in ROOT.iterdir():
        if path.name in ("LICENSE", "test"):
            (folder / path.name).symlink_to(path)
    scripts = tomllib.loads((ROOT / "python/pyproject.toml").read_text())["project"]["scripts"]
    (folder / "bin").mkdir()
    for name, entry in scripts.items():
        module, function = entry.split(":")
        script = folder / "bin" / name
        script.write_text(f"#!{sys.executable}\nimport sys\nfrom {module} import {function}\n"
                          f"sys.exit({function}())\n")
        script.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PATH", os.pathsep.join([str(folder / "bin"), os.environ["TP_MLIR_BIN"],
                                              os.environ["PATH"]]))
        patch.setenv("TP_MLIR_CACHE", str(folder / "cache"))
        yield folder


def test_commands(place):
    ran = []
    for command in commands():
        if command.startswith("tp-serve"):
            continue
        done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        ran.append(command.split()[0])
    assert len(ran) >= 12 and {"tp-chat", "tp-train", "tp-quantize", "tp-opt"} < set(ran)


def test_python(place):
    block, = (block for block in BLOCKS if block.startswith("import numpy"))
    with contextlib.redirect_stdout(io.StringIO()) as told:
        exec(compile(block, "README.md", "exec"), {})
    # A text with the ids that continue the other prompt, and a loss.
    assert re.fullmatch(r".+ \(\d+(, \d+)*\)\n\d+\.\d+\n", told.getvalue(), re.DOTALL)


def test_first_request(place):
    serve, = (command for command in commands() if command.startswith("tp-serve"))
    block, = (block for block in BLOCKS if block.startswith("curl"))
    options = shlex.split(serve)[2:]
    port = options[options.index("--port") + 1]
    words = shlex.split(block.replace("\\\n", " "))
    options[options.index("--port") + 1] = "0"
    with RealServer(*options) as server:
        url = words[1].replace(f"http://localhost:{port}", server.url)
        assert url.startswith(server.url)
        name, value = words[words.index("-H") + 1].split(": ")
        answer = httpx.post(url, content=words[words.index("-d") + 1], headers={name: value},
                            timeout=60)
    assert answer.status_code == 200, answer.text
    assert answer.json()["choices"][0]["message"]["content"]
