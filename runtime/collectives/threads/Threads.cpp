//===- Threads.cpp - ranks that are threads of one process ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups on the heap; an address is its own offset. An error is kept, and every
// wait returns it.
//
//===----------------------------------------------------------------------===//

#include "Threads.h"

#include "../../support/Cores.h"
#include "../BackendTable.h"

using namespace tprt;

struct ThreadBackend::Group {
  Group(SharedBackend &backend, const std::vector<int64_t> &members)
      : slots(members.size()), view(backend, members, state, slots.data()) {}
  Barrier state{};
  std::vector<GroupSlot> slots;
  SharedGroup view;
};

ThreadBackend::ThreadBackend(int64_t count, double timeoutSeconds,
                             Describe describeSite)
    : where(count) {
  ranks = count;
  timeout = timeoutSeconds;
  describe = std::move(describeSite);
  crowded = count > availableCores();
  positions = where.data();
  aborted = &stop;
}

ThreadBackend::~ThreadBackend() = default;

Expected<SharedGroup *>
ThreadBackend::group(const std::vector<int64_t> &members) {
  std::lock_guard lock(mutex);
  auto &slot = groups[members];
  if (!slot)
    slot = std::make_unique<Group>(*this, members);
  return &slot->view;
}

void ThreadBackend::abort(const Status &status) {
  Backend::abort(status);
  std::lock_guard lock(mutex);
  stop = 1;
  for (auto &entry : groups)
    entry.second->view.wake();
}

void ThreadBackend::reset() {
  std::lock_guard lock(mutex);
  first = {};
  stop = 0;
  for (Position &position : where) {
    position.id = -1;
    position.inside = false;
  }
  for (auto &entry : groups)
    entry.second->view.reset();
}

namespace tprt {
Expected<std::unique_ptr<Backend>>
connectThreads(const BackendOptions &options) {
  return std::unique_ptr<Backend>(std::make_unique<ThreadBackend>(
      options.ranks, options.waits.timeoutSeconds, options.waits.describe));
}
} // namespace tprt
