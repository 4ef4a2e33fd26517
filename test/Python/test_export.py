"""Programs exported from PyTorch, without PyTorch: they run as PyTorch did, on one, two and four
ranks. And the parts of the front end that know nothing of it.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import collections
import importlib.util
import json
import os
import random

import exports
import numpy
import pytest
from safetensors.numpy import load_file, save_file

import tp_mlir
from tp_mlir import _tools
from tp_mlir.export import Exported, _bands, _text, _views
from tp_mlir.export._exported import ExportedProgram

FACTS = exports.facts()


@pytest.mark.parametrize("name", FACTS)
def test_fixture(name, tmp_path):
    facts = FACTS[name]
    (tmp_path / "plan.json").write_text(json.dumps(facts["plan"]))
    save_file(exports.weights(facts["weights"]), tmp_path / "model.safetensors")
    want, = load_file(exports.FOLDER / f"{name}.safetensors").values()
    tp_mlir.verify(exports.FOLDER / f"{name}.mlir", mesh="tp=2", plan=tmp_path / "plan.json",
                   stages="partition")
    for degree in exports.DEGREES:
        program = tp_mlir.compile(exports.FOLDER / f"{name}.mlir", mesh=f"tp={degree}",
                                  plan=tmp_path / "plan.json")
        timeline = tmp_path / "timeline.json"
        ours, = program.run(tmp_path / "model.safetensors", exports.inputs(facts["inputs"]),
                            timeline=timeline).values()
        # Of two layers on each rank, in a loop or written out.
        assert attention_layers(timeline) == degree * [0] + degree * [1]
        if "error" in facts:
            # bf16: PyTorch's own errors, both against f32 (Integration/reference.py says why 1.25).
            assert numpy.linalg.norm(ours - want) <= 1.25 * facts["error"]
        else:
            assert numpy.abs(ours - want).max() <= 2e-5 * numpy.abs(want).max()
        if degree > 1:
            # Nothing else: no gather inside a layer, also of fused projections, where heads fit.
            totals = program.explain().totals
            assert {kind: total["count"] for kind, total in totals.items()} == (
                facts["collectives"][str(degree)])


# Exports that a greedy search makes sense of: a draw by SEED, or all with EXPORTS=all.
CAUSAL = [name for name, facts in FACTS.items()
          if list(facts["inputs"]) == ["input_ids"] or name.endswith("_mask")]
SEED = int(os.environ.get("SEED", "1"))
DRAWN = CAUSAL if os.environ.get("EXPORTS") == "all" else random.Random(SEED).sample(CAUSAL, 5)


def made(name, folder, degree, **options):
    """The program of a fixture, with its weights beside it."""
    facts = FACTS[name]
    (folder / "plan.json").write_text(json.dumps(facts["plan"]))
    save_file(exports.weights(facts["weights"]), folder / "model.safetensors")
    return tp_mlir.compile(exports.FOLDER / f"{name}.mlir", mesh=f"tp={degree}",
                           plan=folder / "plan.json", **options)


@pytest.mark.parametrize("name", DRAWN)
def test_generates(name, tmp_path):
    """Steps that are derived say what the forward program says, whatever is computed together."""
    print(f"SEED={SEED}")
    draw = random.Random(f"{SEED}{name}")
    batch, length = FACTS[name]["inputs"]["input_ids"]
    prompts = [[draw.randrange(3, 92) for _ in range(draw.randrange(1, 10))] for _ in range(4)]
    program = made(name, tmp_path, draw.choice(exports.DEGREES), generate=True, context=length,
                   rows=3, chunk=4)
    with tp_mlir.LLM(tmp_path, program=program.path) as llm:
        answers = llm.generate(prompts, max_tokens=5)
    tolerance = 2e-2 if name.endswith("bf16") else 2e-5
    with made(name, tmp_path, 1).open(tmp_path / "model.safetensors") as forward:
        for prompt, answer in zip(prompts, answers):
            assert len(answer.ids) == 5
            # No position sees what comes after it: one run has all of them.
            ids = numpy.zeros((batch, length), numpy.int64)
            ids[0, :len(prompt) + 5] = [*prompt, *answer.ids]
            real = {key: numpy.ones_like(ids) for key in FACTS[name]["inputs"]}
            logits, = forward.run(real | {"input_ids": ids}).values()
            for place, chosen in enumerate(answer.ids, len(prompt) - 1):
                row = logits[0, place]
                assert row[chosen] >= row.max() - tolerance * numpy.abs(row).max()


@pytest.mark.parametrize("name", DRAWN)
def test_trains(name, tmp_path):
    """The gradient is the loss's derivative along a random direction, on any number of ranks."""
    print(f"SEED={SEED}")
    draw = numpy.random.default_rng([SEED, len(name)])
    facts = FACTS[name]
    program = made(name, tmp_path, int(draw.choice(exports.DEGREES)), train="adamw")
    inputs = exports.inputs(facts["inputs"])
    inputs["targets"] = draw.integers(3, 92, facts["inputs"]["input_ids"])
    inputs["targets"][0, 0] = -100
    weights = exports.weights(facts["weights"])
    loss, gradients = program.gradients(tmp_path / "model.safetensors", inputs)
    assert set(gradients) <= set(weights)
    if name.endswith("bf16"):
        # Rounded weights have no derivative that differences could find.
        assert all(numpy.isfinite(gradient).all() for gradient in gradients.values())
        return
    way = {key: draw.standard_normal(value.shape).astype(numpy.float32)
           for key, value in gradients.items()}
    slope = sum(float((gradients[key].astype(numpy.float64) * way[key]).sum()) for key in way)
    size, ends = 2e-4, []
    for sign in (1, -1):
        save_file({key: value + numpy.float32(sign * size) * way[key] if key in way else value
                   for key, value in weights.items()}, tmp_path / "moved.safetensors")
        ends.append(program.gradients(tmp_path / "moved.safetensors", inputs)[0])
    # Differences of f32 losses, and of higher orders; experts, and kinks, may change.
    norm = numpy.sqrt(sum(float((gradient ** 2).sum()) for gradient in gradients.values()))
    assert abs((ends[0] - ends[1]) / (2 * size) - slope) <= 5e-2 * norm + 2e-3


def test_saves_under_the_names_of_the_module(tmp_path):
    """What is trained and saved is the module's state again, fused and transposed as it was."""
    program = made("gpt2", tmp_path, 2, train="sgd")
    exported = Exported("", {}, {}, [], {}, {})
    trained = ExportedProgram(program, exported)
    shape = FACTS["gpt2"]["inputs"]["input_ids"]
    rows = numpy.random.default_rng(1).integers(3, 92, (shape[0], shape[1] + 1))
    with trained.train(tmp_path / "model.safetensors", lr=0.5, weight_decay=0.0) as trainer:
        before = trainer.evaluate(rows)[0]
        trainer.step(rows)
        assert trainer.evaluate(rows)[0] < before
        trainer.save(tmp_path / "trained")
    saved, weights = load_file(tmp_path / "trained" / "model.safetensors"), (
        exports.weights(FACTS["gpt2"]["weights"]))
    assert {name: value.shape for name, value in saved.items()} == {
        name: value.shape for name, value in weights.items()}
    assert any(not numpy.array_equal(saved[name], weights[name]) for name in saved)


def attention_layers(timeline):
    """The layer of each event of an attention."""
    return sorted(event["args"]["layer"] for event in json.loads(timeline.read_text())["traceEvents"]
                  if event.get("cat") == "attention")


def operations(path):
    """What a program is made of: kernels by what they compute, products and attentions."""
    manifest = json.loads(_tools.run("tp-inspect", [path, "--json"]))["manifest"]
    kernels = collections.Counter(kernel["name"].partition(" ")[2] for kernel in manifest["kernels"])
    for part in manifest["attentions"]:
        part["scale"] = round(part["scale"], 12)
    return kernels, *(sorted(json.dumps(dict(part, id=0)) for part in manifest[kind])
                      for kind in ("gemms", "attentions"))


@pytest.mark.parametrize("name", [path.stem for path in sorted(exports.IMPORTED.glob("*.mlir"))])
def test_exported_beside_imported(name, tmp_path):
    """The same ledger and the same kernels, whichever way a model came."""
    fixture = exports.FOLDER.parents[1] / "fixtures" / name
    for degree in (1, 2):
        exported = tp_mlir.compile(exports.IMPORTED / f"{name}.mlir", tmp_path / "exported.tpa",
                                   mesh=f"tp={degree}", plan=exports.IMPORTED / f"{name}.json")
        imported = tp_mlir.compile(fixture, tmp_path / "imported.tpa", mesh=f"tp={degree}",
                                   seq=exports.SEQUENCE)
        assert exported.explain().totals == imported.explain().totals
        assert bool(exported.explain().totals) == (degree > 1)
        assert operations(exported.path) == operations(imported.path)


def test_fixtures_are_small():
    files = [*exports.FOLDER.glob("*.*"), *exports.IMPORTED.iterdir()]
    assert len(FACTS) >= 35 and sum(file.stat().st_size for file in files) < 1_150_000


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is installed")
def test_without_torch():
    with pytest.raises(ImportError,
                       match=r"torch is not installed; pip install './python\[export\]'"):
        tp_mlir.export(None)


# -- views: the same as NumPy's operations on arrays

def materialise(view, array):
    """What is seen of `array`, by the view's definition."""
    result = numpy.empty(view.shape, array.dtype)
    for position in numpy.ndindex(*view.shape):
        index = [0] * len(view.tensor)
        for coordinate, dim in zip(position, view.dims):
            for atom in reversed(dim):
                if atom.axis is not None:
                    index[atom.axis] = coordinate % atom.size
                coordinate //= atom.size
        result[position] = array[tuple(index)]
    return result


def factorise(rng, size):
    """A random shape with that many elements."""
    shape = []
    while size > 1:
        part = rng.choice([n for n in range(2, size + 1) if size % n == 0])
        shape.append(part)
        size //= part
        if rng.random() < 0.3:
            shape.append(1)
    return tuple(shape)


@pytest.mark.parametrize("seed", range(60))
def test_views_are_arrays(seed):
    rng = random.Random(seed)
    tensor = numpy.arange(24).reshape(rng.choice([(24,), (2, 3, 4), (1, 4, 6), (6, 1, 2, 2)]))
    view, want = _views.View.of(tensor.shape), tensor
    for _ in range(6):
        action = rng.choice(["permute", "insert", "expand", "reshape"])
        if action == "permute":
            order = rng.sample(range(want.ndim), want.ndim)
            view, want = view.permute(order), want.transpose(order)
        elif action == "insert":
            at = rng.randint(0, want.ndim)
            view, want = view.insert(at), numpy.expand_dims(want, at)
        elif action == "expand" and want.size < 200:
            shape = tuple(3 if n == 1 and rng.random() < 0.5 else n for n in want.shape)
            view, want = view.expand(shape), numpy.broadcast_to(want, shape)
        elif action == "reshape":
            shape = factorise(rng, want.size)
            while True:
                found = view.reshape(shape)
                if not isinstance(found, tuple):
                    break
                axis, outer = found
                view = view.split(axis, outer)
                split = tensor.shape[:axis] + (outer, tensor.shape[axis] // outer)
                tensor = tensor.reshape(split + tensor.shape[axis + 1:])
            if found is None:
                continue
            view, want = found, want.reshape(shape)
        assert view.shape == want.shape
        assert (materialise(view, tensor) == want).all()
        if view.is_ordered:
            assert (tensor.reshape(view.shape) == want).all()


def test_repeated_heads_are_a_view():
    keys = _views.View.of((1, 5, 2, 8)).permute((0, 2, 1, 3))
    repeated = keys.insert(2).expand((1, 2, 3, 5, 8)).reshape((1, 6, 5, 8))
    assert repeated.dims[1] == (_views.Atom(2, 2), _views.Atom(None, 3))


def test_refine():
    assert _views.refine([(6,), (2, 3)]) == (2, 3)
    assert _views.refine([(2, 6), (4, 3)]) == (2, 2, 3)
    assert _views.refine([(2, 3), (3, 2)]) is None
    assert _views.refine([]) == ()


# -- masks

@pytest.mark.parametrize("queries,keys", [(5, 5), (3, 7), (6, 2), (1, 4), (4, 1)])
def test_bands(queries, keys):
    for low in [None, *range(-queries, keys + 1)]:
        for high in [None, *range(-queries, keys + 1)]:
            seen = _bands.Band(low, high).positions(queries, keys)
            found = _bands.find_band(seen)
            if seen.any():
                assert (found.positions(queries, keys) == seen).all()
            else:
                assert found is None


def test_no_band():
    seen = _bands.Band(None, 0).positions(4, 4)
    seen[3, 1] = False
    assert _bands.find_band(seen) is None


def test_band_as_attention():
    assert _bands.Band(None, None).as_attention(4, 4) == (False, None)
    assert _bands.find_band(numpy.tri(4, 4, dtype=bool)).as_attention(4, 4) == (True, None)
    assert _bands.Band(-2, 0).as_attention(8, 8) == (True, 3)
    assert _bands.Band(-2, 2).as_attention(8, 8) == (False, 4)  # an encoder's window
    assert _bands.Band(1, 5).as_attention(4, 7) == (False, 4)
    assert _bands.Band(0, 0).as_attention(8, 8) == (True, 1)
    assert _bands.Band(-2, 3).as_attention(8, 8) is None        # further to one side
    assert _bands.Band(None, 3).as_attention(4, 7) == (True, None)
    assert _bands.Band(None, 0).as_attention(4, 7) is None      # the first keys alone


# -- text

def test_numbers():
    assert _text.number(0.1, "f32") == "1.000000015e-01"
    assert _text.number(float("-inf"), "bf16") == "0xFF80"
    assert _text.number(-3.4028234663852886e38, "f32") == "-3.402823466e+38"
    assert _text.number(-3.4028234663852886e38, "f16") == "0xFC00"
    assert _text.number(float("nan"), "f32") == "0x7FC00000"
    assert _text.number(1, "i1") == "true" and _text.number(-1, "i64") == "-1"


@pytest.mark.parametrize("seed", range(40))
def test_reassociation(seed):
    rng = random.Random(seed)
    wide = tuple(rng.choice([1, 2, 3]) for _ in range(rng.randint(1, 6)))
    cuts = sorted(rng.sample(range(1, len(wide)), rng.randint(0, len(wide) - 1)))
    bounds = [0, *cuts, len(wide)]
    narrow = tuple(int(numpy.prod(wide[a:b])) for a, b in zip(bounds, bounds[1:]))
    groups = _text.reassociation(narrow, wide)
    if groups is None:
        return      # ones may go to either side; the emitter then goes by way of a third shape
    assert [i for group in groups for i in group] == list(range(len(wide)))
    assert all(int(numpy.prod([wide[i] for i in group])) == size and group
               for size, group in zip(narrow, groups))


def test_reassociation_of_ones():
    assert _text.reassociation((1, 16, 64), (1, 16, 4, 16)) == [[0], [1], [2, 3]]
    assert _text.reassociation((16, 64), (1, 16, 64)) == [[0, 1], [2]]
    assert _text.reassociation((6,), (4, 2)) is None
