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

#include <cstring>

using namespace tprt;

//===----------------------------------------------------------------------===//
// The group
//===----------------------------------------------------------------------===//

void SharedGroup::wake() { state.wake(backend.oneProcess); }

void SharedGroup::reset() {
  state.arrived = 0;
  for (size_t i = 0; i < members.size(); ++i)
    slots[i].arrivals = 0;
}

Status SharedGroup::fail(const Status &status) {
  backend.abort(status);
  return backend.failure();
}

Status SharedGroup::barrier(int64_t self) {
  if (*backend.aborted)
    return backend.failure();
  slots[self].arrivals.fetch_add(1, std::memory_order_relaxed);
  switch (
      state.arrive(int64_t(members.size()), {.oneProcess = backend.oneProcess,
                                             .crowded = backend.crowded,
                                             .timeout = backend.timeout,
                                             .aborted = *backend.aborted})) {
  case Barrier::Result::Passed:
    return {};
  case Barrier::Result::Aborted:
    return backend.failure();
  case Barrier::Result::TimedOut:
    break;
  }
  return fail(missing(self));
}

/// Names the members that have not arrived and where they were last seen.
Status SharedGroup::missing(int64_t self) {
  uint64_t mine = slots[self].arrivals;
  std::vector<int64_t> late;
  for (size_t i = 0; i < members.size(); ++i)
    if (slots[i].arrivals < mine)
      late.push_back(members[i]);
  return lateError(members[self], backend.describe(slots[self].site), late,
                   backend.timeout,
                   [this](int64_t rank) { return backend.lastSeen(rank); });
}

Status SharedGroup::run(int64_t self, const Collective &entry, CallSite site,
                        const void *in, void *out,
                        std::vector<const void *> &ins,
                        std::vector<void *> &outs) {
  GroupSlot &slot = slots[self];
  slot.in = uint64_t(in) - uint64_t(backend.base);
  slot.out = uint64_t(out) - uint64_t(backend.base);
  slot.site = site;
  Position &position = backend.positions[members[self]];
  position.enter(site);
  TPRT_TRY(barrier(self));
  for (size_t i = 0; i < members.size(); ++i) {
    if (!(slots[i].site == site))
      return fail(lostError("ranks disagree: rank ", members[self], " is in ",
                            backend.describe(site), ", rank ", members[i],
                            " in ", backend.describe(slots[i].site)));
    // In integers: threads count from address 0, which is no object.
    ins[i] =
        reinterpret_cast<const void *>(uint64_t(backend.base) + slots[i].in);
    outs[i] = reinterpret_cast<void *>(uint64_t(backend.base) + slots[i].out);
  }
  runLocally(entry, self, ins, outs);
  TPRT_TRY(barrier(self));
  position.leave();
  return {};
}

Status SharedGroup::agree(int64_t self, uint64_t value, const char *what) {
  slots[self].value = value;
  slots[self].site = {};
  TPRT_TRY(barrier(self));
  std::vector<uint64_t> values;
  for (size_t i = 0; i < members.size(); ++i)
    values.push_back(slots[i].value);
  if (Status status = compareValues(values, what); !status.ok())
    return fail(status);
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
    bool copyBack = writesToOthers(entry.row()) && !readable(output);
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
    TPRT_ASSIGN(buffer, group.backend.allocate(group.members[self], bytes));
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

class SharedRankContext : public RankContext {
public:
  SharedRankContext(SharedBackend &backend, int64_t rank, const char *base,
                    uint64_t extent)
      : backend(backend), self(rank), base(base), extent(extent) {}

  int64_t rank() const override { return self; }
  int64_t size() const override { return backend.size(); }

  Expected<std::unique_ptr<Communicator>>
  communicator(const std::vector<int64_t> &members) override {
    TPRT_ASSIGN(auto group, backend.group(members));
    for (size_t i = 0; i < members.size(); ++i)
      if (members[i] == self)
        return std::unique_ptr<Communicator>(
            std::make_unique<SharedCommunicator>(*group, i, base, extent));
    return internalError("rank ", self, " is not in its own group");
  }

  Status agree(uint64_t value, const char *what) override {
    if (!allRanks) {
      std::vector<int64_t> all(backend.size());
      for (int64_t i = 0; i < backend.size(); ++i)
        all[i] = i;
      TPRT_ASSIGN(allRanks, backend.group(all));
    }
    return allRanks->agree(self, value, what);
  }

  Expected<Buffer> allocate(int64_t bytes) override {
    return backend.allocate(self, bytes);
  }

private:
  SharedBackend &backend;
  int64_t self;
  const char *base;
  uint64_t extent;
  SharedGroup *allRanks = nullptr;
};

} // namespace

std::unique_ptr<RankContext> SharedBackend::rankContext(int64_t rank) {
  return std::make_unique<SharedRankContext>(*this, rank, base, extent);
}
