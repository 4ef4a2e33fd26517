//===- Needs.cpp - What the uses of values need ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks each operation for what its operands must be, and holds that against
// what is written on them.
//
//===----------------------------------------------------------------------===//

#include "Needs.h"

#include "OpAnalysis.h"
#include "tp/Partition/Derive.h"

using namespace mlir;
using namespace tp;

LogicalResult Needs::need(OpOperand &use, const TensorSharding &sharding) {
  Value value = use.get();
  FailureOr<TensorSharding> have =
      getWrittenSharding(use.getOwner(), value, mesh);
  if (failed(have))
    return failure();
  ArrayRef<int64_t> shape = getGlobalShape(value);
  if (sameLayout(shape, *have, sharding))
    return success();
  // A complete maximum is a partial one, and zeros are a partial sum.
  if (sharding.isPartial() && !have->isPartial()) {
    TensorSharding complete = sharding;
    complete.partial.clear();
    complete.reduction = ReductionKind::Sum;
    if (sameLayout(shape, *have, complete) &&
        (sharding.reduction != ReductionKind::Sum || isZeroTensor(value)))
      return success();
  }
  SmallVector<NeededSharding, 0> &targets = values[value];
  for (NeededSharding &target : targets)
    if (sameLayout(shape, target.sharding, sharding)) {
      target.uses.push_back(&use);
      ++numShared;
      return success();
    }
  targets.push_back({sharding, {&use}, std::nullopt});
  return success();
}

/// The sharding of one layer of a stacked tensor with this sharding.
static FailureOr<TensorSharding> getSliceSharding(Operation *op,
                                                  TensorSharding sharding) {
  if (!canonicalize(sharding.dims.front().axes).empty())
    return op->emitOpError("expected the layers of a stacked result to be "
                           "whole: dimension 0 cannot be split");
  sharding.dims.erase(sharding.dims.begin());
  return sharding;
}

LogicalResult Needs::collectRepeat(RepeatOp op) {
  for (OpOperand &use : op->getOpOperands()) {
    if (!isa<RankedTensorType>(use.get().getType()))
      continue;
    unsigned index = use.getOperandNumber();
    bool isCarried = index < op.getInits().size();
    Value holder = isCarried ? Value(op.getResult(index)) : use.get();
    FailureOr<TensorSharding> sharding = getWrittenSharding(op, holder, mesh);
    if (failed(sharding))
      return failure();
    if (!isCarried)
      sharding->dims.front() = DimSharding();
    if (failed(need(use, *sharding)))
      return failure();
  }
  for (OpOperand &use : op.getYield()->getOpOperands()) {
    unsigned index = use.getOperandNumber();
    if (!isa<RankedTensorType>(use.get().getType()))
      continue;
    FailureOr<TensorSharding> sharding =
        getWrittenSharding(op, op.getResult(index), mesh);
    if (succeeded(sharding) && index >= op.getInits().size())
      sharding = getSliceSharding(op, *sharding);
    if (failed(sharding) || failed(need(use, *sharding)))
      return failure();
  }
  return success();
}

LogicalResult Needs::collect(Operation *op) {
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return collectRepeat(repeat);
  if (isa<YieldOp, ParameterOp>(op) || !hasTensors(op))
    return success();
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return need(reshard->getOpOperand(0), reshard.getFrom().toSharding(mesh));
  if (isa<func::ReturnOp>(op)) {
    for (OpOperand &use : op->getOpOperands()) {
      if (!isa<RankedTensorType>(use.get().getType()))
        continue;
      ShardingAttr attr =
          getResultSharding(op->getParentOp(), use.getOperandNumber());
      if (!attr)
        return op->emitOpError()
               << "expected result " << use.getOperandNumber()
               << " of the function to have a sharding: run tp-propagate first";
      FailureOr<TensorSharding> sharding =
          attr.toSharding(mesh, [&] { return op->emitOpError(); });
      if (failed(sharding) || failed(need(use, *sharding)))
        return failure();
    }
    return success();
  }
  FailureOr<OpAnalysis> analysis = analyzeOp(op, mesh);
  if (failed(analysis))
    return failure();
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    TensorSharding produced = getProducedSharding(
        analysis->rule, index, analysis->resolved, getGlobalShape(result));
    if (!sameLayout(getGlobalShape(result), produced, analysis->results[index]))
      return op->emitOpError()
             << "result " << index << ": expected the sharding that the "
             << "operation gives, " << toString(produced, mesh) << ", got "
             << toString(analysis->results[index], mesh)
             << ": run tp-propagate first";
  }
  for (OpOperand &use : op->getOpOperands())
    if (isa<RankedTensorType>(use.get().getType()) &&
        failed(need(use, analysis->getRequired(use.getOperandNumber()))))
      return failure();
  return success();
}

LogicalResult Needs::collect(func::FuncOp function) {
  WalkResult walk = function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == function)
      return WalkResult::advance();
    if (failed(collect(op)))
      return WalkResult::interrupt();
    // Bodies of linalg operations are scalar code.
    return isa<RepeatOp>(op) ? WalkResult::advance() : WalkResult::skip();
  });
  return failure(walk.wasInterrupted());
}
