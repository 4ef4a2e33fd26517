//===- Gemm.cpp - the reference matrix product ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both operands are widened to f32 and packed, so that the loop over k reads
// rows of contiguous elements: whole models are to run in seconds.
//
//===----------------------------------------------------------------------===//

#include "Gemm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

using namespace fake;

int64_t fake::bytesOf(Float type) { return type == Float::F32 ? 4 : 2; }

float fake::loadFloat(Float type, const void *base, int64_t index) {
  if (type == Float::F32)
    return static_cast<const float *>(base)[index];
  if (type == Float::F16)
    return float(static_cast<const _Float16 *>(base)[index]);
  return std::bit_cast<float>(
      uint32_t(static_cast<const uint16_t *>(base)[index]) << 16);
}

void fake::storeFloat(Float type, void *base, int64_t index, float value) {
  if (type == Float::F32) {
    static_cast<float *>(base)[index] = value;
  } else if (type == Float::F16) {
    static_cast<_Float16 *>(base)[index] = _Float16(value);
  } else {
    auto bits = std::bit_cast<uint32_t>(value);
    if (std::isnan(value))
      bits |= 0x400000;
    else
      bits += 0x7fff + (bits >> 16 & 1); // to nearest even
    static_cast<uint16_t *>(base)[index] = uint16_t(bits >> 16);
  }
}

namespace {

constexpr int64_t kRows = 16, kColumns = 4;

int64_t roundUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

float toTf32(float value) {
  if (!std::isfinite(value))
    return value;
  auto bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits + 0x1000) & ~uint32_t(0x1fff));
}

/// Rows of `width` (padded with zeros), one per k.
std::vector<float> pack(const Matrix &matrix, int64_t outer,
                        int64_t outerStride, int64_t k, int64_t kStride,
                        int64_t width, bool tf32) {
  std::vector<float> packed(size_t(k * width));
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t p = 0; p < k; ++p) {
      float value =
          loadFloat(matrix.type, matrix.data, i * outerStride + p * kStride);
      packed[size_t(p * width + i)] = tf32 ? toTf32(value) : value;
    }
  return packed;
}

/// sum[column][row] += over [begin, end) of k.
__attribute__((target_clones("default", "arch=x86-64-v3"))) void
tile(const float *a, int64_t aWidth, const float *b, int64_t bWidth,
     int64_t begin, int64_t end, float (*sum)[kRows]) {
  float local[kColumns][kRows] = {};
  for (int64_t p = begin; p < end; ++p)
    for (int64_t j = 0; j < kColumns; ++j)
      for (int64_t i = 0; i < kRows; ++i)
        local[j][i] += a[p * aWidth + i] * b[p * bWidth + j];
  std::memcpy(sum, local, sizeof(local));
}

float activate(Activation activation, float x) {
  switch (activation) {
  case Activation::None:
    return x;
  case Activation::Relu:
    return x > 0 || std::isnan(x) ? x : 0;
  case Activation::Gelu: // the approximation by tanh, as the library documents
    return 0.5f * x *
           (1 + std::tanh(0.7978845608028654f * (x + 0.044715f * x * x * x)));
  }
  return x;
}

} // namespace

void fake::multiply(const Product &q) {
  int64_t aWidth = roundUp(q.m, kRows), bWidth = roundUp(q.n, kColumns);
  std::vector<float> a =
      pack(q.a, q.m, q.a.rowStride, q.k, q.a.columnStride, aWidth, q.tf32);
  std::vector<float> b =
      pack(q.b, q.n, q.b.columnStride, q.k, q.b.rowStride, bWidth, q.tf32);
  std::vector<float> results(size_t(q.m * q.n));
  for (int64_t j = 0; j < q.n; j += kColumns)
    for (int64_t i = 0; i < q.m; i += kRows) {
      float total[kColumns][kRows] = {};
      for (int64_t piece = 0; piece < q.pieces; ++piece) {
        float sum[kColumns][kRows];
        tile(a.data() + i, aWidth, b.data() + j, bWidth, q.k * piece / q.pieces,
             q.k * (piece + 1) / q.pieces, sum);
        for (int64_t c = 0; c < kColumns; ++c)
          for (int64_t r = 0; r < kRows; ++r)
            total[c][r] += sum[c][r];
      }
      for (int64_t c = 0; c < std::min(kColumns, q.n - j); ++c)
        for (int64_t r = 0; r < std::min(kRows, q.m - i); ++r) {
          float value = q.alpha * total[c][r];
          if (q.beta != 0)
            value += q.beta * loadFloat(q.c.type, q.c.data,
                                        (i + r) * q.c.rowStride +
                                            (j + c) * q.c.columnStride);
          if (q.bias)
            value += loadFloat(q.d.type, q.bias, i + r);
          results[size_t((j + c) * q.m + i + r)] =
              activate(q.activation, value);
        }
    }
  // Written at the end: D may be an operand's memory only by mistake, and then
  // the mistake has one meaning.
  for (int64_t j = 0; j < q.n; ++j)
    for (int64_t i = 0; i < q.m; ++i)
      storeFloat(q.d.type, q.d.data, i * q.d.rowStride + j * q.d.columnStride,
                 results[size_t(j * q.m + i)]);
}
