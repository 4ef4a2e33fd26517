//===- RankThreads.h - a lasting thread per rank ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The thread pool of a rank belongs to the thread that started it, so that a
// rank keeps one thread from load to the last step.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SESSION_RANKTHREADS_H
#define TPRT_SESSION_RANKTHREADS_H

#include "../support/Cores.h"
#include "tprt/status.h"

#include <functional>
#include <memory>

namespace tprt {

class RankThreads {
public:
  /// A rank per share, whose parallel loops run on it.
  explicit RankThreads(const std::vector<CoreShare> &shares);
  /// Waits for the threads, or leaves those behind that never came back.
  ~RankThreads();

  /// Runs job(rank) on every rank and waits. Once `failed()` is true, waits
  /// only `graceSeconds` more; returns false if some rank did not come back,
  /// after which the threads must not be used again.
  bool run(std::function<void(int64_t)> job,
           const std::function<bool()> &failed, double graceSeconds);

private:
  struct State;
  std::shared_ptr<State> state;
};

} // namespace tprt

#endif // TPRT_SESSION_RANKTHREADS_H
