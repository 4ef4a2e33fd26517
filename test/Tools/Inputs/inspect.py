"""Holds what tp-inspect --json says against the file and against itself."""

import json
import os
import sys

told = json.load(open(sys.argv[1]))
artifact, memory, manifest = told["artifact"], told["memory"], told["manifest"]
assert artifact["bytes"] == os.path.getsize(sys.argv[2])
assert sum(section["bytes"] for section in artifact["sections"]) <= artifact["bytes"]
[entry] = manifest["entries"]
held = memory["parameter_bytes"] + memory["state_bytes"] + memory["constant_bytes"]
stated = memory["entries"][entry["name"]]
assert stated["peak_bytes"] == entry["peak_bytes"]
rest = stated["peak_bytes"] - stated["arena_bytes"] - stated["comm_bytes"] - held
# Inputs and outputs; parameters are laid out on multiples of 256 bytes.
assert -256 * len(manifest["parameters"]) * 8 < rest < 1 << 20, rest
print(f"{artifact['ranks']} ranks, sections add up, memory is the entry's")
