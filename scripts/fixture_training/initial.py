"""What transformers begins to train with.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

initial.json beside a checkpoint has, for its config and for one with the changes that it names,
the deviation of each parameter's random numbers as it is asked for, 0 where all are zeros and null
where all are ones, and the row of the table of words that is zeros.
"""

import json
import tempfile
from unittest import mock

from transformers import AutoConfig, AutoModelForCausalLM, initialization

FOLDERS = ("gpt2", "llama-tied", "qwen2", "qwen3")
CHANGES = {"initializer_range": 0.05, "pad_token_id": 3}


def observe(config):
    """The deviations by name, and the row of zeros or None."""
    asked, draw = {}, initialization.normal_

    def normal(tensor, mean=0.0, std=1.0, generator=None):
        assert mean == 0
        asked[tensor.data_ptr()] = std
        return draw(tensor, mean, std, generator)

    with mock.patch.object(initialization, "normal_", normal):
        model = AutoModelForCausalLM.from_config(config)
    found, rows = {}, []
    for name, value in model.named_parameters():
        if value.data_ptr() in asked:
            found[name] = asked[value.data_ptr()]
            rows += [i for i, row in enumerate(value.tolist()) if not any(row)]
        else:
            assert value.ndim == 1 and value.unique().numel() == 1
            found[name] = None if value[0] else 0.0
    assert len(rows) <= 1
    return {"deviations": found, "zero_row": rows[0] if rows else None}


def write(folder):
    with tempfile.TemporaryDirectory() as scratch:
        AutoConfig.from_pretrained(folder, **CHANGES).save_pretrained(scratch)
        found = [{"changes": changes, **observe(AutoConfig.from_pretrained(source))}
                 for changes, source in (({}, folder), (CHANGES, scratch))]
    (folder / "initial.json").write_text(
        "[\n" + ",\n".join(f" {json.dumps(one)}" for one in found) + "\n]\n")
