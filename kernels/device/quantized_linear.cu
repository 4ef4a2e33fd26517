//===- quantized_linear.cu - Few rows times a quantised weight ------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every format, group and type, in f32. A block makes a few neighbours of
// several rows of y. Its warps share k: a thread reads 16 bytes of each of the
// block's lines of the weight, once for all rows,
//
//        bytes of a line   0-15    16-31  ... 496-511   512-527 ...
//        thread            0       1          31        32 (warp 1)
//
// and multiplies the numbers that these are as it unpacks them. Sums of a warp
// are added by butterflies, those of the block in the order of its warps, so
// that every run gives the same bits.
//
//===----------------------------------------------------------------------===//

#include "quantized_product.h"
#include "reduce.h"

/// Columns of y that a block makes, and the most warps that it has, as
/// lib/Conversion/Gpu/Families/QuantizedLinear.cpp says.
inline constexpr int kOutputs = 4;
inline constexpr int kProductWarps = 8;

namespace {
using namespace quantized;

/// Elements of x [column, column + 8), zero behind the end of the row.
__device__ void loadEight(const char *row, int column, int width,
                          float (&numbers)[8]) {
  const int type = shape::xType();
  if (width == 16 && shape::k() % 8 == 0) {
    if (column >= shape::k()) {
#pragma unroll
      for (float &number : numbers)
        number = 0;
      return;
    }
    auto from = reinterpret_cast<const uint4 *>(row + int64_t(column) *
                                                          typeBytes(type));
    if (type == F32) {
      const uint4 words[2] = {from[0], from[1]};
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const uint32_t bits = words[i / 4][i % 4];
        numbers[i] = __builtin_bit_cast(float, bits);
      }
      return;
    }
    const uint4 words = from[0];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const uint16_t bits = uint16_t(words[i / 2] >> 16 * (i % 2));
      numbers[i] = type == BF16
                       ? __builtin_bit_cast(float, uint32_t(bits) << 16)
                       : float(__builtin_bit_cast(_Float16, bits));
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
    numbers[i] =
        column + i < shape::k() ? readNumber(row, column + i, type) : 0.0f;
}

/// Of each warp, for each number that a block makes.
template <int numRows>
using Partials = float[kProductWarps][kOutputs * numRows];

/// `isAligned`: lines of the weight and rows of x are whole units at multiples
/// of 16 bytes, so that nothing but loads stands between loads.
template <int numRows, bool isAligned>
__device__ void multiply(const Product &call, Partials<numRows> &partials) {
  const int unitSize = isNibble() ? 32 : 16;
  const int bytes = rowBytes(), units = (bytes + 15) / 16;
  const int firstLine = blockIdx.x * kOutputs;
  const int firstRow = blockIdx.y * numRows;
  const int64_t xBytes = int64_t(shape::k()) * typeBytes(shape::xType());
  const int width = isAligned ? 16 : loadWidth(call.weight.values, bytes);
  const int xWidth = isAligned ? 16 : loadWidth(call.x, xBytes);
  float sums[kOutputs][numRows] = {};
#pragma unroll 1
  for (int unit = threadIdx.x; unit < units; unit += launch::threads()) {
    uint4 words[kOutputs];
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) {
      const int64_t line = min(firstLine + o, shape::n() - 1);
      words[o] =
          loadUnit(call.weight.values + line * bytes, unit, bytes, width);
    }
#pragma unroll
    for (int i = 0; i < unitSize; i += 8) {
      const int column = unit * unitSize + i;
      float w[kOutputs][8];
#pragma unroll
      for (int o = 0; o < kOutputs; ++o)
        dequantize(call.weight, words[o], i, min(firstLine + o, shape::n() - 1),
                   column, true, w[o]);
#pragma unroll
      for (int r = 0; r < numRows; ++r) {
        const int64_t row = min(firstRow + r, shape::rows() - 1);
        float x[8];
        loadEight(call.x + row * xBytes, column, xWidth, x);
#pragma unroll
        for (int o = 0; o < kOutputs; ++o)
#pragma unroll
          for (int j = 0; j < 8; ++j)
            sums[o][r] = __builtin_fmaf(w[o][j], x[j], sums[o][r]);
      }
    }
  }
#pragma unroll
  for (int o = 0; o < kOutputs; ++o)
#pragma unroll
    for (int r = 0; r < numRows; ++r) {
      const float sum =
          reduceWarp(sums[o][r], kWarp, [](float a, float b) { return a + b; });
      if (lane() == 0)
        partials[warp()][r * kOutputs + o] = sum;
    }
  __syncthreads();
  const int own = threadIdx.x;
  const int row = firstRow + own / kOutputs,
            column = firstLine + own % kOutputs;
  if (own >= kOutputs * numRows || row >= shape::rows() || column >= shape::n())
    return;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < launch::threads() / kWarp; ++i)
    sum += partials[i][own];
  finish(call, row, column, sum);
}

template <int numRows>
__device__ void multiplyRows(const Product &call) {
  __shared__ Partials<numRows> partials;
  const int64_t xBytes = int64_t(shape::k()) * typeBytes(shape::xType());
  if (loadWidth(call.weight.values, rowBytes()) == 16 &&
      loadWidth(call.x, xBytes) == 16)
    multiply<numRows, true>(call, partials);
  else
    multiply<numRows, false>(call, partials);
}
} // namespace

// quantized_linear_<rows of y that a block makes>.
#define TP_QUANTIZED_LINEAR(rows)                                              \
  extern "C" __global__ void quantized_linear_##rows(                          \
      TP_QUANTIZED_PARAMETERS) {                                               \
    multiplyRows<rows>(TP_QUANTIZED_PRODUCT);                                  \
  }
TP_QUANTIZED_LINEAR(1)
TP_QUANTIZED_LINEAR(2)
TP_QUANTIZED_LINEAR(4)
TP_QUANTIZED_LINEAR(8)
#undef TP_QUANTIZED_LINEAR
