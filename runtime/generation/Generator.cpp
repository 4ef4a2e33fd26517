//===- Generator.cpp - requests in, tokens out ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"

#include <algorithm>
#include <chrono>

using namespace tprt;
using namespace tprt::generation;

Generator::Generator(const Generation &program, std::unique_ptr<StepModel> own,
                     int64_t queue)
    : program(program), model(std::move(own)),
      scheduler(program, *model, shared), queue(queue) {
  thread = std::thread([this] {
    pthread_setname_np(pthread_self(), "generate");
    Status status = caught([this] { return work(); });
    if (status.ok())
      return model->end();
    // It may be this rank's alone, and the others wait for its next order.
    model->abort(status);
    std::lock_guard lock(mutex);
    failed = status;
    told.notify_all();
  });
}

Generator::~Generator() {
  {
    std::lock_guard lock(mutex);
    closing = true;
    ordered.notify_all();
  }
  thread.join();
}

Expected<std::vector<uint64_t>>
Generator::submit(std::vector<Request> requests) {
  for (size_t i = 0; i < requests.size(); ++i)
    if (Status status = checkRequest(program, requests[i]); !status.ok())
      return requests.size() == 1 ? status
                                  : status.in("prompt " + std::to_string(i));
  std::lock_guard lock(mutex);
  TPRT_TRY(failure());
  if (draining)
    return Status(kDrained,
                  "the generator takes no more requests: it is drained");
  int64_t waiting = queued + int64_t(incoming.size());
  if (waiting + int64_t(requests.size()) > queue)
    return Status(kQueueFull,
                  detail::join("the queue is full: ", waiting, " of at most ",
                               queue, " requests wait"));
  std::vector<uint64_t> numbers;
  for (Request &request : requests) {
    numbers.push_back(++last);
    incoming.push_back({last, std::move(request)});
  }
  active += int64_t(numbers.size());
  ordered.notify_all();
  return numbers;
}

void Generator::cancel(uint64_t request) {
  std::lock_guard lock(mutex);
  cancelled.push_back(request);
  ordered.notify_all();
}

void Generator::drain() {
  std::lock_guard lock(mutex);
  draining = true;
  told.notify_all();
}

bool Generator::isDone() const {
  std::lock_guard lock(mutex);
  return active == 0 && events.empty();
}

Expected<std::optional<Event>> Generator::next(double seconds) {
  using Clock = std::chrono::steady_clock;
  // Nobody tells of a rank that is lost while nothing runs.
  constexpr double kLookSeconds = 0.05;
  std::unique_lock lock(mutex);
  auto start = Clock::now();
  auto isOver = [&] {
    return !events.empty() || !failure().ok() || (draining && active == 0);
  };
  for (double left = seconds; !isOver() && left > 0;
       left = seconds -
              std::chrono::duration<double>(Clock::now() - start).count())
    told.wait_for(lock,
                  std::chrono::duration<double>(std::min(left, kLookSeconds)));
  if (events.empty()) {
    TPRT_TRY(failure());
    return std::optional<Event>();
  }
  std::optional<Event> event = std::move(events.front());
  events.pop_front();
  return event;
}

/// Waits for something to do and gives the scheduler what was ordered; false:
/// the end.
bool Generator::takeOrders(std::vector<Event> &made) {
  std::unique_lock lock(mutex);
  ordered.wait(lock, [&] {
    return closing || !incoming.empty() || !cancelled.empty() ||
           !scheduler.idle();
  });
  if (closing)
    return false;
  for (auto &[number, request] : std::exchange(incoming, {}))
    scheduler.add(number, std::move(request));
  for (uint64_t number : std::exchange(cancelled, {}))
    scheduler.cancel(number, made);
  return true;
}

/// Passes on what a step has made.
void Generator::tell(std::vector<Event> &made) {
  std::lock_guard lock(mutex);
  for (Event &event : made) {
    active -= event.finish != Finish::None;
    events.push_back(std::move(event));
  }
  made.clear();
  queued = scheduler.queued();
  told.notify_all();
}

/// Until the generator closes, or an error that ends it.
Status Generator::work() {
  std::vector<Event> made;
  while (takeOrders(made)) {
    Status status = caught([&] { return scheduler.step(made); });
    tell(made);
    TPRT_TRY(status);
  }
  return {};
}

/// The mutex is held.
Status Generator::failure() const {
  TPRT_TRY(failed);
  return model->failure();
}
