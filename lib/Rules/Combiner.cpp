//===- Combiner.cpp - How a reduction puts terms together -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Combiner.h. One pass over a body finds what depends on its outputs; then
// the way from what is yielded back to the accumulator must be steps of one
// kind, each with a term that does not.
//
//===----------------------------------------------------------------------===//

#include "tp/Rules/Combiner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

DenseSet<Value> tp::getOutputDependents(linalg::LinalgOp op) {
  DenseSet<Value> dependent;
  for (BlockArgument out : op.getRegionOutputArgs())
    dependent.insert(out);
  for (Operation &inner : op.getBlock()->without_terminator()) {
    bool depends = false;
    inner.walk([&](Operation *nested) {
      depends |= llvm::any_of(nested->getOperands(), [&](Value operand) {
        return dependent.contains(operand);
      });
    });
    if (depends)
      dependent.insert_range(inner.getResults());
  }
  return dependent;
}

/// The kind of one step of the combination of an accumulator with a term.
static std::optional<CombinerKind> getStepKind(Operation *op) {
  using Kind = CombinerKind;
  return llvm::TypeSwitch<Operation *, std::optional<CombinerKind>>(op)
      .Case<arith::AddFOp, arith::AddIOp, arith::SubFOp, arith::SubIOp,
            math::FmaOp>([](auto) { return Kind::Sum; })
      .Case<arith::MulIOp>([](auto) { return Kind::Product; })
      .Case<arith::MaximumFOp, arith::MaxSIOp>([](auto) { return Kind::Max; })
      .Case<arith::MinimumFOp, arith::MinSIOp>([](auto) { return Kind::Min; })
      .Case<arith::MaxNumFOp>([](auto) { return Kind::MaxNum; })
      .Case<arith::MinNumFOp>([](auto) { return Kind::MinNum; })
      .Case<arith::MaxUIOp>([](auto) { return Kind::MaxUnsigned; })
      .Case<arith::MinUIOp>([](auto) { return Kind::MinUnsigned; })
      .Case<arith::AndIOp>([](auto) { return Kind::And; })
      .Case<arith::OrIOp>([](auto) { return Kind::Or; })
      .Case<arith::XOrIOp>([](auto) { return Kind::Xor; })
      .Default([](Operation *) { return std::nullopt; });
}

/// The operand of the step `op` that leads on to the accumulator: the only one
/// that depends on an output, where the step is one of it. Null if there is
/// none.
static Value followStep(Operation *op, const DenseSet<Value> &dependent) {
  Value next;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!dependent.contains(operand.get()))
      continue;
    bool isAccumulator =
        isa<arith::SubFOp, arith::SubIOp>(op) ? operand.getOperandNumber() == 0
        : isa<math::FmaOp>(op)                ? operand.getOperandNumber() == 2
                                              : true;
    if (next || !isAccumulator)
      return nullptr;
    next = operand.get();
  }
  return next;
}

/// The operands of its steps that are terms are added to `terms`, if asked.
static std::optional<Combiner>
matchCombiner(linalg::LinalgOp op, unsigned output,
              const DenseSet<Value> &dependent,
              SmallVectorImpl<OpOperand *> *terms = nullptr) {
  BlockArgument out = op.getRegionOutputArgs()[output];
  Value value = op.getBlock()->getTerminator()->getOperand(output);
  std::optional<Combiner> combiner;
  while (value != out) {
    Operation *step = value.getDefiningOp();
    if (!step || step->getBlock() != out.getOwner())
      return std::nullopt;
    // An accumulator may be widened for a step, and rounded after it; one that
    // is rounded to less than its own type is none of its combiner.
    if (isa<arith::ExtFOp, arith::TruncFOp>(step)) {
      value = step->getOperand(0);
      if (value.getType().getIntOrFloatBitWidth() <
          out.getType().getIntOrFloatBitWidth())
        return std::nullopt;
      continue;
    }
    std::optional<CombinerKind> kind = getStepKind(step);
    if (!kind || (combiner && combiner->kind != *kind))
      return std::nullopt;
    if (!combiner)
      combiner = Combiner{*kind, out.getType()};
    combiner->subtracts |= isa<arith::SubFOp, arith::SubIOp>(step);
    value = followStep(step, dependent);
    if (!value)
      return std::nullopt;
    if (terms)
      for (OpOperand &operand : step->getOpOperands())
        if (!dependent.contains(operand.get()))
          terms->push_back(&operand);
  }
  return combiner;
}

std::optional<Combiner> tp::matchCombiner(linalg::LinalgOp op,
                                          unsigned output) {
  return ::matchCombiner(op, output, getOutputDependents(op));
}

SmallVector<OpOperand *> tp::getTermOperands(linalg::LinalgOp op,
                                             unsigned output) {
  SmallVector<OpOperand *> terms;
  ::matchCombiner(op, output, getOutputDependents(op), &terms);
  return terms;
}

std::optional<SmallVector<Combiner>> tp::matchCombiners(linalg::LinalgOp op) {
  DenseSet<Value> dependent = getOutputDependents(op);
  SmallVector<Combiner> combiners;
  for (unsigned output = 0; output < op.getNumDpsInits(); ++output) {
    std::optional<Combiner> combiner = ::matchCombiner(op, output, dependent);
    if (!combiner)
      return std::nullopt;
    combiners.push_back(*combiner);
  }
  return combiners;
}

//===----------------------------------------------------------------------===//
// Kinds of combiners
//===----------------------------------------------------------------------===//

std::optional<ReductionKind> tp::getReductionKind(const Combiner &combiner) {
  // Collectives know of no exclusive or, and of booleans as 0 and 1 alone.
  if (combiner.type.isInteger(1))
    return std::nullopt;
  switch (combiner.kind) {
  case CombinerKind::Sum:
    return ReductionKind::Sum;
  case CombinerKind::Max:
    return ReductionKind::Max;
  case CombinerKind::Min:
    return ReductionKind::Min;
  default:
    // A NaN on one rank stays in a collective's maximum.
    return std::nullopt;
  }
}

static TypedAttr getFloatIdentity(CombinerKind kind, FloatType type) {
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  auto infinity = [&](bool negative) {
    return FloatAttr::get(type, APFloat::getInf(semantics, negative));
  };
  switch (kind) {
  case CombinerKind::Sum:
    // 0 + -0 would be 0.
    return FloatAttr::get(type, APFloat::getZero(semantics, /*Negative=*/true));
  case CombinerKind::Max:
    return infinity(/*negative=*/true);
  case CombinerKind::Min:
    return infinity(/*negative=*/false);
  case CombinerKind::MaxNum:
  case CombinerKind::MinNum:
    return FloatAttr::get(type, APFloat::getQNaN(semantics));
  default:
    llvm_unreachable("no combiner of floats");
  }
}

static APInt getIntegerIdentity(CombinerKind kind, unsigned bits) {
  switch (kind) {
  case CombinerKind::Sum:
  case CombinerKind::Or:
  case CombinerKind::Xor:
  case CombinerKind::MaxUnsigned:
    return APInt::getZero(bits);
  case CombinerKind::Product:
    return APInt(bits, 1);
  case CombinerKind::And:
  case CombinerKind::MinUnsigned:
    return APInt::getAllOnes(bits);
  case CombinerKind::Max:
    return APInt::getSignedMinValue(bits);
  case CombinerKind::Min:
    return APInt::getSignedMaxValue(bits);
  default:
    llvm_unreachable("no combiner of integers");
  }
}

TypedAttr tp::getIdentityElement(const Combiner &combiner, Type element) {
  if (auto type = dyn_cast<FloatType>(element))
    return getFloatIdentity(combiner.kind, type);
  unsigned bits =
      element.isIndex() ? 64 : cast<IntegerType>(element).getWidth();
  return IntegerAttr::get(element, getIntegerIdentity(combiner.kind, bits));
}

template <typename FloatOp, typename IntegerOp = FloatOp>
static Value create(OpBuilder &builder, Location loc, Value a, Value b) {
  if (isa<FloatType>(getElementTypeOrSelf(a.getType())))
    return FloatOp::create(builder, loc, a, b);
  return IntegerOp::create(builder, loc, a, b);
}

Value tp::combinePartials(OpBuilder &builder, Location loc,
                          const Combiner &combiner, Value a, Value b) {
  switch (combiner.kind) {
  case CombinerKind::Sum:
    return create<arith::AddFOp, arith::AddIOp>(builder, loc, a, b);
  case CombinerKind::Product:
    return create<arith::MulIOp>(builder, loc, a, b);
  case CombinerKind::Max:
    return create<arith::MaximumFOp, arith::MaxSIOp>(builder, loc, a, b);
  case CombinerKind::MaxNum:
    return create<arith::MaxNumFOp>(builder, loc, a, b);
  case CombinerKind::MaxUnsigned:
    return create<arith::MaxUIOp>(builder, loc, a, b);
  case CombinerKind::Min:
    return create<arith::MinimumFOp, arith::MinSIOp>(builder, loc, a, b);
  case CombinerKind::MinNum:
    return create<arith::MinNumFOp>(builder, loc, a, b);
  case CombinerKind::MinUnsigned:
    return create<arith::MinUIOp>(builder, loc, a, b);
  case CombinerKind::And:
    return create<arith::AndIOp>(builder, loc, a, b);
  case CombinerKind::Or:
    return create<arith::OrIOp>(builder, loc, a, b);
  case CombinerKind::Xor:
    return create<arith::XOrIOp>(builder, loc, a, b);
  }
  llvm_unreachable("unknown combiner");
}
