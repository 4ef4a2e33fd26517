//===- VjpMatrix.cpp - Derivatives of linear layers and attention
//-----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions of the backward. The conjugate collectives of tensor
// parallelism are consequences of their rules: dX sums over the split n, dW
// over split rows.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tp::nn;

using Gradients = FailureOr<SmallVector<Value>>;

static Value product(Scalar &e, ValueRange v) { return e.mul(v[0], v[1]); }

Gradients LinearOp::buildVjp(OpBuilder &builder, ValueRange cotangents) {
  RankedTensorType type = typeOf(getInput());
  Emitter emitter(builder, getLoc(), type.getElementType());
  unsigned rank = type.getRank();
  // Loops: rows, n, k.
  Loops d = emitter.loops(rank + 1);
  AffineExpr n = d[rank - 1], k = d[rank];
  Loops input(ArrayRef(d).take_front(rank - 1)), result = input;
  input.push_back(k);
  result.push_back(n);
  Operand cotangent{cotangents[0], result};
  Value dInput = emitter.reduce(type, input, rank + 1, Combine::Sum,
                                {cotangent, {getWeight(), {n, k}}}, product);
  Value dWeight =
      emitter.reduce(typeOf(getWeight()), {n, k}, rank + 1, Combine::Sum,
                     {cotangent, {getInput(), input}}, product);
  SmallVector<Value> gradients{dInput, dWeight};
  if (getBias())
    gradients.push_back(
        emitter.reduce(typeOf(getBias()), {emitter.loops(rank).back()}, rank,
                       Combine::Sum, {{cotangents[0], emitter.loops(rank)}},
                       [](Scalar &, ValueRange v) { return v[0]; }));
  return gradients;
}

Gradients AttentionOp::buildVjp(OpBuilder &builder, ValueRange cotangents) {
  Emitter emitter(builder, getLoc(), typeOf(getQuery()).getElementType());
  AttentionParts parts = computeAttention(emitter, *this);
  double scale = getScale().convertToDouble();
  // Loops: b, s, g, r, t, d.
  Loops d = emitter.loops(6);
  Loops scores{d[0], d[1], d[2], d[3], d[4]};
  Loops rows{d[0], d[1], d[2], d[3]};
  Loops queries{d[0], d[1], d[2], d[3], d[5]};
  Loops keys{d[0], d[4], d[2], d[5]};
  RankedTensorType rowType = typeOf(parts.sum);
  RankedTensorType scoreType = typeOf(parts.weights);
  // p = weights / sum; zero where a query sees no key.
  Value p =
      emitter.map(scoreType, {{parts.weights, scores}, {parts.sum, rows}},
                  [](Scalar &e, ValueRange v) -> Value {
                    Value none = arith::CmpFOp::create(
                        e.b, arith::CmpFPredicate::OEQ, v[1], e.number(0));
                    return e.select(none, e.number(0), e.div(v[0], v[1]));
                  });
  SmallVector<Value> gradients(getNumOperands());
  SmallVector<Operand> terms{{p, scores}};
  bool hasResult = static_cast<bool>(cotangents[0]);
  bool hasLse = cotangents.size() > 1 && cotangents[1];
  if (hasResult) {
    Value dOut = splitHeads(emitter, *this, cotangents[0]);
    gradients[2] = emitter.reduce(typeOf(getValue()), keys, 6, Combine::Sum,
                                  {{p, scores}, {dOut, queries}}, product);
    Value dp = emitter.reduce(scoreType, scores, 6, Combine::Sum,
                              {{dOut, queries}, {getValue(), keys}}, product);
    Value mean = emitter.reduce(rowType, rows, 5, Combine::Sum,
                                {{p, scores}, {dp, scores}}, product);
    terms.push_back({dp, scores});
    terms.push_back({mean, rows});
  }
  if (hasLse)
    terms.push_back({splitHeads(emitter, *this, cotangents[1]), rows});
  // ds = p (dp - mean(p dp) + dlse) scale.
  Value ds = emitter.map(scoreType, terms, [&](Scalar &e, ValueRange v) {
    Value sum = hasResult ? e.sub(v[1], v[2]) : e.number(0);
    if (hasLse)
      sum = e.add(sum, v.back());
    return e.mul(e.mul(v[0], sum), e.number(scale));
  });
  Value dQuery = emitter.reduce(typeOf(parts.query), queries, 6, Combine::Sum,
                                {{ds, scores}, {getKey(), keys}}, product);
  gradients[0] = emitter.join(dQuery, 2, 2);
  gradients[1] =
      emitter.reduce(typeOf(getKey()), keys, 6, Combine::Sum,
                     {{ds, scores}, {parts.query, queries}}, product);
  return gradients;
}
