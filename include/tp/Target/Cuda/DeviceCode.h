//===- DeviceCode.h - Machine code of device kernels ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the kernels' module in the LLVM dialect to optimised NVPTX bitcode, from
// exactly that bitcode to PTX, and by CUDA's assembler to machine code. The
// bitcode can thus be run in place of the PTX, for tests.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TARGET_CUDA_DEVICECODE_H
#define TP_TARGET_CUDA_DEVICECODE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include "tp/Target/Target.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tp {

/// The assembler's figures of a kernel: registers per thread, bytes of static
/// shared memory, and bytes per thread of the others.
struct KernelResources {
  int64_t registers = 0, shared = 0, spillStores = 0, spillLoads = 0, stack = 0;
};

/// Machine code for one architecture.
struct Cubin {
  std::string architecture; ///< "sm_90"
  std::string code;
  std::map<std::string, KernelResources> kernels;
  /// The assembler's warnings of wgmma that it had to wait for (C75xx).
  std::vector<std::string> warnings;
};

/// Kernels that one architecture has in the place of the portable ones.
struct DeviceImage {
  std::string name; ///< the architecture: "sm_90a"
  std::string bitcode, ptx;
  std::optional<Cubin> cubin; ///< none if nothing assembled it
};

/// Architectures that kernels are assembled for; PTX is made always.
struct CudaArchitectures {
  /// As ptxas names them: "sm_80".
  llvm::SmallVector<std::string> names;
  /// They were asked for by name: without ptxas they cannot be had, which is an
  /// error then. Otherwise PTX is made alone.
  bool isExplicit = false;
};

struct DeviceCode : KernelCode {
  std::string bitcode; ///< optimised
  std::string ptx;     ///< for sm_80 and later, of that bitcode
  std::string ptxas;   ///< what assembled it; empty if nothing did
  std::vector<Cubin> cubins;
  std::vector<DeviceImage> images;

  /// The assembler's figures as JSON: {"ptxas": its release, or null,
  /// "kernels": {kernel: {architecture: {registers, shared, spill_stores,
  /// spill_loads, stack}}}, "warnings": [...]}.
  std::string getResourcesAsJson() const;

  void describe(llvm::json::Object &target) const override;
  std::vector<NamedBytes> getSections() const override;
  /// kernels.bc, kernels.ptx, kernels.sm_XX.cubin and kernels.json (the
  /// assembler's figures); of each image kernels.sm_XXa.bc, .ptx and .cubin.
  std::vector<NamedBytes> getFiles() const override;
};

/// The kernels that a module of bitcode has.
struct BitcodeKind {
  /// The image that kernels are of, where they have one; empty: the portable
  /// ones.
  std::string image = "";
  /// Kernels that are not of the image are there too: a whole program for
  /// tests.
  bool isWhole = true;
};

/// The bitcode, optimised, of `gpu.module @kernels` of `module`, after
/// buildGpuToLLVM. Primitives of kernels/device are not defined in it. Emits
/// errors.
mlir::FailureOr<std::string> makeBitcode(mlir::ModuleOp module,
                                         const BitcodeKind &kind = {});

/// The images that kernels of `module` have.
llvm::SmallVector<std::string> findImages(mlir::ModuleOp module);

/// The PTX of a module of such bitcode, for the architecture of its image, with
/// the device's primitives.
llvm::Expected<std::string> makePtx(llvm::StringRef bitcode);

/// CUDA's assembler: what TP_PTXAS names (nothing, if it is empty), or ptxas on
/// the path or in the toolkit that CUDA_HOME, CUDA_PATH or /usr/local/cuda is.
/// If there is none, the error says where it was looked for.
llvm::Expected<std::string> findPtxas();

/// The release that `ptxas --version` states, as "13.0.88"; empty if it states
/// none.
std::string getPtxasRelease(llvm::StringRef ptxas);

/// Assembles `ptx` for each of the architectures at once, in an hour at most or
/// what TP_PTXAS_SECONDS says. What the assembler
/// refuses is an error with its text and the kernel it stopped at; an
/// architecture that it does not know is left out and told to `onUnknown`, if
/// there is one.
llvm::Expected<std::vector<Cubin>> assemblePtx(
    llvm::StringRef ptxas, llvm::StringRef ptx,
    llvm::ArrayRef<std::string> architectures,
    llvm::function_ref<void(llvm::StringRef architecture)> onUnknown = {});

/// Compiles `gpu.module @kernels` of `module`, after buildGpuToLLVM. Emits
/// errors, and a remark on what is left out, on the module.
mlir::FailureOr<DeviceCode>
compileDevice(mlir::ModuleOp module, const CudaArchitectures &architectures);

} // namespace tp

#endif // TP_TARGET_CUDA_DEVICECODE_H
