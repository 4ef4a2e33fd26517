//===- SegmentChannel.h - the side channel within one host ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Through memory that the rank processes of one host share. A process that
// ended is seen by its pidfd, one that is frozen by its heartbeat, and neither
// is taken for one that is busy.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_PROCESSES_SEGMENTCHANNEL_H
#define TPRT_COLLECTIVES_PROCESSES_SEGMENTCHANNEL_H

#include "Segment.h"

namespace tprt {

/// Looks after the processes of a run.
class Watcher {
public:
  /// `self` is the rank that looks, -1 for the launcher. With `allowStops` only
  /// a process that ended is lost.
  Watcher(const Segment &segment, int64_t self, bool allowStops = false);
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
    bool met = false;
    int descriptor = -1; ///< that tells when the process ends, if there is one
    uint64_t beat = 0;
    int looks = 0;
    Clock::time_point since;
  };
  const Segment &segment;
  int64_t self;
  bool allowStops;
  std::vector<Peer> peers;
};

/// The error of a lost rank, in words.
Failure lossOf(const Watcher::Loss &loss, const std::string &lastSeen);

class SegmentChannel : public SideChannel {
public:
  /// This process becomes process.rank.
  SegmentChannel(Segment segment, const ProcessInfo &process,
                 const Options &options);
  /// Takes leave of the others: what happens to them no longer matters.
  ~SegmentChannel() override;

  const Segment &memory() const { return segment; }

protected:
  Expected<std::vector<std::string>> pass(const std::string &bytes,
                                          bool wanted) override;
  void beat() override;
  std::optional<Failure> look() override;
  void rest() override;
  void fail(const Failure &failure) override;
  std::optional<Failure> failed() const override;
  Position &position(int64_t rank) const override;

private:
  Status barrier();

  Segment segment;
  Watcher peers;
  bool crowded;
};

} // namespace tprt

#endif // TPRT_COLLECTIVES_PROCESSES_SEGMENTCHANNEL_H
