//===- KernelFamily.h - Which kernels an operation has ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of kernels that are written in CUDA C++ (kernels/device): one row
// per function of the runtime that they compute. A row turns an operation into
// the numbers that are bound into the source, the entry points that run one
// behind the other, and how each is launched (docs/Kernels.md).
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_FAMILIES_KERNELFAMILY_H
#define TP_LIB_CONVERSION_GPU_FAMILIES_KERNELFAMILY_H

#include "tp/Conversion/Kernels/GpuModule.h"

#include <string_view>

namespace tp {

/// One kernel of an operation.
struct FamilyKernel {
  std::string suffix; ///< behind the operation's name: "", "_add"
  std::string source; ///< kernels/device/<source>.cu
  std::string entry;  ///< its extern "C" function
  Launch launch;
  /// Kernels of other architectures in its place.
  llvm::SmallVector<KernelImage, 0> images = {};
};

/// The kernels of an operation. Operations with equal choices share them.
struct FamilyChoice {
  /// Each `shape::<name>()` that the sources ask for.
  llvm::SmallVector<std::pair<llvm::StringLiteral, int64_t>> shape;
  /// In the order in which they run.
  llvm::SmallVector<FamilyKernel, 0> kernels;
  /// The scratch that the largest of all images needs.
  int64_t scratchBytes = 0;
  /// The factors that are f32.
  llvm::SmallVector<std::pair<llvm::StringLiteral, float>> factors = {};
};

struct KernelFamily {
  /// The function of tprt/abi.h whose operations these are. Kernels are named
  /// after it, and have its arguments as parameters.
  llvm::StringLiteral function;
  /// The kinds of these arguments (AbiKinds.h).
  std::string_view parameters;
  /// Emits an error on `op` if there is no kernel for it.
  mlir::FailureOr<FamilyChoice> (*choose)(mlir::Operation *op);
};

llvm::ArrayRef<KernelFamily> getKernelFamilies();

/// The largest second extent of a grid.
inline constexpr int64_t gridLimit = 65535;

mlir::FailureOr<FamilyChoice> chooseCacheWrite(mlir::Operation *op);
mlir::FailureOr<FamilyChoice> chooseEmbeddingBackward(mlir::Operation *op);
mlir::FailureOr<FamilyChoice> chooseQuantizedLinear(mlir::Operation *op);
mlir::FailureOr<FamilyChoice> chooseSampleRecords(mlir::Operation *op);
mlir::FailureOr<FamilyChoice> chooseSamplePick(mlir::Operation *op);

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_FAMILIES_KERNELFAMILY_H
