"""What tp-quantize writes in the place of a weight, by format.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A format says which tensors stand for `NAME.weight` of [N, K] and makes those of some rows; its
`scheme` is the weights' part of quantization_config, as the package compressed-tensors has it.
Scales are rounded to the type that they are stored in first, so that values are the nearest to
what a reader multiplies.
"""

import math

import numpy

from . import _codes

#: Bytes of the element types of safetensors that are read and written.
BYTES = {"F32": 4, "F16": 2, "BF16": 2, "I32": 4, "I64": 8, "U8": 1, "F8_E4M3": 1}


def _stored(scales, dtype):
    """Scales as `dtype` has them: what is written, and their values in f32."""
    if dtype == "BF16":
        bits = _codes.f32_to_bf16(scales)
        return bits, _codes.bf16_to_f32(bits)
    stored = scales.astype(numpy.float16 if dtype == "F16" else numpy.float32)
    return stored, stored.astype(numpy.float32)


def _divide(values, scales):
    """values / scales, 0 where a scale is 0: all it belongs to is 0 too, or rounds to it."""
    with numpy.errstate(divide="ignore", invalid="ignore"):
        return numpy.where(scales == 0, numpy.float32(0), values / scales)


class _Integers:
    """Symmetric integers, packed into i32 with their zero point in the middle."""

    layout = "pack-quantized"
    block = 1  #: rows whose scales are made together

    def __init__(self, bits, group):
        self.bits, self.group = bits, group
        self.scheme = {"num_bits": bits, "type": "int", "symmetric": True,
                       "strategy": "group" if group else "channel", "group_size": group}

    def refuses(self, shape):
        if self.group and shape[1] % self.group:
            return f"expected inputs in multiples of {self.group}, the size of a group"
        return None

    def tensors(self, shape, dtype):
        rows, columns = shape
        return {"weight_packed": ("I32", [rows, -(-columns * self.bits // 32)]),
                "weight_scale": (dtype, [rows, columns // self.group if self.group else 1]),
                "weight_shape": ("I64", [2])}

    def encode(self, values, dtype, shape):
        """Parts of the tensors that rows [n, K] of f32 become."""
        groups = values.reshape(len(values), -1, self.group or values.shape[1])
        least, most = -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        largest = numpy.abs(groups).max(axis=2, keepdims=True)
        stored, scales = _stored(largest / numpy.float32((most - least) / 2), dtype)
        codes = numpy.clip(numpy.rint(_divide(groups, scales)), least, most) - least
        return {"weight_packed": _codes.pack_bits(
                    codes.astype(numpy.uint32).reshape(values.shape), self.bits),
                "weight_scale": stored[:, :, 0]}

    def whole(self, shape):
        """Tensors that do not grow with the rows."""
        return {"weight_shape": numpy.array(shape, numpy.int64)}


class _Fp8:
    """e4m3, with a scale for each row or each block of 128 x 128; those at the edges are cut."""

    layout = "float-quantized"

    def __init__(self, size):
        self.size, self.block = size, size or 1
        self.scheme = {"num_bits": 8, "type": "float", "symmetric": True,
                       "strategy": "block" if size else "channel", "group_size": None}
        if size:
            self.scheme["block_structure"] = [size, size]

    def refuses(self, shape):
        return None

    def tensors(self, shape, dtype):
        scales = [-(-length // self.size) for length in shape] if self.size else [shape[0], 1]
        return {"weight": ("F8_E4M3", list(shape)), "weight_scale": ("F32", scales)}

    def encode(self, values, dtype, shape):
        rows, columns = values.shape
        height, width = (self.size, self.size) if self.size else (1, columns)
        down, across = -(-rows // height), -(-columns // width)
        padded = numpy.zeros((down * height, across * width), numpy.float32)
        padded[:rows, :columns] = numpy.abs(values)
        largest = padded.reshape(down, height, across, width).max(axis=(1, 3))
        scales = largest / numpy.float32(_codes.E4M3_MOST)
        each = numpy.repeat(numpy.repeat(scales, height, 0)[:rows], width, 1)[:, :columns]
        return {"weight": _codes.encode_e4m3(_divide(values, each)), "weight_scale": scales}

    def whole(self, shape):
        return {}


class _Mxfp4:
    """e2m1 in groups of 32 with a power of two each: of the one that the largest magnitude asks
    for and the next, the one with the smaller error."""

    layout, block, group = "mxfp4-pack-quantized", 1, 32
    scheme = {"num_bits": 4, "type": "float", "symmetric": True, "strategy": "group",
              "group_size": 32, "scale_dtype": "torch.uint8"}

    def refuses(self, shape):
        return None if shape[1] % 32 == 0 else \
            "expected inputs in multiples of 32, the size of a group"

    def tensors(self, shape, dtype):
        rows, columns = shape
        return {"weight_packed": ("U8", [rows, columns // 2]),
                "weight_scale": ("U8", [rows, columns // 32])}

    def encode(self, values, dtype, shape):
        groups = values.reshape(len(values), -1, 32)
        largest = numpy.abs(groups).max(axis=2)
        # frexp: largest = f * 2^e with f in [0.5, 1); 4 is the last power of two of e2m1.
        least = numpy.clip(numpy.frexp(largest)[1] - 3, -127, 126)

        def attempt(exponents):
            scale = numpy.ldexp(numpy.float64(1), exponents)[..., None]
            codes = _codes.encode_e2m1((groups / scale).astype(numpy.float32))
            error = ((_codes.e2m1_values(codes) * scale - groups) ** 2).sum(axis=2)
            return codes, error

        (low, low_error), (high, high_error) = attempt(least), attempt(least + 1)
        takes_high = high_error < low_error
        codes = numpy.where(takes_high[..., None], high, low).reshape(values.shape)
        return {"weight_packed": codes[:, ::2] | codes[:, 1::2] << 4,
                "weight_scale": (least + takes_high + 127).astype(numpy.uint8)}

    def whole(self, shape):
        return {}


FORMATS = {"int4-g128": _Integers(4, 128), "int4-g32": _Integers(4, 32),
           "int8": _Integers(8, None), "fp8-block": _Fp8(128), "fp8-channel": _Fp8(None),
           "mxfp4": _Mxfp4()}


def sizes(tensors):
    """Bytes of each of a dict of (type, shape)."""
    return {name: BYTES[dtype] * math.prod(shape) for name, (dtype, shape) in tensors.items()}
