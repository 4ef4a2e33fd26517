//===- LoadProgress.h - how loading goes ------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Large checkpoints take minutes: rank 0 says on standard error how far it is.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_RANK_LOADPROGRESS_H
#define TPRT_RANK_LOADPROGRESS_H

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <unistd.h>

namespace tprt {

/// Says nothing of what is done within two seconds, and then is silent for two
/// seconds on a terminal and for ten in a log.
class LoadProgress {
public:
  LoadProgress(int64_t rank, int64_t total) : rank(rank), total(total) {}
  void operator()(int64_t done) {
    auto now = Clock::now();
    double silent = std::chrono::duration<double>(now - last).count();
    bool spoke = last != start;
    double interval = spoke && !isTerminal ? kLogSeconds : kSeconds;
    if (rank != 0 || (silent < interval && !(spoke && done == total)))
      return;
    last = now;
    double seconds = std::chrono::duration<double>(now - start).count();
    std::fprintf(
        stderr, "tp-run: rank 0: weights: %.2f of %.2f GB, %.2f GB/s\n",
        double(done) / 1e9, double(total) / 1e9, double(done) / 1e9 / seconds);
  }

private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kSeconds = 2, kLogSeconds = 10;
  bool isTerminal = isatty(STDERR_FILENO);
  int64_t rank, total;
  Clock::time_point start = Clock::now(), last = start;
};

} // namespace tprt

#endif // TPRT_RANK_LOADPROGRESS_H
