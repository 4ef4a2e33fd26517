"""Compiling, running and verifying.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import pathlib
import tempfile

import numpy
from safetensors.numpy import load_file, save_file

from . import _forks, _ranks, _session, _tools
from ._errors import ToolError, from_exit
from ._tools import options as _options
from ._trainer import Trainer


def _run(arguments, folder):
    """tp-run on arrays that are files in `folder`, of which errors say nothing: they name inputs."""
    try:
        return _tools.run("tp-run", arguments)
    except ToolError as error:
        said = str(error).replace(f"'{folder / 'inputs.safetensors'}': ", "")
        raise from_exit("tp-run", error.code, said) from error


class Explanation:
    """What a compiled program communicates, and why.

    Attributes:
        data: the whole object that --explain=json prints.
        collectives: list of dicts with id, kind, axis, type, count, bytes,
            traffic, cause, annotation, location, pass.
        totals: per kind.
    """

    def __init__(self, data, table):
        self.data = data
        self.collectives = data["collectives"]
        self.totals = data["totals"]
        self._table = table

    def __str__(self):
        return self._table

    __repr__ = __str__     # A notebook shows the table.


class Program:
    """A compiled artifact (`.tpa`) and how it was made.

    Attributes:
        path: the artifact's path. A program made without an output path lies in
            a temporary folder that goes with this object.
    """

    def __init__(self, path, _source=None, _arguments=(), _folder=None):
        self.path = pathlib.Path(path)
        self._source = _source
        self._arguments = list(_arguments)
        self._folder = _folder
        if not self.path.is_file():
            raise FileNotFoundError(f"no artifact at {self.path}")

    def __repr__(self):
        made = [str(self._source), *map(str, self._arguments)] if self._source else []
        return f"<tp_mlir.Program {' '.join(made) or self.path}>"

    def run(self, weights, inputs, backend=None, repeat=None, timeout=None, timeline=None,
            stats=False, entry=None):
        """Run the program on its ranks.

        Args:
            weights: checkpoint folder, or "random:SEED".
            inputs: dict of name to array; shapes as compiled, sequences may be shorter and
                padded on either side; "ENTRY.NAME" is the input of one of several entries.
            entry: names of the entries to run in turn, with commas between them;
                default the first, or of several lengths the least that has room. The
                outputs are the last one's.
            backend, repeat, timeout, timeline: as tp-run's options.
            stats: also return what --stats=json prints, parsed.

        Returns:
            dict of name to float32 array, or (dict, stats).
        """
        with tempfile.TemporaryDirectory(prefix="tp-mlir-") as folder:
            folder = pathlib.Path(folder)
            arrays = {name: numpy.ascontiguousarray(value) for name, value in inputs.items()}
            save_file(arrays, folder / "inputs.safetensors")
            arguments = [self.path, "--weights", weights, "--input", folder / "inputs.safetensors",
                         "--output", folder / "outputs.safetensors"]
            arguments += _options(backend=backend, repeat=repeat, timeout=timeout,
                                  timeline=timeline, entry=entry)
            if stats:
                arguments.append("--stats=json")
            printed = _run(arguments, folder)
            outputs = dict(load_file(folder / "outputs.safetensors"))
        return (outputs, json.loads(printed)) if stats else outputs

    def gradients(self, weights, inputs, backend=None, timeout=None):
        """The gradients of a training program's loss, by files, on ranks of any backend.

        Args:
            weights: checkpoint folder, or "init:SEED".
            inputs: dict of name to array: input_ids; labels, which are those tokens or -100,
                as in `transformers`, or targets, the class at each position; and
                attention_mask if some tokens are padding.
            backend, timeout: as tp-run's options.

        Returns:
            the loss, a mean over the labels that count, and a dict of its gradient by each
            tensor of the checkpoint, whole, of the tensor's shape, in float32.
        """
        with tempfile.TemporaryDirectory(prefix="tp-mlir-") as folder:
            folder = pathlib.Path(folder)
            arrays = {name: numpy.ascontiguousarray(value) for name, value in inputs.items()}
            save_file(arrays, folder / "inputs.safetensors")
            _run([self.path, "--weights", weights, "--input", folder / "inputs.safetensors",
                  "--gradients", folder / "gradients.safetensors",
                  *_options(backend=backend, timeout=timeout)], folder)
            gradients = load_file(folder / "gradients.safetensors")
        return float(gradients.pop("loss")), gradients

    def open(self, weights, backend=None, timeout=None):
        """Open the program in this process: weights are read once for many runs.

        Args:
            weights: checkpoint folder, or "random:SEED".
            backend: "threads" (the default), which runs one rank on a GPU too; "processes", or
                "nccl", with a GPU for each rank (the default of several), where this process is
                rank 0 and starts the others; or what a launcher has started, whose ranks all
                make the same calls.
            timeout: seconds that a rank waits for another.

        Returns:
            Session.
        """
        backend, ranks = _ranks.of_program(_tools.inspect(self.path), backend)
        return _session.Session(self.path, weights, backend, timeout, ranks=ranks)

    def train(self, weights, lr, backend=None, timeout=None, resume=None, _source=None, **settings):
        """Open a training program (compile(..., train="adamw")) in this process, to train it.

        Args:
            weights: checkpoint folder, or "init:SEED".
            lr: the learning rate, or a function of the step's number, which begins with 1.
            backend: as open's. Of ranks that a launcher has started rank 0 gets the Trainer; on
                the others this call takes part until it is closed, and raises SystemExit.
            timeout: seconds that a rank waits for another.
            resume: a folder that Trainer.save has written, or will write: training goes on from
                there if it exists, with the seed and the settings that it had unless others
                are given, and begins with `weights` if not.
            seed: of dropout; 1.
            max_skips: steps in a row that may be skipped as their loss or gradient norm is not
                finite; 10.
            settings: betas (0.9, 0.95), eps (1e-8), weight_decay (0.1) of adamw;
                weight_decay (0), momentum (0.9) of sgd.

        Returns:
            Trainer.
        """
        goes_on = resume is not None and pathlib.Path(resume).exists()
        backend, ranks = _ranks.of_program(_tools.inspect(self.path), backend)
        session = _session.Session(self.path, resume if goes_on else weights, backend, timeout,
                                   is_checkpoint=goes_on, ranks=ranks, leads=True)
        source = _source or next((one for one in (weights, self._source) if one and (
            pathlib.Path(one) / "config.json").is_file()), None)
        try:
            return Trainer(session, lr, _source=source, _place=resume, _goes_on=goes_on,
                           **settings)
        except BaseException:
            session.close()
            raise

    def explain(self):
        """The collectives of the program, and its memory (compiles again up to schedule)."""
        if self._source is None:
            raise ValueError("an artifact loaded from a file cannot be explained; compile it here")
        common = [self._source, *self._arguments]
        data = json.loads(_tools.run("tp-compile", [*common, "--explain=json"]))
        return Explanation(data, _tools.run("tp-compile", [*common, "--explain"]))


def compile(model, output=None, *, mesh=None, plan=None, batch=None, seq=None, dtype=None,
            logits=None, target=None, generate=False, context=None, rows=None, chunk=None,
            page=None, cells=None, memory=None, kv_dtype=None, generation_config=None, train=None,
            clip=None, momentum=False, recompute=None, dropout=None, shard_optimizer=None, untie=False,
            ignore=None, activations=None, quantize=None, allow_padding=False, overlap=None,
            progress=False):
    """Compile a checkpoint folder, a GGUF file or a `.mlir` file to a Program.

    Args are tp-compile's options; what is None takes the program's default. With several
    numbers for `seq` it has an entry for each, which share the weights. With `generate`
    the program has the entries step_1, step_2, ... beside main, which continue `rows` texts
    of up to `context` tokens on a cache of type `kv_dtype` that holds `cells` tokens, or as many
    as `memory` of a rank has room for, in pages of `page`, up to `chunk` tokens a step;
    `generation_config` is a file that counts instead of the checkpoint's, or "none". With
    `train` ("adamw" or "sgd", which may have `momentum`) it is a step of training instead, in
    which the gradient's norm is at most `clip`, `recompute` ("none", "selective", "full") says
    what is computed again rather than kept, and `dropout` ("off", "on", "residual") what of the
    config's dropout there is; `shard_optimizer` is the mesh axis over whose ranks the optimizer's
    states are divided. With `untie` the head is a parameter of its own, whatever
    config.json says; `ignore` has names of tensors, or patterns, that the checkpoint is read
    without: one or a list. `activations` "float" leaves the activations of a quantised
    checkpoint as they are, whatever its recipe; `quantize` is the format, one of tp-quantize's,
    that the weights of layers are quantised to while they are read. `allow_padding` cuts heads
    even where more than half of them would be padding. `overlap` ("auto", "off") is what runs
    beside collectives.
    Raises InputError or UsageError with the compiler's text.
    """
    arguments = _options(mesh=mesh, plan=plan, batch=batch, seq=seq, dtype=dtype, logits=logits,
                         target=target, generate=generate, context=context, rows=rows,
                         chunk=chunk, page=page, cells=cells, memory=memory, kv_dtype=kv_dtype,
                         generation_config=generation_config, train=train, clip=clip,
                         momentum=momentum, recompute=recompute, dropout=dropout,
                         shard_optimizer=shard_optimizer, untie=untie, ignore=ignore,
                         activations=activations, quantize=quantize,
                         allow_padding=allow_padding, overlap=overlap)
    folder = None
    if output is None:
        folder = _forks.Folder()
        output = pathlib.Path(folder.path) / "program.tpa"
    _tools.run("tp-compile", [model, *arguments, "-o", output], progress)
    return Program(output, _source=model, _arguments=arguments, _folder=folder)


def load(path):
    """An artifact compiled earlier."""
    return Program(path)


def verify(model, *, mesh, plan=None, batch=None, seq=None, stages=None, seed=None, steps=None,
           entry=None, untie=False, ignore=None):
    """Compare the partitioned program with the one-device program.

    Returns tp-verify's report; raises DifferenceError with it if they differ.
    """
    arguments = _options(mesh=mesh, plan=plan, batch=batch, seq=seq, stages=stages, seed=seed,
                         steps=steps, entry=entry, untie=untie, ignore=ignore)
    return _tools.run("tp-verify", [model, *arguments])
