//===- Timing.h - seconds of a contestant -----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The clock that all benchmarks share, so that their ratios are of one kind.
//
//===----------------------------------------------------------------------===//

#ifndef BENCHMARKS_TIMING_H
#define BENCHMARKS_TIMING_H

#include <chrono>
#include <functional>

namespace tprt {

using Clock = std::chrono::steady_clock;

/// Wall time of one run of `work`.
inline double secondsOf(const std::function<void()> &work) {
  auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

} // namespace tprt

#endif // BENCHMARKS_TIMING_H
