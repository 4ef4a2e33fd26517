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
// If that would leave ranks with little or nothing, a group is read as several
// that share one scale of the file: 768 inputs in groups of 128 over 8 ranks
// are 24 groups of 32, of which each rank has 3.
//
//===----------------------------------------------------------------------===//

#include "Groups.h"

#include "Weights.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Resolve/Provenance.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

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

/// Cuts the values that make the inputs of `weight` at multiples of `grain`.
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
      for (Value bias : experts.getBiases())
        setGrain(findWeight(bias), 1, grain, mesh);
    }
  }
}

/// The smallest groups that others are read as.
static constexpr int64_t smallestGroup = 16;

/// True if inputs of a layer with this weight are rounded by groups of their
/// own, which ranks have whole.
static bool hasGroupedInput(nn::DequantizeOp weight) {
  return llvm::any_of(weight->getUsers(), [](Operation *user) {
    auto linear = dyn_cast<nn::LinearOp>(user);
    auto rounded = linear ? linear.getInput().getDefiningOp<nn::DequantizeOp>()
                          : nn::DequantizeOp();
    return rounded && rounded.getGroup().back() > 1;
  });
}

/// The size of the groups that groups of `group` among `size` inputs should be
/// read as, so that each of `shards` has as many; `group` itself where whole
/// ones, of which the last ranks have fewer, waste less than an eighth.
static int64_t chooseUnit(nn::DequantizeOp op, int64_t size, int64_t group,
                          int64_t shards) {
  int64_t groups = size / group;
  if (size % group != 0 || size % shards != 0)
    return group;
  int64_t unit = std::gcd(size / shards, group);
  int64_t padded = llvm::alignTo(groups, shards);
  bool isWasteful = shards > groups || 8 * (padded - groups) > groups;
  if (!isWasteful || unit < smallestGroup ||
      (shards <= groups && hasGroupedInput(op)))
    return group;
  return unit;
}

/// Reads scales or zero points as `times` as many in the last dimension.
static Value repeatLast(ParameterOp parameter, int64_t times) {
  StorageAttr storage = *parameter.getStorage();
  auto type = cast<RankedTensorType>(parameter.getType());
  int64_t last = type.getRank() - 1, inFile = last;
  SmallVector<int64_t> shape(type.getShape());
  shape[last] *= times;
  OpBuilder builder(parameter);
  auto made = cast<ParameterOp>(builder.clone(*parameter));
  made.getResult().setType(type.clone(shape));
  made->removeAttr(valueIdAttrName);
  if (ParameterSourceAttr source = parameter.getSourceAttr()) {
    SmallVector<int64_t> whole(source.getShape()), offsets(source.getOffsets());
    inFile = source.getPermutation()[last];
    whole[inFile] *= times;
    offsets[inFile] *= times;
    made.setSourceAttr(
        ParameterSourceAttr::get(builder.getContext(), whole, offsets,
                                 source.getPermutation(), source.getSteps()));
  }
  SmallVector<int64_t> repeat(storage.getRepeat());
  if (repeat.empty())
    repeat.assign(type.getRank(), 1);
  repeat[inFile] *= times;
  made.setStorageAttr(StorageAttr::get(
      builder.getContext(), storage.getFileType(), storage.getBits(),
      storage.getDim(), storage.getOrder(), storage.getOffset(), repeat));
  return made;
}

/// Reads groups of inputs as several of `unit` that share a scale. False where
/// scales or zero points are not read from a file.
static bool refine(nn::DequantizeOp op, int64_t unit) {
  SmallVector<OpOperand *> operands{&op.getScalesMutable()};
  for (OpOperand &zeros : op.getZerosMutable())
    operands.push_back(&zeros);
  for (OpOperand *operand : operands) {
    auto parameter = operand->get().getDefiningOp<ParameterOp>();
    if (!parameter || !parameter.getStorage())
      return false;
  }
  SmallVector<int64_t> group(op.getGroup());
  for (OpOperand *operand : operands) {
    auto parameter = operand->get().getDefiningOp<ParameterOp>();
    operand->set(repeatLast(parameter, group.back() / unit));
    if (parameter->use_empty())
      parameter->erase();
  }
  group.back() = unit;
  op.setGroup(group);
  return true;
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
  SmallVector<int64_t> degrees;
  for (int64_t d = 1; d <= 64; ++d)
    if (d <= groups || chooseUnit(op, size, group, d) != group)
      degrees.push_back(d);
  llvm::interleaveComma(degrees, diag);
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

/// Heads are cut apart, but not the groups that are parts of several.
static LogicalResult refuseHeads(nn::DequantizeOp op, int64_t shards,
                                 int64_t head, int64_t group) {
  return startError(op)
         << "degree " << shards << " cuts heads unevenly, " << head
         << " inputs at a time, and groups of " << group
         << ", which share a scale, are no parts of that: expected a degree "
            "that cuts the heads evenly";
}

LogicalResult tp::fitGroups(ModuleOp module, const Mesh &mesh) {
  SmallVector<nn::DequantizeOp> ops;
  module.walk([&](nn::DequantizeOp op) { ops.push_back(op); });
  for (nn::DequantizeOp op : ops) {
    Operation *weight = findWeight(op.getValues());
    ShardingAttr attr = getWeightSharding(weight);
    if (!attr)
      continue;
    TensorSharding sharding = attr.toSharding(mesh);
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(op.getValues().getType()).getShape();
    if (failed(checkOrdered(op, getShardCount(sharding.dims.back().axes),
                            shape.back())))
      return failure();
    for (auto [d, group] : llvm::enumerate(op.getGroup())) {
      int64_t size = shape[d], shards = getShardCount(sharding.dims[d].axes);
      if (group <= 1 || shards == 1)
        continue;
      // Heads that are cut unevenly, before anything else set a grain here.
      const DimSharding &cut = sharding.dims[d];
      if (cut.hasBlocks() || (cut.grain > 1 && d + 1 == shape.size())) {
        if (cut.grain % group != 0)
          return refuseHeads(op, shards, cut.grain, group);
        continue;
      }
      int64_t unit =
          d + 1 == shape.size() ? chooseUnit(op, size, group, shards) : group;
      if (unit != group && refine(op, unit))
        continue;
      if (shards > int64_t(llvm::divideCeil(size, group)))
        return refuse(op, shards, size, group);
      if (size % group != 0)
        return refuseShort(op, shards, size, group);
      int64_t local = llvm::divideCeil(size, shards);
      if (local % group == 0 || sharding.dims[d].grain % group == 0)
        continue;
      setGrain(weight, d, group, mesh);
      if (d + 1 == shape.size())
        alignProducers(op, size, group, mesh);
    }
  }
  return success();
}
