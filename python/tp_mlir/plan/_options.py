"""The command line of tp-plan: its options, and what each may be.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import pathlib
import re

from .. import _command_line, _version
from .._errors import UsageError
from .._numbers import integer, number
from . import _profile

FORMATS = ("table", "json", "csv", "html")
_SUFFIXES = {".json": "json", ".csv": "csv", ".html": "html", ".htm": "html", ".txt": "table",
             "": "table"}
_PLANS = ("megatron", "megatron-sp", "expert", "expert-sp", "replicated")


def parser():
    """Of tp-plan's command line."""
    made = _command_line.Parser(
        prog="tp-plan", description="Size the ranks that a model needs, without weights and "
        "without devices.", epilog="docs/Plan.md says how each figure is made. Exit code 3: no "
        "candidate fits and meets --latency.")
    _version.add(made)
    made.add_argument("model", metavar="DIR|model.mlir", nargs="?",
                      help="checkpoint folder, of which config.json is enough, GGUF file, or program")
    made.add_argument("--gpu", metavar="NAME|FILE.json", default="h100", help="device: " +
                      ", ".join(_profile.known()) + " or a profile of your own (default: h100)")
    made.add_argument("--degrees", metavar="1,2,...",
                      help="tensor-parallel degrees (default: 1,2,4,8; of a .mlir file with a mesh "
                           "of its own that mesh)")
    made.add_argument("--plans", metavar="P,...", default="megatron",
                      help=", ".join(_PLANS) + ", FILE.json (default: megatron)")
    made.add_argument("--ranks-per-node", metavar="N", type=integer(1),
                      help="ranks that share a node (default: the profile's)")
    made.add_argument("--latency", metavar="MS", type=number(0, above=True),
                      help="milliseconds that a token, or a step of training, may take")
    made.add_argument("--rate", metavar="R", type=number(0, above=True),
                      help="tokens a second of the whole service: how many replicas it takes, and "
                           "of how many users each unless --users says")
    made.add_argument("--price", metavar="P", type=number(0, above=True),
                      help="what one device costs an hour: what an hour and a million tokens cost "
                           "(default: the profile's, if it has one)")
    made.add_argument("--dtype", metavar="T", help="f32, bf16 or f16 (default: the "
                      "checkpoint's)")
    made.add_argument("--quantize", metavar="FORMAT",
                      help="quantise the weights while they are read, as tp-compile does: int8, "
                           "int4-g128, ... (default: they stay as they are)")
    made.add_argument("--untie", action="store_true", default=None,
                      help="the head is a parameter of its own, whatever config.json says")
    made.add_argument("--ignore", metavar="NAME,...",
                      help="tensors that the checkpoint is read without")
    _add_workloads(made)
    made.add_argument("--format", choices=FORMATS, help="default: what the name of --output "
                      "ends in (.json, .csv, .html; .txt or nothing: table), or else table")
    made.add_argument("-o", "--output", metavar="FILE", type=pathlib.Path,
                      help="where to (default, and -: standard output)")
    made.add_argument("--measure", metavar="FILE.json", type=pathlib.Path,
                      help="measure this machine's processor instead, and write its profile")
    made.add_argument("--check", action="store_true", help="also run the program on this "
                      "machine's processor, and say how far the figures are off")
    return made


def _add_workloads(made):
    serve = made.add_argument_group("serving")
    serve.add_argument("--context", metavar="C", type=integer(1),
                       help="tokens of a user, at most (default: 4096, or the model's limit)")
    serve.add_argument("--kv-dtype", metavar="T",
                       help="type of the cache: f32, bf16, f16, fp8 or int8 (default: --dtype)")
    serve.add_argument("--users", metavar="U", type=integer(1),
                       help="served at once by one replica (default: 1, or as --rate needs)")
    serve.add_argument("--prompt", metavar="P", type=integer(1),
                       help="tokens of the prompt whose time is told (default: the context)")
    train = made.add_argument_group("training")
    train.add_argument("--train", metavar="adamw|sgd", help="a step of training instead")
    train.add_argument("--accumulate", metavar="N", type=integer(1),
                       help="micro-batches of a step (default: 1)")
    train.add_argument("--dp", metavar="D", type=integer(1),
                       help="data-parallel groups (default: 1)")
    train.add_argument("--shard-optimizer", metavar="AXIS", help="the mesh axis, dp as a rule, over "
                       "which moments and masters are divided (default: none)")
    train.add_argument("--recompute", metavar="WHAT", help="none, selective or full (default: "
                       "selective)")
    run = made.add_argument_group("training, or one run of the program (the default of encoders "
                                  "and of .mlir files)")
    run.add_argument("--seq", metavar="S", type=integer(1), help="tokens of a sequence")
    run.add_argument("--batch", metavar="B", type=integer(1), help="sequences at once, of each "
                     "data-parallel group")


def wrong(option, text):
    """The UsageError of what is wrong with an option."""
    return UsageError("tp-plan", 2, f"for {option}: {text}")


def degrees(text):
    """The numbers of --degrees, rising; None where it is not given."""
    if text is None:
        return None
    # More ranks than have nine digits are no mesh of tp-compile's.
    if not re.fullmatch(r"[1-9]\d{0,8}(,[1-9]\d{0,8})*", text):
        raise wrong("--degrees", "expected positive integers with commas between them, such as "
                    f"1,2,4,8, got '{text}'")
    return sorted({int(part) for part in text.split(",")})


def plans(text):
    """The names and files of --plans, in order, each once."""
    for plan in (found := text.split(",")):
        if plan not in _PLANS and not plan.endswith(".json"):
            raise wrong("--plans", f"expected some of {', '.join(_PLANS)} and files that end in "
                        f".json, got '{plan}'")
        if plan not in _PLANS and not pathlib.Path(plan).is_file():
            raise wrong("--plans", f"there is no file '{plan}'")
    return list(dict.fromkeys(found))


def output_format(args):
    """What --format says, or the name of --output, which must be one that can be written."""
    if args.output is not None and not args.output.parent.is_dir():
        raise wrong("--output", f"there is no folder '{args.output.parent}'")
    if args.output is not None and args.output.is_dir():
        raise wrong("--output", f"expected the name of a file, and '{args.output}' is a folder")
    if args.output in (None, pathlib.Path("-")) or args.format:
        return args.format or "table"
    if args.output.suffix.lower() not in _SUFFIXES:
        raise wrong("--output", "expected a name that ends in .json, .csv, .html or .txt, or "
                    f"--format beside it, got '{args.output}'")
    return _SUFFIXES[args.output.suffix.lower()]


def check_measure(args, made):
    """Beside --measure nothing else has a meaning; its file is JSON."""
    if args.measure.suffix.lower() != ".json":
        raise wrong("--measure", f"expected a name that ends in .json, got '{args.measure}'")
    for name, value in vars(args).items():
        if name != "measure" and value != made.get_default(name):
            raise wrong("--measure", "measures this machine and nothing else: expected no "
                        f"{'model' if name == 'model' else '--' + name.replace('_', '-')} beside it")
