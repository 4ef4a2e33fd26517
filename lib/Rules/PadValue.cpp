//===- PadValue.cpp - What scalar code makes of padding -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One transfer function for floats, where only exact cases count (sums and
// products of numbers, functions at zero and at the infinities), and one for
// integers, of which only zero is followed: everything else may wrap. Without a
// case a float is unknown, which is always right.
//
//===----------------------------------------------------------------------===//

#include "PadValue.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tp;

static constexpr double infinity = std::numeric_limits<double>::infinity();

bool PadValue::isFinite() const {
  return kind == Finite || (kind == Known && std::isfinite(value));
}

//===----------------------------------------------------------------------===//
// To and from states and constants
//===----------------------------------------------------------------------===//

/// All numbers of an integer type are finite.
static PadValue getAnyPadValue(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type)) ? PadValue()
                                                    : PadValue::finite();
}

PadValue tp::toPadValue(PadState state, Type type) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(type));
  switch (state) {
  case PadState::Zero:
    return PadValue::known(0);
  case PadState::NegInf:
    return isFloat ? PadValue::known(-infinity) : PadValue::finite();
  case PadState::PosInf:
    return isFloat ? PadValue::known(infinity) : PadValue::finite();
  case PadState::None:
  case PadState::Anything:
    return getAnyPadValue(type);
  }
  llvm_unreachable("unknown state");
}

PadState tp::toPadState(PadValue pad) {
  if (pad.is(0))
    return PadState::Zero;
  if (pad.is(-infinity))
    return PadState::NegInf;
  if (pad.is(infinity))
    return PadState::PosInf;
  return PadState::Anything;
}

/// The number of a constant or splat, if a double can tell it.
static std::optional<double> matchNumber(Value value) {
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return std::nullopt;
  if (auto splat = dyn_cast<SplatElementsAttr>(constant))
    constant = splat.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(constant)) {
    double exact = number.getValueAsDouble();
    return std::isnan(exact) ? std::nullopt : std::optional(exact);
  }
  auto number = dyn_cast<IntegerAttr>(constant);
  if (!number || number.getValue().getSignificantBits() > 53)
    return std::nullopt;
  return static_cast<double>(number.getValue().getSExtValue());
}

PadValue tp::getSharedPadValue(Value value) {
  if (std::optional<double> number = matchNumber(value))
    return PadValue::known(*number);
  return getAnyPadValue(value.getType());
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// A number as `type` holds it; no number is unknown.
static PadValue roundTo(double number, Type type) {
  if (std::isnan(number))
    return {};
  APFloat rounded(number);
  bool losesInfo;
  rounded.convert(cast<FloatType>(type).getFloatSemantics(),
                  APFloat::rmNearestTiesToEven, &losesInfo);
  rounded.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
  return PadValue::known(rounded.convertToDouble());
}

static PadValue transferSum(PadValue a, PadValue b, Type type) {
  if (a.kind == PadValue::Known && b.kind == PadValue::Known)
    return roundTo(a.value + b.value, type);
  // A finite number beside an infinity, or beside zero.
  for (auto [x, y] : {std::pair(a, b), std::pair(b, a)})
    if (x.kind == PadValue::Known && y.kind == PadValue::Finite)
      return std::isinf(x.value) ? x : x.value == 0 ? y : PadValue();
  return {};
}

static PadValue transferProduct(PadValue a, PadValue b, Type type) {
  if (a.kind == PadValue::Known && b.kind == PadValue::Known)
    return roundTo(a.value * b.value, type);
  if ((a.is(0) && b.isFinite()) || (b.is(0) && a.isFinite()))
    return PadValue::known(0);
  return {};
}

static PadValue transferQuotient(PadValue a, PadValue b, Type type) {
  // Not even the sign of a zero below is known.
  if (a.kind == PadValue::Known && b.kind == PadValue::Known && b.value != 0)
    return roundTo(a.value / b.value, type);
  if (a.isFinite() && b.kind == PadValue::Known && std::isinf(b.value))
    return PadValue::known(0);
  return {};
}

static PadValue negate(PadValue pad) {
  pad.value = -pad.value;
  return pad;
}

static PadValue transferMaximum(PadValue a, PadValue b) {
  if (a.kind == PadValue::Known && b.kind == PadValue::Known)
    return PadValue::known(std::max(a.value, b.value));
  if (a.kind == PadValue::Unknown || b.kind == PadValue::Unknown)
    return {};
  return a.is(infinity) || b.is(infinity) ? PadValue::known(infinity)
                                          : PadValue::finite();
}

/// A function by its values at -inf, 0 and inf (NaN: not followed).
static PadValue atKnown(PadValue pad, double low, double zero, double high) {
  if (pad.kind != PadValue::Known)
    return {};
  double value = pad.value == 0           ? zero
                 : pad.value == -infinity ? low
                 : pad.value == infinity  ? high
                                          : std::nan("");
  return std::isnan(value) ? PadValue() : PadValue::known(value);
}

/// The same for a function that is finite wherever its operand is.
static PadValue atBounded(PadValue pad, double low, double zero, double high) {
  PadValue result = atKnown(pad, low, zero, high);
  return result.kind == PadValue::Unknown && pad.isFinite() ? PadValue::finite()
                                                            : result;
}

static PadValue transferFloat(Operation *op, ArrayRef<PadValue> in) {
  Type type = getElementTypeOrSelf(op->getResult(0));
  const double nan = std::nan("");
  return llvm::TypeSwitch<Operation *, PadValue>(op)
      .Case<arith::AddFOp>(
          [&](auto) { return transferSum(in[0], in[1], type); })
      .Case<arith::SubFOp>(
          [&](auto) { return transferSum(in[0], negate(in[1]), type); })
      .Case<arith::MulFOp>(
          [&](auto) { return transferProduct(in[0], in[1], type); })
      .Case<arith::DivFOp>(
          [&](auto) { return transferQuotient(in[0], in[1], type); })
      .Case<math::FmaOp>([&](auto) {
        return transferSum(transferProduct(in[0], in[1], type), in[2], type);
      })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [&](auto) { return transferMaximum(in[0], in[1]); })
      .Case<arith::MinimumFOp, arith::MinNumFOp>([&](auto) {
        return negate(transferMaximum(negate(in[0]), negate(in[1])));
      })
      .Case<arith::NegFOp>([&](auto) { return negate(in[0]); })
      .Case<math::AbsFOp>([&](auto) {
        return in[0].kind == PadValue::Known
                   ? PadValue::known(std::fabs(in[0].value))
                   : in[0];
      })
      .Case<arith::ExtFOp>([&](auto) { return in[0]; })
      .Case<arith::TruncFOp>([&](auto) {
        return in[0].kind == PadValue::Known ? roundTo(in[0].value, type)
                                             : PadValue();
      })
      .Case<arith::SIToFPOp, arith::UIToFPOp>([&](Operation *) {
        if (in[0].is(0))
          return in[0];
        // The largest integer is below the largest number of most types.
        unsigned bits = op->getOperand(0).getType().isIndex()
                            ? 64
                            : getElementTypeOrSelf(op->getOperand(0))
                                  .getIntOrFloatBitWidth();
        return bits <= 64 && !type.isF16() ? PadValue::finite() : PadValue();
      })
      .Case<math::ExpOp, math::Exp2Op>(
          [&](auto) { return atKnown(in[0], 0, 1, infinity); })
      .Case<math::ExpM1Op>(
          [&](auto) { return atKnown(in[0], -1, 0, infinity); })
      .Case<math::LogOp>(
          [&](auto) { return atKnown(in[0], nan, -infinity, infinity); })
      .Case<math::SqrtOp>(
          [&](auto) { return atKnown(in[0], nan, 0, infinity); })
      .Case<math::RsqrtOp>([&](auto) { return atKnown(in[0], nan, nan, 0); })
      .Case<math::TanhOp, math::ErfOp>(
          [&](auto) { return atBounded(in[0], -1, 0, 1); })
      .Case<math::SinOp>([&](auto) { return atBounded(in[0], nan, 0, nan); })
      .Case<math::CosOp>([&](auto) { return atBounded(in[0], nan, 1, nan); })
      .Default([](Operation *) { return PadValue(); });
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static PadValue transferInteger(Operation *op, ArrayRef<PadValue> in) {
  auto isZero = [](PadValue pad) { return pad.is(0); };
  bool zero =
      llvm::TypeSwitch<Operation *, bool>(op)
          .Case<arith::AddIOp, arith::SubIOp, arith::OrIOp, arith::XOrIOp,
                arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp,
                arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp,
                arith::IndexCastOp, arith::IndexCastUIOp>(
              [&](auto) { return llvm::all_of(in, isZero); })
          .Case<arith::MulIOp, arith::AndIOp>(
              [&](auto) { return llvm::any_of(in, isZero); })
          .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp, arith::DivSIOp,
                arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
              [&](auto) { return isZero(in[0]); })
          .Default([](Operation *) { return false; });
  return zero ? PadValue::known(0) : PadValue::finite();
}

PadValue tp::transferPadValue(Operation *op, ArrayRef<PadValue> operands) {
  if (op->hasTrait<OpTrait::ConstantLike>())
    return getSharedPadValue(op->getResult(0));
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return {};
  if (isa<arith::SelectOp>(op)) {
    if (operands[0].kind == PadValue::Known)
      return operands[operands[0].value != 0 ? 1 : 2];
    if (operands[1] == operands[2])
      return operands[1];
    return operands[1].isFinite() && operands[2].isFinite() ? PadValue::finite()
                                                            : PadValue();
  }
  return isa<FloatType>(getElementTypeOrSelf(op->getResult(0)))
             ? transferFloat(op, operands)
             : transferInteger(op, operands);
}

//===----------------------------------------------------------------------===//
// Operands whose padding may not be looked at
//===----------------------------------------------------------------------===//

SmallVector<PartialOperand, 1> tp::getPartialOperands(Operation *op) {
  using Result = SmallVector<PartialOperand, 1>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
            arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp,
            math::IPowIOp>([](auto) { return Result{{1, 1}}; })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp, tensor::GatherOp>(
          [](auto) { return Result{{1, 0}}; })
      .Case<arith::FPToSIOp, arith::FPToUIOp>(
          [](auto) { return Result{{0, 0}}; })
      .Case<tensor::ExtractOp>([](tensor::ExtractOp extract) {
        Result result;
        for (unsigned i = 1; i <= extract.getIndices().size(); ++i)
          result.push_back({i, 0});
        return result;
      })
      .Default([](Operation *) { return Result(); });
}

bool tp::isSafe(PartialOperand partial, PadValue pad) {
  // For other known numbers, not even a division of the smallest integer by -1
  // is defined.
  return pad.kind == PadValue::Known &&
         (pad.value == static_cast<double>(partial.safe) ||
          (partial.safe == 1 && pad.value > 0));
}
