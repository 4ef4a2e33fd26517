# Copies a checkpoint directory with one of its JSON files changed.
#
#   edit.py SOURCE TARGET [--weights] [--file NAME] [--inside KEY] [--set JSON] [--remove KEY]...
#
# Without --weights the safetensors files stay behind: config.json alone is
# enough to import, and a change of it need not fit the tensors. --set merges an
# object into the file's (or replaces an array); with --inside, into the object
# of that key.

import argparse
import json
import pathlib
import shutil

parser = argparse.ArgumentParser()
parser.add_argument("source", type=pathlib.Path)
parser.add_argument("target", type=pathlib.Path)
parser.add_argument("--weights", action="store_true")
parser.add_argument("--file", default="config.json")
parser.add_argument("--inside")
parser.add_argument("--set", default="{}")
parser.add_argument("--remove", action="append", default=[])
args = parser.parse_args()

shutil.rmtree(args.target, ignore_errors=True)
shutil.copytree(args.source, args.target)
if not args.weights:
    for path in args.target.glob("model*"):
        path.unlink()
path = args.target / args.file
value, change = json.loads(path.read_text()), json.loads(args.set)
if isinstance(value, list):
    value = change
else:
    changed = value[args.inside] if args.inside else value
    for key in args.remove:
        del changed[key]
    changed.update(change)
path.write_text(json.dumps(value, indent=2) + "\n")
