//===- Experts.cpp - All of nn.experts ------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifier, rule, decomposition, derivative and library form of nn.experts.
// To the rule it is dense: a sum over experts and over their width, so that
// experts on several ranks, or a part of each on every rank, cost one sum of
// the result and no exchange of rows. Only the library leaves out what has the
// weight zero.
//
//===----------------------------------------------------------------------===//

#include "ExpertParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Interfaces/LibraryCalls.h"
#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::nn;

LogicalResult ExpertsOp::verify() {
  return verifyExperts(*this, "result", getResult());
}

FailureOr<ShardingRule> ExpertsOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> input = shapeOf(getInput()), down = shapeOf(getDown());
  Dims rows = addRows(rule, input.drop_back());
  unsigned e = rule.addFactor(down[0], FactorKind::Reduction, "experts");
  unsigned f = rule.addFactor(down[2], FactorKind::Reduction, "width");
  unsigned k = rule.addFactor(input.back(), FactorKind::Whole, "k");
  unsigned n = rule.addFactor(down[1], FactorKind::Parallel, "n");
  addOperand(rule, with(rows, k), Linearity::None);
  addOperand(rule, with(rows, e), Linearity::None);
  addOperand(rule, {{e}, {f}, {k}}, Linearity::None);
  addOperand(rule, {{e}, {f}, {k}}, Linearity::None);
  addOperand(rule, {{e}, {n}, {f}}, Linearity::Multilinear);
  for (size_t i = 0; i < getBiases().size(); ++i)
    addOperand(rule, {{e}, {f}}, Linearity::None);
  if (getInside())
    addOperand(rule, {{f}}, Linearity::None);
  addResult(rule, with(rows, n));
  return rule;
}

SmallVector<PadState> ExpertsOp::getPaddingStates(unsigned factor,
                                                  ArrayRef<PadState> in) {
  // Rows and experts without a weight give zeros whatever else there is. Of the
  // width it takes that the padding is left out: zeros of gate and up are not
  // zeros once they are multiplied with an infinity of the input.
  unsigned rows = typeOf(getInput()).getRank() - 1;
  bool zero = factor <= rows && isZero(in[1]);
  if (factor == rows + 1 && getInside())
    zero = isZero(in[4]) && isZero(in.back());
  return {zero ? PadState::Zero : PadState::Anything};
}

std::optional<IntegerRange> ExpertsOp::getIntegerRange(OpOperand &) {
  return IntegerRange{2};
}

static Value product(Scalar &e, ValueRange v) { return e.mul(v[0], v[1]); }

/// side[..., E, f] times routing[..., E].
static Value scaleByRouting(Emitter &emitter, Value side, Value routing) {
  Loops all = emitter.loops(typeOf(side).getRank());
  return emitter.map(typeOf(side),
                     {{side, all}, {routing, Loops(ArrayRef(all).drop_back())}},
                     product);
}

FailureOr<SmallVector<Value>> ExpertsOp::decompose(OpBuilder &builder) {
  RankedTensorType input = typeOf(getInput());
  Emitter emitter(builder, getLoc(), input.getElementType());
  unsigned rows = input.getRank() - 1;
  ArrayRef<int64_t> down = shapeOf(getDown());
  // Loops: rows, expert, the result's position, that of the sum.
  Loops d = emitter.loops(rows + 3);
  AffineExpr e = d[rows], to = d[rows + 1], from = d[rows + 2];
  Loops each(ArrayRef(d).take_front(rows));
  auto at = [&](std::initializer_list<AffineExpr> more) {
    Loops position = each;
    position.append(more);
    return position;
  };
  auto shapeWith = [&](std::initializer_list<int64_t> more) {
    SmallVector<int64_t> shape(input.getShape().drop_back());
    shape.append(more);
    return shape;
  };
  auto multiply = [&](Value weight, Value x, Loops position, int64_t size) {
    return emitter.reduce(emitter.wideType(shapeWith({down[0], size})),
                          at({e, to}), rows + 3, Combine::Sum,
                          {{x, position}, {weight, {e, to, from}}}, product);
  };
  SmallVector<Value> sides;
  for (unsigned i : {0, 1}) {
    Value side =
        multiply(i == 0 ? getGate() : getUp(), getInput(), at({from}), down[2]);
    if (getScalesInput())
      side = scaleByRouting(emitter, side, getRouting());
    sides.push_back(addBias(emitter, side, getBias(*this, i)));
  }
  Loops same = emitter.loops(rows + 2);
  Value inner = mapWidth(
      emitter, input.clone(shapeWith({down[0], down[2]})), getInside(),
      {{sides[0], same}, {sides[1], same}}, [&](Scalar &s, ValueRange v) {
        return buildGated(s.b, s.b.getLoc(), getGating(*this), v[0], v[1]);
      });
  Value outer = multiply(getDown(), inner, at({e, from}), down[1]);
  Value result =
      emitter.reduce(typeOf(getResult()), at({to}), rows + 2, Combine::Sum,
                     {{outer, at({e, to})}, {getRouting(), at({e})}},
                     [&](Scalar &s, ValueRange v) {
                       Value term = getScalesInput() ? v[0] : s.mul(v[1], v[0]);
                       return unlessZero(s, v[1], term);
                     });
  return SmallVector<Value>{result};
}

FailureOr<SmallVector<Value>> ExpertsOp::buildVjp(OpBuilder &builder,
                                                  ValueRange cotangents) {
  if (getScalesInput())
    return emitOpError("with scales_input has no derivative"), failure();
  Emitter emitter(builder, getLoc(), typeOf(getInput()).getElementType());
  auto wide = [&](Value value) { return emitter.wideType(shapeOf(value)); };
  auto backward = ExpertsBackwardOp::create(
      builder, getLoc(), getInput().getType(), wide(getRouting()),
      wide(getGate()), wide(getUp()), wide(getDown()), getBiases().getTypes(),
      cotangents[0], getInput(), getRouting(), getGate(), getUp(), getDown(),
      getBiases(), getInside(), getActivationAttr(), getActiveAttr(),
      getTopKAttr(), getAlphaAttr(), getLimitAttr(), getUpOffsetAttr());
  SmallVector<Value> gradients(backward.getResults());
  for (auto [operand, gradient] : llvm::zip(getOperands(), gradients))
    if (RankedTensorType type = typeOf(operand); type != gradient.getType())
      gradient = emitter.map(type, {{gradient, emitter.loops(type.getRank())}},
                             [](Scalar &, ValueRange v) { return v[0]; });
  if (getInside())
    gradients.push_back(Value());
  return gradients;
}

//===----------------------------------------------------------------------===//
// Library form
//===----------------------------------------------------------------------===//

LogicalResult ExpertsOp::verifyLibraryForm() {
  Type element = typeOf(getInput()).getElementType();
  for (auto [what, matrix] :
       {std::pair("gate", getGate()), std::pair("up", getUp()),
        std::pair("down", getDown())})
    if (failed(expectElement(*this, what, matrix, element)))
      return failure();
  return success();
}

/// A point of the rule's loops has a part of the three products of a row and an
/// expert: each lacks one of the factors. One matrix for gate and up is one
/// product.
double ExpertsOp::getFlopsPerPoint() {
  double k = shapeOf(getInput()).back(), n = shapeOf(getResult()).back();
  double sides = getGate() == getUp() ? 2 : 4;
  return getActive().convertToDouble() * (sides / n + 2 / k);
}

/// Rows choose for themselves: an expert is used by none of them with the
/// probability that each of them leaves it out.
double ExpertsOp::getReadPart(OpOperand &operand) {
  if (!llvm::is_contained({getGate(), getUp(), getDown()}, operand.get()))
    return 1;
  return 1 - std::pow(1 - getActive().convertToDouble(), countRows(*this));
}

std::optional<LibraryDescription>
ExpertsOp::getLibraryDescription(const LibraryUse &) {
  return describeExperts(*this);
}

LibraryCall ExpertsOp::getLibraryCall(const LibraryUse &) {
  return abi::experts(countRows(*this), getInput(), getRouting(), getGate(),
                      getUp(), getDown(), getBias(*this, 0), getBias(*this, 1),
                      getInside(), getResult());
}
