"""The numbers of quantised formats, to and from f32, by numpy.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

All rounding is to nearest, ties to even.
"""

import numpy

#: The largest numbers of e4m3 and e2m1.
E4M3_MOST, E2M1_MOST = 448.0, 6.0


def bf16_to_f32(bits):
    """u16 bits to f32 of the same shape."""
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def f32_to_bf16(values):
    """f32 to the u16 bits of the nearest bf16; no NaN may be among them."""
    bits = numpy.ascontiguousarray(values, numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)


def _encode_float(values, most, mantissa_bits, bias):
    """Magnitude codes of a small float type: u8, without the sign."""
    size = numpy.minimum(numpy.abs(values), numpy.float32(most)).astype(numpy.float32)
    shift = 23 - mantissa_bits
    bits = size.view(numpy.uint32)
    normal = (bits + ((1 << (shift - 1)) - 1) + ((bits >> shift) & 1)) >> shift
    normal = normal.astype(numpy.int64) - ((127 - bias) << mantissa_bits)
    # Below the least normal number all steps are equal.
    subnormal = numpy.rint(size * numpy.float32(2.0 ** (bias - 1 + mantissa_bits)))
    return numpy.where(size < 2.0 ** (1 - bias), subnormal, normal).astype(numpy.uint8)


def encode_e4m3(values):
    """f32, clipped to 448, to bytes."""
    sign = numpy.signbit(values).astype(numpy.uint8) << 7
    return _encode_float(values, E4M3_MOST, 3, 7) | sign


def encode_e2m1(values):
    """f32, clipped to 6, to nibbles in u8."""
    sign = numpy.signbit(values).astype(numpy.uint8) << 3
    return _encode_float(values, E2M1_MOST, 1, 1) | sign


def e2m1_values(codes):
    """Nibbles in u8 to f32."""
    table = numpy.array([0, .5, 1, 1.5, 2, 3, 4, 6], numpy.float32)
    return numpy.concatenate([table, -table])[codes]


def pack_bits(codes, bits):
    """[N, K] of unsigned codes to i32 [N, ceil(K * bits / 32)], low bits first."""
    rows, columns = codes.shape
    each = 32 // bits
    padded = numpy.zeros((rows, -(-columns // each) * each), numpy.uint32)
    padded[:, :columns] = codes
    parts = padded.reshape(rows, -1, each)
    packed = numpy.zeros(parts.shape[:2], numpy.uint32)
    for i in range(each):
        packed |= parts[:, :, i] << numpy.uint32(bits * i)
    return packed.view(numpy.int32)
