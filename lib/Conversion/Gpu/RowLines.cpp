//===- RowLines.cpp - Rows that begin anywhere in memory ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows whose length is no multiple of a vector begin at other places of a line
// of 16 bytes each. Vectors follow the lines, not the rows; what a row has
// before its first and behind its last whole line is done element by element.
// See LoopShape::phase.
//
//===----------------------------------------------------------------------===//

#include "RowWriter.h"

using namespace mlir;
using namespace tp;

/// `expr` modulo the width, as i32.
Value RowWriter::getRest(AffineExpr expr, ArrayRef<Value> position,
                         int64_t width) {
  Value before = emitter.emitAffine(expr, position);
  before =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), before);
  return e.bitAnd(before, width - 1);
}

const RowWriter::Phase &RowWriter::getPhase() {
  for (const Phase &phase : phases)
    if (phase.shape->sharesLike(*shape))
      return phase;
  SmallVector<Value> position(rowIndices);
  size_t numDims = plan.numRowDims;
  for (const KernelLoop &loop : plan.loops)
    numDims = std::max(numDims, plan.numRowDims + loop.sizes.size());
  position.resize(numDims, emitter.constantIndex(0));
  Value rest = getRest(shape->phase, position, shape->width);
  Value head = e.sub(i32(0), rest);
  head = e.bitAnd(head, shape->width - 1);
  Value left = e.sub(i32(shape->sizes.back()), head);
  Value count = e.div(left, shape->width);
  phases.push_back({shape, head, count});
  return phases.back();
}

std::pair<SmallVector<Value>, Value> RowWriter::getEdgePosition() {
  const Phase &phase = getPhase();
  Value behind = e.mul(phase.count, shape->width);
  behind = e.add(threadOfRow, behind);
  Value isHead = e.compare(arith::CmpIPredicate::ult, threadOfRow, phase.head);
  Value column = e.select(isHead, threadOfRow, behind);
  Value inBounds =
      e.compare(arith::CmpIPredicate::ult, column, shape->sizes.back());
  if (hasRow)
    inBounds = e.bitAnd(inBounds, hasRow);
  column = arith::MinUIOp::create(builder, loc, column,
                                  i32(shape->sizes.back() - 1));
  SmallVector<Value> position(rowIndices);
  size_t numDims = plan.numRowDims;
  for (const KernelLoop &loop : plan.loops)
    numDims = std::max(numDims, plan.numRowDims + loop.sizes.size());
  position.resize(numDims, emitter.constantIndex(0));
  position[shape->getLaneDim()] = toIndex(column);
  return {position, inBounds};
}

/// One element of each thread beside its vectors, in straight code: a thread
/// that has none looks at the last one again and keeps nothing of it.
LogicalResult RowWriter::emitEdge(const KernelLoop &loop,
                                  ArrayRef<Value> position, Value inBounds,
                                  Slot &values,
                                  MutableArrayRef<Accumulator> accumulators) {
  place = arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                     position[shape->getLaneDim()]);
  SmallVector<Value> before = tp::pack(accumulators);
  storeGuard = inBounds;
  slot = &values;
  LogicalResult result = emitAt(loop, position, 1, accumulators);
  slot = nullptr;
  storeGuard = nullptr;
  SmallVector<Value> after = tp::pack(accumulators);
  for (auto [value, other] : llvm::zip_equal(after, before))
    if (value != other)
      value = e.select(inBounds, value, other);
  tp::unpack(accumulators, after);
  return result;
}

/// A line of memory that a row touches: a whole vector, or those of its
/// elements that are the row's.
LogicalResult RowWriter::emitLine(const KernelLoop &loop, Value line) {
  Type type = line.getType();
  SmallVector<Value> position(rowIndices);
  position.append(loop.sizes.size(), emitter.constantIndex(0));
  int64_t lines = getLines(*shape), size = shape->sizes.back();
  Value own = e.rem(line, lines);
  Value rest = e.div(line, lines);
  for (size_t i = shape->dims.size() - 1; i-- > 0;) {
    Value extent = number(type, shape->sizes[i]);
    position[shape->dims[i]] = toIndex(i > 0 ? e.rem(rest, extent) : rest);
    rest = e.div(rest, extent);
  }
  Value before = getRest(shape->phase, position, shape->width);
  if (!type.isInteger(32))
    own = arith::TruncIOp::create(builder, loc, builder.getI32Type(), own);
  own = e.mul(own, shape->width);
  Value first = e.sub(own, before);
  // Below zero is past the end when read without a sign.
  Value isWhole =
      e.compare(arith::CmpIPredicate::ule, first, size - shape->width);
  auto branch = scf::IfOp::create(builder, loc, isWhole,
                                  /*withElseRegion=*/true);
  auto emitColumn = [&](Value column, int64_t width) {
    position[shape->getLaneDim()] = arith::IndexCastOp::create(
        builder, loc, builder.getIndexType(), column);
    DenseMap<Value, LaneValue> tensors;
    return emitStep(loop, position, width, shape->getLaneDim(), 0, {}, tensors);
  };
  slot = nullptr;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  emitter.phase = shape->phase;
  if (failed(emitColumn(first, shape->width)))
    return failure();
  builder.setInsertionPointToStart(branch.elseBlock());
  Value from = e.max(first, 0);
  Value to = e.add(first, shape->width);
  to = e.min(to, size);
  auto each = scf::ForOp::create(builder, loc, from, to, i32(1));
  builder.setInsertionPoint(each.getBody()->getTerminator());
  return emitColumn(each.getInductionVar(), 1);
}
