//===- BodyAnalysis.cpp - What scalar code does with its inputs
//-------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transfer functions of both readings. Operations without a case are
// non-linear in all inputs and leave lanes unknown, which is always right.
//
//===----------------------------------------------------------------------===//

#include "BodyAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Sums of products
//===----------------------------------------------------------------------===//

/// More addends than this are not worth following.
static constexpr size_t maxTerms = 32;

static std::optional<double> matchNumber(Value value) {
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return std::nullopt;
  if (auto splat = dyn_cast<SplatElementsAttr>(constant))
    constant = splat.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(constant))
    return number.getValueAsDouble();
  if (auto number = dyn_cast<IntegerAttr>(constant))
    return number.getValue().getBitWidth() == 1
               ? static_cast<double>(number.getValue().getZExtValue())
               : static_cast<double>(number.getValue().getSExtValue());
  return std::nullopt;
}

static Term makeTerm(unsigned size) {
  return {llvm::SmallBitVector(size), llvm::SmallBitVector(size)};
}

Form tp::getInputForm(unsigned index, unsigned size) {
  Term term = makeTerm(size);
  term.linear.set(index);
  return {term};
}

Form tp::getConstantForm(Value value, unsigned size) {
  std::optional<double> number = matchNumber(value);
  if (number && *number == 0)
    return {};
  return {makeTerm(size)};
}

/// Every input that the forms depend on.
static llvm::SmallBitVector getInputs(ArrayRef<Form> forms, unsigned size) {
  llvm::SmallBitVector inputs(size);
  for (const Form &form : forms)
    for (const Term &term : form) {
      inputs |= term.linear;
      inputs |= term.other;
    }
  return inputs;
}

static Form scale(Form form, const llvm::SmallBitVector &other) {
  for (Term &term : form) {
    term.other |= other;
    term.linear.reset(term.other);
  }
  return form;
}

static Form add(const Form &a, const Form &b) {
  Form sum = a;
  sum.append(b.begin(), b.end());
  return sum;
}

static Form multiply(const Form &a, const Form &b, unsigned size) {
  Form product;
  for (const Term &x : a)
    for (const Term &y : b) {
      Term term = makeTerm(size);
      llvm::SmallBitVector both = x.linear;
      both &= y.linear;
      term.other = x.other;
      term.other |= y.other;
      term.other |= both;
      term.linear = x.linear;
      term.linear |= y.linear;
      term.linear.reset(term.other);
      product.push_back(std::move(term));
    }
  return product;
}

static Form nonLinear(ArrayRef<Form> operands, unsigned size) {
  Term term = makeTerm(size);
  term.other = getInputs(operands, size);
  return {term};
}

Form tp::transferForm(Operation *op, ArrayRef<Form> operands, unsigned size) {
  Form form =
      llvm::TypeSwitch<Operation *, Form>(op)
          .Case<arith::AddFOp, arith::SubFOp, arith::AddIOp, arith::SubIOp>(
              [&](auto) { return add(operands[0], operands[1]); })
          .Case<arith::MulFOp, arith::MulIOp>(
              [&](auto) { return multiply(operands[0], operands[1], size); })
          .Case<arith::DivFOp>([&](auto) {
            return scale(operands[0], getInputs(operands[1], size));
          })
          .Case<arith::NegFOp, arith::ExtFOp, arith::TruncFOp>(
              [&](auto) { return operands[0]; })
          .Case<math::FmaOp>([&](auto) {
            return add(multiply(operands[0], operands[1], size), operands[2]);
          })
          .Case<arith::SelectOp>([&](auto) {
            return scale(add(operands[1], operands[2]),
                         getInputs(operands[0], size));
          })
          .Default([&](Operation *) { return nonLinear(operands, size); });
  if (form.size() > maxTerms)
    return nonLinear(form, size);
  return form;
}

SmallVector<Linearity, 4> tp::classify(ArrayRef<Term> terms, unsigned size) {
  SmallVector<Linearity, 4> linearity(size, Linearity::None);
  llvm::SmallBitVector other(size), single(size), some(size), all(size, true);
  bool hasProducts = false;
  for (const Term &term : terms) {
    // Something that no input scales would be added on every rank.
    if (term.linear.none())
      return linearity;
    other |= term.other;
    if (term.linear.count() == 1) {
      single |= term.linear;
      continue;
    }
    hasProducts = true;
    some |= term.linear;
    all &= term.linear;
  }
  if (hasProducts && all.none())
    return linearity;
  for (unsigned i = 0; i < size; ++i) {
    if (other.test(i) || (single.test(i) && some.test(i)))
      continue;
    if (single.test(i))
      linearity[i] = !hasProducts && single.count() == 1
                         ? Linearity::Multilinear
                         : Linearity::Additive;
    else if (hasProducts && all.test(i))
      linearity[i] = Linearity::Multilinear;
  }
  // Additive operands count once beside products only if those can be partial.
  if (hasProducts && !llvm::is_contained(linearity, Linearity::Multilinear))
    linearity.assign(size, Linearity::None);
  return linearity;
}

//===----------------------------------------------------------------------===//
// Padding lanes
//===----------------------------------------------------------------------===//

static constexpr double infinity = std::numeric_limits<double>::infinity();

Lane tp::toLane(PadState state) {
  switch (state) {
  case PadState::None:
    return Lane::finite();
  case PadState::Zero:
    return Lane::known(0);
  case PadState::NegInf:
    return Lane::known(-infinity);
  case PadState::PosInf:
    return Lane::known(infinity);
  case PadState::Anything:
    return {};
  }
  llvm_unreachable("unknown state");
}

PadState tp::toPadState(Lane lane) {
  if (lane.is(0))
    return PadState::Zero;
  if (lane.is(-infinity))
    return PadState::NegInf;
  if (lane.is(infinity))
    return PadState::PosInf;
  return PadState::Anything;
}

Lane tp::getSharedLane(Value value) {
  if (std::optional<double> number = matchNumber(value))
    return Lane::known(*number);
  return Lane::finite();
}

/// Known numbers in, a known number out; nothing known of NaN.
static Lane fold(double result) {
  return std::isnan(result) ? Lane() : Lane::known(result);
}

static Lane fold(Operation *op, double a) {
  return llvm::TypeSwitch<Operation *, Lane>(op)
      .Case<arith::NegFOp>([&](auto) { return fold(-a); })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::ExtSIOp,
            arith::IndexCastOp>([&](auto) { return fold(a); })
      .Case<math::ExpOp>([&](auto) { return fold(std::exp(a)); })
      .Case<math::Exp2Op>([&](auto) { return fold(std::exp2(a)); })
      .Case<math::LogOp>([&](auto) { return fold(std::log(a)); })
      .Case<math::SqrtOp>([&](auto) { return fold(std::sqrt(a)); })
      .Case<math::RsqrtOp>([&](auto) { return fold(1 / std::sqrt(a)); })
      .Case<math::TanhOp>([&](auto) { return fold(std::tanh(a)); })
      .Case<math::ErfOp>([&](auto) { return fold(std::erf(a)); })
      .Case<math::AbsFOp>([&](auto) { return fold(std::fabs(a)); })
      .Case<math::SinOp>([&](auto) { return fold(std::sin(a)); })
      .Case<math::CosOp>([&](auto) { return fold(std::cos(a)); })
      .Default([](Operation *) { return Lane(); });
}

static Lane fold(Operation *op, double a, double b) {
  return llvm::TypeSwitch<Operation *, Lane>(op)
      .Case<arith::AddFOp, arith::AddIOp>([&](auto) { return fold(a + b); })
      .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return fold(a - b); })
      .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return fold(a * b); })
      .Case<arith::DivFOp>([&](auto) { return fold(a / b); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>(
          [&](auto) { return fold(std::max(a, b)); })
      .Case<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp>(
          [&](auto) { return fold(std::min(a, b)); })
      .Case<math::PowFOp>([&](auto) { return fold(std::pow(a, b)); })
      .Default([](Operation *) { return Lane(); });
}

/// One side known, the other finite.
static Lane foldHalf(Operation *op, double known, bool knownFirst) {
  bool isInfinite = std::isinf(known);
  return llvm::TypeSwitch<Operation *, Lane>(op)
      .Case<arith::AddFOp, arith::AddIOp>([&](auto) {
        return isInfinite ? Lane::known(known) : Lane::finite();
      })
      .Case<arith::SubFOp, arith::SubIOp>([&](auto) {
        return isInfinite ? Lane::known(knownFirst ? known : -known)
                          : Lane::finite();
      })
      .Case<arith::MulFOp, arith::MulIOp>([&](auto) {
        return known == 0   ? Lane::known(0)
               : isInfinite ? Lane()
                            : Lane::finite();
      })
      .Case<arith::DivFOp>([&](auto) {
        // A zero denominator would make the logical lanes infinite as well.
        if (knownFirst)
          return known == 0   ? Lane::known(0)
                 : isInfinite ? Lane()
                              : Lane::finite();
        return isInfinite   ? Lane::known(0)
               : known == 0 ? Lane()
                            : Lane::finite();
      })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>([&](auto) {
        return known == infinity ? Lane::known(known) : Lane::finite();
      })
      .Case<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp>([&](auto) {
        return known == -infinity ? Lane::known(known) : Lane::finite();
      })
      .Case<math::PowFOp>([&](auto) { return Lane(); })
      .Default([](Operation *) { return Lane::finite(); });
}

Lane tp::transferLane(Operation *op, ArrayRef<Lane> operands) {
  if (op->hasTrait<OpTrait::ConstantLike>())
    return getSharedLane(op->getResult(0));
  if (isa<arith::SelectOp>(op)) {
    if (operands[0].kind == Lane::Known)
      return operands[0].value != 0 ? operands[1] : operands[2];
    if (operands[1] == operands[2])
      return operands[1];
    bool isFinite = llvm::all_of(operands.drop_front(), [](Lane lane) {
      return lane.kind == Lane::Finite ||
             (lane.kind == Lane::Known && std::isfinite(lane.value));
    });
    return isFinite ? Lane::finite() : Lane();
  }
  if (isa<math::FmaOp>(op)) {
    // As a product and a sum, of which only exact cases matter here.
    bool zero = (operands[0].is(0) && operands[1].kind != Lane::Unknown &&
                 !std::isinf(operands[1].value)) ||
                (operands[1].is(0) && operands[0].kind != Lane::Unknown &&
                 !std::isinf(operands[0].value));
    return zero ? operands[2] : Lane();
  }
  if (llvm::any_of(operands,
                   [](Lane lane) { return lane.kind == Lane::Unknown; }))
    return {};
  if (llvm::all_of(operands,
                   [](Lane lane) { return lane.kind == Lane::Finite; }))
    return operands.empty() ? Lane() : Lane::finite();
  if (operands.size() == 1)
    return fold(op, operands[0].value);
  if (operands.size() != 2)
    return {};
  if (operands[0].kind == Lane::Known && operands[1].kind == Lane::Known)
    return fold(op, operands[0].value, operands[1].value);
  bool knownFirst = operands[0].kind == Lane::Known;
  return foldHalf(op, operands[knownFirst ? 0 : 1].value, knownFirst);
}
