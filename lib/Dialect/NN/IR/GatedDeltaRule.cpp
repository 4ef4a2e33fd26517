//===- GatedDeltaRule.cpp - All of nn.gated_delta_rule --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file has its verifier, its sharding rule, its definition, its derivative
// and its library form. The definition is the recurrence itself, written out
// for every position; a library may group positions as it likes. Key heads are
// a factor, and the value heads of each another, as KV heads and queries of
// attention are.
//
//===----------------------------------------------------------------------===//

#include "DeltaParts.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Interfaces/LibraryCalls.h"

using namespace mlir;
using namespace tp;
using namespace tp::nn;

//===----------------------------------------------------------------------===//
// Parts of all forms
//===----------------------------------------------------------------------===//

LogicalResult tp::nn::verifyDelta(Operation *op, const DeltaOperands &in) {
  if (failed(expectRank(op, "query", in.query, 4)) ||
      failed(expectRank(op, "value", in.value, 4)))
    return failure();
  ArrayRef<int64_t> keys = shapeOf(in.query), values = shapeOf(in.value);
  if (failed(expectShape(op, "key", in.key, keys)) ||
      failed(expectShape(op, "value", in.value,
                         {keys[0], keys[1], values[2], values[3]})) ||
      failed(expectShape(op, "decay", in.decay, values.drop_back())))
    return failure();
  if (keys[2] == 0 || values[2] % keys[2] != 0)
    return op->emitOpError()
           << "expected value heads in groups of key heads, got " << values[2]
           << " and " << keys[2];
  return in.beta ? expectShape(op, "beta", in.beta, values.drop_back())
                 : success();
}

DeltaFactors::DeltaFactors(ShardingRule &rule, const DeltaOperands &in) {
  ArrayRef<int64_t> key = shapeOf(in.key), value = shapeOf(in.value);
  b = rule.addFactor(key[0], FactorKind::Parallel, "b");
  s = rule.addFactor(key[1], FactorKind::Whole, "s");
  keys = rule.addFactor(key[2], FactorKind::Parallel, "key heads");
  group = rule.addFactor(value[2] / key[2], FactorKind::Parallel,
                         "value heads per key head");
  d = rule.addFactor(key[3], FactorKind::Whole, "key size");
  e = rule.addFactor(value[3], FactorKind::Whole, "value size");
}

void DeltaFactors::addOperands(ShardingRule &rule) const {
  addOperand(rule, keyDims(), Linearity::None);
  addOperand(rule, keyDims(), Linearity::None);
  addOperand(rule, valueDims(), Linearity::None);
  addOperand(rule, headDims(), Linearity::None);
}

double tp::nn::getDeltaFlops(bool hasBeta) { return hasBeta ? 7 : 5; }

DeltaSteps::DeltaSteps(Emitter &emitter, const DeltaOperands &operands)
    : emitter(emitter), in(operands), loops(emitter.loops(5)),
      row{loops[0], loops[1], loops[2], loops[4]},
      head{loops[0], loops[1], loops[2]} {
  ArrayRef<int64_t> key = shapeOf(in.key), value = shapeOf(in.value);
  int64_t b = key[0], g = key[2], r = value[2] / g, d = key[3], e = value[3];
  stateType = emitter.wideType({b, g, r, d, e});
  rowType = emitter.wideType({b, g, r, e});
  for (Value *each : {&in.value, &in.decay, &in.beta})
    if (*each)
      *each = emitter.split(*each, 2, {g, r});
}

Operand DeltaSteps::queryAt(int64_t t) {
  return {in.query, {loops[0], emitter.constant(t), loops[1], loops[3]}};
}
Operand DeltaSteps::keyAt(int64_t t) {
  return {in.key, {loops[0], emitter.constant(t), loops[1], loops[3]}};
}
Operand DeltaSteps::decayAt(int64_t t) {
  return {in.decay, {loops[0], emitter.constant(t), loops[1], loops[2]}};
}

Value DeltaSteps::zero() {
  return emitter.map(stateType, {},
                     [](Scalar &e, ValueRange) { return e.number(0); });
}

Value DeltaSteps::decayState(Value state, int64_t t) {
  return emitter.map(
      stateType, {{state, loops}, decayAt(t)},
      [](Scalar &e, ValueRange v) { return e.mul(e.exp(v[1]), v[0]); });
}

static Value product(Scalar &e, ValueRange v) { return e.mul(v[0], v[1]); }

Value DeltaSteps::recall(Value decayed, int64_t t) {
  return emitter.reduce(rowType, row, 5, Combine::Sum,
                        {{decayed, loops}, keyAt(t)}, product);
}

Value DeltaSteps::correct(Value recalled, int64_t t) {
  // A row has four loops of its own: the last of a state's is its fourth.
  Loops d = emitter.loops(4);
  Operand value{in.value, {d[0], emitter.constant(t), d[1], d[2], d[3]}};
  if (!in.beta)
    return emitter.map(rowType, {value},
                       [](Scalar &, ValueRange v) { return v[0]; });
  Operand beta{in.beta, {d[0], emitter.constant(t), d[1], d[2]}};
  return emitter.map(
      rowType, {value, {recalled, d}, beta},
      [](Scalar &e, ValueRange v) { return e.mul(v[2], e.sub(v[0], v[1])); });
}

Value DeltaSteps::store(Value decayed, Value stored, int64_t t) {
  return emitter.map(
      stateType, {{decayed, loops}, keyAt(t), {stored, row}},
      [](Scalar &e, ValueRange v) { return e.add(v[0], e.mul(v[1], v[2])); });
}

Value DeltaSteps::read(Value state, int64_t t) {
  return emitter.reduce(rowType, row, 5, Combine::Sum,
                        {{state, loops}, queryAt(t)}, product);
}

std::pair<Value, Value> DeltaSteps::step(Value state, int64_t t) {
  Value decayed = decayState(state, t);
  Value recalled = in.beta ? recall(decayed, t) : Value();
  state = store(decayed, correct(recalled, t), t);
  return {state, read(state, t)};
}

Value DeltaSteps::join(ArrayRef<Value> each) {
  SmallVector<Value> parts;
  for (Value value : each) {
    Value heads = emitter.join(value, 1, 2);
    parts.push_back(emitter.split(heads, 0, {shapeOf(heads)[0], 1}));
  }
  if (parts.size() == 1)
    return parts.front();
  return tensor::ConcatOp::create(emitter.builder, emitter.loc, 1, parts);
}

//===----------------------------------------------------------------------===//
// nn.gated_delta_rule
//===----------------------------------------------------------------------===//

static DeltaOperands getOperandsOf(GatedDeltaRuleOp op) {
  return {op.getQuery(), op.getKey(), op.getValue(), op.getDecay(),
          op.getBeta()};
}

LogicalResult GatedDeltaRuleOp::verify() {
  if (failed(verifyDelta(*this, getOperandsOf(*this))))
    return failure();
  return expectShape(*this, "result", getResult(), shapeOf(getValue()));
}

FailureOr<ShardingRule> GatedDeltaRuleOp::getShardingRule() {
  ShardingRule rule;
  DeltaFactors factors(rule, getOperandsOf(*this));
  factors.addOperands(rule);
  if (getBeta())
    addOperand(rule, factors.headDims(), Linearity::None);
  addResult(rule, factors.valueDims());
  return rule;
}

SmallVector<PadState> GatedDeltaRuleOp::getPaddingStates(unsigned,
                                                         ArrayRef<PadState>) {
  // A decay of padding may be no number.
  return {PadState::Anything};
}

FailureOr<SmallVector<Value>> GatedDeltaRuleOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), builder.getF32Type());
  DeltaSteps steps(emitter, getOperandsOf(*this));
  SmallVector<Value> results;
  Value state = steps.zero();
  for (int64_t t = 0, length = shapeOf(getValue())[1]; t < length; ++t) {
    auto [next, result] = steps.step(state, t);
    state = next;
    results.push_back(result);
  }
  return SmallVector<Value>{steps.join(results)};
}

FailureOr<SmallVector<Value>>
GatedDeltaRuleOp::buildVjp(OpBuilder &builder, ValueRange cotangents) {
  Emitter emitter(builder, getLoc(), builder.getF32Type());
  ArrayRef<int64_t> key = shapeOf(getKey()), value = shapeOf(getValue());
  SmallVector<int64_t> each(key);
  each[2] = value[2];
  RankedTensorType eachKey = typeOf(getKey()).clone(each);
  auto backward = GatedDeltaRuleBackwardOp::create(
      builder, getLoc(), eachKey, eachKey, getValue().getType(),
      getDecay().getType(), getBeta() ? getBeta().getType() : Type(),
      cotangents[0], getQuery(), getKey(), getValue(), getDecay(), getBeta());
  // A key head gets the sum over the value heads that share it. The loops are
  // b, s, g, r, d.
  Loops d = emitter.loops(5);
  auto sum = [&](Value of) {
    return emitter.reduce(
        typeOf(getKey()), {d[0], d[1], d[2], d[4]}, 5, Combine::Sum,
        {{emitter.split(of, 2, {key[2], value[2] / key[2]}), d}},
        [](Scalar &, ValueRange v) { return v[0]; });
  };
  SmallVector<Value> gradients{sum(backward.getDQuery()),
                               sum(backward.getDKey()), backward.getDValue(),
                               backward.getDDecay()};
  if (getBeta())
    gradients.push_back(backward.getDBeta());
  return gradients;
}

double GatedDeltaRuleOp::getFlopsPerPoint() {
  return getDeltaFlops(!!getBeta());
}

LibraryCall GatedDeltaRuleOp::getLibraryCall(const LibraryUse &) {
  ArrayRef<int64_t> key = shapeOf(getKey()), value = shapeOf(getValue());
  return abi::gated_delta_rule(key[0], key[1], key[2], value[2], key[3],
                               value[3], getQuery(), getKey(), getValue(),
                               getDecay(), getBeta(), getResult());
}
