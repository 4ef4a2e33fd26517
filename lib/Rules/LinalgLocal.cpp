//===- LinalgLocal.cpp - Structured operations on one rank ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same operation on local types; positions that the body reads count from
// the shard's beginning. Where padding would be counted or may not be looked
// at, the body itself leaves it out, by position: whatever the rest of it does
// with such an element is then of no account.
//
//   %j = linalg.index 1         %at = addi %j, %offset
//   %inside = cmpi slt %at, %size
//   %t = exp %x                 %term = select %inside, %t, %zero
//   %sum = addf %out, %term
//
//===----------------------------------------------------------------------===//

#include "LinalgBody.h"
#include "PadValue.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Rules/Combiner.h"

using namespace mlir;
using namespace mlir::linalg;
using namespace tp;

namespace {
/// Leaves padding out of the body of a local operation.
class BodyGuard {
public:
  BodyGuard(LinalgOp op, const LocalContext &context, ArrayRef<Value> offsets)
      : op(op), context(context), offsets(offsets),
        builder(OpBuilder::atBlockBegin(op.getBlock())) {}

  void guard();

private:
  /// True if the position is a logical one of all guarded factors, or of those
  /// that are reduced.
  Value buildInside(bool reducedOnly);
  void guardTerms(Value inside);
  void guardPartial(Value inside);
  void replace(OpOperand &operand, Value inside, TypedAttr otherwise);

  LinalgOp op;
  const LocalContext &context;
  ArrayRef<Value> offsets;
  OpBuilder builder;
};
} // namespace

Value BodyGuard::buildInside(bool reducedOnly) {
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  Location loc = op.getLoc();
  Value inside;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) {
    if (!context.isGuarded(loop) ||
        (reducedOnly && iterators[loop] != utils::IteratorType::reduction))
      continue;
    Value at = IndexOp::create(builder, loc, loop);
    if (offsets[loop])
      at = arith::AddIOp::create(builder, loc, at, offsets[loop]);
    Value end = arith::ConstantIndexOp::create(builder, loc,
                                               context.getGlobalSize(loop));
    Value one =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, at, end);
    inside = inside ? arith::AndIOp::create(builder, loc, inside, one) : one;
  }
  return inside;
}

void BodyGuard::replace(OpOperand &operand, Value inside, TypedAttr otherwise) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(operand.getOwner());
  Location loc = operand.getOwner()->getLoc();
  Value number = arith::ConstantOp::create(builder, loc, otherwise);
  operand.set(
      arith::SelectOp::create(builder, loc, inside, operand.get(), number));
}

void BodyGuard::guardTerms(Value inside) {
  for (unsigned output = 0; output < op.getNumDpsInits(); ++output) {
    std::optional<Combiner> combiner = matchCombiner(op, output);
    assert(combiner && "only reductions are cut");
    for (OpOperand *term : getTermOperands(op, output))
      replace(*term, inside,
              getIdentityElement(*combiner, term->get().getType()));
  }
}

void BodyGuard::guardPartial(Value inside) {
  SmallVector<Operation *> guarded;
  op.getBlock()->walk([&](Operation *inner) { guarded.push_back(inner); });
  for (Operation *inner : guarded)
    for (PartialOperand partial : getPartialOperands(inner)) {
      OpOperand &operand = inner->getOpOperand(partial.index);
      Type type = operand.get().getType();
      TypedAttr safe =
          isa<FloatType>(type)
              ? TypedAttr(builder.getFloatAttr(type, double(partial.safe)))
              : TypedAttr(builder.getIntegerAttr(type, partial.safe));
      replace(operand, inside, safe);
    }
}

void BodyGuard::guard() {
  if (Value inside = buildInside(/*reducedOnly=*/true))
    guardTerms(inside);
  if (Value inside = buildInside(/*reducedOnly=*/false))
    guardPartial(inside);
}

/// A named operation as linalg.generic, whose body may be changed.
static GenericOp generalize(LinalgOp op, OpBuilder &builder) {
  if (auto generic = dyn_cast<GenericOp>(op.getOperation()))
    return generic;
  auto generic = GenericOp::create(
      builder, op.getLoc(), op->getResultTypes(), op.getDpsInputs(),
      op.getDpsInits(), op.getIndexingMapsArray(), op.getIteratorTypesArray());
  generic.getRegion().takeBody(op->getRegion(0));
  generic->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->erase();
  return generic;
}

LocalValues tp::buildLocalLinalg(Operation *op, OpBuilder &builder,
                                 ValueRange operands, TypeRange resultTypes,
                                 const LocalContext &context) {
  SmallVector<Value> offsets;
  unsigned numLoops = cast<LinalgOp>(op).getNumLoops();
  bool isGuarded = false;
  llvm::SmallBitVector read(numLoops);
  cast<LinalgOp>(op).getBlock()->walk(
      [&](IndexOp index) { read.set(index.getDim()); });
  for (unsigned i = 0; i < numLoops; ++i) {
    isGuarded |= context.isGuarded(i);
    bool isRead = (read.test(i) || context.isGuarded(i));
    offsets.push_back(isRead && context.isSharded(i)
                          ? context.getOffset(builder, op->getLoc(), i)
                          : Value());
  }
  LocalValues results =
      cloneWithConstants(op, builder, operands, resultTypes, context);
  auto local = cast<LinalgOp>(results->front().getDefiningOp());
  OpBuilder::InsertionGuard guard(builder);
  local.getBlock()->walk([&](IndexOp index) {
    Value offset = offsets[index.getDim()];
    if (!offset)
      return;
    builder.setInsertionPointAfter(index);
    auto global = arith::AddIOp::create(builder, index.getLoc(),
                                        index.getResult(), offset);
    index.getResult().replaceAllUsesExcept(global, global);
  });
  if (!isGuarded)
    return results;
  builder.setInsertionPoint(local);
  GenericOp generic = generalize(local, builder);
  BodyGuard(cast<LinalgOp>(generic.getOperation()), context, offsets).guard();
  return SmallVector<Value>(generic.getResults());
}
