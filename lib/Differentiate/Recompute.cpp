//===- Recompute.cpp - What a derivative computes again -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values are decided on in the order of the layer, so that each knows what is
// kept before it. Example, selective, of h = x + linear(a) and n = norm(h):
// linear is not repeated, so h does not follow from x and is kept; n follows
// from h.
//
// The clones stand in a loop of their own, in which nothing else computes the
// same, so that no pass can join them with what they repeat.
//
//===----------------------------------------------------------------------===//

#include "Recompute.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/NN/IR/NNOps.h"

using namespace mlir;
using namespace tp;
using namespace tp::differentiate;

/// True if `op` is never kept: it costs nothing, or has a scalar, which cannot
/// be stacked.
static bool costsNothing(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         isa<ParameterOp, tensor::EmptyOp, tensor::SplatOp, linalg::FillOp>(
             op) ||
         llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

/// True if `op` makes another view of what it reads.
static bool isView(Operation *op) {
  return isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op);
}

/// True if `op` takes about as long as reading its operands and writing its
/// results does.
static bool isCheap(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return structured.getNumReductionLoops() == 0;
  if (auto differentiable = dyn_cast<DifferentiableOpInterface>(op))
    return differentiable.isCheap();
  return isa<arith::ArithDialect, math::MathDialect, tensor::TensorDialect>(
             op->getDialect()) ||
         isa<ShardingConstraintOp>(op);
}

/// True if `value` is a number for each row that a norm divides by, or takes
/// from it: little to keep, and a sum to compute.
static bool isStatistic(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto op = result ? dyn_cast<DifferentiableOpInterface>(result.getOwner())
                   : DifferentiableOpInterface();
  return op && op.getNumStatistics() > 0 && result.getResultNumber() > 0;
}

RecomputePlan::RecomputePlan(Block &layer, Recompute policy,
                             const DenseSet<Value> &read)
    : layer(layer), policy(policy) {
  for (Operation &op : layer)
    for (Value result : op.getResults()) {
      if (!read.contains(result) || costsNothing(&op))
        continue;
      if ((policy == Recompute::Selective && isStatistic(result)) ||
          !followsFromKept(result)) {
        kept.insert(result);
        follows.clear();
      }
    }
}

bool RecomputePlan::followsFromKept(Value value) {
  Operation *op = value.getDefiningOp();
  if (value.getParentBlock() != &layer || !op || kept.contains(value))
    return true;
  auto known = follows.find(value);
  if (known != follows.end())
    return known->second;
  bool result = policy == Recompute::Full || costsNothing(op) || isView(op) ||
                (policy == Recompute::Selective && isCheap(op));
  if (result)
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        result &= followsFromKept(operand);
    });
  follows[value] = result;
  return result;
}

bool RecomputePlan::isComputedAgain(Value value) {
  Operation *op = value.getDefiningOp();
  return op && (costsNothing(op) ||
                (!kept.contains(value) && followsFromKept(value)));
}
