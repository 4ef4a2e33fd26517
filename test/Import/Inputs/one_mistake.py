"""Spoil one key of each family's configuration, and tell where that is not one error.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import pathlib
import subprocess
import sys

# One of them decides what else is read.
KEYS = ("num_attention_heads", "hidden_act", "hidden_activation", "activation_function",
        "mlp_hidden_act", "num_experts_per_tok", "kv_lora_rank", "linear_conv_kernel_dim",
        "mamba_d_conv", "layers_block_type")


def main(tool, families, folder):
    pathlib.Path(folder).mkdir(exist_ok=True)
    count = 0
    for path in sorted(pathlib.Path(families).glob("*/config.json")):
        config = json.loads(path.read_text(encoding="utf-8"))
        text = config.get("text_config", config)
        # The last one of these is read the latest.
        key = next((key for key in reversed(KEYS) if key in text), None)
        if key is None:
            continue
        count += 1
        text[key] = ["nonsense"] if key == "layers_block_type" else {"nonsense": 1}
        (pathlib.Path(folder) / "config.json").write_text(json.dumps(config), encoding="utf-8")
        said = subprocess.run([tool, folder, "--seq", "4"], capture_output=True, text=True,
                              check=False)
        errors = [line for line in said.stderr.splitlines() if ": error: " in line]
        if len(errors) != 1 or key not in errors[0]:
            print(f"{path.parent.name}, {key}: {len(errors)} errors:", *errors, sep="\n  ")
    print(count, "families")


main(*sys.argv[1:])
