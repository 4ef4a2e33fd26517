"""Training in this process: batches in, losses out, gradients and states as arrays.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The entries `gradient` and `update` of a training program (docs/Training.md), each a step of
a session. What `update` is given is computed here in double precision.
"""

import json
import math
import pathlib
from dataclasses import dataclass

import numpy

from ._errors import InputError, NotFiniteError

IGNORED = -100
_PROGRESS, _MADE_BY = "trainer.json", "tp_mlir.Trainer"
_ADAMW = {"betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1}
_SGD = {"weight_decay": 0.0}
_MOMENTUM = {"momentum": 0.9}


@dataclass(frozen=True)
class Step:
    """What came of a step.

    Attributes:
        loss: a mean over the labels that count, before the step; nan if there are none.
        tokens: how many count. If none, nothing was updated.
        grad_norm: that of the loss's gradient, before it was clipped.
        skipped: whether the loss or the norm was not finite: nothing was updated then.
    """

    loss: float
    tokens: int
    grad_norm: float
    skipped: bool = False


def _numbers(name, value, count):
    """`count` floats, 0 or above."""
    try:
        values = tuple(float(x) for x in (value if count > 1 else [value]))
    except (TypeError, ValueError):
        values = ()
    if len(values) != count or not all(0 <= x < math.inf for x in values):
        raise InputError("libtprt", 1, f"{name}: expected {count} finite and not negative, got "
                         f"{value!r}")
    return values if count > 1 else values[0]


class Trainer:
    """A training program that is open, with its weights; made by Program.train.

    One thread at a time may use it. Close it, or use it in a `with`. Between steps
    `lr` and `settings` may be changed.

    Attributes:
        session: the Session; its entry `main` is the loss alone.
        steps: updates so far; microsteps: micro-batches.
        skipped: updates that were left out, as the loss or its gradient's norm was not finite:
            they change neither weights, moments nor `steps`.
        max_skips: how many of them in a row there may be.
        seed: what a program with dropout drops, with `microsteps`, follows from.
        lr: the learning rate, or a function of the step's number, which begins with 1.
        settings: dict of the optimizer's others.
    """

    def __init__(self, session, lr, seed=None, max_skips=10, _source=None, _place=None,
                 _goes_on=False, **settings):
        self.session, self.lr, self.steps = session, lr, 0
        self.microsteps = self._pending = 0
        self._source, self._place = _source, _place if _goes_on else None
        self.max_skips, self.skipped, self._in_a_row = max_skips, 0, 0
        before = self._go_on(pathlib.Path(_place)) if _goes_on else {}
        self.seed = before.pop("seed", 1) if seed is None else seed
        if not isinstance(max_skips, int) or max_skips < 0:
            raise InputError("libtprt", 1, "max_skips: expected a whole number of at least 0, got "
                             f"{max_skips!r}")
        try:
            self._inputs, wanted = session.inputs("gradient"), session.inputs("update")
        except InputError as error:
            raise InputError("libtprt", 1, f"the program does not train ({error}); compile(..., "
                             "train=\"adamw\") makes one that does") from error
        known = _ADAMW if "beta2" in wanted else {**_SGD, **(_MOMENTUM if "momentum" in wanted
                                                             else {})}
        self.settings = {**known, **{name: value for name, value in before.items()
                                     if name in known}, **settings}
        self._optimizer = "adamw" if "beta2" in wanted else "sgd"
        if set(settings) - set(known):
            name = sorted(set(settings) - set(known))[0]
            raise InputError("libtprt", 1, f"{name}: the program's optimizer is "
                             f"{'adamw' if 'beta2' in wanted else 'sgd'}, which takes lr, "
                             f"{', '.join(known)}")
        self._wanted = wanted
        self._given()

    def _go_on(self, place):
        """Takes the progress of a checkpoint; returns its settings and seed."""
        progress = json.loads((place / _PROGRESS).read_text(encoding="utf-8"))
        recipe = dict(progress["recipe"])
        if recipe.pop("made_by", None) != _MADE_BY:
            raise InputError("libtprt", 1, f"{place} is the checkpoint of a run of tp-run, which "
                             "--resume goes on with; as `weights` it begins another")
        self.steps, self.skipped = progress["step"], progress["skipped"]
        self.microsteps, self._in_a_row = recipe.pop("microsteps"), recipe.pop("in_a_row")
        return recipe

    def save(self, folder, overwrite=False):
        """Write a checkpoint: a Hugging Face folder, as tp-run --save does, from which
        Program.train(resume=folder) goes on, bit for bit. One that this training has written, or
        goes on from, is replaced once the new one is whole.

        Args:
            folder: its name.
            overwrite: whether a checkpoint of another training may be replaced.
        """
        folder = pathlib.Path(folder)
        if self._pending:
            raise InputError("libtprt", 1, f"save: {self._pending} micro-batches wait for "
                             "update(), which a checkpoint does not hold")
        is_own = self._place is not None and folder.resolve() == pathlib.Path(self._place).resolve()
        if folder.exists() and not is_own and not overwrite:
            raise InputError("libtprt", 1, f"save: {folder} is there already; overwrite=True "
                             "replaces the checkpoint of another training")
        if self._source is None:
            raise InputError("libtprt", 1, "save: expected config.json beside the weights, to go "
                             "into the checkpoint; compile the program from a checkpoint's folder")
        self.session.save_checkpoint(folder, self._source, {
            "step": self.steps, "position": self.microsteps, "rows": 1, "skipped": self.skipped,
            "optimizer": self._optimizer,
            "recipe": {**self.settings, "made_by": _MADE_BY, "microsteps": self.microsteps,
                       "in_a_row": self._in_a_row, "seed": self.seed}})
        self._place = folder

    def _given(self):
        """The inputs of the next update."""
        number = self.steps + 1
        lr = _numbers("lr", self.lr(number) if callable(self.lr) else self.lr, 1)
        decay = _numbers("weight_decay", self.settings["weight_decay"], 1)
        given = {"lr": lr, "weight_decay": decay, "decay": 1 - lr * decay}
        if "betas" in self.settings:
            first, second = _numbers("betas", self.settings["betas"], 2)
            if max(first, second) >= 1:
                raise InputError("libtprt", 1, "betas: expected two numbers below 1, got "
                                 f"{self.settings['betas']!r}")
            given |= {"one_minus_beta1": 1 - first, "beta2": second,
                      "one_minus_beta2": 1 - second,
                      "eps": _numbers("eps", self.settings["eps"], 1),
                      "step_size": lr / (1 - first ** number),
                      "correction": math.sqrt(1 - second ** number)}
        if "momentum" in self.settings:
            given["momentum"] = _numbers("momentum", self.settings["momentum"], 1)
        return {name: numpy.float32(given[name]) for name in self._wanted}

    def _counters(self):
        """What says which elements are dropped; nothing where none are."""
        given = {"seed": self.seed, "microstep": self.microsteps}
        return {name: numpy.int64(value) for name, value in given.items() if name in self._inputs}

    def _batch(self, batch):
        """Inputs of `gradient` and `main`, all of them: a session keeps those of earlier steps."""
        if not isinstance(batch, dict):
            rows = numpy.asarray(batch)
            if rows.ndim != 2:
                raise InputError("libtprt", 1, "batch: expected rows of token ids, or a dict of "
                                 f"arrays, got an array of shape {rows.shape}")
            batch = {"input_ids": rows[:, :-1], "targets": rows[:, 1:]}
        filled = dict(batch)
        if "attention_mask" in self._inputs and "attention_mask" not in batch:
            filled["attention_mask"] = numpy.ones(self._inputs["attention_mask"][0], numpy.int64)
        for name, (shape, _, _) in self._inputs.items():
            if name in ("seed", "microstep"):
                continue
            given = "labels" if name == "targets" and "labels" in filled else name
            if given not in filled:
                raise InputError("libtprt", 1, "batch: expected an array "
                                 f"'{'labels' if name == 'targets' else name}', got "
                                 f"{', '.join(sorted(batch)) or 'none'}")
            if numpy.shape(filled[given]) != shape:
                raise InputError("libtprt", 1, f"batch: expected '{given}' of shape {shape}, got "
                                 f"{numpy.shape(filled[given])}")
        return filled

    def accumulate(self, batch):
        """Add a micro-batch's gradient to what the next update is made of.

        Args:
            batch: dict of arrays of shape (batch, sequence): `input_ids`; `labels` as in
                `transformers`, the tokens themselves, or -100 where one is not to be
                predicted, so that position i is held against labels[i + 1]; or in their
                place `targets`, the class at each position; `attention_mask` if some tokens
                are padding. Or rows of token ids, one longer than the program's sequences:
                each token but the last is an input, and the one that follows it its target.
        """
        self.session.run({**self._counters(), **self._batch(batch)}, entry="gradient")
        self.microsteps += 1
        self._pending += 1

    def update(self):
        """Make a step of the optimizer from what was added since the last one. Whatever comes
        of it, what was added is used up.

        Returns:
            Step.

        Raises:
            NotFiniteError: more than `max_skips` steps in a row were skipped, this one the last
                of them; the weights are those of the last step that was not. Or the first step
                was skipped, and weights that hold NaN or infinity, which are named, are the cause.
        """
        made = self.session.run(self._given(), entry="update")
        self._pending = 0
        tokens, norm = int(made["tokens"]), float(made["grad_norm"])
        loss = float(made["loss_sum"]) / tokens if tokens else math.nan
        if tokens and not (math.isfinite(loss) and math.isfinite(norm)):
            return self._skip(Step(loss, tokens, norm, skipped=True))
        if tokens:
            self.steps, self._in_a_row = self.steps + 1, 0
        return Step(loss, tokens, norm)

    def _skip(self, step):
        """The program has left everything as it was (docs/Training.md)."""
        self.skipped, self._in_a_row = self.skipped + 1, self._in_a_row + 1
        # More of the data cannot mend the weights that the run began with.
        is_first = self.skipped == 1 and self.steps == 0
        too_many = self._in_a_row > self.max_skips
        cause = self.session.not_finite_weights() if is_first or too_many else ""
        if not cause and not too_many:
            return step
        reasons = [cause] if cause else []
        if too_many:
            reasons.append(f"{self._in_a_row} steps in a row were skipped, and at most "
                           f"{self.max_skips} may be (max_skips)")
        raise NotFiniteError("libtprt", 1, f"step {self.steps + 1}: the loss is {step.loss}, the "
                             f"gradient's norm {step.grad_norm}: expected finite numbers; "
                             + "; ".join(reasons))

    def step(self, *batches):
        """Accumulate the micro-batches and update. Where one is refused that looks right, such
        as for an id that the model has not, those before it stay added.

        Returns:
            Step.
        """
        if not batches:
            raise InputError("libtprt", 1, "step: expected at least one batch, got none")
        for batch in [self._batch(batch) for batch in batches]:
            self.accumulate(batch)
        return self.update()

    def evaluate(self, batch):
        """The loss of a batch, a mean over the labels that count, and how many do; nothing is
        changed."""
        made = self.session.run(self._batch(batch), entry="main")
        tokens = int(made["tokens"])
        return (float(made["loss_sum"]) / tokens if tokens else math.nan), tokens

    def states(self):
        """dict of name to array, floats as float32, layers stacked: weights by the names of
        their tensors, with `{i}` for the layer; `grad:NAME`, `exp_avg:NAME`, `exp_avg_sq:NAME`,
        `momentum:NAME`, `master:NAME` as far as the program has them; `loss_sum` and
        `tokens`. Gradients are of the sum of losses, since the last update."""
        return self.session.states()

    def gradients(self):
        """The gradients of the mean loss since the last update: dict of the weight's name to
        array."""
        states = self.session.states()
        tokens = max(float(states["tokens"]), 1)
        return {name.removeprefix("grad:"): value / numpy.float32(tokens)
                for name, value in states.items() if name.startswith("grad:")}

    def weights(self):
        """dict of name to array, in float32: the masters, where the program has them."""
        states = self.session.states()
        gradients = [name.removeprefix("grad:") for name in states if name.startswith("grad:")]
        return {name: states.get(f"master:{name}", states[name]) for name in gradients}

    def close(self):
        """End the ranks and free the weights; may be called again."""
        self.session.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()
