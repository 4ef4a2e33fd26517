//===- Target.h - What code is made for -------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU alone, or a CUDA device and the CPU that drives it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TARGET_TARGET_H
#define TP_TARGET_TARGET_H

#include "tp/Target/Cpu.h"
#include "tp/Target/Device.h"

namespace tp {

/// Architectures that kernels are assembled for; PTX is made always.
struct CudaTarget {
  /// As ptxas names them: "sm_80".
  llvm::SmallVector<std::string> architectures;
  /// They were asked for by name: without ptxas they cannot be had, which is an
  /// error then. Otherwise PTX is made alone.
  bool isExplicit = false;
};

struct Target {
  Device device = Device::Cpu;
  /// What the step's code needs; no feature for a device, whose kernels do the
  /// work.
  CpuTarget cpu;
  CudaTarget cuda;
};

/// The target that `text` names: what parseCpuTarget takes, or "cuda",
/// "cuda:ptx" (no machine code) and "cuda:sm_90,...". Reports through
/// `emitError` what is not known.
mlir::FailureOr<Target>
parseTarget(llvm::StringRef text,
            llvm::function_ref<void(const llvm::Twine &)> emitError);

} // namespace tp

#endif // TP_TARGET_TARGET_H
