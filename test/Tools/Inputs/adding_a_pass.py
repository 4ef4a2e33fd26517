"""Compiles the pass that docs/Adding.md shows, in the place that it names.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: adding_a_pass.py ROOT BUILD FOLDER
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys

root, build, folder = map(pathlib.Path, sys.argv[1:])
page = (root / "docs/Adding.md").read_text()
shown = re.search(r"^A whole row and a whole pass.*\n\n((?:    .*\n|\n)+)", page, re.MULTILINE)[1]
row, separator, code = re.sub(r"^    ", "", shown, flags=re.MULTILINE).partition("#include")

headers = folder / "include/tp/Propagate"
headers.mkdir(parents=True)
stage = (root / "include/tp/Propagate/Passes.td").read_text()
table = folder / "Passes.td"
table.write_text(stage.replace("#endif //", row + "#endif //"))
(folder / "NarrowSums.cpp").write_text(separator + code)

commands = json.loads((build / "compile_commands.json").read_text())
like = next(command for command in commands
            if command["file"].endswith("lib/Propagate/ExplainShardings.cpp"))
words = shlex.split(like["command"])
includes = [word for word in words if word.startswith("-I")]
system = [words[at + 1] for at, word in enumerate(words) if word == "-isystem"]
tablegen = next(path for path in (pathlib.Path(one).parent / "bin/mlir-tblgen" for one in system)
                if path.exists())
subprocess.run([tablegen, "-gen-pass-decls", "-name", "Propagate", *includes,
                *(f"-I{one}" for one in system), table, "-o", headers / "Passes.h.inc"], check=True)

# Without the compiler's cache, and what is written.
start = next(at for at, word in enumerate(words) if "clang++" in word or word.endswith("g++"))
end = words.index("-o")
command = [*words[start:start + 1], f"-I{folder / 'include'}", *words[start + 1:end],
           "-fsyntax-only", "-Werror", folder / "NarrowSums.cpp"]
subprocess.run([word for word in command if word != "-c"], check=True, cwd=like["directory"])
