//===- Attention.cpp - All of nn.attention
//----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifier, rule, decomposition and derivative of nn.attention, and its
// library form. Attention subtracts the maximum; keys that a query does not see
// get the score -inf, and a query that sees none gives zeros. KV heads are
// never repeated: the loops run over them and over the queries that share one.
//
//===----------------------------------------------------------------------===//

#include "AttentionParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tp/Interfaces/LibraryCalls.h"
#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::nn;

LogicalResult AttentionOp::verify() {
  if (failed(expectRank(*this, "query", getQuery(), 4)) ||
      failed(expectRank(*this, "key", getKey(), 4)))
    return failure();
  RankedTensorType query = typeOf(getQuery()), key = typeOf(getKey());
  int64_t b = query.getDimSize(0), s = query.getDimSize(1);
  int64_t heads = query.getDimSize(2), d = query.getDimSize(3);
  int64_t t = key.getDimSize(1), kvHeads = key.getDimSize(2);
  Type element = query.getElementType();
  if (failed(expect(*this, "key", getKey(), {b, t, kvHeads, d}, element)) ||
      failed(expectRank(*this, "value", getValue(), 4)))
    return failure();
  int64_t e = shapeOf(getValue())[3];
  if (failed(expect(*this, "value", getValue(), {b, t, kvHeads, e}, element)) ||
      failed(expect(*this, "result", getResult(), {b, s, heads, e}, element)))
    return failure();
  if (failed(verifySight(*this)) || failed(verifySinks(*this)))
    return failure();
  if (getLse())
    return expect(*this, "lse", getLse(), {b, s, heads}, getF32(*this));
  return success();
}

FailureOr<ShardingRule> AttentionOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> query = shapeOf(getQuery()), key = shapeOf(getKey());
  unsigned b = rule.addFactor(query[0], FactorKind::Parallel, "b");
  // A query with a reach reads its own position against those of the keys.
  unsigned s = rule.addFactor(query[1],
                              getCausal() || getWindow() ? FactorKind::Whole
                                                         : FactorKind::Parallel,
                              "s");
  unsigned g = rule.addFactor(key[2], FactorKind::Parallel, "kv heads");
  unsigned r = rule.addFactor(query[2] / key[2], FactorKind::Parallel,
                              "queries per kv head");
  unsigned t = rule.addFactor(key[1], FactorKind::Whole, "t");
  unsigned d = rule.addFactor(query[3], FactorKind::Whole, "head size");
  unsigned e = d;
  if (int64_t size = shapeOf(getValue())[3]; size != query[3])
    e = rule.addFactor(size, FactorKind::Whole, "value size");
  addOperand(rule, {{b}, {s}, {g, r}, {d}}, Linearity::None);
  addOperand(rule, {{b}, {t}, {g}, {d}}, Linearity::None);
  // Linear in the values; the log-sum-exp does not depend on them.
  addOperand(rule, {{b}, {t}, {g}, {e}},
             getLse() ? Linearity::None : Linearity::Multilinear);
  if (getMask())
    addOperand(rule, {{b}, {t}}, Linearity::None);
  if (getBias())
    addBias(rule, getBias(), {{g, r}, {s}, {t}});
  if (getSinks())
    addOperand(rule, {{g, r}}, Linearity::None);
  addResult(rule, {{b}, {s}, {g, r}, {e}});
  if (getLse())
    addResult(rule, {{b}, {s}, {g, r}});
  return rule;
}

/// Positions count from the end of the keys: queries up to `end` see what they
/// see of all keys in those before `end` plus what the keys are more.
std::optional<PartForm> AttentionOp::getPartForm(unsigned factor) {
  const unsigned s = 1, t = 4; // as the rule adds them
  bool isOrdered =
      getCausal() && shapeOf(getKey())[1] >= shapeOf(getQuery())[1];
  if (factor != s || !isOrdered)
    return std::nullopt;
  return PartForm{t};
}

SmallVector<PadState> AttentionOp::getPaddingStates(unsigned,
                                                    ArrayRef<PadState> in) {
  // An average of zeros, whose weights come from scores that are zero. A mask
  // that carries the factor may leave nothing to average, and a bias or a sink
  // may be no number.
  SmallVector<PadState> states(getNumResults(), PadState::Anything);
  ArrayRef<PadState> others = in.drop_front(3 + !!getMask());
  if (llvm::all_of(in.take_front(3), isZero) &&
      (!getMask() || in[3] == PadState::None) &&
      llvm::all_of(others, [](PadState state) {
        return isZero(state) || state == PadState::None;
      }))
    states[0] = PadState::Zero;
  return states;
}

namespace {
/// Attention as [b, s, g, r, t] over KV heads g and the queries r of each.
struct AttentionParts {
  /// [b, s, g, r, d] views of query and result-shaped values.
  Value query;
  /// exp(score - max), zero where a key is not seen: [b, s, g, r, t].
  Value weights;
  /// Sum of the weights and the maximum that they are relative to:
  /// [b, s, g, r]. A query that sees no key has the sum 0 and the maximum 0.
  Value sum, max;
};
} // namespace

static Value product(Scalar &e, ValueRange v) { return e.mul(v[0], v[1]); }

static AttentionParts computeAttention(Emitter &emitter, AttentionOp op) {
  AttentionParts parts;
  parts.query = splitHeads(emitter, op.getQuery(), shapeOf(op.getKey())[2]);
  Value key = op.getKey();
  // Loops: b, s, g, r, t, d.
  Loops d = emitter.loops(6);
  SmallVector<int64_t> shape(shapeOf(parts.query));
  shape.back() = shapeOf(key)[1];
  RankedTensorType type = emitter.wideType(shape);
  Value products =
      emitter.reduce(type, Loops(ArrayRef(d).take_front(5)), 6, Combine::Sum,
                     {{parts.query, {d[0], d[1], d[2], d[3], d[5]}},
                      {key, {d[0], d[4], d[2], d[5]}}},
                     product);
  Loops all(ArrayRef(d).take_front(5)), rows(ArrayRef(d).take_front(4));
  ScoreParts<AttentionOp> score(emitter, op, d);
  SmallVector<Operand> operands{{products, all}};
  llvm::append_range(operands, score.operands);
  double infinity = std::numeric_limits<double>::infinity();
  Value visible = emitter.map(type, operands, [&](Scalar &e, ValueRange v) {
    Value all = score.compute(e, v[0], v.drop_front());
    Value condition = score.isVisible(e, v.drop_front());
    return condition ? e.select(condition, all, -infinity) : all;
  });
  auto same = [](Scalar &, ValueRange v) { return v[0]; };
  RankedTensorType rowType =
      emitter.wideType(ArrayRef<int64_t>(shape).drop_back());
  Value max =
      emitter.reduce(rowType, rows, 5, Combine::Max, {{visible, all}}, same);
  SmallVector<Operand> sinks;
  if (op.getSinks())
    sinks.push_back(
        {emitter.split(op.getSinks(), 0, {shape[2], shape[3]}), {d[2], d[3]}});
  SmallVector<Operand> greatest{{max, rows}};
  llvm::append_range(greatest, sinks);
  // Relative to 0 where no key is seen: -inf - -inf is no number.
  parts.max =
      emitter.map(rowType, greatest, [&](Scalar &e, ValueRange v) -> Value {
        Value most = v[0];
        if (op.getSinks())
          most = e.max(most, v[1]);
        Value none = e.compare(CmpF::OEQ, most, -infinity);
        return e.select(none, e.number(0), most);
      });
  parts.weights = emitter.map(
      type, {{visible, all}, {parts.max, rows}},
      [](Scalar &e, ValueRange v) { return e.exp(e.sub(v[0], v[1])); });
  parts.sum = emitter.reduce(rowType, rows, 5, Combine::Sum,
                             {{parts.weights, all}}, same);
  if (op.getSinks())
    parts.sum = emitter.map(
        rowType, {{parts.sum, rows}, {parts.max, rows}, sinks.front()},
        [](Scalar &e, ValueRange v) {
          return e.add(v[0], e.exp(e.sub(v[2], v[1])));
        });
  return parts;
}

FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), typeOf(getQuery()).getElementType());
  AttentionParts parts = computeAttention(emitter, *this);
  // Loops: b, s, g, r, d, t.
  Loops d = emitter.loops(6);
  Loops result(ArrayRef(d).take_front(5)), rows(ArrayRef(d).take_front(4));
  SmallVector<int64_t> shape(shapeOf(parts.query));
  shape.back() = shapeOf(getValue())[3];
  Value total = emitter.reduce(emitter.wideType(shape), result, 6, Combine::Sum,
                               {{parts.weights, {d[0], d[1], d[2], d[3], d[5]}},
                                {getValue(), {d[0], d[5], d[2], d[4]}}},
                               product);
  Value average = emitter.map(
      typeOf(getResult()).clone(shape), {{total, result}, {parts.sum, rows}},
      [](Scalar &e, ValueRange v) -> Value {
        Value none = e.compare(CmpF::OEQ, v[1], 0);
        return e.select(none, e.number(0), e.div(v[0], v[1]));
      });
  SmallVector<Value> results{emitter.join(average, 2, 2)};
  if (getLse()) {
    RankedTensorType type = typeOf(getLse());
    Value lse = emitter.map(type.clone(ArrayRef<int64_t>(shape).drop_back()),
                            {{parts.max, rows}, {parts.sum, rows}},
                            [](Scalar &e, ValueRange v) -> Value {
                              return e.add(v[0], e.log(v[1]));
                            });
    results.push_back(emitter.join(lse, 2, 2));
  }
  return results;
}

/// By the sinks: minus the sum over batch and queries of their weight times
/// delta, as the value of a sink is zero.
static Value differentiateSinks(Emitter &emitter, Value sinks, Value lse,
                                Value delta) {
  // Loops: head, b, s.
  Loops d = emitter.loops(3);
  Loops rows{d[1], d[2], d[0]};
  return emitter.reduce(typeOf(sinks), {d[0]}, 3, Combine::Sum,
                        {{sinks, {d[0]}}, {lse, rows}, {delta, rows}},
                        [](Scalar &e, ValueRange v) {
                          Value weight = e.exp(e.sub(v[0], v[1]));
                          return e.mul(e.number(-1), e.mul(weight, v[2]));
                        });
}

/// A derivative of each head, and of each batch entry, summed to that of a bias
/// of all.
static Value sumBias(Emitter &emitter, RankedTensorType type, Value each) {
  auto same = [](Scalar &, ValueRange v) { return v[0]; };
  // Loops: head, s, t, b; of a bias for all heads: s, t, head, b.
  Loops d = emitter.loops(4);
  if (type.getDimSize(0) == shapeOf(each)[1])
    return emitter.reduce(type, {d[0], d[1], d[2]}, 4, Combine::Sum,
                          {{each, {d[3], d[0], d[1], d[2]}}}, same);
  Value sum =
      emitter.reduce(type.clone(type.getShape().drop_front()), {d[0], d[1]}, 4,
                     Combine::Sum, {{each, {d[3], d[2], d[0], d[1]}}}, same);
  return emitter.split(sum, 0, {1, type.getDimSize(1)});
}

FailureOr<SmallVector<Value>> AttentionOp::buildVjp(OpBuilder &builder,
                                                    ValueRange cotangents) {
  RankedTensorType type = typeOf(getResult());
  Emitter emitter(builder, getLoc(), type.getElementType());
  ArrayRef<int64_t> query = shapeOf(getQuery()), key = shapeOf(getKey());
  int64_t groups = key[2];
  auto f32Type = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  };
  RankedTensorType rowType = f32Type(query.drop_back());
  Value result = getResult(), lse = getLse();
  if (!lse) {
    OperationState state(getLoc(), getOperationName(), getOperands(),
                         {type, rowType}, (*this)->getAttrs());
    auto again = cast<AttentionOp>(builder.create(state));
    result = again.getResult();
    lse = again.getLse();
  }
  // Loops: b, s, h, e.
  Loops d = emitter.loops(4), rows(ArrayRef(d).take_front(3));
  Value cotangent = cotangents[0], delta;
  if (!cotangent)
    cotangent = emitter.map(type, {},
                            [](Scalar &e, ValueRange) { return e.number(0); });
  delta = emitter.reduce(rowType, rows, 4, Combine::Sum,
                         {{cotangent, d}, {result, d}}, product);
  if (cotangents.size() > 1 && cotangents[1])
    delta =
        emitter.map(rowType, {{delta, rows}, {cotangents[1], rows}},
                    [](Scalar &e, ValueRange v) { return e.sub(v[0], v[1]); });
  SmallVector<int64_t> eachKey(key), eachValue(shapeOf(getValue()));
  eachKey[2] = eachValue[2] = query[2];
  Type eachBias =
      getBias() ? f32Type({query[0], query[2], query[1], key[1]}) : Type();
  auto backward = AttentionBackwardOp::create(
      builder, getLoc(), getQuery().getType(), f32Type(eachKey),
      f32Type(eachValue), eachBias, cotangent, getQuery(), getKey(), getValue(),
      lse, delta, getMask(), getBias(), getScaleAttr(), getCausalAttr(),
      getWindowAttr(), getSoftCapAttr());
  SmallVector<Value> gradients(getNumOperands());
  gradients[0] = backward.getDQuery();
  // The sum of a KV head over all queries that share it. Loops: b, t, g, r, d.
  Loops all = emitter.loops(5);
  for (unsigned i : {1, 2})
    gradients[i] = emitter.reduce(
        typeOf(getOperand(i)), {all[0], all[1], all[2], all[4]}, 5,
        Combine::Sum,
        {{splitHeads(emitter, backward.getResult(i), groups), all}},
        [](Scalar &, ValueRange v) { return v[0]; });
  if (getBias())
    gradients[getBiasMutable()[0].getOperandNumber()] =
        sumBias(emitter, typeOf(getBias()), backward.getDBias());
  if (getSinks())
    gradients[getSinksMutable()[0].getOperandNumber()] =
        differentiateSinks(emitter, getSinks(), lse, delta);
  return gradients;
}

std::optional<IntegerRange> AttentionOp::getIntegerRange(OpOperand &operand) {
  if (operand.get() != getMask())
    return std::nullopt;
  return IntegerRange{2, /*isMask=*/true};
}

//===----------------------------------------------------------------------===//
// Library form
//===----------------------------------------------------------------------===//

/// Scores, and their product with the values.
double AttentionOp::getFlopsPerPoint() {
  double d = shapeOf(getQuery())[3], e = shapeOf(getValue())[3];
  return d == e ? 4 : 2 / d + 2 / e;
}

std::optional<LibraryDescription>
AttentionOp::getLibraryDescription(const LibraryUse &) {
  return describeAttention(*this);
}

LibraryCall AttentionOp::getLibraryCall(const LibraryUse &) {
  ArrayRef<int64_t> query = shapeOf(getQuery()), key = shapeOf(getKey());
  int64_t d = query[3], e = shapeOf(getValue())[3];
  return abi::attention(getQuery(), query[2] * d, getKey(), key[2] * d,
                        getValue(), key[2] * e, getMask(), getBias(),
                        getSinks(), key[1], key[1] - query[1], getResult(),
                        query[2] * e, getLse());
}
