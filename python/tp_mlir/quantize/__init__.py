"""Quantised checkpoints from 16- and 32-bit ones: `tp-quantize`.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Rounds the matrices of a model's layers to nearest and writes them as compressed-tensors has
them, which vLLM and transformers read too. Weights are read and written some rows at a time.
"""

import contextlib
import fnmatch
import json
import math
import pathlib
import re
import shutil
import signal
import sys
import time

import numpy

from .. import _checkpoint, _command_line, _signals, _version
from .._errors import exit_code, text_of
from ._files import Reader, Writer
from ._formats import FORMATS, sizes

_INDEX = "model.safetensors.index.json"
#: Files that hold weights, and are not copied.
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".h5", ".msgpack", ".onnx")
#: Elements that are read at once, about.
_PIECE = 8 << 20
_LAYER = re.compile(r"(^|\.)(layers|h|blocks?)\.\d+\.")
_ROUTER = re.compile(r"(^|\.)(gate|router|shared_expert_gate|wg)(\.weight)$|\.router\.")
_TABLE = re.compile(r"(emb|wte|wpe|relative_attention_bias|rotary)")
#: Models whose matrices are [inputs, outputs].
_TURNED = ("gpt2", "openai-gpt")


def _parser():
    parser = _command_line.Parser(
        prog="tp-quantize", description="Round a checkpoint's weights to a quantised format.")
    _version.add(parser)
    parser.add_argument("model", metavar="DIR", type=pathlib.Path,
                        help="checkpoint folder with weights in 16 or 32 bits")
    parser.add_argument("--format", choices=FORMATS, required=True, help="of the weights")
    parser.add_argument("-o", "--output", metavar="OUT", type=pathlib.Path, required=True,
                        help="folder for the quantised checkpoint")
    parser.add_argument("--ignore", metavar="NAME", action="append", default=[],
                        help="modules that stay as they are, such as '*.down_proj'; may be "
                        "repeated (heads, routers and tables always do)")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT")
    return parser


def _say(words):
    print(f"tp-quantize: {words}", file=sys.stderr, flush=True)


def _shards(folder):
    """The names of the files with weights."""
    index = folder / _INDEX
    if index.is_file():
        try:
            places = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
            names = sorted(set(places.values()))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{index}: expected an index with a weight_map: {error}") from error
        for name in names:
            if pathlib.PurePath(name).name != name:
                raise ValueError(f"{index}: expected names of files beside it, got '{name}'")
            if not (folder / name).is_file():
                raise ValueError(f"{index}: {name}, which it names, is not in {folder}")
        return names
    names = sorted(path.name for path in folder.glob("*.safetensors"))
    if "model.safetensors" in names:
        return ["model.safetensors"]
    if len(names) > 1:
        raise ValueError(f"{folder}: expected {_INDEX} beside {len(names)} files of weights")
    if not names:
        _checkpoint.check_weights(folder)
        raise ValueError(f"no safetensors in {folder}")
    return names


class _Plan:
    """What becomes of each tensor, checked before anything is written."""

    def __init__(self, args, stack):
        self.folder, self.format = args.model, FORMATS[args.format]
        self.config = _checkpoint.read_config(args.model)
        self._check_config()
        self.readers = {}
        for name in _shards(args.model):
            self.readers[name] = reader = Reader(args.model / name)
            stack.callback(reader.close)
        self.ignored, self.chosen, self.unused = ["lm_head"], {}, set(args.ignore)
        for reader in self.readers.values():
            for name in reader.tensors:
                self._choose(name, reader, args.ignore)
        if self.unused:
            raise ValueError(f"--ignore {sorted(self.unused)[0]}: no matrix of a layer in "
                             f"{args.model} is called so")
        if not self.chosen:
            raise ValueError(f"{args.model}: no weights [outputs, inputs] of layers that "
                             f"{args.format} could stand for")

    def _check_config(self):
        path = self.folder / "config.json"
        if "quantization_config" in self.config or "compression_config" in self.config:
            raise ValueError(f"{path}: the checkpoint is quantised already (quantization_config): "
                             "expected the one that it was made from")
        if (self.folder / "hf_quant_config.json").is_file():
            raise ValueError(f"{self.folder}: the checkpoint is quantised already "
                             "(hf_quant_config.json): expected the one that it was made from")
        if self.config.get("model_type") in _TURNED:
            raise ValueError(f"{path}: weights of {self.config['model_type']} are [inputs, "
                             "outputs], which compressed-tensors has no format for")

    def _choose(self, name, reader, ignore):
        dtype, shape = reader.tensors[name]
        if len(shape) != 2 or not name.endswith(".weight") or _TABLE.search(name):
            return
        module = name.removesuffix(".weight")
        if not _LAYER.search(name) or _ROUTER.search(name):
            if module not in self.ignored:
                self.ignored.append(module)
            return
        matches = [pattern for pattern in ignore if fnmatch.fnmatchcase(module, pattern)]
        self.unused -= set(matches)
        if matches:
            self.ignored.append(module)
            return
        where = f"{reader.path}: tensor '{name}'"
        if not reader.is_float(name):
            raise ValueError(f"{where}: expected f32, f16 or bf16, got {dtype}")
        if not all(shape):
            raise ValueError(f"{where}: expected elements, got shape {list(shape)}")
        if reason := self.format.refuses(shape):
            raise ValueError(f"{where} has {shape[1]} inputs: {reason}; --ignore '{module}' "
                             "leaves it as it is, and int8 and the fp8 formats take any")
        self.chosen[name] = self.format.tensors(shape, dtype)

    def outputs(self, reader):
        """What the file of a reader becomes: name -> (type, shape, bytes)."""
        found = {}
        for name, (dtype, shape) in reader.tensors.items():
            if name not in self.chosen:
                begin, end = reader._at[name]
                found[name] = (dtype, shape, reader.size(name))
                continue
            tensors = self.chosen[name]
            for part, size in sizes(tensors).items():
                found[f"{name.removesuffix('.weight')}.{part}"] = (*tensors[part], size)
        return found

    def written_config(self):
        """config.json with what readers need to know."""
        config = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))
        weights = {**self.format.scheme, "dynamic": False, "observer": "minmax", "actorder": None}
        group = {"targets": ["Linear"], "weights": weights, "input_activations": None,
                 "output_activations": None, "format": self.format.layout}
        return {**config, "quantization_config": {
            "quant_method": "compressed-tensors", "format": self.format.layout,
            "quantization_status": "compressed", "config_groups": {"group_0": group},
            "ignore": sorted(self.ignored), "kv_cache_scheme": None}}


class _Progress:
    """A line now and then; the last one always."""

    def __init__(self, total):
        self.total, self.done, self.last = total, 0, time.monotonic()

    def add(self, count):
        self.done += count
        now = time.monotonic()
        if now - self.last > 5:
            self.last = now
            _say(f"{100 * self.done // self.total} %")


def _quantize(name, reader, plan, writer, progress):
    dtype, shape = reader.tensors[name]
    module = name.removesuffix(".weight")
    block = plan.format.block
    step = max(block, _PIECE // shape[1] // block * block)
    for first in range(0, shape[0], step):
        values = reader.rows(name, first, min(step, shape[0] - first))
        if not numpy.isfinite(values).all():
            raise ValueError(f"{reader.path}: tensor '{name}': expected finite weights, got NaN or "
                             f"infinity in rows {first} to {first + len(values) - 1}")
        for part, data in plan.format.encode(values, dtype, shape).items():
            writer.put(f"{module}.{part}", numpy.ascontiguousarray(data).tobytes())
        progress.add(values.size)
    for part, data in plan.format.whole(shape).items():
        writer.put(f"{module}.{part}", data.tobytes())


def _write_weights(plan, folder):
    progress = _Progress(sum(math.prod(reader.tensors[name][1])
                             for reader in plan.readers.values()
                             for name in reader.tensors if name in plan.chosen))
    places, total = {}, 0
    for file, reader in plan.readers.items():
        outputs = plan.outputs(reader)
        places |= dict.fromkeys(outputs, file)
        total += sum(size for _, _, size in outputs.values())
        with contextlib.closing(Writer(folder / file, outputs)) as writer:
            for name in reader.tensors:
                if name in plan.chosen:
                    _quantize(name, reader, plan, writer, progress)
                else:
                    reader.copy(name, lambda data, name=name: writer.put(name, data))
    if (plan.folder / _INDEX).is_file():
        (folder / _INDEX).write_text(json.dumps(
            {"metadata": {"total_size": total}, "weight_map": dict(sorted(places.items()))},
            indent=2) + "\n", encoding="utf-8")
    return total


def _copy_rest(plan, folder):
    """Side files; those with other weights are named."""
    left = []
    for path in sorted(plan.folder.iterdir()):
        if path.name in plan.readers or path.name in (_INDEX, "config.json") or \
                path.name.startswith("."):
            continue
        if path.suffix in _WEIGHTS or path.name.endswith(".index.json"):
            left.append(path.name)
        elif path.is_dir():
            if path.name == "additional_chat_templates":
                shutil.copytree(path, folder / path.name)
            else:
                left.append(path.name + "/")
        else:
            shutil.copyfile(path, folder / path.name)
    if left:
        _say(f"not copied: {', '.join(left)}")


def _check_output(args):
    out = args.output
    if out.exists() and out.resolve() == args.model.resolve():
        raise ValueError(f"{out} is the checkpoint that is read: expected another folder")
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out}: expected a folder, found a file")
    if out.is_dir() and any(out.iterdir()):
        if not args.overwrite:
            raise ValueError(f"{out} is not empty: --overwrite replaces it")
        if not (out / "config.json").is_file():
            raise ValueError(f"{out} is not replaced: it has no config.json, so it is no "
                             "checkpoint")


def _carry_out(args, stack):
    _checkpoint.check_model(args.model)
    _check_output(args)
    plan = _Plan(args, stack)
    out = args.output
    partial = out.with_name(out.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    stack.callback(shutil.rmtree, partial, ignore_errors=True)
    _copy_rest(plan, partial)
    (partial / "config.json").write_text(json.dumps(plan.written_config(), indent=2) + "\n",
                                         encoding="utf-8")
    total = _write_weights(plan, partial)
    if out.exists():
        shutil.rmtree(out)
    partial.rename(out)
    _say(f"{out}: {len(plan.chosen)} weights in {args.format}; {total / 1e6:.3g} MB in all")
    _say(f"left as they were: {', '.join(sorted(plan.ignored))}, tables, and all that is no matrix")


def main(arguments=None):
    args = _parser().parse_args(arguments)
    try:
        with _signals.sigterm_raises(signal.SIGHUP), contextlib.ExitStack() as stack:
            _carry_out(args, stack)
    except (ValueError, OSError, RuntimeError) as error:
        print(f"tp-quantize: {text_of(error)}", file=sys.stderr)
        return exit_code(error)
    except KeyboardInterrupt as interrupt:
        return _signals.exit_code(interrupt)
    return 0
