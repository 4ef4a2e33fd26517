//===- Generator.cpp - requests in, tokens out ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generator.h"

using namespace tprt;
using namespace tprt::generation;

Generator::Generator(const Generation &program, std::unique_ptr<StepModel> own,
                     int64_t queue)
    : program(program), model(std::move(own)),
      scheduler(program, *model, shared), queue(queue) {
  thread = std::thread([this] { work(); });
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
  TPRT_TRY(failed);
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
  std::unique_lock lock(mutex);
  told.wait_for(lock, std::chrono::duration<double>(seconds), [&] {
    return !events.empty() || !failed.ok() || (draining && active == 0);
  });
  if (events.empty()) {
    TPRT_TRY(failed);
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

void Generator::work() {
  pthread_setname_np(pthread_self(), "generate");
  std::vector<Event> made;
  while (takeOrders(made)) {
    Status status;
    try {
      status = scheduler.step(made);
    } catch (const std::exception &error) { // no memory
      status = internalError(error.what());
    }
    std::lock_guard lock(mutex);
    for (Event &event : made) {
      active -= event.finish != Finish::None;
      events.push_back(std::move(event));
    }
    made.clear();
    queued = scheduler.queued();
    failed = status;
    told.notify_all();
    if (!status.ok())
      return;
  }
  model->end();
}
