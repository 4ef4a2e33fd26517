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
    if config["model_type"] == "nemotron-nas":
        keys = queries // config["block_configs"][0]["attention"]["n_heads_in_group"]
    if config["model_type"] == "falcon":
        keys = (config["num_kv_heads"] if config["new_decoder_architecture"] else
                1 if config["multi_query"] else queries)
    return queries, keys


def degrees(folder, most):
    """Those that divide the heads of attention, and leave no rank without a head of linear attention."""
    queries, keys = heads(folder)
    config = json.loads((folder / "config.json").read_text())
    config |= config.get("text_config", {})
    most = min(most, *(config.get(key, most) for key in ("linear_num_value_heads", "mamba_n_heads", "mamba_num_heads")))
    return [n for n in range(1, most + 1)
            if queries % n == 0 and (keys % n == 0 or n % keys == 0)]


def count_experts(folder):
    """How many experts a plan of its own can give to ranks; 0 without a mixture of experts."""
    config = json.loads((folder / "config.json").read_text())
    config |= config.get("text_config", {})
    return max(config.get(key) or 0 for key in ("num_experts", "num_local_experts", "n_routed_experts",
                                                "moe_num_experts"))
