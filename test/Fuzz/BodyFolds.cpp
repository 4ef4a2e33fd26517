//===- BodyFolds.cpp - Chains that canonicalisation folds -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fourth generator: slices, insertions, pads, reshapes, transposes, fills
// and constants one after the other, with offsets, sizes and strides that are
// constants of the program rather than of the operation, and with dimensions of
// size one kept or left out. The stage import canonicalises such chains with
// upstream's patterns; its result is compared with the program as it was.
//
//===----------------------------------------------------------------------===//

#include "BodyProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tp::fuzz {

/// `number` as an attribute, a constant, or something that folds to one.
OpFoldResult BodyProgram::foldedIndex(int64_t number) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  switch (below(8)) {
  case 0:
  case 1:
    return constant(number);
  case 2: {
    int64_t part = below(number + 1);
    return arith::AddIOp::create(builder, loc, constant(part),
                                 constant(number - part))
        .getResult();
  }
  case 3: {
    int64_t more = below(4);
    return arith::SubIOp::create(builder, loc, constant(number + more),
                                 constant(more))
        .getResult();
  }
  default:
    return builder.getIndexAttr(number);
  }
}

SmallVector<OpFoldResult>
BodyProgram::foldedIndices(ArrayRef<int64_t> numbers) {
  return llvm::map_to_vector(
      numbers, [&](int64_t number) { return foldedIndex(number); });
}

/// `shape` without some of its dimensions of size one.
Frame::Shape BodyProgram::withoutSomeOnes(ArrayRef<int64_t> shape) {
  if (chance(40))
    return Shape(shape);
  Shape result;
  for (int64_t size : shape)
    if (size != 1 || chance(40))
      result.push_back(size);
  return result;
}

BodyProgram::Slice BodyProgram::drawSlice(ArrayRef<int64_t> shape) {
  Slice slice;
  for (int64_t size : shape) {
    int64_t count = chance(40) ? 1 : 1 + below(size);
    int64_t step = 1 + below(3),
            most = (size - 1) / std::max<int64_t>(count - 1, 1);
    if (count > 1)
      step = std::min(step, most);
    int64_t last = count == 1 ? 0 : (count - 1) * step;
    slice.sizes.push_back(count);
    slice.steps.push_back(step);
    slice.from.push_back(chance(40) ? 0 : below(size - last));
  }
  return slice;
}

Value BodyProgram::foldedSlice(Value value) {
  Slice slice = drawSlice(shapeOf(value));
  return tensor::ExtractSliceOp::create(
      builder, loc, tensor(withoutSomeOnes(slice.sizes), elementOf(value)),
      value, foldedIndices(slice.from),
      getAsIndexOpFoldResult(context, slice.sizes), foldedIndices(slice.steps));
}

Value BodyProgram::foldedInsert(Value value) {
  Slice slice = drawSlice(shapeOf(value));
  // Lower has no others.
  if (chance(75))
    slice.steps.assign(slice.steps.size(), 1);
  Shape shape = withoutSomeOnes(slice.sizes);
  Value part;
  for (Value other : pool)
    if (other.getType() == tensor(shape, elementOf(value)) && chance(70))
      part = other;
  if (!part)
    part = foldedSource(shape, elementOf(value));
  return tensor::InsertSliceOp::create(
      builder, loc, part, value, foldedIndices(slice.from),
      getAsIndexOpFoldResult(context, slice.sizes), foldedIndices(slice.steps));
}

Value BodyProgram::foldedSource(ArrayRef<int64_t> shape, Type element) {
  switch (below(5)) {
  case 0:
    return constantTensor(shape, element);
  case 1:
  case 2:
    return filled(shape, element, double(below(3)));
  default:
    return argument(shape, element);
  }
}

Value BodyProgram::foldedPad(Value value) {
  Shape shape = shapeOf(value), low, high;
  for (int64_t &size : shape) {
    low.push_back(chance(60) ? 0 : below(3));
    high.push_back(chance(60) ? 0 : below(3));
    size += low.back() + high.back();
  }
  Type element = elementOf(value);
  Value scalar = scalarConstant(element, double(below(3)));
  return tensor::PadOp::create(builder, loc, tensor(shape, element), value,
                               foldedIndices(low), foldedIndices(high), scalar);
}

/// `value` in another shape of as many elements: by one collapse or expansion
/// of several groups, or both.
Value BodyProgram::foldedReshape(Value value) {
  Shape shape = shapeOf(value);
  SmallVector<ReassociationIndices> groups;
  if (shape.size() > 1 && chance(50)) {
    for (int64_t i = 0; i < int64_t(shape.size()); ++i) {
      if (i == 0 || chance(50))
        groups.emplace_back();
      groups.back().push_back(i);
    }
    return tensor::CollapseShapeOp::create(builder, loc, value, groups);
  }
  Shape result;
  for (int64_t size : shape) {
    groups.emplace_back();
    int64_t rest = size;
    for (int64_t parts = result.size() < 4 ? below(3) : 0; parts > 0; --parts) {
      SmallVector<int64_t> factors;
      for (int64_t factor = 1; factor <= rest; ++factor)
        if (rest % factor == 0)
          factors.push_back(factor);
      int64_t factor = chance(40) ? 1 : pick(factors);
      groups.back().push_back(result.size());
      result.push_back(factor);
      rest /= factor;
    }
    groups.back().push_back(result.size());
    result.push_back(rest);
  }
  if (shape.empty())
    result.assign(1 + below(2), 1);
  return tensor::ExpandShapeOp::create(
      builder, loc, tensor(result, elementOf(value)), value, groups);
}

Value BodyProgram::foldedTranspose(Value value) {
  Shape shape = shapeOf(value), order, result;
  // MLIR 22 has no indexing map for one of rank 0, and dies in its verifier.
  if (shape.empty())
    return Value();
  for (int64_t i = 0; i < int64_t(shape.size()); ++i)
    order.insert(order.begin() + below(i + 1), i);
  for (int64_t dim : order)
    result.push_back(shape[dim]);
  return linalg::TransposeOp::create(builder, loc, value,
                                     empty(result, elementOf(value)), order)
      ->getResult(0);
}

Value BodyProgram::foldedBroadcast(Value value) {
  Shape shape = shapeOf(value);
  int64_t dim = below(shape.size() + 1);
  shape.insert(shape.begin() + dim, 1 + below(3));
  return linalg::BroadcastOp::create(builder, loc, value,
                                     empty(shape, elementOf(value)),
                                     ArrayRef<int64_t>{dim})
      ->getResult(0);
}

/// A scalar of `value`, spread over its shape or put into another tensor.
Value BodyProgram::foldedScalar(Value value) {
  Shape shape = shapeOf(value);
  SmallVector<Value> at;
  for (int64_t size : shape)
    at.push_back(getValueOrCreateConstantIndexOp(builder, loc,
                                                 foldedIndex(below(size))));
  Value scalar = tensor::ExtractOp::create(builder, loc, value, at);
  switch (below(3)) {
  case 0:
    return tensor::SplatOp::create(builder, loc, scalar,
                                   cast<RankedTensorType>(value.getType()));
  case 1:
    return linalg::FillOp::create(builder, loc, scalar,
                                  empty(shape, elementOf(value)))
        .getResult(0);
  default:
    return tensor::FromElementsOp::create(
        builder, loc, tensor({2}, elementOf(value)),
        ValueRange{scalar, scalarConstant(elementOf(value), 1)});
  }
}

Value BodyProgram::foldable(Value value) {
  switch (below(13)) {
  case 0:
  case 1:
  case 2:
    return foldedSlice(value);
  case 3:
  case 4:
    return foldedInsert(value);
  case 5:
    return foldedPad(value);
  case 6:
  case 7:
  case 8:
    return foldedReshape(value);
  case 9:
    return foldedTranspose(value);
  case 10:
    return foldedBroadcast(value);
  case 11:
    return shapeOf(value).empty() ? Value() : concatenated(value);
  default:
    return foldedScalar(value);
  }
}

OwningOpRef<ModuleOp> BodyProgram::makeFolds() {
  module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());
  makeMesh();
  function = func::FuncOp::create(builder, loc, "main",
                                  builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  Type element = someElement();
  for (int64_t count = 1 + below(2); count > 0; --count) {
    Shape shape = someShape();
    shape.insert(shape.begin() + below(shape.size() + 1), 1);
    keep(foldedSource(shape, element));
  }
  for (int64_t count = 2 + below(6); count > 0; --count) {
    Value result = foldable(fromPool());
    if (!result || shapeOf(result).size() > 6)
      continue;
    int64_t elements = 1;
    for (int64_t size : shapeOf(result))
      elements *= size;
    if (elements <= 2000)
      keep(result);
  }
  finish();
  return std::move(module);
}

OwningOpRef<ModuleOp> makeFoldProgram(MLIRContext *context, uint64_t seed) {
  return BodyProgram(context, seed).makeFolds();
}

} // namespace tp::fuzz
