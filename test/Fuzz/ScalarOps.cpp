//===- ScalarOps.cpp - The operations of random bodies --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One operation at a time, by type, and how an output is combined with a term.
// Shifts stay below the width and divisors above zero: what arith leaves
// undefined is not drawn.
//
//===----------------------------------------------------------------------===//

#include "ScalarBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tp::fuzz {

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value));
}

Value ScalarBody::add(Value a, Value b) {
  if (isFloat(a))
    return arith::AddFOp::create(builder, loc, a, b);
  return arith::AddIOp::create(builder, loc, a, b);
}

Value ScalarBody::subtract(Value a, Value b) {
  if (isFloat(a))
    return arith::SubFOp::create(builder, loc, a, b);
  return arith::SubIOp::create(builder, loc, a, b);
}

Value ScalarBody::multiply(Value a, Value b) {
  if (isFloat(a))
    return arith::MulFOp::create(builder, loc, a, b);
  return arith::MulIOp::create(builder, loc, a, b);
}

Value ScalarBody::divide(Value value) {
  Type element = getElementTypeOrSelf(value);
  if (element.isInteger(1))
    return value;
  if (!isFloat(value))
    return arith::DivSIOp::create(builder, loc, value, divisor(element));
  Value by = leaf(element);
  switch (frame.below(4)) {
  case 0:
  case 1:
    break;
  case 2:
    by = add(multiply(by, by), constant(element, 1));
    break;
  default:
    by = constant(element, frame.oneOf({2.0, -3.0, 0.5, 7.0}));
  }
  return arith::DivFOp::create(builder, loc, value, by);
}

Value ScalarBody::unary(Value value) {
  Type element = getElementTypeOrSelf(value);
  if (!isFloat(value)) {
    Value zero = constant(element, 0);
    if (element.isInteger(1))
      return arith::XOrIOp::create(builder, loc, value, constant(element, 1));
    switch (frame.below(3)) {
    case 0:
      return arith::SubIOp::create(builder, loc, zero, value);
    case 1:
      return math::AbsIOp::create(builder, loc, value);
    default:
      return arith::XOrIOp::create(builder, loc, value, constant(element, -1));
    }
  }
  switch (frame.below(17)) {
  case 0:
  case 1:
    return math::ExpOp::create(builder, loc, value);
  case 2:
  case 3:
    return math::TanhOp::create(builder, loc, value);
  case 4:
    return math::LogOp::create(
        builder, loc,
        add(math::AbsFOp::create(builder, loc, value), constant(element, 0.5)));
  case 5:
    return math::SqrtOp::create(builder, loc,
                                math::AbsFOp::create(builder, loc, value));
  case 6:
    return math::AbsFOp::create(builder, loc, value);
  case 7:
  case 8:
    return arith::NegFOp::create(builder, loc, value);
  case 9:
    return math::FloorOp::create(builder, loc, value);
  case 10:
    return math::PowFOp::create(
        builder, loc,
        add(math::AbsFOp::create(builder, loc, value), constant(element, 0.25)),
        constant(element, frame.oneOf({2.0, 0.5, -1.0, 3.0})));
  case 11:
    return math::CosOp::create(builder, loc, value);
  case 12:
    return math::SinOp::create(builder, loc, value);
  case 13:
    return math::RsqrtOp::create(
        builder, loc, add(multiply(value, value), constant(element, 0.5)));
  case 14:
    return math::ErfOp::create(builder, loc, value);
  case 15:
    return math::CeilOp::create(builder, loc, value);
  default:
    return multiply(value, constant(element, frame.oneOf({2.0, -0.5, 3.0})));
  }
}

Value ScalarBody::calculate(Value a, Value b) {
  switch (frame.below(4)) {
  case 0:
    return add(a, b);
  case 1:
    return subtract(a, b);
  case 2:
    return isFloat(a) ? Value(arith::DivFOp::create(builder, loc, a, b))
                      : divide(a);
  default:
    return multiply(a, b);
  }
}

Value ScalarBody::binary(Value a, Value b) {
  return isFloat(a) ? floatBinary(a, b) : integerBinary(a, b);
}

Value ScalarBody::floatBinary(Value a, Value b) {
  switch (frame.below(20)) {
  case 0:
  case 1:
  case 2:
  case 3:
    return add(a, b);
  case 4:
  case 5:
    return subtract(a, b);
  case 6:
  case 7:
  case 8:
  case 9:
    return multiply(a, b);
  case 10:
  case 11:
    return arith::DivFOp::create(builder, loc, a, b);
  case 12:
    return arith::DivFOp::create(
        builder, loc, a,
        add(multiply(b, b), constant(getElementTypeOrSelf(a), 1)));
  case 13:
    return arith::MaximumFOp::create(builder, loc, a, b);
  case 14:
    return arith::MinimumFOp::create(builder, loc, a, b);
  case 15:
    return arith::MaxNumFOp::create(builder, loc, a, b);
  case 16:
    return arith::MinNumFOp::create(builder, loc, a, b);
  case 17:
    return math::CopySignOp::create(builder, loc, a, b);
  default:
    return math::FmaOp::create(builder, loc, a, b,
                               leaf(getElementTypeOrSelf(a)));
  }
}

/// Booleans as numbers of one bit: a true one is -1 where signs count.
Value ScalarBody::numberOfBooleans(Value a, Value b) {
  switch (frame.below(8)) {
  case 0:
    return add(a, b);
  case 1:
    return subtract(a, b);
  case 2:
    return multiply(a, b);
  case 3:
    return arith::MaxSIOp::create(builder, loc, a, b);
  case 4:
    return arith::MinSIOp::create(builder, loc, a, b);
  case 5:
    return arith::MaxUIOp::create(builder, loc, a, b);
  case 6:
    return arith::MinUIOp::create(builder, loc, a, b);
  default:
    return arith::CmpIOp::create(
        builder, loc,
        frame.oneOf({arith::CmpIPredicate::slt, arith::CmpIPredicate::sge,
                     arith::CmpIPredicate::ult, arith::CmpIPredicate::eq}),
        a, b);
  }
}

Value ScalarBody::integerBinary(Value a, Value b) {
  Type element = getElementTypeOrSelf(a);
  if (element.isInteger(1) && frame.rarely(50))
    return numberOfBooleans(a, b);
  if (element.isInteger(1))
    switch (frame.below(3)) {
    case 0:
      return arith::AndIOp::create(builder, loc, a, b);
    case 1:
      return arith::OrIOp::create(builder, loc, a, b);
    default:
      return arith::XOrIOp::create(builder, loc, a, b);
    }
  auto amount = [&] {
    return arith::AndIOp::create(
        builder, loc, b,
        constant(element, element.getIntOrFloatBitWidth() - 1));
  };
  switch (frame.below(15)) {
  case 0:
  case 1:
  case 2:
    return add(a, b);
  case 3:
  case 4:
    return subtract(a, b);
  case 5:
  case 6:
    return multiply(a, b);
  case 7:
    return arith::MaxSIOp::create(builder, loc, a, b);
  case 8:
    return arith::MinSIOp::create(builder, loc, a, b);
  case 9:
    return arith::MaxUIOp::create(builder, loc, a, b);
  case 10:
    return arith::MinUIOp::create(builder, loc, a, b);
  case 11:
    return arith::AndIOp::create(builder, loc, a, b);
  case 12:
    return arith::OrIOp::create(builder, loc, a, b);
  case 13:
    return arith::ShLIOp::create(builder, loc, a, amount());
  default:
    if (frame.chance(50))
      return arith::ShRSIOp::create(builder, loc, a, amount());
    return arith::ShRUIOp::create(builder, loc, a, amount());
  }
}

Value ScalarBody::divisor(Type element) {
  for (Value value : positives)
    if (getElementTypeOrSelf(value) == element && frame.chance(70))
      return value;
  Value one = constant(element, 1);
  if (frame.chance(30))
    return constant(element, 1 + frame.below(7));
  return arith::MaxSIOp::create(builder, loc, leaf(element), one);
}

Value ScalarBody::floatToInteger(Value value, Type element) {
  Type from = getElementTypeOrSelf(value);
  unsigned width = element.getIntOrFloatBitWidth();
  // Without a clamp the program may be undefined, and is then left out.
  if (width < 32 || frame.chance(60)) {
    double limit = width == 8 ? 100 : 1000;
    value =
        arith::MaxNumFOp::create(builder, loc, value, constant(from, -limit));
    value =
        arith::MinNumFOp::create(builder, loc, value, constant(from, limit));
  } else if (frame.chance(30)) {
    value = arith::DivFOp::create(builder, loc, constant(from, 4), value);
  }
  return arith::FPToSIOp::create(builder, loc, typed(element), value);
}

Value ScalarBody::convert(Value value, Type to) {
  Type from = getElementTypeOrSelf(value);
  if (from == to)
    return value;
  Type type = typed(to);
  if (from.isIndex()) {
    Type wide = builder.getI64Type();
    return convert(arith::IndexCastOp::create(builder, loc, wide, value), to);
  }
  unsigned oldWidth = from.getIntOrFloatBitWidth();
  unsigned newWidth = to.getIntOrFloatBitWidth();
  if (isa<FloatType>(from) && isa<FloatType>(to)) {
    if (oldWidth == newWidth)
      return convert(convert(value, builder.getF32Type()), to);
    if (oldWidth < newWidth)
      return arith::ExtFOp::create(builder, loc, type, value);
    return arith::TruncFOp::create(builder, loc, type, value);
  }
  if (to.isInteger(1)) {
    Value zero = constant(from, 0);
    if (isa<FloatType>(from))
      return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT,
                                   value, zero);
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                                 zero);
  }
  if (isa<FloatType>(from))
    return floatToInteger(value, to);
  bool isSignedBoolean = from.isInteger(1) && frame.rarely(30);
  if (isa<FloatType>(to)) {
    if (isSignedBoolean)
      return arith::SIToFPOp::create(builder, loc, type, value);
    if (from.isInteger(1) || frame.chance(25))
      return arith::UIToFPOp::create(builder, loc, type, value);
    return arith::SIToFPOp::create(builder, loc, type, value);
  }
  if (oldWidth > newWidth)
    return arith::TruncIOp::create(builder, loc, type, value);
  if (!isSignedBoolean && (from.isInteger(1) || frame.chance(30)))
    return arith::ExtUIOp::create(builder, loc, type, value);
  return arith::ExtSIOp::create(builder, loc, type, value);
}

Value ScalarBody::combineAlike(Value out, Value term) {
  switch (frame.below(5)) {
  case 0:
    return add(out, term);
  case 1:
    return arith::MaximumFOp::create(builder, loc, out, term);
  case 2:
    return arith::MinimumFOp::create(builder, loc, out, term);
  case 3:
    return arith::MaxNumFOp::create(builder, loc, out, term);
  default:
    return arith::MinNumFOp::create(builder, loc, out, term);
  }
}

Value ScalarBody::combine(Value out, Value term) {
  bool real = isFloat(out);
  Type element = getElementTypeOrSelf(out);
  if (element.isInteger(1))
    return integerBinary(out, term);
  switch (frame.below(24)) {
  case 0:
  case 1:
    return real ? Value(arith::MaximumFOp::create(builder, loc, out, term))
                : Value(arith::MaxSIOp::create(builder, loc, out, term));
  case 2:
    return real ? Value(arith::MinimumFOp::create(builder, loc, out, term))
                : Value(arith::MinSIOp::create(builder, loc, out, term));
  case 3:
    return real ? Value(arith::MaxNumFOp::create(builder, loc, term, out))
                : Value(arith::MaxUIOp::create(builder, loc, term, out));
  case 4:
    return real ? Value(arith::MinNumFOp::create(builder, loc, term, out))
                : Value(arith::MinUIOp::create(builder, loc, term, out));
  case 5:
  case 6:
  case 7:
    return multiply(out, term);
  case 8:
    return subtract(out, term);
  case 9:
    return subtract(term, out);
  case 10: {
    // The larger of the two by comparing.
    Value larger =
        real ? Value(arith::CmpFOp::create(
                   builder, loc, arith::CmpFPredicate::OGT, term, out))
             : Value(arith::CmpIOp::create(
                   builder, loc, arith::CmpIPredicate::sgt, term, out));
    return arith::SelectOp::create(builder, loc, larger, term, out);
  }
  case 11:
    // The last one that a condition lets through, or the sum of those.
    return arith::SelectOp::create(builder, loc, condition(1), term, out);
  case 12:
    return arith::SelectOp::create(builder, loc, condition(1), add(out, term),
                                   out);
  case 13:
    return add(multiply(out, constant(element, real ? 0.5 : 2)), term);
  case 14:
    return binary(out, term);
  case 15:
    return real ? Value(math::FmaOp::create(builder, loc, term, leaf(element),
                                            out))
                : Value(arith::OrIOp::create(builder, loc, out, term));
  case 16: {
    // Control flow in the body.
    if (!frame.chance(40))
      return add(term, out);
    Value which = condition(1);
    auto branch = scf::IfOp::create(builder, loc, out.getType(), which, true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, loc,
                         frame.chance(50) ? add(out, term) : term);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, out);
    return branch.getResult(0);
  }
  case 17:
    return add(term, out);
  default:
    return add(out, term);
  }
}

} // namespace tp::fuzz
