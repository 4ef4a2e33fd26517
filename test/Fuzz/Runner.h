//===- Runner.h - Trials in child processes ---------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A child runs trials one after the other and writes each as a line. One that
// dies or takes too long costs its own trial; the next child goes on behind it.
// The context is made before the fork, so that a child costs nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FUZZ_RUNNER_H
#define TP_TEST_FUZZ_RUNNER_H

#include "Trial.h"
#include <functional>

namespace tp::fuzz {

struct RunnerOptions {
  uint64_t first = 1;
  uint64_t count = 1;
  /// Seconds that one trial may take.
  double timeout = 10;
};

/// Run trials of consecutive seeds and hand each to `visit`, in order.
/// `context` must not use threads.
void runTrials(const RunnerOptions &options,
               llvm::function_ref<Trial(uint64_t seed)> run,
               llvm::function_ref<void(const Trial &)> visit);

} // namespace tp::fuzz

#endif // TP_TEST_FUZZ_RUNNER_H
