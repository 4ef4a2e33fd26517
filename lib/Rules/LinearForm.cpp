//===- LinearForm.cpp - Scalar code as a sum of products ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations without a case are non-linear in everything that they and their
// regions read, which is always right.
//
//===----------------------------------------------------------------------===//

#include "LinearForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

/// More addends than this are not worth following.
static constexpr size_t maxTerms = 32;

static Term makeTerm(unsigned size) {
  return {llvm::SmallBitVector(size), llvm::SmallBitVector(size)};
}

/// The constant that a value is, whatever is said of its layout; null if it is
/// none.
static Attribute getConstant(Value value) {
  while (
      isa_and_nonnull<ShardingConstraintOp, ReshardOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  Attribute constant;
  matchPattern(value, m_Constant(&constant));
  return constant;
}

/// True unless an element of a constant is infinite or no number.
static bool isFinite(Value value) {
  Attribute constant = getConstant(value);
  auto isFinite = [](const APFloat &number) { return number.isFinite(); };
  if (auto number = dyn_cast_or_null<FloatAttr>(constant))
    return isFinite(number.getValue());
  auto elements = dyn_cast_or_null<DenseFPElementsAttr>(constant);
  if (!elements)
    return true;
  return elements.isSplat() ? isFinite(elements.getSplatValue<APFloat>())
                            : llvm::all_of(elements, isFinite);
}

Form tp::getInputForm(Value value, unsigned index, unsigned size) {
  Term term = makeTerm(size);
  term.linear.set(index);
  term.isFinite = isFinite(value);
  return {term};
}

Form tp::getConstantForm(Value value, unsigned size) {
  if (matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero()))
    return {};
  Term term = makeTerm(size);
  term.isFinite = isFinite(value);
  return {term};
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
      term.isFinite = x.isFinite && y.isFinite;
      // The parts would be infinities of both signs.
      if (!term.isFinite)
        term.other |= term.linear;
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

static bool isNonZero(Value value) {
  Attribute constant = getConstant(value);
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(constant))
    constant = splat.getSplatValue<Attribute>();
  auto number = dyn_cast_or_null<FloatAttr>(constant);
  return number && number.getValue().isFiniteNonZero();
}

Form tp::transferForm(Operation *op, ArrayRef<Form> operands, unsigned size) {
  // Truth values are no numbers: their sum is an exclusive or.
  if (op->getNumRegions() != 0 || op->getNumResults() != 1 ||
      getElementTypeOrSelf(op->getResult(0)).isInteger(1))
    return nonLinear(operands, size);
  Form form =
      llvm::TypeSwitch<Operation *, Form>(op)
          .Case<arith::AddFOp, arith::SubFOp, arith::AddIOp, arith::SubIOp>(
              [&](auto) { return add(operands[0], operands[1]); })
          .Case<arith::MulFOp, arith::MulIOp>(
              [&](auto) { return multiply(operands[0], operands[1], size); })
          .Case<arith::DivFOp>([&](auto) {
            // By a zero, the parts would be infinities of both signs.
            return isNonZero(op->getOperand(1)) ? operands[0]
                                                : nonLinear(operands, size);
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
  // Operands that are a term by themselves; a factor of one; in all products.
  llvm::SmallBitVector other(size), single(size), some(size), all(size, true);
  for (const Term &term : terms) {
    // Something that no input scales would be added on every rank.
    if (term.linear.none())
      return linearity;
    other |= term.other;
    if (term.linear.count() == 1) {
      single |= term.linear;
      continue;
    }
    some |= term.linear;
    all &= term.linear;
  }
  // All single terms are partial together, beside one factor of the products:
  // none of them may be used otherwise.
  bool hasProducts = some.any();
  all.reset(other);
  if (single.anyCommon(other) || single.anyCommon(some) ||
      (hasProducts && all.none()))
    return linearity;
  Linearity alone = !hasProducts && single.count() == 1 ? Linearity::Multilinear
                                                        : Linearity::Additive;
  for (unsigned i = 0; i < size; ++i)
    if (single.test(i))
      linearity[i] = alone;
    else if (hasProducts && all.test(i))
      linearity[i] = Linearity::Multilinear;
  return linearity;
}
