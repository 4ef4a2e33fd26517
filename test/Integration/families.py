"""The tiny checkpoints of test/families, and at which degrees they fit.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import pathlib

FAMILIES = pathlib.Path(__file__).resolve().parents[1] / "families"


def heads(folder):
    """Of queries, and of keys and values."""
    config = json.loads((folder / "config.json").read_text())
    config |= config.get("text_config", {})
    queries = next(config[key] for key in ("num_attention_heads", "n_heads", "n_head", "num_heads")
                   if key in config)
    keys = config.get("num_key_value_heads") or queries
    if config["model_type"] == "falcon":
        keys = (config["num_kv_heads"] if config["new_decoder_architecture"] else
                1 if config["multi_query"] else queries)
    return queries, keys


def degrees(folder, most):
    queries, keys = heads(folder)
    return [n for n in range(1, most + 1)
            if queries % n == 0 and (keys % n == 0 or n % keys == 0)]


def has_experts(folder):
    """Whether it has a mixture of experts, which a plan of its own cuts."""
    config = json.loads((folder / "config.json").read_text())
    return any("experts" in key for key in config | config.get("text_config", {}))
