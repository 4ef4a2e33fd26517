//===- Gemm.h - the reference matrix product --------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// D = activation(alpha op(A) op(B) + beta C + bias), accumulated in f32 and
// rounded once, for float matrices of any strides.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_FAKECUDA_GEMM_H
#define TPRT_TEST_FAKECUDA_GEMM_H

#include <cstdint>

namespace fake {

enum class Float { F32, BF16, F16 };
enum class Activation { None, Relu, Gelu };

int64_t bytesOf(Float type);
float loadFloat(Float type, const void *base, int64_t index);
void storeFloat(Float type, void *base, int64_t index, float value);

/// Element (i, j) of a matrix lies at i * rowStride + j * columnStride.
struct Matrix {
  void *data = nullptr;
  Float type = Float::F32;
  int64_t rowStride = 1, columnStride = 1;
};

struct Product {
  int64_t m, n, k;
  Matrix a, b, c, d; ///< a is m x k, b is k x n, both as they are multiplied
  const void *bias = nullptr; ///< m elements of d's type, or null
  float alpha = 1, beta = 0;  ///< c is not read if beta is 0
  Activation activation = Activation::None;
  bool tf32 = false;  ///< operands lose mantissa bits first
  int64_t pieces = 1; ///< the sum over k is cut into so many
};

void multiply(const Product &product);

} // namespace fake

#endif // TPRT_TEST_FAKECUDA_GEMM_H
