//===- Barrier.cpp - where ranks with common memory wait ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last to arrive resets the count and starts the next generation.
//
//===----------------------------------------------------------------------===//

#include "SharedGroup.h"

#include <chrono>
#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using namespace tprt;
using Clock = std::chrono::steady_clock;

namespace {

/// Looks, a few microseconds in all, between two yields: a rank must not keep a
/// core that the one it waits for needs.
constexpr int kSpins = 100, kYields = 50;
constexpr long kSleepNanoseconds = 20'000'000;

static_assert(sizeof(std::atomic<uint32_t>) == 4);

int flagFor(bool oneProcess) { return oneProcess ? FUTEX_PRIVATE_FLAG : 0; }

void futexWait(std::atomic<uint32_t> &word, uint32_t expected, int flag) {
  timespec limit{0, kSleepNanoseconds};
  syscall(SYS_futex, &word, FUTEX_WAIT | flag, expected, &limit, nullptr, 0);
}

} // namespace

void Barrier::wake(bool oneProcess) {
  syscall(SYS_futex, &generation, FUTEX_WAKE | flagFor(oneProcess), INT_MAX,
          nullptr, nullptr, 0);
}

uint32_t Barrier::arrive(int64_t ranks, bool oneProcess) {
  uint32_t mine = generation.load(std::memory_order_relaxed);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks) {
    arrived.store(0, std::memory_order_relaxed);
    generation.store(mine + 1);
    if (sleepers.load() > 0)
      wake(oneProcess);
  }
  return mine;
}

Barrier::Result Barrier::pass(uint32_t mine, const Options &options) {
  auto passed = [&] {
    return generation.load(std::memory_order_acquire) != mine;
  };
  for (int i = 0; i < kYields; ++i) {
    for (int k = 0; k < (options.crowded ? 1 : kSpins); ++k) {
      if (passed())
        return Result::Passed;
      __builtin_ia32_pause();
    }
    std::this_thread::yield();
  }
  auto start = Clock::now();
  while (!passed()) {
    if (options.aborted)
      return Result::Aborted;
    std::chrono::duration<double> waited = Clock::now() - start;
    if (waited.count() > options.timeout)
      return Result::TimedOut;
    ++sleepers;
    futexWait(generation, mine, flagFor(options.oneProcess));
    --sleepers;
  }
  return Result::Passed;
}
