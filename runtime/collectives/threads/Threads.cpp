//===- Threads.cpp - ranks that are threads of one process ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The default backend: nothing to install, buffers are read where they lie.
// Groups on the heap; an address is its own offset. An error is kept, and every
// wait returns it.
//
//===----------------------------------------------------------------------===//

#include "../BackendTable.h"
#include "../SharedGroup.h"

#include <map>

using namespace tprt;

namespace {

class ThreadBackend : public SharedBackend {
public:
  ThreadBackend(int64_t ranks, double timeoutSeconds, Describe describe);

  void abort(const Status &status) override;
  void reset() override;

protected:
  Expected<GroupState> group(const std::vector<int64_t> &members) override;

private:
  struct Group {
    explicit Group(size_t members) : slots(members) {}
    Barrier barrier{};
    std::vector<GroupSlot> slots;
  };
  std::vector<Position> where;
  std::atomic<uint32_t> stop = 0;
  // The mutex guards them too.
  std::map<std::vector<int64_t>, Group> groups;
};

} // namespace

ThreadBackend::ThreadBackend(int64_t count, double timeoutSeconds,
                             Describe describe)
    : SharedBackend(count, timeoutSeconds, std::move(describe)), where(count) {
  positions = where.data();
  aborted = &stop;
}

Expected<GroupState> ThreadBackend::group(const std::vector<int64_t> &members) {
  std::lock_guard lock(mutex);
  Group &made = groups.try_emplace(members, members.size()).first->second;
  return GroupState{&made.barrier, made.slots.data()};
}

void ThreadBackend::abort(const Status &status) {
  Backend::abort(status);
  std::lock_guard lock(mutex);
  stop = 1;
  for (auto &[members, made] : groups)
    made.barrier.wake(/*oneProcess=*/true);
}

void ThreadBackend::reset() {
  std::lock_guard lock(mutex);
  first = {};
  stop = 0;
  for (Position &position : where) {
    position.id = -1;
    position.inside = false;
  }
  for (auto &[members, made] : groups) {
    made.barrier.arrived = 0;
    for (GroupSlot &slot : made.slots)
      slot.arrivals = 0;
  }
}

namespace tprt {
Expected<std::unique_ptr<Backend>>
connectThreads(const BackendOptions &options) {
  return std::make_unique<ThreadBackend>(
      options.ranks, options.waits.timeoutSeconds, options.waits.describe);
}
} // namespace tprt
