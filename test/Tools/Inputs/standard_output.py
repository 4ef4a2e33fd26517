"""Standard output that cannot be written to, of every tool: a full disk is told, a reader that has
gone is not, and neither is a success.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: standard_output.py FIXTURE ARTIFACT PROMPTS GENERATING
"""

import os
import re
import subprocess
import sys

FIXTURE, ARTIFACT, PROMPTS, GENERATING = sys.argv[1:]
WEIGHTS = ["--weights", "random:1"]
COMMANDS = [
    ["tp-compile", FIXTURE, "--explain"],
    ["tp-compile", FIXTURE, "--explain=json"],
    ["tp-compile", FIXTURE, "--compile-to=import"],
    ["tp-import", FIXTURE],
    ["tp-import", FIXTURE, "--limits"],
    ["tp-opt", "--show-dialects"],
    ["tp-verify", FIXTURE, "--seq", "4", "--stages=partition"],
    ["tp-verify", FIXTURE, "--seq", "4", "--stages=partition", "--report=json"],
    ["tp-run", ARTIFACT, *WEIGHTS, "--input", "random:1"],
    ["tp-run", ARTIFACT, *WEIGHTS, "--input", "random:1", "--stats=json"],
    ["tp-run", ARTIFACT, *WEIGHTS, "--input", "random:1", "--backend", "processes"],
    ["tp-run", GENERATING, *WEIGHTS, "--generate", PROMPTS],
    ["tp-inspect", ARTIFACT],
    ["tp-inspect", ARTIFACT, "--json"],
    ["tp-fuzz", "--print"],
    ["tp-mutate", "--mutants", "1"],
    *([tool, option] for option in ("--help", "--version")
      for tool in ("tp-compile", "tp-import", "tp-lsp-server", "tp-opt", "tp-verify", "tp-run",
                   "tp-inspect", "tp-fuzz", "tp-mutate")),
]
NOTICE = re.compile(r"^tp-[a-z-]+: (warning: .*|(ran|answered) .*)\n|^[a-z ]+ +[0-9.]+ s\n|^entry .*\n"
                    r"|^.*(remark|note): .*\n", re.MULTILINE)


def run(command, output):
    made = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True)
    return made.returncode, NOTICE.sub("", made.stderr)


for command in COMMANDS:
    with open("/dev/full", "w", encoding="utf-8") as full:
        code, said = run(command, full)
    expected = rf"{command[0]}: (error: )?cannot write to standard output: No space left on device\n"
    if code != 1 or not re.fullmatch(expected, said):
        sys.exit(f"{command} > /dev/full: {code}: {said}")
    reader, writer = os.pipe()
    os.close(reader)
    code, said = run(command, writer)
    os.close(writer)
    if code != 1 or said:
        sys.exit(f"{command} | true: {code}: {said}")
