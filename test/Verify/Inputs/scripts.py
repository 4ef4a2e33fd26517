"""tp-verify's random steps of generation for every checkpoint of some folders that generates.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

What has no logits of a next token is left out, and what differs from others in how its files
are written, or is only larger.
"""

import pathlib
import re
import subprocess
import sys

LEFT_OUT = {"all-minilm-l6-v2", "gpt2-hub", "llama-old-spelling", "llama-sharded", "text-model"}
# Over a page, unless the model's positions end before.
CONTEXT, SHORT = 36, {"phi3-long": 11, "llama-dynamic": 11}

EQUAL = re.compile(r"^(?:import @main,|partition) @step_.* 6 steps: equal, ", re.MULTILINE)


def verify(folder, degree):
    context = str(SHORT.get(folder.name, CONTEXT))
    return subprocess.run(
        ["tp-verify", folder, "--dtype", "f32", "--generate", "--rows", "2", "--chunk", "4",
         "--context", context, "--seq", context, "--steps", "6", "--script", "random:1",
         "--stages", "partition", "--mesh", f"tp={degree}"],
        capture_output=True, text=True, check=False)


def main(degree, *roots):
    checked = 0
    for folder in sorted(one for root in roots for one in pathlib.Path(root).iterdir()):
        if folder.name in LEFT_OUT:
            continue
        done = verify(folder, degree)
        if "--generate needs a language model" in done.stderr:
            continue
        # What of @main hangs on rounding, behind a window, is judged by its steps alone.
        if done.returncode != 0 or len(EQUAL.findall(done.stdout)) != 2:
            sys.exit(f"{folder.name} differs:\n{done.stdout}{done.stderr}")
        checked += 1
    print(checked, "checkpoints: equal")


main(*sys.argv[1:])
