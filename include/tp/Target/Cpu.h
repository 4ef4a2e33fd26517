//===- Cpu.h - Which CPU code is made for -----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CPU target is a set of features, never a model: virtual machines report
// models that lack what the name promises.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TARGET_CPU_H
#define TP_TARGET_CPU_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace tp {

struct CpuTarget {
  std::string triple;
  /// LLVM's names of the features that the code may use, all of those that
  /// tprt/features.def knows.
  llvm::SmallVector<std::string> features;
  /// Width of its vector registers.
  int64_t vectorBits = 256;
};

/// The CPU that `text` names: "cpu" and "cpu:native" for this machine,
/// "cpu:x86-64-v3" and "-v4" for the levels of the x86-64 psABI. Below -v3 the
/// conversions from and to f16 would be library calls. Reports through
/// `emitError` what is not known.
mlir::FailureOr<CpuTarget>
parseCpuTarget(llvm::StringRef text,
               llvm::function_ref<void(const llvm::Twine &)> emitError);

} // namespace tp

#endif // TP_TARGET_CPU_H
