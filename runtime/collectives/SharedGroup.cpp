//===- SharedGroup.cpp - ranks with common memory -------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group is a sense-reversing barrier with a slot per member. A collective is:
// publish the buffers and the call's site, barrier, check that all members are
// at the same site, do one's share, barrier. A buffer that the others cannot
// read is copied through one that they can.
//
//===----------------------------------------------------------------------===//

#include "SharedGroup.h"

#include "LocalCollective.h"

#include <chrono>
#include <climits>
#include <cstring>
#include <linux/futex.h>
#include <map>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using namespace tprt;

namespace {

constexpr int kSpins = 2000, kYields = 50;
constexpr long kSleepNanoseconds = 20'000'000;

static_assert(sizeof(std::atomic<uint32_t>) == 4);

void futexWait(std::atomic<uint32_t> &word, uint32_t expected, int flag) {
  timespec limit{0, kSleepNanoseconds};
  syscall(SYS_futex, &word, FUTEX_WAIT | flag, expected, &limit, nullptr, 0);
}

void futexWake(std::atomic<uint32_t> &word, int flag) {
  syscall(SYS_futex, &word, FUTEX_WAKE | flag, INT_MAX, nullptr, nullptr, 0);
}

} // namespace

//===----------------------------------------------------------------------===//
// The group
//===----------------------------------------------------------------------===//

void SharedGroup::wake() {
  futexWake(state.generation, hub.oneProcess ? FUTEX_PRIVATE_FLAG : 0);
}

void SharedGroup::reset() {
  state.arrived = 0;
  for (size_t i = 0; i < members.size(); ++i)
    slots[i].arrivals = 0;
}

Status SharedGroup::fail(const Status &status) {
  hub.abort(status);
  return hub.failure();
}

Status SharedGroup::barrier(int64_t self) {
  if (*hub.aborted)
    return hub.failure();
  int flag = hub.oneProcess ? FUTEX_PRIVATE_FLAG : 0;
  slots[self].arrivals.fetch_add(1, std::memory_order_relaxed);
  uint32_t mine = state.generation.load(std::memory_order_relaxed);
  if (state.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 ==
      members.size()) {
    state.arrived.store(0, std::memory_order_relaxed);
    state.generation.store(mine + 1);
    if (state.sleepers.load() > 0)
      futexWake(state.generation, flag);
    return {};
  }
  auto passed = [&] {
    return state.generation.load(std::memory_order_acquire) != mine;
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
    if (*hub.aborted)
      return hub.failure();
    std::chrono::duration<double> waited =
        std::chrono::steady_clock::now() - start;
    if (waited.count() > hub.timeout)
      return fail(missing(self));
    ++state.sleepers;
    futexWait(state.generation, mine, flag);
    --state.sleepers;
  }
  return {};
}

std::string SharedHub::lastSeen(int64_t rank) const {
  const Position &position = positions[rank];
  return (position.inside ? "in " : "after ") +
         describe({position.id, position.layer});
}

/// Names the members that have not arrived and where they were last seen.
Status SharedGroup::missing(int64_t self) {
  uint64_t mine = slots[self].arrivals;
  std::string text;
  for (size_t i = 0; i < members.size(); ++i)
    if (slots[i].arrivals < mine)
      text += (text.empty() ? "rank " : "; rank ") +
              std::to_string(members[i]) + " did not arrive within " +
              detail::join(hub.timeout) + " s, last seen " +
              hub.lastSeen(members[i]);
  return lostError("rank ", members[self], " waited in ",
                   hub.describe(slots[self].site), ": ", text);
}

Status SharedGroup::run(int64_t self, const Collective &entry, CallSite site,
                        const void *in, void *out,
                        std::vector<const void *> &ins,
                        std::vector<void *> &outs) {
  GroupSlot &slot = slots[self];
  slot.in = uint64_t(in) - uint64_t(hub.base);
  slot.out = uint64_t(out) - uint64_t(hub.base);
  slot.site = site;
  Position &position = hub.positions[members[self]];
  position.id.store(site.id, std::memory_order_relaxed);
  position.layer.store(site.layer, std::memory_order_relaxed);
  position.inside.store(true, std::memory_order_relaxed);
  TPRT_TRY(barrier(self));
  for (size_t i = 0; i < members.size(); ++i) {
    if (!(slots[i].site == site))
      return fail(lostError("ranks disagree: rank ", members[self], " is in ",
                            hub.describe(site), ", rank ", members[i], " in ",
                            hub.describe(slots[i].site)));
    // In integers: threads count from address 0, which is no object.
    ins[i] = reinterpret_cast<const void *>(uint64_t(hub.base) + slots[i].in);
    outs[i] = reinterpret_cast<void *>(uint64_t(hub.base) + slots[i].out);
  }
  runLocally(entry, self, ins, outs);
  TPRT_TRY(barrier(self));
  position.inside.store(false, std::memory_order_relaxed);
  return {};
}

Status SharedGroup::agree(int64_t self, uint64_t value, const char *what) {
  slots[self].value = value;
  slots[self].site = {};
  TPRT_TRY(barrier(self));
  // What most ranks bring counts as right, the first of equals.
  std::map<uint64_t, int64_t> votes;
  for (size_t i = 0; i < members.size(); ++i)
    ++votes[slots[i].value];
  if (votes.size() > 1) {
    uint64_t right = slots[0].value;
    for (size_t i = 0; i < members.size(); ++i)
      if (votes[slots[i].value] > votes[right])
        right = slots[i].value;
    std::string text;
    for (size_t i = 0; i < members.size(); ++i)
      if (slots[i].value != right)
        text +=
            (text.empty() ? "rank " : ", rank ") + std::to_string(members[i]);
    return fail(lostError("the ranks do not agree on ", what, ": ", text,
                          " differs from the other ", votes[right]));
  }
  return barrier(self);
}

//===----------------------------------------------------------------------===//
// A rank's view
//===----------------------------------------------------------------------===//

namespace {

class SharedCommunicator : public Communicator {
public:
  /// Offsets of buffers must lie below `extent` from `base`.
  SharedCommunicator(SharedGroup &group, int64_t self, const char *base,
                     uint64_t extent)
      : group(group), self(self), base(base), extent(extent),
        ins(group.members.size()), outs(group.members.size()) {}

  Status run(const Collective &entry, CallSite site, const void *input,
             void *output) override {
    const void *in = input;
    void *out = output;
    int64_t inBytes = elementCount(entry.inputShape) * typeBytes(entry.type);
    if (!readable(input)) {
      TPRT_TRY(grow(copyIn, inBytes));
      std::memcpy(copyIn.data(), input, inBytes);
      in = copyIn.data();
    }
    // Only all_reduce writes to the buffers of others.
    bool copyBack =
        entry.kind == CollectiveKind::AllReduce && !readable(output);
    if (copyBack) {
      TPRT_TRY(grow(copyOut, inBytes));
      out = copyOut.data();
    }
    TPRT_TRY(group.run(self, entry, site, in, out, ins, outs));
    if (copyBack)
      std::memcpy(output, out, inBytes);
    return {};
  }

private:
  bool readable(const void *p) const {
    return uint64_t(p) - uint64_t(base) < extent;
  }
  Status grow(Buffer &buffer, int64_t bytes) {
    if (bytes <= buffer.size())
      return {};
    auto larger = group.hub.allocate(group.members[self], bytes);
    if (!larger)
      return larger.status();
    buffer = std::move(*larger);
    return {};
  }

  SharedGroup &group;
  int64_t self;
  const char *base;
  uint64_t extent;
  Buffer copyIn, copyOut;
  std::vector<const void *> ins;
  std::vector<void *> outs;
};

class SharedWorld : public World {
public:
  SharedWorld(SharedHub &hub, int64_t rank, const char *base, uint64_t extent)
      : hub(hub), self(rank), base(base), extent(extent) {}

  int64_t rank() const override { return self; }
  int64_t size() const override { return hub.size(); }

  Expected<std::unique_ptr<Communicator>>
  communicator(const std::vector<int64_t> &members) override {
    auto group = hub.group(members);
    if (!group)
      return group.status();
    for (size_t i = 0; i < members.size(); ++i)
      if (members[i] == self)
        return std::unique_ptr<Communicator>(
            std::make_unique<SharedCommunicator>(**group, i, base, extent));
    return internalError("rank ", self, " is not in its own group");
  }

  Status agree(uint64_t value, const char *what) override {
    if (!everyone) {
      std::vector<int64_t> all(hub.size());
      for (int64_t i = 0; i < hub.size(); ++i)
        all[i] = i;
      auto group = hub.group(all);
      if (!group)
        return group.status();
      everyone = *group;
    }
    return everyone->agree(self, value, what);
  }

  Expected<Buffer> allocate(int64_t bytes) override {
    return hub.allocate(self, bytes);
  }

  void abort(const Status &status) override { hub.abort(status); }

private:
  SharedHub &hub;
  int64_t self;
  const char *base;
  uint64_t extent;
  SharedGroup *everyone = nullptr;
};

} // namespace

std::unique_ptr<World> SharedHub::world(int64_t rank) {
  return std::make_unique<SharedWorld>(*this, rank, base, extent);
}
