//===- RowKernels.h - What makes a function a kernel ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedule outlines work into private functions whose bodies define what they
// compute: row kernels, which lower generates code for, and GEMMs with their
// epilogue, which the runtime's library computes. These are the marks they
// carry and the conditions under which linalg.generic operations can be
// computed row by row.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SCHEDULE_ROWKERNELS_H
#define TP_SCHEDULE_ROWKERNELS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tp {

/// On an outlined function: "rows" or "gemm"; "body" on generated code.
inline constexpr llvm::StringLiteral kernelAttrName = "tp.kernel";
/// On a row kernel: how many leading dimensions of its results are rows.
inline constexpr llvm::StringLiteral rowDimsAttrName = "tp.row_dims";

/// On operations, while schedule runs: the nn operation they come from.
inline constexpr llvm::StringLiteral originAttrName = "tp.origin";
/// On a row kernel: what it computes, for timelines.
inline constexpr llvm::StringLiteral labelAttrName = "tp.label";

/// On a row kernel: memory that it reads may be memory that it writes, element
/// by element (the old value of a state, and its successor).
inline constexpr llvm::StringLiteral inPlaceAttrName = "tp.in_place";

/// The domain dimensions of `op` that index the `numRowDims` leading
/// dimensions of all its results; fails if the results do not agree on them.
mlir::FailureOr<llvm::SmallVector<unsigned>>
getRowDims(mlir::linalg::GenericOp op, unsigned numRowDims);

/// True if a tensor of `shape` read through `map` is read row by row: its
/// dimension p at the domain's dimension rows[p].
bool isRowAligned(mlir::AffineMap map, llvm::ArrayRef<unsigned> rows,
                  llvm::ArrayRef<int64_t> shape);

} // namespace tp

#endif // TP_SCHEDULE_ROWKERNELS_H
