//===- Threads.cpp - ranks that are threads of one process ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group is a sense-reversing barrier with a slot per member. A collective is:
// publish the buffers and the call's site, barrier, check that all members are
// at the same site, do one's share, barrier.
//
//===----------------------------------------------------------------------===//

#include "Threads.h"

#include "../../core/Cpu.h"
#include "../LocalCollective.h"

#include <atomic>
#include <chrono>
#include <climits>
#include <linux/futex.h>
#include <map>
#include <mutex>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using namespace tprt;

namespace {

constexpr int kSpins = 2000, kYields = 50;
constexpr long kSleepNanoseconds = 20'000'000;

static_assert(sizeof(std::atomic<uint32_t>) == 4);

void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  timespec limit{0, kSleepNanoseconds};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &limit, nullptr, 0);
}

void futexWake(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

/// What a member shows the others; a cache line of its own.
struct alignas(64) Slot {
  const void *in = nullptr;
  void *out = nullptr;
  uint64_t value = 0;
  CallSite site;
  std::atomic<uint64_t> arrivals = 0;
};

/// Where a rank was last seen, for the report of a rank that is missing.
struct alignas(64) Position {
  std::atomic<int64_t> id = -1, layer = 0;
  std::atomic<bool> inside = false;
};

} // namespace

class tprt::ThreadGroup {
public:
  ThreadGroup(ThreadHub::State &hub, std::vector<int64_t> members)
      : hub(hub), members(std::move(members)), slots(this->members.size()) {}

  /// All members arrive before any leaves.
  Status barrier(int64_t self);
  void wake() { futexWake(generation); }
  void reset() {
    arrived = 0;
    for (Slot &slot : slots)
      slot.arrivals = 0;
  }

  ThreadHub::State &hub;
  const std::vector<int64_t> members;
  std::vector<Slot> slots;

private:
  Status missing(int64_t self);

  alignas(64) std::atomic<uint32_t> arrived = 0;
  alignas(64) std::atomic<uint32_t> generation = 0;
  std::atomic<uint32_t> sleepers = 0;
};

struct ThreadHub::State {
  int64_t ranks;
  double timeout;
  std::function<std::string(CallSite)> describe;
  bool crowded; ///< more ranks than cores: spinning only delays the others
  std::vector<Position> positions;

  std::atomic<bool> aborted = false;
  mutable std::mutex mutex; // guards what follows
  Status failure;
  std::map<std::vector<int64_t>, std::unique_ptr<ThreadGroup>> groups;

  ThreadGroup &group(const std::vector<int64_t> &members) {
    std::lock_guard lock(mutex);
    auto &slot = groups[members];
    if (!slot)
      slot = std::make_unique<ThreadGroup>(*this, members);
    return *slot;
  }

  void abort(const Status &status) {
    std::lock_guard lock(mutex);
    if (failure.ok())
      failure = status;
    aborted = true;
    for (auto &entry : groups)
      entry.second->wake();
  }

  Status failed() const {
    std::lock_guard lock(mutex);
    return failure;
  }
};

Status ThreadGroup::barrier(int64_t self) {
  if (hub.aborted)
    return hub.failed();
  slots[self].arrivals.fetch_add(1, std::memory_order_relaxed);
  uint32_t mine = generation.load(std::memory_order_relaxed);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == members.size()) {
    arrived.store(0, std::memory_order_relaxed);
    generation.store(mine + 1);
    if (sleepers.load() > 0)
      futexWake(generation);
    return {};
  }
  auto passed = [&] {
    return generation.load(std::memory_order_acquire) != mine;
  };
  for (int i = 0; i < (hub.crowded ? 1 : kSpins); ++i) {
    if (passed())
      return {};
    __builtin_ia32_pause();
  }
  for (int i = 0; i < kYields; ++i) {
    if (passed())
      return {};
    std::this_thread::yield();
  }
  auto start = std::chrono::steady_clock::now();
  while (!passed()) {
    if (hub.aborted)
      return hub.failed();
    std::chrono::duration<double> waited =
        std::chrono::steady_clock::now() - start;
    if (waited.count() > hub.timeout) {
      Status status = missing(self);
      hub.abort(status);
      return hub.failed();
    }
    ++sleepers;
    futexWait(generation, mine);
    --sleepers;
  }
  return {};
}

/// Names the members that have not arrived and where they were last seen.
Status ThreadGroup::missing(int64_t self) {
  uint64_t mine = slots[self].arrivals;
  std::string text;
  for (size_t i = 0; i < members.size(); ++i) {
    if (slots[i].arrivals >= mine)
      continue;
    const Position &position = hub.positions[members[i]];
    CallSite site{position.id, position.layer};
    text += (text.empty() ? "rank " : "; rank ") + std::to_string(members[i]) +
            " did not arrive within " + detail::join(hub.timeout) +
            " s, last seen " + (position.inside ? "in " : "after ") +
            hub.describe(site);
  }
  return lostError("rank ", members[self], " waited in ",
                   hub.describe(slots[self].site), ": ", text);
}

namespace {

class ThreadCommunicator : public Communicator {
public:
  ThreadCommunicator(ThreadGroup &group, int64_t self)
      : group(group), self(self), in(group.members.size()),
        out(group.members.size()) {}

  Status run(const Collective &entry, CallSite site, const void *input,
             void *output) override {
    Slot &slot = group.slots[self];
    slot.in = input;
    slot.out = output;
    slot.site = site;
    Position &position = group.hub.positions[group.members[self]];
    position.id = site.id;
    position.layer = site.layer;
    position.inside = true;
    TPRT_TRY(group.barrier(self));
    for (size_t i = 0; i < in.size(); ++i) {
      if (!(group.slots[i].site == site)) {
        Status status =
            lostError("ranks disagree: rank ", group.members[self], " is in ",
                      group.hub.describe(site), ", rank ", group.members[i],
                      " in ", group.hub.describe(group.slots[i].site));
        group.hub.abort(status);
        return group.hub.failed();
      }
      in[i] = group.slots[i].in;
      out[i] = group.slots[i].out;
    }
    runLocally(entry, self, in, out);
    TPRT_TRY(group.barrier(self));
    position.inside = false;
    return {};
  }

private:
  ThreadGroup &group;
  int64_t self;
  std::vector<const void *> in;
  std::vector<void *> out;
};

class ThreadWorld : public World {
public:
  ThreadWorld(ThreadHub::State &hub, int64_t rank)
      : hub(hub), self(rank), everyone(hub.group(all(hub.ranks))) {}

  int64_t rank() const override { return self; }
  int64_t size() const override { return hub.ranks; }

  Expected<std::unique_ptr<Communicator>>
  communicator(const std::vector<int64_t> &members) override {
    for (size_t i = 0; i < members.size(); ++i)
      if (members[i] == self)
        return std::unique_ptr<Communicator>(
            std::make_unique<ThreadCommunicator>(hub.group(members), i));
    return internalError("rank ", self, " is not in its own group");
  }

  Status agree(uint64_t value, const char *what) override {
    everyone.slots[self].value = value;
    everyone.slots[self].site = {};
    TPRT_TRY(everyone.barrier(self));
    Status status;
    for (int64_t other = 0; other < hub.ranks; ++other)
      if (status.ok() && everyone.slots[other].value != value)
        status = lostError("rank ", self, " and rank ", other,
                           " do not agree on ", what);
    if (!status.ok())
      hub.abort(status);
    TPRT_TRY(everyone.barrier(self));
    return status;
  }

  void abort(const Status &status) override { hub.abort(status); }

private:
  static std::vector<int64_t> all(int64_t ranks) {
    std::vector<int64_t> list(ranks);
    for (int64_t i = 0; i < ranks; ++i)
      list[i] = i;
    return list;
  }

  ThreadHub::State &hub;
  int64_t self;
  ThreadGroup &everyone;
};

} // namespace

ThreadHub::ThreadHub(int64_t ranks, double timeoutSeconds,
                     std::function<std::string(CallSite)> describe)
    : state(std::make_unique<State>()) {
  state->ranks = ranks;
  state->timeout = timeoutSeconds;
  state->describe = std::move(describe);
  state->crowded = ranks > availableCores();
  state->positions = std::vector<Position>(ranks);
}

ThreadHub::~ThreadHub() = default;

int64_t ThreadHub::size() const { return state->ranks; }

std::unique_ptr<World> ThreadHub::world(int64_t rank) {
  return std::make_unique<ThreadWorld>(*state, rank);
}

Status ThreadHub::failure() const { return state->failed(); }

void ThreadHub::reset() {
  std::lock_guard lock(state->mutex);
  state->failure = {};
  state->aborted = false;
  for (Position &position : state->positions) {
    position.id = -1;
    position.inside = false;
  }
  for (auto &entry : state->groups)
    entry.second->reset();
}
