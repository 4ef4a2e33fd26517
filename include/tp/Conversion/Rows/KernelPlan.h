//===- KernelPlan.h - How a row kernel is cut into loops --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row kernel is a function of linalg.generic operations that all have the
// same leading "row" dimensions, so that the whole function can be computed one
// row after the other. The plan says, for one row, which operations share a
// loop over the remaining "column" dimensions, which tensors stay in registers
// and which need a buffer of one row.
//
// Example, RMSNorm of tensor<8x64xf32>, one row dimension:
//   loop 0  (64)  square and sum       -> a scalar of the row
//   loop 1  ()    rsqrt(sum / 64 + e)  -> a scalar of the row
//   loop 2  (64)  scale by it and by the weight
//
//===----------------------------------------------------------------------===//

#ifndef TP_CONVERSION_ROWS_KERNELPLAN_H
#define TP_CONVERSION_ROWS_KERNELPLAN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tp/Schedule/RowKernels.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>

namespace tp {

/// One linalg.generic of a kernel, its domain split in row and column
/// dimensions.
struct KernelOp {
  enum class Kind {
    Map,    ///< every column dimension parallel
    Reduce, ///< every column dimension a reduction: the result is a row scalar
    Mixed   ///< both: a loop nest of its own
  };
  mlir::linalg::GenericOp op;
  Kind kind;
  /// Domain dimension of each row dimension.
  llvm::SmallVector<unsigned> rows;
  /// Domain dimensions of more than one element that are no rows, in order.
  llvm::SmallVector<unsigned> columns;
  llvm::SmallVector<int64_t> columnSizes;
  /// Position of the loop the operation belongs to.
  unsigned loop = 0;

  /// `map` of an operand with the domain rewritten to the kernel's common
  /// form: rows first, then columns; dimensions of one element are 0.
  mlir::AffineMap getCommonMap(mlir::AffineMap map) const;
};

/// Operations that share one pass over the columns.
struct KernelLoop {
  KernelOp::Kind kind;
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<KernelOp *> ops;
};

/// A tensor inside a kernel.
struct KernelTensor {
  /// The operation that makes it; null for arguments and constants.
  KernelOp *producer = nullptr;
  /// One element per row: kept in a register.
  bool isRowScalar = false;
  /// A constant in every element; null otherwise.
  mlir::Value splat;
  /// Not initialised (tensor.empty).
  bool isEmpty = false;
  /// Positions among the function's results (more than one if returned twice).
  llvm::SmallVector<unsigned, 1> results;
  /// Offset in bytes in the worker's scratch of a buffer for one row; -1 if
  /// the tensor needs none.
  int64_t scratchOffset = -1;
};

struct KernelPlan {
  unsigned numRowDims = 0;
  llvm::SmallVector<int64_t> rowSizes;
  llvm::SmallVector<std::unique_ptr<KernelOp>> ops;
  llvm::SmallVector<KernelLoop> loops;
  llvm::MapVector<mlir::Value, KernelTensor> tensors;
  /// Scratch that one worker needs.
  int64_t scratchBytes = 0;

  int64_t getRowCount() const;

  /// Plans `kernel`, whose attribute `tp.row_dims` says how many dimensions
  /// are rows. Emits an error on what is not a row kernel.
  static mlir::FailureOr<KernelPlan> build(mlir::func::FuncOp kernel);
};

} // namespace tp

#endif // TP_CONVERSION_ROWS_KERNELPLAN_H
