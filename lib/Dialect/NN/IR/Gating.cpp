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
    return arith::MaximumFOp::create(e.b, x, e.number(0));
  return name == "silu" ? silu(e, x) : gelu(e, x, getGelu(name));
}

Value tp::nn::buildActivationSlope(OpBuilder &builder, Location loc,
                                   StringRef name, Value x) {
  Scalar e(builder, loc, x.getType());
  if (name == "relu") {
    Value above =
        arith::CmpFOp::create(e.b, arith::CmpFPredicate::OGT, x, e.number(0));
    return e.select(above, e.number(1), e.number(0));
  }
  return name == "silu" ? siluSlope(e, x) : geluSlope(e, x, getGelu(name));
}
