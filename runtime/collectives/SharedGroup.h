//===- SharedGroup.h - ranks with common memory -----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups, barriers and collectives of ranks that can read each other's buffers.
// Threads and processes share this one implementation; they differ in who owns
// the memory below (heap or a shared segment), in how an address is told to
// another rank (itself, or an offset in the segment) and in what an error does.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_SHAREDGROUP_H
#define TPRT_COLLECTIVES_SHAREDGROUP_H

#include "Backend.h"

namespace tprt {

/// A sense-reversing barrier that lies in memory which all ranks map. A wait
/// spins briefly, yields, then sleeps on a futex, as there may be more ranks
/// than cores. It always ends: by arrival, by an abort or by the time limit.
/// Valid when zero.
struct Barrier {
  enum class Result { Passed, Aborted, TimedOut };
  struct Options {
    bool oneProcess; ///< the futex is private
    bool crowded;    ///< more ranks than cores: do not spin
    double timeout;  ///< in seconds
    const std::atomic<uint32_t> &aborted;
  };

  /// Counts this arrival of `ranks`, without a wait; the ticket of `pass`.
  uint32_t arrive(int64_t ranks, bool oneProcess);
  /// Waits until all have arrived.
  Result pass(uint32_t ticket, const Options &options);
  /// Ends the sleep of those who wait.
  void wake(bool oneProcess);

  alignas(64) std::atomic<uint32_t> arrived;
  alignas(64) std::atomic<uint32_t> generation;
  std::atomic<uint32_t> sleepers;
};

/// A member's record for the others; a cache line of its own. Valid when zero.
struct alignas(64) GroupSlot {
  /// One's addend, for those who are in an odd or even call of `peers`: who has
  /// left it does not wait for the others to look at it.
  struct Addend {
    uint64_t in; ///< an offset from SharedBackend::base
    CallSite site;
  };
  Addend addends[2];
  uint64_t in, out; ///< offsets from SharedBackend::base
  uint64_t value;
  CallSite site;
  std::atomic<uint64_t> arrivals;
};

/// The memory that the members of a group share. Valid when zero.
struct GroupState {
  Barrier *barrier;
  GroupSlot *slots; ///< one for each

  /// Counts the arrival of member `self`; the ticket of `pass`.
  uint32_t arrive(int64_t self, int64_t members, bool oneProcess) const;
  /// Waits as member `self` until all `members` have arrived. If some have not
  /// within the time limit, `late` receives their positions.
  Barrier::Result pass(uint32_t ticket, int64_t self, int64_t members,
                       const Barrier::Options &options,
                       std::vector<int64_t> &late) const;
  /// Both.
  Barrier::Result meet(int64_t self, int64_t members,
                       const Barrier::Options &options,
                       std::vector<int64_t> &late) const {
    uint32_t ticket = arrive(self, members, options.oneProcess);
    return pass(ticket, self, members, options, late);
  }
};

class SharedGroup;

/// A backend whose ranks can read each other's buffers.
class SharedBackend : public Backend {
public:
  ~SharedBackend() override;
  Status agree(int64_t rank, uint64_t value, const char *what) override;
  void limitWaits(double seconds) override {
    timeout = seconds;
    Backend::limitWaits(seconds);
  }

protected:
  friend class SharedGroup;
  /// Waits longer than `timeoutSeconds` end the run; `describe` says what a
  /// site is in messages.
  SharedBackend(int64_t ranks, double timeoutSeconds, Describe describe);
  /// The same for all members.
  virtual Expected<GroupState> group(const std::vector<int64_t> &members) = 0;
  Expected<std::unique_ptr<Communicator>>
  join(const std::vector<int64_t> &members, int64_t self) override;

  std::atomic<double> timeout; ///< longest wait, in seconds
  Describe describe;
  bool crowded;            ///< more ranks than cores: do not spin
  bool oneProcess = true;  ///< futexes are private
  char *base = nullptr;    ///< what offsets in slots count from
  uint64_t extent = ~0ull; ///< bytes at base that all ranks can read
  Position *positions = nullptr;
  std::atomic<uint32_t> *aborted = nullptr;

private:
  /// By rank: its membership of all ranks, once they have agreed on something.
  std::vector<std::unique_ptr<Communicator>> ofAllRanks;
};

} // namespace tprt

#endif // TPRT_COLLECTIVES_SHAREDGROUP_H
