//===- VjpNorms.cpp - Derivatives of norms and cross-entropy
//----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statistics come from the operation's results where it has them and are
// computed again where it has not.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tp::nn;

using Gradients = FailureOr<SmallVector<Value>>;

/// Results other than the first have no derivative of their own here.
static LogicalResult expectFirstAlone(Operation *op, ValueRange cotangents) {
  for (auto [i, cotangent] : llvm::enumerate(cotangents))
    if (i > 0 && cotangent)
      return op->emitOpError() << "has no vector-Jacobian product for result "
                               << i << ", which is a statistic";
  return success();
}

/// Sum over the rows of `operands`, of which the last dimension remains.
static Value reduceToLast(Emitter &emitter, RankedTensorType type,
                          unsigned rank, ArrayRef<Operand> operands,
                          Body body) {
  return emitter.reduce(type, {emitter.loops(rank).back()}, rank, Combine::Sum,
                        operands, body);
}

Gradients RMSNormOp::buildVjp(OpBuilder &builder, ValueRange cotangents) {
  if (failed(expectFirstAlone(*this, cotangents)))
    return failure();
  RankedTensorType type = typeOf(getInput());
  Emitter emitter(builder, getLoc(), type.getElementType());
  unsigned rank = type.getRank();
  int64_t h = type.getShape().back();
  Loops d = emitter.loops(rank), rows(ArrayRef(d).drop_back());
  Value rstd = getRstd() ? getRstd() : computeRmsRstd(emitter, *this);
  SmallVector<Operand> operands{{getInput(), d},
                                {cotangents[0], d},
                                {getWeight(), {d.back()}},
                                {rstd, rows}};
  // mean(dy w x̂), with x̂ = x rstd.
  Value mean = reduceRows(emitter, Combine::Sum, operands, getInput(),
                          [&](Scalar &e, ValueRange v) -> Value {
                            Value g = e.mul(v[1], v[2]);
                            Value normalised = e.mul(v[0], v[3]);
                            return e.mul(e.mul(g, normalised), 1.0 / h);
                          });
  operands.push_back({mean, rows});
  Value input = emitter.map(type, operands, [](Scalar &e, ValueRange v) {
    Value g = e.mul(v[1], v[2]), normalised = e.mul(v[0], v[3]);
    return e.mul(v[3], e.sub(g, e.mul(normalised, v[4])));
  });
  Value weight = reduceToLast(
      emitter, typeOf(getWeight()), rank,
      {{getInput(), d}, {cotangents[0], d}, {rstd, rows}},
      [](Scalar &e, ValueRange v) { return e.mul(e.mul(v[0], v[2]), v[1]); });
  return SmallVector<Value>{input, weight};
}

Gradients LayerNormOp::buildVjp(OpBuilder &builder, ValueRange cotangents) {
  if (failed(expectFirstAlone(*this, cotangents)))
    return failure();
  RankedTensorType type = typeOf(getInput());
  Emitter emitter(builder, getLoc(), type.getElementType());
  unsigned rank = type.getRank();
  int64_t h = type.getShape().back();
  Loops d = emitter.loops(rank), rows(ArrayRef(d).drop_back());
  Value mean = getMean(), rstd = getRstd();
  if (!mean)
    std::tie(mean, rstd) = computeMeanRstd(emitter, *this);
  SmallVector<Operand> operands{{getInput(), d},
                                {cotangents[0], d},
                                {getWeight(), {d.back()}},
                                {mean, rows},
                                {rstd, rows}};
  auto gradient = [](Scalar &e, ValueRange v) { return e.mul(v[1], v[2]); };
  auto normalised = [](Scalar &e, ValueRange v) {
    return e.mul(e.sub(v[0], v[3]), v[4]);
  };
  // mean(g) and mean(g x̂), with g = dy w and x̂ = (x - mean) rstd.
  Value first = reduceRows(
      emitter, Combine::Sum, operands, getInput(),
      [&](Scalar &e, ValueRange v) { return e.mul(gradient(e, v), 1.0 / h); });
  Value second = reduceRows(
      emitter, Combine::Sum, operands, getInput(),
      [&](Scalar &e, ValueRange v) {
        return e.mul(e.mul(gradient(e, v), normalised(e, v)), 1.0 / h);
      });
  operands.push_back({first, rows});
  operands.push_back({second, rows});
  SmallVector<Value> gradients{
      emitter.map(type, operands, [&](Scalar &e, ValueRange v) {
        Value centred = e.sub(gradient(e, v), v[5]);
        return e.mul(v[4], e.sub(centred, e.mul(normalised(e, v), v[6])));
      })};
  gradients.push_back(reduceToLast(
      emitter, typeOf(getWeight()), rank, ArrayRef(operands).take_front(5),
      [&](Scalar &e, ValueRange v) { return e.mul(v[1], normalised(e, v)); }));
  if (getBias())
    gradients.push_back(
        reduceToLast(emitter, typeOf(getBias()), rank, {{cotangents[0], d}},
                     [](Scalar &, ValueRange v) { return v[0]; }));
  return gradients;
}

Gradients CrossEntropyOp::buildVjp(OpBuilder &builder, ValueRange cotangents) {
  RankedTensorType type = typeOf(getLogits());
  Emitter emitter(builder, getLoc(), type.getElementType());
  unsigned rank = type.getRank();
  int64_t vocabulary = type.getShape().back();
  Loops d = emitter.loops(rank), rows(ArrayRef(d).drop_back());
  Value lse = getLse() ? getLse() : computeLse(emitter, *this);
  bool hasLoss = static_cast<bool>(cotangents[0]);
  bool hasLse = cotangents.size() > 1 && cotangents[1];
  SmallVector<Operand> operands{
      {getLogits(), d}, {lse, rows}, {getLabels(), rows}};
  if (hasLoss)
    operands.push_back({cotangents[0], rows});
  if (hasLse)
    operands.push_back({cotangents[1], rows});
  Value logits =
      emitter.map(type, operands, [&](Scalar &e, ValueRange v) -> Value {
        Value zero = e.number(0);
        Value softmax = e.exp(e.sub(v[0], v[1])), sum = zero;
        if (hasLoss) {
          Type labelType = v[2].getType();
          Value position = e.cast(e.index(rank - 1), labelType);
          Value hit = e.compare(CmpI::eq, position, v[2]);
          Value valid = e.compare(CmpI::ult, v[2], vocabulary);
          Value slope = e.sub(softmax, e.select(hit, e.number(1), zero));
          sum = e.select(valid, e.mul(v[3], slope), zero);
        }
        if (hasLse)
          sum = e.add(sum, e.mul(v.back(), softmax));
        return sum;
      });
  return SmallVector<Value>{logits, Value()};
}
