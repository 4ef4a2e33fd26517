//===- Passes.h - Passes for kernels for a device ------------- -*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the lower stage: kernels in a module of their own, to NVVM. See
// Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CONVERSION_GPU_PASSES_H
#define TP_CONVERSION_GPU_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace tp {

#define GEN_PASS_DECL
#include "tp/Conversion/Gpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tp/Conversion/Gpu/Passes.h.inc"

/// True if operations that would call `function` (of tprt/abi.h) have kernels
/// in CUDA C++, which tp-bind-gpu-kernels names.
bool hasKernelFamily(llvm::StringRef function);

/// From the kernels' gpu.func to the LLVM dialect with NVVM's intrinsics.
void buildGpuToLLVM(mlir::OpPassManager &manager);

} // namespace tp

#endif // TP_CONVERSION_GPU_PASSES_H
