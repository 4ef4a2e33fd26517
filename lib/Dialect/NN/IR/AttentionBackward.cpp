//===- AttentionBackward.cpp - All of nn.attention_backward ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What it accepts, how it is cut, what it means, and its library form. Its
// results keep the query heads apart: the sum over those of a KV head, which
// other ranks may have, is an operation of its own, whose rule knows of it.
//
//===----------------------------------------------------------------------===//

#include "AttentionParts.h"
#include "tp/Interfaces/LibraryCalls.h"

using namespace mlir;
using namespace tp;
using namespace tp::nn;

LogicalResult AttentionBackwardOp::verify() {
  if (failed(expectRank(*this, "query", getQuery(), 4)) ||
      failed(expectRank(*this, "key", getKey(), 4)))
    return failure();
  RankedTensorType query = typeOf(getQuery()), key = typeOf(getKey());
  ArrayRef<int64_t> rows = query.getShape();
  SmallVector<int64_t> keys{rows[0], key.getDimSize(1), key.getDimSize(2),
                            rows[3]};
  Type element = query.getElementType();
  if (failed(expect(*this, "key", getKey(), keys, element)) ||
      failed(expect(*this, "value", getValue(), keys, element)) ||
      failed(expect(*this, "cotangent", getCotangent(), rows, element)) ||
      failed(expect(*this, "lse", getLse(), rows.drop_back(), getF32(*this))) ||
      failed(expect(*this, "delta", getDelta(), rows.drop_back(),
                    getF32(*this))) ||
      failed(expect(*this, "d_query", getDQuery(), rows, element)))
    return failure();
  keys[2] = rows[2];
  if (failed(expect(*this, "d_key", getDKey(), keys, getF32(*this))) ||
      failed(expect(*this, "d_value", getDValue(), keys, getF32(*this))))
    return failure();
  return verifySight(*this);
}

FailureOr<ShardingRule> AttentionBackwardOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> query = shapeOf(getQuery()), key = shapeOf(getKey());
  unsigned b = rule.addFactor(query[0], FactorKind::Parallel, "b");
  unsigned s = rule.addFactor(query[1], FactorKind::Whole, "s");
  unsigned g = rule.addFactor(key[2], FactorKind::Parallel, "kv heads");
  unsigned r = rule.addFactor(query[2] / key[2], FactorKind::Parallel,
                              "queries per kv head");
  unsigned t = rule.addFactor(key[1], FactorKind::Whole, "t");
  unsigned d = rule.addFactor(query[3], FactorKind::Whole, "head size");
  Dims queries{{b}, {s}, {g, r}, {d}}, keys{{b}, {t}, {g}, {d}};
  addOperand(rule, queries, Linearity::None);
  addOperand(rule, queries, Linearity::None);
  addOperand(rule, keys, Linearity::None);
  addOperand(rule, keys, Linearity::None);
  addOperand(rule, {{b}, {s}, {g, r}}, Linearity::None);
  addOperand(rule, {{b}, {s}, {g, r}}, Linearity::None);
  if (getMask())
    addOperand(rule, {{b}, {t}}, Linearity::None);
  addResult(rule, queries);
  addResult(rule, {{b}, {t}, {g, r}, {d}});
  addResult(rule, {{b}, {t}, {g, r}, {d}});
  return rule;
}

SmallVector<PadState>
AttentionBackwardOp::getPaddingStates(unsigned, ArrayRef<PadState>) {
  // Whether weights are finite depends on the log-sum-exp.
  return SmallVector<PadState>(3, PadState::Anything);
}

static Value product(Scalar &e, ValueRange v) { return e.mul(v[0], v[1]); }

FailureOr<SmallVector<Value>>
AttentionBackwardOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), typeOf(getQuery()).getElementType());
  int64_t groups = shapeOf(getKey())[2];
  auto split = [&](Value value) { return splitHeads(emitter, value, groups); };
  Value query = split(getQuery()), cotangent = split(getCotangent());
  double scale = getScale().convertToDouble();
  // Loops: b, s, g, r, t, d.
  Loops d = emitter.loops(6);
  Loops scores{d[0], d[1], d[2], d[3], d[4]};
  Loops rows{d[0], d[1], d[2], d[3]};
  Loops queries{d[0], d[1], d[2], d[3], d[5]};
  Loops keys{d[0], d[4], d[2], d[5]};
  SmallVector<int64_t> shape(shapeOf(query));
  shape.back() = shapeOf(getKey())[1];
  RankedTensorType type = emitter.wideType(shape);
  Value products =
      emitter.reduce(type, scores, 6, Combine::Sum,
                     {{query, queries}, {getKey(), keys}}, product);
  SmallVector<Operand> operands{{products, scores}, {split(getLse()), rows}};
  if (getMask())
    operands.push_back({getMask(), {d[0], d[4]}});
  // The weights; zero where a key is not seen.
  Value p = emitter.map(type, operands, [&](Scalar &e, ValueRange v) {
    Value weight = e.exp(e.sub(e.mul(v[0], e.number(scale)), v[1]));
    Value seen = computeVisible(e, *this, v.size() > 2 ? v[2] : Value());
    return seen ? e.select(seen, weight, e.number(0)) : weight;
  });
  Value dp =
      emitter.reduce(type, scores, 6, Combine::Sum,
                     {{cotangent, queries}, {getValue(), keys}}, product);
  Value ds = emitter.map(
      type, {{p, scores}, {dp, scores}, {split(getDelta()), rows}},
      [&](Scalar &e, ValueRange v) {
        return e.mul(e.mul(v[0], e.sub(v[1], v[2])), e.number(scale));
      });
  Value dQuery = emitter.reduce(typeOf(query), queries, 6, Combine::Sum,
                                {{ds, scores}, {getKey(), keys}}, product);
  SmallVector<int64_t> each{shape[0], shape[4], shape[2], shape[3],
                            shapeOf(query)[4]};
  auto sumRows = [&](Value weights, Value values) {
    return emitter.join(
        emitter.reduce(typeOf(getDKey()).clone(each),
                       {d[0], d[4], d[2], d[3], d[5]}, 6, Combine::Sum,
                       {{weights, scores}, {values, queries}}, product),
        2, 2);
  };
  return SmallVector<Value>{emitter.join(dQuery, 2, 2), sumRows(ds, query),
                            sumRows(p, cotangent)};
}

std::optional<IntegerRange>
AttentionBackwardOp::getIntegerRange(OpOperand &operand) {
  if (operand.get() != getMask())
    return std::nullopt;
  return IntegerRange{2, /*isMask=*/true};
}

//===----------------------------------------------------------------------===//
// Library form
//===----------------------------------------------------------------------===//

/// Scores and weights, and the three derivatives from them.
double AttentionBackwardOp::getFlopsPerPoint() { return 10; }

std::optional<LibraryDescription>
AttentionBackwardOp::getLibraryDescription(const LibraryUse &) {
  return describeAttention(*this);
}

LibraryCall AttentionBackwardOp::getLibraryCall(const LibraryUse &) {
  return abi::attention_backward(getQuery(), getKey(), getValue(), getMask(),
                                 getCotangent(), getLse(), getDelta(),
                                 getDQuery(), getDKey(), getDValue());
}
