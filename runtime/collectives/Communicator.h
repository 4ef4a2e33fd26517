//===- Communicator.h - ranks that talk to each other -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface between the runtime and its backends. A RankContext is one
// rank's view of a running program; it makes one Communicator per distinct set
// of axes. Ranks may be threads, processes or devices: nothing here says which.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_COMMUNICATOR_H
#define TPRT_COLLECTIVES_COMMUNICATOR_H

#include "../format/Manifest.h"
#include "../support/Memory.h"

#include <cstdint>
#include <memory>

namespace tprt {

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
};

/// One rank's membership of the world.
class RankContext {
public:
  virtual ~RankContext() = default;

  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;

  /// The communicator of the ranks listed, in this order, of which this is one.
  /// The same on all members; made before the first step.
  virtual Expected<std::unique_ptr<Communicator>>
  communicator(const std::vector<int64_t> &members) = 0;

  /// Waits for all ranks and fails on each of them unless all bring the same
  /// value.
  virtual Status agree(uint64_t value, const char *what) = 0;

  /// Zeroed memory for buffers of collectives: where the others can read it, if
  /// the backend has such memory. Other buffers work too, by a copy.
  virtual Expected<Buffer> allocate(int64_t bytes) = 0;
};

} // namespace tprt

#endif // TPRT_COLLECTIVES_COMMUNICATOR_H
