//===- BodyControl.cpp - Repeated layers, calls, and the program ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers repeated no, one or several times, nested, with stacked operands and
// results; helper functions; several public functions.
//
//===----------------------------------------------------------------------===//

#include "BodyProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"

using namespace mlir;

namespace tp::fuzz {

OwningOpRef<ModuleOp> makeBodyProgram(MLIRContext *context, uint64_t seed) {
  return BodyProgram(context, seed).make();
}

/// An operation whose result has the type of `value`.
Value BodyProgram::keepingType(Value value) {
  Shape shape = shapeOf(value);
  Type element = elementOf(value);
  if (isFloat(value) && !shape.empty()) {
    if (chance(25)) {
      Value weight = parameter({shape.back(), shape.back()}, element);
      return nn::LinearOp::create(builder, loc, value.getType(), value, weight,
                                  Value());
    }
    if (chance(10))
      return dropout(value);
  }
  if (chance(35)) {
    // One operation, as most programs have it.
    ScalarBody body(*this, shape);
    Value other = chance(50) ? whole(shape, element) : likeOne(value);
    body.addInput(other);
    return body.calculate(value, other);
  }
  if (chance(40))
    return mapOp(value, element);
  if (isFloat(value) && shape.size() == 2 && chance(15)) {
    // Added to a product of matrices.
    int64_t inner = someSize();
    Value a = whole({shape[0], inner}, element);
    Value b = parameter({inner, shape[1]}, element);
    return linalg::MatmulOp::create(builder, loc, ValueRange{a, b},
                                    ValueRange{value})
        .getResult(0);
  }
  ScalarBody body(*this, shape);
  body.addInput(value, positive.contains(value));
  for (int64_t others = pick({0, 1, 1, 1, 2, 2}); others > 0; --others) {
    Value other = likeOne(value);
    body.addInput(other, positive.contains(other));
  }
  return body.draw(element);
}

/// A parameter of an outer loop that one inside it reads, or names again, which
/// the definition refuses: `{i}` is another iteration in each.
Value BodyProgram::parameterOfBoth(RepeatOp loop, Type type) {
  constexpr StringLiteral name = "both.{i}";
  if (!isa<FloatType>(getElementTypeOrSelf(type)))
    return Value();
  auto outer = loop->getParentOfType<RepeatOp>();
  bool isNamed = !outer && rarely(30);
  if (outer)
    for (auto op : outer.getBodyBlock()->getOps<ParameterOp>())
      if (op.getName() == name && op.getType() == type) {
        if (rarely(75))
          return op;
        isNamed = true;
      }
  if (!isNamed)
    return Value();
  return ParameterOp::create(builder, loc, type, name, ParameterSourceAttr(),
                             ArrayAttr());
}

BodyProgram::Layers BodyProgram::drawLayers(Value value, int64_t depth) {
  Layers layers;
  layers.count = pick({0, 1, 2, 2, 2, 3, 3});
  layers.first = chance(20) ? 1 + below(2) : 0;
  layers.inits = {value};
  if (chance(30))
    layers.inits.push_back(likeOne(value));
  // Read in the layers and again behind them.
  if (depth == 0 && rarely(25))
    layers.shared =
        filled(shapeOf(value), elementOf(value), double(1 + below(3)));
  // The definition knows of carried tensors alone.
  if (rarely(2))
    layers.inits.push_back(scalarConstant(builder.getF32Type(), 1));
  layers.reverse = rarely(25);
  for (int64_t more = layers.mayStack() ? pick({0, 0, 0, 1, 1, 2}) : 0;
       more > 0; --more) {
    Shape shape = chance(60) ? shapeOf(value) : someShape(2);
    if (shape.size() > 3)
      continue;
    shape.insert(shape.begin(), layers.count);
    layers.stacked.push_back(source(shape, elementOf(value)));
  }
  return layers;
}

/// Computes in one layer the next value of a tensor that it carries; `read` are
/// values of its type that it reads, if they are.
Value BodyProgram::carriedOn(Value inner, ArrayRef<Value> read, int64_t depth) {
  for (Value other : read)
    if (other && inner.getType() == other.getType())
      inner = ScalarBody(*this, shapeOf(inner)).calculate(inner, other);
  for (int64_t steps = 1 + below(2); steps > 0; --steps) {
    Value result;
    if (depth < 2 && chance(depth == 0 ? 50 : 15)) {
      result = repeat(inner, depth + 1);
    } else {
      if (chance(30))
        keep(structured(inner));
      result = keepingType(inner);
    }
    if (result && result.getType() == inner.getType()) {
      inner = result;
      keep(inner);
    }
  }
  return inner;
}

/// Fills the body; returns the types of the results that are stacked.
SmallVector<Type> BodyProgram::fillLayer(RepeatOp draft, const Layers &layers,
                                         int64_t depth) {
  Value value = layers.inits.front();
  Block *body = draft.getBodyBlock();
  builder.setInsertionPointToStart(body);
  ++repeatDepth;
  if (chance(40))
    pool.clear();
  SmallVector<Value> next;
  for (BlockArgument argument : draft.getStackedArgs())
    keep(argument);
  for (BlockArgument argument : draft.getCarriedArgs())
    if (isa<RankedTensorType>(argument.getType()))
      keep(argument);
  Value both = parameterOfBoth(draft, value.getType());
  if (isFloat(value) && !shapeOf(value).empty() && chance(60)) {
    // The parts of this value are read, here or in a loop inside.
    Shape wide = shapeOf(value);
    wide[below(wide.size())] += 1 + below(8);
    keep(parameter(wide, elementOf(value)));
  }
  for (BlockArgument argument : draft.getCarriedArgs())
    next.push_back(isa<RankedTensorType>(argument.getType())
                       ? carriedOn(argument, {layers.shared, both}, depth)
                       : argument);
  SmallVector<Type> stackedTypes;
  for (int64_t more = layers.mayStack() ? pick({0, 0, 1, 1, 2}) : 0; more > 0;
       --more) {
    Value slice = chance(50) ? pool.back() : fromPool();
    if (slice.getParentBlock() != body || shapeOf(slice).size() > 3)
      continue;
    next.push_back(slice);
    Shape shape = shapeOf(slice);
    shape.insert(shape.begin(), layers.count);
    stackedTypes.push_back(tensor(shape, elementOf(slice)));
  }
  --repeatDepth;
  // The builder's implicit terminator gives way to the real one.
  if (!body->empty() && isa<YieldOp>(body->back()))
    body->back().erase();
  builder.setInsertionPointToEnd(body);
  OperationState state(loc, YieldOp::getOperationName());
  state.addOperands(next);
  builder.create(state);
  return stackedTypes;
}

Value BodyProgram::repeat(Value value, int64_t depth) {
  Layers layers = drawLayers(value, depth);
  SmallVector<Value> outer = pool;
  // The body is built first with no stacked results, which are added after.
  auto draft =
      RepeatOp::create(builder, loc, layers.count, layers.inits, layers.stacked,
                       TypeRange(), layers.first, layers.reverse);
  OpBuilder::InsertPoint after = builder.saveInsertionPoint();
  SmallVector<Type> stackedTypes = fillLayer(draft, layers, depth);
  pool = outer;
  builder.restoreInsertionPoint(after);
  auto op =
      RepeatOp::create(builder, loc, layers.count, layers.inits, layers.stacked,
                       stackedTypes, layers.first, layers.reverse);
  op.getBody().takeBody(draft.getBody());
  draft.erase();
  if (chance(15)) {
    // More calls than any of these makes.
    auto limit =
        CommLimitAttr::get(context, builder.getStringAttr("any"), 1000000, -1);
    op->setAttr(TPDialect::getCommBudgetAttrName(),
                CommBudgetAttr::get(context, limit));
  }
  for (Value result : op->getResults().drop_front())
    if (isa<RankedTensorType>(result.getType()))
      keep(result);
  value = op->getResult(0);
  return layers.shared
             ? ScalarBody(*this, shapeOf(value)).calculate(value, layers.shared)
             : value;
}

Value BodyProgram::call(Value value) {
  if (repeatDepth || function.isPrivate())
    return Value();
  SmallVector<Value> operands{value};
  if (chance(50))
    operands.push_back(fromPool());
  func::FuncOp caller = function;
  SmallVector<Value> outer = pool;
  OpBuilder::InsertPoint here = builder.saveInsertionPoint();
  builder.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> types(ValueRange(operands).getTypes());
  function = func::FuncOp::create(builder, loc,
                                  "helper" + std::to_string(numFunctions++),
                                  builder.getFunctionType(types, {}));
  function.setPrivate();
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  pool.assign(body->getArguments().begin(), body->getArguments().end());
  for (int64_t count = 1 + below(2); count > 0; --count)
    addOperation();
  SmallVector<Value> results{pool.back()};
  if (chance(25))
    results.push_back(fromPool());
  func::ReturnOp::create(builder, loc, results);
  SmallVector<Type> resultTypes(ValueRange(results).getTypes());
  function.setFunctionType(builder.getFunctionType(types, resultTypes));
  func::FuncOp callee = function;
  function = caller;
  pool = outer;
  builder.restoreInsertionPoint(here);
  auto op = func::CallOp::create(builder, loc, callee, operands);
  if (chance(30)) {
    // Once more, on the result if it fits.
    SmallVector<Value> again(operands);
    if (op->getResult(0).getType() == again[0].getType())
      again[0] = op->getResult(0);
    keep(op->getResult(0));
    op = func::CallOp::create(builder, loc, callee, again);
  }
  for (Value result : op->getResults().drop_front())
    keep(result);
  return op->getResult(0);
}

void BodyProgram::addOperation() {
  for (int attempt = 0; attempt < 6; ++attempt) {
    Value value = fromPool(), result;
    int64_t choice = below(100);
    if (choice < 28)
      result = structured(value);
    else if (choice < 36)
      result = contraction(value);
    else if (choice < 48)
      result = elementwise(value);
    else if (choice < 56)
      result = meeting(value);
    else if (choice < 64)
      result = named(value);
    else if (choice < 69)
      result = reduceOp(value);
    else if (choice < 72)
      result = mapOp(value);
    else if (choice < 80)
      result = moving(value);
    else if (choice < 84)
      result = chance(50) ? gather() : embedding();
    else if (choice < 88)
      result = constrained(value);
    else if (choice < 90)
      result = dropout(value);
    else if (choice < 91)
      result = transformer(value);
    else if (choice < 98)
      result = repeatDepth ? Value() : repeat(value, 0);
    else
      result = call(value);
    if (result) {
      int64_t elements = 1;
      for (int64_t size : shapeOf(result))
        elements *= size;
      if (elements > 3000)
        continue;
      keep(result);
      return;
    }
  }
}

/// One operation with a body of its own on fresh operands, and perhaps a second
/// one on its result.
void BodyProgram::addSingle() {
  Shape shape = someShape();
  Type element = someElement();
  // Now and then long enough that rounding and overflow tell.
  bool isLong = chance(8);
  if (isLong) {
    shape = chance(70) ? Shape{pick({256, 300, 402})} : Shape{2, 270};
    if (chance(40))
      element =
          chance(70) ? Type(builder.getBF16Type()) : Type(builder.getF16Type());
  }
  auto operand = [&]() -> Value {
    if (chance(55) && !element.isInteger(1))
      return partialSource(shape, element);
    Value value = whole(shape, element);
    if (!chance(30))
      return value;
    // Something computed of it, so that padding holds more than zeros.
    ScalarBody body(*this, shape);
    body.addInput(value, positive.contains(value));
    return body.draw(element);
  };
  if (isLong && isa<FloatType>(element) && chance(60)) {
    // Numbers of one sign, whose sum outgrows them.
    Value value = argument(shape, element);
    function.setArgAttr(function.getNumArguments() - 1, valuesAttrName,
                        builder.getStringAttr("positive"));
    keep(value);
    keep(reduceOp(value));
  } else {
    keep(operand());
  }
  for (int64_t others = pick({0, 1, 1, 2}); others > 0; --others)
    keep(operand());
  for (int64_t count = pick({1, 1, 1, 2, 2}); count > 0; --count) {
    Value value = chance(60) ? pool.back() : pool.front(), result;
    int64_t choice = below(20);
    if (choice < 6)
      result = structured(value);
    else if (choice < 10)
      result = contraction(value);
    else if (choice < 14)
      result = meeting(value);
    else if (choice < 15)
      result = mapOp(value);
    else if (choice < 18)
      result = reduceOp(value);
    else
      result = elementwise(value);
    keep(result);
  }
}

void BodyProgram::finish() {
  SmallVector<Value> results{pool.back()};
  if (chance(30))
    results.push_back(fromPool());
  // Most of what nothing reads, too.
  for (Value value : ArrayRef(pool).drop_back())
    if (value.use_empty() && !isa<BlockArgument>(value) && results.size() < 5 &&
        chance(70))
      results.push_back(value);
  func::ReturnOp::create(builder, loc, results);
  SmallVector<Type> types(ValueRange(results).getTypes());
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), types));
  for (auto [index, value] : llvm::enumerate(results))
    if (chance(30))
      if (ShardingAttr sharding = someSharding(shapeOf(value), !chance(3)))
        function.setResultAttr(index, TPDialect::getShardingAttrName(),
                               sharding);
}

OwningOpRef<ModuleOp> BodyProgram::make() {
  module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());
  makeMesh();
  if (chance(50))
    usualValues = someValues();
  // If all numbers have one sign, infinite sums stay infinite.
  hasInfinities = chance(30);
  if (hasInfinities && chance(70))
    usualValues = "positive";
  for (int64_t functions = chance(4) ? 2 : 1; functions > 0; --functions) {
    builder.setInsertionPointToEnd(module->getBody());
    function =
        func::FuncOp::create(builder, loc, functions == 2 ? "first" : "main",
                             builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(function.addEntryBlock());
    pool.clear();
    if (chance(45)) {
      addSingle();
      finish();
      continue;
    }
    Shape shape = someShape();
    Type element = someElement();
    if (chance(8))
      keep(chance(50) ? gather() : embedding());
    else if (chance(45) && !element.isInteger(1))
      keep(partialSource(shape, element));
    else
      keep(chance(85) ? whole(shape, element) : source(shape, element));
    if (chance(35))
      keep(source(chance(60) ? shape : someShape(), element));
    for (int64_t count = pick({1, 1, 2, 2, 3, 3, 4, 5, 6}); count > 0; --count)
      addOperation();
    finish();
  }
  return std::move(module);
}

} // namespace tp::fuzz
