//===- Optimizer.cpp - The update of weights ------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds @update: from the sum of gradients over all micro-batches to new
// weights, in the order of arithmetic that PyTorch has. Everything that belongs
// to one element is computed in one operation, so that memory is read and
// written once.
//
//===----------------------------------------------------------------------===//

#include "Training.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/NN/IR/Emitter.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"

using namespace mlir;
using namespace tp;
using namespace tp::differentiate;

using Values = SmallVector<Value>;

/// PyTorch adds this to the norm that it divides by.
static constexpr double clipEpsilon = 1e-6;

namespace {
class UpdateBuilder {
public:
  UpdateBuilder(ModuleOp module, TrainingStates &states,
                const TrainingOptions &options)
      : b(module.getLoc(), module.getContext()), module(module), states(states),
        options(options) {}

  void build();

private:
  ImplicitLocOpBuilder b;
  ModuleOp module;
  TrainingStates &states;
  const TrainingOptions &options;
  func::FuncOp function;
  SmallVector<NamedResult> results;
  /// Arguments, by the names that users give.
  llvm::StringMap<Value> settings;
  /// Scalars of the whole step: how many tokens the update is made of, 0 for
  /// one that is skipped, and the clip's factor of the gradients; null without
  /// a clip.
  Value counted, factor;

  RankedTensorType scalarType() {
    return RankedTensorType::get({}, b.getF32Type());
  }
  Value number(double value, Type type) { return makeConstant(b, type, value); }
  void addSetting(StringRef name, StringRef values);
  Value sumSquares(Value value);
  Value addSquares(ArrayRef<Value> gradients);
  void buildScalars(ArrayRef<Value> gradients);
  void updateWeight(TrainedWeight &weight, Value gradient);
  Values
  mapElements(RankedTensorType shape, ValueRange operands, TypeRange types,
              function_ref<Values(ImplicitLocOpBuilder &, ValueRange)> body);
};

/// Arithmetic within a body.
struct Element : nn::Scalar {
  explicit Element(ImplicitLocOpBuilder &b)
      : Scalar(b, b.getLoc(), b.getF32Type()) {}

  Value sqrt(Value x) { return math::SqrtOp::create(b, x); }
  Value isPositive(Value x) { return compare(nn::CmpF::OGT, x, 0); }
  /// `x` if `test` is finite, else 0. An infinity times 0 is NaN, and NaN
  /// compares equal to nothing.
  Value keepIfFinite(Value test, Value x) {
    Value zero = number(0);
    return select(compare(nn::CmpF::OEQ, mul(test, zero), zero), x, zero);
  }
};
} // namespace

/// Results of `types` over the elements of `shape`; operands of rank 0 are the
/// same for all.
Values UpdateBuilder::mapElements(
    RankedTensorType shape, ValueRange operands, TypeRange types,
    function_ref<Values(ImplicitLocOpBuilder &, ValueRange)> body) {
  unsigned rank = shape.getRank();
  AffineMap each = b.getMultiDimIdentityMap(rank);
  AffineMap all = AffineMap::get(rank, 0, b.getContext());
  SmallVector<AffineMap> maps;
  for (Value operand : operands)
    maps.push_back(cast<RankedTensorType>(operand.getType()).getRank() ? each
                                                                       : all);
  Values inits;
  for (Type type : types) {
    auto shaped = cast<RankedTensorType>(type);
    inits.push_back(
        tensor::EmptyOp::create(b, shaped.getShape(), shaped.getElementType()));
    maps.push_back(each);
  }
  auto generic = linalg::GenericOp::create(
      b, types, operands, inits, maps,
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
      [&](OpBuilder &inner, Location loc, ValueRange args) {
        ImplicitLocOpBuilder at(loc, inner);
        linalg::YieldOp::create(at, body(at, args));
      });
  return Values(generic.getResults());
}

void UpdateBuilder::addSetting(StringRef name, StringRef values) {
  unsigned index = function.getNumArguments();
  auto text = [&](StringRef key, StringRef value) {
    return b.getNamedAttr(key, b.getStringAttr(value));
  };
  (void)function.insertArgument(
      index, scalarType(),
      b.getDictionaryAttr({text(TPDialect::getNameAttrName(), name),
                           text(valuesAttrName, values)}),
      b.getLoc());
  settings[name] = function.getArgument(index);
}

/// The sum of the squares of all elements: first of the last dimension, so that
/// no sum has too many terms for 32 bits.
Value UpdateBuilder::sumSquares(Value value) {
  auto reduce = [&](Value from, unsigned kept, bool squares) -> Value {
    auto type = cast<RankedTensorType>(from.getType());
    auto to =
        RankedTensorType::get(type.getShape().take_front(kept), b.getF32Type());
    nn::Emitter emitter(b, b.getLoc(), b.getF32Type());
    return emitter.reduce(to, emitter.loops(kept), type.getRank(),
                          nn::Combine::Sum,
                          {{from, emitter.loops(type.getRank())}},
                          [&](nn::Scalar &e, ValueRange v) {
                            return squares ? e.mul(v[0], v[0]) : v[0];
                          });
  };
  unsigned rank = cast<RankedTensorType>(value.getType()).getRank();
  if (rank == 0)
    return arith::MulFOp::create(b, value, value);
  Value rows = reduce(value, rank - 1, /*squares=*/true);
  return rank == 1 ? rows : reduce(rows, 0, /*squares=*/false);
}

/// The gradients that plans split come before those that they leave whole, so
/// that what is partial is added before anything asks for the sum.
Value UpdateBuilder::addSquares(ArrayRef<Value> gradients) {
  Value total;
  for (bool decays : {true, false})
    for (auto [weight, gradient] : llvm::zip_equal(states.weights, gradients)) {
      if (weight.decays != decays)
        continue;
      b.setLoc(weight.gradient.getLoc());
      Value sum = sumSquares(gradient);
      b.setLoc(NameLoc::get(b.getStringAttr("gradient norm")));
      total = total ? arith::AddFOp::create(b, total, sum).getResult() : sum;
    }
  return total;
}

/// All of the step that is one number. The old loss and tokens are read here
/// alone, so that their states may be zeroed in place. A loss or norm that is
/// not finite counts as a step without tokens: the weights' kernels, which keep
/// the old values then, need no other test, and all ranks agree, as both
/// numbers are sums over all of them.
void UpdateBuilder::buildScalars(ArrayRef<Value> gradients) {
  Value lossSum = addArgument(function, states.lossSum);
  Value oldTokens = addArgument(function, states.tokens);
  function.setArgAttr(cast<BlockArgument>(oldTokens).getArgNumber(),
                      valuesAttrName, b.getStringAttr("positive"));
  Values operands{lossSum, oldTokens};
  if (!gradients.empty())
    operands.push_back(addSquares(gradients));
  b.setLoc(NameLoc::get(b.getStringAttr("gradient norm")));
  SmallVector<Type> types(7, scalarType());
  Values scalars = mapElements(
      scalarType(), operands, types,
      [&](ImplicitLocOpBuilder &at, ValueRange args) -> Values {
        Element e{at};
        Value zero = e.number(0), one = e.number(1), norm = zero;
        if (!gradients.empty())
          norm = e.select(e.isPositive(args[1]),
                          e.div(e.sqrt(args[2]), args[1]), zero);
        Value ratio =
            e.div(e.number(options.clip), e.add(norm, e.number(clipEpsilon)));
        Value least = arith::MinimumFOp::create(at, ratio, one);
        Value counted = e.keepIfFinite(norm, e.keepIfFinite(args[0], args[1]));
        return {args[0], args[1], norm, least, zero, zero, counted};
      });
  counted = scalars[6];
  if (options.clip > 0)
    factor = scalars[3];
  results = {makeResult("loss_sum", scalars[0]),
             makeResult("tokens", scalars[1]),
             makeResult("grad_norm", scalars[2]),
             makeResult(states.lossSum, scalars[4]),
             makeResult(states.tokens, scalars[5])};
}

/// AdamW as PyTorch computes it; g is the mean's clipped gradient. Returns the
/// weight and both moments. 1 - beta is a setting of its own: that of a rounded
/// beta near 1 would have few bits that are right.
static Values buildAdamW(Element e, const llvm::StringMap<Value> &given,
                         bool decays, Value p, Value g, Value m, Value v) {
  auto at = [&](StringRef name) { return given.lookup(name); };
  if (decays)
    p = e.mul(p, at("decay"));
  m = e.add(m, e.mul(e.sub(g, m), at("one_minus_beta1")));
  v = e.add(e.mul(v, at("beta2")), e.mul(e.mul(g, g), at("one_minus_beta2")));
  Value root = e.add(e.div(e.sqrt(v), at("correction")), at("eps"));
  p = e.sub(p, e.mul(at("step_size"), e.div(m, root)));
  return {p, m, v};
}

/// SGD as PyTorch computes it: coupled decay, momentum without dampening.
static Values buildSgd(Element e, const llvm::StringMap<Value> &given,
                       bool decays, Value p, Value g, Value momentum) {
  auto at = [&](StringRef name) { return given.lookup(name); };
  if (decays)
    g = e.add(g, e.mul(at("weight_decay"), p));
  if (momentum)
    g = momentum = e.add(e.mul(at("momentum"), momentum), g);
  p = e.sub(p, e.mul(at("lr"), g));
  return momentum ? Values{p, momentum} : Values{p};
}

void UpdateBuilder::updateWeight(TrainedWeight &weight, Value gradient) {
  b.setLoc(weight.weight.getLoc());
  bool isAdamW = options.optimizer == TrainingOptions::Optimizer::AdamW;
  SmallVector<StateOp> updated{weight.getUpdated()};
  for (StateOp state : {weight.expAvg, weight.expAvgSq, weight.momentum})
    if (state)
      updated.push_back(state);
  Values operands{gradient};
  for (StateOp state : updated)
    operands.push_back(addArgument(function, state));
  // A sum of squares is not negative.
  if (isAdamW)
    function.setArgAttr(cast<BlockArgument>(operands.back()).getArgNumber(),
                        valuesAttrName, b.getStringAttr("positive"));
  unsigned numElements = operands.size();
  SmallVector<StringRef> names;
  for (auto &[name, value] : settings)
    names.push_back(name);
  llvm::sort(names);
  for (StringRef name : names)
    operands.push_back(settings[name]);
  operands.push_back(counted);
  if (factor)
    operands.push_back(factor);
  SmallVector<Type> types;
  for (StateOp state : updated)
    types.push_back(state.getType());
  types.push_back(gradient.getType());
  if (weight.master)
    types.push_back(weight.type);
  Values made = mapElements(
      weight.type, operands, types,
      [&](ImplicitLocOpBuilder &at, ValueRange args) -> Values {
        Element e{at};
        llvm::StringMap<Value> given;
        for (auto [i, name] : llvm::enumerate(names))
          given[name] = args[numElements + i];
        Value count = args[numElements + names.size()];
        Value g = e.div(args[0], count);
        if (factor)
          g = e.mul(g, args[numElements + names.size() + 1]);
        Values next = isAdamW ? buildAdamW(e, given, weight.decays, args[1], g,
                                           args[2], args[3])
                              : buildSgd(e, given, weight.decays, args[1], g,
                                         weight.momentum ? args[2] : Value());
        // A step without a token, or one that is skipped, changes nothing.
        Value any = e.isPositive(count);
        for (auto [i, value] : llvm::enumerate(next))
          value = e.select(any, value, args[1 + i]);
        next.push_back(e.number(0));
        if (weight.master)
          next.push_back(convert(at, next[0], weight.type.getElementType()));
        return next;
      });
  for (auto [state, value] : llvm::zip(updated, made))
    results.push_back(makeResult(state, value));
  results.push_back(makeResult(weight.gradient, made[updated.size()]));
  if (weight.master)
    results.push_back(makeResult(weight.weight, made.back()));
}

void UpdateBuilder::build() {
  b.setInsertionPointToEnd(module.getBody());
  function = func::FuncOp::create(b, "update", b.getFunctionType({}, {}));
  b.setInsertionPointToStart(function.addEntryBlock());
  // Random values must be like this for a step to mean something.
  constexpr StringLiteral positive = "positive", fraction = "fraction";
  if (options.optimizer == TrainingOptions::Optimizer::AdamW) {
    for (StringRef name : {"one_minus_beta1", "beta2", "one_minus_beta2"})
      addSetting(name, fraction);
    for (StringRef name : {"decay", "step_size", "correction", "eps"})
      addSetting(name, positive);
  } else {
    addSetting("lr", positive);
    addSetting("weight_decay", positive);
    if (options.hasMomentum)
      addSetting("momentum", positive);
  }
  Values gradients;
  for (TrainedWeight &weight : states.weights)
    gradients.push_back(addArgument(function, weight.gradient));
  buildScalars(gradients);
  for (auto [weight, gradient] : llvm::zip_equal(states.weights, gradients))
    updateWeight(weight, gradient);
  b.setLoc(module.getLoc());
  func::ReturnOp::create(b);
  setResults(function, results);
}

void tp::differentiate::buildUpdate(ModuleOp module, TrainingStates &states,
                                    const TrainingOptions &options) {
  UpdateBuilder(module, states, options).build();
}
