//===- PagedDelta.cpp - All of nn.paged_gated_delta_rule ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pool has one state for each page: that behind the last position of the page
// that was computed. So the state behind a complete page stays, texts that
// share whole pages go on from it, and a text that is thrown out leaves nothing
// behind. Which token reads and writes which is what nn.conv_places says of one
// earlier position.
//
//===----------------------------------------------------------------------===//

#include "AttentionParts.h"
#include "CacheParts.h"
#include "DeltaParts.h"
#include "PagedParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Interfaces/LibraryCalls.h"

using namespace mlir;
using namespace tp;
using namespace tp::nn;

static DeltaOperands getOperandsOf(PagedGatedDeltaRuleOp op) {
  return {op.getQuery(), op.getKey(), op.getValue(), op.getDecay(),
          op.getBeta()};
}

LogicalResult PagedGatedDeltaRuleOp::verify() {
  if (failed(verifyDelta(*this, getOperandsOf(*this))) ||
      failed(expectRank(*this, "pool", getPool(), 3)))
    return failure();
  ArrayRef<int64_t> key = shapeOf(getKey()), value = shapeOf(getValue());
  int64_t tokens = key[1];
  SmallVector<int64_t> pool{shapeOf(getPool())[0], value[2], key[3] * value[3]};
  if (failed(expectShape(*this, "query", getQuery(),
                         {1, tokens, key[2], key[3]})) ||
      failed(expectShape(*this, "pool", getPool(), pool)) ||
      failed(expectShape(*this, "slots", getSlots(), {tokens})) ||
      failed(expectShape(*this, "sources", getSources(), {tokens, 1})) ||
      failed(expectShape(*this, "result", getResult(), value)))
    return failure();
  return expectShape(*this, "next_pool", getNextPool(), pool);
}

FailureOr<ShardingRule> PagedGatedDeltaRuleOp::getShardingRule() {
  ShardingRule rule;
  DeltaFactors factors(rule, getOperandsOf(*this));
  auto whole = [&](int64_t size, StringRef name) {
    return rule.addFactor(size, FactorKind::Whole, name);
  };
  unsigned slots = whole(shapeOf(getPool())[0], "slots");
  unsigned state = whole(shapeOf(getPool())[2], "state");
  unsigned one = whole(1, "earlier");
  Dims pool{{slots}, {factors.keys, factors.group}, {state}};
  factors.addOperands(rule);
  addOperand(rule, pool, Linearity::None);
  addOperand(rule, {{factors.s}}, Linearity::None);
  addOperand(rule, {{factors.s}, {one}}, Linearity::None);
  if (getBeta())
    addOperand(rule, factors.headDims(), Linearity::None);
  addResult(rule, factors.valueDims());
  addResult(rule, pool);
  return rule;
}

SmallVector<PadState>
PagedGatedDeltaRuleOp::getPaddingStates(unsigned, ArrayRef<PadState>) {
  return SmallVector<PadState>(2, PadState::Anything);
}

/// The state that token t goes on from: `running`, that behind the token before
/// it (null for the first), one of the pool [slots, g, r, d, e], or zeros.
static Value buildSource(DeltaSteps &steps, PagedGatedDeltaRuleOp op,
                         Value pool, Value running, int64_t t) {
  Emitter &emitter = steps.emitter;
  int64_t tokens = shapeOf(op.getKey())[1], slots = shapeOf(pool)[0];
  SmallVector<Operand> operands{
      {op.getSources(), {emitter.constant(t), emitter.constant(0)}}};
  if (running)
    operands.push_back({running, steps.loops});
  return emitter.map(
      steps.stateType, operands, [&](Scalar &e, ValueRange v) -> Value {
        Type index = e.b.getIndexType();
        Value source = e.cast(v[0], index);
        Value isToken, isKept;
        clamp(e, source, tokens, isToken);
        Value slot = clamp(e, e.sub(source, tokens), slots, isKept);
        SmallVector<Value> at{slot};
        for (unsigned loop = 1; loop < 5; ++loop)
          at.push_back(e.index(loop));
        Value kept = tensor::ExtractOp::create(e.b, pool, at);
        kept = e.select(isKept, kept, 0);
        return running ? e.select(isToken, v[1], kept) : kept;
      });
}

FailureOr<SmallVector<Value>>
PagedGatedDeltaRuleOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), builder.getF32Type());
  DeltaSteps steps(emitter, getOperandsOf(*this));
  ArrayRef<int64_t> shape = steps.stateType.getShape();
  Value pool = emitter.split(getPool(), 2, {shape[3], shape[4]});
  pool = emitter.split(pool, 1, {shape[1], shape[2]});
  SmallVector<Value> results, states;
  Value state;
  for (int64_t t = 0, tokens = shapeOf(getKey())[1]; t < tokens; ++t) {
    auto [next, result] =
        steps.step(buildSource(steps, *this, pool, state, t), t);
    state = next;
    results.push_back(result);
    states.push_back(emitter.join(emitter.join(state, 3, 2), 1, 2));
  }
  Value all = states.front();
  if (states.size() > 1)
    all = tensor::ConcatOp::create(builder, getLoc(), 0, states);
  return SmallVector<Value>{
      steps.join(results),
      buildCacheWrite(emitter, all, getSlots(), getPool())};
}

std::optional<IntegerRange>
PagedGatedDeltaRuleOp::getIntegerRange(OpOperand &operand) {
  int64_t slots = shapeOf(getPool())[0];
  if (operand.get() == getSlots())
    return IntegerRange{slots};
  if (operand.get() == getSources())
    return IntegerRange{shapeOf(getKey())[1] + slots};
  return std::nullopt;
}

OpOperand *PagedGatedDeltaRuleOp::getReplacedOperand(unsigned result) {
  return result == 1 ? &getPoolMutable() : nullptr;
}

double PagedGatedDeltaRuleOp::getFlopsPerPoint() {
  // The rule's points have the slots of the pool and the numbers of a state
  // too, of which a token reads its own.
  RankedTensorType pool = typeOf(getPool());
  return getDeltaFlops(!!getBeta()) /
         (double(pool.getDimSize(0)) * double(pool.getDimSize(2)));
}

LibraryCall PagedGatedDeltaRuleOp::getLibraryCall(const LibraryUse &) {
  ArrayRef<int64_t> key = shapeOf(getKey()), value = shapeOf(getValue());
  return abi::paged_gated_delta_rule(
      key[1], key[2], value[2], key[3], value[3], shapeOf(getPool())[0],
      getQuery(), getKey(), getValue(), getDecay(), getBeta(), getSlots(),
      getSources(), getPool(), getResult(), getNextPool());
}
