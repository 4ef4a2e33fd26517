"""Training on text, from the command line: `tp-train`.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Tokenises texts, compiles the model for training, runs it, and draws its loss. The checkpoint has
the tokenizer's files, so that tp-chat and tp-serve take it as it is.
"""

import argparse
import json
import math
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import numpy

from . import _curve, _checkpoint, _program, _tools, _version
from ._errors import exit_code, from_exit
from .text import Tokenizer, copy_sources

_MODEL_FILES = ("config.json", "generation_config.json")
# About so much of a text is tokenised at once, up to the end of a line.
_PIECE = 1 << 20
# Options that go on as they are, with their help.
_COMPILED = {
    "mesh": (str, "ranks, such as tp=2 or dp=2,tp=2"),
    "plan": (str, "how the model is cut: megatron, megatron-sp, ... or a file"),
    "dtype": (str, "type of the weights in memory: f32 or bf16"),
    "recompute": (str, "what is computed again rather than kept: none, selective or full"),
    "dropout": (str, "what of the config's dropout there is: off, on or residual"),
}
_RUN = {
    "accumulate": (int, "batches of a step"),
    "weight_decay": (float, "of all weights but vectors"),
    "betas": (str, "of adamw, such as 0.9,0.95"),
    "eps": (float, "of adamw"),
    "momentum": (float, "of sgd; 0 for none"),
    "order": (str, "of the rows of tokens: shuffle or sequential"),
    "seed": (int, "of that order and of dropout"),
    "save_every": (int, "write a checkpoint after every so many steps too"),
    "backend": (str, "what the ranks are: threads, processes or mpi"),
}


def _parser():
    parser = argparse.ArgumentParser(
        prog="tp-train", description="Train a model on text.",
        epilog="Ctrl-C ends the run after its step and saves it; --resume goes on.")
    _version.add(parser)
    parser.add_argument("model", metavar="DIR", type=pathlib.Path,
                        help="checkpoint folder; config.json alone begins with random weights")
    parser.add_argument("texts", metavar="TEXT", type=pathlib.Path, nargs="+",
                        help="files of UTF-8 text")
    parser.add_argument("-o", "--output", metavar="OUT", type=pathlib.Path, required=True,
                        help="folder for the checkpoint, with train.jsonl and loss.svg")
    parser.add_argument("--tokenizer", metavar="PATH", type=pathlib.Path,
                        help="folder with tokenizer.json, or such a file (default: DIR)")
    parser.add_argument("--init", metavar="SEED", type=int,
                        help="begin with random weights, whatever DIR has")
    parser.add_argument("--resume", action="store_true", help="go on with the run in OUT")
    parser.add_argument("--optimizer", default="adamw", help="adamw or sgd (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=4, help="rows of a batch (default: 4)")
    parser.add_argument("--seq", type=int, help="tokens of a row (default: 256, or the model's "
                        "most)")
    parser.add_argument("--clip", type=float, default=1.0,
                        help="the most that the gradient's norm may be; 0: any (default: 1)")
    parser.add_argument("--steps", type=int, help="default: as many as read the texts once")
    parser.add_argument("--lr", type=float, default=3e-4, help="default: %(default)s")
    parser.add_argument("--schedule", help="constant, cosine or linear, and :warmup=STEPS,min=RATE"
                        " (default: cosine with a twentieth of the steps and of the rate)")
    for name, (kind, about) in (_COMPILED | _RUN).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind, help=about)
    return parser


def _say(words):
    print(f"tp-train: {words}", file=sys.stderr, flush=True)


def _stage(args, folder):
    """The small files of the checkpoint to be, in `folder`. Returns the config, and where the
    tokenizer is."""
    _checkpoint.check_model(args.model)
    config = _checkpoint.read_config(args.model)
    source = args.tokenizer or args.model
    for name in _MODEL_FILES:
        if (args.model / name).is_file():
            shutil.copyfile(args.model / name, folder / name)
    if source.is_file():
        _checkpoint.check_file(source)
        shutil.copyfile(source, folder / "tokenizer.json")
        beside = [str(path) for path in copy_sources(source.parent) if path.name != source.name]
        if beside:
            _say(f"{source}: read alone; ignored: {', '.join(beside)} (--tokenizer "
                 f"{source.parent} reads them too)")
        return config, folder
    for path in copy_sources(source):
        (folder / path).parent.mkdir(exist_ok=True)
        shutil.copyfile(source / path, folder / path)
    return config, source


def _pieces(text):
    """The text in parts that end with a line."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin + _PIECE) + 1 or len(text)
        yield text[begin:end]
        begin = end


def _around(tokenizer):
    """Returns the ids that each text begins and ends with: those that the tokenizer adds, and the
    end token, if its files name one that the model has."""
    before, after = map(list, tokenizer.around)
    if tokenizer.eos in tokenizer.stop_ids and after[-1:] != [tokenizer.eos]:
        after.append(tokenizer.eos)
    return before, after


def _says_around(tokenizer):
    before, after = ("".join(map(tokenizer.token, ids)) for ids in _around(tokenizer))
    begins, ends = (f"'{text}'" if text else "nothing" for text in (before, after))
    return f"each text has {begins} before it and {ends} after it"


def tokenise(tokenizer, paths):
    """Returns the ids of all texts, one after the other. The ids around a text are added once,
    however long it is."""
    found = []
    before, after = _around(tokenizer)
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise ValueError(f"{path}: expected UTF-8 text, got byte 0x{byte:02x} at "
                             f"{error.start}") from error
        if not text:
            continue
        pieces = [tokenizer.encode(piece, add_special_tokens=False) for piece in _pieces(text)]
        # A text that contains these tokens already gets no second ones.
        begins = pieces[0][:len(before)] == before
        ends = pieces[-1][len(pieces[-1]) - len(after):] == after
        pieces = [[] if begins else before, *pieces, [] if ends else after]
        found += [numpy.array(ids, numpy.int32) for ids in pieces]
    return numpy.concatenate(found) if found else numpy.zeros(0, numpy.int32)


def _has_weights(folder):
    return any(folder.glob("model*.safetensors"))


def _limit(config):
    """Positions that the model is good for."""
    return config.get("max_position_embeddings") or config.get("n_positions") or math.inf


class _Run:
    """What is to be done, with everything checked that can be before it is begun."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.small = folder / "checkpoint"
        self.small.mkdir()
        config, source = _stage(args, self.small)
        self.seq = int(min(256, _limit(config))) if args.seq is None else args.seq
        accumulate = 1 if args.accumulate is None else args.accumulate
        if min(args.batch, self.seq, accumulate) < 1:
            raise ValueError("expected --batch, --seq and --accumulate of at least 1")
        tokenizer = Tokenizer(source)
        for note in tokenizer.notes:
            _say(note)
        _say(_says_around(tokenizer))
        tokens = tokenise(tokenizer, args.texts)
        names = ", ".join(map(str, args.texts))
        self.rows = len(tokens) // (self.seq + 1)
        if self.rows == 0:
            raise ValueError(f"{names}: {len(tokens)} tokens, fewer than the {self.seq + 1} of a "
                             "row; a longer text or a smaller --seq would do")
        if tokens.max() >= config.get("vocab_size", math.inf):
            last = int(tokens.max())
            raise ValueError(f"the tokenizer has id {last} ({tokenizer.token(last)!r}), and the "
                             f"model's vocabulary ends before {config['vocab_size']}: expected the "
                             "tokenizer that belongs to the model")
        numpy.save(folder / "tokens.npy", tokens[:self.rows * (self.seq + 1)])
        a_step = args.batch * accumulate
        self.steps = math.ceil(self.rows / a_step) if args.steps is None else args.steps
        self.name = f"{args.model.resolve().name} on {', '.join(path.name for path in args.texts)}"
        _say(f"{len(tokens)} tokens, {self.rows} rows of {self.seq}; {self.steps} steps of "
             f"{a_step * self.seq} tokens")

    def weights(self):
        if self.args.init is None and _has_weights(self.args.model):
            return self.args.model
        if self.args.init is None and not self.args.resume:
            _checkpoint.check_weights(self.args.model)
            _say(f"no weights in {self.args.model}: the run begins with random ones, --init 1")
        return f"init:{1 if self.args.init is None else self.args.init}"

    def compile(self):
        args = self.args
        return _program.compile(
            args.model, self.folder / "train.tpa", train=args.optimizer, batch=args.batch,
            seq=self.seq, clip=args.clip or None, momentum=bool(args.momentum),
            **{name: getattr(args, name) for name in _COMPILED})

    def command(self, program):
        args = self.args
        schedule = args.schedule or f"cosine:warmup={self.steps // 20},min={args.lr / 20:g}"
        given = {name: getattr(args, name) for name in _RUN}
        # A program without momentum does not know the word.
        given["momentum"] = given["momentum"] or None
        return [_tools.find("tp-run"), program.path, "--weights", self.weights(),
                "--config", self.small, "--train", self.folder / "tokens.npy",
                "--save", args.output, "--log", self.log, "--lr", args.lr,
                "--schedule", schedule, *_program._options(steps=self.steps, **given),
                *(["--resume", args.output] if args.resume else [])]

    @property
    def log(self):
        return self.folder / "train.jsonl"

    def carry_out(self):
        program = self.compile()
        log = self.args.output / "train.jsonl"
        if self.args.resume and log.is_file():
            shutil.copyfile(log, self.log)
        before = self._saved()
        code = _watch([str(word) for word in self.command(program)])
        if self._saved() != before:
            self.draw()
        if code != 0:
            # It has said why.
            raise from_exit("tp-run", code, f"the run has failed: tp-run ended with code {code}")

    def _saved(self):
        """When the checkpoint was written; none if there is none."""
        path = self.args.output / "trainer.json"
        return path.stat().st_mtime_ns if path.is_file() else None

    def draw(self):
        """The log and the curve, into the checkpoint."""
        shutil.copyfile(self.log, self.args.output / "train.jsonl")
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        if lines:
            steps, losses = ([line[name] for line in lines] for name in ("step", "loss"))
            (self.args.output / "loss.svg").write_text(
                _curve.draw(steps, losses, f"loss of {self.name}"), encoding="utf-8")
            _say(f"{self.args.output}: {lines[-1]['step']} steps, loss {losses[0]:.4g} to "
                 f"{losses[-1]:.4g}, drawn in loss.svg")


def _watch(command):
    """The exit code of a program that an interrupt reaches too, and that ends by itself then."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        # The child has its default again, and the same terminal.
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(
                signal.SIGINT, signal.SIG_DFL)) as process:
            return process.wait()
    finally:
        signal.signal(signal.SIGINT, before)


def main(arguments=None):
    args = _parser().parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="tp-train-") as folder:
            _Run(args, pathlib.Path(folder)).carry_out()
    except (ValueError, OSError, RuntimeError, ImportError) as error:
        print(f"tp-train: {error}", file=sys.stderr)
        return exit_code(error)
    except KeyboardInterrupt:
        return 130
    return 0
