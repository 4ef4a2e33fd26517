//===- Generator.h - requests in, tokens out --------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread of its own takes steps as long as there is something to compute.
// What is submitted or cancelled meanwhile counts from the next step on. All
// functions may be called from any thread.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_GENERATION_GENERATOR_H
#define TPRT_GENERATION_GENERATOR_H

#include "Scheduler.h"

#include <condition_variable>
#include <optional>
#include <thread>

namespace tprt::generation {

/// Errors of a request that may be taken later, and of one after drain().
constexpr Code kQueueFull = Code(6), kDrained = Code(7);

class Generator {
public:
  /// At most `queue` requests wait for their first step.
  Generator(const Generation &program, std::unique_ptr<StepModel> model,
            int64_t queue = 1024);
  /// Ends after the step that runs; requests that are not finished are dropped.
  ~Generator();

  /// Takes all of the requests or none; they are scheduled together. Returns
  /// their numbers, which rise from 1. An error names the first bad request,
  /// by `name` and its position, where there are several.
  Expected<std::vector<uint64_t>> submit(std::vector<Request> requests);
  /// Ends a request within a step: its last event says that it is cancelled,
  /// unless it has ended already.
  void cancel(uint64_t request);
  /// The next event of any request; none if there was none for so long, or if
  /// none can come any more as the generator is drained. After a failure of the
  /// program, such as a rank that was lost, also while nothing ran, that is the
  /// error, once the events before it are had.
  Expected<std::optional<Event>> next(double seconds);
  /// Refuses requests from now on; those taken go on.
  void drain();
  /// True if all events of all requests have been had.
  bool isDone() const;
  Statistics statistics() const { return shared.get(); }

private:
  Status work();
  bool takeOrders(std::vector<Event> &events);
  void tell(std::vector<Event> &made);
  Status failure() const;

  const Generation program;
  std::unique_ptr<StepModel> model;
  SharedStatistics shared;
  Scheduler scheduler; ///< the thread's own
  const int64_t queue;

  mutable std::mutex mutex; // guards what follows
  std::condition_variable ordered, told;
  std::vector<std::pair<uint64_t, Request>> incoming;
  std::vector<uint64_t> cancelled;
  std::deque<Event> events;
  uint64_t last = 0;
  int64_t active = 0; ///< requests without a last event
  int64_t queued = 0; ///< of them, those that the scheduler lets wait
  bool draining = false, closing = false;
  Status failed;
  std::thread thread; // last: it uses all of this
};

} // namespace tprt::generation

#endif // TPRT_GENERATION_GENERATOR_H
