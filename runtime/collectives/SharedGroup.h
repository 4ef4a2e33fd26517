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
#include "Barrier.h"

namespace tprt {

/// What a member shows the others; a cache line of its own. Valid when zero.
struct alignas(64) GroupSlot {
  uint64_t in, out; ///< offsets from SharedBackend::base
  uint64_t value;
  CallSite site;
  std::atomic<uint64_t> arrivals;
};

class SharedGroup;

/// A backend whose ranks can read each other's buffers.
class SharedBackend : public Backend {
public:
  std::unique_ptr<RankContext> rankContext(int64_t rank) override;
  void limitWaits(double seconds) override {
    timeout = seconds;
    Backend::limitWaits(seconds);
  }

  /// The group of these ranks, the same for all of them.
  virtual Expected<SharedGroup *>
  group(const std::vector<int64_t> &members) = 0;
  /// Zeroed memory of a rank that others can read where it lies.
  virtual Expected<Buffer> allocate(int64_t rank, int64_t bytes) = 0;

  /// `in collective 3 (...)` or `after ...`: where the rank was last seen.
  std::string lastSeen(int64_t rank) const {
    return positions[rank].text(describe);
  }

protected:
  friend class SharedGroup;
  std::atomic<double> timeout = 0; ///< longest wait, in seconds
  Describe describe;
  bool crowded = false;    ///< more ranks than cores: do not spin
  bool oneProcess = true;  ///< futexes are private
  char *base = nullptr;    ///< what offsets in slots count from
  uint64_t extent = ~0ull; ///< bytes at base that all ranks can read
  Position *positions = nullptr;
  std::atomic<uint32_t> *aborted = nullptr;
};

/// A group of ranks, as seen by one process.
class SharedGroup {
public:
  SharedGroup(SharedBackend &backend, std::vector<int64_t> members,
              Barrier &state, GroupSlot *slots)
      : backend(backend), members(std::move(members)), state(state),
        slots(slots) {}

  /// All members arrive before any leaves.
  Status barrier(int64_t self);
  /// One member's call of a collective; `ins` and `outs` are room for one
  /// address per member.
  Status run(int64_t self, const Collective &entry, CallSite site,
             const void *in, void *out, std::vector<const void *> &ins,
             std::vector<void *> &outs);
  /// Of all ranks: fails on each unless all bring the same value.
  Status agree(int64_t self, uint64_t value, const char *what);

  /// Ends the sleep of those who wait.
  void wake();
  void reset();

  SharedBackend &backend;
  const std::vector<int64_t> members;

private:
  Status missing(int64_t self);
  Status fail(const Status &status);

  Barrier &state;
  GroupSlot *slots;
};

} // namespace tprt

#endif // TPRT_COLLECTIVES_SHAREDGROUP_H
