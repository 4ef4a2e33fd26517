//===- BodyTensors.cpp - Moving, looking up, dropping out -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tensor.* operations, tables read at ids (at the edges of the vocabulary and,
// where the definition allows it, past them), dropout, and nn operations.
//
//===----------------------------------------------------------------------===//

#include "BodyProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/NN/IR/NNOps.h"

using namespace mlir;

namespace tp::fuzz {

static SmallVector<OpFoldResult> indices(OpBuilder &builder,
                                         ArrayRef<int64_t> values) {
  return getAsIndexOpFoldResult(builder.getContext(), values);
}

Value BodyProgram::sliced(Value value) {
  Shape shape = shapeOf(value), from, sizes, steps;
  for (int64_t size : shape) {
    int64_t step = chance(20) && size > 2 ? 2 : 1;
    int64_t first = chance(60) ? 0 : below(size);
    int64_t most = (size - first + step - 1) / step;
    from.push_back(first);
    steps.push_back(step);
    sizes.push_back(chance(40) ? most : 1 + below(most));
  }
  // Now and then without the dimensions of size one.
  Shape result(sizes);
  if (chance(20))
    llvm::erase(result, 1);
  return tensor::ExtractSliceOp::create(
      builder, loc, tensor(result, elementOf(value)), value,
      indices(builder, from), indices(builder, sizes), indices(builder, steps));
}

Value BodyProgram::inserted(Value value) {
  Shape shape = shapeOf(value), from, sizes;
  for (int64_t size : shape) {
    from.push_back(chance(50) ? 0 : below(size));
    sizes.push_back(1 + below(size - from.back()));
  }
  Shape steps(shape.size(), 1);
  Value part = source(sizes, elementOf(value));
  return tensor::InsertSliceOp::create(
      builder, loc, part, value, indices(builder, from),
      indices(builder, sizes), indices(builder, steps));
}

Value BodyProgram::padded(Value value) {
  Shape shape = shapeOf(value), low, high;
  for (int64_t &size : shape) {
    low.push_back(chance(50) ? 0 : below(3));
    high.push_back(chance(50) ? 0 : below(4));
    size += low.back() + high.back();
  }
  Type element = elementOf(value);
  Value scalar = scalarConstant(element, chance(50) ? 0 : double(below(4)));
  auto pad = tensor::PadOp::create(builder, loc, tensor(shape, element), value,
                                   indices(builder, low),
                                   indices(builder, high), scalar);
  if (shape.empty() || !chance(12))
    return pad;
  // Not the same everywhere: two values by position.
  Operation *yield = pad.getBody()->getTerminator();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(yield);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      pad.getBody()->getArgument(0), zero);
  Value other = scalarConstant(element, 1);
  yield->setOperand(
      0, arith::SelectOp::create(builder, loc, first, other, scalar));
  return pad;
}

Value BodyProgram::concatenated(Value value) {
  Shape shape = shapeOf(value);
  if (shape.empty())
    return Value();
  int64_t dim = below(shape.size());
  SmallVector<Value> parts{value};
  for (int64_t more = 1 + below(2); more > 0; --more) {
    Shape other(shape);
    if (chance(50))
      other[dim] = someSize();
    parts.push_back(chance(20) ? value : source(other, elementOf(value)));
  }
  return tensor::ConcatOp::create(builder, loc, dim, parts);
}

Value BodyProgram::expanded(Value value) {
  Shape shape = shapeOf(value), result;
  if (shape.empty() || shape.size() > 3)
    return Value();
  unsigned dim = below(shape.size());
  SmallVector<ReassociationIndices> groups;
  for (auto [i, size] : llvm::enumerate(shape)) {
    groups.push_back({int64_t(result.size())});
    if (i != dim) {
      result.push_back(size);
      continue;
    }
    SmallVector<int64_t> factors;
    for (int64_t factor = 1; factor <= size; ++factor)
      if (size % factor == 0)
        factors.push_back(factor);
    int64_t outer = pick(factors);
    groups.back().push_back(result.size() + 1);
    result.push_back(outer);
    result.push_back(size / outer);
  }
  return tensor::ExpandShapeOp::create(
      builder, loc, tensor(result, elementOf(value)), value, groups);
}

Value BodyProgram::collapsed(Value value) {
  Shape shape = shapeOf(value);
  if (shape.size() < 2)
    return Value();
  unsigned dim = below(shape.size() - 1);
  SmallVector<ReassociationIndices> groups;
  for (unsigned i = 0; i < shape.size(); ++i) {
    if (i == dim + 1)
      groups.back().push_back(i);
    else
      groups.push_back({int64_t(i)});
  }
  return tensor::CollapseShapeOp::create(builder, loc, value, groups);
}

Value BodyProgram::moving(Value value) {
  switch (below(7)) {
  case 0:
  case 1:
    return sliced(value);
  case 2:
    return inserted(value);
  case 3:
    return padded(value);
  case 4:
    return concatenated(value);
  case 5:
    return expanded(value);
  default:
    return collapsed(value);
  }
}

/// Ids of rows; with `mayMiss` some are no row of the table.
Value BodyProgram::ids(ArrayRef<int64_t> shape, Type element, int64_t rows,
                       bool mayMiss) {
  if (repeatDepth || function.isPrivate()) {
    SmallVector<Attribute> elements;
    RankedTensorType type = tensor(shape, element);
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      elements.push_back(builder.getIntegerAttr(
          element, mayMiss ? below(rows + 4) - 1 : below(rows)));
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, elements));
  }
  auto splat = [&](int64_t number) -> Value {
    Attribute attribute = builder.getIntegerAttr(element, number);
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(tensor(shape, element),
                               ArrayRef<Attribute>(attribute)));
  };
  int64_t low = 0, high = rows;
  if (mayMiss && chance(60)) {
    low = chance(50) ? -1 : rows - 2;
    high = rows + 1 + below(6);
  } else if (chance(30)) {
    low = rows - 1;
  }
  if (!chance(30))
    return integerArgument(shape, element, low, high);
  // Computed, so that padding does not hold row zero.
  if (chance(50)) {
    Value value = integerArgument(shape, element, low + 1, high + 1);
    return arith::SubIOp::create(builder, loc, value, splat(1));
  }
  Value value = integerArgument(shape, element, rows - high, rows - low);
  return arith::SubIOp::create(builder, loc, splat(rows - 1), value);
}

/// A parameter, or computed from one.
Value BodyProgram::table(ArrayRef<int64_t> shape, Type element) {
  Value value = chance(70) ? parameter(shape, element) : whole(shape, element);
  if (isa<BlockArgument>(value) || value.getDefiningOp<ParameterOp>())
    if (chance(60))
      if (ShardingAttr sharding = cutting(shape, 0))
        setSharding(value, sharding);
  if (chance(25))
    return math::ExpOp::create(builder, loc, value);
  if (chance(15)) {
    ScalarBody body(*this, shape);
    body.addInput(value);
    return body.draw(element);
  }
  return value;
}

Value BodyProgram::embedding() {
  Type element =
      chance(85) ? Type(builder.getF32Type()) : Type(builder.getBF16Type());
  int64_t rows = pick({3, 4, 5, 6, 7, 9, 10, 13});
  Value lookUp = table({rows, someSize()}, element);
  Shape shape = someShape(2);
  Type integer = chance(50) ? builder.getI64Type() : builder.getI32Type();
  Value where = ids(shape, integer, rows, /*mayMiss=*/true);
  shape.push_back(shapeOf(lookUp).back());
  IntegerAttr padding;
  if (chance(30))
    padding = builder.getI64IntegerAttr(pick({int64_t(0), rows / 2, rows - 1}));
  return nn::EmbeddingOp::create(builder, loc, tensor(shape, element), where,
                                 lookUp, /*offset=*/Value(), padding);
}

Value BodyProgram::gather() {
  Type element = chance(80) ? Type(builder.getF32Type()) : someElement();
  Shape shape = someShape(3);
  Value lookUp =
      isa<FloatType>(element) ? table(shape, element) : source(shape, element);
  int64_t dim = chance(60) ? 0 : below(shape.size());
  Shape batch{someSize()};
  if (chance(25))
    batch.push_back(1 + below(3));
  Shape indexShape(batch);
  indexShape.push_back(1);
  Type integer = chance(50) ? builder.getI64Type() : builder.getI32Type();
  Value where = ids(indexShape, integer, shape[dim], /*mayMiss=*/false);
  Shape result(batch);
  for (unsigned i = 0; i < shape.size(); ++i)
    result.push_back(int64_t(i) == dim ? 1 : shape[i]);
  return tensor::GatherOp::create(builder, loc, tensor(result, element), lookUp,
                                  where, ArrayRef<int64_t>{dim}, false);
}

Value BodyProgram::dropout(Value value) {
  if (!isFloat(value) || shapeOf(value).empty())
    return Value();
  auto word = RankedTensorType::get({}, builder.getI64Type());
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(word, value));
  };
  Value seed = number(below(1000)), step = number(below(10));
  return nn::DropoutOp::create(
      builder, loc, value.getType(), value, seed, step, Value(), ValueRange(),
      builder.getF64FloatAttr(chance(50) ? 0.5 : 0.2),
      builder.getI64IntegerAttr(numDropouts++), DenseI64ArrayAttr());
}

Value BodyProgram::transformer(Value value) {
  Shape shape = shapeOf(value);
  if (!isFloat(value) || shape.empty() || elementOf(value).isF64())
    return Value();
  Type element = elementOf(value);
  int64_t width = shape.back();
  switch (below(6)) {
  case 0:
    return nn::SoftmaxOp::create(builder, loc, value);
  case 1: {
    Value weight = parameter({width}, element);
    return nn::RMSNormOp::create(builder, loc, value.getType(), Type(), value,
                                 weight, builder.getF64FloatAttr(1e-5))
        .getResult();
  }
  case 2: {
    Shape result(shape);
    result.back() = someSize();
    Value weight = parameter({result.back(), width}, element);
    Value bias = chance(50) ? parameter({result.back()}, element) : Value();
    return nn::LinearOp::create(builder, loc, tensor(result, element), value,
                                weight, bias);
  }
  case 3:
    return nn::SiluOp::create(builder, loc, value);
  case 4: {
    // Cosines times a value of their shape.
    if (shape.size() != 2 || !element.isF32())
      return Value();
    SmallVector<Attribute> frequencies;
    for (int64_t i = 0; i < width; ++i)
      frequencies.push_back(builder.getF32FloatAttr(1.0f / float(1 + i)));
    auto type = tensor({width}, element);
    Value offset =
        chance(50)
            ? Value(arith::ConstantIndexOp::create(builder, loc, below(5)))
            : Value();
    auto op = nn::RotaryTableOp::create(
        builder, loc, value.getType(), value.getType(), offset,
        /*positions=*/Value(), DenseElementsAttr::get(type, frequencies),
        builder.getF64FloatAttr(1.0));
    return arith::MulFOp::create(builder, loc, value, op->getResult(below(2)));
  }
  default:
    return dropout(value);
  }
}

} // namespace tp::fuzz
