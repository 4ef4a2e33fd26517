"""tp-quantize: what it writes, read by the formats' descriptions.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The decoders here share nothing with the encoders: they go element by element.
"""

import errno
import io
import json
import math
import os
import pathlib
import re
import shutil
import signal

import numpy
import pytest
from safetensors.numpy import load_file, save_file

from tp_mlir import quantize
from tp_mlir.quantize import _codes, _files

SHARDED = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "llama-sharded"
REFERENCES = pathlib.Path(__file__).resolve().parent / "quantized" / "references.safetensors"
REFERRED = "model.layers.0.mlp.up_proj"  # the module that is in them
SEED = 20261126
K = 256
SHAPES = {"self_attn.q_proj": (96, K), "self_attn.o_proj": (129, K), "mlp.up_proj": (7, K),
          "mlp.gate": (4, K)}


def run(*words):
    return quantize.main([str(word) for word in words])


def random_weights():
    """Matrices with a row of zeros, a large and a small one, and values at both ends."""
    random = numpy.random.default_rng(SEED)
    found = {}
    for name, shape in SHAPES.items():
        values = random.standard_normal(shape).astype(numpy.float32) * 0.05
        values[0], values[1], values[2] = 0, values[1] * 1000, values[2] * 1e-4
        values[3, :3] = 0.5, -0.5, 0.25
        found[f"model.layers.0.{name}.weight"] = values
    return {**found, "model.embed_tokens.weight": values, "lm_head.weight": values,
            "model.norm.weight": numpy.ones(K, numpy.float32)}


def checkpoint(folder, weights=None, **config):
    folder.mkdir(exist_ok=True)
    save_file(random_weights() if weights is None else weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", **config}))
    (folder / "tokenizer.json").write_text("{}")
    return folder


def read(folder):
    """All tensors of a checkpoint as numpy arrays of bytes' types."""
    kinds = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "I32": "<i4", "I64": "<i8", "U8": "u1",
             "F8_E4M3": "u1"}
    found = {}
    for path in folder.glob("*.safetensors"):
        data = path.read_bytes()
        length = int.from_bytes(data[:8], "little")
        for name, entry in json.loads(data[8:8 + length]).items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                found[name] = numpy.frombuffer(data[8 + length + begin:8 + length + end],
                                               kinds[entry["dtype"]]).reshape(entry["shape"])
    return found


def small_float(code, exponent_bits, mantissa_bits, bias):
    mantissa = code & ((1 << mantissa_bits) - 1)
    exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1)
    size = math.ldexp(mantissa, 1 - bias - mantissa_bits) if exponent == 0 else \
        math.ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits)
    return -size if code >> (exponent_bits + mantissa_bits) & 1 else size


def decode(format, tensors, module, shape, rows):
    """(values of some rows, the step between neighbours that each was rounded by at most half
    of)."""
    part = {name.removeprefix(module + "."): value for name, value in tensors.items()
            if name.startswith(module + ".")}
    values, steps = numpy.zeros(shape), numpy.zeros(shape)
    for i in rows:
        for j in range(shape[1]):
            if format.startswith("int"):
                bits = 8 if format == "int8" else 4
                group = int(format.partition("-g")[2] or shape[1])
                word = int(part["weight_packed"][i, j * bits // 32]) & 0xFFFFFFFF
                code = (word >> (j * bits % 32)) & ((1 << bits) - 1)
                scale = float(part["weight_scale"][i, j // group])
                values[i, j], steps[i, j] = (code - (1 << (bits - 1))) * scale, scale
                continue
            if format == "mxfp4":
                byte = int(part["weight_packed"][i, j // 2])
                number = small_float(byte >> 4 if j % 2 else byte & 15, 2, 1, 1)
                scale = math.ldexp(1.0, int(part["weight_scale"][i, j // 32]) - 127)
                step = 0.5 if abs(number) < 2 else 1 if abs(number) < 4 else 4
            else:
                code = int(part["weight"][i, j])
                assert code & 0x7F != 0x7F
                number = small_float(code, 4, 3, 7)
                scale = float(part["weight_scale"][i // 128, j // 128] if format == "fp8-block"
                              else part["weight_scale"][i, 0])
                step = math.ldexp(1, max(math.frexp(number)[1] - 1, -6) - 3) if number else 2 ** -9
            values[i, j], steps[i, j] = number * scale, step * scale
    return values[rows], steps[rows]


@pytest.mark.parametrize("format", quantize.FORMATS)
def test_values(tmp_path, format, capsys):
    """Each value is the nearest that its group's scale allows; the rest is left alone."""
    out = tmp_path / "out"
    assert run(checkpoint(tmp_path / "in"), "--format", format, "-o", out) == 0
    assert capsys.readouterr().err.startswith(f"tp-quantize: {out}: 3 weights in {format}; ")
    tensors, weights = read(out), random_weights()
    for name in ("model.embed_tokens.weight", "lm_head.weight", "model.norm.weight",
                 "model.layers.0.mlp.gate.weight"):
        assert (tensors[name] == weights[name]).all()
    for name, shape in SHAPES.items():
        if name == "mlp.gate":
            continue
        module = f"model.layers.0.{name}"
        rows = sorted({*range(5), shape[0] // 2, shape[0] - 2, shape[0] - 1})
        values, steps = decode(format, tensors, module, shape, rows)
        error = numpy.abs(values - weights[f"{module}.weight"][rows])
        # The largest of int4 and int8 may be half a step past the last code, and what is
        # clipped to 6 in e2m1 as much as a step and a half.
        assert (error <= steps * (0.5 + 1e-3)).all(), f"{name} of {format}, seed {SEED}"
        assert (values[0] == 0).all()
        if "pack" in json.loads((out / "config.json").read_text())["quantization_config"][
                "format"] and format != "mxfp4":
            assert tensors[f"{module}.weight_shape"].tolist() == list(shape)


def test_what_compressed_tensors_reads(tmp_path):
    """The package decompresses what is written to the same numbers. The references are of
    compressed-tensors 0.20.0, by the calls that scripts/make-quantize-references makes, and
    rounded to f32 once more than those here."""
    references = load_file(REFERENCES)
    assert set(references) == set(quantize.FORMATS)
    folder = checkpoint(tmp_path / "in")
    for format, reference in references.items():
        out = tmp_path / format
        assert run(folder, "--format", format, "-o", out) == 0
        values, _ = decode(format, read(out), REFERRED, reference.shape,
                           list(range(len(reference))))
        assert numpy.allclose(values, reference, rtol=2 ** -23, atol=0), format


def test_config_and_side_files(tmp_path):
    out = tmp_path / "out"
    folder = checkpoint(tmp_path / "in", hidden_size=K)
    (folder / "pytorch_model.bin").write_text("")
    assert run(folder, "--format", "int4-g128", "-o", out, "--ignore", "*.up_proj") == 0
    config = json.loads((out / "config.json").read_text())
    assert config["hidden_size"] == K
    said = config["quantization_config"]
    assert said["quant_method"] == "compressed-tensors" and said["format"] == "pack-quantized"
    assert said["ignore"] == ["lm_head", "model.layers.0.mlp.gate", "model.layers.0.mlp.up_proj"]
    weights = said["config_groups"]["group_0"]["weights"]
    assert (weights["num_bits"], weights["group_size"], weights["strategy"]) == (4, 128, "group")
    assert sorted(path.name for path in out.iterdir()) == ["config.json", "model.safetensors",
                                                           "tokenizer.json"]
    assert "model.layers.0.mlp.up_proj.weight" in read(out)


def test_shards_stay_shards(tmp_path):
    out = tmp_path / "out"
    assert run(SHARDED, "--format", "fp8-channel", "-o", out) == 0
    index = json.loads((out / "model.safetensors.index.json").read_text())
    tensors = read(out)
    assert set(index["weight_map"]) == set(tensors)
    assert index["metadata"]["total_size"] == sum(value.nbytes for value in tensors.values())
    for name, file in index["weight_map"].items():
        assert name in _files.Reader(out / file).tensors


def test_one_file_wins_over_an_index(tmp_path, capsys):
    folder, out, expected = checkpoint(tmp_path / "in"), tmp_path / "out", tmp_path / "expected"
    assert run(folder, "--format", "int8", "-o", expected) == 0
    single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    note = (f"tp-quantize: '{single}' is read, and not the files that "
            "model.safetensors.index.json beside it names\n")
    for name, said in ("model.safetensors", ""), ("other.safetensors", note), (None, note):
        index.write_text(json.dumps({"weight_map": {"x": name}}) if name else "{")
        capsys.readouterr()
        assert run(folder, "--format", "int8", "-o", out, "--overwrite") == 0
        assert capsys.readouterr().err.startswith(said + f"tp-quantize: {out}: 3 weights in int8; ")
        assert (out / "model.safetensors").read_bytes() == (
            expected / "model.safetensors").read_bytes()


def test_pieces_give_the_same(tmp_path, monkeypatch):
    """Rows are taken a few at a time, and whole blocks of them."""
    folder = checkpoint(tmp_path / "in")
    for format in quantize.FORMATS:
        assert run(folder, "--format", format, "-o", tmp_path / format) == 0
        with monkeypatch.context() as context:
            context.setattr(quantize, "_PIECE", 3 * K)
            assert run(folder, "--format", format, "-o", tmp_path / "other", "--overwrite") == 0
        assert (tmp_path / format / "model.safetensors").read_bytes() == \
            (tmp_path / "other" / "model.safetensors").read_bytes()


def test_codes_by_search():
    """Every encoder against the nearest of all codes; ties are even."""
    random = numpy.random.default_rng(SEED)
    for encode, codes, form in ((_codes.encode_e4m3, 0x7F, (4, 3, 7)),
                                (_codes.encode_e2m1, 8, (2, 1, 1))):
        table = numpy.array([small_float(code, *form) for code in range(codes)])
        middles = (table[:-1] + table[1:]) / 2
        values = numpy.concatenate([table, middles, random.random(500) * table[-1],
                                    random.random(500) * 0.01, [table[-1] * 2]])
        values = numpy.concatenate([values, -values]).astype(numpy.float32)
        for value, code in zip(values, encode(values), strict=True):
            distance = numpy.abs(table - abs(float(value)))
            nearest = numpy.flatnonzero(distance == distance.min())
            best = nearest[0] if len(nearest) == 1 else next(n for n in nearest if n % 2 == 0)
            assert int(code) & (codes if codes == 0x7F else 7) == best, (value, SEED)
            assert bool(code & (0x80 if codes == 0x7F else 8)) == bool(numpy.signbit(value))


def test_bf16(tmp_path):
    """Scales are of the weights' type."""
    values = random_weights()["model.layers.0.mlp.up_proj.weight"]
    bits = _codes.f32_to_bf16(values)
    folder = checkpoint(tmp_path / "in", {"x": values})
    name = "model.layers.0.mlp.up_proj.weight"
    writer = _files.Writer(folder / "model.safetensors",
                           {name: ("BF16", bits.shape, bits.nbytes)})
    writer.put(name, bits.tobytes())
    writer.close()
    assert run(folder, "--format", "int8", "-o", tmp_path / "out") == 0
    tensors = read(tmp_path / "out")
    scale = tensors["model.layers.0.mlp.up_proj.weight_scale"]
    assert scale.dtype == numpy.uint16
    tensors["model.layers.0.mlp.up_proj.weight_scale"] = _codes.bf16_to_f32(scale)
    decoded, steps = decode("int8", tensors, "model.layers.0.mlp.up_proj", values.shape,
                            list(range(len(values))))
    # The scale's rounding clips the largest by up to half of a hundredth more.
    assert (numpy.abs(decoded - _codes.bf16_to_f32(bits)) <= steps * 1.01).all()


def refused(capsys, message, *words):
    assert run(*words) == 1
    assert capsys.readouterr().err == f"tp-quantize: {message}\n"


def test_refusals(tmp_path, capsys):
    folder, out = checkpoint(tmp_path / "in"), tmp_path / "out"
    weights = folder / "model.safetensors"
    name = "model.layers.0.mlp.up_proj.weight"
    refused(capsys, f"{folder} is the checkpoint that is read: expected another folder",
            folder, "--format", "int8", "-o", folder)
    refused(capsys, f"--ignore x.*: no matrix of a layer in {folder} is called so",
            folder, "--format", "int8", "-o", out, "--ignore", "x.*")
    (tmp_path / "file").write_text("")
    refused(capsys, f"{tmp_path / 'file'}: expected a folder, found a file",
            folder, "--format", "int8", "-o", tmp_path / "file")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").write_text("")
    refused(capsys, f"{tmp_path / 'other'} is not empty: --overwrite replaces it",
            folder, "--format", "int8", "-o", tmp_path / "other")
    refused(capsys, f"{tmp_path / 'other'} is not replaced: it has no config.json, so it is no "
            "checkpoint", folder, "--format", "int8", "-o", tmp_path / "other", "--overwrite")
    for values, format, message in (
            (numpy.full((4, 32), numpy.nan, numpy.float32), "mxfp4",
             ": expected finite weights, got nan at [0, 0]"),
            (numpy.ones((4, 32), numpy.int32), "int8", ": expected f32, f16 or bf16, got I32"),
            (numpy.ones((0, 32), numpy.float32), "int8", ": expected elements, got shape [0, 32]")):
        save_file({name: values}, weights)
        refused(capsys, f"{weights}: tensor '{name}'{message}",
                folder, "--format", format, "-o", out)
    save_file({"model.norm.weight": numpy.ones(3, numpy.float32)}, weights)
    refused(capsys, f"{folder}: no weights [outputs, inputs] of layers that int8 could stand for",
            folder, "--format", "int8", "-o", out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "in", "other"]


def test_unfit_weights(tmp_path, capsys):
    """All of them are named, those of all layers together, with what would do."""
    folder, out = checkpoint(tmp_path / "in"), tmp_path / "out"
    wide, odd = numpy.ones((4, 160), numpy.float32), numpy.ones((4, 96), numpy.float32)
    tensors = {f"model.layers.{i}.{name}.weight": value for i in range(3)
               for name, value in (("mlp.down_proj", wide), ("self_attn.o_proj", odd),
                                   ("mlp.up_proj", numpy.ones((4, 256), numpy.float32)))}
    save_file({**tensors, "model.layers.3.self_attn.o_proj.weight": wide},
              folder / "model.safetensors")
    unfit = "--ignore 'model.layers.*.mlp.down_proj' --ignore 'model.layers.*.self_attn.o_proj'"
    refused(capsys, f"{folder}: int4-g128 does not fit 7 of 10 weights, "
            "'model.layers.*.mlp.down_proj' (3, of 160 inputs), 'model.layers.*.self_attn.o_proj' "
            "(4, of 96 and 160 inputs): expected inputs in multiples of 128, the size of a group; "
            "--format int4-g32, int8, fp8-block, fp8-channel or mxfp4 fits all of these; "
            f"{unfit} leaves them as they are", folder, "--format", "int4-g128", "-o", out)
    # The advice works.
    assert run(folder, "--format", "int4-g128", "-o", out, *unfit.replace("'", "").split()) == 0
    assert run(folder, "--format", "int4-g32", "-o", out, "--overwrite") == 0


def test_full_disk(tmp_path, capsys, monkeypatch):
    """Before it begins where that can be known; else with the file, and nothing is left."""
    folder, out = checkpoint(tmp_path / "in"), tmp_path / "new" / "out"
    there = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: there._replace(free=2048))
    assert run(folder, "--format", "int8", "-o", out) == 1
    assert re.fullmatch(f"tp-quantize: {tmp_path}: 2.0 KiB are free there, and the weights in int8 "
                        "take [0-9.]+ [KM]iB\n", capsys.readouterr().err)
    monkeypatch.undo()

    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_files, "open", lambda path, mode: Full() if mode == "wb" else
                        open(path, mode), raising=False)
    refused(capsys, f"'{tmp_path / 'new' / 'out.partial' / 'model.safetensors'}': No space left on "
            "device", folder, "--format", "int8", "-o", out)
    assert not (tmp_path / "new").exists()


def test_interrupt(tmp_path, capsys, monkeypatch):
    folder, out = checkpoint(tmp_path / "in"), tmp_path / "out"
    monkeypatch.setattr(quantize.Reader, "rows", lambda *unused: signal.raise_signal(signal.SIGINT))
    assert run(folder, "--format", "int8", "-o", out) == 130
    assert capsys.readouterr().err == (
        "tp-quantize: interrupted while quantising; nothing was left behind\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_broken_files(tmp_path, capsys):
    folder, out = checkpoint(tmp_path / "in"), tmp_path / "out"
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-100])
    assert run(folder, "--format", "int8", "-o", out) == 1
    said = capsys.readouterr().err
    assert f"{weights}: tensor '" in said and f" ends at byte {len(whole)}, the file at " \
        f"{len(whole) - 100}: the file is cut short\n" in said
    header = json.dumps({"model.layers.0.up.weight": {
        "dtype": "F32", "shape": [3, 4], "data_offsets": [0, 44]}}).encode()
    weights.write_bytes(len(header).to_bytes(8, "little") + header + bytes(44))
    refused(capsys, f"{weights}: tensor 'model.layers.0.up.weight': expected 48 bytes for its "
            "shape, got 44", folder, "--format", "int8", "-o", out)
    weights.write_bytes(b"\xff" * 20)
    refused(capsys, f"{weights}: expected a safetensors file",
            folder, "--format", "int8", "-o", out)
    weights.write_bytes((4).to_bytes(8, "little") + b"[1]x")
    assert run(folder, "--format", "int8", "-o", out) == 1
    assert f"{weights}: expected a safetensors header: " in capsys.readouterr().err
    weights.unlink()
    refused(capsys, f"no safetensors in {folder}", folder, "--format", "int8", "-o", out)
    for file in ("a.safetensors", "b.safetensors"):
        (folder / file).write_bytes(whole)
    refused(capsys, f"{folder}: expected model.safetensors.index.json beside 2 files of weights",
            folder, "--format", "int8", "-o", out)
    index = folder / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"x": "../a.safetensors"}}')
    refused(capsys, f"{index}: expected names of files beside it, got '../a.safetensors'",
            folder, "--format", "int8", "-o", out)
    index.write_text('{"weight_map": {"x": "c.safetensors"}}')
    refused(capsys, f"{index}: c.safetensors, which it names, is not in {folder}",
            folder, "--format", "int8", "-o", out)
    index.write_text("{}")
    assert run(folder, "--format", "int8", "-o", out) == 1
    assert f"{index}: expected an index with a weight_map: " in capsys.readouterr().err
    assert not out.exists()


def test_models_that_are_refused(tmp_path, capsys):
    folder, out = checkpoint(tmp_path / "in", model_type="gpt2"), tmp_path / "out"
    refused(capsys, f"{folder / 'config.json'}: weights of gpt2 are [inputs, outputs], which "
            "compressed-tensors has no format for", folder, "--format", "int8", "-o", out)
    checkpoint(folder, quantization_config={})
    refused(capsys, f"{folder / 'config.json'}: the checkpoint is quantised already "
            "(quantization_config): expected the one that it was made from",
            folder, "--format", "int8", "-o", out)
    checkpoint(folder)
    (folder / "hf_quant_config.json").write_text("{}")
    refused(capsys, f"{folder}: the checkpoint is quantised already (hf_quant_config.json): "
            "expected the one that it was made from", folder, "--format", "int8", "-o", out)
    shutil.rmtree(folder)
    assert run(folder, "--format", "int8", "-o", out) == 1
