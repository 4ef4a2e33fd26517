# Copies a checkpoint directory with other tensors.
#
#   edit_values.py SOURCE TARGET [--file NAME] STATEMENT
#
# STATEMENT is Python on `t`, a dictionary from a tensor's name to a list of its
# type, shape and bytes, written back in the order of the names. `other(bytes)`
# gives the opposite values of F32, `other(bytes, 2)` of a type in 16 bits;
# `half(bytes)` the same ones in BF16, which are equal where the low bits were
# zero, as `rough(bytes)` makes them.

import argparse
import json
import pathlib
import shutil
import struct

parser = argparse.ArgumentParser()
parser.add_argument("source", type=pathlib.Path)
parser.add_argument("target", type=pathlib.Path)
parser.add_argument("--file", default="model.safetensors")
parser.add_argument("statement")
args = parser.parse_args()


def other(data, size=4):
    return bytes(byte ^ 0x80 if i % size == size - 1 else byte for i, byte in enumerate(data))


def half(data):
    return b"".join(data[i + 2:i + 4] for i in range(0, len(data), 4))


def rough(data):
    return b"".join(b"\0\0" + data[i + 2:i + 4] for i in range(0, len(data), 4))


shutil.rmtree(args.target, ignore_errors=True)
shutil.copytree(args.source, args.target)
path = args.target / args.file
data = path.read_bytes()
start = 8 + struct.unpack("<Q", data[:8])[0]
t = {name: [entry["dtype"], entry["shape"],
            data[start + entry["data_offsets"][0]:start + entry["data_offsets"][1]]]
     for name, entry in json.loads(data[8:start]).items() if name != "__metadata__"}
exec(args.statement, {"t": t, "other": other, "half": half, "rough": rough})
header, place = {}, 0
for name in sorted(t):
    dtype, shape, values = t[name]
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [place, place + len(values)]}
    place += len(values)
text = json.dumps(header).encode()
path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(t[name][2] for name in sorted(t)))
