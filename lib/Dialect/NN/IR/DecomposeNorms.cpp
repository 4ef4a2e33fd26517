//===- DecomposeNorms.cpp - Norms, softmax and cross-entropy as linalg
//------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations with statistics over the last dimension. Statistics are in f32 (of
// f64 in f64) and results are rounded once.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tp::nn;

Value tp::nn::reduceRows(Emitter &emitter, Combine combine,
                         ArrayRef<Operand> operands, Value shaped, Body body) {
  ArrayRef<int64_t> shape = shapeOf(shaped);
  Loops rows = emitter.loops(shape.size() - 1);
  return emitter.reduce(emitter.wideType(shape.drop_back()), rows, shape.size(),
                        combine, operands, body);
}

static Value same(Scalar &, ValueRange values) { return values[0]; }

/// 1 / sqrt(total / n + epsilon).
static Value computeRstd(Emitter &emitter, Value total, int64_t n,
                         double epsilon) {
  return emitter.map(
      typeOf(total), {{total, emitter.loops(typeOf(total).getRank())}},
      [&](Scalar &e, ValueRange v) -> Value {
        Value mean = e.div(v[0], n);
        Value root = math::SqrtOp::create(e.b, e.add(mean, epsilon));
        return e.div(e.number(1), root);
      });
}

Value tp::nn::computeRmsRstd(Emitter &emitter, RMSNormOp op) {
  Value input = op.getInput();
  Loops d = emitter.loops(typeOf(input).getRank());
  Value squares =
      reduceRows(emitter, Combine::Sum, {{input, d}}, input,
                 [](Scalar &e, ValueRange v) { return e.mul(v[0], v[0]); });
  return computeRstd(emitter, squares, shapeOf(input).back(),
                     op.getEpsilon().convertToDouble());
}

/// The statistic as the type that the operation's result has.
static Value toResult(Emitter &emitter, Value statistic, Value result) {
  return emitter.map(typeOf(result),
                     {{statistic, emitter.loops(typeOf(result).getRank())}},
                     same);
}

FailureOr<SmallVector<Value>> RMSNormOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), typeOf(getInput()).getElementType());
  Loops d = emitter.loops(typeOf(getInput()).getRank());
  Loops rows(ArrayRef(d).drop_back());
  Value rstd = computeRmsRstd(emitter, *this);
  SmallVector<Value> results{emitter.map(
      typeOf(getResult()),
      {{getInput(), d}, {rstd, rows}, {getWeight(), {d.back()}}},
      [](Scalar &e, ValueRange v) { return e.mul(e.mul(v[0], v[1]), v[2]); })};
  if (getRstd())
    results.push_back(typeOf(rstd) == typeOf(getRstd())
                          ? rstd
                          : toResult(emitter, rstd, getRstd()));
  return results;
}

std::pair<Value, Value> tp::nn::computeMeanRstd(Emitter &emitter,
                                                LayerNormOp op) {
  Value input = op.getInput();
  Loops d = emitter.loops(typeOf(input).getRank());
  Loops rows(ArrayRef(d).drop_back());
  int64_t h = shapeOf(input).back();
  Value total = reduceRows(emitter, Combine::Sum, {{input, d}}, input, same);
  Value mean =
      emitter.map(typeOf(total), {{total, rows}},
                  [&](Scalar &e, ValueRange v) { return e.div(v[0], h); });
  Value squares = reduceRows(emitter, Combine::Sum, {{input, d}, {mean, rows}},
                             input, [](Scalar &e, ValueRange v) {
                               Value centred = e.sub(v[0], v[1]);
                               return e.mul(centred, centred);
                             });
  return {mean,
          computeRstd(emitter, squares, h, op.getEpsilon().convertToDouble())};
}

FailureOr<SmallVector<Value>> LayerNormOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), typeOf(getInput()).getElementType());
  Loops d = emitter.loops(typeOf(getInput()).getRank());
  Loops rows(ArrayRef(d).drop_back());
  auto [mean, rstd] = computeMeanRstd(emitter, *this);
  SmallVector<Operand> operands{
      {getInput(), d}, {mean, rows}, {rstd, rows}, {getWeight(), {d.back()}}};
  if (getBias())
    operands.push_back({getBias(), {d.back()}});
  SmallVector<Value> results{
      emitter.map(typeOf(getResult()), operands, [](Scalar &e, ValueRange v) {
        Value y = e.mul(e.mul(e.sub(v[0], v[1]), v[2]), v[3]);
        return v.size() == 5 ? e.add(y, v[4]) : y;
      })};
  if (getMean())
    for (auto [value, result] :
         llvm::zip_equal(ValueRange{mean, rstd}, getStatistics()))
      results.push_back(typeOf(value) == typeOf(result)
                            ? value
                            : toResult(emitter, value, result));
  return results;
}

FailureOr<SmallVector<Value>> SoftmaxOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), typeOf(getInput()).getElementType());
  Value input = getInput();
  Loops d = emitter.loops(typeOf(input).getRank());
  Loops rows(ArrayRef(d).drop_back());
  Value max = reduceRows(emitter, Combine::Max, {{input, d}}, input, same);
  Value weights = emitter.map(
      emitter.wideType(shapeOf(input)), {{input, d}, {max, rows}},
      [](Scalar &e, ValueRange v) { return e.exp(e.sub(v[0], v[1])); });
  Value sum = reduceRows(emitter, Combine::Sum, {{weights, d}}, input, same);
  return SmallVector<Value>{
      emitter.map(typeOf(getResult()), {{weights, d}, {sum, rows}},
                  [](Scalar &e, ValueRange v) { return e.div(v[0], v[1]); })};
}

//===----------------------------------------------------------------------===//
// Cross-entropy: three reductions over the vocabulary, each with a rule of its
// own, so that split logits cost all-reduces of one value per row.
//===----------------------------------------------------------------------===//

Value tp::nn::computeLse(Emitter &emitter, CrossEntropyOp op) {
  Value logits = op.getLogits();
  Loops d = emitter.loops(typeOf(logits).getRank());
  Loops rows(ArrayRef(d).drop_back());
  Value max = reduceRows(emitter, Combine::Max, {{logits, d}}, logits, same);
  Value sum = reduceRows(
      emitter, Combine::Sum, {{logits, d}, {max, rows}}, logits,
      [](Scalar &e, ValueRange v) { return e.exp(e.sub(v[0], v[1])); });
  return emitter.map(typeOf(max), {{max, rows}, {sum, rows}},
                     [](Scalar &e, ValueRange v) -> Value {
                       return e.add(v[0], e.log(v[1]));
                     });
}

FailureOr<SmallVector<Value>> CrossEntropyOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), typeOf(getLogits()).getElementType());
  Value logits = getLogits();
  unsigned rank = typeOf(logits).getRank();
  Loops d = emitter.loops(rank);
  Loops rows(ArrayRef(d).drop_back());
  int64_t vocabulary = shapeOf(logits).back();
  Value lse = computeLse(emitter, *this);
  Value target =
      reduceRows(emitter, Combine::Sum, {{logits, d}, {getLabels(), rows}},
                 logits, [&](Scalar &e, ValueRange v) -> Value {
                   Value position = e.cast(e.index(rank - 1), v[1].getType());
                   Value hit = e.compare(CmpI::eq, position, v[1]);
                   return e.select(hit, v[0], 0);
                 });
  SmallVector<Value> results{emitter.map(
      typeOf(getLoss()), {{lse, rows}, {target, rows}, {getLabels(), rows}},
      [&](Scalar &e, ValueRange v) -> Value {
        // As unsigned numbers, negative labels are large.
        Value valid = e.compare(CmpI::ult, v[2], vocabulary);
        return e.select(valid, e.sub(v[0], v[1]), 0);
      })};
  if (getLse())
    results.push_back(typeOf(lse) == typeOf(getLse())
                          ? lse
                          : toResult(emitter, lse, getLse()));
  return results;
}
