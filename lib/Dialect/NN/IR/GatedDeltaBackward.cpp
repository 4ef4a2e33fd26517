//===- GatedDeltaBackward.cpp - All of nn.gated_delta_rule_backward -------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Let P be the decayed state of a position, m what it recalls, u what is
// stored, S the state behind it, and dS the derivative by S of all that is
// later. Then
//
//   dS += q doᵀ        dq = S do
//   du = dSᵀ k         dbeta = du · (v - m)    dv = beta du    dm = -beta du
//   dk = dS u + P dm   dP = dS + k dmᵀ         ddecay = dP · P
//
// and dS of the position before is exp(decay) dP. Results for keys and queries
// keep value heads apart: the sum over those of a key head, which other ranks
// may have, is an operation of its own, whose rule knows of it.
//
//===----------------------------------------------------------------------===//

#include "DeltaParts.h"
#include "tp/Interfaces/LibraryCalls.h"

using namespace mlir;
using namespace tp;
using namespace tp::nn;

static DeltaOperands getOperandsOf(GatedDeltaRuleBackwardOp op) {
  return {op.getQuery(), op.getKey(), op.getValue(), op.getDecay(),
          op.getBeta()};
}

LogicalResult GatedDeltaRuleBackwardOp::verify() {
  if (failed(verifyDelta(*this, getOperandsOf(*this))))
    return failure();
  ArrayRef<int64_t> value = shapeOf(getValue());
  SmallVector<int64_t> each(shapeOf(getKey()));
  each[2] = value[2];
  if (failed(expectShape(*this, "cotangent", getCotangent(), value)) ||
      failed(expectShape(*this, "d_query", getDQuery(), each)) ||
      failed(expectShape(*this, "d_key", getDKey(), each)) ||
      failed(expectShape(*this, "d_value", getDValue(), value)) ||
      failed(expectShape(*this, "d_decay", getDDecay(), value.drop_back())))
    return failure();
  if (!getBeta() != !getDBeta())
    return emitOpError("expected a d_beta if there is a beta, and none if "
                       "there is not");
  return getBeta() ? expectShape(*this, "d_beta", getDBeta(), value.drop_back())
                   : success();
}

FailureOr<ShardingRule> GatedDeltaRuleBackwardOp::getShardingRule() {
  ShardingRule rule;
  DeltaFactors factors(rule, getOperandsOf(*this));
  addOperand(rule, factors.valueDims(), Linearity::None);
  factors.addOperands(rule);
  if (getBeta())
    addOperand(rule, factors.headDims(), Linearity::None);
  Dims each = factors.valueDims();
  each.back() = {factors.d};
  addResult(rule, each);
  addResult(rule, each);
  addResult(rule, factors.valueDims());
  addResult(rule, factors.headDims());
  if (getBeta())
    addResult(rule, factors.headDims());
  return rule;
}

SmallVector<PadState>
GatedDeltaRuleBackwardOp::getPaddingStates(unsigned, ArrayRef<PadState>) {
  return SmallVector<PadState>(getNumResults(), PadState::Anything);
}

namespace {
/// Values of each position that the way back reads.
struct ForwardValues {
  SmallVector<Value> decayed, recalled, stored, states;
};
/// Derivatives of each position, the last one first.
struct Derivatives {
  SmallVector<Value> query, key, value, decay, beta;
};

class BackwardSteps : public DeltaSteps {
public:
  BackwardSteps(Emitter &emitter, const DeltaOperands &in, Value cotangent)
      : DeltaSteps(emitter, in),
        cotangent(emitter.split(
            cotangent, 2, {stateType.getDimSize(1), stateType.getDimSize(2)})),
        column{loops[0], loops[1], loops[2], loops[3]} {
    ArrayRef<int64_t> s = stateType.getShape();
    columnType = emitter.wideType(s.drop_back());
    headType = emitter.wideType(s.drop_back(2));
  }

  ForwardValues goForward(int64_t length);
  /// Adds the derivatives of position t; returns that by the state before it.
  Value goBack(const ForwardValues &forward, Value dState, int64_t t);
  Derivatives derivatives;

private:
  Operand cotangentAt(int64_t t) {
    return {cotangent,
            {loops[0], emitter.constant(t), loops[1], loops[2], loops[4]}};
  }
  /// The sum over e of the product of a state and a row.
  Value sumColumns(Value state, Operand rows) {
    return emitter.reduce(columnType, column, 5, Combine::Sum,
                          {{state, loops}, rows}, product);
  }
  static Value product(Scalar &e, ValueRange v) { return e.mul(v[0], v[1]); }

  Value cotangent;
  Loops column;
  RankedTensorType columnType, headType;
};
} // namespace

ForwardValues BackwardSteps::goForward(int64_t length) {
  ForwardValues values;
  Value state = zero();
  for (int64_t t = 0; t < length; ++t) {
    Value decayed = decayState(state, t);
    Value recalled = in.beta ? recall(decayed, t) : Value();
    Value stored = correct(recalled, t);
    state = store(decayed, stored, t);
    values.decayed.push_back(decayed);
    values.recalled.push_back(recalled);
    values.stored.push_back(stored);
    values.states.push_back(state);
  }
  return values;
}

Value BackwardSteps::goBack(const ForwardValues &forward, Value dState,
                            int64_t t) {
  dState = emitter.map(
      stateType, {{dState, loops}, queryAt(t), cotangentAt(t)},
      [](Scalar &e, ValueRange v) { return e.add(v[0], e.mul(v[1], v[2])); });
  derivatives.query.push_back(sumColumns(forward.states[t], cotangentAt(t)));
  Value dStored = emitter.reduce(rowType, row, 5, Combine::Sum,
                                 {{dState, loops}, keyAt(t)}, product);
  Value dKey = sumColumns(dState, {forward.stored[t], row});
  Value dValue = dStored, dDecayed = dState;
  if (in.beta) {
    Loops d = emitter.loops(4), heads(ArrayRef(d).take_front(3));
    AffineExpr at = emitter.constant(t);
    Operand value{in.value, {d[0], at, d[1], d[2], d[3]}};
    Operand beta{in.beta, {d[0], at, d[1], d[2]}};
    derivatives.beta.push_back(
        emitter.reduce(headType, heads, 4, Combine::Sum,
                       {{dStored, d}, value, {forward.recalled[t], d}},
                       [](Scalar &e, ValueRange v) {
                         return e.mul(v[0], e.sub(v[1], v[2]));
                       }));
    dValue = emitter.map(rowType, {{dStored, d}, beta}, product);
    // The recalled value is subtracted from the value, hence the sign.
    Value fromRecalled = sumColumns(forward.decayed[t], {dValue, row});
    dKey =
        emitter.map(columnType, {{dKey, d}, {fromRecalled, d}},
                    [](Scalar &e, ValueRange v) { return e.sub(v[0], v[1]); });
    dDecayed = emitter.map(
        stateType, {{dState, loops}, keyAt(t), {dValue, row}},
        [](Scalar &e, ValueRange v) { return e.sub(v[0], e.mul(v[1], v[2])); });
  }
  derivatives.key.push_back(dKey);
  derivatives.value.push_back(dValue);
  derivatives.decay.push_back(emitter.reduce(
      headType, head, 5, Combine::Sum,
      {{dDecayed, loops}, {forward.decayed[t], loops}}, product));
  return decayState(dDecayed, t);
}

FailureOr<SmallVector<Value>>
GatedDeltaRuleBackwardOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), builder.getF32Type());
  BackwardSteps steps(emitter, getOperandsOf(*this), getCotangent());
  int64_t length = shapeOf(getValue())[1];
  ForwardValues forward = steps.goForward(length);
  Value dState = steps.zero();
  for (int64_t t = length; t-- > 0;)
    dState = steps.goBack(forward, dState, t);
  SmallVector<Value> results;
  Derivatives &d = steps.derivatives;
  for (SmallVector<Value> *each : {&d.query, &d.key, &d.value, &d.decay}) {
    std::reverse(each->begin(), each->end());
    results.push_back(steps.join(*each));
  }
  if (getBeta()) {
    std::reverse(d.beta.begin(), d.beta.end());
    results.push_back(steps.join(d.beta));
  }
  return results;
}

/// The states once more, and each of their four uses in both directions.
double GatedDeltaRuleBackwardOp::getFlopsPerPoint() {
  return getDeltaFlops(!!getBeta()) + (getBeta() ? 15 : 10);
}

LibraryCall GatedDeltaRuleBackwardOp::getLibraryCall(const LibraryUse &) {
  ArrayRef<int64_t> key = shapeOf(getKey()), value = shapeOf(getValue());
  return abi::gated_delta_rule_backward(
      key[0], key[1], key[2], value[2], key[3], value[3], getCotangent(),
      getQuery(), getKey(), getValue(), getDecay(), getBeta(), getDQuery(),
      getDKey(), getDValue(), getDDecay(), getDBeta());
}
