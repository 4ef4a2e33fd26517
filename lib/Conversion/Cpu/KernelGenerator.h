//===- KernelGenerator.h - Row kernels as loops of vectors ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces a row kernel on tensors by the body of a parallel loop over its
// rows, as the runtime calls it (tprt_body): scf loops, vector arithmetic and
// LLVM memory accesses.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_KERNELGENERATOR_H
#define TP_LIB_CONVERSION_KERNELGENERATOR_H

#include "tp/Conversion/Rows/KernelPlan.h"

namespace tp {

/// Generates the body of `kernel` for `vectorBits` wide registers, beside it
/// and under its name with ".body" appended. The context of the body is an
/// array of eight-byte slots: the function's arguments (addresses of tensors,
/// values of indices), the addresses of its results, then the address of all
/// workers' scratch and the stride in bytes from one worker to the next.
mlir::FailureOr<mlir::func::FuncOp> generateKernel(mlir::func::FuncOp kernel,
                                                   const KernelPlan &plan,
                                                   int64_t vectorBits);

} // namespace tp

#endif // TP_LIB_CONVERSION_KERNELGENERATOR_H
