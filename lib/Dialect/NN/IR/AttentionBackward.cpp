//===- AttentionBackward.cpp - All of nn.attention_backward ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verifier, rule, decomposition and library form of nn.attention_backward.
// Its results keep the query heads apart: the sum over those of a KV head,
// which other ranks may have, is an operation of its own, whose rule knows of
// it.
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
      failed(expectRank(*this, "value", getValue(), 4)))
    return failure();
  int64_t e = shapeOf(getValue())[3];
  SmallVector<int64_t> values(keys), results(rows);
  values[3] = results[3] = e;
  if (failed(expect(*this, "value", getValue(), values, element)) ||
      failed(expect(*this, "cotangent", getCotangent(), results, element)) ||
      failed(expect(*this, "lse", getLse(), rows.drop_back(), getF32(*this))) ||
      failed(expect(*this, "delta", getDelta(), rows.drop_back(),
                    getF32(*this))) ||
      failed(expect(*this, "d_query", getDQuery(), rows, element)))
    return failure();
  keys[2] = values[2] = rows[2];
  if (failed(expect(*this, "d_key", getDKey(), keys, getF32(*this))) ||
      failed(expect(*this, "d_value", getDValue(), values, getF32(*this))) ||
      failed(verifySight(*this)))
    return failure();
  if (!getDBias())
    return success();
  if (!getBias())
    return emitOpError("expected a bias for d_bias to be the derivative by");
  return expect(*this, "d_bias", getDBias(),
                {rows[0], rows[2], rows[1], keys[1]}, getF32(*this));
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
  unsigned e = d;
  if (int64_t size = shapeOf(getValue())[3]; size != query[3])
    e = rule.addFactor(size, FactorKind::Whole, "value size");
  Dims queries{{b}, {s}, {g, r}, {d}};
  addOperand(rule, {{b}, {s}, {g, r}, {e}}, Linearity::None);
  addOperand(rule, queries, Linearity::None);
  addOperand(rule, {{b}, {t}, {g}, {d}}, Linearity::None);
  addOperand(rule, {{b}, {t}, {g}, {e}}, Linearity::None);
  addOperand(rule, {{b}, {s}, {g, r}}, Linearity::None);
  addOperand(rule, {{b}, {s}, {g, r}}, Linearity::None);
  if (getMask())
    addOperand(rule, {{b}, {t}}, Linearity::None);
  if (getBias())
    addBias(rule, getBias(), {{g, r}, {s}, {t}});
  addResult(rule, queries);
  addResult(rule, {{b}, {t}, {g, r}, {d}});
  addResult(rule, {{b}, {t}, {g, r}, {e}});
  if (getDBias())
    addResult(rule, {{b}, {g, r}, {s}, {t}});
  return rule;
}

SmallVector<PadState>
AttentionBackwardOp::getPaddingStates(unsigned, ArrayRef<PadState>) {
  // The log-sum-exp decides whether weights are finite.
  return SmallVector<PadState>(getNumResults(), PadState::Anything);
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
  ScoreParts<AttentionBackwardOp> score(emitter, *this, d);
  SmallVector<Operand> operands{{products, scores}, {split(getLse()), rows}};
  llvm::append_range(operands, score.operands);
  // The weights; zero where a key is not seen.
  Value p = emitter.map(type, operands, [&](Scalar &e, ValueRange v) {
    Value own = score.compute(e, v[0], v.drop_front(2));
    Value weight = e.exp(e.sub(own, v[1]));
    Value seen = score.isVisible(e, v.drop_front(2));
    return seen ? e.select(seen, weight, 0) : weight;
  });
  Value dp =
      emitter.reduce(type, scores, 6, Combine::Sum,
                     {{cotangent, queries}, {getValue(), keys}}, product);
  auto byScore = [](Scalar &e, ValueRange v) {
    return e.mul(v[0], e.sub(v[1], v[2]));
  };
  SmallVector<Operand> dsOperands{
      {p, scores}, {dp, scores}, {split(getDelta()), rows}};
  SmallVector<Value> results;
  if (RankedTensorType whole =
          getDBias() ? typeOf(getDBias()) : RankedTensorType()) {
    // Loops: b, g, r, s, t.
    Loops o = emitter.loops(5);
    SmallVector<Operand> moved;
    Loops own{o[0], o[3], o[1], o[2], o[4]};
    for (const Operand &operand : dsOperands)
      moved.push_back({operand.value, Loops(ArrayRef(own).take_front(
                                          operand.position.size()))});
    Value each = emitter.map(
        whole.clone({shape[0], shape[2], shape[3], shape[1], shape[4]}), moved,
        byScore);
    results.push_back(emitter.join(each, 1, 2));
  }
  dsOperands.push_back({products, scores});
  Value ds = emitter.map(type, dsOperands, [&](Scalar &e, ValueRange v) {
    Value slope = e.number(scale);
    if (double cap = softCapOf(*this)) {
      Value bend = math::TanhOp::create(e.b, e.mul(v[3], scale / cap));
      slope = e.mul(slope, e.sub(e.number(1), e.mul(bend, bend)));
    }
    return e.mul(byScore(e, v), slope);
  });
  Value dQuery = emitter.reduce(typeOf(query), queries, 6, Combine::Sum,
                                {{ds, scores}, {getKey(), keys}}, product);
  auto sumRows = [&](Value weights, Value values, Value result) {
    return emitter.join(
        emitter.reduce(typeOf(result).clone({shape[0], shape[4], shape[2],
                                             shape[3], shapeOf(values)[4]}),
                       {d[0], d[4], d[2], d[3], d[5]}, 6, Combine::Sum,
                       {{weights, scores}, {values, queries}}, product),
        2, 2);
  };
  results.insert(results.begin(),
                 {emitter.join(dQuery, 2, 2), sumRows(ds, query, getDKey()),
                  sumRows(p, cotangent, getDValue())});
  return results;
}

LogicalResult AttentionBackwardOp::canonicalize(AttentionBackwardOp op,
                                                PatternRewriter &rewriter) {
  if (!op.getDBias() || !op.getDBias().use_empty())
    return failure();
  auto narrow = AttentionBackwardOp::create(
      rewriter, op.getLoc(), op.getDQuery().getType(), op.getDKey().getType(),
      op.getDValue().getType(), /*d_bias=*/Type(), op.getCotangent(),
      op.getQuery(), op.getKey(), op.getValue(), op.getLse(), op.getDelta(),
      op.getMask(), op.getBias(), op.getScaleAttr(), op.getCausalAttr(),
      op.getWindowAttr(), op.getSoftCapAttr());
  for (unsigned i = 0; i < 3; ++i)
    rewriter.replaceAllUsesWith(op.getResult(i), narrow.getResult(i));
  rewriter.eraseOp(op);
  return success();
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
double AttentionBackwardOp::getFlopsPerPoint() {
  double d = shapeOf(getQuery())[3], e = shapeOf(getValue())[3];
  return d == e ? 10 : 4 / d + 6 / e;
}

std::optional<LibraryDescription>
AttentionBackwardOp::getLibraryDescription(const LibraryUse &) {
  return describeAttention(*this);
}

LibraryCall AttentionBackwardOp::getLibraryCall(const LibraryUse &) {
  return abi::attention_backward(
      getQuery(), getKey(), getValue(), getMask(), getBias(), getCotangent(),
      getLse(), getDelta(), getDQuery(), getDKey(), getDValue(), getDBias());
}
