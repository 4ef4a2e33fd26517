//===- Repeat.cpp - Repeated layers in reverse ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The derivative of `h = repeat n iter(x)` with the layer f is `dx = repeat n
// reverse iter(dh)` with the layer's derivative. It carries the cotangents of
// the carried values and, of what comes from above (values, and parameters that
// all layers share), the sum so far; it stacks the gradients of each layer's
// own parameters and of slices. Index and slices are those of the layer it is
// at.
//
//===----------------------------------------------------------------------===//

#include "Recompute.h"
#include "Reverse.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tp/Dialect/TP/IR/Stacks.h"

using namespace mlir;
using namespace tp;
using namespace tp::differentiate;

/// A layer's derivative while it is built: the body has no operation yet.
struct Reverser::Layer {
  RepeatOp op;
  OpBuilder &outer;
  Region region;
  Block *body;
  /// The operands of the operation to be: arguments of the body in this order.
  SmallVector<Value> inits, stacked;
  SmallVector<BlockArgument> carriedArgs, stackedArgs;
  SmallVector<Value> carriedYields, stackedYields;

  Layer(RepeatOp op, OpBuilder &outer)
      : op(op), outer(outer), body(&region.emplaceBlock()) {
    body->addArgument(outer.getIndexType(), op.getLoc());
  }
  Value getIndex() { return body->getArgument(0); }
  /// The body has no parent whose context a builder could take.
  OpBuilder getBuilder(bool atEnd) {
    OpBuilder builder(outer.getContext());
    atEnd ? builder.setInsertionPointToEnd(body)
          : builder.setInsertionPointToStart(body);
    return builder;
  }

  BlockArgument carry(Value init) {
    inits.push_back(init);
    carriedArgs.push_back(body->insertArgument(1 + carriedArgs.size(),
                                               init.getType(), op.getLoc()));
    return carriedArgs.back();
  }
  BlockArgument stack(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    stacked.push_back(value);
    stackedArgs.push_back(body->addArgument(
        type.clone(type.getShape().drop_front()), op.getLoc()));
    return stackedArgs.back();
  }
};

static Value makeZeros(OpBuilder &builder, Location loc, Type type) {
  ImplicitLocOpBuilder b(loc, builder);
  return makeConstant(b, type, 0);
}

/// True if each iteration has a parameter of its own by that key.
static bool hasOwn(RepeatOp op, const ParameterKey &key) {
  return key.count && llvm::any_of(op.getBodyBlock()->getOps<ParameterOp>(),
                                   [&](ParameterOp parameter) {
                                     return getKey(parameter) == key;
                                   });
}

LogicalResult Reverser::reverseRepeat(OpBuilder &builder, RepeatOp op,
                                      Cotangents &cotangents,
                                      ParameterGradients &parameters) {
  if (llvm::none_of(op.getResults(),
                    [&](Value result) { return !!cotangents.lookup(result); }))
    return success();
  size_t numCarried = op.getInits().size();
  if (op.getCount() == 0) {
    for (auto [init, result] : llvm::zip(op.getInits(), op.getResults()))
      add(builder, cotangents, init, cotangents.lookup(result));
    return success();
  }
  Layer layer(op, builder);
  OpBuilder inner = layer.getBuilder(/*atEnd=*/true);
  Cotangents local;
  SmallVector<BlockArgument> carried(numCarried);
  for (auto [number, result] : llvm::enumerate(op.getResults())) {
    Value cotangent = cotangents.lookup(result);
    bool isCarried = number < numCarried;
    if (!isActive(result) || (!cotangent && !isCarried))
      continue;
    if (!cotangent)
      cotangent = makeZeros(builder, op.getLoc(), result.getType());
    BlockArgument arg =
        isCarried ? layer.carry(cotangent) : layer.stack(cotangent);
    if (isCarried)
      carried[number] = arg;
    add(inner, local, op.getYield().getOperand(number), arg);
  }
  ParameterGradients layerParameters;
  if (failed(reverseBlock(inner, *op.getBodyBlock(), local, layerParameters)))
    return failure();
  for (auto [number, arg] : llvm::enumerate(op.getCarriedArgs()))
    if (carried[number]) {
      Value value = local.lookup(arg);
      layer.carriedYields.push_back(
          value ? value : makeZeros(inner, op.getLoc(), arg.getType()));
    }
  // By what, beside the carried values, a result of the derivative is.
  SmallVector<Value> fromAbove, slices;
  SmallVector<ParameterKey> shared, own;
  auto accumulate = [&](Value value) {
    Value sum = layer.carry(makeZeros(builder, op.getLoc(), value.getType()));
    layer.carriedYields.push_back(
        arith::AddFOp::create(inner, op.getLoc(), sum, value));
  };
  for (auto [value, cotangent] : local)
    if (!op.getBody().isAncestor(value.getParentRegion())) {
      fromAbove.push_back(value);
      accumulate(cotangent);
    }
  for (auto [key, value] : layerParameters.entries) {
    bool isOwn = hasOwn(op, key);
    (isOwn ? own : shared).push_back(key);
    if (isOwn)
      layer.stackedYields.push_back(value);
    else
      accumulate(value);
  }
  for (auto [arg, operand] : llvm::zip(op.getStackedArgs(), op.getStacked()))
    if (Value value = local.lookup(arg)) {
      slices.push_back(operand);
      layer.stackedYields.push_back(value);
    }
  RepeatOp reverse = finishLayer(layer);
  // In the order in which they were given.
  unsigned next = 0;
  for (auto [number, init] : llvm::enumerate(op.getInits()))
    if (carried[number])
      add(builder, cotangents, init, reverse.getResult(next++));
  for (Value value : fromAbove)
    add(builder, cotangents, value, reverse.getResult(next++));
  for (const ParameterKey &key : shared)
    parameters.add(builder, key, reverse.getResult(next++));
  for (const ParameterKey &key : own)
    parameters.add(builder, key, reverse.getResult(next++));
  for (Value value : slices)
    add(builder, cotangents, value, reverse.getResult(next++));
  return success();
}

RepeatOp Reverser::finishLayer(Layer &layer) {
  RepeatOp op = layer.op;
  OpBuilder inner = layer.getBuilder(/*atEnd=*/true);
  OperationState state(op.getLoc(), YieldOp::getOperationName());
  state.addOperands(layer.carriedYields);
  state.addOperands(layer.stackedYields);
  inner.create(state);
  // Gradients that nobody wants must not keep anything.
  for (Operation &dead : llvm::make_early_inc_range(llvm::reverse(*layer.body)))
    if (isOpTriviallyDead(&dead))
      dead.erase();
  keep(layer);
  SmallVector<Type> types;
  for (Value value : layer.stackedYields)
    types.push_back(getStackType(value.getType(), op.getCount()));
  auto reverse = RepeatOp::create(layer.outer, op.getLoc(), op.getCount(),
                                  layer.inits, layer.stacked, types,
                                  op.getFirstIndex(), !op.getReverse());
  reverse.getBody().takeBody(layer.region);
  return reverse;
}

/// The values of `layer` that `region` reads.
static DenseSet<Value> getRead(Region &region, Block *layer) {
  DenseSet<Value> read;
  region.walk([&](Operation *user) {
    for (Value operand : user->getOperands())
      if (operand.getParentBlock() == layer)
        read.insert(operand);
  });
  return read;
}

/// Let the derivative read the layer's values: stacks of them, where they are
/// not computed again.
void Reverser::keep(Layer &layer) {
  RepeatOp op = layer.op;
  Block *forward = op.getBodyBlock();
  IRMapping known;
  known.map(op.getIndex(), layer.getIndex());
  SmallVector<Value> kept;
  /// The results of the forward loop that the slices are of.
  SmallVector<unsigned> numbers;
  OpBuilder start = layer.getBuilder(/*atEnd=*/false);
  RecomputePlan plan(*forward, recompute, getRead(layer.region, forward));
  std::function<Value(Value)> find = [&](Value value) -> Value {
    if (value.getParentBlock() != forward)
      return value;
    if (Value found = known.lookupOrNull(value))
      return found;
    if (plan.isComputedAgain(value)) {
      Operation *maker = value.getDefiningOp();
      maker->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (operand.getParentBlock() == forward)
            known.map(operand, find(operand));
      });
      IRMapping local = known;
      Operation *clone = start.clone(*maker, local);
      for (auto [result, again] :
           llvm::zip(maker->getResults(), clone->getResults()))
        if (!known.contains(result) && plan.isComputedAgain(result))
          known.map(result, again);
      return known.lookup(value);
    }
    Value slice = layer.body->addArgument(value.getType(), op.getLoc());
    known.map(value, slice);
    // The program may stack it already.
    auto yielded = op.getYield().getOperands().drop_front(op.getInits().size());
    auto found = llvm::find(yielded, value);
    size_t number = found - yielded.begin();
    if (found == yielded.end()) {
      number = yielded.size() + kept.size();
      kept.push_back(value);
    }
    numbers.push_back(op.getInits().size() + number);
    return slice;
  };
  layer.region.walk([&](Operation *user) {
    for (OpOperand &operand : user->getOpOperands())
      operand.set(find(operand.get()));
  });
  auto stack = [&](RepeatOp from) {
    for (unsigned number : numbers)
      layer.stacked.push_back(from.getResult(number));
  };
  if (kept.empty())
    return stack(op);
  numKept += kept.size();
  RepeatOp wide = stackResults(op, kept);
  replaced.push_back(op);
  stack(wide);
}
