//===- QuantizedMatrix.h - Quantised numbers in kernels ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrices that lie in memory as nn.quantized_experts says, and the numbers
// that a generated kernel makes of them. kernels/device/quantized.h has the
// same for kernels in CUDA C++.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_QUANTIZEDMATRIX_H
#define TP_LIB_CONVERSION_GPU_QUANTIZEDMATRIX_H

#include "KernelEmitter.h"

namespace tp {

/// [count, rows, columns] elements, rows of whole bytes one behind the other.
struct QuantizedMatrix {
  mlir::Type element; ///< i4, i8, f8E4M3FN, f8E5M2 or f4E2M1FN
  mlir::Type scale;   ///< f32, bf16, f16 or, for powers of two, i8
  mlir::Type zero;    ///< i8 or f32; null: there are no zero points
  int64_t rows, columns;
  /// Rows and columns that share a scale; 0: all.
  int64_t groupRows, groupColumns;

  bool operator==(const QuantizedMatrix &other) const = default;

  int64_t getBits() const { return element.getIntOrFloatBitWidth(); }
  int64_t getRowBytes() const { return (columns * getBits() + 7) / 8; }
  int64_t getScaleRows() const;
  int64_t getScaleColumns() const;
};

/// The addresses of a matrix in global memory.
struct QuantizedAddresses {
  mlir::Value values, scales, zeros;
};

/// Returns `size` (4 or 8) neighbours in f32 of row `row` of matrix `index`,
/// from `column` on, a multiple of `size`; zeros behind the row's end. `index`,
/// `row` and `column` are i32.
KernelEmitter::Values loadNumbers(KernelEmitter &e,
                                  const QuantizedMatrix &matrix,
                                  const QuantizedAddresses &addresses,
                                  mlir::Value index, mlir::Value row,
                                  mlir::Value column, int64_t size);

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_QUANTIZEDMATRIX_H
