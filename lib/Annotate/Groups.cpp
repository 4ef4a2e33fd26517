//===- Groups.cpp - Cuts that must fall between groups --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs of a row-parallel layer that share a scale stay on one rank. Where a
// degree does not divide the groups, the last ranks have fewer of them; the
// layers that make these inputs are cut at the same places, so that nothing
// moves between them.
//
// Example, 11008 inputs in groups of 128 over 4 ranks: 86 groups are 22, 22, 22
// and 20, and down_proj is [{}, {"tp" grain 128}]. Its inputs come from
// gate_proj and up_proj, which become [{"tp" grain 128}, {}].
//
//===----------------------------------------------------------------------===//

#include "Groups.h"

#include "Weights.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Resolve/Provenance.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

/// Sets the grain at which dimension `dim` of a weight is cut, if it is.
static void setGrain(Operation *weight, unsigned dim, int64_t grain,
                     const Mesh &mesh) {
  ShardingAttr attr = getWeightSharding(weight);
  if (!attr)
    return;
  TensorSharding sharding = attr.toSharding(mesh);
  if (dim >= sharding.dims.size() || sharding.dims[dim].axes.empty())
    return;
  sharding.dims[dim].grain = grain;
  setWeightSharding(weight, ShardingAttr::get(attr.getContext(), attr.getMesh(),
                                              mesh, sharding));
}

/// The linear layers whose results `value`, of `size` in the last dimension, is
/// made of element by element.
static void findProducers(Value value, int64_t size,
                          llvm::SmallPtrSetImpl<Operation *> &seen,
                          SmallVectorImpl<nn::LinearOp> &found) {
  Operation *op = value.getDefiningOp();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!op || !type || type.getRank() == 0 || type.getShape().back() != size ||
      !seen.insert(op).second)
    return;
  if (auto linear = dyn_cast<nn::LinearOp>(op)) {
    found.push_back(linear);
    return;
  }
  for (Value operand : op->getOperands())
    findProducers(operand, size, seen, found);
}

/// What makes the inputs of `weight` is cut at multiples of `grain`.
static void alignProducers(nn::DequantizeOp weight, int64_t size, int64_t grain,
                           const Mesh &mesh) {
  for (Operation *user : weight->getUsers()) {
    if (auto linear = dyn_cast<nn::LinearOp>(user)) {
      llvm::SmallPtrSet<Operation *, 8> seen;
      SmallVector<nn::LinearOp> producers;
      findProducers(linear.getInput(), size, seen, producers);
      for (nn::LinearOp producer : producers) {
        setGrain(findWeight(producer.getWeight()), 0, grain, mesh);
        setGrain(findWeight(producer.getBias()), 0, grain, mesh);
      }
    } else if (auto experts = dyn_cast<nn::ExpertsOp>(user)) {
      if (experts.getDown() != weight.getResult())
        continue;
      setGrain(findWeight(experts.getGate()), 1, grain, mesh);
      setGrain(findWeight(experts.getUp()), 1, grain, mesh);
    }
  }
}

static InFlightDiagnostic startError(nn::DequantizeOp op) {
  std::string where = toString(op->getLoc());
  InFlightDiagnostic diag = op->emitOpError();
  if (!where.empty())
    diag << "at " << where << ": ";
  return diag;
}

/// A weight whose groups are in no order is cut evenly: what is past its end
/// would be in some group, and not zero.
static LogicalResult checkOrdered(nn::DequantizeOp op, int64_t shards,
                                  int64_t size) {
  if (!op.getGroups() || size % shards == 0)
    return success();
  InFlightDiagnostic diag = startError(op);
  diag << "degree " << shards << " does not divide " << size
       << " inputs whose groups are in an order of their own; degrees that "
          "fit: ";
  SmallVector<int64_t> degrees;
  for (int64_t d = 1; d <= std::min<int64_t>(size, 64); ++d)
    if (size % d == 0)
      degrees.push_back(d);
  llvm::interleaveComma(degrees, diag);
  return diag;
}

static LogicalResult refuse(nn::DequantizeOp op, int64_t shards, int64_t size,
                            int64_t group) {
  InFlightDiagnostic diag = startError(op);
  int64_t groups = llvm::divideCeil(size, group);
  diag << "degree " << shards << " does not fit " << size
       << " inputs in groups of " << group
       << ", which share a scale: there are " << groups
       << " groups; degrees that fit: ";
  llvm::interleaveComma(
      llvm::seq<int64_t>(1, std::min<int64_t>(groups, 64) + 1), diag);
  return diag;
}

/// Ranks have whole groups, and the last one is not. (Import reads groups of a
/// checkpoint as smaller ones that are.)
static LogicalResult refuseShort(nn::DequantizeOp op, int64_t shards,
                                 int64_t size, int64_t group) {
  InFlightDiagnostic diag = startError(op);
  diag << "degree " << shards << " does not fit " << size
       << " inputs in groups of " << group << ", the last of which has "
       << size % group << "; degrees that fit: 1";
  return diag;
}

LogicalResult tp::fitGroups(ModuleOp module, const Mesh &mesh) {
  WalkResult walk = module.walk([&](nn::DequantizeOp op) {
    Operation *weight = findWeight(op.getValues());
    ShardingAttr attr = getWeightSharding(weight);
    if (!attr)
      return WalkResult::advance();
    TensorSharding sharding = attr.toSharding(mesh);
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(op.getValues().getType()).getShape();
    if (failed(checkOrdered(op, getShardCount(sharding.dims.back().axes),
                            shape.back())))
      return WalkResult::interrupt();
    for (auto [d, group] : llvm::enumerate(op.getGroup())) {
      int64_t size = shape[d], shards = getShardCount(sharding.dims[d].axes);
      if (group <= 1 || shards == 1)
        continue;
      if (shards > int64_t(llvm::divideCeil(size, group)))
        return (void)refuse(op, shards, size, group), WalkResult::interrupt();
      if (size % group != 0)
        return (void)refuseShort(op, shards, size, group),
               WalkResult::interrupt();
      int64_t local = llvm::divideCeil(size, shards);
      if (local % group == 0 || sharding.dims[d].grain % group == 0)
        continue;
      setGrain(weight, d, group, mesh);
      if (d + 1 == shape.size())
        alignProducers(op, size, group, mesh);
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}
