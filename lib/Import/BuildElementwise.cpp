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
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include <cmath>

using namespace mlir;

namespace tp {

namespace {
/// Emits the body of a loop nest.
struct Body {
  OpBuilder &b;
  Location loc;

  Value number(double value) {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(float(value)));
  }
  Value wide(Value x) {
    return x.getType().isF32() || x.getType().isInteger()
               ? x
               : arith::ExtFOp::create(b, loc, b.getF32Type(), x).getResult();
  }
  Value sigmoid(Value x) {
    Value decay = math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, x));
    return arith::DivFOp::create(
        b, loc, number(1), arith::AddFOp::create(b, loc, number(1), decay));
  }
  /// log(1 + exp(x)), which overflows nowhere.
  Value softplus(Value x) {
    Value most = arith::MaximumFOp::create(b, loc, x, number(0));
    Value size = math::AbsFOp::create(b, loc, x);
    Value small =
        math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, size));
    return arith::AddFOp::create(b, loc, most,
                                 math::Log1pOp::create(b, loc, small));
  }
};
} // namespace

namespace {
/// A tensor, and of which loops its dimensions are.
struct Input {
  Value value;
  SmallVector<unsigned, 4> dims;
};
} // namespace

/// The loops of all dimensions of x, or of the last one.
static Input allOf(Value x) {
  int64_t rank = cast<RankedTensorType>(x.getType()).getRank();
  return {x, llvm::to_vector<4>(llvm::seq<unsigned>(0, rank))};
}
static Input lastOf(Value row, Value x) {
  return {row, {unsigned(cast<RankedTensorType>(x.getType()).getRank() - 1)}};
}

/// A loop over all elements of the first input, whose value is rounded to
/// `element`.
static Value mapElements(OpBuilder &builder, Location loc,
                         ArrayRef<Input> operands, Type element,
                         llvm::function_ref<Value(Body &, ValueRange)> body) {
  auto type = cast<RankedTensorType>(operands.front().value.getType());
  unsigned rank = type.getRank();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const Input &operand : operands) {
    inputs.push_back(operand.value);
    SmallVector<AffineExpr> exprs;
    for (unsigned dim : operand.dims)
      exprs.push_back(builder.getAffineDimExpr(dim));
    maps.push_back(AffineMap::get(rank, 0, exprs, builder.getContext()));
  }
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), element);
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, type.clone(element), inputs, empty, maps, loops,
             [&](OpBuilder &b, Location l, ValueRange args) {
               Body emitter{b, l};
               SmallVector<Value> values;
               for (Value arg : args.drop_back())
                 values.push_back(emitter.wide(arg));
               Value value = body(emitter, values);
               if (value.getType() != element)
                 value = arith::TruncFOp::create(b, l, element, value);
               linalg::YieldOp::create(b, l, value);
             })
      .getResult(0);
}

Value ModelBuilder::sigmoid(StringRef path, Value x, Type element) {
  return mapElements(
      builder, at(path), allOf(x), element,
      [](Body &body, ValueRange v) { return body.sigmoid(v[0]); });
}

Value softplus(ModelBuilder &m, StringRef path, Value x, Value bias,
               double least) {
  return mapElements(m.builder, m.at(path), {allOf(x), lastOf(bias, x)},
                     m.builder.getF32Type(), [&](Body &body, ValueRange v) {
                       Value y = body.softplus(
                           arith::AddFOp::create(body.b, body.loc, v[0], v[1]));
                       if (least > 0)
                         y = arith::MaximumFOp::create(body.b, body.loc, y,
                                                       body.number(least));
                       return y;
                     });
}

Value scaleByRates(ModelBuilder &m, StringRef path, Value x, Value rateLog) {
  return mapElements(
      m.builder, m.at(path), {allOf(x), lastOf(rateLog, x)},
      m.builder.getF32Type(), [](Body &body, ValueRange v) -> Value {
        Value rate = arith::NegFOp::create(
            body.b, body.loc, math::ExpOp::create(body.b, body.loc, v[1]));
        return arith::MulFOp::create(body.b, body.loc, rate, v[0]);
      });
}

Value scaleRows(ModelBuilder &m, StringRef path, Value x, Value factors,
                Type element) {
  return mapElements(m.builder, m.at(path), {allOf(x), lastOf(factors, x)},
                     element ? element : m.getModelType(),
                     [](Body &body, ValueRange v) -> Value {
                       return arith::MulFOp::create(body.b, body.loc, v[0],
                                                    v[1]);
                     });
}

Value scaleByConstant(ModelBuilder &m, StringRef path, Value x, Value number) {
  OpBuilder &b = m.builder;
  Location loc = m.at(path);
  Type i32 = b.getI32Type();
  Value bits = mapElements(
      b, loc, {allOf(number)}, i32, [&](Body &body, ValueRange v) -> Value {
        return arith::BitcastOp::create(body.b, body.loc, i32, v[0]);
      });
  bits =
      tensor::CollapseShapeOp::create(b, loc, RankedTensorType::get({}, i32),
                                      bits, ArrayRef<ReassociationIndices>());
  return mapElements(b, loc, {allOf(x), {bits, {}}}, m.getModelType(),
                     [](Body &body, ValueRange v) -> Value {
                       Value factor = arith::BitcastOp::create(
                           body.b, body.loc, body.b.getF32Type(), v[1]);
                       return arith::MulFOp::create(body.b, body.loc, v[0],
                                                    factor);
                     });
}

Value scaleHeads(ModelBuilder &m, StringRef path, Value x, Value factors) {
  return mapElements(
      m.builder, m.at(path), {allOf(x), {factors, {0, 1, 2}}},
      m.builder.getF32Type(), [](Body &body, ValueRange v) -> Value {
        return arith::MulFOp::create(body.b, body.loc, v[0], v[1]);
      });
}

Value addScaledHeads(ModelBuilder &m, StringRef path, Value y, Value x,
                     Value factors) {
  return mapElements(
      m.builder, m.at(path), {allOf(y), allOf(x), {factors, {2}}},
      m.builder.getF32Type(), [](Body &body, ValueRange v) -> Value {
        Value term = arith::MulFOp::create(body.b, body.loc, v[1], v[2]);
        return arith::AddFOp::create(body.b, body.loc, v[0], term);
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
