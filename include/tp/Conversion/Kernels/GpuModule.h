//===- GpuModule.h - Where generated device kernels stand -------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generators of device kernels, the step and the tables share this: the
// module that holds the kernels, and the attributes that say how each is
// started and, if it is written in CUDA C++, where.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CONVERSION_KERNELS_GPUMODULE_H
#define TP_CONVERSION_KERNELS_GPUMODULE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <optional>
#include <string>

namespace tp {

inline constexpr llvm::StringLiteral kernelsModuleName = "kernels";

/// On a kernel of the module: blocks and threads, [x, y, z] (DenseI64Array),
/// and bytes of dynamic shared memory (none without the attribute).
inline constexpr llvm::StringLiteral gridAttrName = "tp.grid";
inline constexpr llvm::StringLiteral blockAttrName = "tp.block";
inline constexpr llvm::StringLiteral sharedBytesAttrName = "tp.shared_bytes";

/// On a kernel without a body: what of kernels/device it is, a dictionary of
/// `source`, `entry` and `shape` (DeviceEntry).
inline constexpr llvm::StringLiteral deviceEntryAttrName = "tp.device_entry";
/// On a kernel without a body: the kernel of the module whose code it runs, a
/// symbol. Its launch is its own.
inline constexpr llvm::StringLiteral codeAttrName = "tp.code";
/// On a kernel that shares its code: the last arguments that a launch passes
/// (DenseI64Array), the numbers in which the kernels with this code differ.
inline constexpr llvm::StringLiteral numbersAttrName = "tp.numbers";
/// On a kernel that some architecture has a kernel of its own for: a dictionary
/// from the image's name ("sm_90a") to one of `source`, `entry`, `shape`,
/// `grid`, `block` and `shared_bytes`.
inline constexpr llvm::StringLiteral imagesAttrName = "tp.images";

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

/// An entry point of kernels/device with the numbers that are bound into it.
struct DeviceEntry {
  std::string source; ///< kernels/device/<source>.cu
  std::string entry;  ///< its extern "C" function
  /// The value of each `shape::<name>()` of the source: integers, and floats.
  mlir::DictionaryAttr shape;
};

/// A kernel of an image, which the loader prefers to the portable one on a
/// device of the image's architecture. Its parameters are the same.
struct KernelImage {
  std::string image; ///< the architecture, as ptxas names it: "sm_90a"
  DeviceEntry entry;
  Launch launch;
};

/// A kernel at the end of `module`. `builder` is left in its body, to which the
/// caller gives an end.
mlir::gpu::GPUFuncOp createKernel(mlir::gpu::GPUModuleOp module,
                                  mlir::OpBuilder &builder, mlir::Location loc,
                                  llvm::StringRef name,
                                  mlir::TypeRange parameters,
                                  const Launch &launch);
/// A kernel at the end of `module` whose body is that of `entry`, bound when
/// the kernels are compiled.
mlir::LLVM::LLVMFuncOp declareKernel(mlir::gpu::GPUModuleOp module,
                                     mlir::Location loc, llvm::StringRef name,
                                     mlir::TypeRange parameters,
                                     const Launch &launch,
                                     const DeviceEntry &entry);
/// Adds a kernel for one image to a kernel, generated or declared. The scratch
/// of the operation must suffice for all of them.
void addKernelImage(mlir::Operation *kernel, const KernelImage &image);

/// Writes, and reads, the attributes above; nothing if one is missing or wrong.
void setLaunch(mlir::gpu::GPUFuncOp kernel, const Launch &launch);
void setLaunchAttributes(mlir::Operation *kernel, const Launch &launch);
std::optional<Launch> getLaunch(mlir::Operation *kernel);
std::optional<DeviceEntry> getDeviceEntry(mlir::Operation *kernel);
llvm::SmallVector<KernelImage, 0> getKernelImages(mlir::Operation *kernel);
/// The kernel whose code this one runs: itself, if it does not say otherwise.
llvm::StringRef getCodeName(mlir::FunctionOpInterface kernel);
/// Writes, and reads, tp.numbers: no attribute, no numbers.
void setNumbers(mlir::Operation *kernel, llvm::ArrayRef<int64_t> numbers);
llvm::ArrayRef<int64_t> getNumbers(mlir::Operation *kernel);

/// All kernels of a module, generated and declared, in order.
llvm::SmallVector<mlir::FunctionOpInterface>
getDeviceKernels(mlir::gpu::GPUModuleOp module);

} // namespace tp

#endif // TP_CONVERSION_KERNELS_GPUMODULE_H
