//===- DeviceSources.h - Kernels in CUDA C++ --------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bitcode of kernels/device, which is part of the compiler, and how an
// entry point of it becomes a kernel of a model. The module that results calls
// primitives (kernels/device/primitives.h) that it does not define: it is what
// the emulator executes with definitions of its own, and what becomes PTX once
// the device's are linked (docs/Kernels.md).
//
//===----------------------------------------------------------------------===//

#ifndef TP_TARGET_CUDA_DEVICESOURCES_H
#define TP_TARGET_CUDA_DEVICESOURCES_H

#include "tp/Conversion/Kernels/GpuModule.h"
#include "llvm/Support/Error.h"

namespace llvm {
class Module;
} // namespace llvm

namespace tp {

/// Names of primitives begin with this.
inline constexpr llvm::StringLiteral primitivePrefix = "tp_";

/// Defines the function `kernel` of `module`, a declaration, by `entry`, with
/// its numbers and those of the launch bound. Nothing is optimised. Fails if
/// there is no such source or entry point, if its parameters are others, or if
/// it asks for a number that `entry` does not give.
llvm::Error bindDeviceKernel(llvm::Module &module, llvm::StringRef kernel,
                             const DeviceEntry &entry, const Launch &launch);

/// True if the module calls a primitive.
bool callsPrimitives(const llvm::Module &module);

/// Defines the primitives that `module` calls by their instructions.
llvm::Error linkPrimitives(llvm::Module &module);

/// Fails if a kernel keeps variables in local memory, or calls a function: what
/// was written to stay in registers has not been resolved.
llvm::Error checkResolved(const llvm::Module &module);

} // namespace tp

#endif // TP_TARGET_CUDA_DEVICESOURCES_H
