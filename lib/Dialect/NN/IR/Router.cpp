//===- Router.cpp - All of nn.router --------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifier, rule, decomposition and derivative of nn.router. The chosen are
// found without sorting: an expert's rank is the number of those that come
// before it, which compares all pairs, and that is little beside what an expert
// computes. So are groups, and an expert outside the chosen ones compares as
// -inf.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::nn;

/// Groups that the experts divide into, of which enough are chosen.
static LogicalResult verifyGroups(RouterOp op, int64_t experts) {
  int64_t groups = op.getGroups(), chosen = op.getTopGroups(),
          best = op.getGroupBest();
  if (groups < 1 || experts % groups != 0)
    return op.emitOpError() << "expected groups to divide the " << experts
                            << " experts, got " << groups;
  if (chosen < 1 || chosen > groups)
    return op.emitOpError() << "expected top_groups to be from 1 to the "
                            << groups << " groups, got " << chosen;
  int64_t size = experts / groups;
  if (best < 1 || best > size)
    return op.emitOpError() << "expected group_best to be from 1 to the "
                            << size << " experts of a group, got " << best;
  if (groups > 1 && chosen * size < int64_t(op.getTopK()))
    return op.emitOpError()
           << "expected top_groups to have at least the " << op.getTopK()
           << " experts of top_k, got " << chosen << " groups of " << size;
  return success();
}

LogicalResult RouterOp::verify() {
  if (failed(expectLastDimension(*this, "logits", getLogits())))
    return failure();
  ArrayRef<int64_t> logits = shapeOf(getLogits());
  int64_t experts = logits.back();
  if (failed(expect(*this, "result", getResult(), logits, getF32(*this))))
    return failure();
  if (getBias() && failed(expectShape(*this, "bias", getBias(), {experts})))
    return failure();
  int64_t count = getTopK();
  if (count < 1 || count > experts)
    return emitOpError() << "expected top_k to be from 1 to the " << experts
                         << " experts, got " << count;
  if (!getScale().isFinite())
    return emitOpError("expected scale to be a finite number");
  if (!getEpsilon().isFinite() || getEpsilon().isNegative())
    return emitOpError("expected epsilon to be a number from 0 on");
  return verifyGroups(*this, experts);
}

FailureOr<ShardingRule> RouterOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> logits = shapeOf(getLogits());
  Dims rows = addRows(rule, logits.drop_back());
  unsigned e = rule.addFactor(logits.back(), FactorKind::Whole, "experts");
  addOperand(rule, with(rows, e), Linearity::None);
  if (getBias())
    addOperand(rule, {{e}}, Linearity::None);
  addResult(rule, with(rows, e));
  return rule;
}

SmallVector<PadState> RouterOp::getPaddingStates(unsigned, ArrayRef<PadState>) {
  return {PadState::Anything};
}

/// The scores of all experts, in the wide type.
static Value computeScores(Emitter &emitter, RouterOp op) {
  Value logits = op.getLogits();
  RankedTensorType type = emitter.wideType(shapeOf(logits));
  Loops d = emitter.loops(type.getRank());
  Loops rows(ArrayRef(d).drop_back());
  if (op.getSigmoid())
    return emitter.map(type, {{logits, d}}, [](Scalar &e, ValueRange v) {
      Value decay = e.exp(e.neg(v[0]));
      return e.div(e.number(1), e.add(decay, 1));
    });
  Value max = reduceRows(emitter, Combine::Max, {{logits, d}}, logits,
                         [](Scalar &, ValueRange v) { return v[0]; });
  Value weights = emitter.map(
      type, {{logits, d}, {max, rows}},
      [](Scalar &e, ValueRange v) { return e.exp(e.sub(v[0], v[1])); });
  Value sum = reduceRows(emitter, Combine::Sum, {{weights, d}}, logits,
                         [](Scalar &, ValueRange v) { return v[0]; });
  return emitter.map(type, {{weights, d}, {sum, rows}},
                     [](Scalar &e, ValueRange v) { return e.div(v[0], v[1]); });
}

/// How many experts come before each: those that compare as larger, and of
/// equals the lower ones.
static Value computeRanks(Emitter &emitter, Value compared) {
  RankedTensorType type = typeOf(compared);
  unsigned rank = type.getRank();
  // Loops: rows, expert, the other one.
  Loops d = emitter.loops(rank + 1);
  Loops expert(ArrayRef(d).drop_back()), other = expert;
  other.back() = d[rank];
  return emitter.reduce(
      type, expert, rank + 1, Combine::Sum,
      {{compared, expert}, {compared, other}},
      [&](Scalar &e, ValueRange v) -> Value {
        using arith::CmpFPredicate;
        Value larger = e.compare(CmpFPredicate::OGT, v[1], v[0]);
        Value equal = e.compare(CmpFPredicate::OEQ, v[1], v[0]);
        Value lower = e.compare(CmpI::ult, e.index(rank), e.index(rank - 1));
        Value before = e.either(larger, e.both(equal, lower));
        return e.select(before, e.number(1), 0);
      });
}

/// The scores that are compared, -inf outside the groups that are chosen from.
static Value limitToGroups(Emitter &emitter, RouterOp op, Value compared) {
  int64_t groups = op.getGroups();
  if (groups == 1)
    return compared;
  unsigned last = typeOf(compared).getRank() - 1;
  int64_t size = shapeOf(compared).back() / groups;
  Value grouped = emitter.split(compared, last, {groups, size});
  Value within = computeRanks(emitter, grouped);
  Loops d = emitter.loops(last + 2);
  Loops group(ArrayRef(d).drop_back());
  auto isBelow = [](Scalar &e, Value rank, int64_t end) -> Value {
    return e.compare(CmpF::OLT, rank, double(end));
  };
  Value sums = reduceRows(emitter, Combine::Sum, {{grouped, d}, {within, d}},
                          grouped, [&](Scalar &e, ValueRange v) {
                            return e.select(isBelow(e, v[1], op.getGroupBest()),
                                            v[0], 0);
                          });
  Value ranks = computeRanks(emitter, sums);
  double infinity = std::numeric_limits<double>::infinity();
  Value kept = emitter.map(
      typeOf(grouped), {{grouped, d}, {ranks, group}},
      [&](Scalar &e, ValueRange v) {
        return e.select(isBelow(e, v[1], op.getTopGroups()), v[0], -infinity);
      });
  return emitter.join(kept, last, 2);
}

FailureOr<SmallVector<Value>> RouterOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), typeOf(getLogits()).getElementType());
  Value scores = computeScores(emitter, *this), compared = scores;
  Loops d = emitter.loops(typeOf(scores).getRank());
  Loops rows(ArrayRef(d).drop_back());
  if (getBias())
    compared =
        emitter.map(typeOf(scores), {{scores, d}, {getBias(), {d.back()}}},
                    [](Scalar &e, ValueRange v) { return e.add(v[0], v[1]); });
  Value ranks = computeRanks(emitter, limitToGroups(emitter, *this, compared));
  auto keep = [&](Scalar &e, Value score, Value rank) -> Value {
    Value kept = e.compare(CmpF::OLT, rank, getTopK());
    return e.select(kept, score, 0);
  };
  double scale = getScale().convertToDouble();
  if (!getNormalized())
    return SmallVector<Value>{
        emitter.map(typeOf(getResult()), {{scores, d}, {ranks, d}},
                    [&](Scalar &e, ValueRange v) {
                      return e.mul(keep(e, v[0], v[1]), scale);
                    })};
  Value sum =
      reduceRows(emitter, Combine::Sum, {{scores, d}, {ranks, d}}, scores,
                 [&](Scalar &e, ValueRange v) { return keep(e, v[0], v[1]); });
  return SmallVector<Value>{
      emitter.map(typeOf(getResult()), {{scores, d}, {ranks, d}, {sum, rows}},
                  [&](Scalar &e, ValueRange v) {
                    Value total = v[2];
                    if (getSigmoid())
                      total = e.add(total, getEpsilon().convertToDouble());
                    Value part = e.div(keep(e, v[0], v[1]), total);
                    return e.mul(part, scale);
                  })};
}

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

/// The derivative, for weights w, cotangents g and their sum of products m, is
/// g w and from that what an expert takes from others, of a softmax over all m
/// p with the scores p, over the chosen m w / scale. A sigmoid is of one
/// expert, normalized or not: times 1 - s. Weights of experts that are not
/// chosen are zero.
FailureOr<SmallVector<Value>> RouterOp::buildVjp(OpBuilder &builder,
                                                 ValueRange cotangents) {
  RankedTensorType type = typeOf(getLogits());
  Emitter emitter(builder, getLoc(), type.getElementType());
  Loops d = emitter.loops(type.getRank());
  Loops rows(ArrayRef(d).drop_back());
  SmallVector<Operand> operands{{getResult(), d}, {cotangents[0], d}};
  bool couples = getNormalized() || !getSigmoid(), sigmoid = getSigmoid();
  bool isOverAll = !getNormalized() && !getSigmoid();
  double scale = getScale().convertToDouble();
  if (couples)
    operands.push_back(
        {reduceRows(emitter, Combine::Sum, operands, getLogits(),
                    [](Scalar &e, ValueRange v) { return e.mul(v[0], v[1]); }),
         rows});
  if (isOverAll || sigmoid)
    operands.push_back({computeScores(emitter, *this), d});
  Value gradient =
      emitter.map(type, operands, [&](Scalar &e, ValueRange v) -> Value {
        if (isOverAll)
          return e.sub(e.mul(v[0], v[1]), e.mul(v[3], v[2]));
        Value by = v[1];
        if (couples && scale != 0)
          by = e.sub(by, e.mul(v[2], 1 / scale));
        Value gradient = e.mul(v[0], by);
        return sigmoid ? e.mul(gradient, e.sub(e.number(1), v.back()))
                       : gradient;
      });
  SmallVector<Value> gradients(getNumOperands());
  gradients[0] = gradient;
  // It says who is chosen alone.
  if (getBias())
    gradients[1] = arith::ConstantOp::create(
        builder, getLoc(), builder.getZeroAttr(getBias().getType()));
  return gradients;
}
