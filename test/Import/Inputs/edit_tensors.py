# Copies a checkpoint directory with the header of a safetensors file changed.
#
#   edit_tensors.py SOURCE TARGET [--file NAME] STATEMENT
#
# STATEMENT is Python on `h`, the header as a dictionary; afterwards the data is
# what it was. `raw` may be set to bytes that replace the whole file instead.

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

shutil.rmtree(args.target, ignore_errors=True)
shutil.copytree(args.source, args.target)
path = args.target / args.file
whole = path.read_bytes()
length = struct.unpack("<Q", whole[:8])[0]
scope = {"h": json.loads(whole[8:8 + length]), "whole": whole, "raw": None,
         "struct": struct}
exec(args.statement, scope)
header = json.dumps(scope["h"]).encode()
path.write_bytes(scope["raw"] if scope["raw"] is not None else
                 struct.pack("<Q", len(header)) + header + whole[8 + length:])
