//===- Progress.h - a thread that calls go on in ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of a library that moves bytes only while it is called, MPI, go on
// beside the step in a thread of their own. There is one for each rank, started
// with the first such call. It runs the calls one by one in the order in which
// they were started, so that all ranks make them in one order, and sleeps while
// there are none. Never do two threads run calls at once.
//
// It computes in a team of one: the rank's cores belong to the step.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_PROGRESS_H
#define TPRT_COLLECTIVES_PROGRESS_H

#include "tprt/status.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace tprt {

class Progress {
public:
  using Call = std::function<Status()>;

  Progress() = default;
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  /// Runs what is left, then ends the thread.
  ~Progress();

  /// Starts a call; the ticket of `finish`.
  uint64_t start(Call call);
  /// Waits until the call of `ticket` has ended and returns its error. What
  /// nobody runs yet is run here. Once for each ticket.
  Status finish(uint64_t ticket);
  /// Runs a call at once, behind all that were started, on this thread.
  Status run(const Call &call);
  /// Waits until no call is left, and forgets their errors.
  void drain();

  /// True if the step waits for the call that is running: then it need not
  /// leave the core to the step.
  bool isAwaited() const { return waiting > 0; }

private:
  /// Runs the first call, which nobody runs yet; with `lock` held before and
  /// after.
  void runFirst(std::unique_lock<std::mutex> &lock);
  /// Until `done` holds, runs what nobody runs, or waits.
  template <typename Done>
  void help(std::unique_lock<std::mutex> &lock, Done done);
  void loop();

  std::mutex mutex; // guards all but `waiting`
  std::condition_variable changed;
  std::deque<Call> calls;
  uint64_t started = 0, ended = 0;    ///< tickets; the first is 1
  std::map<uint64_t, Status> results; ///< of those that nobody asked for yet
  bool busy = false, quit = false;
  std::atomic<int> waiting = 0;
  std::thread thread;
};

} // namespace tprt

#endif // TPRT_COLLECTIVES_PROGRESS_H
