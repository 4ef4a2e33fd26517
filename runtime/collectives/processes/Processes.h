//===- Processes.h - ranks that are processes of one host -------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One process per rank, buffers in shared memory. A thread beside the rank's
// own beats its heart and watches the others: a process that ended is seen by
// its pidfd, one that is frozen by its heartbeat, and neither is taken for one
// that is busy. Any failure of any rank ends every process: each says what
// happened and where it was.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_PROCESSES_PROCESSES_H
#define TPRT_COLLECTIVES_PROCESSES_PROCESSES_H

#include "Segment.h"

#include <chrono>
#include <map>
#include <mutex>
#include <thread>

namespace tprt {

/// Looks after the processes of a run.
class Watcher {
public:
  /// `self` is the rank that looks, -1 for the launcher.
  Watcher(const Segment &segment, int64_t self);
  ~Watcher();

  struct Loss {
    int64_t rank;
    std::string what; ///< `its process ended`, ...
  };
  /// The first rank found to be lost. Call it every 25 ms or so.
  std::optional<Loss> look();

private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    int descriptor = -1;
    uint64_t beat = 0;
    int looks = 0;
    Clock::time_point since;
  };
  const Segment &segment;
  int64_t self;
  std::vector<Peer> peers;
};

/// The error of a lost rank, in words.
Failure lossOf(const Watcher::Loss &loss, const std::string &lastSeen);

class ProcessHub : public SharedHub {
public:
  /// This process becomes `rank`. Failures are printed to standard error.
  ProcessHub(Segment segment, int64_t rank, double timeoutSeconds,
             std::function<std::string(CallSite)> describe);
  /// Takes leave of the others: what happens to them no longer matters.
  ~ProcessHub() override;

  int64_t rank() const { return self; }
  Status failure() const override;
  /// Prints the first failure of the run and ends the process.
  [[noreturn]] void abort(const Status &status) override;
  void reset() override {}
  Expected<SharedGroup *> group(const std::vector<int64_t> &members) override;
  Expected<Buffer> allocate(int64_t rank, int64_t bytes) override;

  /// Gives rank 0 every rank's bytes, in their order; nothing to the others.
  /// All ranks call it.
  Expected<std::vector<std::string>> gather(const std::string &bytes);
  /// An address in this rank's shared memory as a number for the others, and
  /// such a number as an address.
  uint64_t offsetOf(const void *p) const {
    return uint64_t(static_cast<const char *>(p) - base);
  }
  const void *at(uint64_t offset) const { return base + offset; }

private:
  void watch();
  [[noreturn]] void report() const;

  Segment segment;
  int64_t self;
  std::mutex mutex; // guards groups
  std::map<std::vector<int64_t>, std::unique_ptr<SharedGroup>> groups;
  int64_t used = 0; ///< of this rank's region
  std::atomic<bool> leaving = false;
  mutable std::mutex reporting;
  std::thread watcher;
};

} // namespace tprt

#endif // TPRT_COLLECTIVES_PROCESSES_PROCESSES_H
