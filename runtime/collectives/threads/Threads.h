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

#include "../SharedGroup.h"

#include <map>

namespace tprt {

class ThreadBackend : public SharedBackend {
public:
  /// Waits longer than `timeoutSeconds` end the run; `describe` says what a
  /// site is in messages.
  ThreadBackend(int64_t ranks, double timeoutSeconds, Describe describe);
  ~ThreadBackend() override;

  void abort(const Status &status) override;
  void reset() override;
  Expected<SharedGroup *> group(const std::vector<int64_t> &members) override;
  Expected<Buffer> allocate(int64_t rank, int64_t bytes) override {
    return Buffer::allocate(bytes);
  }

private:
  struct Group;
  std::vector<Position> where;
  std::atomic<uint32_t> stop = 0;
  // The mutex guards them too.
  std::map<std::vector<int64_t>, std::unique_ptr<Group>> groups;
};

} // namespace tprt

#endif // TPRT_COLLECTIVES_THREADS_THREADS_H
