//===- Backend.h - what the ranks of one program share ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface between the runtime and what connects its ranks. A backend, as
// a session holds it, makes a Communicator per distinct set of axes and rank of
// this process, keeps the first failure, and brings bytes to rank 0. Ranks may
// be threads, processes or devices: nothing here says which. Where they are
// processes, it stands on a SideChannel, which is the same for every transport.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_BACKEND_H
#define TPRT_COLLECTIVES_BACKEND_H

#include "../format/Manifest.h"
#include "../support/Memory.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

struct CUstream_st;

namespace tprt {

class SideChannel;

/// A call of a ledger entry: the key of logs, timelines and hang reports.
struct CallSite {
  int64_t id = -1; ///< ledger entry, or -1: the agreement at start or end
  int64_t layer = 0;
  bool operator==(const CallSite &) const = default;
};

/// One rank's membership of one group.
class Communicator {
public:
  virtual ~Communicator() = default;

  /// Executes the entry; all members call it with the same site. Returns the
  /// error of the first rank that failed, or a Lost error if a member does not
  /// arrive in time.
  virtual Status run(const Collective &entry, CallSite site, const void *in,
                     void *out) = 0;
  /// Begins the entry and may return before it is done: until `finish`, what
  /// the call reads stays as it is and what it writes is not read. All members
  /// start the same entries in the same order, whatever else they do between.
  /// Here it is done at once.
  virtual Status start(const Collective &entry, CallSite site, const void *in,
                       void *out) {
    return run(entry, site, in, out);
  }
  /// Waits for the end of the last start at `site`, and returns its error.
  virtual Status finish(CallSite site) { return {}; }
  /// Tells the members of a sum that this one's addend `in` is written, waits
  /// for theirs, and gives the address of each, in the group's order
  /// (tprt_api::peers). Null for both: only meets. Here, where no member can
  /// read another's memory, the call is the entry's all-reduce: the first
  /// addend is its result, and the others leave that as it is.
  virtual Status peers(const Collective &entry, CallSite site, const void *in,
                       const void **addends);
  /// After a step that failed, and whose failure the backend knows: forgets
  /// what has not been finished. Returns once this member works on none of it.
  virtual void abandon() {}
  /// Bytes that `peers` takes here beside the program's plan.
  int64_t scratchBytes() const;

private:
  /// The result of each ledger entry's all-reduce, and behind it the other
  /// addends. A program may read those of several entries at once.
  std::map<int64_t, Buffer> sums;
};

/// Describes a call site in words.
using Describe = std::function<std::string(CallSite)>;

/// The call that a rank is in, for the report of one that is missing. The rank
/// writes it; anybody reads it, through site(), isInside() and text().
struct alignas(64) Position {
  std::atomic<int64_t> id = -1, layer = 0;
  std::atomic<uint64_t> calls = 0; ///< how many it has entered
  std::atomic<bool> inside = false;
  /// The rank's process was told to end (Policy::isToldToEnd).
  std::atomic<bool> toldToEnd = false;
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
  /// The membership of `rank` in the group of the ranks listed, in this order.
  /// The list is the same on all members; made before the first step, outlived
  /// by the backend.
  Expected<std::unique_ptr<Communicator>>
  communicator(int64_t rank, const std::vector<int64_t> &members);
  /// Waits for all ranks and fails on each of them unless all bring the same
  /// value.
  virtual Status agree(int64_t rank, uint64_t value, const char *what) = 0;
  /// Zeroed memory of a rank for buffers of collectives: where the others can
  /// read it, if the backend has such memory. Other buffers work too, by a
  /// copy.
  virtual Expected<Buffer> allocate(int64_t rank, int64_t bytes) {
    return Buffer::allocate(bytes);
  }

  /// The first error that a rank reported, or success.
  virtual Status failure() const;
  /// Keeps the first error and ends all waits with it.
  virtual void abort(const Status &status);
  /// From now on the longest wait for another rank.
  virtual void limitWaits(double seconds);
  /// Forgets errors and positions, for the next run, where ranks are threads;
  /// those of processes are for good. No rank may be inside.
  virtual void reset() {}

  /// True if nothing writes to the memory of this process' ranks any more. Not
  /// after a failure that left a library's call or a device at work.
  virtual bool quiet() const;

  /// The side channel of ranks that are processes; null where they are threads
  /// of this one.
  virtual SideChannel *channel() const { return nullptr; }

  /// The same buffer of every rank, in their order, on rank 0.
  struct Gathered {
    std::vector<const void *> data;
    std::vector<std::string> copies; ///< that own them, where they were sent
  };
  /// Gathers a buffer of each rank, where ranks are processes: all call it;
  /// rank 0 gets them all, the others nothing.
  virtual Expected<Gathered> gather(const void *data, int64_t bytes);

protected:
  /// The membership of members[self], a rank of this process.
  virtual Expected<std::unique_ptr<Communicator>>
  join(const std::vector<int64_t> &members, int64_t self) = 0;

  int64_t ranks = 0;
  mutable std::mutex mutex; // guards first, and what derived backends say
  Status first;             ///< error, where there is no channel
};

/// A backend whose rank, one per process, has a device. Names no library: a
/// stream is a pointer here. `run` of its communicators enqueues on the stream
/// given to `attach` and returns; it may be called while that stream is
/// captured into a graph, and then says nothing of the time at which the graph
/// runs. `allocate` gives host memory.
class DeviceBackend : public Backend {
public:
  /// The position of this rank's device among `devices` of the machine.
  virtual int64_t device(int64_t devices) const = 0;

  /// Once, before communicators are made, on a thread where the rank's context
  /// is current. Collectives go to `stream`. Allocates device memory for all
  /// entries of the ledger; `devices` is how many the machine has.
  virtual Status attach(const Manifest &manifest, CUstream_st *stream,
                        int64_t devices) = 0;

  /// Device memory for what collectives read and write, where the backend moves
  /// such memory better than other; the address. Lives until detach.
  virtual Expected<uint64_t> allocateOperands(int64_t bytes) = 0;

  /// At the end of every step, captured or not, before others wait for
  /// `stream`: all work of this rank's collectives becomes work of that stream.
  virtual Status endStep() = 0;

  /// Asks whether some work of the device is done, such as cuStreamQuery and
  /// cuEventQuery do: a CUresult.
  using Query = std::function<int()>;
  /// Waits until that work is done, or until the run fails: by another rank's
  /// failure (does not return then), by an error of the device, or because the
  /// device did nothing that can be seen for the time limit: a Lost error,
  /// which names the ledger entry that this rank is in.
  virtual Status await(const Query &query) = 0;

  /// Gives every rank all ranks' bytes, in their order.
  virtual Expected<std::vector<std::string>>
  exchange(const std::string &bytes) = 0;

  /// Device memory that attach allocated; what NCCL takes for itself is not
  /// known.
  virtual int64_t deviceBytes() const = 0;

  /// Gives back what the rank took of the device, where attach was called.
  virtual void detach() = 0;
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
