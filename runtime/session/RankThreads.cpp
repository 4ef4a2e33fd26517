//===- RankThreads.cpp - a lasting thread per rank ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stalled rank cannot be stopped from outside. Its thread is left behind,
// with what it needs kept alive by shared ownership.
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"

#include "../support/Parallel.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

using namespace tprt;

struct RankThreads::State {
  std::mutex mutex;
  std::condition_variable wake, finished;
  std::function<void(int64_t)> job;
  uint64_t round = 0;
  int64_t running = 0;
  bool quit = false, lost = false;
  std::vector<std::thread> threads;
};

RankThreads::RankThreads(const std::vector<CoreShare> &shares)
    : state(std::make_shared<State>()) {
  for (int64_t rank = 0; rank < int64_t(shares.size()); ++rank)
    state->threads.emplace_back([state = state, rank, share = shares[rank]] {
      // First, as the threads of its loops inherit it.
      runOn(share.cores);
      setWorkers(share.threads);
      pthread_setname_np(pthread_self(), "rank");
      uint64_t seen = 0;
      while (true) {
        std::function<void(int64_t)> job;
        {
          std::unique_lock lock(state->mutex);
          state->wake.wait(lock,
                           [&] { return state->quit || state->round != seen; });
          if (state->quit)
            return;
          seen = state->round;
          job = state->job;
        }
        job(rank);
        std::lock_guard lock(state->mutex);
        if (--state->running == 0)
          state->finished.notify_all();
      }
    });
}

RankThreads::~RankThreads() {
  {
    std::lock_guard lock(state->mutex);
    state->quit = true;
    state->wake.notify_all();
  }
  for (std::thread &thread : state->threads) {
    if (state->lost)
      thread.detach();
    else
      thread.join();
  }
}

bool RankThreads::run(std::function<void(int64_t)> job,
                      const std::function<bool()> &failed,
                      double graceSeconds) {
  using Clock = std::chrono::steady_clock;
  std::unique_lock lock(state->mutex);
  state->job = std::move(job);
  state->running = int64_t(state->threads.size());
  ++state->round;
  state->wake.notify_all();
  auto done = [&] { return state->running == 0; };
  std::optional<Clock::time_point> deadline;
  while (!state->finished.wait_for(lock, std::chrono::milliseconds(50), done)) {
    if (!deadline && failed())
      deadline =
          Clock::now() + std::chrono::microseconds(int64_t(graceSeconds * 1e6));
    if (deadline && Clock::now() > *deadline) {
      state->lost = true;
      return false;
    }
  }
  return true;
}
