//===- DecomposeMatrix.cpp - Linear layers and attention as linalg
//----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions accumulate in f32 (of f64 in f64) and are rounded once.
// Attention subtracts the maximum; keys that a query does not see get the score
// -inf, and a query that sees none gives zeros. KV heads are never repeated:
// the loops run over them and over the queries that share one.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace tp::nn;

static Value product(Scalar &e, ValueRange v) { return e.mul(v[0], v[1]); }

FailureOr<SmallVector<Value>> LinearOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), typeOf(getInput()).getElementType());
  unsigned rank = typeOf(getInput()).getRank();
  // Loops: rows, n, k.
  Loops d = emitter.loops(rank + 1);
  Loops input(ArrayRef(d).take_front(rank - 1)),
      result(ArrayRef(d).drop_back());
  input.push_back(d[rank]);
  SmallVector<Operand> operands{{getInput(), input},
                                {getWeight(), {d[rank - 1], d[rank]}}};
  RankedTensorType type = typeOf(getResult());
  if (!getBias())
    return SmallVector<Value>{emitter.reduce(type, result, rank + 1,
                                             Combine::Sum, operands, product)};
  Value sum = emitter.reduce(emitter.wideType(type.getShape()), result,
                             rank + 1, Combine::Sum, operands, product);
  return SmallVector<Value>{
      emitter.map(type, {{sum, result}, {getBias(), {d[rank - 1]}}},
                  [](Scalar &e, ValueRange v) { return e.add(v[0], v[1]); })};
}

Value tp::nn::splitHeads(Emitter &emitter, AttentionOp op, Value value) {
  int64_t groups = shapeOf(op.getKey())[2];
  return emitter.split(value, 2, {groups, shapeOf(value)[2] / groups});
}

/// Whether the query at loop 1 sees the key at loop 4; null if it sees all.
static Value computeVisible(Scalar &e, AttentionOp op, Value mask) {
  Value visible;
  auto require = [&](Value condition) {
    visible =
        visible ? arith::AndIOp::create(e.b, visible, condition) : condition;
  };
  if (mask)
    require(arith::CmpIOp::create(e.b, arith::CmpIPredicate::ne, mask,
                                  e.integer(0, mask.getType())));
  if (!op.getCausal())
    return visible;
  // The query stands at position i + (t - s) of the keys.
  int64_t shift = shapeOf(op.getKey())[1] - shapeOf(op.getQuery())[1];
  Type index = e.b.getIndexType();
  Value key = e.index(4);
  Value last = arith::AddIOp::create(e.b, e.index(1), e.integer(shift, index));
  require(arith::CmpIOp::create(e.b, arith::CmpIPredicate::sle, key, last));
  if (op.getWindow()) {
    Value first =
        arith::SubIOp::create(e.b, last, e.integer(*op.getWindow(), index));
    require(arith::CmpIOp::create(e.b, arith::CmpIPredicate::sgt, key, first));
  }
  return visible;
}

AttentionParts tp::nn::computeAttention(Emitter &emitter, AttentionOp op) {
  AttentionParts parts;
  parts.query = splitHeads(emitter, op, op.getQuery());
  Value key = op.getKey();
  // Loops: b, s, g, r, t, d.
  Loops d = emitter.loops(6);
  SmallVector<int64_t> shape(shapeOf(parts.query));
  shape.back() = shapeOf(key)[1];
  RankedTensorType type = emitter.wideType(shape);
  Value scores =
      emitter.reduce(type, Loops(ArrayRef(d).take_front(5)), 6, Combine::Sum,
                     {{parts.query, {d[0], d[1], d[2], d[3], d[5]}},
                      {key, {d[0], d[4], d[2], d[5]}}},
                     product);
  Loops all(ArrayRef(d).take_front(5)), rows(ArrayRef(d).take_front(4));
  SmallVector<Operand> operands{{scores, all}};
  if (op.getMask())
    operands.push_back({op.getMask(), {d[0], d[4]}});
  double infinity = std::numeric_limits<double>::infinity();
  Value visible = emitter.map(type, operands, [&](Scalar &e, ValueRange v) {
    Value score = e.mul(v[0], e.number(op.getScale().convertToDouble()));
    Value condition = computeVisible(e, op, v.size() > 1 ? v[1] : Value());
    return condition ? e.select(condition, score, e.number(-infinity)) : score;
  });
  auto same = [](Scalar &, ValueRange v) { return v[0]; };
  RankedTensorType rowType =
      emitter.wideType(ArrayRef<int64_t>(shape).drop_back());
  Value max =
      emitter.reduce(rowType, rows, 5, Combine::Max, {{visible, all}}, same);
  // Relative to 0 where no key is seen: -inf - -inf is no number.
  parts.max = emitter.map(
      rowType, {{max, rows}}, [&](Scalar &e, ValueRange v) -> Value {
        Value none = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OEQ, v[0],
                                           e.number(-infinity));
        return e.select(none, e.number(0), v[0]);
      });
  parts.weights = emitter.map(
      type, {{visible, all}, {parts.max, rows}},
      [](Scalar &e, ValueRange v) { return e.exp(e.sub(v[0], v[1])); });
  parts.sum = emitter.reduce(rowType, rows, 5, Combine::Sum,
                             {{parts.weights, all}}, same);
  return parts;
}

FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), typeOf(getQuery()).getElementType());
  AttentionParts parts = computeAttention(emitter, *this);
  // Loops: b, s, g, r, d, t.
  Loops d = emitter.loops(6);
  Loops result(ArrayRef(d).take_front(5)), rows(ArrayRef(d).take_front(4));
  ArrayRef<int64_t> shape = shapeOf(parts.query);
  Value total = emitter.reduce(emitter.wideType(shape), result, 6, Combine::Sum,
                               {{parts.weights, {d[0], d[1], d[2], d[3], d[5]}},
                                {getValue(), {d[0], d[5], d[2], d[4]}}},
                               product);
  Value average =
      emitter.map(typeOf(parts.query), {{total, result}, {parts.sum, rows}},
                  [](Scalar &e, ValueRange v) -> Value {
                    Value none = arith::CmpFOp::create(
                        e.b, arith::CmpFPredicate::OEQ, v[1], e.number(0));
                    return e.select(none, e.number(0), e.div(v[0], v[1]));
                  });
  SmallVector<Value> results{emitter.join(average, 2, 2)};
  if (getLse()) {
    RankedTensorType type = typeOf(getLse());
    Value lse = emitter.map(
        RankedTensorType::get(shape.drop_back(), type.getElementType()),
        {{parts.max, rows}, {parts.sum, rows}},
        [](Scalar &e, ValueRange v) -> Value {
          return e.add(v[0], math::LogOp::create(e.b, v[1]));
        });
    results.push_back(emitter.join(lse, 2, 2));
  }
  return results;
}
