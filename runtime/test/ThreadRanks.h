//===- ThreadRanks.h - ranks as threads of a test ---------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_THREADRANKS_H
#define TPRT_TEST_THREADRANKS_H

#include "../collectives/BackendTable.h"
#include "../support/Parallel.h"

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tprt::test {

inline std::string describe(CallSite site) {
  return "call " + std::to_string(site.id) + " layer " +
         std::to_string(site.layer);
}

/// Makes a backend whose ranks are threads, and whose waits end in time.
inline std::unique_ptr<Backend> threads(int64_t ranks, double timeoutSeconds) {
  BackendOptions options;
  options.backend = "threads";
  options.ranks = ranks;
  options.waits = {timeoutSeconds, describe};
  return std::move(*makeBackend(options));
}

/// Runs job(rank) on a thread per rank, every other one with two workers.
inline void onRanks(Backend &backend, const std::function<void(int64_t)> &job) {
  std::vector<std::thread> threads;
  for (int64_t r = 0; r < backend.size(); ++r)
    threads.emplace_back([&, r] {
      setWorkers(1 + r % 2);
      job(r);
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace tprt::test

#endif // TPRT_TEST_THREADRANKS_H
