//===- CostModel.cpp - Seconds of kernels and collectives -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See CostModel.h.
//
//===----------------------------------------------------------------------===//

#include "tp/Cost/CostModel.h"

#include "tp/Sharding/Cost.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>

using namespace tp;

Span tp::getSpan(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh,
                 int64_t perNode) {
  Span worst{getShardCount(axes), 1, getShardCount(axes)};
  for (llvm::ArrayRef<int64_t> group : mesh.getGroups(axes)) {
    std::map<int64_t, int64_t> ranksOf;
    for (int64_t rank : group)
      ++ranksOf[rank / perNode];
    int64_t fewest = worst.ranks, nodes = ranksOf.size();
    for (auto [node, count] : ranksOf)
      fewest = std::min(fewest, count);
    if (std::pair(nodes, -fewest) > std::pair(worst.nodes, -worst.fewest))
      worst = {worst.ranks, nodes, fewest};
  }
  return worst;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// On a GPU, f32 inputs of a quantised weight, which a recipe has rounded, are
/// multiplied on tensor cores as a sum of so many parts in bf16
/// (kernels/device/quantized_tiles.cu).
static constexpr double numParts = 3;

/// Operations a second of the whole device in this kernel.
static double getSpeed(const KernelWork &work, const Profile &profile) {
  bool isAttention = llvm::StringRef(work.kernel).contains("attention");
  auto matrix = profile.matrix.find(work.type);
  // Products in a type without a figure count as ordinary arithmetic.
  if ((!work.isProduct && !isAttention) || matrix == profile.matrix.end())
    return profile.vector * profile.vectorEfficiency;
  double speed = matrix->second;
  bool isSplit = work.kernel == "nn.quantized_linear" && work.type == "f32" &&
                 llvm::StringRef(profile.target).starts_with("cuda");
  auto half = profile.matrix.find("bf16");
  if (isSplit && half != profile.matrix.end())
    speed = std::max(speed, half->second / numParts);
  if (isAttention)
    return speed * profile.attentionEfficiency;
  return speed * profile.matrixEfficiency * profile.getRowEfficiency(work.rows);
}

KernelSeconds CostModel::getKernel(const KernelWork &work) const {
  double part = profile.getPart(mesh.getNumRanks());
  return {work.flops / (getSpeed(work, profile) * part),
          double(work.bytes) /
              (profile.bandwidth * profile.bandwidthEfficiency * part),
          profile.kernelSeconds};
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// The threads or processes of a host's group meet in `meetSeconds`, and a rank
/// reads or writes `sharedBandwidth` bytes per second where another rank has
/// written them (docs/Rationale.md).
static constexpr double meetSeconds = 2e-6, sharedBandwidth = 8e9;

SharedSum tp::getSharedSum(int64_t ranks, int64_t bytes) {
  // Its part of every addend, the sum's part to every rank, and the sum.
  double moved = 3.0 * double(bytes);
  return {2 * meetSeconds + moved / sharedBandwidth,
          meetSeconds + double(ranks * bytes) / sharedBandwidth};
}

// A ring whose ranks lie on several nodes waits in each of its steps for the
// message that leaves a node. The ranks of a group that share a node leave it
// by as many network adapters as they are.
double CostModel::getCollective(int64_t messages, int64_t traffic,
                                llvm::ArrayRef<AxisRef> axes) const {
  Span span = tp::getSpan(axes, mesh, profile.ranksPerNode);
  if (span.ranks == 1 || messages == 0)
    return 0;
  Link link = profile.links.front();
  double speed = link.getSpeed();
  if (span.leavesNode()) {
    if (profile.links.size() < 2)
      return std::numeric_limits<double>::infinity();
    const Link &network = profile.links[1];
    link.start = std::max(link.start, network.start);
    link.alpha = std::max(link.alpha, network.alpha);
    speed = std::min(speed, network.getSpeed() * double(span.fewest));
    if (span.fewest == 1 && span.nodes == span.ranks)
      speed = network.getSpeed();
  }
  return link.start + double(messages) * link.alpha + double(traffic) / speed;
}

AxisList CostModel::getAxes(mlir::Operation *op, AxisListAttr axes) const {
  mlir::FailureOr<AxisList> found =
      resolveAxes(axes, mesh, [&] { return op->emitOpError(); });
  return succeeded(found) ? *found : AxisList();
}

/// Each rank gets `bytes` of each other one.
double CostModel::getGather(llvm::ArrayRef<AxisRef> axes, int64_t bytes) const {
  int64_t ranks = getShardCount(axes);
  return getCollective(
      getRingHops(CollectiveKind::AllGather, ranks),
      tp::getTraffic(CollectiveKind::AllGather, ranks * bytes, ranks), axes);
}

double CostModel::getMeeting(MeetOp op) const {
  return getGather(getAxes(op, op.getAxes()), 0);
}

double CostModel::getCollective(CollectiveOpInterface op,
                                unsigned parts) const {
  AxisList axes = getAxes(op, op.getGroupAxes());
  if (mlir::isa<PeersOp>(op))
    return getGather(axes, getCallBytes(op));
  return getCollective(getRingHops(op.getRow().kind, getShardCount(axes)),
                       getTraffic(op, mesh) / parts, axes);
}

Span CostModel::getSpan(CollectiveOpInterface op) const {
  return tp::getSpan(getAxes(op, op.getGroupAxes()), mesh,
                     profile.ranksPerNode);
}

//===----------------------------------------------------------------------===//
// Clock
//===----------------------------------------------------------------------===//

void Clock::run(double seconds) {
  double left = started - done;
  double both = std::min(seconds / beside, left / linkBeside);
  done += std::min(left, both * linkBeside);
  now += both + std::max(0.0, seconds - both * beside);
}

double Clock::start(double seconds) { return started += seconds; }

double Clock::wait(double work) {
  double waited = std::max(0.0, work - done);
  now += waited;
  // Each wait for work that never comes is endless.
  if (!std::isinf(waited))
    done += waited;
  return waited;
}
