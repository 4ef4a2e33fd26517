"""tp-verify's random steps of generation for every checkpoint of some folders that generates.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Those whose steps differ from others' in what they compute; with VERIFY_SCRIPTS=all in the environment
every one that generates, but for what differs from others in how its files are written, or is
only larger.
"""

import os
import pathlib
import re
import subprocess
import sys

LEFT_OUT = {"all-minilm-l6-v2", "gpt2-hub", "llama-old-spelling", "llama-sharded", "text-model"}
# Biases of positions, windows, soft caps, learned positions, rotations of a part or beyond the limit,
# parallel blocks; one KV head, norms of heads, latent caches and mixtures.
DIFFERENT = {"bloom", "cohere", "falcon-alibi", "gemma2", "gemma3", "llama-dynamic", "opt", "phi3-long",
             "deepseek-v3", "gpt2", "llama-mqa", "qwen2-moe", "qwen3"}
# Over a page, unless the model's positions end before.
CONTEXT, SHORT = 36, {"phi3-long": 11, "llama-dynamic": 11}

ALL = os.environ.get("VERIFY_SCRIPTS") == "all"
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
        if folder.name in LEFT_OUT or not (ALL or folder.name in DIFFERENT):
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
