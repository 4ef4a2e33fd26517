//===- ScalarBody.cpp - Random computations of one element ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The manners of a body and what it reads; the operations themselves are in
// ScalarOps.cpp. A body may be undefined on some inputs (a conversion that does
// not fit): such programs are left out after the one-device run.
//
//===----------------------------------------------------------------------===//

#include "ScalarBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tp::fuzz {

ScalarBody::ScalarBody(Frame &frame, std::optional<ArrayRef<int64_t>> shape)
    : frame(frame), builder(frame.builder), loc(frame.loc) {
  if (shape)
    this->shape = Frame::Shape(*shape);
}

void ScalarBody::addInput(Value value, bool positive) {
  inputs.push_back(value);
  if (positive)
    positives.push_back(value);
}

Type ScalarBody::typed(Type element) const {
  return shape ? Type(RankedTensorType::get(*shape, element)) : element;
}

Value ScalarBody::constant(Type element, double value) {
  TypedAttr attribute;
  if (auto type = dyn_cast<FloatType>(element))
    attribute = builder.getFloatAttr(type, value);
  else
    attribute = builder.getIntegerAttr(
        element, element.isInteger(1) ? value != 0 : int64_t(value));
  if (shape)
    attribute = DenseElementsAttr::get(RankedTensorType::get(*shape, element),
                                       ArrayRef<Attribute>(attribute));
  return arith::ConstantOp::create(builder, loc, attribute);
}

Value ScalarBody::someConstant(Type element) {
  if (isa<FloatType>(element))
    return constant(element, frame.oneOf({0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -0.25,
                                          10.0, 1e-3, 100.0, -0.0, 1.5}));
  return constant(element,
                  frame.oneOf({0.0, 1.0, 2.0, 3.0, -1.0, 5.0, 7.0, 100.0}));
}

Value ScalarBody::index() {
  Value value = linalg::IndexOp::create(builder, loc, frame.below(numLoops));
  if (frame.chance(25))
    value = arith::AddIOp::create(
        builder, loc, value,
        linalg::IndexOp::create(builder, loc, frame.below(numLoops)));
  if (frame.chance(15))
    value = arith::MulIOp::create(
        builder, loc, value,
        arith::ConstantIndexOp::create(builder, loc, 1 + frame.below(4)));
  return value;
}

Value ScalarBody::leaf(Type element) {
  if (numLoops && frame.chance(7))
    return convert(index(), element);
  if (frame.chance(8))
    return someConstant(element);
  if (!computed.empty() && frame.chance(20)) {
    Value value = computed[frame.below(computed.size())];
    if (getElementTypeOrSelf(value) == element)
      return value;
  }
  if (inputs.empty())
    return someConstant(element);
  // An input of the type itself, if there is one.
  for (int attempt = 0; attempt < 3; ++attempt) {
    Value value = inputs[frame.below(inputs.size())];
    if (getElementTypeOrSelf(value) == element)
      return value;
  }
  return convert(inputs[frame.below(inputs.size())], element);
}

Value ScalarBody::draw(Type element) {
  int64_t manner = frame.below(100);
  Value value;
  if (manner < 12)
    value = productOfAll(element);
  else if (manner < 42)
    value = nearlyLinear(element);
  else if (manner < 62)
    value = sumOfTerms(element);
  else if (manner < 76)
    value = tree(element, 1 + frame.below(4));
  else if (manner < 79)
    value = deep(element);
  else if (manner < 89)
    value = choice(element);
  else
    value = tree(element, 1);
  computed.push_back(value);
  return value;
}

/// The body of most structured operations: every input once.
Value ScalarBody::productOfAll(Type element) {
  Value product;
  for (Value input : inputs) {
    Value next = convert(input, element);
    product = product ? multiply(product, next) : next;
  }
  return product ? product : someConstant(element);
}

Value ScalarBody::nothing(Type element) {
  return multiply(leaf(element), constant(element, 0));
}

/// Sums of inputs, some with a factor: linear but for what chance adds.
Value ScalarBody::nearlyLinear(Type element) {
  Value sum;
  for (int64_t count = 1 + frame.below(3); count > 0; --count) {
    Value term = leaf(element);
    switch (frame.below(10)) {
    case 0:
    case 1:
      term = multiply(term, leaf(element));
      break;
    case 2:
      term = multiply(term, someConstant(element));
      break;
    case 3: {
      Value other = frame.chance(50) ? leaf(element) : someConstant(element);
      term = arith::SelectOp::create(builder, loc, condition(0), term, other);
      break;
    }
    case 4:
      term = multiply(term, unary(leaf(element)));
      break;
    case 5:
      term = divide(term);
      break;
    case 6:
      // A shift, so that zeros do not stay zeros.
      term = add(term, someConstant(element));
      break;
    default:
      break;
    }
    computed.push_back(term);
    if (!sum)
      sum = term;
    else
      sum = frame.chance(75) ? add(sum, term) : subtract(sum, term);
  }
  return sum;
}

/// x·f(y) + z·c − x ..., the terms over inputs that they may share.
Value ScalarBody::sumOfTerms(Type element) {
  Value sum;
  for (int64_t count = 1 + frame.below(4); count > 0; --count) {
    Value term;
    for (int64_t factors = frame.pick({1, 1, 2, 2, 3}); factors > 0;
         --factors) {
      Value next = factor(element);
      term = term ? multiply(term, next) : next;
    }
    if (frame.chance(15))
      term = divide(term);
    if (!sum)
      sum = term;
    else if (frame.chance(70))
      sum = add(sum, term);
    else
      sum = frame.chance(70) ? subtract(sum, term) : subtract(term, sum);
    if (sum && frame.chance(40))
      computed.push_back(sum);
  }
  return sum;
}

/// A factor of a term: mostly an input itself.
Value ScalarBody::factor(Type element) {
  Value value = leaf(element);
  if (frame.chance(25))
    value = unary(value);
  computed.push_back(value);
  return value;
}

Value ScalarBody::tree(Type element, int64_t depth) {
  if (depth == 0)
    return leaf(element);
  Value value;
  if (frame.chance(8)) {
    // By way of another type.
    Type other = frame.oneOf<Type>(
        {builder.getF32Type(), builder.getI32Type(), builder.getI8Type(),
         builder.getF64Type(), builder.getBF16Type(), builder.getI64Type()});
    value = convert(tree(other, depth - 1), element);
  } else if (frame.chance(12)) {
    Value which = condition(depth - 1);
    Value yes = tree(element, depth - 1), no = tree(element, depth - 1);
    value = arith::SelectOp::create(builder, loc, which, yes, no);
  } else if (frame.chance(30)) {
    value = unary(tree(element, depth - 1));
  } else if (!element.isInteger(1) && isa<IntegerType>(element) &&
             frame.chance(20)) {
    Value a = tree(element, depth - 1), b = divisor(element);
    switch (frame.below(6)) {
    case 0:
      value = arith::DivSIOp::create(builder, loc, a, b);
      break;
    case 1:
      value = arith::DivUIOp::create(builder, loc, a, b);
      break;
    case 2:
      value = arith::RemSIOp::create(builder, loc, a, b);
      break;
    case 3:
      value = arith::RemUIOp::create(builder, loc, a, b);
      break;
    case 4:
      value = arith::FloorDivSIOp::create(builder, loc, a, b);
      break;
    default:
      value = arith::CeilDivSIOp::create(builder, loc, a, b);
    }
  } else {
    Value a = tree(element, depth - 1);
    value = binary(a, frame.chance(12) ? a : tree(element, depth - 1));
  }
  computed.push_back(value);
  return value;
}

/// Many steps, each of which reads the one before twice.
Value ScalarBody::deep(Type element) {
  Value value = leaf(element);
  for (int64_t steps = 10 + frame.below(14); steps > 0; --steps) {
    switch (frame.below(4)) {
    case 0:
      value = multiply(constant(element, isa<FloatType>(element) ? 0.5 : 1),
                       add(value, value));
      break;
    case 1:
      value = isa<FloatType>(element)
                  ? Value(arith::MaximumFOp::create(builder, loc, value, value))
                  : Value(arith::MaxSIOp::create(builder, loc, value, value));
      break;
    case 2:
      value = subtract(add(value, value), value);
      break;
    default: {
      Value which = condition(0);
      Value other = isa<FloatType>(element) ? unary(value) : add(value, value);
      value = arith::SelectOp::create(builder, loc, which, value, other);
    }
    }
  }
  return add(value, leaf(element));
}

/// One of two computations.
Value ScalarBody::choice(Type element) {
  Value yes = frame.chance(60) ? leaf(element) : sumOfTerms(element);
  Value no = frame.chance(40) ? someConstant(element) : leaf(element);
  if (frame.chance(50))
    std::swap(yes, no);
  return arith::SelectOp::create(builder, loc, condition(1), yes, no);
}

Value ScalarBody::condition(int64_t depth) {
  if (numLoops && frame.chance(35)) {
    Value right = frame.chance(50)
                      ? Value(linalg::IndexOp::create(builder, loc,
                                                      frame.below(numLoops)))
                      : Value(arith::ConstantIndexOp::create(builder, loc,
                                                             frame.below(8)));
    Value left = index();
    return arith::CmpIOp::create(
        builder, loc,
        frame.oneOf({arith::CmpIPredicate::slt, arith::CmpIPredicate::uge,
                     arith::CmpIPredicate::eq, arith::CmpIPredicate::ule}),
        left, right);
  }
  Type element = builder.getF32Type();
  if (!inputs.empty())
    element = getElementTypeOrSelf(inputs[frame.below(inputs.size())]);
  if (element.isInteger(1))
    return leaf(element);
  Value a = tree(element, std::min<int64_t>(depth, 1));
  Value b = frame.chance(50) ? someConstant(element) : leaf(element);
  if (isa<FloatType>(element))
    return arith::CmpFOp::create(
        builder, loc,
        frame.oneOf({arith::CmpFPredicate::OLT, arith::CmpFPredicate::OGT,
                     arith::CmpFPredicate::UGE, arith::CmpFPredicate::OEQ,
                     arith::CmpFPredicate::UNE, arith::CmpFPredicate::OLE}),
        a, b);
  return arith::CmpIOp::create(
      builder, loc,
      frame.oneOf({arith::CmpIPredicate::slt, arith::CmpIPredicate::sge,
                   arith::CmpIPredicate::eq, arith::CmpIPredicate::ult,
                   arith::CmpIPredicate::ne, arith::CmpIPredicate::sgt}),
      a, b);
}

} // namespace tp::fuzz
