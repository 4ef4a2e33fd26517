"""tp-train: text and a tokenizer in, a checkpoint and the curve of its loss out.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

import numpy
import pytest
from safetensors.numpy import load_file

from tp_mlir import _curve, text, train

MODEL = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "text-model"
TOKENIZER = text.Tokenizer(MODEL)
WORDS = "The quick brown fox jumps over the lazy dog.\n" * 40


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The text model with one layer, its configuration alone."""
    folder = tmp_path_factory.mktemp("model")
    for path in MODEL.glob("*.json"):
        shutil.copy(path, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(
        {**config, "num_hidden_layers": 1, "hidden_size": 64, "dtype": "float32"}))
    (folder / "text").write_text(WORDS)
    return folder


def command(model, out, *more):
    rate = () if "--lr" in more else ("--lr", 3e-3)
    return [model, model / "text", "-o", out, "--seq", 16, "--batch", 4, *rate, *more]


def run(*words):
    try:
        return train.main([str(word) for word in words])
    except SystemExit as ended:
        return ended.code


def log(out):
    return [json.loads(line) for line in (out / "train.jsonl").read_text().splitlines()]


def test_train(model, tmp_path, capfd):
    out = tmp_path / "out"
    assert run(*command(model, out, "--mesh", "tp=2", "--steps", 12)) == 0
    said = capfd.readouterr().err
    tokens = len(TOKENIZER.encode(WORDS)) + 1
    assert (f"tp-train: {tokens} tokens, {tokens // 17} rows of 16; 12 steps of 64 tokens\n"
            f"tp-train: no weights in {model}: the run begins with random ones, --init 1\n") in said
    assert "step 12 of 12: loss" in said and "tokens/s" in said
    lines = log(out)
    assert [line["step"] for line in lines] == list(range(1, 13))
    assert lines[-1]["loss"] < lines[0]["loss"]
    # As random as its vocabulary at first, which rises to the rate within one step.
    assert lines[0]["loss"] == pytest.approx(math.log(700), rel=0.1)
    assert lines[0]["lr"] == pytest.approx(3e-3)
    assert sorted(path.name for path in out.iterdir()) == [
        "config.json", "generation_config.json", "loss.svg", "model.safetensors",
        "optimizer.safetensors", "tokenizer.json", "tokenizer_config.json", "train.jsonl",
        "trainer.json"]
    assert text.Tokenizer(out).encode("quick") == TOKENIZER.encode("quick")
    assert f"loss of {model.name} on text" in (out / "loss.svg").read_text()
    # It goes on where it was.
    assert run(*command(model, out, "--steps", 14, "--resume", "--tokenizer", MODEL)) == 0
    assert [line["step"] for line in log(out)] == list(range(1, 15))
    assert log(out)[:12] == lines
    # A run that fails leaves it alone.
    curve = (out / "loss.svg").read_text()
    assert run(*command(model, out, "--steps", 20, "--resume", "--optimizer", "sgd")) == 1
    assert len(log(out)) == 14 and (out / "loss.svg").read_text() == curve
    capfd.readouterr()
    assert run(*command(model, out, "--steps", 14, "--resume")) == 0
    assert capfd.readouterr().err.endswith(
        "nothing was left to do, as the run has ended with step 14 of 14; a larger --steps goes on\n")
    # Without steps it stays what it was, bit for bit.
    again = tmp_path / "again"
    assert run(out, model / "text", "-o", again, "--seq", 16, "--steps", 0, "--optimizer", "sgd",
               "--momentum", 0.5, "--clip", 0, "--tokenizer", model / "tokenizer.json") == 0
    before, after = (load_file(folder / "model.safetensors") for folder in (out, again))
    assert before.keys() == after.keys()
    assert all(numpy.array_equal(before[name], after[name]) for name in before)


def test_evaluation(model, tmp_path, capfd):
    """Trained on other words, the loss of the text falls at first and rises then: the run ends, and
    the best checkpoint is kept."""
    out, other = tmp_path / "out", tmp_path / "other"
    other.write_text("Sphinx of black quartz, judge my vow. " * 60)
    words = [model, other, "-o", out, "--seq", 16, "--batch", 4, "--lr", 3e-2, "--steps", 60,
             "--eval", model / "text", "--eval-every", 2, "--patience", 3, "--schedule", "constant"]
    assert run(*words) == 0
    said = capfd.readouterr().err
    lines = log(out)
    losses = {line["step"]: line["eval_loss"] for line in lines if "eval_loss" in line}
    best = min(losses, key=losses.get)
    progress, kept = (json.loads((folder / "trainer.json").read_text())
                      for folder in (out, tmp_path / "out.best"))
    assert progress["evaluation"] == {"best_loss": losses[best], "best_step": best, "worse": 3}
    assert kept["step"] == best and progress["step"] == best + 6 < 60
    assert list(losses) == list(range(2, best + 7, 2))
    assert re.search("the loss on '.*' has not fallen for 3 evaluations: the run ends after step "
                     f"{best + 6} of 60; '.*out.best' is of the least", said)
    assert (tmp_path / "out.best/tokenizer.json").is_file()
    # It is the mean of all tokens, as the weights are: a run of no steps more says the same.
    assert run(tmp_path / "out.best", other, "-o", tmp_path / "again", "--seq", 16, "--batch", 3,
               "--lr", 1e-20, "--steps", 1, "--eval", model / "text", "--optimizer", "sgd") == 0
    again, = (line["eval_loss"] for line in log(tmp_path / "again") if "eval_loss" in line)
    assert again == pytest.approx(losses[best], rel=1e-5)
    # A run that has ended goes on to its end: nowhere, which it says.
    capfd.readouterr()
    assert run(*words, "--resume") == 0
    assert re.search(r"tp-train: .*out: nothing was left to do, as the run has ended with step "
                     f"{best + 6} of 60\n", capfd.readouterr().err)
    assert log(out) == lines
    assert run(*words) == 1
    assert run(*command(model, tmp_path / "none", "--patience", 2)) == 2
    assert "for --patience: has no meaning without --eval" in capfd.readouterr().err
    (tmp_path / "tiny").write_text("A")
    assert run(*command(model, tmp_path / "none", "--eval", tmp_path / "tiny")) == 1
    assert re.search(r"--eval .*tiny: \d+ tokens, fewer than the \d+ of a row",
                     capfd.readouterr().err)
    shutil.copytree(tmp_path / "out.best", tmp_path / "third.best")
    assert run(*command(model, tmp_path / "third", "--eval", model / "text")) == 1
    assert re.search("--output.*: '.*third.best' is the best checkpoint of another run; --overwrite "
                     "replaces it", capfd.readouterr().err)


def test_tensorboard(model, tmp_path, monkeypatch):
    pytest.importorskip("tensorboardX")
    from tensorboardX.proto.event_pb2 import Event

    def scalars():
        """Of the newest file: dict of curve to {step: value}. Each record has its length and two
        checksums around it."""
        path = max((tmp_path / "events").iterdir(), key=lambda one: one.stat().st_mtime_ns)
        data, found = path.read_bytes(), {}
        while data:
            size = int.from_bytes(data[:8], "little")
            event = Event.FromString(data[12:12 + size])
            for value in event.summary.value:
                found.setdefault(value.tag, {})[event.step] = value.simple_value
            data = data[16 + size:]
        return found

    words = command(model, tmp_path / "out", "--tensorboard", tmp_path / "events", "--eval",
                    model / "text", "--eval-every", 2, "--dropout", "off")
    assert run(*words, "--steps", 4) == 0
    lines = log(tmp_path / "out")
    for tag, key in (("train/loss", "loss"), ("train/lr", "lr"), ("eval/loss", "eval_loss")):
        assert scalars()[tag] == pytest.approx(
            {line["step"]: line[key] for line in lines if key in line}, rel=1e-6)
    assert run(*words, "--steps", 6, "--resume") == 0
    assert list(scalars()["train/loss"]) == [1, 2, 3, 4, 5, 6]
    assert list(scalars()["eval/loss"]) == [2, 4, 6]
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    assert run(*words, "--steps", 8, "--resume") == 1
    assert len(log(tmp_path / "out")) == 9


def count_steps(out):
    """How many lines the log has now; none while it moves to the next checkpoint."""
    try:
        return (out / "train.jsonl").read_text().count("\n")
    except FileNotFoundError:
        return 0


@pytest.mark.parametrize("least", [0, 1])
def test_interrupt(model, tmp_path, least):
    """Ctrl-C reaches both processes: the run ends after its step, or before the first,
    and is saved."""
    out = tmp_path / "out"
    words = [str(word) for word in command(model, out, "--steps", 100000, "--save-every", 1)]
    with subprocess.Popen([sys.executable, "-c", "import sys; from tp_mlir.train import main; "
                           "sys.exit(main())", *words], start_new_session=True,
                          stderr=subprocess.PIPE, text=True) as made:
        end = time.monotonic() + 60
        while not out.exists() or count_steps(out) < least:
            assert time.monotonic() < end and made.poll() is None
            time.sleep(0.02)
        os.killpg(made.pid, signal.SIGINT)
        said = made.stderr.read()
        assert made.wait(30) == 0
    steps = len(log(out))
    assert f"interrupted after step {steps} of 100000" in said
    assert json.loads((out / "trainer.json").read_text())["step"] == steps
    assert (f"tp-train: {out}: {steps} step{'' if steps == 1 else 's'}, "
            f"{'loss ' if steps else 'so there is no curve'}") in said
    assert steps >= least


def running(model, out, *more, bin=None):
    """tp-train in a process group of its own, with a temporary place of its own."""
    words = [str(word) for word in command(model, out, "--steps", 100000, *more)]
    place = out.parent / "temporary"
    place.mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(place)}
    if bin:
        environment["TP_MLIR_BIN"] = str(bin)
    return subprocess.Popen([sys.executable, "-c", "import sys; from tp_mlir.train import main; "
                             "sys.exit(main())", *words], start_new_session=True, text=True,
                            stderr=subprocess.PIPE, env=environment), place


def wait_for(path, process, seconds=60):
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.02)


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def children(process):
    return [int(pid) for pid in
            pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


@pytest.mark.parametrize("number, group, more", [
    (signal.SIGTERM, False, ()), (signal.SIGTERM, True, ("--backend", "processes")),
    (signal.SIGHUP, False, ())])
def test_told_to_end(model, tmp_path, number, group, more):
    """The run is saved, and neither tp-run nor a file is left, whoever gets the signal."""
    out = tmp_path / "out"
    process, place = running(model, out, "--save-every", 1, "--mesh", "tp=2", *more)
    wait_for(out / "trainer.json", process)
    started = children(process)
    (os.killpg if group else os.kill)(process.pid, number)
    said = process.stderr.read()
    assert process.wait(30) == 0, said
    assert json.loads((out / "trainer.json").read_text())["step"] == len(log(out))
    assert f"interrupted after step {len(log(out))} of 100000; it is saved" in said
    assert (out / "loss.svg").is_file()
    assert not list(place.iterdir()) and not any(map(alive, started))


def test_told_before_the_run(model, tmp_path):
    """While it compiles, and while tp-run begins: nothing stays behind."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for slow in ("tp-compile", "tp-run"):
        for name in ("tp-compile", "tp-run"):
            (tools / name).unlink(missing_ok=True)
            (tools / name).symlink_to(train._tools.find(name))
        (tools / slow).unlink()
        # What is slow is there, and dies by the signal.
        (tools / slow).write_text("#!/bin/sh\ncase \"$*\" in *--check) exit 0;; esac\necho $$ > \"$TMPDIR/pid\"\nexec sleep 60\n")
        (tools / slow).chmod(0o755)
        process, place = running(model, tmp_path / "out", bin=tools)
        wait_for(place / "pid", process)
        time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read()
        assert process.wait(20) == 128 + signal.SIGTERM, said
        doing, left = {"tp-compile": ("compiling", "nothing was left behind"),
                       "tp-run": ("training", "nothing was saved")}[slow]
        assert said.endswith(f"tp-train: ended by SIGTERM while {doing}; {left}\n")
        assert not alive(int((place / "pid").read_text()))
        (place / "pid").unlink()
        assert not list(place.iterdir()) and not (tmp_path / "out").exists()


def test_killed(model, tmp_path, capfd):
    """Nobody can tell tp-run then, and yet it ends and saves; the curve goes on from there."""
    out = tmp_path / "out"
    process, _ = running(model, out, "--save-every", 1000)
    wait_for(out / "train.jsonl", process)
    [started] = children(process)
    end = time.monotonic() + 30
    while len(log(out)) < 3 and time.monotonic() < end:
        time.sleep(0.02)
    process.kill()
    process.stderr.close()
    process.wait(20)
    while alive(started) and time.monotonic() < end:
        time.sleep(0.02)
    steps = json.loads((out / "trainer.json").read_text())["step"]
    assert steps >= 3 and len(log(out)) == steps and not (out / "loss.svg").exists()
    assert run(*command(model, out, "--steps", steps + 2, "--resume")) == 0
    assert [line["step"] for line in log(out)] == list(range(1, steps + 3))
    assert f"{steps + 2} steps, loss {log(out)[0]['loss']:.4g} to " in capfd.readouterr().err


def test_run_that_is_there(model, tmp_path, capfd):
    out = tmp_path / "out"
    assert run(*command(model, out, "--steps", 3, "--save-every", 1, "--keep", 3)) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"out", "out.step-1", "out.step-2"}
    assert not (tmp_path / "out.step-2" / "train.jsonl").exists()
    before = (out / "model.safetensors").read_bytes()
    assert run(*command(model, out, "--steps", 2)) == 1
    assert (f"tp-train: {out} has a run of 3 steps already: --resume goes on with it, --overwrite "
            "replaces it\n") in capfd.readouterr().err
    shutil.move(out, tmp_path / "away")
    assert run(*command(model, out, "--steps", 2)) == 1
    assert f"tp-train: {out}.step-1 has a run of 1 step already" in capfd.readouterr().err
    shutil.move(tmp_path / "away", out)
    assert (out / "model.safetensors").read_bytes() == before and len(log(out)) == 3
    assert run(*command(model, out, "--steps", 2, "--overwrite")) == 0
    assert len(log(out)) == 2 and not (tmp_path / "out.step-1").exists()
    assert run(*command(model, out, "--resume", "--overwrite")) == 2
    assert "not allowed with argument" in capfd.readouterr().err


def test_words_of_the_command_line(model, tmp_path, capfd):
    """Files and options are called as they were given, and not as tp-run has them."""
    out, other = tmp_path / "out", tmp_path / "other"
    assert run(*command(model, out, "--steps", 1)) == 0
    other.write_text(WORDS[:900])
    capfd.readouterr()
    assert run(model, other, "-o", out, "--seq", 16, "--resume") == 1
    assert re.search(rf"tp-run: error: '{other}': expected the 66 rows of the run that goes on, got "
                     rf"\d+; to train on other data give '{out}' as DIR, and another -o\n",
                     capfd.readouterr().err)


def test_steps_that_are_not_finite(model, tmp_path, capfd):
    """They are counted and skipped, and are no points of the curve."""
    out = tmp_path / "out"
    assert run(*command(model, out, "--steps", 3)) == 0
    good = (out / "model.safetensors").read_bytes()
    assert run(*command(model, out, "--steps", 9, "--resume", "--lr", 1e20, "--save-every", 1,
                        "--schedule", "constant", "--max-skips", 2)) == 1
    said = capfd.readouterr().err
    assert "step 5: the loss is " in said and "(2 in a row, at most 2)" in said
    assert f"'{out}' is again of step 3, and '{out}.step-4' has the weights of step 4" in said
    assert [line["applied"] for line in log(out)] == 4 * [True] + 3 * [False]
    assert (out / "model.safetensors").read_bytes() == good
    assert f"tp-train: {out}: 4 steps, loss " in said
    assert run(*command(model, out, "--steps", 4, "--resume")) == 0
    assert [line["step"] for line in log(out)] == [1, 2, 3, 4]


def test_refusals(model, tmp_path, capfd):
    bad = tmp_path / "bad"
    bad.write_bytes(b"caf\xe9")
    short = tmp_path / "short"
    short.write_text("a b")
    last = max(TOKENIZER.encode(WORDS))
    pointer = tmp_path / "pointer.json"
    pointer.write_text("version https://git-lfs.github.com/spec/v1\n")
    pickled = shutil.copytree(model, tmp_path / "pickled")
    (pickled / "pytorch_model.bin").touch()
    for words, code, said in (
            ((tmp_path, short, "-o", "x"), 1, f"tp-train: no config.json in {tmp_path}\n"),
            ((tmp_path / "none", short, "-o", "x"), 1,
             f"tp-train: {tmp_path}/none: expected a checkpoint folder, found nothing\n"),
            ((model / "config.json", short, "-o", "x"), 1,
             f"is a file of a checkpoint: expected its directory, '{model}'\n"),
            ((model, short, "-o", "x", "--tokenizer", pointer), 1,
             f"tp-train: {pointer} is what Git LFS leaves in place of a file: "),
            (command(pickled, tmp_path / "x"), 1,
             f"tp-train: weights '{pickled}': pytorch_model.bin is in PyTorch's own format, "),
            ((model, bad, "-o", "x"), 1,
             f"tp-train: {bad}: expected UTF-8 text, got byte 0xe9 at 3\n"),
            ((model, short, "-o", "x"), 1, f"tp-train: {short}: 4 tokens, fewer than the 257 of a "
             "row; a longer text or a smaller --seq would do\n"),
            *(((model, short, "-o", "x", option, 0), 2,
               f"tp-train: for {option}: expected an integer of at least 1, got '0'; ")
              for option in ("--seq", "--batch", "--accumulate", "--save-every", "--keep")),
            ((model, short, "-o", "x", "--lr", "fast"), 2,
             "tp-train: for --lr: expected a number above 0, got 'fast'; tp-train --help lists the "
             "options\n"),
            ((model, short), 2, "tp-train: missing -o/--output; tp-train --help lists the options\n"),
            ((model, short, "--resume", "out"), 2, "tp-train: for --resume: expected no value, got "
             "'out'; -o out says where the run is; "),
            ((model, short, "-o", "x", "--untie", "out"), 2,
             "tp-train: for --untie: expected no value, got 'out'; tp-train --help"),
            ((model, short, "-o", short), 2, "tp-train: for --output: expected the name of a folder, "
             f"and '{short}' is a file\n"),
            ((model, model / "nothing", "-o", "x"), 1,
             f"tp-train: '{model}/nothing': No such file or directory\n"),
            ((model, short, "-o", "x", "--tokenizer", short), 1, f"tp-train: cannot read {short}: "),
            ((MODEL.parent / "llama-gqa", model / "text", "-o", "x", "--tokenizer", MODEL), 1,
             f"tp-train: the tokenizer has id {last} ({TOKENIZER.token(last)!r}), and the model's "
             "vocabulary ends before 131: expected the tokenizer that belongs to the model\n"),
            ((MODEL.parent / "llama-gqa", model / "text", "-o", "x"), 1,
             f"tp-train: no tokenizer.json in {MODEL.parent / 'llama-gqa'}; "),
            (command(model, tmp_path / "no/out"), 2,
             f"tp-train: for --output: there is no folder '{tmp_path}/no'\n"),
            (command(model, tmp_path / "x", "--optimizer", "adam"), 2,
             "tp-train: for --optimizer: expected one of adamw, sgd, got 'adam'; "),
            *((command(model, tmp_path / "x", "--schedule", value), 2,
               "tp-train: for --schedule: expected constant, cosine or linear, with :warmup=STEPS,"
               f"min=RATE behind it (no min of constant), got '{value}'; ")
              for value in ("cos", "constant:min=1", "linear:", "cosine:warmup=1.5")),
            (command(model, tmp_path / "x", "--schedule", "linear:min=1"), 2,
             "tp-train: for --schedule: expected a min that is at most --lr, 0.003, got "
             "'linear:min=1'; "),
            (command(model, tmp_path / "x", "--betas", "0.9"), 2,
             "tp-train: for --betas: expected two numbers of at least 0 and below 1, such as "
             "0.9,0.95, got '0.9'; "),
            (command(model, tmp_path / "x", "--momentum", 0.5), 2,
             "tp-train: for --momentum: expected --optimizer sgd beside it, got adamw; "),
            (command(model, tmp_path / "x", "--recompute", "some"), 2,
             "tp-train: for --recompute: expected none, selective or full, got 'some'; "),
            (command(model, "/proc/x"), 1,
             "tp-train: for --output: cannot write in '/proc': No such file or directory\n")):
        assert run(*words) == code, words
        assert said in capfd.readouterr().err
    assert not (tmp_path / "x").exists()


def test_refused_before_tokenising(model, tmp_path, capfd, monkeypatch):
    """What tp-run would refuse of a run is said before a text is tokenised, and leaves nothing."""
    out, foreign = tmp_path / "out", tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "mine").touch()
    assert run(*command(model, out, "--steps", 1)) == 0
    assert json.loads((out / "trainer.json").read_text())["seq"] == 16
    shutil.copytree(out, tmp_path / "third.best")
    before = {path: path.read_bytes() for path in out.iterdir()}

    def tokenise(*unused):
        raise AssertionError("a text was tokenised")

    monkeypatch.setattr(train, "tokenise", tokenise)
    capfd.readouterr()
    with monkeypatch.context() as early:
        early.setattr(train._Run, "compile", tokenise)  # Nor is the model compiled.
        assert run(*command(model, foreign)) == 1
    capfd.readouterr()
    longer = [model, model / "text", "-o", out, "--seq", 32, "--resume", "--tokenizer", MODEL]
    for words, code, said in (
            (command(model, foreign), 1, f"tp-train: '{foreign}': expected a free name or the "
             "checkpoint of a run, got something without trainer.json\n"),
            (command(model, tmp_path / "x", "--lr", "1e30"), 2,
             "tp-train: --lr: expected a number above 0 and below 1e+30, got 1e+30\n"),
            (command(model, tmp_path / "x", "--weight-decay", "1e30"), 2,
             "tp-train: --weight-decay: expected a number of at least 0 and below 1e+30, got "),
            (longer, 1, "tp-train: --resume: the rows of the run are of 16 tokens (--seq 16), and "
             "those of the program of 32: expected the same, as the run counts rows; for others give "
             f"'{out}' as DIR, and another -o\n"),
            (command(model, out, "--resume", "--optimizer", "sgd"), 1,
             "tp-train: --resume: the run's optimizer is adamw, the program's is sgd: expected the "
             "same, whose states the run has\n"),
            (command(model, tmp_path / "third", "--eval", model / "text"), 1,
             f"'{tmp_path}/third.best' is the best checkpoint of another run; ")):
        assert run(*words) == code, words
        assert said in (told := capfd.readouterr().err), told
    assert {path: path.read_bytes() for path in out.iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["foreign", "out", "third.best"]


def test_tokens(tmp_path, monkeypatch):
    """A text in pieces has the ids that it has at once."""
    monkeypatch.setattr(train, "_PIECE", 100)
    pieces = list(TOKENIZER.encode_pieces(WORDS, 100))
    assert len(pieces) > 5 and sum(pieces, []) == TOKENIZER.encode(WORDS, False)
    assert list(TOKENIZER.encode_pieces("")) == []
    first, second, empty = (tmp_path / name for name in ("first", "second", "empty"))
    first.write_text(WORDS)
    second.write_text("Grüß dich")
    empty.write_text("")
    ids = train.tokenise(TOKENIZER, [first, empty, second]).tolist()
    begin, end = TOKENIZER.bos, TOKENIZER.eos
    assert ids[0] == begin and ids[-1] == end and ids.count(begin) == ids.count(end) == 2
    assert TOKENIZER.decode(ids[:ids.index(end)]) == WORDS
    assert TOKENIZER.decode(ids[ids.index(end) + 1:]) == "Grüß dich"


def paths(svg):
    """The points of each line of the curve."""
    found = xml.etree.ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}path")
    for path in found:
        if path.get("fill") == "none":
            yield [tuple(map(float, point.split())) for part in path.get("d").split("M")[1:]
                   for point in part.split("L")]


def test_curve():
    steps = list(range(1, 101))
    raw, smooth = paths(_curve.draw(steps, [100 / step for step in steps], "a & <b>"))
    assert len(raw) == len(smooth) == 100
    for line in (raw, smooth):
        assert all(a[0] < b[0] and a[1] <= b[1] for a, b in zip(line, line[1:]))
    assert raw[0] == smooth[0] and raw[-1] == smooth[-1]
    [few] = paths(_curve.draw([7, 8, 9, 10], [2.0, math.nan, 1.0, math.inf], ""))
    assert len(few) == 2 and few[0][1] < few[1][1]
    [[(_, middle)]] = paths(_curve.draw([3], [2.5], ""))
    assert 40 < middle < 352
    assert len(next(paths(_curve.draw(list(range(9000)), [1.0] * 9000, "")))) <= 1501
    assert list(paths(_curve.draw([1, 2], [math.nan, math.nan], ""))) == [[]]
