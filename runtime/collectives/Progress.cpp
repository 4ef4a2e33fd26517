//===- Progress.cpp - a thread that calls go on in ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The next call is run by whichever comes first, the thread or the step that
// waits for it. A call that is awaited at once costs no change of threads.
//
//===----------------------------------------------------------------------===//

#include "Progress.h"

#include "../support/Parallel.h"

#include <pthread.h>

using namespace tprt;

Progress::~Progress() {
  {
    std::lock_guard lock(mutex);
    quit = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

void Progress::runFirst(std::unique_lock<std::mutex> &lock) {
  Call call = std::move(calls.front());
  calls.pop_front();
  busy = true;
  lock.unlock();
  Status status = caught(call);
  lock.lock();
  busy = false;
  results[++ended] = std::move(status);
  changed.notify_all();
}

template <typename Done>
void Progress::help(std::unique_lock<std::mutex> &lock, Done done) {
  ++waiting;
  while (!done()) {
    if (busy || calls.empty())
      changed.wait(lock);
    else
      runFirst(lock);
  }
  --waiting;
}

void Progress::loop() {
  pthread_setname_np(pthread_self(), "rank-progress");
  setWorkers(1);
  std::unique_lock lock(mutex);
  while (!quit || !calls.empty()) {
    if (busy || calls.empty())
      changed.wait(lock);
    else
      runFirst(lock);
  }
}

uint64_t Progress::start(Call call) {
  std::lock_guard lock(mutex);
  if (!thread.joinable())
    thread = std::thread([this] { loop(); });
  calls.push_back(std::move(call));
  changed.notify_all();
  return ++started;
}

Status Progress::finish(uint64_t ticket) {
  std::unique_lock lock(mutex);
  help(lock, [&] { return ended >= ticket; });
  auto found = results.find(ticket);
  Status status = std::move(found->second);
  results.erase(found);
  return status;
}

Status Progress::run(const Call &call) {
  std::unique_lock lock(mutex);
  help(lock, [&] { return !busy && calls.empty(); });
  busy = true;
  lock.unlock();
  ++waiting;
  Status status = caught(call);
  --waiting;
  lock.lock();
  busy = false;
  if (!calls.empty())
    changed.notify_all();
  return status;
}

void Progress::drain() {
  std::unique_lock lock(mutex);
  help(lock, [&] { return !busy && calls.empty(); });
  results.clear();
}
