//===- Barrier.h - where ranks with common memory wait ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sense-reversing barrier that lies in memory which all ranks map. A wait
// spins briefly, yields, then sleeps on a futex, as there may be more ranks
// than cores. It always ends: by arrival, by an abort or by the time limit.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_BARRIER_H
#define TPRT_COLLECTIVES_BARRIER_H

#include <atomic>
#include <cstdint>

namespace tprt {

/// Valid when zero.
struct Barrier {
  enum class Result { Passed, Aborted, TimedOut };
  struct Options {
    bool oneProcess; ///< the futex is private
    bool crowded;    ///< more ranks than cores: do not spin
    double timeout;  ///< in seconds
    const std::atomic<uint32_t> &aborted;
  };

  /// Waits for `ranks` arrivals, this one among them.
  Result arrive(int64_t ranks, const Options &options);
  /// Ends the sleep of those who wait.
  void wake(bool oneProcess);

  alignas(64) std::atomic<uint32_t> arrived;
  alignas(64) std::atomic<uint32_t> generation;
  std::atomic<uint32_t> sleepers;
};

} // namespace tprt

#endif // TPRT_COLLECTIVES_BARRIER_H
