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
// A call that is started ends with its arrival at the first barrier; the rest
// is done when it is finished, or when the group's next call begins. No thread
// works on it meanwhile: moving bytes within memory takes the cores that
// compute (docs/Rationale.md).
//
//===----------------------------------------------------------------------===//

#include "SharedGroup.h"

#include "../support/Cores.h"
#include "Transfer.h"

#include <cstring>
#include <numeric>
#include <optional>

using namespace tprt;

/// One member's view of a group.
class tprt::SharedGroup : public Communicator {
public:
  SharedGroup(SharedBackend &backend, std::vector<int64_t> list, int64_t self,
              GroupState state)
      : backend(backend), members(std::move(list)), self(self), state(state),
        ins(members.size()), outs(members.size()) {}

  Status run(const Collective &entry, CallSite site, const void *in,
             void *out) override {
    TPRT_TRY(start(entry, site, in, out));
    return finish(site);
  }
  Status start(const Collective &entry, CallSite site, const void *in,
               void *out) override;
  Status finish(CallSite site) override;
  Status peers(const Collective &entry, CallSite site, const void *in,
               const void **addends) override;
  void abandon() override { started.reset(); }
  /// Fails on each member unless all bring the same value.
  Status agree(uint64_t value, const char *what);

private:
  /// An error unless the member at `position`, who says it is at `other`, is
  /// where this one is.
  Status expectSite(CallSite site, size_t position, CallSite other);
  Status arrive();
  Status pass();
  Status barrier() {
    TPRT_TRY(arrive());
    return pass();
  }
  Status fail(const Status &status);
  Status share(const Collective &entry, CallSite site);
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
  uint32_t ticket = 0; ///< of the last arrival
  Buffer copyIn, copyOut;
  /// A call that has arrived at its first barrier.
  struct Started {
    const Collective *entry;
    CallSite site;
    void *output; ///< null where the result needs no copy
    int64_t outBytes;
  };
  std::optional<Started> started;
  std::vector<const void *> ins;
  std::vector<void *> outs;
};

Status SharedGroup::fail(const Status &status) {
  backend.abort(status);
  return backend.failure();
}

uint32_t GroupState::arrive(int64_t self, int64_t members,
                            bool oneProcess) const {
  slots[self].arrivals.fetch_add(1);
  return barrier->arrive(members, oneProcess);
}

Barrier::Result GroupState::pass(uint32_t ticket, int64_t self, int64_t members,
                                 const Barrier::Options &options,
                                 std::vector<int64_t> &late) const {
  uint64_t mine = slots[self].arrivals;
  auto result = barrier->pass(ticket, options);
  for (int64_t i = 0; result == Barrier::Result::TimedOut && i < members; ++i)
    if (slots[i].arrivals < mine)
      late.push_back(i);
  return result;
}

Status SharedGroup::arrive() {
  if (*backend.aborted)
    return backend.failure();
  ticket = state.arrive(self, int64_t(members.size()), backend.oneProcess);
  return {};
}

/// All members arrive before any passes. An error names those that have not
/// arrived and where they were last seen.
Status SharedGroup::pass() {
  std::vector<int64_t> late;
  auto result = state.pass(ticket, self, int64_t(members.size()),
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

Status SharedGroup::expectSite(CallSite site, size_t position, CallSite other) {
  if (other == site)
    return {};
  return fail(lostError("ranks disagree: rank ", members[self], " is in ",
                        backend.describe(site), ", rank ", members[position],
                        " in ", backend.describe(other)));
}

/// Does the rest of a call that has arrived at its first barrier.
Status SharedGroup::share(const Collective &entry, CallSite site) {
  TPRT_TRY(pass());
  for (size_t i = 0; i < members.size(); ++i) {
    const GroupSlot &other = state.slots[i];
    TPRT_TRY(expectSite(site, i, other.site));
    // In integers: threads count from address 0, which is no object.
    ins[i] = reinterpret_cast<const void *>(uint64_t(backend.base) + other.in);
    outs[i] = reinterpret_cast<void *>(uint64_t(backend.base) + other.out);
  }
  runLocally(entry, self, ins, outs);
  TPRT_TRY(barrier());
  backend.positions[members[self]].leave();
  return {};
}

Status SharedGroup::start(const Collective &entry, CallSite site,
                          const void *input, void *output) {
  // One at a time: the members agree on which, as they start the same ones.
  if (started)
    TPRT_TRY(finish(started->site));
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
  GroupSlot &slot = state.slots[self];
  slot.in = uint64_t(in) - uint64_t(backend.base);
  slot.out = uint64_t(out) - uint64_t(backend.base);
  slot.site = site;
  backend.positions[members[self]].enter(site);
  TPRT_TRY(arrive());
  started = {&entry, site, copyBack ? output : nullptr, inBytes};
  return {};
}

Status SharedGroup::finish(CallSite site) {
  if (!started || !(started->site == site))
    return {};
  Started call = *started;
  started.reset();
  TPRT_TRY(share(*call.entry, site));
  if (call.output)
    std::memcpy(call.output, copyOut.data(), size_t(call.outBytes));
  return {};
}

/// One meeting: an arrival says that the addend is written, and that all that
/// was read of the call before is read. Records alternate by the barrier's
/// generation: it does not go on twice while a member still looks at one.
Status SharedGroup::peers(const Collective &, CallSite site, const void *in,
                          const void **addends) {
  if (started)
    TPRT_TRY(finish(started->site));
  if (in && !readable(in))
    return fail(internalError("the addend of ", backend.describe(site),
                              " lies where the other ranks cannot read it"));
  uint32_t parity = state.barrier->generation.load() & 1;
  GroupSlot &own = state.slots[self];
  own.addends[parity] = {in ? uint64_t(in) - uint64_t(backend.base) : 0, site};
  own.site = site;
  Position &position = backend.positions[members[self]];
  position.enter(site);
  TPRT_TRY(barrier());
  for (size_t i = 0; i < members.size(); ++i) {
    const GroupSlot::Addend &other = state.slots[i].addends[parity];
    TPRT_TRY(expectSite(site, i, other.site));
    if (addends)
      addends[i] =
          reinterpret_cast<const void *>(uint64_t(backend.base) + other.in);
  }
  position.leave();
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
