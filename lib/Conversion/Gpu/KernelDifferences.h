//===- KernelDifferences.h - Kernels that differ in numbers -----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds kernels that would be the same if some of their integers were
// parameters, and those integers.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_KERNELDIFFERENCES_H
#define TP_LIB_CONVERSION_GPU_KERNELDIFFERENCES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <optional>

namespace tp {

/// A hash of all that kernels with the same code have in common: operations,
/// types and attributes, but no integer constant and no grid.
llvm::hash_code hashCode(mlir::gpu::GPUFuncOp kernel);

/// The integer constants of a kernel, in the order of a walk. Those of two
/// kernels whose code is alike correspond.
llvm::SmallVector<mlir::arith::ConstantOp>
getIntegers(mlir::gpu::GPUFuncOp kernel);
int64_t getInteger(mlir::arith::ConstantOp constant);

/// True if nothing depends on `constant`: it is only multiplied by zero.
bool isUnused(mlir::arith::ConstantOp constant);

/// True if a kernel computes as fast with a parameter in the place of a
/// constant: it is compared with, added to or multiplied by what is known only
/// when the kernel runs. The bound of a loop is unrolled by, a divisor becomes
/// shifts; these stay constants.
bool canBeParameter(mlir::arith::ConstantOp constant);

/// The positions, in the order of `getIntegers`, at which two kernels have
/// other numbers; nothing if they differ in more than numbers.
std::optional<llvm::SmallVector<unsigned>>
findDifferences(mlir::gpu::GPUFuncOp a, mlir::gpu::GPUFuncOp b);

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_KERNELDIFFERENCES_H
