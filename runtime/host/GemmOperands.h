//===- GemmOperands.h - operands and results of a GEMM ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that bring operands to f32 and to the layout that a product reads,
// and that make the results of its sums. Only Gemm.cpp includes this file.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_HOST_GEMMOPERANDS_H
#define TPRT_HOST_GEMMOPERANDS_H

#include "../support/Simd.h"
#include "../support/SimdQuantized.h"
#include "GemmParts.h"

namespace tprt {

/// Elements that are worth a thread.
constexpr int64_t kElementsPerThread = 4096;

/// Element `elements` of values of this type.
inline const char *at(const void *base, int64_t elements, tprt_type type) {
  return static_cast<const char *>(base) + elements * typeBytes(type);
}
inline char *at(void *base, int64_t elements, tprt_type type) {
  return static_cast<char *>(base) + elements * typeBytes(type);
}

/// `count` values in f32.
inline Expected<const void *> widen(Scratch &scratch, tprt_type type,
                                    const void *values, int64_t count) {
  if (type == TPRT_F32)
    return values;
  TPRT_ASSIGN(auto wide, scratch.get(count * 4));
  parallelFor(count, kElementsPerThread,
              [&](int64_t begin, int64_t end, int64_t) {
                simd().widen(type, at(values, begin, type),
                             static_cast<float *>(wide) + begin, end - begin);
              });
  return static_cast<const void *>(wide);
}

/// Rows [column, column + n) of a quantised weight, in f32.
inline Expected<const void *> dequantize(Scratch &scratch,
                                         const QuantizedWeight &w,
                                         int64_t column, int64_t n) {
  const QuantizedLoops &loops = quantizedLoops();
  TPRT_ASSIGN(auto wide, scratch.get((n * w.k + loops.scratch(w)) * 4));
  auto *values = static_cast<float *>(wide);
  loops.dequantize(w, column, n, values, w.k, values + n * w.k);
  return static_cast<const void *>(wide);
}

/// Height of the panels [k][height] that weights of this layout consist of; 0
/// for other layouts.
inline int64_t panelHeight(const dnnl::memory::desc &weights) {
  const auto &layout = weights.data.format_desc.blocking;
  bool isPanel =
      layout.inner_nblks == 2 && layout.inner_idxs[0] == 1 &&
      layout.inner_idxs[1] == 0 &&
      layout.strides[1] == layout.inner_blks[0] * layout.inner_blks[1] &&
      layout.strides[0] == weights.data.padded_dims[1] * layout.inner_blks[1];
  return isPanel ? layout.inner_blks[1] : 0;
}

/// Brings n rows of weights to panels, in f32.
inline Expected<const void *> toPanels(Scratch &scratch, tprt_type type,
                                       const void *w, int64_t n, int64_t k,
                                       const dnnl::memory::desc &layout) {
  int64_t height = panelHeight(layout), depth = layout.data.padded_dims[1];
  TPRT_ASSIGN(auto packed, scratch.get(int64_t(layout.get_size())));
  for (int64_t row = 0; row < n; row += height) {
    int64_t count = std::min(height, n - row);
    float *panel = static_cast<float *>(packed) + row * depth;
    if (count < height || depth > k)
      std::fill_n(panel, depth * height, 0.0f);
    simd().transpose(type, at(w, row * k, type), k, count, k, panel, height);
  }
  return static_cast<const void *>(packed);
}

/// An operand of f32 as it lies, the sums along its rows or, flipped, its
/// columns.
struct Plain {
  const void *values;
  int64_t stride;
  bool isFlipped = false;
};

/// y[rows, n] (+)= x * w by oneDNN, which copies what it needs itself.
inline Status multiplyPlain(Plain x, Plain w, int64_t rows, int64_t n,
                            int64_t k, float *y, int64_t yStride,
                            bool adds = false) {
  auto status = dnnl::sgemm(
      x.isFlipped ? 'T' : 'N', w.isFlipped ? 'N' : 'T', rows, n, k, 1.0f,
      static_cast<const float *>(x.values), x.stride,
      static_cast<const float *>(w.values), w.stride, adds, y, yStride);
  if (status != dnnl::status::success)
    return internalError("oneDNN: sgemm: status ", int(status));
  return {};
}

/// A stride for rows of k floats that are not whole pages apart, which would
/// bring them to the same places of a cache.
inline int64_t spread(int64_t k) { return alignUp(k, 16) + 16; }

/// k rows of `count` columns as rows of f32, one for each column.
inline void turn(tprt_type type, const void *from, int64_t stride,
                 int64_t count, int64_t k, void *to) {
  simd().transpose(type, from, stride, k, count, static_cast<float *>(to),
                   spread(k));
}

/// line[i] += values[from + i], if there are any.
inline void add(float *line, tprt_type type, const void *values, int64_t from,
                int64_t count) {
  constexpr int64_t kPiece = 256;
  float addend[kPiece];
  for (int64_t c = 0; values && c < count; c += kPiece) {
    int64_t piece = std::min(kPiece, count - c);
    simd().widen(type, at(values, from + c, type), addend, piece);
    for (int64_t j = 0; j < piece; ++j)
      line[c + j] += addend[j];
  }
}

/// Makes columns [column, column + n) of rows [row, row + rows) of y of their
/// products in f32, which may lie there already.
inline void finish(const Call &call, int64_t row, int64_t rows, int64_t column,
                   int64_t n, float *products, int64_t stride) {
  const Gemm &gemm = call.gemm;
  for (int64_t r = 0; r < rows; ++r) {
    float *line = products + r * stride;
    int64_t to = (row + r) * call.y_stride + column;
    add(line, gemm.biasType, call.bias, column, n);
    if (gemm.activation != Gemm::Activation::None)
      simd().activate(gemm.activation, line, n);
    add(line, gemm.yType, call.residual, to, n);
    void *target = at(call.y, to, gemm.yType);
    if (target != line)
      simd().narrow(gemm.yType, line, target, n);
  }
}

} // namespace tprt

#endif // TPRT_HOST_GEMMOPERANDS_H
