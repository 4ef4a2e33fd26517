//===- VjpElementwise.cpp - Derivatives of activations and look-ups
//---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector-Jacobian products of GELU, SiLU, softmax, dropout, the rotary
// embedding and the embedding. They are operations like any other: their
// shardings, and the collectives of the backward, follow from their rules.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace tp::nn;

using Gradients = FailureOr<SmallVector<Value>>;

/// The erf form: Φ(x) + x φ(x).
static Value getErfSlope(Scalar &e, Value x) {
  Value erf = math::ErfOp::create(e.b, e.mul(x, 1 / std::sqrt(2.0)));
  Value area = e.mul(e.add(erf, 1), 0.5);
  Value bell = e.exp(e.mul(e.mul(x, x), -0.5));
  double scale = 1 / std::sqrt(2 * llvm::numbers::pi);
  return e.add(area, e.mul(e.mul(x, bell), scale));
}

/// The slope, for u = √(2/π) (x + c x³), is (1 + tanh u) / 2 + x (1 - tanh² u)
/// u' / 2.
static Value getTanhSlope(Scalar &e, Value x) {
  double root = std::sqrt(2 / llvm::numbers::pi), c = 0.044715;
  Value square = e.mul(x, x);
  Value u = e.mul(e.mul(x, e.add(e.mul(square, c), 1)), root);
  Value tanh = math::TanhOp::create(e.b, u);
  Value inner = e.mul(e.add(e.mul(square, 3 * c), 1), root);
  Value bend = e.sub(e.number(1), e.mul(tanh, tanh));
  Value sum = e.add(e.add(tanh, 1), e.mul(e.mul(x, bend), inner));
  return e.mul(sum, 0.5);
}

Value tp::nn::geluSlope(Scalar &e, Value x, GeluKind kind) {
  return kind == GeluKind::Erf ? getErfSlope(e, x) : getTanhSlope(e, x);
}

/// σ (1 + x (1 - σ)).
Value tp::nn::siluSlope(Scalar &e, Value x) {
  Value one = e.number(1);
  Value decay = e.exp(e.neg(x));
  Value sigmoid = e.div(one, e.add(decay, one));
  Value rest = e.mul(x, e.sub(one, sigmoid));
  return e.mul(sigmoid, e.add(rest, one));
}

Gradients GeluOp::buildVjp(OpBuilder &builder, ValueRange cotangents) {
  RankedTensorType type = typeOf(getInput());
  Emitter emitter(builder, getLoc(), type.getElementType());
  Loops d = emitter.loops(type.getRank());
  return SmallVector<Value>{
      emitter.map(type, {{getInput(), d}, {cotangents[0], d}},
                  [&](Scalar &e, ValueRange v) {
                    return e.mul(v[1], geluSlope(e, v[0], getKind()));
                  })};
}

Gradients SiluOp::buildVjp(OpBuilder &builder, ValueRange cotangents) {
  RankedTensorType type = typeOf(getInput());
  Emitter emitter(builder, getLoc(), type.getElementType());
  Loops d = emitter.loops(type.getRank());
  return SmallVector<Value>{emitter.map(
      type, {{getInput(), d}, {cotangents[0], d}},
      [](Scalar &e, ValueRange v) { return e.mul(v[1], siluSlope(e, v[0])); })};
}

Gradients SoftmaxOp::buildVjp(OpBuilder &builder, ValueRange cotangents) {
  RankedTensorType type = typeOf(getInput());
  Emitter emitter(builder, getLoc(), type.getElementType());
  Loops d = emitter.loops(type.getRank());
  Loops rows(ArrayRef(d).drop_back());
  SmallVector<Operand> both{{getResult(), d}, {cotangents[0], d}};
  Value mean =
      reduceRows(emitter, Combine::Sum, both, getInput(),
                 [](Scalar &e, ValueRange v) { return e.mul(v[0], v[1]); });
  both.push_back({mean, rows});
  return SmallVector<Value>{
      emitter.map(type, both, [](Scalar &e, ValueRange v) {
        return e.mul(v[0], e.sub(v[1], v[2]));
      })};
}

Gradients DropoutOp::buildVjp(OpBuilder &builder, ValueRange cotangents) {
  // Linear with a mask that depends on positions alone: the same mask again.
  Operation *clone = builder.clone(*getOperation());
  clone->setOperand(0, cotangents[0]);
  SmallVector<Value> gradients(getNumOperands());
  gradients[0] = clone->getResult(0);
  return gradients;
}

Gradients RotaryOp::buildVjp(OpBuilder &builder, ValueRange cotangents) {
  // The transposed rotation turns back. The tables are constants.
  Value sin = arith::NegFOp::create(builder, getLoc(), getSin());
  Value gradient = RotaryOp::create(builder, getLoc(), typeOf(getInput()),
                                    cotangents[0], getCos(), sin);
  return SmallVector<Value>{gradient, Value(), Value()};
}

Gradients EmbeddingOp::buildVjp(OpBuilder &builder, ValueRange cotangents) {
  RankedTensorType type = typeOf(getTable());
  Emitter emitter(builder, getLoc(), type.getElementType());
  RankedTensorType wide = emitter.wideType(type.getShape());
  auto convert = [&](Value value, RankedTensorType to) {
    if (value.getType() == to)
      return value;
    return emitter.map(to, {{value, emitter.loops(to.getRank())}},
                       [](Scalar &, ValueRange v) { return v[0]; });
  };
  Value cotangent =
      convert(cotangents[0], emitter.wideType(shapeOf(cotangents[0])));
  Value table = EmbeddingBackwardOp::create(
      builder, getLoc(), wide, getIds(), cotangent,
      /*into=*/Value(), getOffset(), getPaddingRowAttr());
  SmallVector<Value> gradients(getNumOperands());
  gradients[1] = convert(table, type);
  return gradients;
}
