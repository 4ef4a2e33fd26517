"""What an export gives: text, a plan, weights, and the way to run it.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import json
import pathlib
import re

import numpy

from .. import _forks, _program
from .._errors import DifferenceError, InputError, ToolError

# Characters of a line of text that an error shows.
_SHOWN = 160


class Exported:
    """A module as a program for one device.

    Attributes:
        text: the program, in MLIR.
        plan: how its parameters are cut, as tp-compile reads plans.
        inputs: name to shape; outputs: names.
        state: name to tensor of the module's parameters and buffers, tied ones once.
        aliases: name in `state` to the other names of a tied tensor.
        matched: how often each pattern was found ("attention", "rms_norm", "rotary").
        difference: the largest difference to the module's own result, of the largest value,
            on one rank; None if it was not compared.
    """

    def __init__(self, text, plan, inputs, outputs, state, matched, config=None, aliases=None,
                 name="the module"):
        self.text, self.plan, self._config, self._name = text, plan, config, name
        self.aliases = aliases or {}
        self.inputs, self.outputs, self.matched = inputs, outputs, matched
        self.difference = None
        self.state = state
        self._folder = None

    def save(self, path, weights=True):
        """Write the program to `path`, and beside it its plan (NAME.plan.json) and, if asked
        for, the module's weights (NAME.safetensors)."""
        path = pathlib.Path(path)
        path.write_text(self.text)
        path.with_suffix(".plan.json").write_text(json.dumps(self.plan, indent=1) + "\n")
        if weights:
            self.save_weights(path.with_suffix(".safetensors"))
        return path

    def save_weights(self, path):
        """Write the module's parameters and buffers, each under all of its names, as
        `load_state_dict` wants them."""
        from safetensors.torch import save_file
        absent = [name for name, tensor in self.state.items() if tensor.device.type == "meta"]
        if absent:
            raise InputError("export", 1, f"the module has no weights: {absent[0]} is on the meta "
                             "device; give a checkpoint's folder as weights")
        save_file({name: tensor.detach().cpu().contiguous().clone()
                   for first, tensor in self.state.items()
                   for name in (first, *self.aliases.get(first, ()))}, path)
        return path

    def weights(self):
        """A file of the module's weights, as they are when it is first asked for."""
        path = self.checkpoint() / "model.safetensors"
        if not path.exists():
            self.save_weights(path)
        return path

    def checkpoint(self):
        """A folder as from_pretrained takes it, in which `weights` lie: with config.json, if the
        module has a configuration of transformers."""
        folder = self._directory() / "checkpoint"
        if not folder.exists():
            folder.mkdir()
            if self._config is not None:
                (folder / "config.json").write_text(self._config)
        return folder

    def _directory(self):
        if self._folder is None:
            self._folder = _forks.Folder("tp-mlir-export-")
        return pathlib.Path(self._folder.path)

    def compile(self, output=None, *, mesh=None, plan=None, target=None, progress=False,
                generate=False, context=None, rows=None, chunk=None, page=None, cells=None,
                kv_dtype=None, train=None, clip=None, momentum=False, shard_optimizer=None,
                recompute=None, allow_padding=False, overlap=None):
        """Compile to an ExportedProgram. `plan` is one of tp-compile's names or files, or a
        dict; default the export's own. The others are `tp_mlir.compile`'s. `generate` needs
        causal logits [batch, sequence, vocabulary] of `input_ids`; `train` needs logits, of which
        the loss is the cross-entropy with an input `targets`, or a loss of the module's own as
        the only output. What cannot be derived is an InputError that names the operation.
        """
        folder = self._directory()
        model = folder / "model.mlir"
        model.write_text(self.text)
        plan = self.plan if plan is None else plan
        if isinstance(plan, dict):
            (folder / "plan.json").write_text(json.dumps(plan))
            plan = folder / "plan.json"
        with self.telling():
            program = _program.compile(
                model, output, mesh=mesh, plan=plan, target=target, progress=progress,
                generate=generate, context=context, rows=rows, chunk=chunk, page=page, cells=cells,
                kv_dtype=kv_dtype, train=train, clip=clip, momentum=momentum,
                shard_optimizer=shard_optimizer, recompute=recompute, allow_padding=allow_padding,
                overlap=overlap)
        return ExportedProgram(program, self)

    @contextlib.contextmanager
    def telling(self):
        """Within it errors of the programs name the export, and a line of its text, and not the
        files that it was put into, which go with it."""
        try:
            yield
        except ToolError as error:
            error.args = (self._told(str(error)), *error.args[1:])
            raise

    def _told(self, words):
        folder, lines = self._directory(), self.text.splitlines()

        def quoted(found):
            number = int(found[1])
            line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
            if line in ("", "module {"):  # of the whole
                return f"export of {self._name}"
            shown = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
            return f"export of {self._name}, `{shown}`"

        words = re.sub(rf"{re.escape(str(folder / 'model.mlir'))}:(\d+):\d+", quoted, words)
        for path, what in (("model.mlir", f"export of {self._name}"),
                           ("plan.json", f"plan of {self._name}"),
                           ("checkpoint/model.safetensors", f"weights of {self._name}"),
                           ("checkpoint", f"weights of {self._name}")):
            words = words.replace(str(folder / path), what)
        return words

    def compare(self, tensors, expected, tolerance):
        """Run on one rank and compare with the module's own results; DifferenceError if they
        differ by more than `tolerance` of the largest value."""
        ours = self.compile(mesh="tp=1", plan="replicated").run(*tensors)
        worst, where = 0.0, None
        for name, want in expected.items():
            want = to_array(want).astype(numpy.float64)
            got = ours[name].astype(numpy.float64)
            error = numpy.abs(got - want)
            if not numpy.isfinite(got).all():
                error = numpy.where(numpy.isfinite(got) | (got == want), error, numpy.inf)
            off = float(error.max(initial=0) / max(numpy.abs(want).max(initial=0), 1e-30))
            if where is None or off > worst:
                worst, where = off, name
        self.difference = worst
        if not worst <= tolerance:
            raise DifferenceError("export", 3, f"the exported program differs from the module in "
                                  f"{where}: by {worst:.1e} of the largest value, expected at "
                                  f"most {tolerance:.0e}")
        return worst


class ExportedProgram(_program.Program):
    """A Program whose weights are those of the module, unless others are given."""

    def __init__(self, program, exported):
        super().__init__(program.path, program._source, program._arguments, program._folder)
        self._exported = exported

    def run(self, *inputs, weights=None, **options):
        """Run on the program's ranks.

        Args:
            inputs: arrays or tensors in the order of the export's arguments, or one dict by
                name.
            weights: checkpoint folder, file, or "random:SEED"; default the module's.
            options: as of Program.run.
        """
        if len(inputs) == 1 and isinstance(inputs[0], dict):
            arrays = {name: to_array(value) for name, value in inputs[0].items()}
        else:
            names = list(self._exported.inputs)
            if len(inputs) != len(names):
                raise InputError("export", 1, f"expected {len(names)} inputs ({', '.join(names)}),"
                                 f" got {len(inputs)}")
            arrays = {name: to_array(value) for name, value in zip(names, inputs)}
        with self._exported.telling():
            return super().run(self._weights(weights), arrays, **options)

    def open(self, weights=None, backend=None, timeout=None):
        """As Program.open."""
        with self._exported.telling():
            return super().open(self._weights(weights), backend, timeout)

    def llm(self, folder=None, **options):
        """Open a program that compile(..., generate=True) has made, to answer prompts.

        Args:
            folder: checkpoint folder with weights and, for texts, a tokenizer; default the
                module's weights, which answer token ids.
            options: of LLM: backend, timeout, queue, speculate.

        Returns:
            LLM.
        """
        from ..llm import LLM

        if folder is None:
            self._exported.weights()
            folder = self._exported.checkpoint()
        with self._exported.telling():
            return LLM(folder, program=self.path, **options)

    def generate(self, prompts, folder=None, **options):
        """Continue prompts once, as LLM.generate does; `llm` keeps the weights open for more."""
        with self.llm(folder) as llm:
            return llm.generate(prompts, **options)

    def train(self, weights=None, *, lr, **options):
        """As Program.train, by default from the module's weights. What Trainer.save writes has the
        names of the module's state: module.load_state_dict(load_file(".../model.safetensors"))."""
        if weights is None:
            self._exported.weights()
            weights = self._exported.checkpoint()
        with self._exported.telling():
            return super().train(weights, lr, _source=self._exported.checkpoint(), **options)

    def gradients(self, inputs, weights=None, **options):
        """As Program.gradients, by default of the module's weights."""
        with self._exported.telling():
            return super().gradients(self._weights(weights), inputs, **options)

    def _weights(self, weights):
        return self._exported.weights() if weights is None else weights


def to_array(value):
    """A NumPy array of an array or of a PyTorch tensor, 16-bit floats widened."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if value.dtype.is_floating_point:
            value = value.float()
        value = value.numpy()
    return numpy.asarray(value)
