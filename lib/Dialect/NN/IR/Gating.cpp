//===- Gating.cpp - The activations of experts ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Dialect/NN/IR/Gating.h"

#include "Parts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tp::nn;

static GeluKind getGelu(StringRef name) {
  return name == "gelu_erf" ? GeluKind::Erf : GeluKind::Tanh;
}

Value tp::nn::buildActivation(OpBuilder &builder, Location loc, StringRef name,
                              Value x) {
  Scalar e(builder, loc, x.getType());
  if (name == "relu")
    return e.max(x, 0);
  return name == "silu" ? silu(e, x) : gelu(e, x, getGelu(name));
}

Value tp::nn::buildActivationSlope(OpBuilder &builder, Location loc,
                                   StringRef name, Value x) {
  Scalar e(builder, loc, x.getType());
  if (name == "relu") {
    Value above = e.compare(CmpF::OGT, x, 0);
    return e.select(above, e.number(1), 0);
  }
  return name == "silu" ? siluSlope(e, x) : geluSlope(e, x, getGelu(name));
}

//===----------------------------------------------------------------------===//
// Gate and up
//===----------------------------------------------------------------------===//

/// silu(alpha x) / alpha is x / (1 + exp(-alpha x)).
static Value activate(Scalar &e, const Gating &gating, Value x) {
  if (gating.alpha == 1)
    return buildActivation(e.b, e.b.getLoc(), gating.activation, x);
  Value y = buildActivation(e.b, e.b.getLoc(), gating.activation,
                            e.mul(x, gating.alpha));
  return e.div(y, gating.alpha);
}

static Value activateSlope(Scalar &e, const Gating &gating, Value x) {
  if (gating.alpha != 1)
    x = e.mul(x, gating.alpha);
  return buildActivationSlope(e.b, e.b.getLoc(), gating.activation, x);
}

/// Gate and up within their bounds.
static std::pair<Value, Value> bound(Scalar &e, const Gating &gating,
                                     Value gate, Value up) {
  if (!gating.limit)
    return {gate, up};
  Value most = e.number(*gating.limit), least = e.number(-*gating.limit);
  up = e.min(up, most);
  return {e.min(gate, most), e.max(up, least)};
}

static Value shiftUp(Scalar &e, const Gating &gating, Value up) {
  return gating.upOffset == 0 ? up : e.add(up, gating.upOffset);
}

Value tp::nn::buildGated(OpBuilder &builder, Location loc, const Gating &gating,
                         Value gate, Value up) {
  Scalar e(builder, loc, gate.getType());
  auto [g, u] = bound(e, gating, gate, up);
  return e.mul(activate(e, gating, g), shiftUp(e, gating, u));
}

std::pair<Value, Value> tp::nn::buildGatedSlopes(OpBuilder &builder,
                                                 Location loc,
                                                 const Gating &gating,
                                                 Value gate, Value up) {
  Scalar e(builder, loc, gate.getType());
  auto [g, u] = bound(e, gating, gate, up);
  Value byGate = e.mul(shiftUp(e, gating, u), activateSlope(e, gating, g));
  Value byUp = activate(e, gating, g);
  if (!gating.limit)
    return {byGate, byUp};
  using arith::CmpFPredicate;
  auto keep = [&](CmpFPredicate how, Value x, double limit, Value slope) {
    Value isInside = e.compare(how, x, limit);
    return e.select(isInside, slope, 0);
  };
  double limit = *gating.limit;
  byGate = keep(CmpFPredicate::ULE, gate, limit, byGate);
  byUp = keep(CmpFPredicate::ULE, up, limit, byUp);
  return {byGate, keep(CmpFPredicate::UGE, up, -limit, byUp)};
}
