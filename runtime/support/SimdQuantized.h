//===- SimdQuantized.h - loops over quantised weights -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of few rows, which read a packed weight once and dequantise it in
// registers, and the dequantisation of blocks for products of many. Compiled
// for the CPU levels of Simd.h.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_SIMDQUANTIZED_H
#define TPRT_SUPPORT_SIMDQUANTIZED_H

#include "QuantizedWeight.h"

namespace tprt {

struct QuantizedLoops {
  /// Floats of an arranged row.
  int64_t (*arrangedWidth)(const QuantizedWeight &w);
  /// One row of x, [k], as `dot` reads it for this weight, zero past its end.
  void (*arrange)(const QuantizedWeight &w, const float *x, float *out);
  /// Floats of scratch that `dot`, `dequantize` and `split` need.
  int64_t (*scratch)(const QuantizedWeight &w);
  /// Scales and zero points of rows [row, row + n), which have one each.
  void (*rowGroups)(const QuantizedWeight &w, int64_t row, int64_t n,
                    float *scales, float *zeros);
  /// out[r * outStride + j] = the sum over k of x[r, k] * value(row + j, k) for
  /// j in [0, n), x being arranged. How many rows of x there are, and which
  /// rows of the weight, has no part in a result.
  void (*dot)(const QuantizedWeight &w, int64_t row, int64_t n, const float *x,
              int64_t xStride, int64_t rows, float *out, int64_t outStride,
              float *scratch);
  /// out[j * stride + p] = value(row + j, p).
  void (*dequantize)(const QuantizedWeight &w, int64_t row, int64_t n,
                     float *out, int64_t stride, float *scratch);
  /// value(row + j, p) = (high[j * k + p] + low[j * k + p]) * scale[j], high
  /// and low being bf16. Where a row has one scale, high is exact and there is
  /// no low; else scale is one, and the sum has 16 bits or more.
  void (*split)(const QuantizedWeight &w, int64_t row, int64_t n, void *high,
                void *low, float *scale, float *scratch);
};

/// The loops of simd()'s level.
const QuantizedLoops &quantizedLoops();

} // namespace tprt

#endif // TPRT_SUPPORT_SIMDQUANTIZED_H
