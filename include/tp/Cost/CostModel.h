//===- CostModel.h - Seconds of kernels and collectives ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one cost model: tp-split-rows decides by it, --explain prints its times,
// and tp-plan composes them. A kernel takes as long as its arithmetic or its
// bytes, whichever takes longer, and a start. A collective is a ring whose
// messages and bytes the ledger counts.
//
// Example, H100: an all-reduce of 16 MiB over 8 ranks of a node is one start of
// 14 us, 14 messages of 0.6 us, and 28 MiB at 360 GB/s: 104 us.
//
//===----------------------------------------------------------------------===//

#ifndef TP_COST_COSTMODEL_H
#define TP_COST_COSTMODEL_H

#include "tp/Cost/Profile.h"
#include "tp/Ledger/Ledger.h"
#include "tp/Sharding/Mesh.h"

namespace tp {

/// How the groups of some axes lie on nodes: those that cross the most.
struct Span {
  /// Ranks of a group, nodes that it lies on, and the fewest of its ranks that
  /// one of these nodes has.
  int64_t ranks = 1, nodes = 1, fewest = 1;

  bool leavesNode() const { return nodes > 1; }
  bool operator==(const Span &other) const = default;
};

/// The span of the groups along `axes`, with `perNode` consecutive ranks on a
/// node.
Span getSpan(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh, int64_t perNode);

/// The seconds that a sum over ranks which share host memory takes, with the
/// kernel that reads it. In a call of the runtime each rank adds up its part,
/// writes it to all, and meets the others twice. With `tp.peers` each rank
/// meets the others once and reads all addends.
struct SharedSum {
  double library, peers;
};
SharedSum getSharedSum(int64_t ranks, int64_t bytes);

class CostModel {
public:
  CostModel(const Profile &profile, Mesh mesh)
      : profile(profile), mesh(std::move(mesh)) {}

  const Profile &getProfile() const { return profile; }
  /// The seconds of one call of a kernel.
  KernelSeconds getKernel(const KernelWork &work) const;
  /// The seconds of one call in which each rank of the groups along `axes`
  /// sends `traffic` bytes in `messages` messages, one after the other.
  /// Infinity if the groups leave a node and the profile has no link that does.
  double getCollective(int64_t messages, int64_t traffic,
                       llvm::ArrayRef<AxisRef> axes) const;
  /// The seconds of one of `parts` equal parts of a collective. Those of
  /// `tp.peers` are a gather's of the addends, which each rank reads.
  double getCollective(CollectiveOpInterface op, unsigned parts = 1) const;
  /// The seconds in which the members of a group meet.
  double getMeeting(MeetOp op) const;
  /// How the groups of a collective lie on nodes.
  Span getSpan(CollectiveOpInterface op) const;

private:
  const Profile &profile;
  Mesh mesh;

  AxisList getAxes(mlir::Operation *op, AxisListAttr axes) const;
  double getGather(llvm::ArrayRef<AxisRef> axes, int64_t bytes) const;
};

/// The times of a program whose operations are added in the order in which they
/// run, on a processor and a link. Collectives use the link one after the
/// other; while a kernel runs beside one, each keeps its share of its speed.
class Clock {
public:
  explicit Clock(double beside, double linkBeside = 1)
      : beside(beside), linkBeside(linkBeside) {}
  explicit Clock(const Profile &profile)
      : Clock(profile.beside, profile.linkBeside) {}

  /// Runs a kernel of so many seconds.
  void run(double seconds);
  /// Starts a collective; returns the link's work once that is done.
  double start(double seconds);
  /// Waits until the link has done so much work; returns the seconds that were
  /// spent waiting.
  double wait(double work);
  double getNow() const { return now; }
  /// The seconds of work at full speed that the link has done.
  double getLinkWork() const { return done; }
  /// When all that was started is done.
  double getEnd() const { return now + (started - done); }

private:
  double beside, linkBeside, now = 0;
  /// Seconds of the link's work.
  double started = 0, done = 0;
};

} // namespace tp

#endif // TP_COST_COSTMODEL_H
