"""What is refused of quantised checkpoints: by the key that says it, or by the tensor.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json

import numpy
import pytest
import quantised
from safetensors.numpy import save_file

import tp_mlir

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
     f'unsupported {GROUP}.weights.strategy "row"; expected "tensor", "channel", "group" or '
     '"block"'),
    (INT4, (*WEIGHTS, "actorder"), "column",
     f'unsupported {GROUP}.weights.actorder "column"; expected "group" or "weight"'),
    (INT4, (*WEIGHTS, "dynamic"), True,
     "weights that are quantised at run time are not supported"),
    (INT4, (*WEIGHTS, "scale_dtype"), "torch.uint8",
     "scales of a type of their own are not supported"),
    (INT4, (*WEIGHTS, "zp_dtype"), "torch.int32",
     "zero points of a type of their own are not supported"),
    (INT4, ("format",), "marlin-24",
     'unsupported compressed-tensors format "marlin-24"; expected "pack-quantized", '
     '"int-quantized", "float-quantized" or "naive-quantized"'),
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
    (INT8, (*INPUTS, "strategy"), "channel", f'{GROUP}.input_activations.strategy: expected '
     '"token", "group", or "tensor" that is not dynamic, got "channel"'),
    (INT8, (*INPUTS, "dynamic"), False, f'{GROUP}.input_activations.dynamic: expected true of '
     'strategy "token", got false'),
    (INT8, (*INPUTS, "scale_dtype"), "torch.uint8",
     "scales of a type of their own are not supported"),
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


def test_no_such_group(tmp_path):
    """An order that names a group that is not there."""
    folder, _ = quantised.write(tmp_path, "gptq-order", SEED)
    rewritten(folder, lambda tensors: tensors[f"{LAYER}.g_idx"].put(3, 5))
    program = tp_mlir.compile(folder, seq=4, dtype="f32")
    with pytest.raises(tp_mlir.InputError, match=f"tensor '{LAYER}.g_idx': 5 does not fit"):
        program.run(folder, {"input_ids": numpy.array([[1, 2, 3, 4]])})


def test_scales_are_finite(tmp_path):
    folder, _ = quantised.write(tmp_path, "int4-g16", SEED)
    program = tp_mlir.compile(folder, seq=4, dtype="f32")
    rewritten(folder, lambda tensors: tensors[f"{LAYER}.weight_scale"].put(7, numpy.inf))
    with pytest.raises(tp_mlir.InputError, match=f"tensor '{LAYER}.weight_scale': expected finite "
                                                 "scales, got inf"):
        program.run(folder, {"input_ids": numpy.array([[1, 2, 3, 4]])})
