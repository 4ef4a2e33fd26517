//===- quantized.h - Numbers of fewer than 16 bits --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A weight [n, k] that lies in memory as quantized_gemm of tprt/abi.h says, and
// the number that each of its elements stands for: (q - zero) * scale in f32.
// Formats are bound numbers, so that one source serves all of them.
//
//===----------------------------------------------------------------------===//

#ifndef TP_KERNELS_DEVICE_QUANTIZED_H
#define TP_KERNELS_DEVICE_QUANTIZED_H

#include "primitives.h"

TP_SHAPE(int, element)   ///< a quantized::Element
TP_SHAPE(int, scaleType) ///< a quantized::Type
TP_SHAPE(int, n)
TP_SHAPE(int, k)
TP_SHAPE(int, groupN)       ///< rows of a group; 0: all
TP_SHAPE(int, groupK)       ///< columns of a group; 0: all, or by `groups`
TP_SHAPE(int, scaleColumns) ///< columns of scales and zeros
TP_SHAPE(bool, hasFloatZeros)

namespace quantized {

// The numbers of lib/Conversion/Gpu/Families/QuantizedLinear.cpp.
enum Element { I4, I8, E4M3, E5M2, E2M1 };
enum Type { F32, BF16, F16, E8M0, FloatE4M3 };

struct Weight {
  const char *values, *scales;
  const void *zeros;     ///< of i8 or f32, or null: 0
  const int32_t *groups; ///< [k], or null
  float outerScale;
};

__device__ inline bool isNibble() {
  return shape::element() == I4 || shape::element() == E2M1;
}
__device__ inline int rowBytes() {
  return isNibble() ? (shape::k() + 1) / 2 : shape::k();
}

/// The number that eight bits are, in the low bits of `bits`. Subnormal numbers
/// come out right because those of f32 do.
__device__ inline float decodeE4M3(uint32_t bits) {
  const float magnitude =
      __builtin_bit_cast(float, (bits & 0x7f) << 20) * 0x1p120f;
  const uint32_t number = (bits & 0x7f) == 0x7f
                              ? 0x7fc00000u
                              : __builtin_bit_cast(uint32_t, magnitude);
  return __builtin_bit_cast(float, number | (bits & 0x80) << 24);
}

/// The number that an element is; above its bits there may be others.
__device__ inline float decode(uint32_t bits) {
  switch (shape::element()) {
  case I4:
    // 2^23 + 8 + the number.
    return __builtin_bit_cast(float, 0x4b000000 | ((bits & 15) ^ 8)) -
           0x1.000010p23f;
  case I8:
    return __builtin_bit_cast(float, 0x4b000000 | ((bits & 255) ^ 128)) -
           0x1.000100p23f;
  case E4M3:
    return decodeE4M3(bits);
  case E5M2: // the upper half of an f16
    return __builtin_bit_cast(_Float16, uint16_t(bits << 8));
  default: { // E2M1
    const float magnitude =
        __builtin_bit_cast(float, (bits & 7) << 22) * 0x1p126f;
    return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, magnitude) |
                                         (bits & 8) << 28);
  }
  }
}

/// Number `i` of a tensor of type `type`.
__device__ inline float readNumber(const void *base, int64_t i, int type) {
  switch (type) {
  case F32:
    return static_cast<const float *>(base)[i];
  case BF16:
    return __builtin_bit_cast(
        float, uint32_t(static_cast<const uint16_t *>(base)[i]) << 16);
  case F16:
    return static_cast<const _Float16 *>(base)[i];
  case E8M0: {
    const uint32_t exponent = static_cast<const uint8_t *>(base)[i];
    const uint32_t bits = exponent == 255 ? 0x7fc00000u
                          : exponent == 0 ? 0x00400000u
                                          : exponent << 23;
    return __builtin_bit_cast(float, bits);
  }
  default:
    return decodeE4M3(static_cast<const uint8_t *>(base)[i]);
  }
}

/// Rounds to `type`, which is F32, BF16 or F16.
__device__ inline void writeNumber(void *base, int64_t i, int type,
                                   float value) {
  if (type == F32)
    static_cast<float *>(base)[i] = value;
  else if (type == BF16)
    static_cast<__bf16 *>(base)[i] = __nvvm_f2bf16_rn(value);
  else
    static_cast<_Float16 *>(base)[i] = _Float16(value);
}

/// Returns the place of an element's scale and zero point.
__device__ inline int64_t findGroup(const Weight &weight, int row, int column) {
  const int line = shape::groupN() == 0 ? 0 : row / shape::groupN();
  int position = 0;
  if (weight.groups)
    position = weight.groups[column];
  else if (shape::groupK() != 0)
    position = column / shape::groupK();
  return int64_t(line) * shape::scaleColumns() + position;
}

__device__ inline float readScale(const Weight &weight, int64_t group) {
  return readNumber(weight.scales, group, shape::scaleType()) *
         weight.outerScale;
}
__device__ inline float readZero(const Weight &weight, int64_t group) {
  if (!weight.zeros)
    return 0.0f;
  return shape::hasFloatZeros()
             ? static_cast<const float *>(weight.zeros)[group]
             : float(static_cast<const int8_t *>(weight.zeros)[group]);
}

} // namespace quantized

#endif // TP_KERNELS_DEVICE_QUANTIZED_H
