"""What GEMMs of a device do beside the product, in a program on several ranks.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

relu with and without a bias, factors before an activation, a residual, a sum over ranks
and alone, a quotient: compiled for a device, run on the library that stands for CUDA, and
compared with NumPy. 16-bit results are held to those of a program that rounds after every
operation, by the bounds of test_device_fixtures.py (more than two ranks round their sum at
each addition); a factor or an activation that is not as it should be is further away.
"""

import json
import pathlib
import shutil
import subprocess
import sys

import numpy
import pytest
from device import BIN, FIXTURES, Artifact
from safetensors.numpy import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts/gpu_check"))
import programs  # noqa: E402

BATCH, SEQUENCE, HIDDEN, WIDE, HEADS, LAYERS = 2, 6, 48, 84, 40, 2
PARAMETERS = {"c_attn": (HEADS, HIDDEN), "o_proj": (HIDDEN, HEADS), "c_fc": (WIDE, HIDDEN),
              "c_proj": (HIDDEN, WIDE)}
WORST_FACTOR = {1: 1.5, 2: 1.5, 3: 2.0, 4: 2.0}
MEAN_FACTOR = 1.25


def program(t, changes=()):
    """The program in element type t; changes are pairs of old and new text."""
    def tensor(*shape, of=t):
        return "tensor<" + "".join(f"{size}x" for size in shape) + of + ">"
    x, q = tensor(BATCH, SEQUENCE, HIDDEN), tensor(BATCH, SEQUENCE, HEADS)
    a, given = tensor(BATCH, SEQUENCE, WIDE), tensor(BATCH, SEQUENCE, HIDDEN, of="f32")
    wa, wo, wf, wp = (tensor(*shape) for shape in PARAMETERS.values())
    b, w = tensor(WIDE), tensor(HIDDEN, HIDDEN)
    narrow, widen = ("arith.truncf", "arith.extf") if t != "f32" else ("", "")
    text = f"""
func.func @main(%given: {given} {{tp.name = "x"}}) -> ({given} {{tp.name = "y"}}, {given} {{tp.name = "z"}}) {{
  %x = {narrow} %given : {given} to {x}
  %third = arith.constant dense<0.3> : {x}
  %eight = arith.constant dense<8.0> : {x}
  %minus = arith.constant dense<-0.7> : {x}
  %five = arith.constant dense<5.0> : {q}
  %zero = arith.constant dense<0.0> : {a}
  %none = arith.constant dense<0.0> : {x}
  %h = tp.repeat {LAYERS} times iter(%x) : ({x}) -> {x} {{
  ^bb0(%i: index, %r: {x}):
    %wa = tp.parameter "h.{{i}}.c_attn.weight" : {wa}
    %wo = tp.parameter "h.{{i}}.o_proj.weight" : {wo}
    %wf = tp.parameter "h.{{i}}.c_fc.weight" : {wf}
    %bf = tp.parameter "h.{{i}}.c_fc.bias" : {b}
    %wp = tp.parameter "h.{{i}}.c_proj.weight" : {wp}
    // split by columns; a quotient, exact or not
    %0 = nn.linear %r, %wa : ({x}, {wa}) -> {q}
    %1 = arith.divf %0, %five : {q}
    // a sum over ranks, behind which relu stays
    %2 = nn.linear %1, %wo : ({q}, {wo}) -> {x}
    %3 = arith.divf %2, %eight : {x}
    %p = arith.maximumf %3, %none fastmath<nnan> : {x}
    %4 = arith.addf %p, %r : {x}
    %5 = nn.linear %4, %wf bias %bf : ({x}, {wf}, {b}) -> {a}
    %6 = arith.maximumf %5, %zero fastmath<nnan> : {a}
    %7 = nn.linear %6, %wp : ({a}, {wp}) -> {x}
    %8 = arith.mulf %7, %third : {x}
    %9 = arith.addf %4, %8 : {x}
    tp.yield %9 : {x}
  }}
  // On every rank alike.
  %w = tp.parameter "w" : {w}
  %v = tp.parameter "v" : {w}
  %10 = nn.linear %h, %w : ({x}, {w}) -> {x}
  %11 = arith.mulf %10, %minus : {x}
  %12 = arith.maximumf %none, %11 fastmath<nnan> : {x}
  %13 = nn.linear %12, %v : ({x}, {w}) -> {x}
  %14 = arith.mulf %third, %13 : {x}
  %15 = arith.addf %14, %h : {x}
  %16 = nn.linear %15, %w : ({x}, {w}) -> {x}
  %y = {widen} %15 : {x} to {given}
  %z = {widen} %16 : {x} to {given}
  return %y, %z : {given}, {given}
}}
"""
    if t == "f32":
        text = text.replace(f"  %x =  %given : {given} to {x}\n", "")
        text = text.replace(f"  %y =  %15 : {x} to {given}\n", "")
        text = text.replace(f"  %z =  %16 : {x} to {given}\n", "")
        text = text.replace("%x", "%given").replace("%y, %z", "%15, %16")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def to_bf16(values):
    bits = values.astype(numpy.float32).view(numpy.uint32).astype(numpy.uint64)
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16
    return bits.astype(numpy.uint32).view(numpy.float32).astype(numpy.float64)


ROUND = {"f32": lambda v: v.astype(numpy.float32).astype(numpy.float64),
         "bf16": to_bf16,
         "f16": lambda v: v.astype(numpy.float16).astype(numpy.float64)}


def reference(tensors, x, t, after):
    """{name: result}: operands in type t, `after` rounds what each operation makes."""
    held = {name: ROUND[t](value) for name, value in tensors.items()}
    number = {c: float(ROUND[t](numpy.array([c]))[0]) for c in (0.3, -0.7)}

    def linear(x, name, bias=0):
        return after(x @ held[name + ".weight"].T + bias)
    h = ROUND[t](x)
    held["w.weight"], held["v.weight"] = held["w"], held["v"]
    for i in range(LAYERS):
        place = f"h.{i}."
        q = after(linear(h, place + "c_attn") / 5)
        s = after(numpy.maximum(after(linear(q, place + "o_proj") / 8), 0) + h)
        a = numpy.maximum(linear(s, place + "c_fc", held[place + "c_fc.bias"]), 0)
        h = after(s + after(linear(a, place + "c_proj") * number[0.3]))
    z = numpy.maximum(after(linear(h, "w") * number[-0.7]), 0)
    y = after(after(linear(z, "v") * number[0.3]) + h)
    return {"y": y, "z": linear(y, "w")}


class Case:
    def __init__(self, folder, t, **options):
        random = numpy.random.default_rng(3)
        self.t, self.folder, self.options = t, folder, options
        shapes = {f"h.{i}.{name}.weight": shape for i in range(LAYERS)
                  for name, shape in PARAMETERS.items()}
        shapes |= {f"h.{i}.c_fc.bias": (WIDE,) for i in range(LAYERS)}
        shapes |= {"w": (HIDDEN, HIDDEN), "v": (HIDDEN, HIDDEN)}
        tensors = {name: random.normal(0, shape[-1] ** -0.5, shape).astype(numpy.float32)
                   for name, shape in shapes.items()}
        self.weights, self.inputs = folder / "weights", folder / "in.safetensors"
        self.weights.mkdir()
        save_file(tensors, self.weights / "model.safetensors")
        x = random.normal(0, 1, (BATCH, SEQUENCE, HIDDEN)).astype(numpy.float32)
        save_file({"x": x}, self.inputs)
        self.exact = reference(tensors, x, t, lambda v: v)
        self.rounded = reference(tensors, x, t, ROUND[t])
        self.made = 0

    def run(self, changes=(), **environment):
        self.made += 1
        folder = self.folder / str(self.made)
        folder.mkdir()
        model = folder / "program.mlir"
        model.write_text(program(self.t, changes))
        self.artifact = Artifact(folder, model, **self.options)
        return self.artifact.run(self.inputs, weights=self.weights, **environment)

    def is_right(self, outputs):
        for name, exact in self.exact.items():
            assert not numpy.isnan(outputs[name]).any()
            off, usual = outputs[name] - exact, self.rounded[name] - exact
            if self.t == "f32":
                right = numpy.abs(off).max() <= 2e-5 * numpy.abs(exact).max()
            else:
                worst = WORST_FACTOR[self.artifact.degree] * numpy.abs(usual).max()
                mean = MEAN_FACTOR * numpy.linalg.norm(usual)
                right = numpy.abs(off).max() <= worst and numpy.linalg.norm(off) <= mean
            if not right:
                return False
        return True


def gemms_of(artifact):
    """The table of the manifest."""
    data = (artifact.folder / "model.tpa").read_bytes()
    begin = data.index(b'{"abi"')
    return json.JSONDecoder().raw_decode(data[begin:].decode("latin-1"))[0]["gemms"]


@pytest.mark.parametrize("t", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("plan, degree", [("megatron", 1), ("megatron", 2), ("megatron", 3),
                                          ("megatron", 4), ("megatron-sp", 2),
                                          ("megatron-sp", 3)])
def test_epilogues(plan, degree, t, tmp_path):
    case = Case(tmp_path, t, plan=plan, degree=degree)
    assert case.is_right(case.run())


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("t", ["f32", "bf16"])
def test_what_is_formed(degree, t, tmp_path):
    case = Case(tmp_path, t, degree=degree)
    case.run()
    formed = sorted((g["activation"], round(g.get("scale", 1), 3), g["bias"], g["residual"])
                    for g in gemms_of(case.artifact))
    alone = degree == 1
    fifth = 0.2 if t == "bf16" else 1  # 1/5 is not exact
    assert formed == sorted([
        ("none", fifth, False, False), ("none", 0.125, False, False),
        ("relu", 1, True, False), ("none", 0.301 if t == "bf16" else 0.3, False, alone),
        ("relu", -0.699 if t == "bf16" else -0.7, False, False),
        ("none", 0.301 if t == "bf16" else 0.3, False, True), ("none", 1, False, False)])


@pytest.mark.parametrize("t", ["f32", "bf16"])
@pytest.mark.parametrize("change", [
    ("dense<0.3>", "dense<0.33>"), ("dense<8.0>", "dense<4.0>"), ("dense<5.0>", "dense<4.0>"),
    ("maximumf %3", "addf %3"), ("maximumf %5", "addf %5"), ("maximumf %none", "addf %none"),
    ("%15 = arith.addf %14", "%15 = arith.subf %14")])
def test_fault_shows(change, t, tmp_path):
    case = Case(tmp_path, t, degree=2)
    assert not case.is_right(case.run([change]))


@pytest.mark.parametrize("fixture, key, degree", [("gpt2", "activation_function", 2),
                                                  ("bert", "hidden_act", 1)])
def test_imported_relu(fixture, key, degree, tmp_path):
    """A model whose config says relu, which keeps NaN: a row kernel computes it, as on the host."""
    model = tmp_path / "model"
    shutil.copytree(FIXTURES / fixture, model)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, key: "relu"}))
    facts = json.loads((model / "fixture.json").read_text())
    sizes = {"batch": facts["batch"], "seq": facts["seq"], "dtype": "f32"}
    artifact = Artifact(tmp_path, model, degree=degree, **sizes)
    assert not [g for g in gemms_of(artifact) if g["activation"] == "relu"]
    outputs = artifact.run(model / "inputs.safetensors")
    subprocess.run([BIN / "tp-compile", model, "--target=cpu", "-o", tmp_path / "host.tpa",
                    *(f"--{name}={value}" for name, value in sizes.items())], check=True,
                   capture_output=True)
    subprocess.run([BIN / "tp-run", tmp_path / "host.tpa", "--weights", model, "--input",
                    model / "inputs.safetensors", "--output", tmp_path / "host.safetensors"],
                   check=True)
    expected = load_file(tmp_path / "host.safetensors")
    gelu = load_file(model / "expected.safetensors")
    for name, want in expected.items():
        largest = numpy.abs(want).max()
        assert numpy.abs(outputs[name] - want).max() <= 2e-5 * largest
        assert numpy.abs(gelu[name] - want).max() > 1e-3 * largest


@pytest.mark.parametrize("t", programs.TYPES)
def test_program_for_a_card(t, tmp_path):
    """The program by which a card's library is asked, among others whether NaN is kept."""
    program = programs.program("gemm", t)
    model, inputs = tmp_path / "gemm.mlir", tmp_path / "in.safetensors"
    model.write_text(program.text())
    random = numpy.random.default_rng(1)
    values = {}
    for name, (shape, _) in program.inputs.items():
        value = random.normal(0, 0.7, shape).astype(numpy.float32)
        values[name] = numpy.full_like(value, numpy.nan) if name.startswith("nan") else value
    save_file(values, inputs)
    artifact = Artifact(tmp_path, model)
    activations = [(g["activation"], g.get("scale", 1) != 1, g["bias"], g["residual"])
                   for g in gemms_of(artifact)]
    assert not [form for form in activations if form[0] == "relu"]
    for form in (("none", False, True, False), ("none", True, False, False),
                 ("none", True, False, True)):
        assert activations.count(form) == len(programs.PRODUCTS), activations
    outputs = artifact.run(inputs, weights="random:1")
    values = {name: ROUND[t](value) for name, value in values.items()}
    factor = float(ROUND[t](numpy.array([0.3]))[0])
    for i in range(len(programs.PRODUCTS)):
        y = {form: values[f"x_{form}{i}"] @ values[f"w{i}"].T for form in programs.GEMM_FORMS}
        expected = {"relu": numpy.maximum(y["relu"], 0), "scaled": y["scaled"] * factor,
                    "biased": numpy.maximum(y["biased"] + values[f"b{i}"], 0),
                    "sum": y["sum"] * factor + values[f"r{i}"],
                    "both": numpy.maximum(y["both"] * factor, 0),
                    "kept": numpy.ones_like(y["relu"])}
        for name, want in expected.items():
            off = numpy.abs(outputs[f"{name}{i}"] - want).max() / numpy.abs(want).max()
            assert off <= {"f32": 2e-5, "bf16": 2 ** -7, "f16": 2 ** -10}[t], name
