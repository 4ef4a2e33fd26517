//===- Elementwise.cpp - Derivatives of arith and math --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line for each function: its cotangent g, operands x, y, z and value v to
// the contributions of the operands. The same lines serve scalars in bodies and
// tensors. Where a function jumps its derivative is that of the pieces (zero of
// floor); where it bends between two operands (a maximum of equal ones) each
// has half.
//
//===----------------------------------------------------------------------===//

#include "Vjp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tp/Dialect/NN/IR/Emitter.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::differentiate;

using Values = SmallVector<Value>;

bool tp::differentiate::isDifferentiable(Type type) {
  if (auto shaped = dyn_cast<RankedTensorType>(type))
    type = shaped.getElementType();
  return isa<FloatType>(type);
}

Value tp::differentiate::makeConstant(ImplicitLocOpBuilder &builder, Type type,
                                      double value) {
  TypedAttr attribute = builder.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<RankedTensorType>(type))
    attribute = DenseElementsAttr::get(shaped, Attribute(attribute));
  return arith::ConstantOp::create(builder, attribute);
}

Value tp::differentiate::convert(ImplicitLocOpBuilder &builder, Value value,
                                 Type element) {
  Type from = getElementTypeOrSelf(value.getType()), to = element;
  if (from == element)
    return value;
  if (auto shaped = dyn_cast<RankedTensorType>(value.getType()))
    to = shaped.clone(element);
  unsigned before = from.getIntOrFloatBitWidth();
  unsigned after = element.getIntOrFloatBitWidth();
  // bf16 and f16 meet in f32.
  if (before == after)
    return convert(builder, convert(builder, value, builder.getF32Type()),
                   element);
  if (before < after)
    return arith::ExtFOp::create(builder, to, value);
  return arith::TruncFOp::create(builder, to, value);
}

namespace {
/// The vocabulary of the lines.
struct Terms : nn::Scalar {
  Value g, x, y, z, v;

  /// Functions of 16 bits are in f32: their constants are no numbers of 16.
  Terms(OpBuilder &builder, Operation *op, Value cotangent)
      : Scalar(builder, op->getLoc(), Type()), g(cotangent),
        v(op->getResult(0)) {
    Value *places[] = {&x, &y, &z};
    for (auto [place, operand] : llvm::zip(places, op->getOperands()))
      *place = operand;
    Type element = getElementTypeOrSelf(v.getType());
    if (isa<arith::ArithDialect>(op->getDialect()) ||
        element.getIntOrFloatBitWidth() >= 32)
      return;
    for (Value *value : {&g, &x, &y, &z, &v})
      if (*value)
        *value = tp::differentiate::convert(b, *value, b.getF32Type());
  }
  Value number(double value) { return makeConstant(b, g.getType(), value); }
  Value sqrt(Value a) { return math::SqrtOp::create(b, a); }
  Value square(Value a) { return mul(a, a); }
  /// To x where a is larger, to y where b is, to each half where they are
  /// equal.
  Values share(Value a, Value b) {
    Value zero = number(0), half = mul(g, 0.5);
    Value tie = compare(nn::CmpF::OEQ, a, b);
    auto part = [&](Value large, Value small) {
      Value wins = compare(nn::CmpF::OGT, large, small);
      return select(tie, half, select(wins, g, zero));
    };
    return {part(a, b), part(b, a)};
  }
};
} // namespace

/// x^p: p x^(p-1), and log(x) x^p where x is positive.
static Values getPowerVjp(Terms &e) {
  Value less = math::PowFOp::create(e.b, e.x, e.sub(e.y, e.number(1)));
  Value none = e.compare(nn::CmpF::OEQ, e.y, e.number(0));
  Value base = e.select(none, e.number(0), e.mul(e.g, e.mul(e.y, less)));
  Value positive = e.compare(nn::CmpF::OGT, e.x, e.number(0));
  Value safe = e.select(positive, e.x, e.number(1));
  Value log = math::LogOp::create(e.b, safe);
  return {base, e.mul(e.g, e.mul(e.v, log))};
}

static Values getAtan2Vjp(Terms &e) {
  Value length = e.add(e.square(e.x), e.square(e.y));
  return {e.div(e.mul(e.g, e.y), length),
          e.neg(e.div(e.mul(e.g, e.x), length))};
}

/// -g where x is negative, nothing where it is zero.
static Value getSigned(Terms &e) {
  Value zero = e.number(0);
  Value positive = e.compare(nn::CmpF::OGT, e.x, zero);
  Value negative = e.compare(nn::CmpF::OLT, e.x, zero);
  return e.select(positive, e.g, e.select(negative, e.neg(e.g), zero));
}

static Value getErfVjp(Terms &e) {
  double scale = 2 / std::sqrt(llvm::numbers::pi);
  return e.mul(e.g, e.mul(e.exp(e.neg(e.square(e.x))), scale));
}

/// The sums, products and choices of arith; nothing of another operation.
static std::optional<Values> buildArith(Terms &e, Operation *op) {
  using Result = std::optional<Values>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<arith::AddFOp>([&](auto) { return Values{e.g, e.g}; })
      .Case<arith::SubFOp>([&](auto) { return Values{e.g, e.neg(e.g)}; })
      .Case<arith::MulFOp>(
          [&](auto) { return Values{e.mul(e.g, e.y), e.mul(e.g, e.x)}; })
      .Case<arith::DivFOp>([&](auto) {
        Value part = e.div(e.g, e.y);
        return Values{part, e.neg(e.mul(part, e.v))};
      })
      .Case<arith::RemFOp>([&](auto) {
        Value times = math::TruncOp::create(e.b, e.div(e.x, e.y));
        return Values{e.g, e.neg(e.mul(e.g, times))};
      })
      .Case<arith::NegFOp>([&](auto) { return Values{e.neg(e.g)}; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [&](auto) { return e.share(e.x, e.y); })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [&](auto) { return e.share(e.y, e.x); })
      .Case<arith::SelectOp>([&](auto) {
        Value zero = e.number(0);
        return Values{Value(), e.select(e.x, e.g, zero),
                      e.select(e.x, zero, e.g)};
      })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) {
        return Values{convert(e.b, e.g, getElementTypeOrSelf(e.x.getType()))};
      })
      .Case<math::FmaOp>(
          [&](auto) { return Values{e.mul(e.g, e.y), e.mul(e.g, e.x), e.g}; })
      .Case<math::PowFOp>([&](auto) { return getPowerVjp(e); })
      .Case<math::Atan2Op>([&](auto) { return getAtan2Vjp(e); })
      .Case<math::CopySignOp>([&](auto) {
        Value one = e.number(1);
        Value signs = e.mul(math::CopySignOp::create(e.b, one, e.x),
                            math::CopySignOp::create(e.b, one, e.y));
        return Values{e.mul(e.g, signs), Value()};
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// Functions of one number.
static std::optional<Values> buildMath(Terms &e, Operation *op) {
  auto ln = [](double base) { return 1 / std::log(base); };
  auto one = [&] { return e.number(1); };
  using Result = std::optional<Value>;
  Result value =
      llvm::TypeSwitch<Operation *, Result>(op)
          .Case<math::ExpOp>([&](auto) { return e.mul(e.g, e.v); })
          .Case<math::Exp2Op>(
              [&](auto) { return e.mul(e.mul(e.g, e.v), std::log(2.0)); })
          .Case<math::ExpM1Op>(
              [&](auto) { return e.mul(e.g, e.add(e.v, one())); })
          .Case<math::LogOp>([&](auto) { return e.div(e.g, e.x); })
          .Case<math::Log2Op>(
              [&](auto) { return e.mul(e.div(e.g, e.x), ln(2)); })
          .Case<math::Log10Op>(
              [&](auto) { return e.mul(e.div(e.g, e.x), ln(10)); })
          .Case<math::Log1pOp>(
              [&](auto) { return e.div(e.g, e.add(e.x, one())); })
          .Case<math::SqrtOp>([&](auto) { return e.div(e.mul(e.g, 0.5), e.v); })
          .Case<math::RsqrtOp>(
              [&](auto) { return e.div(e.mul(e.mul(e.g, e.v), -0.5), e.x); })
          .Case<math::CbrtOp>(
              [&](auto) { return e.div(e.mul(e.g, 1.0 / 3), e.square(e.v)); })
          .Case<math::SinOp>(
              [&](auto) { return e.mul(e.g, math::CosOp::create(e.b, e.x)); })
          .Case<math::CosOp>([&](auto) {
            return e.neg(e.mul(e.g, math::SinOp::create(e.b, e.x)));
          })
          .Case<math::TanOp>(
              [&](auto) { return e.mul(e.g, e.add(one(), e.square(e.v))); })
          .Case<math::SinhOp>(
              [&](auto) { return e.mul(e.g, math::CoshOp::create(e.b, e.x)); })
          .Case<math::CoshOp>(
              [&](auto) { return e.mul(e.g, math::SinhOp::create(e.b, e.x)); })
          .Case<math::TanhOp>(
              [&](auto) { return e.mul(e.g, e.sub(one(), e.square(e.v))); })
          .Case<math::AsinOp>([&](auto) {
            return e.div(e.g, e.sqrt(e.sub(one(), e.square(e.x))));
          })
          .Case<math::AcosOp>([&](auto) {
            return e.neg(e.div(e.g, e.sqrt(e.sub(one(), e.square(e.x)))));
          })
          .Case<math::AtanOp>(
              [&](auto) { return e.div(e.g, e.add(one(), e.square(e.x))); })
          .Case<math::ErfOp>([&](auto) { return getErfVjp(e); })
          .Case<math::ErfcOp>([&](auto) { return e.neg(getErfVjp(e)); })
          .Case<math::AbsFOp>([&](auto) { return getSigned(e); })
          .Case<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp,
                math::TruncOp>([](auto) { return Value(); })
          .Default([](Operation *) { return std::nullopt; });
  if (!value)
    return std::nullopt;
  return Values{*value};
}

Contributions tp::differentiate::buildElementwiseVjp(OpBuilder &builder,
                                                     const Request &request) {
  Operation *op = request.op;
  Terms e(builder, op, request.cotangents[0]);
  std::optional<Values> values = buildArith(e, op);
  if (!values)
    values = buildMath(e, op);
  if (!values)
    return refuse(op);
  for (auto [value, operand] : llvm::zip(*values, op->getOperands()))
    if (value)
      value = convert(e.b, value, getElementTypeOrSelf(operand.getType()));
  return *values;
}
