"""The command line of tp-train: its options, and what each may be.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import pathlib
import re

from . import _command_line, _version
from ._errors import UsageError
from ._numbers import integer, number, word


def _betas(text):
    """The type of --betas, which goes on as it is."""
    try:
        values = [float(value) for value in text.split(",")]
    except ValueError:
        values = []
    if len(values) != 2 or not all(0 <= value < 1 for value in values):
        raise argparse.ArgumentTypeError("expected two numbers of at least 0 and below 1, such as "
                                         f"0.9,0.95, got '{text}'")
    return text


def _schedule(text):
    """The type of --schedule, which goes on as it is."""
    name, colon, settings = text.partition(":")
    number = r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?"
    known = r"warmup=\d+" if name == "constant" else rf"(warmup=\d+|min={number})"
    if name not in ("constant", "cosine", "linear") or (
            colon and not re.fullmatch(rf"{known}(,{known})*", settings)):
        raise argparse.ArgumentTypeError("expected constant, cosine or linear, with :warmup=STEPS,"
                                         "min=RATE behind it (no min of constant), got "
                                         f"'{text}'")
    return text


# Options that go on as they are, with their help.
COMPILED = {
    "mesh": (str, "ranks, such as tp=2 or dp=2,tp=2"),
    "plan": (str, "how the model is cut: megatron, megatron-sp, ... or a file"),
    "target": (str, "what runs it: cpu or cuda, with a GPU for each rank"),
    "allow_padding": (None, "cut heads even where more than half of them would be padding"),
    "dtype": (word("f32", "bf16"), "type of the weights in memory: f32 or bf16"),
    "recompute": (word("none", "selective", "full"),
                  "what is computed again rather than kept: none, selective or full"),
    "ignore": (str, "tensors that the checkpoint is read without: NAME,..."),
    "shard_optimizer": (str, "the mesh axis, dp as a rule, over whose ranks the optimizer's states "
                        "are divided"),
    "dropout": (word("off", "on", "residual"),
                "what of the config's dropout there is: off, on or residual"),
}
RUN = {
    "accumulate": (integer(1), "batches of a step"),
    "weight_decay": (number(0), "of all weights but vectors"),
    "betas": (_betas, "of adamw, such as 0.9,0.95"),
    "eps": (number(0), "of adamw"),
    "momentum": (number(0, below=1), "of sgd; 0 for none"),
    "order": (word("shuffle", "sequential"), "of the rows of tokens: shuffle or sequential"),
    "seed": (integer(0), "of that order and of dropout"),
    "save_every": (integer(1), "write a checkpoint after every so many steps too"),
    "keep": (integer(1), "checkpoints that are kept: the last in OUT, those before it in OUT.step-N "
             "(default: 2)"),
    "eval_every": (integer(1), "tell the loss of the --eval texts after every so many steps, and at the "
                   "end"),
    "patience": (integer(1), "end after so many of these in a row that are no better than the best"),
    "max_skips": (integer(0), "steps in a row that may be skipped as their loss or gradient norm is not "
                  "finite (default: 10)"),
    "backend": (word("threads", "processes", "mpi", "nccl"),
                "what the ranks are: threads, processes or mpi; nccl, with a GPU each (default: the "
                "target's)"),
}
# Those of one optimizer.
_OF = {"adamw": ("betas", "eps"), "sgd": ("momentum",)}


def parser():
    """Of tp-train's command line."""
    made = _command_line.Parser(
        prog="tp-train", description="Train a model on text.",
        epilog="Ctrl-C, SIGTERM, SIGHUP and SIGUSR1 end the run and save it; --resume goes on. A "
        "second one ends it at once.")
    _version.add(made)
    made.add_argument("model", metavar="DIR", type=pathlib.Path,
                        help="checkpoint folder; config.json alone begins with random weights")
    made.add_argument("texts", metavar="TEXT", type=pathlib.Path, nargs="+",
                        help="files of UTF-8 text")
    made.add_argument("--eval", metavar="TEXT", type=pathlib.Path, nargs="+", default=[],
                        help="other texts, whose loss is told and never trained on; OUT.best is the "
                             "checkpoint where it was the least")
    made.add_argument("--tensorboard", metavar="LOGDIR", type=pathlib.Path,
                        help="also write the log as event files of TensorBoard, as the run goes")
    made.add_argument("-o", "--output", metavar="OUT", type=pathlib.Path,
                        help="folder for the checkpoint, with train.jsonl and loss.svg")
    made.add_argument("--tokenizer", metavar="PATH", type=pathlib.Path,
                        help="folder with tokenizer.json, or such a file (default: DIR)")
    made.add_argument("--init", metavar="SEED", type=integer(),
                        help="begin with random weights, whatever DIR has")
    made.add_argument("--untie", action="store_true",
                        help="train a head of its own, whatever config.json says")
    there = made.add_mutually_exclusive_group()
    there.add_argument("--resume", action="store_true", help="go on with the run in OUT")
    there.add_argument("--overwrite", action="store_true", help="replace the run in OUT")
    made.instead["--resume"] = "-o {} says where the run is"
    made.add_argument("--optimizer", choices=("adamw", "sgd"), default="adamw",
                        help="default: %(default)s")
    made.add_argument("--batch", type=integer(1), default=4, help="rows of a batch (default: 4)")
    made.add_argument("--seq", type=integer(1), help="tokens of a row (default: 256, or the model's "
                        "most)")
    made.add_argument("--clip", type=number(0), default=1.0,
                        help="the most that the gradient's norm may be; 0: any (default: 1)")
    made.add_argument("--steps", type=integer(0), help="default: as many as read the texts once")
    made.add_argument("--lr", type=number(0, above=True), default=3e-4, help="default: %(default)s")
    made.add_argument("--schedule", type=_schedule, help="constant, cosine or linear, and :warmup=STEPS,min=RATE"
                        " (default: cosine with a twentieth of the steps and of the rate)")
    for name, (kind, about) in (COMPILED | RUN).items():
        form = {"type": kind} if kind else {"action": "store_true"}
        made.add_argument(f"--{name.replace('_', '-')}", help=about, **form)
    return made


def check(args):
    """Options that have no meaning beside each other, before anything is read."""
    def refuse(name, words):
        raise UsageError("tp-train", 2, f"for --{name.replace('_', '-')}: {words}; tp-train --help "
                         "lists the options")

    if args.output is None:
        raise UsageError("tp-train", 2, "missing -o/--output; tp-train --help lists the options")
    for optimizer, names in _OF.items():
        for name in names:
            if getattr(args, name) is not None and args.optimizer != optimizer:
                refuse(name, f"expected --optimizer {optimizer} beside it, got {args.optimizer}")
    for name in ("eval_every", "patience"):
        if getattr(args, name) is not None and not args.eval:
            refuse(name, "has no meaning without --eval")
    least = re.search(r"min=([^,]*)", args.schedule or "")
    if least and float(least[1]) > args.lr:
        refuse("schedule", f"expected a min that is at most --lr, {args.lr:g}, got "
               f"'{args.schedule}'")
