//===- BodyOperands.cpp - Where the operands of odd bodies come from ------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments, parameters, constants, and results over a cut dimension, each with
// a chance of an annotation. Arguments say what values they hold (tp.values,
// tp.range), so that the text of a program is enough to repeat it.
//
//===----------------------------------------------------------------------===//

#include "BodyProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include <limits>

using namespace mlir;

namespace tp::fuzz {

int64_t BodyProgram::someSize() {
  return pick({1, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 12, 13});
}

Frame::Shape BodyProgram::someShape(int64_t maxRank) {
  Shape shape;
  int64_t elements = 1;
  for (int64_t rank = 1 + below(maxRank); rank > 0; --rank) {
    int64_t size = someSize();
    if (elements * size > 400)
      size = 1 + below(3);
    elements *= size;
    shape.push_back(size);
  }
  return shape;
}

Type BodyProgram::someElement() {
  int64_t choice = below(100);
  if (choice < 66)
    return builder.getF32Type();
  if (choice < 71)
    return builder.getBF16Type();
  if (choice < 76)
    return builder.getF16Type();
  if (choice < 79)
    return builder.getF64Type();
  if (choice < 88)
    return builder.getI32Type();
  if (choice < 93)
    return builder.getI64Type();
  return builder.getIntegerType(pick({1, 8, 8, 16}));
}

ShardingAttr BodyProgram::cutting(ArrayRef<int64_t> shape, unsigned dim) {
  for (int attempt = 0; attempt < 12; ++attempt)
    if (ShardingAttr sharding = someSharding(shape, !chance(4)))
      if (!sharding.getDims()[dim].getAxes().empty())
        return sharding;
  return ShardingAttr();
}

ShardingAttr BodyProgram::cuttingBy(ArrayRef<int64_t> shape,
                                    const AxisList &axes) {
  TensorSharding sharding = TensorSharding::replicated(shape.size());
  unsigned dim = below(shape.size());
  sharding.dims[dim].axes = axes;
  if (getShardCount(axes) > shape[dim] ||
      !verifySharding(shape, sharding, mesh).empty())
    return ShardingAttr();
  return ShardingAttr::get(context, meshSymbol, mesh, sharding);
}

void BodyProgram::annotate(Value value, int64_t percent) {
  if (!chance(percent))
    return;
  if (ShardingAttr sharding = someSharding(shapeOf(value), !chance(3)))
    setSharding(value, sharding);
}

StringRef BodyProgram::someValues() {
  return oneOf<StringRef>({"zeros", "zeros", "zeros", "zeros", "integers",
                           "positive", "wide", "wide", "large"});
}

Value BodyProgram::argument(ArrayRef<int64_t> shape, Type element) {
  if (isa<IntegerType>(element) && !element.isInteger(1)) {
    switch (below(4)) {
    case 0:
      return integerArgument(shape, element, 1, 2 + below(8));
    case 1:
      return integerArgument(shape, element, -3, 4);
    case 2:
      return integerArgument(shape, element, 0, 100);
    default: {
      Value value = integerArgument(shape, element, 0, 2);
      function.removeArgAttr(function.getNumArguments() - 1, rangeAttrName);
      function.setArgAttr(function.getNumArguments() - 1, valuesAttrName,
                          builder.getStringAttr("limits"));
      positive.erase(value);
      return value;
    }
    }
  }
  unsigned index = function.getNumArguments();
  (void)function.insertArgument(index, tensor(shape, element), DictionaryAttr(),
                                loc);
  Value value = function.getArgument(index);
  if (isa<FloatType>(element) && chance(usualValues.empty() ? 10
                                        : hasInfinities     ? 90
                                                            : 65)) {
    bool narrow = element.isF16();
    StringRef kind =
        usualValues.empty() || chance(20) ? someValues() : usualValues;
    if (narrow && (kind == "wide" || kind == "large"))
      kind = "integers";
    function.setArgAttr(index, valuesAttrName, builder.getStringAttr(kind));
  }
  annotate(value, 60);
  return value;
}

Value BodyProgram::integerArgument(ArrayRef<int64_t> shape, Type element,
                                   int64_t low, int64_t high) {
  unsigned index = function.getNumArguments();
  (void)function.insertArgument(index, tensor(shape, element), DictionaryAttr(),
                                loc);
  function.setArgAttr(index, rangeAttrName,
                      builder.getDenseI64ArrayAttr({low, high}));
  Value value = function.getArgument(index);
  if (low > 0)
    positive.insert(value);
  annotate(value, 60);
  return value;
}

Value BodyProgram::parameter(ArrayRef<int64_t> shape, Type element) {
  std::string name = "p" + std::to_string(numParameters);
  // Now and then one name twice, but no template in two nested loops; a
  // template only where layers are repeated.
  if (!chance(6) || repeatDepth > 0)
    ++numParameters;
  else if (numParameters > 0)
    name = "p" + std::to_string(numParameters - 1);
  if (repeatDepth && chance(80))
    name = "layers.{i}." + name;
  for (auto old : module->getOps<func::FuncOp>())
    old->walk([&](ParameterOp op) {
      if (op.getName().starts_with(name) &&
          op.getType() != tensor(shape, element))
        name += "x" + std::to_string(numParameters);
    });
  if (chance(30))
    name += ".bias";
  auto op = ParameterOp::create(builder, loc, tensor(shape, element), name,
                                ParameterSourceAttr(), ArrayAttr());
  annotate(op, repeatDepth ? 40 : 60);
  return op;
}

Value BodyProgram::scalarConstant(Type element, double value) {
  if (auto type = dyn_cast<FloatType>(element))
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(type, value));
  return arith::ConstantOp::create(
      builder, loc,
      builder.getIntegerAttr(element, element.isInteger(1) ? value != 0
                                                           : int64_t(value)));
}

Value BodyProgram::empty(ArrayRef<int64_t> shape, Type element) {
  return tensor::EmptyOp::create(builder, loc, shape, element);
}

Value BodyProgram::filled(ArrayRef<int64_t> shape, Type element, double value) {
  Value scalar = scalarConstant(element, value);
  return linalg::FillOp::create(builder, loc, scalar, empty(shape, element))
      .getResult(0);
}

Value BodyProgram::constantTensor(ArrayRef<int64_t> shape, Type element) {
  RankedTensorType type = tensor(shape, element);
  SmallVector<Attribute> elements;
  int64_t count = chance(30) ? 1 : type.getNumElements();
  for (int64_t i = 0; i < count; ++i) {
    int64_t number = below(9) - 3;
    if (auto real = dyn_cast<FloatType>(element))
      elements.push_back(builder.getFloatAttr(real, double(number) / 2));
    else
      elements.push_back(builder.getIntegerAttr(
          element, element.isInteger(1) ? number & 1 : number));
  }
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, elements));
}

Value BodyProgram::infinities(ArrayRef<int64_t> shape, Type element) {
  double sign = chance(60) ? -1 : 1;
  double infinity = sign * std::numeric_limits<double>::infinity();
  if (chance(30))
    return filled(shape, element, infinity);
  RankedTensorType type = tensor(shape, element);
  Attribute other = builder.getFloatAttr(element, double(below(3)));
  Attribute infinite = builder.getFloatAttr(element, infinity);
  SmallVector<Attribute> elements;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    elements.push_back(chance(40) ? infinite : other);
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, elements));
}

Value BodyProgram::fromScalars(ArrayRef<int64_t> shape, Type element) {
  RankedTensorType type = tensor(shape, element);
  if (type.getNumElements() <= 6 && chance(50)) {
    SmallVector<Value> elements;
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      elements.push_back(scalarConstant(element, double(below(5)) - 1));
    return tensor::FromElementsOp::create(builder, loc, type, elements);
  }
  // An element of another tensor everywhere, or a constant.
  Value scalar = scalarConstant(element, double(below(5)) - 1);
  for (Value value : pool)
    if (elementOf(value) == element && chance(50)) {
      SmallVector<Value> at;
      for (int64_t size : shapeOf(value))
        at.push_back(arith::ConstantIndexOp::create(builder, loc, below(size)));
      scalar = tensor::ExtractOp::create(builder, loc, value, at);
      break;
    }
  return tensor::SplatOp::create(builder, loc, scalar, type);
}

Value BodyProgram::source(ArrayRef<int64_t> shape, Type element) {
  bool real = isa<FloatType>(element);
  if (!element.isInteger(1) && !shape.empty() && chance(38))
    if (Value value = partialSource(shape, element))
      return value;
  if (real && chance(hasInfinities ? 50 : 1))
    return infinities(shape, element);
  switch (below(8)) {
  case 0:
    return constantTensor(shape, element);
  case 1:
    return chance(50) ? filled(shape, element, double(below(4)))
                      : fromScalars(shape, element);
  case 2:
  case 3:
    if (real)
      return parameter(shape, element);
    [[fallthrough]];
  default:
    return whole(shape, element);
  }
}

Value BodyProgram::whole(ArrayRef<int64_t> shape, Type element) {
  // An argument; inside a repeated layer or a helper one of the outer function.
  if (isa<FloatType>(element) && (repeatDepth || chance(25)))
    return parameter(shape, element);
  if (repeatDepth || function.isPrivate())
    return constantTensor(shape, element);
  return argument(shape, element);
}

/// A sum, or now and then another reduction, of a value cut along the
/// dimension that goes.
Value BodyProgram::partialSource(ArrayRef<int64_t> shape, Type element) {
  Shape wide(shape);
  unsigned dim = below(wide.size() + 1);
  wide.insert(wide.begin() + dim, pick({2, 3, 4, 4, 5, 6, 8}));
  auto annotateCut = [&](Value value, unsigned at) {
    if (ShardingAttr sharding = cutting(shapeOf(value), at)) {
      setSharding(value, sharding);
      return true;
    }
    return false;
  };
  bool real = isa<FloatType>(element);
  if (real && shape.size() == 2 && chance(40)) {
    // A product of matrices.
    int64_t inner = wide[dim];
    Value a = whole({shape[0], inner}, element);
    Value b = parameter({inner, shape[1]}, element);
    bool cut = isa<BlockArgument>(a) || a.getDefiningOp<ParameterOp>()
                   ? annotateCut(a, 1)
                   : false;
    if (!cut || chance(30))
      annotateCut(b, 0);
    Value out = filled(shape, element, 0);
    return linalg::MatmulOp::create(builder, loc, ValueRange{a, b},
                                    ValueRange{out})
        .getResult(0);
  }
  if (real && chance(20)) {
    Shape input(shape.drop_back());
    input.push_back(wide[dim]);
    Value x = whole(input, element);
    Value weight = parameter({shape.back(), wide[dim]}, element);
    annotateCut(weight, 1);
    Value bias = chance(30) ? parameter({shape.back()}, element) : Value();
    return nn::LinearOp::create(builder, loc, tensor(shape, element), x, weight,
                                bias);
  }
  Value value = whole(wide, element);
  if (isa<BlockArgument>(value) || value.getDefiningOp<ParameterOp>()) {
    annotateCut(value, dim);
  } else if (ShardingAttr sharding = cutting(wide, dim)) {
    value = ShardingConstraintOp::create(builder, loc, value, sharding);
  }
  int64_t kind = below(10);
  double start = kind < 7 ? 0 : kind == 7 ? 1 : kind == 8 ? -100 : 100;
  Value out = filled(shape, element, start);
  return linalg::ReduceOp::create(
             builder, loc, ValueRange{value}, ValueRange{out},
             ArrayRef<int64_t>{int64_t(dim)},
             [&](OpBuilder &, Location, ValueRange inner) {
               Value a = inner[0], b = inner[1], result;
               if (kind <= 7)
                 result =
                     real ? Value(arith::AddFOp::create(builder, loc, b, a))
                          : Value(arith::AddIOp::create(builder, loc, b, a));
               else if (kind == 8)
                 result =
                     real ? Value(arith::MaximumFOp::create(builder, loc, b, a))
                          : Value(arith::MaxSIOp::create(builder, loc, b, a));
               else
                 result =
                     real ? Value(arith::MinimumFOp::create(builder, loc, b, a))
                          : Value(arith::MinSIOp::create(builder, loc, b, a));
               linalg::YieldOp::create(builder, loc, result);
             })
      .getResult(0);
}

Value BodyProgram::fromPool() {
  if (chance(45))
    return pool.back();
  int64_t size = pool.size();
  int64_t from = chance(65) ? std::max<int64_t>(0, size - 2) : 0;
  return pool[from + below(size - from)];
}

/// A value of the same type, perhaps a part of a larger one.
Value BodyProgram::likeOne(Value value) {
  if (chance(60))
    for (int attempt = 0; attempt < 4; ++attempt) {
      Value other = fromPool();
      if (other.getType() == value.getType() && other != value)
        return other;
    }
  if (chance(40))
    if (Value part = partLike(value))
      return part;
  return source(shapeOf(value), elementOf(value));
}

Value BodyProgram::partLike(Value value) {
  Shape sizes = shapeOf(value);
  SmallVector<Value> larger;
  for (Value other : pool) {
    Shape shape = shapeOf(other);
    if (other.getType() != value.getType() && shape.size() == sizes.size() &&
        elementOf(other) == elementOf(value) &&
        llvm::all_of(llvm::zip(shape, sizes), [](auto pair) {
          return std::get<0>(pair) >= std::get<1>(pair);
        }))
      larger.push_back(other);
  }
  if (larger.empty())
    return Value();
  Value from = larger[below(larger.size())];
  Shape offsets, steps(sizes.size(), 1);
  for (auto [all, size] : llvm::zip_equal(shapeOf(from), sizes))
    offsets.push_back(below(all - size + 1));
  auto indices = [&](ArrayRef<int64_t> values) {
    return getAsIndexOpFoldResult(context, values);
  };
  return tensor::ExtractSliceOp::create(
      builder, loc, cast<RankedTensorType>(value.getType()), from,
      indices(offsets), indices(sizes), indices(steps));
}

Value BodyProgram::initial(ArrayRef<int64_t> shape, Type element) {
  if (chance(45))
    return filled(shape, element, 0);
  if (chance(25))
    return filled(shape, element, double(pick({1, -1, 3, 100, -100})));
  if (isa<FloatType>(element) && chance(8))
    return infinities(shape, element);
  for (int attempt = 0; attempt < 3; ++attempt)
    if (Value value = fromPool(); value.getType() == tensor(shape, element))
      return value;
  return source(shape, element);
}

Value BodyProgram::constrained(Value value) {
  ShardingAttr sharding = someSharding(shapeOf(value), !chance(3));
  if (!sharding)
    return value;
  value = ShardingConstraintOp::create(builder, loc, value, sharding);
  return chance(30) ? travelled(value, sharding) : value;
}

Value BodyProgram::cutAlong(Value value, unsigned dim) {
  // A value that comes back from elsewhere is mostly a computed one.
  bool travels = chance(50);
  if (chance(travels ? 85 : 15)) {
    if (isFloat(value) && chance(40)) {
      // Not zero where the value is.
      value = chance(70) ? Value(math::ExpOp::create(builder, loc, value))
                         : Value(math::CosOp::create(builder, loc, value));
    } else {
      ScalarBody body(*this, shapeOf(value));
      body.addInput(value, positive.contains(value));
      value = body.draw(elementOf(value));
    }
  }
  ShardingAttr sharding = cutting(shapeOf(value), dim);
  if (!sharding)
    return value;
  value = ShardingConstraintOp::create(builder, loc, value, sharding);
  return travels ? travelled(value, sharding) : value;
}

Value BodyProgram::travelled(Value value, ShardingAttr home) {
  ShardingAttr other = chance(60) ? replicated(shapeOf(value).size())
                                  : someSharding(shapeOf(value), true);
  if (!other)
    return value;
  value = ShardingConstraintOp::create(builder, loc, value, other);
  if (chance(30))
    keep(value);
  return ShardingConstraintOp::create(builder, loc, value, home);
}

} // namespace tp::fuzz
