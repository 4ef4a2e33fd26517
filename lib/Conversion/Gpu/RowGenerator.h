//===- RowGenerator.h - Row kernels as GPU functions ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes a row kernel on tensors as a gpu.func, in the way that its schedule
// says.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_ROWGENERATOR_H
#define TP_LIB_CONVERSION_GPU_ROWGENERATOR_H

#include "RowSchedule.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace tp {

/// The alignment of the addresses that a kernel is called with: a power of two
/// that each tensor's address is a multiple of.
struct KernelAlignment {
  llvm::SmallVector<int64_t> arguments, results;
};

/// Generates `kernel` into `module` under the same name. Its parameters are the
/// tensors' addresses and the indices, the results' addresses and, where the
/// schedule needs scratch, its address.
mlir::FailureOr<mlir::gpu::GPUFuncOp>
generateGpuRows(mlir::func::FuncOp kernel, const KernelPlan &plan,
                const RowSchedule &schedule, const KernelAlignment &alignment,
                mlir::gpu::GPUModuleOp module);

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_ROWGENERATOR_H
