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

#include "../support/Cores.h"
#include "Transfer.h"

#include <cstring>
#include <numeric>

using namespace tprt;

/// One member's view of a group.
class tprt::SharedGroup : public Communicator {
public:
  SharedGroup(SharedBackend &backend, std::vector<int64_t> list, int64_t self,
              GroupState state)
      : backend(backend), members(std::move(list)), self(self), state(state),
        ins(members.size()), outs(members.size()) {}

  Status run(const Collective &entry, CallSite site, const void *in,
             void *out) override;
  /// Fails on each member unless all bring the same value.
  Status agree(uint64_t value, const char *what);

private:
  Status barrier();
  Status fail(const Status &status);
  Status share(const Collective &entry, CallSite site, const void *in,
               void *out);
  bool readable(const void *p) const {
    return uint64_t(p) - uint64_t(backend.base) < backend.extent;
  }
  Status grow(Buffer &buffer, int64_t bytes) {
    if (bytes <= buffer.size())
      return {};
    TPRT_ASSIGN(buffer, backend.allocate(members[self], bytes));
    return {};
  }

  SharedBackend &backend;
  const std::vector<int64_t> members;
  const int64_t self;
  GroupState state;
  Buffer copyIn, copyOut;
  std::vector<const void *> ins;
  std::vector<void *> outs;
};

Status SharedGroup::fail(const Status &status) {
  backend.abort(status);
  return backend.failure();
}

Barrier::Result GroupState::arrive(int64_t self, int64_t members,
                                   const Barrier::Options &options,
                                   std::vector<int64_t> &late) const {
  uint64_t mine = slots[self].arrivals.fetch_add(1) + 1;
  auto result = barrier->arrive(members, options);
  for (int64_t i = 0; result == Barrier::Result::TimedOut && i < members; ++i)
    if (slots[i].arrivals < mine)
      late.push_back(i);
  return result;
}

/// All members arrive before any leaves. An error names those that have not
/// arrived and where they were last seen.
Status SharedGroup::barrier() {
  if (*backend.aborted)
    return backend.failure();
  std::vector<int64_t> late;
  auto result = state.arrive(self, int64_t(members.size()),
                             {.oneProcess = backend.oneProcess,
                              .crowded = backend.crowded,
                              .timeout = backend.timeout,
                              .aborted = *backend.aborted},
                             late);
  if (result == Barrier::Result::Passed)
    return {};
  if (result == Barrier::Result::Aborted)
    return backend.failure();
  for (int64_t &member : late)
    member = members[size_t(member)];
  return fail(lateError(members[self], backend.describe(state.slots[self].site),
                        late, backend.timeout, [this](int64_t rank) {
                          return backend.positions[rank].text(backend.describe);
                        }));
}

/// A call of buffers that the others can read.
Status SharedGroup::share(const Collective &entry, CallSite site,
                          const void *in, void *out) {
  GroupSlot &slot = state.slots[self];
  slot.in = uint64_t(in) - uint64_t(backend.base);
  slot.out = uint64_t(out) - uint64_t(backend.base);
  slot.site = site;
  Position &position = backend.positions[members[self]];
  position.enter(site);
  TPRT_TRY(barrier());
  for (size_t i = 0; i < members.size(); ++i) {
    const GroupSlot &other = state.slots[i];
    if (!(other.site == site))
      return fail(lostError("ranks disagree: rank ", members[self], " is in ",
                            backend.describe(site), ", rank ", members[i],
                            " in ", backend.describe(other.site)));
    // In integers: threads count from address 0, which is no object.
    ins[i] = reinterpret_cast<const void *>(uint64_t(backend.base) + other.in);
    outs[i] = reinterpret_cast<void *>(uint64_t(backend.base) + other.out);
  }
  runLocally(entry, self, ins, outs);
  TPRT_TRY(barrier());
  position.leave();
  return {};
}

Status SharedGroup::run(const Collective &entry, CallSite site,
                        const void *input, void *output) {
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
  TPRT_TRY(share(entry, site, in, out));
  if (copyBack)
    std::memcpy(output, out, inBytes);
  return {};
}

Status SharedGroup::agree(uint64_t value, const char *what) {
  state.slots[self].value = value;
  state.slots[self].site = {};
  TPRT_TRY(barrier());
  std::vector<uint64_t> values;
  for (size_t i = 0; i < members.size(); ++i)
    values.push_back(state.slots[i].value);
  if (Status status = compareValues(values, what); !status.ok())
    return fail(status);
  return barrier();
}

//===----------------------------------------------------------------------===//
// The backend
//===----------------------------------------------------------------------===//

SharedBackend::SharedBackend(int64_t count, double timeoutSeconds,
                             Describe describeSite)
    : timeout(timeoutSeconds), describe(std::move(describeSite)),
      crowded(count > availableCores()), ofAllRanks(size_t(count)) {
  ranks = count;
}

SharedBackend::~SharedBackend() = default;

Expected<std::unique_ptr<Communicator>>
SharedBackend::join(const std::vector<int64_t> &members, int64_t self) {
  TPRT_ASSIGN(auto state, group(members));
  return std::make_unique<SharedGroup>(*this, members, self, state);
}

Status SharedBackend::agree(int64_t rank, uint64_t value, const char *what) {
  if (!ofAllRanks[size_t(rank)]) {
    std::vector<int64_t> all(ofAllRanks.size());
    std::iota(all.begin(), all.end(), 0);
    TPRT_ASSIGN(ofAllRanks[size_t(rank)], communicator(rank, all));
  }
  return static_cast<SharedGroup &>(*ofAllRanks[size_t(rank)])
      .agree(value, what);
}
