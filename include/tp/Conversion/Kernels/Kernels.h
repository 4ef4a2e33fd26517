//===- Kernels.h - What generators and the step agree on ------ -*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attributes that kernels' generators write and the step and its tables
// read, and what a kernel's function may hold.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CONVERSION_KERNELS_KERNELS_H
#define TP_CONVERSION_KERNELS_KERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// On row kernels after generation: rows, scratch bytes per worker, rows that
/// are worth a thread, the name of the generated body.
inline constexpr llvm::StringLiteral rowCountAttrName = "tp.row_count";
inline constexpr llvm::StringLiteral scratchBytesAttrName = "tp.scratch_bytes";
/// On a library's operation beside its kernel: those that run behind it, in
/// order. All get the arguments of the call and, if tp.scratch_bytes is not
/// zero, the scratch by which one hands parts to the next.
inline constexpr llvm::StringLiteral thenAttrName = "tp.then";
inline constexpr llvm::StringLiteral leastRowsAttrName = "tp.least_rows";
inline constexpr llvm::StringLiteral bodyAttrName = "tp.body";

/// Writes, and reads, the kernels of a library's operation and their scratch.
void setKernels(mlir::Operation *op, llvm::ArrayRef<std::string> names,
                int64_t scratchBytes = 0);
llvm::SmallVector<llvm::StringRef> getKernels(mlir::Operation *op);

/// An error at `op` unless `type` is a tensor that the runtime can hold.
mlir::LogicalResult checkType(mlir::Operation *op, mlir::Type type);
/// An error that names the argument or result of an entry that is no such
/// tensor.
mlir::LogicalResult checkEntryTypes(mlir::func::FuncOp entry);
/// An error unless a kernel's function has a body of one block, and its tensors
/// are such that the runtime can hold.
mlir::LogicalResult verifyKernel(mlir::func::FuncOp kernel);

} // namespace tp

#endif // TP_CONVERSION_KERNELS_KERNELS_H
