//===- quantized_product.h - Calls of quantized_gemm ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of quantized_gemm share the call, the way it reads its operands,
// and what it does to a sum on its way out:
//
//   y = activation(scale * sum + bias) + residual
//
//===----------------------------------------------------------------------===//

#ifndef TP_KERNELS_DEVICE_QUANTIZED_PRODUCT_H
#define TP_KERNELS_DEVICE_QUANTIZED_PRODUCT_H

#include "quantized.h"

TP_SHAPE(int, rows)
TP_SHAPE(int, xType) ///< a quantized::Type, as those below
TP_SHAPE(int, yType)
TP_SHAPE(int, biasType)
TP_SHAPE(bool, hasZeros)
TP_SHAPE(bool, hasGroups)
TP_SHAPE(bool, hasBias)
TP_SHAPE(bool, hasResidual)
TP_SHAPE(int, activation) ///< a quantized::Activation
TP_SHAPE(float, scale)

namespace quantized {

enum Activation { None, Relu, GeluTanh };

/// Rows of x have k elements, rows of y and of the residual n.
struct Product {
  Weight weight;
  const char *x;
  const void *bias, *residual;
  void *y;
};

__device__ inline Product makeProduct(const void *x, const void *values,
                                      const void *scales, const void *zeros,
                                      const void *groups,
                                      const void *outerScale, const void *bias,
                                      const void *residual, void *y) {
  auto numbers = [](bool has, const void *base) {
    return has ? base : nullptr;
  };
  return {{static_cast<const char *>(values), static_cast<const char *>(scales),
           numbers(shape::hasZeros(), zeros),
           static_cast<const int32_t *>(numbers(shape::hasGroups(), groups)),
           outerScale ? *static_cast<const float *>(outerScale) : 1.0f},
          static_cast<const char *>(x),
          bias,
          residual,
          y};
}

__device__ inline int typeBytes(int type) { return type == F32 ? 4 : 2; }

__device__ inline float activate(float value) {
  if (shape::activation() == Relu)
    return maxNumber(value, 0.0f);
  if (shape::activation() == GeluTanh) {
    // (1 + tanh u) / 2 = 1 / (1 + e^-2u)
    const float u =
        value * (0x1.988454p-1f + 0x1.988454p-1f * 0.044715f * (value * value));
    return value * reciprocalApprox(1 + exp2Approx(u * (-2 * 0x1.715476p+0f)));
  }
  return value;
}

/// Writes the element of y that `sum` is the product of.
__device__ inline void finish(const Product &call, int row, int column,
                              float sum) {
  const int64_t at = int64_t(row) * shape::n() + column;
  float value = sum * shape::scale();
  if (shape::hasBias())
    value += readNumber(call.bias, column, shape::biasType());
  value = activate(value);
  if (shape::hasResidual())
    value += readNumber(call.residual, at, shape::yType());
  writeNumber(call.y, at, shape::yType(), value);
}

/// Bytes that one load may have where lines of `bytes` begin at `base`.
__device__ inline int loadWidth(const void *base, int64_t bytes) {
  const uintptr_t bits = uintptr_t(base) | uintptr_t(bytes);
  return bits % 16 == 0 ? 16 : bits % 4 == 0 ? 4 : 1;
}

/// Bytes [16 * unit, 16 * unit + 16) of a line of `bytes`, zero behind its end.
/// Lines whose width is 16 have whole units.
__device__ inline uint4 loadUnit(const char *line, int unit, int bytes,
                                 int width) {
  const char *from = line + 16 * unit;
  const int left = bytes - 16 * unit;
  uint4 words = {0, 0, 0, 0};
  if (width == 16 && left > 0)
    return *reinterpret_cast<const uint4 *>(from);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (width == 4) {
      if (4 * i < left)
        words[i] = reinterpret_cast<const uint32_t *>(from)[i];
      continue;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (4 * i + j < left)
        words[i] |= uint32_t(uint8_t(from[4 * i + j])) << 8 * j;
  }
  return words;
}

/// Element `i` of a unit.
__device__ inline float decodeAt(const uint4 &unit, int i) {
  return isNibble() ? decode(unit[i / 8] >> 4 * (i % 8))
                    : decode(unit[i / 4] >> 8 * (i % 4));
}

/// The numbers of eight neighbours of a line of the weight, from element `i` of
/// a unit on, which is column `column`; with `isScaled` false without the
/// scales.
__device__ inline void dequantize(const Weight &weight, const uint4 &unit,
                                  int i, int line, int column, bool isScaled,
                                  float (&numbers)[8]) {
  const bool isShared = !shape::hasGroups() && shape::groupK() % 8 == 0;
  float scale = 1, zero = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    if (j == 0 || !isShared) {
      // Columns that there are not are multiplied by zeros.
      const int64_t group =
          findGroup(weight, line, min(column + j, shape::k() - 1));
      if (isScaled)
        scale = readScale(weight, group);
      zero = readZero(weight, group);
    }
    numbers[j] = (decodeAt(unit, i + j) - zero) * scale;
  }
}

} // namespace quantized

// quantized_gemm's parameters in tprt/abi.h without its id.
#define TP_QUANTIZED_PARAMETERS                                                \
  int64_t, const void *x, int64_t, const void *values, const void *scales,     \
      const void *zeros, const void *groups, const void *outerScale,           \
      const void *bias, const void *residual, void *y, int64_t
#define TP_QUANTIZED_PRODUCT                                                   \
  quantized::makeProduct(x, values, scales, zeros, groups, outerScale, bias,   \
                         residual, y)

#endif // TP_KERNELS_DEVICE_QUANTIZED_PRODUCT_H
