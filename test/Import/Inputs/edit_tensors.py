# Copies a checkpoint directory with a safetensors file changed.
#
#   edit_tensors.py [--values] SOURCE TARGET [--file NAME] STATEMENT
#
# STATEMENT is Python on `h`, the header as a dictionary; afterwards the data is
# what it was. `raw` may be set to bytes that replace the whole file instead.
#
# With --values it is Python on `t`, a dictionary from a tensor's name to a list
# of its type, shape and bytes, written back in the order of the names.
# `other(bytes)` gives the opposite values of F32, `other(bytes, 2)` of a type in
# 16 bits; `half(bytes)` the same ones in BF16, which are equal where the low bits
# were zero, as `rough(bytes)` makes them.

import argparse
import json
import pathlib
import shutil
import struct

parser = argparse.ArgumentParser()
parser.add_argument("--values", action="store_true")
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


def with_header(header, values):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + values


def edit_header(header, values, whole):
    scope = {"h": header, "whole": whole, "raw": None, "struct": struct}
    exec(args.statement, scope)
    return with_header(scope["h"], values) if scope["raw"] is None else scope["raw"]


def edit_values(header, values):
    tensors = {name: [entry["dtype"], entry["shape"], values[slice(*entry["data_offsets"])]]
               for name, entry in header.items() if name != "__metadata__"}
    exec(args.statement, {"t": tensors, "other": other, "half": half, "rough": rough})
    edited, place = {}, 0
    for name, (dtype, shape, part) in sorted(tensors.items()):
        edited[name] = {"dtype": dtype, "shape": shape, "data_offsets": [place, place + len(part)]}
        place += len(part)
    return with_header(edited, b"".join(part for _, (_, _, part) in sorted(tensors.items())))


shutil.rmtree(args.target, ignore_errors=True)
shutil.copytree(args.source, args.target)
path = args.target / args.file
whole = path.read_bytes()
begin = 8 + struct.unpack("<Q", whole[:8])[0]
header, values = json.loads(whole[8:begin]), whole[begin:]
path.write_bytes(edit_values(header, values) if args.values else
                 edit_header(header, values, whole))
