//===- MixedLoops.cpp - Reductions of each of a row's columns -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parallel columns outside, reductions inside. A term of a sum that is zero by
// a condition that is known beforehand is not read: the last token of a
// sequence, picked as the sum of all where the position is the last, is one row
// of many.
//
//===----------------------------------------------------------------------===//

#include "tp/Conversion/Rows/RowEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tp;

namespace {
/// The term is zero unless the condition, an i1, is `wanted`.
struct Guard {
  Value condition;
  bool wanted;
  /// The operations that make the condition, of positions and known values.
  SmallVector<Operation *> known;
  /// All other operations of the body.
  SmallVector<Operation *> rest;
};
} // namespace

static bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

/// True if `op` is a sum from zero whose term is a choice between zero and
/// something else by what `isKnown` operands and positions decide.
static std::optional<Guard> findGuard(linalg::GenericOp op,
                                      function_ref<bool(OpOperand &)> isKnown) {
  if (op->getNumResults() != 1 || !isZero(op.getDpsInits()[0]))
    return std::nullopt;
  Block *body = op.getBody();
  Value sum = op.getRegionOutputArgs()[0];
  OpOperand *term = findPlainTerm(op, 0);
  if (!term || !isa<arith::AddFOp, arith::AddIOp>(term->getOwner()))
    return std::nullopt;
  auto choice = term->get().getDefiningOp<arith::SelectOp>();
  if (!choice || !choice.getCondition().getType().isInteger(1))
    return std::nullopt;
  bool wanted = isZero(choice.getFalseValue());
  if (!wanted && !isZero(choice.getTrueValue()))
    return std::nullopt;
  Guard guard{choice.getCondition(), wanted, {}, {}};
  SmallVector<Value> work{guard.condition};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == body &&
          (argument == sum ||
           !isKnown(op->getOpOperand(argument.getArgNumber()))))
        return std::nullopt;
      continue;
    }
    Operation *made = value.getDefiningOp();
    if (made->getBlock() != body || !seen.insert(made).second)
      continue;
    if (!isa<linalg::IndexOp>(made) &&
        !isa<arith::ArithDialect, math::MathDialect>(made->getDialect()))
      return std::nullopt;
    llvm::append_range(work, made->getOperands());
  }
  for (Operation &inner : body->without_terminator())
    (seen.contains(&inner) ? guard.known : guard.rest).push_back(&inner);
  return guard;
}

/// One point of the nest.
LogicalResult RowEmitter::emitMixedPoint(KernelOp &op, ArrayRef<Value> position,
                                         int64_t laneDim,
                                         SmallVectorImpl<Value> &accumulators) {
  DenseMap<Value, LaneValue> tensors, lanes(scalars);
  Block *body = op.op.getBody();
  for (auto [i, value] : llvm::enumerate(accumulators))
    lanes[body->getArgument(op.op.getNumDpsInputs() + i)] = {
        value, emitter.width != 1, nullptr};
  auto emitRest = [&](ArrayRef<Operation *> done) -> LogicalResult {
    if (failed(emitOp(op, position, tensors, lanes, laneDim, done)))
      return failure();
    for (auto [i, yielded] :
         llvm::enumerate(body->getTerminator()->getOperands()))
      accumulators[i] = emitter.toVector(findLane(lanes, yielded));
    return success();
  };
  std::optional<Guard> guard = findGuard(op.op, [&](OpOperand &operand) {
    return scalars.contains(operand.get());
  });
  if (!guard)
    return emitRest({});
  for (OpOperand *operand : op.op.getDpsInputOperands())
    if (auto found = scalars.find(operand->get()); found != scalars.end())
      lanes[op.op.getMatchingBlockArgument(operand)] = found->second;
  if (failed(emitBody(op, position, lanes, laneDim, guard->rest)))
    return failure();
  LaneValue condition = findLane(lanes, guard->condition);
  if (condition.isVector)
    return emitRest(guard->known);
  Value inBounds = condition.value;
  if (!guard->wanted)
    inBounds =
        arith::XOrIOp::create(builder, loc, inBounds,
                              arith::ConstantIntOp::create(builder, loc, 1, 1));
  auto choice =
      scf::IfOp::create(builder, loc, TypeRange(ValueRange(accumulators)),
                        inBounds, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard restore(builder);
  builder.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(builder, loc, accumulators);
  builder.setInsertionPointToStart(choice.thenBlock());
  if (failed(emitRest(guard->known)))
    return failure();
  scf::YieldOp::create(builder, loc, accumulators);
  accumulators.assign(choice.getResults().begin(), choice.getResults().end());
  return success();
}

LogicalResult RowEmitter::emitMixedNest(KernelOp &op, const MixedOrder &order,
                                        unsigned depth,
                                        SmallVector<Value> &position,
                                        SmallVector<Value> &accumulators) {
  size_t numRows = op.rows.size();
  int64_t laneDim =
      order.laneColumn < 0 ? -1 : int64_t(numRows) + order.laneColumn;
  if (depth == order.numParallel) {
    accumulators.clear();
    for (unsigned i = 0; i < op.op.getNumDpsInits(); ++i)
      accumulators.push_back(emitter.toVector(
          loadOperand(op, *op.op.getDpsInitOperand(i), position, laneDim)));
  }
  auto finishParallel = [&]() {
    for (auto [i, value] : llvm::enumerate(accumulators))
      storeResult(op, i, {value, emitter.width != 1, nullptr}, position,
                  laneDim);
  };
  if (depth == order.columns.size()) {
    if (failed(emitMixedPoint(op, position, laneDim, accumulators)))
      return failure();
    if (order.columns.size() == order.numParallel)
      finishParallel();
    return success();
  }
  unsigned column = order.columns[depth];
  int64_t size = op.columnSizes[column];
  bool isReduction = depth >= order.numParallel;
  auto body = [&](Value index,
                  SmallVectorImpl<Value> &carried) -> LogicalResult {
    position[numRows + column] = index;
    SmallVector<Value> inside(carried.begin(), carried.end());
    if (failed(emitMixedNest(op, order, depth + 1, position, inside)))
      return failure();
    if (isReduction)
      carried.assign(inside.begin(), inside.end());
    return success();
  };
  if (isReduction) {
    if (failed(emitFor(0, size, 1, accumulators, body)))
      return failure();
    if (depth == order.numParallel)
      finishParallel();
    return success();
  }
  SmallVector<Value> none;
  if (int64_t(column) != order.laneColumn)
    return emitFor(0, size, 1, none, body);
  int64_t at = size / fullWidth * fullWidth;
  emitter.width = fullWidth;
  if (failed(emitFor(0, at, fullWidth, none, body)))
    return failure();
  for (int64_t part = fullWidth / 2; part >= 1; part /= 2)
    if (at + part <= size) {
      emitter.width = part;
      if (failed(body(emitter.constantIndex(at), none)))
        return failure();
      at += part;
    }
  return success();
}

RowEmitter::MixedOrder RowEmitter::getMixedOrder(KernelOp &op) {
  MixedOrder order;
  auto iterators = op.op.getIteratorTypesArray();
  SmallVector<unsigned> reductions;
  for (auto [i, dim] : llvm::enumerate(op.columns))
    (iterators[dim] == utils::IteratorType::parallel ? order.columns
                                                     : reductions)
        .push_back(i);
  // Lanes go along the last column of the result.
  AffineMap map =
      op.getCommonMap(op.op.getIndexingMapMatchingResult(op.op->getResult(0)));
  for (AffineExpr expr : map.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr);
        dim && dim.getPosition() >= op.rows.size())
      order.laneColumn = dim.getPosition() - op.rows.size();
  // The column of the lanes innermost among the parallel ones.
  llvm::erase(order.columns, unsigned(order.laneColumn));
  if (order.laneColumn >= 0)
    order.columns.push_back(order.laneColumn);
  order.numParallel = order.columns.size();
  llvm::append_range(order.columns, reductions);
  return order;
}
