//===- Run.h - A recorded call on emulated kernels --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts operands into memory as the runtime would, launches the kernel, and
// compares what it wrote.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_EMULATOR_CHECK_RUN_H
#define TP_TEST_EMULATOR_CHECK_RUN_H

#include "Emulator.h"
#include "Record.h"

namespace tp::emulator {

/// How a kernel is started.
struct KernelLaunch {
  TpEmulatorDim grid{1, 1, 1}, block{1, 1, 1};
  uint32_t sharedBytes = 0;
  std::string code;             ///< the kernel that is started
  std::vector<int64_t> numbers; ///< its arguments behind those of the call
};

struct Outcome {
  /// Findings of the emulator, then differences.
  std::vector<std::string> problems;
  /// The largest difference, as a part of what was allowed.
  double worst = 0;
};

/// Runs one call of a row kernel. `inPlace`: results lie where the operands
/// that they replace are.
Outcome runRows(const TpEmulator *emulator, const KernelLaunch &launch,
                const KernelCall &call, bool inPlace, uint64_t seed);

/// How attention is called beside what the program says.
struct AttentionVariant {
  std::string name;
  int64_t keyLength = 0;   ///< of the capacity
  int64_t extraStride = 0; ///< elements between rows that are not the tensor's
  bool wantsLse = false;
};
/// Runs one call of attention; `results` are its result and, if wanted, the
/// log-sum-exp.
/// `launches` start the kernels of the call, in order.
Outcome runAttention(const TpEmulator *emulator,
                     llvm::ArrayRef<KernelLaunch> launches,
                     const KernelCall &call, const AttentionVariant &variant,
                     llvm::ArrayRef<ExpectedResult> results, uint64_t seed);

/// Runs one call of another operation that has kernels, with the arguments that
/// the step would give it. `inPlace`: results lie where the operands that they
/// replace are.
Outcome runLibrary(const TpEmulator *emulator,
                   llvm::ArrayRef<KernelLaunch> launches,
                   const KernelCall &call, bool inPlace, uint64_t seed);

} // namespace tp::emulator

#endif // TP_TEST_EMULATOR_CHECK_RUN_H
