"""Training on text, from the command line: `tp-train`.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Tokenises texts, compiles the model for training, runs it, and draws its loss. The checkpoint has
the tokenizer's files, so that tp-chat and tp-serve take it as it is.
"""

import ctypes
import glob
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

import numpy

from . import (_checkpoint, _command_line, _curve, _events, _program, _signals, _tools,
               _train_options)
from ._errors import InputError, ToolError, UsageError, from_exit, writing
from ._train_options import COMPILED, RUN
from .text import Tokenizer, copy_sources

_MODEL_FILES = ("config.json", "generation_config.json")
# Signals that end a run in order. Slurm's jobs are often warned by SIGUSR1.
_END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
# About so many characters of a text are tokenised at once.
_PIECE = 1 << 20
# Processes that a lost rank has left may hold the other end for longer.
_RELAY_SECONDS = 5
# Options of tp-run, as patterns, and what says the same to tp-train.
_OWN_WORDS = (
    ("begin with --weights '([^']*)'", r"give '\1' as DIR, and another -o"),
    (r"--weights DIR", "DIR"), (r"--weights\b", "DIR"),
    (r"--resume '[^']*'", "--resume"), (r"--save\b(?!-)", "--output"), (r"--train\b", "TEXT"))


def _say(words):
    print(f"tp-train: {words}", file=sys.stderr, flush=True)


def _count(number, what):
    return f"{number} {what}{'' if number == 1 else 's'}"


def _check_free(args):
    """A run that is there is replaced by --overwrite alone, and nothing else is."""
    out = args.output
    if not out.absolute().parent.is_dir():
        raise UsageError("tp-train", 2, f"for --output: there is no folder '{out.parent}'")
    if out.exists() and not out.is_dir():
        raise UsageError("tp-train", 2, f"for --output: expected the name of a folder, and '{out}' is "
                         "a file")
    place = out if out.is_dir() else out.absolute().parent
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".tp-train-", dir=place))
    except OSError as error:
        raise InputError("tp-train", 1, f"for --output: cannot write in '{place}': "
                         f"{error.strerror}") from error
    kept = sorted(glob.glob(f"{glob.escape(str(out))}.step-*/trainer.json"))
    found = next((pathlib.Path(path) for path in (out / "trainer.json", *kept)
                  if os.path.isfile(path)), None)
    if out.is_dir() and not args.resume and not (out / "trainer.json").is_file() and any(
            path.name != "train.jsonl" for path in out.iterdir()):
        # In tp-run's words, before the model is compiled.
        raise InputError("tp-train", 1, f"'{out}': expected a free name or the checkpoint of a run, "
                         "got something without trainer.json")
    if found is None or args.resume or args.overwrite:
        return
    try:
        steps = f" of {_count(json.loads(found.read_text())['step'], 'step')}"
    except (OSError, ValueError, TypeError, KeyError):
        steps = ""
    raise InputError("tp-train", 1, f"{found.parent} has a run{steps} already: --resume goes on "
                     "with it, --overwrite replaces it")


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
        ids = numpy.concatenate([numpy.array(piece, numpy.int32)
                                 for piece in tokenizer.encode_pieces(text, _PIECE)])
        # A text that contains these tokens already gets no second ones.
        begins = ids[:len(before)].tolist() == before
        ends = ids[len(ids) - len(after):].tolist() == after
        found += [numpy.array([] if begins else before, numpy.int32), ids,
                  numpy.array([] if ends else after, numpy.int32)]
    return numpy.concatenate(found) if found else numpy.zeros(0, numpy.int32)


def _has_weights(folder):
    return any(folder.glob("model*.safetensors"))


class _Run:
    """What is to be done, with everything checked that can be before it is begun."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.small = folder / "checkpoint"
        self.small.mkdir()
        _check_free(args)
        self.events = _events.Events(args.tensorboard, self.log)
        config, source = _stage(args, self.small)
        if args.init is None and not args.resume and not _has_weights(args.model):
            _checkpoint.check_weights(args.model)
        self.seq = args.seq
        if self.seq is None:
            self.seq = min(256, _checkpoint.read_limits(args.model)["positions"])
        accumulate = 1 if args.accumulate is None else args.accumulate
        tokenizer = self._tokenizer(source)
        for note in tokenizer.notes:
            _say(note)
        for path in (*args.texts, *args.eval):
            path.open("rb").close()  # An unreadable file is told of before anything slow begins.
        with _signals.doing("compiling"):
            self.program = self.compile()
        with _signals.doing("checking"):
            self.check()
        _say(_says_around(tokenizer))
        with _signals.doing("tokenising"):
            self._tokenise(tokenizer, config, accumulate)

    def _tokenise(self, tokenizer, config, accumulate):
        """The files of ids, and how many steps there are."""
        args, folder = self.args, self.folder
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
        self._write(folder / "tokens.npy", tokens[:self.rows * (self.seq + 1)])
        self.evaluated = self._stage_evaluation(tokenizer)
        a_step = args.batch * accumulate
        self.steps = math.ceil(self.rows / a_step) if args.steps is None else args.steps
        self.name = f"{args.model.resolve().name} on {', '.join(path.name for path in args.texts)}"
        _say(f"{len(tokens)} tokens, {_count(self.rows, 'row')} of {self.seq}; "
             f"{_count(self.steps, 'step')} of {a_step * self.seq} tokens")

    def _write(self, path, tokens):
        with writing(path):
            numpy.save(path, tokens)

    def _tokenizer(self, source):
        """The tokenizer; what is wrong with a copy of its file is said of the file that was given."""
        try:
            return Tokenizer(source)
        except ValueError as error:
            given = str(self.args.tokenizer or source)
            raise ValueError(str(error).replace(str(self.small / "tokenizer.json"), given)) from error

    def _stage_evaluation(self, tokenizer):
        """The file of ids that are not trained on; None without --eval."""
        if not self.args.eval:
            return None
        tokens = tokenise(tokenizer, self.args.eval)
        rows = len(tokens) // (self.seq + 1)
        if rows == 0:
            raise ValueError(f"--eval {', '.join(map(str, self.args.eval))}: {len(tokens)} tokens, "
                             f"fewer than the {self.seq + 1} of a row")
        path = self.folder / "evaluated.npy"
        self._write(path, tokens[:rows * (self.seq + 1)])
        _say(f"--eval: {len(tokens)} tokens, {_count(rows, 'row')} of {self.seq}")
        return path

    def weights(self):
        if self.args.init is None and _has_weights(self.args.model):
            return self.args.model
        return f"init:{1 if self.args.init is None else self.args.init}"

    def compile(self):
        args = self.args
        return _program.compile(
            args.model, self.folder / "train.tpa", train=args.optimizer, batch=args.batch,
            seq=self.seq, clip=args.clip or None, momentum=bool(args.momentum),
            untie=args.untie,
            **{name: getattr(args, name) for name in COMPILED})

    def check(self):
        """What tp-run would refuse once the texts are tokens, which takes long."""
        self.steps, self.evaluated = self.args.steps or 1, self.folder / "evaluated.npy"
        if not self.args.eval:
            self.evaluated = None
        try:
            _tools.run("tp-run", [*self.command(self.program)[1:], "--check"])
        except ToolError as error:
            said = self.as_given(str(error)).removeprefix("tp-run: ").removeprefix("error: ")
            raise from_exit("tp-run", error.code, said) from error

    def command(self, program):
        args = self.args
        schedule = args.schedule or f"cosine:warmup={self.steps // 20},min={args.lr / 20:g}"
        given = {name: getattr(args, name) for name in RUN}
        # A program without momentum does not know the word.
        given["momentum"] = given["momentum"] or None
        return [_tools.find("tp-run"), program.path, "--weights", self.weights(),
                "--config", self.small, "--train", self.folder / "tokens.npy",
                "--save", args.output, "--log", self.log, "--lr", args.lr,
                "--schedule", schedule, *_program._options(steps=self.steps, **given),
                *(["--eval", self.evaluated] if self.evaluated else []),
                *(["--resume", args.output] if args.resume else []),
                *(["--overwrite"] if args.overwrite else [])]

    @property
    def log(self):
        """tp-run writes it as the run goes, and moves it from checkpoint to checkpoint."""
        return self.args.output / "train.jsonl"

    def carry_out(self):
        if self.weights() == "init:1" and self.args.init is None and not self.args.resume:
            _say(f"no weights in {self.args.model}: the run begins with random ones, --init 1")
        before = self._logged()
        with self.events, _signals.doing("training", self._left):
            code = _watch([str(word) for word in self.command(self.program)], self.as_given)
        if self._logged() != before:
            self.draw()
        elif code == 0 and self.args.resume:
            made = json.loads((self.args.output / "trainer.json").read_text())["step"]
            more = "; a larger --steps goes on" if made >= self.steps else ""
            _say(f"{self.args.output}: nothing was left to do, as the run has ended with step "
                 f"{made} of {self.steps}{more}")
        if code != 0:
            # It has said why.
            raise from_exit("tp-run", code, f"the run has failed: tp-run ended with code {code}")

    def _left(self):
        """What an interrupt leaves, which came before the run could be saved, or twice."""
        if (self.args.output / "trainer.json").is_file():
            return f"{self.args.output} has the last checkpoint"
        return "nothing was saved"

    def as_given(self, text):
        """A message of tp-run in the words of our own command line: its files are those that the
        texts have become, and some of its options have other names here."""
        args = self.args
        for path, given in ((self.folder / "tokens.npy", args.texts),
                            (self.folder / "evaluated.npy", args.eval),
                            (self.small, [args.model]), (self.program.path, [args.model])):
            text = text.replace(str(path), ", ".join(map(str, given)))
        for pattern, words in _OWN_WORDS:
            text = re.sub(pattern, words, text)
        return text

    def _logged(self):
        """The log as it is now; none before the first checkpoint."""
        if not (self.args.output / "trainer.json").is_file() or not self.log.is_file():
            return None
        return self.log.read_bytes()

    def draw(self):
        """The curve of all steps that were made, into the checkpoint."""
        lines = [line for line in map(_parse, self.log.read_text().splitlines())
                 if "loss" in line and line.get("applied", True)]
        if not lines:
            _say(f"{self.args.output}: 0 steps, so there is no curve")
            return
        steps, losses = ([line[name] for line in lines] for name in ("step", "loss"))
        drawn = self.args.output / "loss.svg"
        aside = drawn.with_name(".loss.svg.saving")
        try:
            aside.write_text(_curve.draw(steps, losses, f"loss of {self.name}"), encoding="utf-8")
            aside.replace(drawn)
        except OSError as error:
            aside.unlink(missing_ok=True)
            _say(f"the curve could not be drawn: {error}")
            return
        _say(f"{self.args.output}: {_count(lines[-1]['step'], 'step')}, loss {losses[0]:.4g} to "
             f"{losses[-1]:.4g}, drawn in loss.svg")


def _parse(text):
    """A line of the log; of one that is not whole, as where a disk was full, nothing."""
    try:
        line = json.loads(text)
    except ValueError:
        return {}
    return line if isinstance(line, dict) else {}


def _relay(stream, translate):
    """Passes on what tp-run says, translated; a message is written at once, and so read at once."""
    for piece in iter(lambda: os.read(stream.fileno(), 1 << 16), b""):
        sys.stderr.write(translate(piece.decode("utf-8", "replace")))
        sys.stderr.flush()


def _watch(command, translate):
    """The exit code of tp-run. Signals that end a run are passed on to it, and it ends by itself;
    it is told to end if this process is killed."""
    came, started = [], []

    def pass_on(number, frame):
        came.append(number)
        for process in started:
            process.send_signal(number)

    libc, parent = ctypes.CDLL(None), os.getpid()
    environment = {**os.environ, "TPRT_TERMINAL": "1"} if sys.stderr.isatty() else None

    def follow():
        libc.prctl(1, int(signal.SIGTERM), 0, 0, 0)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)

    with _signals.heard(_END_SIGNALS, pass_on):
        # This process has a handler; the child has the default action from exec on.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=follow,
                                   stderr=subprocess.PIPE, env=environment,
                                   restore_signals=False)  # No reader of it is no reason to die.
        started.append(process)
        relay = threading.Thread(target=_relay, args=(process.stderr, translate), daemon=True)
        relay.start()
        for number in came:
            process.send_signal(number)
        code = process.wait()
        relay.join(_RELAY_SECONDS)
    if code < 0 and -code in came:
        # There was nothing to save yet, or it came twice.
        raise _signals.Terminated(-code)
    return code


def main(arguments=None):
    args = _train_options.parser().parse_args(arguments)

    def body():
        _train_options.check(args)
        # The folder and what was started do not stay behind.
        with _signals.doing("starting"), \
                _signals.sigterm_raises(signal.SIGHUP, signal.SIGUSR1), \
                tempfile.TemporaryDirectory(prefix="tp-train-") as folder:
            _Run(args, pathlib.Path(folder)).carry_out()

    return _command_line.carry_out("tp-train", body, _train_options.parser())
