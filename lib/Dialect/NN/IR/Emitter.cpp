//===- Emitter.cpp - Short forms for building linalg ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// linalg.generic operations from loops and an expression.
//
//===----------------------------------------------------------------------===//

#include "tp/Dialect/NN/IR/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace mlir;
using namespace tp::nn;

Value Scalar::number(double value) {
  return arith::ConstantOp::create(b, b.getFloatAttr(wide, value));
}
Value Scalar::integer(int64_t value, Type type) {
  return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
}
Value Scalar::index(unsigned loop) { return linalg::IndexOp::create(b, loop); }
SmallVector<Value> Scalar::indices(unsigned count) {
  return llvm::map_to_vector(llvm::seq(count),
                             [&](unsigned loop) { return index(loop); });
}

Value Scalar::get(const Term &term, Value like) {
  if (term.value)
    return term.value;
  Type element = getElementTypeOrSelf(like);
  TypedAttr number = isa<FloatType>(element)
                         ? TypedAttr(b.getFloatAttr(element, term.number))
                         : b.getIntegerAttr(element, *term.integer);
  if (auto tensor = dyn_cast<RankedTensorType>(like.getType()))
    number = DenseElementsAttr::get(tensor, Attribute(number));
  return arith::ConstantOp::create(b, number);
}

/// The operation of floats, or that of integers.
template <typename FloatOp, typename IntegerOp>
static Value createEither(ImplicitLocOpBuilder &b, Value x, Value y) {
  if (isa<FloatType>(getElementTypeOrSelf(x)))
    return FloatOp::create(b, x, y);
  return IntegerOp::create(b, x, y);
}

Value Scalar::add(Value x, Term y) {
  return createEither<arith::AddFOp, arith::AddIOp>(b, x, get(y, x));
}
Value Scalar::sub(Value x, Term y) {
  return createEither<arith::SubFOp, arith::SubIOp>(b, x, get(y, x));
}
Value Scalar::mul(Value x, Term y) {
  return createEither<arith::MulFOp, arith::MulIOp>(b, x, get(y, x));
}
Value Scalar::max(Value x, Term y) {
  return createEither<arith::MaximumFOp, arith::MaxSIOp>(b, x, get(y, x));
}
Value Scalar::min(Value x, Term y) {
  return createEither<arith::MinimumFOp, arith::MinSIOp>(b, x, get(y, x));
}
Value Scalar::compare(CmpF predicate, Value x, Term y) {
  return arith::CmpFOp::create(b, predicate, x, get(y, x));
}
Value Scalar::compare(CmpI predicate, Value x, Term y) {
  return arith::CmpIOp::create(b, predicate, x, get(y, x));
}
Value Scalar::select(Value condition, Value x, Term y) {
  return arith::SelectOp::create(b, condition, x, get(y, x));
}
Value Scalar::div(Value x, Term y) {
  return arith::DivFOp::create(b, x, get(y, x));
}
Value Scalar::neg(Value x) { return arith::NegFOp::create(b, x); }
Value Scalar::abs(Value x) { return math::AbsFOp::create(b, x); }
Value Scalar::exp(Value x) { return math::ExpOp::create(b, x); }
Value Scalar::log(Value x) { return math::LogOp::create(b, x); }
Value Scalar::sigmoid(Value x) {
  Value decay = exp(neg(x)), one = number(1);
  return div(one, add(one, decay));
}
Value Scalar::quotient(Value x, Term y) {
  return arith::DivUIOp::create(b, x, get(y, x));
}
Value Scalar::remainder(Value x, Term y) {
  return arith::RemUIOp::create(b, x, get(y, x));
}
Value Scalar::both(Value x, Term y) {
  return arith::AndIOp::create(b, x, get(y, x));
}
Value Scalar::either(Value x, Term y) {
  return arith::OrIOp::create(b, x, get(y, x));
}
Value Scalar::shiftLeft(Value x, Term y) {
  return arith::ShLIOp::create(b, x, get(y, x));
}
Value Scalar::shiftRight(Value x, Term y) {
  return arith::ShRUIOp::create(b, x, get(y, x));
}
Value Scalar::bits(Value x, Type type) {
  return arith::BitcastOp::create(b, type, x);
}
Value Scalar::convert(Value x, Type type) {
  Type from = x.getType();
  if (from == type || !isa<FloatType>(from))
    return x;
  if (from.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, type, x);
  return arith::TruncFOp::create(b, type, x);
}
Value Scalar::cast(Value x, Type type) {
  Type from = x.getType();
  if (from == type)
    return x;
  if (isa<FloatType>(from)) {
    if (isa<FloatType>(type))
      return convert(x, type);
    return arith::FPToSIOp::create(b, type, x);
  }
  bool isBoolean = from.isInteger(1);
  if (isa<FloatType>(type)) {
    if (isBoolean)
      return arith::UIToFPOp::create(b, type, x);
    if (from.isIndex())
      x = arith::IndexCastOp::create(b, b.getI64Type(), x);
    return arith::SIToFPOp::create(b, type, x);
  }
  if (from.isIndex() || type.isIndex())
    return arith::IndexCastOp::create(b, type, x);
  if (from.getIntOrFloatBitWidth() > type.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(b, type, x);
  if (isBoolean)
    return arith::ExtUIOp::create(b, type, x);
  return arith::ExtSIOp::create(b, type, x);
}

Emitter::Emitter(OpBuilder &builder, Location loc, Type element)
    : builder(builder), loc(loc),
      wide(element.isF64() ? element : Type(builder.getF32Type())) {}

Emitter Emitter::inType(OpBuilder &builder, Location loc, Type element) {
  Emitter emitter(builder, loc, element);
  emitter.wide = element;
  return emitter;
}

Loops Emitter::loops(unsigned count) {
  Loops dims;
  for (unsigned i = 0; i < count; ++i)
    dims.push_back(builder.getAffineDimExpr(i));
  return dims;
}

AffineExpr Emitter::constant(int64_t value) {
  return builder.getAffineConstantExpr(value);
}

RankedTensorType Emitter::wideType(ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, wide);
}

Value Emitter::generic(RankedTensorType type, Loops position, unsigned numLoops,
                       std::optional<Combine> combine,
                       ArrayRef<Operand> operands, Body body) {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const Operand &operand : operands) {
    inputs.push_back(operand.value);
    maps.push_back(
        AffineMap::get(numLoops, 0, operand.position, builder.getContext()));
  }
  maps.push_back(AffineMap::get(numLoops, 0, position, builder.getContext()));
  SmallVector<utils::IteratorType> iterators(numLoops,
                                             utils::IteratorType::reduction);
  for (AffineExpr expr : position)
    iterators[cast<AffineDimExpr>(expr).getPosition()] =
        utils::IteratorType::parallel;
  Value init = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                       type.getElementType());
  if (combine) {
    double identity = *combine == Combine::Sum
                          ? 0.0
                          : -std::numeric_limits<double>::infinity();
    Value zero = arith::ConstantOp::create(
        builder, loc, builder.getFloatAttr(type.getElementType(), identity));
    init = linalg::FillOp::create(builder, loc, zero, init).getResult(0);
  }
  auto generic = linalg::GenericOp::create(
      builder, loc, TypeRange{type}, inputs, ValueRange{init}, maps, iterators,
      [&](OpBuilder &inner, Location at, ValueRange args) {
        Scalar scalar(inner, at, wide);
        SmallVector<Value> values;
        for (Value arg : args.drop_back())
          values.push_back(scalar.convert(arg, wide));
        Value result = body(scalar, values);
        if (combine == Combine::Sum)
          result = scalar.add(args.back(), result);
        else if (combine == Combine::Max)
          result = scalar.max(args.back(), result);
        linalg::YieldOp::create(scalar.b,
                                scalar.convert(result, type.getElementType()));
      });
  return generic.getResult(0);
}

Value Emitter::map(RankedTensorType type, ArrayRef<Operand> operands,
                   Body body) {
  return generic(type, loops(type.getRank()), type.getRank(), std::nullopt,
                 operands, body);
}

Value Emitter::mapEach(RankedTensorType type, ValueRange operands, Body body) {
  Loops all = loops(type.getRank());
  return map(type,
             llvm::map_to_vector(
                 operands, [&](Value value) { return Operand{value, all}; }),
             body);
}

Value Emitter::reduce(RankedTensorType type, Loops position, unsigned numLoops,
                      Combine combine, ArrayRef<Operand> operands, Body body) {
  Value total = generic(wideType(type.getShape()), std::move(position),
                        numLoops, combine, operands, body);
  if (type.getElementType() == wide)
    return total;
  return map(type, {{total, loops(type.getRank())}},
             [](Scalar &, ValueRange v) { return v[0]; });
}

/// The groups of dimensions in which dimension `dim` of the smaller shape
/// stands for `count` of the larger.
static SmallVector<ReassociationIndices>
getGroups(unsigned smallRank, unsigned dim, unsigned count) {
  SmallVector<ReassociationIndices> groups(smallRank);
  int64_t next = 0;
  for (unsigned i = 0; i < smallRank; ++i)
    for (unsigned j = 0; j < (i == dim ? count : 1); ++j)
      groups[i].push_back(next++);
  return groups;
}

Value Emitter::split(Value value, unsigned dim, ArrayRef<int64_t> sizes) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + dim);
  shape.insert(shape.begin() + dim, sizes.begin(), sizes.end());
  return tensor::ExpandShapeOp::create(
      builder, loc, type.clone(shape), value,
      getGroups(type.getRank(), dim, sizes.size()));
}

Value Emitter::join(Value value, unsigned dim, unsigned count) {
  return tensor::CollapseShapeOp::create(
      builder, loc, value,
      getGroups(typeOf(value).getRank() - count + 1, dim, count));
}
