"""What is refused of quantised checkpoints: by the key that says it, or by the tensor.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import random
import subprocess

import numpy
import pytest
import quantised
from safetensors.numpy import save_file

import tp_mlir
from tp_mlir import _tools

SEED = 20261127
GROUP = "quantization_config.config_groups.group_0"


def refusal(folder):
    with pytest.raises(tp_mlir.InputError) as caught:
        tp_mlir.compile(folder, seq=4, dtype="f32")
    return str(caught.value)


def changed(base, path, value):
    """`base` with the value at a path of keys."""
    made = json.loads(json.dumps(base))
    at = made
    *lead, last = path
    for key in lead:
        at = at[key]
    at[last] = value
    return made


INT4 = quantised.FORMATS["int4-g16"][0]
INT8 = quantised.RECIPES["int8-token"][0]
GPTQ = quantised.FORMATS["gptq"][0]
FP8 = quantised.FORMATS["fp8-blocks"][0]
WEIGHTS = ("config_groups", "group_0", "weights")
INPUTS = ("config_groups", "group_0", "input_activations")
KEYS = [
    (INT4, ("ignore",), ["lm_head", 3],
     "unsupported entry 3 of quantization_config.ignore: it is no string"),
    (INT4, (*WEIGHTS, "strategy"), "row",
     f'unsupported {GROUP}.weights.strategy "row"; expected "tensor", "channel", "group" or "block"'),
    (INT4, (*WEIGHTS, "actorder"), "column",
     f'unsupported {GROUP}.weights.actorder "column"; expected "group" or "weight"'),
    (INT4, (*WEIGHTS, "dynamic"), True,
     "weights that are quantised at run time are not supported"),
    (INT4, (*WEIGHTS, "scale_dtype"), "torch.uint8",
     f'unsupported {GROUP}.weights.scale_dtype "torch.uint8" in format "pack-quantized"; expected '
     'null or "torch.bfloat16"'),
    (INT4, ("format",), "marlin-24",
     'unsupported compressed-tensors format "marlin-24"; expected "pack-quantized", '),
    (INT4, ("config_groups", "group_0", "output_activations"), {"num_bits": 8},
     "results that are quantised are not supported"),
    (INT4, ("config_groups", "group_0"), 3,
     f"unsupported {GROUP} 3: expected an object with targets and weights"),
    (INT4, ("config_groups",), {},
     "expected quantization_config.config_groups to be an object of groups"),
    (changed(INT8, (*WEIGHTS, "type"), "float"), (*WEIGHTS, "symmetric"), False,
     f'unsupported {GROUP}.weights.symmetric false of type "float"; expected true'),
    (INT8, (*INPUTS, "symmetric"), False, f"{GROUP}.input_activations.symmetric: expected true, "
     "got false"),
    (INT8, (*INPUTS, "strategy"), "channel",
     '.strategy: expected "token", "group", or "tensor" that is not dynamic, got "channel"'),
    (INT8, (*INPUTS, "dynamic"), False,
     '.input_activations.dynamic: expected true of strategy "token", got false'),
    (INT8, (*INPUTS, "scale_dtype"), "torch.uint8", f"{GROUP}.input_activations.scale_dtype: "
     'expected null or a float type of at least 16 bits, got "torch.uint8"'),
    (FP8, ("is_checkpoint_fp8_serialized",), False,
     "weights that are quantised when they are loaded are not supported"),
    (GPTQ, ("pack_dtype",), "int16", "other words are not supported"),
]


@pytest.mark.parametrize("base, path, value, message", KEYS, ids=lambda value: "")
def test_keys(tmp_path, base, path, value, message):
    """Nothing of the configuration is passed over."""
    config = quantised.config() | {"quantization_config": changed(base, path, value)}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert message in refusal(tmp_path)


def rewritten(folder, change):
    """The checkpoint with its tensors, e4m3 apart, changed in place."""
    path = folder / "model.safetensors"
    tensors = {name: numpy.array(value) for name, value in quantised.read(path).items()}
    change(tensors)
    save_file(tensors, path)


LAYER = "model.layers.0.mlp.down_proj"


def test_type(tmp_path):
    folder, _ = quantised.write(tmp_path, "int4-g16", SEED)

    def narrow(tensors):
        tensors[f"{LAYER}.weight_packed"] = tensors[f"{LAYER}.weight_packed"].astype(numpy.int64)

    rewritten(folder, narrow)
    assert f'tensor "{LAYER}.weight_packed": expected dtype I32 from quantization_config, got ' \
        "I64" in refusal(folder)


def test_order(tmp_path):
    """desc_act is false and the files have an order."""
    folder, _ = quantised.write(tmp_path, "gptq", SEED)
    rewritten(folder, lambda tensors: tensors[f"{LAYER}.g_idx"].put(3, 1))
    assert f'tensor "{LAYER}.g_idx": expected input 3 in group 0, for desc_act is false, got 1' \
        in refusal(folder)


def test_bound(tmp_path):
    """A layer's bound of magnitudes that is not the configuration's."""
    folder, _ = quantised.write(tmp_path, "fbgemm", SEED, recipes=True)
    path = folder / "model.safetensors"
    bound = {f"{LAYER}.input_scale_ub": numpy.array([3], numpy.float32)}
    tensors = quantised.read(path)
    save_file(tensors | bound, path)
    quantised.relabel(path, [name for name, value in tensors.items() if value.dtype == numpy.uint8])
    assert f'tensor "{LAYER}.input_scale_ub": expected ' in refusal(folder)
    assert ", which is activation_scale_ub of quantization_config, got " in refusal(folder)


def test_no_such_group(tmp_path):
    """An order that names a group that is not there."""
    folder, _ = quantised.write(tmp_path, "gptq-order", SEED)
    rewritten(folder, lambda tensors: tensors[f"{LAYER}.g_idx"].put(3, 5))
    program = tp_mlir.compile(folder, seq=4, dtype="f32")
    with pytest.raises(tp_mlir.InputError, match=f"'.*': tensor '{LAYER}.g_idx': 5 does not fit "
                                                 "what it is read as"):
        program.run(folder, {"input_ids": numpy.array([[1, 2, 3, 4]])})


def test_scales_are_finite(tmp_path):
    folder, _ = quantised.write(tmp_path, "int4-g16", SEED)
    program = tp_mlir.compile(folder, seq=4, dtype="f32")
    rewritten(folder, lambda tensors: tensors[f"{LAYER}.weight_scale"].put(7, numpy.inf))
    with pytest.raises(tp_mlir.InputError, match=f"'.*': tensor '{LAYER}.weight_scale': expected "
                                                 "finite scales, got inf"):
        program.run(folder, {"input_ids": numpy.array([[1, 2, 3, 4]])})


# Keys that say how a checkpoint was made, or what other programs do with it.
SILENT = {"observer", "observer_kwargs", "quantization_status", "version", "sym", "group_size"}
# Any name is one, and what becomes of a cache is said in a remark.
NAMES = {"targets", "ignore", "modules_to_not_convert", "exclude_modules", "kv_cache_scheme",
         "kv_cache_quant_algo"}


def leaves(value, path=()):
    """The paths of all that an object holds, and of itself."""
    yield path
    children = (value.items() if isinstance(value, dict)
                else enumerate(value) if isinstance(value, list) else ())
    for key, child in children:
        yield from leaves(child, (*path, key))


def replaced(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(copy[path[0]], path[1:], new)
    return copy


def imported(folder, recipe):
    """(exit code, what it said) of a config.json alone."""
    quantised.save(folder, quantised.config(), {"x": numpy.zeros(1, numpy.float32)}, recipe)
    (folder / "model.safetensors").unlink()
    done = subprocess.run([_tools.find("tp-import"), folder], capture_output=True, text=True,
                          timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_mutated_configs(tmp_path):
    """No config crashes, a key that nobody knows is refused, and a value that is nonsense is refused
    or in a key that changes nothing."""
    chance = random.Random(SEED)
    recipes = {json.dumps(row[0]) for row in (quantised.FORMATS | quantised.RECIPES).values()}
    for number, text in enumerate(sorted(recipes)):
        recipe = json.loads(text)
        inner = "quantization" if "producer" in recipe else None
        known = recipe[inner] if inner else recipe
        code, _, said = imported(tmp_path / f"{number}", recipe | (
            {inner: known | {"odd_key": 1}} if inner else {"odd_key": 1}))
        assert code == 1 and "odd_key" in said, f"{recipe}: {said}"
        paths = [path for path in leaves(known) if path]
        for path in chance.sample(paths, min(4, len(paths))):
            new = chance.choice(["nonsense", -7, [None], {"a": {}}, 1e300, True])
            changed = replaced(known, path, new)
            code, program, said = imported(
                tmp_path / f"{number}", recipe | {inner: changed} if inner else changed)
            where = f"{path} = {new!r} in {recipe}, seed {SEED}: {said}"
            assert code in (0, 1) and (program or "error:" in said), where
            silent = (SILENT | NAMES) & set(map(str, path)) or new is True or (
                "input_activations" in path and '"num_bits": 4, "type": "float"' in text)
            assert code == 1 or silent, where
