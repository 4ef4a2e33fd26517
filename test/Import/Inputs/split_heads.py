# Copies a checkpoint in which each head has its query, key and value side by side, with these as
# tensors of their own beside the fused ones.
#
#   split_heads.py SOURCE TARGET

import json
import pathlib
import shutil
import struct
import sys

source, target = map(pathlib.Path, sys.argv[1:])
shutil.rmtree(target, ignore_errors=True)
target.mkdir(parents=True)
config = json.loads((source / "config.json").read_text())
shutil.copy(source / "config.json", target)
data = (source / "model.safetensors").read_bytes()
start = 8 + struct.unpack("<Q", data[:8])[0]
header, body, written = json.loads(data[8:start]), b"", {}


def add(name, dtype, shape, values):
    global body
    written[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(values)]}
    body += values


for name, entry in header.items():
    if name == "__metadata__":
        continue
    begin, end = entry["data_offsets"]
    values, shape = data[start + begin:start + end], entry["shape"]
    add(name, entry["dtype"], shape, values)
    if "query_key_value" not in name:
        continue
    # A third of each head's rows.
    size = len(values) // config["num_attention_heads"] // 3
    for place, part in enumerate(("q", "k", "v")):
        own = b"".join(values[at:at + size] for at in range(place * size, len(values), 3 * size))
        add(name.replace("query_key_value", part + "_proj"), entry["dtype"],
            [shape[0] // 3, *shape[1:]], own)
text = json.dumps(written).encode()
(target / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)
