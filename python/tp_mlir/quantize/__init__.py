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

from .. import _checkpoint, _command_line, _signals, _units, _version
from .._errors import writing
from ._files import Reader, Writer
from ._formats import FORMATS, sizes

_INDEX, _SINGLE = "model.safetensors.index.json", "model.safetensors"
#: Files that hold weights, and are not copied.
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".h5", ".msgpack", ".onnx")
#: Elements that are read at once, about.
_PIECE = 8 << 20
_LAYER = re.compile(r"(^|\.)(layers|h|blocks?)\.\d+\.")
#: Layers of encoders.
_ENCODER = re.compile(r"(^|\.)layer\.\d+\.")
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


def _listed(index):
    """The names of the files that an index names."""
    try:
        return sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{index}: expected an index with a weight_map: {error}") from error


def _shards(folder):
    """The names of the files with weights."""
    index, single = folder / _INDEX, folder / _SINGLE
    if single.is_file():
        # As transformers, the compiler and the runtime do.
        with contextlib.suppress(ValueError):
            if not index.is_file() or _listed(index) == [single.name]:
                return [single.name]
        _say(f"'{single}' is read, and not the files that {_INDEX} beside it names")
        return [single.name]
    if index.is_file():
        names = _listed(index)
        for name in names:
            if pathlib.PurePath(name).name != name:
                raise ValueError(f"{index}: expected names of files beside it, got '{name}'")
            if not (folder / name).is_file():
                raise ValueError(f"{index}: {name}, which it names, is not in {folder}")
        return names
    names = sorted(path.name for path in folder.glob("*.safetensors"))
    if len(names) > 1:
        raise ValueError(f"{folder}: expected {_INDEX} beside {len(names)} files of weights")
    if not names:
        _checkpoint.check_weights(folder)
        raise ValueError(f"no safetensors in {folder}")
    return names


class _Plan:
    """What becomes of each tensor, checked before anything is written."""

    def __init__(self, args, stack):
        self.folder, self.name, self.format = args.model, args.format, FORMATS[args.format]
        self.config = _checkpoint.read_config(args.model)
        self._check_config()
        self.readers = {}
        for name in _shards(args.model):
            self.readers[name] = reader = Reader(args.model / name)
            stack.callback(reader.close)
        self.ignored, self.chosen, self.unused = ["lm_head"], {}, set(args.ignore)
        self.unfit = {}
        for reader in self.readers.values():
            for name in reader.tensors:
                self._choose(name, reader, args.ignore)
        if self.unused:
            raise ValueError(f"--ignore {sorted(self.unused)[0]}: no matrix of a layer in "
                             f"{args.model} is called so")
        self._check_unfit()
        if not self.chosen and any(_ENCODER.search(name) for reader in self.readers.values()
                                   for name in reader.tensors):
            raise ValueError(f"{args.model}: model_type \"{self.config.get('model_type')}\" is an "
                             "encoder, and encoders are not quantised")
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
        if self.format.refuses(shape):
            self.unfit[module] = shape
            return
        self.chosen[name] = self.format.tensors(shape, dtype)

    def _check_unfit(self):
        """Raises ValueError with all weights that the format cannot stand for, those of all layers
        together, and what would do."""
        if not self.unfit:
            return
        alike = {}
        for module, shape in self.unfit.items():
            alike.setdefault(re.sub(r"\.\d+(?=\.)", ".*", module), []).append(shape)
        told = [f"'{pattern}' ({len(shapes)}, of "
                f"{' and '.join(str(k) for k in sorted({k for _, k in shapes}))} inputs)"
                for pattern, shapes in alike.items()]
        fitting = [other for other, form in FORMATS.items()
                   if not any(map(form.refuses, self.unfit.values()))]
        ignored = " ".join(f"--ignore '{pattern}'" for pattern in alike)
        rest = f"; {ignored} leaves them as they are" if self.chosen else ""
        count = len(self.unfit) + len(self.chosen)
        reason = self.format.refuses(next(iter(self.unfit.values())))
        raise ValueError(f"{self.folder}: {self.name} does not fit {len(self.unfit)} of {count} weights, "
                         f"{', '.join(told)}: {reason}; --format {', '.join(fitting[:-1])} or "
                         f"{fitting[-1]} fits all of these{rest}")

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

    def check_room(self, place):
        """Raises ValueError if the weights would fill the disk on which `place` is."""
        needed = sum(size for reader in self.readers.values()
                     for _, _, size in self.outputs(reader).values())
        there = shutil.disk_usage(place)
        if there.total and there.free < needed:
            raise ValueError(f"{place}: {_units.bytes_text(there.free)} are free there, and the "
                             f"weights in {self.name} take {_units.bytes_text(needed)}")

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
    """How far it came: one line of a terminal, written again and again; elsewhere a line for each
    quarter of what takes long."""

    def __init__(self, total):
        self.total, self.done, self.told = total, 0, 0
        self.begun = self.last = time.monotonic()
        self._is_terminal, self._is_open = sys.stderr.isatty(), False

    def add(self, count):
        self.done += count
        now, part = time.monotonic(), 100 * self.done // self.total
        if self._is_terminal and now - self.last > 0.5:
            print(f"\rtp-quantize: {part} %\033[K", end="", file=sys.stderr, flush=True)
            self.last, self._is_open = now, True
        elif not self._is_terminal and now - self.begun > 5 and part // 25 > self.told // 25:
            _say(f"{part} %")
            self.told = part

    def close(self):
        """Ends the line of a terminal, before something else is said."""
        if self._is_open:
            print(file=sys.stderr, flush=True)
        self._is_open = False


def _quantize(name, reader, plan, writer, progress):
    dtype, shape = reader.tensors[name]
    module = name.removesuffix(".weight")
    block = plan.format.block
    step = max(block, _PIECE // shape[1] // block * block)
    for first in range(0, shape[0], step):
        values = reader.rows(name, first, min(step, shape[0] - first))
        if not numpy.isfinite(values).all():
            row, column = numpy.argwhere(~numpy.isfinite(values))[0]
            raise ValueError(f"{reader.path}: tensor '{name}': expected finite weights, got "
                             f"{values[row, column]} at [{first + row}, {column}]")
        for part, data in plan.format.encode(values, dtype, shape).items():
            writer.put(f"{module}.{part}", numpy.ascontiguousarray(data).tobytes())
        progress.add(values.size)
    for part, data in plan.format.whole(shape).items():
        writer.put(f"{module}.{part}", data.tobytes())


def _write_json(path, value):
    with writing(path):
        path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def _write_weights(plan, folder, progress):
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
    if (plan.folder / _INDEX).is_file() and _SINGLE not in plan.readers:
        _write_json(folder / _INDEX, {"metadata": {"total_size": total},
                                      "weight_map": dict(sorted(places.items()))})
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


def _remove_empty(folder):
    with contextlib.suppress(OSError):
        folder.rmdir()


def _carry_out(args, stack):
    _checkpoint.check_model(args.model)
    _check_output(args)
    plan = _Plan(args, stack)
    out = args.output
    missing = [place for place in out.absolute().parents if not place.exists()]
    plan.check_room(next(place for place in out.absolute().parents if place.exists()))
    for place in missing:
        stack.callback(_remove_empty, place)
    partial = out.with_name(out.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    stack.callback(shutil.rmtree, partial, ignore_errors=True)
    _copy_rest(plan, partial)
    _write_json(partial / "config.json", plan.written_config())
    with contextlib.closing(_Progress(sum(
            math.prod(reader.tensors[name][1]) for reader in plan.readers.values()
            for name in reader.tensors if name in plan.chosen))) as progress:
        total = _write_weights(plan, partial, progress)
    if out.exists():
        shutil.rmtree(out)
    partial.rename(out)
    _say(f"{out}: {len(plan.chosen)} weights in {args.format}; {_units.bytes_text(total)} in all")
    _say(f"left as they were: {', '.join(sorted(plan.ignored))}, tables, and all that is no matrix")


def main(arguments=None):
    args = _parser().parse_args(arguments)

    def body():
        with _signals.doing("quantising"), _signals.sigterm_raises(signal.SIGHUP), \
                contextlib.ExitStack() as stack:
            _carry_out(args, stack)

    return _command_line.carry_out("tp-quantize", body, _parser())
