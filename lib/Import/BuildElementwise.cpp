//===- BuildElementwise.cpp - Elements and rows in wider types ------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gates and linear attention compute some functions of each element, or row, in
// f32, whatever the model's type is. These are emitted here.
//
//===----------------------------------------------------------------------===//

#include "LayerParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/NN/IR/Emitter.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include <cmath>

using namespace mlir;

namespace tp {

/// Log(1 + exp(x)), which overflows nowhere.
static Value softplus(nn::Scalar &e, Value x) {
  Value most = e.max(x, 0), small = e.exp(e.neg(e.abs(x)));
  return e.add(most, math::Log1pOp::create(e.b, small));
}

namespace {
/// A tensor, and which loops its dimensions are; by default all of the
/// result's.
struct Input {
  Value value;
  std::optional<SmallVector<unsigned, 4>> dims = std::nullopt;
};
} // namespace

/// The last dimension of `like`.
static SmallVector<unsigned, 4> lastOf(Value like) {
  return {unsigned(nn::typeOf(like).getRank() - 1)};
}

/// A loop over all elements of the first input, whose value is rounded to
/// `element`.
static Value mapElements(OpBuilder &builder, Location loc,
                         ArrayRef<Input> inputs, Type element, nn::Body body) {
  RankedTensorType type = nn::typeOf(inputs.front().value);
  nn::Emitter emitter(builder, loc, builder.getF32Type());
  nn::Loops d = emitter.loops(type.getRank());
  SmallVector<nn::Operand> operands;
  for (const Input &input : inputs) {
    operands.push_back({input.value, input.dims ? nn::Loops() : d});
    for (unsigned dim : input.dims.value_or(SmallVector<unsigned, 4>()))
      operands.back().position.push_back(d[dim]);
  }
  return emitter.map(type.clone(element), operands, body);
}

Value ModelBuilder::sigmoid(StringRef path, Value x, Type element) {
  return mapElements(
      builder, at(path), {{x}}, element,
      [](nn::Scalar &e, ValueRange v) { return e.sigmoid(v[0]); });
}

Value softplus(ModelBuilder &m, StringRef path, Value x, Value bias,
               double least) {
  return mapElements(m.builder, m.at(path), {{x}, {bias, lastOf(x)}},
                     m.builder.getF32Type(), [&](nn::Scalar &e, ValueRange v) {
                       Value y = softplus(e, e.add(v[0], v[1]));
                       return least > 0 ? e.max(y, least) : y;
                     });
}

Value scaleByRates(ModelBuilder &m, StringRef path, Value x, Value rateLog) {
  return mapElements(m.builder, m.at(path), {{x}, {rateLog, lastOf(x)}},
                     m.builder.getF32Type(), [](nn::Scalar &e, ValueRange v) {
                       return e.mul(e.neg(e.exp(v[1])), v[0]);
                     });
}

static Value multiply(nn::Scalar &e, ValueRange v) { return e.mul(v[0], v[1]); }

Value scaleRows(ModelBuilder &m, StringRef path, Value x, Value factors,
                Type element) {
  return mapElements(m.builder, m.at(path), {{x}, {factors, lastOf(x)}},
                     element ? element : m.getModelType(), multiply);
}

Value scaleByConstant(ModelBuilder &m, StringRef path, Value x, Value number) {
  OpBuilder &b = m.builder;
  Location loc = m.at(path);
  Type i32 = b.getI32Type();
  Value bits =
      mapElements(b, loc, {{number}}, i32, [&](nn::Scalar &e, ValueRange v) {
        return e.bits(v[0], i32);
      });
  bits =
      tensor::CollapseShapeOp::create(b, loc, RankedTensorType::get({}, i32),
                                      bits, ArrayRef<ReassociationIndices>());
  return mapElements(b, loc, {{x}, {bits, {{}}}}, m.getModelType(),
                     [](nn::Scalar &e, ValueRange v) {
                       return e.mul(v[0], e.bits(v[1], e.wide));
                     });
}

Value scaleHeads(ModelBuilder &m, StringRef path, Value x, Value factors) {
  return mapElements(m.builder, m.at(path), {{x}, {factors, {{0, 1, 2}}}},
                     m.builder.getF32Type(), multiply);
}

Value addScaledHeads(ModelBuilder &m, StringRef path, Value y, Value x,
                     Value factors) {
  return mapElements(m.builder, m.at(path), {{y}, {x}, {factors, {{2}}}},
                     m.builder.getF32Type(), [](nn::Scalar &e, ValueRange v) {
                       return e.add(v[0], e.mul(v[1], v[2]));
                     });
}

Value ModelBuilder::convert(StringRef path, Value x, Type element) {
  auto type = cast<RankedTensorType>(x.getType());
  Type from = type.getElementType();
  if (from == element)
    return x;
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, at(path), type.clone(element), x);
  return arith::TruncFOp::create(builder, at(path), type.clone(element), x);
}

Value ModelBuilder::l2NormOfRows(StringRef path, Value x, double epsilon,
                                 double factor) {
  int64_t size = shapeOf(x).back();
  // A mean is the sum divided by the size, which the weight takes off again.
  auto type = RankedTensorType::get({size}, builder.getF32Type());
  Value weight = splat(path, type, factor / std::sqrt(double(size)));
  return nn::RMSNormOp::create(builder, at(path), x.getType(), /*rstd=*/Type(),
                               x, weight,
                               builder.getF64FloatAttr(epsilon / double(size)))
      .getResult();
}

} // namespace tp
