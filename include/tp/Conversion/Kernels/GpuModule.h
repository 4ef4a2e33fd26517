//===- GpuModule.h - Where generated device kernels stand -------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the generators of device kernels, the step and the tables agree on: the
// module that holds the kernels, and the attributes that say how each is
// started.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CONVERSION_KERNELS_GPUMODULE_H
#define TP_CONVERSION_KERNELS_GPUMODULE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include <array>

namespace tp {

inline constexpr llvm::StringLiteral kernelsModuleName = "kernels";

/// On a kernel of the module: blocks and threads, [x, y, z] (DenseI64Array),
/// and bytes of dynamic shared memory (none without the attribute).
inline constexpr llvm::StringLiteral gridAttrName = "tp.grid";
inline constexpr llvm::StringLiteral blockAttrName = "tp.block";
inline constexpr llvm::StringLiteral sharedBytesAttrName = "tp.shared_bytes";

/// Fails if something else of the program has the name of the kernels' module.
mlir::LogicalResult checkKernelsName(mlir::ModuleOp module);

/// The module `gpu.module @kernels`, made at the end of `module` if it is not
/// there.
mlir::gpu::GPUModuleOp getOrCreateKernelsModule(mlir::ModuleOp module);

/// Dynamic shared memory: one symbol of no size for all kernels of a module,
/// which begins where the launch puts what it asks for.
mlir::LLVM::GlobalOp getSharedMemory(mlir::gpu::GPUModuleOp module,
                                     mlir::Location loc);

/// How a kernel is started.
struct Launch {
  std::array<int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  int64_t sharedBytes = 0;
};
/// A kernel at the end of `module`. `builder` is left in its body, to which the
/// caller gives an end.
mlir::gpu::GPUFuncOp createKernel(mlir::gpu::GPUModuleOp module,
                                  mlir::OpBuilder &builder, mlir::Location loc,
                                  llvm::StringRef name,
                                  mlir::TypeRange parameters,
                                  const Launch &launch);
/// Writes, and reads, the attributes above; nothing if one is missing or wrong.
void setLaunch(mlir::gpu::GPUFuncOp kernel, const Launch &launch);
std::optional<Launch> getLaunch(mlir::Operation *kernel);

} // namespace tp

#endif // TP_CONVERSION_KERNELS_GPUMODULE_H
