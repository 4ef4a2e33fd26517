//===- Threads.h - ranks that are threads of one process --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The default backend: nothing to install, buffers are read where they lie. A
// wait spins briefly, yields, then sleeps on a futex, as there may be more
// ranks than cores. Every wait ends: by arrival, by a rank's error, or by the
// time limit, with the rank that is missing and where it was last seen.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_THREADS_THREADS_H
#define TPRT_COLLECTIVES_THREADS_THREADS_H

#include "../Communicator.h"

#include <functional>

namespace tprt {

class ThreadGroup;

/// What the ranks of one program share.
class ThreadHub {
public:
  /// Waits longer than `timeoutSeconds` end the run; `describe` says what a
  /// site is in messages.
  ThreadHub(int64_t ranks, double timeoutSeconds,
            std::function<std::string(CallSite)> describe);
  ~ThreadHub();

  int64_t size() const;
  /// The World of one rank; outlived by the hub.
  std::unique_ptr<World> world(int64_t rank);

  /// The first error that a rank reported, or success.
  Status failure() const;
  /// Forgets errors and positions, for the next run. No rank may be inside.
  void reset();

  struct State;

private:
  std::unique_ptr<State> state;
};

} // namespace tprt

#endif // TPRT_COLLECTIVES_THREADS_THREADS_H
