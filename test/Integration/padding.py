"""Texts in which the padding token occurs, for the tests and for what PyTorch makes of the same.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import pathlib
import zlib

import numpy
from families import FAMILIES

ROOT = FAMILIES.parent
FACTS = pathlib.Path(__file__).resolve().parent / "CPU/Inputs/padding-rows.json"
# A checkpoint of each family that trains, beside those of test/families that do.
FIXTURES = ("gpt2", "llama-gqa", "llama-tied", "mistral", "qwen2", "qwen3", "mixtral", "granite-moe",
            "deepseek-v2", "deepseek-v3", "qwen2-moe", "qwen3-moe")
BATCH, SEQ, STEPS = 2, 16, 8
LR, BETAS, EPS, WEIGHT_DECAY = 5e-3, (0.9, 0.95), 1e-6, 0.1


def folders():
    return [ROOT / "fixtures" / name for name in FIXTURES] + [
        path.parent for path in sorted(FAMILIES.glob("*/gradients.json"))]


def text_config(config):
    return config.get("text_config", config)


def vocabulary(folder):
    return text_config(json.loads((folder / "config.json").read_text()))["vocab_size"]


def padding_id(folder):
    """As the config has it: one of the first rows, the middle one, or the last, as -1."""
    return (5, vocabulary(folder) // 2, -1)[zlib.crc32(folder.name.encode()) % 3]


def row(folder):
    return padding_id(folder) % vocabulary(folder)


def checkpoint(folder, out, has_row):
    """The checkpoint with that padding token, or with none."""
    out.mkdir(parents=True)
    for path in folder.iterdir():
        if path.name != "config.json" and path.is_file():
            (out / path.name).symlink_to(path.resolve())
    config = json.loads((folder / "config.json").read_text())
    text_config(config)["pad_token_id"] = padding_id(folder) if has_row else None
    (out / "config.json").write_text(json.dumps(config))
    return out


def image_tokens(folder):
    """Tokens that stand for parts of images: no text has them, and transformers embeds some of them
    as others."""
    config = json.loads((folder / "config.json").read_text())
    return [config[key] for key in ("image_token_id", "image_token_index", "video_token_id")
            if key in config]


def batch(folder):
    """Tokens, padding among them, and labels as `transformers` takes them: the tokens, some of
    them not to be predicted."""
    random = numpy.random.RandomState(zlib.crc32(folder.name.encode()))
    ids = random.randint(0, vocabulary(folder), (BATCH, SEQ))
    ids[numpy.isin(ids, image_tokens(folder))] = 3
    ids[0, [1, 2, 9]] = ids[1, [0, 7, 15]] = row(folder)
    labels = numpy.where(random.rand(BATCH, SEQ) < 0.2, -100, ids)
    return {"input_ids": ids, "labels": labels}


def digest(table, number):
    """Norms, and products with cosines, of a table and of one row of it."""
    table = table.astype(numpy.float64)
    waves = numpy.cos(numpy.arange(table.size)).reshape(table.shape)
    return [float(x) for x in (numpy.linalg.norm(table), (table * waves).sum(),
                               numpy.linalg.norm(table[number]), (table * waves)[number].sum())]
