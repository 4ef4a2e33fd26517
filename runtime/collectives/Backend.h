//===- Backend.h - what the ranks of one program share ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A backend, as a session holds it: it makes each rank's RankContext, keeps the
// first failure, and brings bytes to rank 0. Where ranks are processes, it
// stands on a SideChannel, which is the same for every transport.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_BACKEND_H
#define TPRT_COLLECTIVES_BACKEND_H

#include "Communicator.h"

#include <atomic>
#include <functional>
#include <mutex>

namespace tprt {

class SideChannel;

/// What a call site is, in words.
using Describe = std::function<std::string(CallSite)>;

/// Where a rank is, for the report of one that is missing. Written by the rank,
/// read by anybody, through site(), isInside() and text().
struct alignas(64) Position {
  std::atomic<int64_t> id = -1, layer = 0;
  std::atomic<uint64_t> calls = 0; ///< how many it has entered
  std::atomic<bool> inside = false;
  /// Written by the rank's device, where it has one that runs collectives
  /// without the host; 0: nothing yet. What the host writes of itself goes
  /// first while it is inside.
  std::atomic<uint32_t> device = 0;

  /// The largest id and layer that a device can tell.
  static constexpr int64_t kDeviceIds = (1 << 15) - 2,
                           kDeviceLayers = (1 << 16) - 1;
  /// A value of `device`.
  static uint32_t onDevice(CallSite site, bool inside) {
    return uint32_t(site.id + 1) << 17 | uint32_t(site.layer) << 1 | inside;
  }

  void enter(CallSite site) {
    id.store(site.id, std::memory_order_relaxed);
    layer.store(site.layer, std::memory_order_relaxed);
    calls.store(calls.load(std::memory_order_relaxed) + 1,
                std::memory_order_relaxed);
    inside.store(true, std::memory_order_relaxed);
  }
  /// A call that is no ledger entry: what it was in last stays the better word.
  void agree() {
    calls.store(calls.load(std::memory_order_relaxed) + 1,
                std::memory_order_relaxed);
  }
  void leave() { inside.store(false, std::memory_order_relaxed); }
  CallSite site() const {
    uint32_t word = inside ? 0 : device.load(std::memory_order_relaxed);
    if (!word)
      return {id, layer};
    return {int64_t(word >> 17) - 1, int64_t(word >> 1 & 0xffff)};
  }
  bool isInside() const { return inside || (device & 1); }
  /// `in collective 3 (...)` or `after ...`.
  std::string text(const Describe &describe) const {
    return (isInside() ? "in " : "after ") + describe(site());
  }
};

class Backend {
public:
  virtual ~Backend() = default;

  int64_t size() const { return ranks; }
  /// The RankContext of one rank; outlived by the backend.
  virtual std::unique_ptr<RankContext> rankContext(int64_t rank) = 0;

  /// The first error that a rank reported, or success.
  virtual Status failure() const;
  /// Keeps the first error and ends all waits with it.
  virtual void abort(const Status &status);
  /// From now on the longest wait for another rank.
  virtual void limitWaits(double seconds);
  /// Forgets errors and positions, for the next run, where ranks are threads;
  /// those of processes are for good. No rank may be inside.
  virtual void reset() {}

  /// What ranks that are processes have in common; null where they are threads
  /// of this one.
  virtual SideChannel *channel() const { return nullptr; }

  /// The same buffer of every rank, in their order, on rank 0.
  struct Gathered {
    std::vector<const void *> data;
    std::vector<std::string> copies; ///< that own them, where they were sent
  };
  /// Where ranks are processes: all call it with a buffer of their own; rank 0
  /// gets them all, the others nothing.
  virtual Expected<Gathered> gather(const void *data, int64_t bytes);

protected:
  int64_t ranks = 0;
  mutable std::mutex mutex; // guards first, and what derived backends say
  Status first;             ///< error, where there is no channel
};

/// The error of a rank that waited for others in `where`, in vain for those
/// `late`, of which lastSeen(rank) is known.
Status lateError(int64_t waiting, const std::string &where,
                 const std::vector<int64_t> &late, double seconds,
                 const std::function<std::string(int64_t)> &lastSeen);
/// An error that names the ranks whose value differs from the others'.
Status compareValues(const std::vector<uint64_t> &values, const char *what);

} // namespace tprt

#endif // TPRT_COLLECTIVES_BACKEND_H
