//===- Attention.cpp - All of nn.attention
//----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What it accepts, how it is cut, what it means, its derivative, and its
// library form. Attention subtracts the maximum; keys that a query does not see
// get the score -inf, and a query that sees none gives zeros. KV heads are
// never repeated: the loops run over them and over the queries that share one.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
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
      failed(expect(*this, "value", getValue(), {b, t, kvHeads, d}, element)) ||
      failed(expect(*this, "result", getResult(), {b, s, heads, d}, element)))
    return failure();
  if (kvHeads < 1 || heads % kvHeads != 0)
    return emitOpError() << "expected the query heads to be a multiple of the "
                         << kvHeads << " KV heads, got " << heads;
  if (getMask()) {
    if (failed(expectShape(*this, "mask", getMask(), {b, t})))
      return failure();
    Type type = typeOf(getMask()).getElementType();
    if (!type.isSignlessInteger())
      return emitOpError() << "expected mask of an integer element type, got "
                           << type;
  }
  if (getWindow()) {
    if (!getCausal())
      return emitOpError("expected 'causal' beside 'window': the window is the "
                         "last keys that a causal query sees");
    if (*getWindow() < 1)
      return emitOpError() << "expected a window of 1 or more keys, got "
                           << *getWindow();
  }
  if (getLse())
    return expect(*this, "lse", getLse(), {b, s, heads}, getF32(*this));
  return success();
}

FailureOr<ShardingRule> AttentionOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> query = shapeOf(getQuery()), key = shapeOf(getKey());
  unsigned b = rule.addFactor(query[0], FactorKind::Parallel, "b");
  // A causal query reads its own position against those of the keys.
  unsigned s = rule.addFactor(
      query[1], getCausal() ? FactorKind::Whole : FactorKind::Parallel, "s");
  unsigned g = rule.addFactor(key[2], FactorKind::Parallel, "kv heads");
  unsigned r = rule.addFactor(query[2] / key[2], FactorKind::Parallel,
                              "queries per kv head");
  unsigned t = rule.addFactor(key[1], FactorKind::Whole, "t");
  unsigned d = rule.addFactor(query[3], FactorKind::Whole, "head size");
  addOperand(rule, {{b}, {s}, {g, r}, {d}}, Linearity::None);
  addOperand(rule, {{b}, {t}, {g}, {d}}, Linearity::None);
  // Linear in the values; the log-sum-exp does not depend on them.
  addOperand(rule, {{b}, {t}, {g}, {d}},
             getLse() ? Linearity::None : Linearity::Multilinear);
  if (getMask())
    addOperand(rule, {{b}, {t}}, Linearity::None);
  addResult(rule, {{b}, {s}, {g, r}, {d}});
  if (getLse())
    addResult(rule, {{b}, {s}, {g, r}});
  return rule;
}

SmallVector<PadState> AttentionOp::getPaddingStates(unsigned,
                                                    ArrayRef<PadState> in) {
  // An average of zeros, whose weights come from scores that are zero. A mask
  // that carries the factor may leave nothing to average.
  SmallVector<PadState> states(getNumResults(), PadState::Anything);
  if (llvm::all_of(in.take_front(3), isZero) &&
      (!getMask() || in[3] == PadState::None))
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

/// `value`[b, s, hq, ...] as [b, s, g, r, ...].
static Value splitHeads(Emitter &emitter, AttentionOp op, Value value) {
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

static AttentionParts computeAttention(Emitter &emitter, AttentionOp op) {
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

FailureOr<SmallVector<Value>> AttentionOp::buildVjp(OpBuilder &builder,
                                                    ValueRange cotangents) {
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

std::optional<IntegerRange> AttentionOp::getIntegerRange(OpOperand &operand) {
  if (operand.get() != getMask())
    return std::nullopt;
  return IntegerRange{2, /*isMask=*/true};
}

//===----------------------------------------------------------------------===//
// Library form
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::verifyLibraryForm() {
  if (getLse() && !getLse().use_empty())
    return emitOpError("expected no use of the log-sum-exp: artifacts are "
                       "forward programs alone");
  Type type = typeOf(getQuery()).getElementType();
  for (Value operand : {getKey(), getValue()})
    if (typeOf(operand).getElementType() != type)
      return emitOpError("expected query, key and value of one type");
  return success();
}

/// Scores, and their product with the values.
double AttentionOp::getFlopsPerPoint() { return 4; }

std::optional<LibraryDescription>
AttentionOp::getLibraryDescription(const LibraryUse &) {
  ArrayRef<int64_t> query = shapeOf(getQuery()), key = shapeOf(getKey());
  llvm::json::Object fields{
      {"batch", query[0]},
      {"q_len", query[1]},
      {"kv_capacity", key[1]},
      {"q_heads", query[2]},
      {"kv_heads", key[2]},
      {"head_size", query[3]},
      {"type", getTypeName(typeOf(getQuery()).getElementType())},
      {"causal", getCausal()},
      {"window", getWindow().value_or(0)},
      {"scale", getScale().convertToDouble()},
      {"mask", getMask() ? "key_padding" : "none"}};
  if (getMask())
    fields["mask_type"] = getTypeName(typeOf(getMask()).getElementType());
  return LibraryDescription{"attentions", std::move(fields)};
}

LibraryCall AttentionOp::getLibraryCall(const LibraryUse &) {
  ArrayRef<int64_t> query = shapeOf(getQuery()), key = shapeOf(getKey());
  int64_t queryStride = query[2] * query[3], keyStride = key[2] * key[3];
  return abi::attention(getQuery(), queryStride, getKey(), keyStride,
                        getValue(), keyStride, getMask(), key[1],
                        key[1] - query[1], getResult(), queryStride,
                        /*lse=*/nullptr);
}
