//===- BodyUneven.cpp - Reductions over what ranks do not divide ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The third generator: one dimension that 2 to 7 ranks do not divide, values of
// every element type over it, most of them computed (comparisons, selections,
// conversions of booleans), and reductions of all kinds that count them. What
// padding holds then decides the result unless it is masked or left out.
//
//===----------------------------------------------------------------------===//

#include "BodyProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tp::fuzz {

Type BodyProgram::unevenElement() {
  switch (below(10)) {
  case 0:
  case 1:
  case 2:
    return builder.getI1Type();
  case 3:
    return builder.getI8Type();
  case 4:
    return builder.getI32Type();
  case 5:
    return builder.getI64Type();
  case 6:
    return builder.getF16Type();
  case 7:
    return builder.getBF16Type();
  default:
    return builder.getF32Type();
  }
}

/// Makes the mesh and a shape whose dimension `cutDim` its ranks do not divide.
Frame::Shape BodyProgram::drawUneven(unsigned &cutDim) {
  int64_t ranks = 2 + below(6);
  makeMesh({{"tp", ranks}});
  Shape shape;
  for (int64_t rank = pick({1, 2, 2, 3}); rank > 0; --rank)
    shape.push_back(1 + below(4));
  cutDim = below(shape.size());
  do
    shape[cutDim] = 2 + below(16);
  while (shape[cutDim] % ranks == 0 || (shape[cutDim] < ranks && !chance(5)));
  return shape;
}

/// An argument or a constant that is cut along `dim`.
Value BodyProgram::unevenSource(ArrayRef<int64_t> shape, Type element,
                                unsigned dim) {
  bool isConstant = chance(15);
  Value value;
  if (isConstant && isa<FloatType>(element) && chance(40))
    value = infinities(shape, element);
  else if (isConstant)
    value = chance(50) ? constantTensor(shape, element)
                       : filled(shape, element, double(below(4)));
  else
    value = argument(shape, element);
  TensorSharding sharding = TensorSharding::replicated(shape.size());
  sharding.dims[dim].axes = {mesh.getWhole(0)};
  auto attribute = ShardingAttr::get(context, meshSymbol, mesh, sharding);
  if (!isConstant) {
    setSharding(value, attribute);
    return value;
  }
  return chance(60)
             ? ShardingConstraintOp::create(builder, loc, value, attribute)
             : value;
}

/// A value of another type for each element of the pool's values of its shape,
/// by one linalg.generic or a chain of element-wise operations.
Value BodyProgram::unevenMap(ArrayRef<int64_t> shape, Type element) {
  SmallVector<Value> inputs;
  for (Value value : pool)
    if (shapeOf(value) == Shape(shape) && (inputs.empty() || chance(60)))
      inputs.push_back(value);
  auto draw = [&](ScalarBody &body) {
    // A comparison or conversion of one value, or anything of all.
    if (chance(40))
      return body.convert(body.draw(elementOf(pool[below(pool.size())])),
                          element);
    return body.draw(element);
  };
  if (chance(50)) {
    ScalarBody body(*this, shape);
    for (Value input : inputs)
      body.addInput(input, positive.contains(input));
    return draw(body);
  }
  SmallVector<AffineMap> maps(
      inputs.size() + 1,
      AffineMap::getMultiDimIdentityMap(shape.size(), context));
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      builder, loc, tensor(shape, element), inputs, empty(shape, element), maps,
      iterators, [&](OpBuilder &, Location, ValueRange arguments) {
        ScalarBody body(*this);
        for (auto [input, argument] : llvm::zip(inputs, arguments))
          body.addInput(argument, positive.contains(input));
        if (chance(20))
          body.addLoops(shape.size());
        linalg::YieldOp::create(builder, loc, draw(body));
      });
  return op.getResult(0);
}

/// The index of the largest (or smallest) value, beside the value.
static SmallVector<Value> combineWithPlace(Frame &frame, ValueRange outs,
                                           Value term, unsigned loop) {
  OpBuilder &builder = frame.builder;
  Location loc = frame.loc;
  Value better;
  if (isa<FloatType>(term.getType()))
    better = arith::CmpFOp::create(
        builder, loc,
        frame.oneOf({arith::CmpFPredicate::OGT, arith::CmpFPredicate::OLT}),
        term, outs[0]);
  else
    better = arith::CmpIOp::create(
        builder, loc,
        frame.oneOf({arith::CmpIPredicate::sgt, arith::CmpIPredicate::ult}),
        term, outs[0]);
  Value at =
      arith::IndexCastOp::create(builder, loc, outs[1].getType(),
                                 linalg::IndexOp::create(builder, loc, loop));
  return {arith::SelectOp::create(builder, loc, better, term, outs[0]),
          arith::SelectOp::create(builder, loc, better, at, outs[1])};
}

/// A reduction over `dim`, and perhaps others, of what the pool has of `shape`.
Value BodyProgram::unevenReduction(ArrayRef<int64_t> shape, unsigned dim) {
  SmallVector<AffineExpr> kept;
  SmallVector<utils::IteratorType> iterators;
  Shape outShape;
  for (auto [loop, size] : llvm::enumerate(shape)) {
    bool reduces = loop == dim || chance(25);
    iterators.push_back(reduces ? utils::IteratorType::reduction
                                : utils::IteratorType::parallel);
    if (reduces)
      continue;
    kept.push_back(getAffineDimExpr(loop, context));
    outShape.push_back(size);
  }
  SmallVector<Value> inputs;
  for (Value value : pool)
    if (shapeOf(value) == Shape(shape) && (inputs.empty() || chance(50)))
      inputs.push_back(value);
  std::swap(inputs.front(), inputs.back());
  SmallVector<AffineMap> maps(
      inputs.size(), AffineMap::getMultiDimIdentityMap(shape.size(), context));
  Type element = chance(40) ? elementOf(inputs.front()) : unevenElement();
  bool hasPlace = chance(10);
  SmallVector<Value> outs{initial(outShape, element)};
  if (hasPlace)
    outs.push_back(filled(outShape, builder.getI64Type(), 0));
  maps.append(outs.size(), AffineMap::get(shape.size(), 0, kept, context));
  auto op = linalg::GenericOp::create(
      builder, loc, TypeRange(ValueRange(outs)), inputs, outs, maps, iterators,
      [&](OpBuilder &, Location, ValueRange arguments) {
        ScalarBody body(*this);
        for (auto [input, argument] : llvm::zip(inputs, arguments))
          body.addInput(argument, positive.contains(input));
        Value term = chance(55) ? body.convert(arguments[0], element)
                                : body.draw(element);
        ValueRange sums = arguments.take_back(outs.size());
        SmallVector<Value> results =
            hasPlace ? combineWithPlace(*this, sums, term, dim)
                     : SmallVector<Value>{body.combine(sums[0], term)};
        linalg::YieldOp::create(builder, loc, results);
      });
  for (Value result : op->getResults().drop_front())
    keep(result);
  return op.getResult(0);
}

/// `reduced`, which lacks dimensions of `shape`, once for each element.
Value BodyProgram::unevenSpread(Value reduced, ArrayRef<int64_t> shape) {
  auto reduction = reduced.getDefiningOp<linalg::GenericOp>();
  if (!reduction)
    return Value();
  AffineMap map = reduction.getIndexingMapsArray().back();
  SmallVector<AffineMap> maps{
      map, AffineMap::getMultiDimIdentityMap(shape.size(), context)};
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  Type element = elementOf(reduced);
  return linalg::GenericOp::create(
             builder, loc, tensor(shape, element), reduced,
             empty(shape, element), maps, iterators,
             [&](OpBuilder &, Location, ValueRange arguments) {
               linalg::YieldOp::create(builder, loc, arguments[0]);
             })
      .getResult(0);
}

OwningOpRef<ModuleOp> BodyProgram::makeUneven() {
  module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());
  unsigned dim = 0;
  Shape shape = drawUneven(dim);
  if (chance(40))
    usualValues = someValues();
  function = func::FuncOp::create(builder, loc, "main",
                                  builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  for (int64_t count = pick({1, 1, 2, 3}); count > 0; --count)
    keep(unevenSource(shape, unevenElement(), dim));
  for (int64_t rounds = pick({1, 1, 2}); rounds > 0; --rounds) {
    for (int64_t count = below(4); count > 0; --count)
      keep(unevenMap(shape, unevenElement()));
    Value reduced = unevenReduction(shape, dim);
    if (rounds > 1)
      keep(unevenSpread(reduced, shape));
    keep(reduced);
  }
  finish();
  return std::move(module);
}

OwningOpRef<ModuleOp> makeUnevenProgram(MLIRContext *context, uint64_t seed) {
  return BodyProgram(context, seed).makeUneven();
}

} // namespace tp::fuzz
