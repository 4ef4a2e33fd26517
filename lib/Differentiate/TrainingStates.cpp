//===- TrainingStates.cpp - States instead of parameters ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values that training changes live between steps: weights, their
// gradients, and the optimizer's state of each. A repeated layer's is one state
// with a slice for each layer, which tp.repeat hands to it.
//
//===----------------------------------------------------------------------===//

#include "Training.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"

using namespace mlir;
using namespace tp;
using namespace tp::differentiate;

SmallVector<std::pair<StringRef, StateOp>> TrainedWeight::getCompanions() {
  SmallVector<std::pair<StringRef, StateOp>> companions;
  for (auto [role, state] : {std::pair(StringRef("gradient"), gradient),
                             std::pair(StringRef("master"), master),
                             std::pair(StringRef("exp_avg"), expAvg),
                             std::pair(StringRef("exp_avg_sq"), expAvgSq),
                             std::pair(StringRef("momentum"), momentum)})
    if (state)
      companions.push_back({role, state});
  return companions;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

/// The checkpoint's name, of part of a tensor with where that begins, and of
/// layers with others before them with the first.
static std::string getStateName(ParameterOp op) {
  ParameterKey key = getKey(op);
  std::string name = key.name.str();
  llvm::raw_string_ostream os(name);
  auto type = cast<RankedTensorType>(op.getType());
  bool isPart = false;
  if (key.source)
    for (auto [dim, from] : llvm::enumerate(key.source.getPermutation()))
      isPart |= type.getDimSize(dim) != key.source.getShape()[from];
  if (isPart) {
    os << "[";
    llvm::interleave(key.source.getOffsets(), os, ",");
    os << "]";
  }
  if (key.first != 0)
    os << " from " << key.first;
  return name;
}

namespace {
class Declarer {
public:
  Declarer(ModuleOp module, const TrainingOptions &options)
      : module(module), options(options),
        builder(OpBuilder::atBlockBegin(module.getBody())) {}

  FailureOr<TrainingStates> run(ArrayRef<func::FuncOp> functions);

private:
  ModuleOp module;
  const TrainingOptions &options;
  OpBuilder builder;

  FailureOr<StateOp> declare(Location loc, const Twine &name,
                             RankedTensorType type, ParameterOp parameter = {});
  FailureOr<TrainedWeight> declareWeight(ParameterOp op);
};
} // namespace

/// A state that begins with zeros, or with the parameter.
FailureOr<StateOp> Declarer::declare(Location loc, const Twine &name,
                                     RankedTensorType type,
                                     ParameterOp parameter) {
  if (Operation *other = module.lookupSymbol(name.str())) {
    InFlightDiagnostic diag = emitError(loc)
                              << "expected the symbol '" << name.str()
                              << "' to be free for a state of the training "
                                 "step";
    diag.attachNote(other->getLoc()) << "it is here";
    return diag;
  }
  StringAttr tensor;
  IntegerAttr first;
  ParameterSourceAttr source;
  ArrayAttr alternatives;
  if (parameter) {
    ParameterKey key = getKey(parameter);
    tensor = key.name;
    source = key.source;
    alternatives = parameter.getAlternativesAttr();
    if (key.first != 0)
      first = builder.getI64IntegerAttr(key.first);
  }
  auto state =
      StateOp::create(builder, loc, name.str(), type, ShardingAttr(),
                      /*ones=*/false, tensor, first, source, alternatives);
  if (parameter)
    if (Attribute init = parameter->getAttr(initAttrName))
      state->setAttr(initAttrName, init);
  return state;
}

/// How a parameter's state is cut if the parameter is annotated, of a stack of
/// layers each slice; null if it is not.
static ShardingAttr getStackedSharding(ParameterOp op) {
  ShardingAttr sharding = getSharding(op.getResult());
  int64_t stacked = getValueType(op).getRank() - op.getType().getRank();
  if (!sharding || stacked == 0)
    return sharding;
  MLIRContext *context = op.getContext();
  SmallVector<DimShardingAttr> dims(
      stacked, DimShardingAttr::get(context, {}, 1, /*isOpen=*/false));
  llvm::append_range(dims, sharding.getDims());
  return ShardingAttr::get(context, sharding.getMesh(), dims, {},
                           ReductionKind::Sum);
}

FailureOr<TrainedWeight> Declarer::declareWeight(ParameterOp op) {
  TrainedWeight weight;
  weight.key = getKey(op);
  weight.type = getValueType(op);
  // The rank is the checkpoint tensor's: norms of each head are a stack of
  // vectors.
  weight.decays =
      getTensorShape(weight.key.name, getCheckpointType(op).getShape()).size() >
      1;
  std::string name = getStateName(op);
  Location loc = op.getLoc();
  auto wide = cast<RankedTensorType>(weight.type.clone(builder.getF32Type()));
  auto add = [&](StateOp &to, const Twine &given, RankedTensorType type,
                 ParameterOp parameter = {}) -> LogicalResult {
    FailureOr<StateOp> state = declare(loc, given, type, parameter);
    if (failed(state))
      return failure();
    to = *state;
    return success();
  };
  bool isAdamW = options.optimizer == TrainingOptions::Optimizer::AdamW;
  if (failed(add(weight.weight, name, weight.type, op)) ||
      failed(add(weight.gradient, "grad:" + name, wide)) ||
      (weight.type != wide &&
       failed(add(weight.master, "master:" + name, wide, op))) ||
      (isAdamW && (failed(add(weight.expAvg, "exp_avg:" + name, wide)) ||
                   failed(add(weight.expAvgSq, "exp_avg_sq:" + name, wide)))) ||
      (options.hasMomentum &&
       failed(add(weight.momentum, "momentum:" + name, wide))))
    return failure();
  // The other states of a parameter are cut likewise (tp-annotate).
  if (ShardingAttr sharding = getStackedSharding(op))
    weight.weight.setShardingAttr(sharding);
  return weight;
}

FailureOr<TrainingStates> Declarer::run(ArrayRef<func::FuncOp> functions) {
  TrainingStates states;
  SmallVector<ParameterOp> parameters;
  for (func::FuncOp function : functions)
    for (ParameterOp op : collectParameters(function))
      if (llvm::none_of(parameters, [&](ParameterOp other) {
            return getKey(other) == getKey(op);
          }))
        parameters.push_back(op);
  for (ParameterOp op : parameters) {
    FailureOr<TrainedWeight> weight = declareWeight(op);
    if (failed(weight))
      return failure();
    states.weights.push_back(*weight);
  }
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  for (auto [to, name] : {std::pair(&states.lossSum, "loss_sum"),
                          std::pair(&states.tokens, "tokens")}) {
    FailureOr<StateOp> state = declare(module.getLoc(), name, scalar);
    if (failed(state))
      return failure();
    *to = *state;
  }
  return states;
}

FailureOr<TrainingStates>
tp::differentiate::declareStates(ModuleOp module,
                                 ArrayRef<func::FuncOp> functions,
                                 const TrainingOptions &options) {
  return Declarer(module, options).run(functions);
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

Value tp::differentiate::addArgument(func::FuncOp function, StateOp state) {
  Builder builder(function.getContext());
  unsigned index = function.getNumArguments();
  auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
  (void)function.insertArgument(index, state.getType(),
                                builder.getDictionaryAttr(builder.getNamedAttr(
                                    TPDialect::getStateAttrName(), symbol)),
                                state.getLoc());
  return function.getArgument(index);
}

NamedResult tp::differentiate::makeResult(StringRef name, Value value) {
  return {value, TPDialect::getNameAttrName(),
          StringAttr::get(value.getContext(), name)};
}

NamedResult tp::differentiate::makeResult(StateOp state, Value value) {
  return {value, TPDialect::getStateAttrName(),
          FlatSymbolRefAttr::get(state.getSymNameAttr())};
}

void tp::differentiate::setResults(func::FuncOp function,
                                   ArrayRef<NamedResult> results) {
  Builder builder(function.getContext());
  SmallVector<Value> values;
  SmallVector<Attribute> attributes;
  for (const NamedResult &result : results) {
    values.push_back(result.value);
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(result.attribute, result.given)));
  }
  function.getBody().front().getTerminator()->setOperands(values);
  function.setFunctionType(builder.getFunctionType(
      function.getArgumentTypes(), TypeRange(ValueRange(values))));
  function.setResAttrsAttr(builder.getArrayAttr(attributes));
}

//===----------------------------------------------------------------------===//
// Reading and adding up
//===----------------------------------------------------------------------===//

/// The slice of `whole` that each iteration gets.
static Value getSlice(RepeatOp repeat, Value whole) {
  auto stacked = repeat.getStacked();
  auto found = llvm::find(stacked, whole);
  if (found != stacked.end())
    return repeat.getStackedArgs()[found - stacked.begin()];
  auto type = cast<RankedTensorType>(whole.getType());
  repeat.getStackedMutable().append(whole);
  return repeat.getBodyBlock()->addArgument(
      type.clone(type.getShape().drop_front()), whole.getLoc());
}

void tp::differentiate::readStates(func::FuncOp function,
                                   TrainingStates &states) {
  for (TrainedWeight &weight : states.weights) {
    SmallVector<ParameterOp> reads;
    function.walk([&](ParameterOp op) {
      if (getKey(op) == weight.key)
        reads.push_back(op);
    });
    if (reads.empty())
      continue;
    Value argument = addArgument(function, weight.weight);
    for (ParameterOp op : reads) {
      op.replaceAllUsesWith(
          op.isTemplate() ? getSlice(op->getParentOfType<RepeatOp>(), argument)
                          : argument);
      op.erase();
    }
  }
}

Value tp::differentiate::accumulate(Value total, Value value) {
  auto repeat = value.getDefiningOp<RepeatOp>();
  unsigned number = repeat ? cast<OpResult>(value).getResultNumber() : 0;
  if (!repeat || number < repeat.getInits().size() || !value.hasOneUse() ||
      llvm::is_contained(repeat.getStacked(), total)) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    return arith::AddFOp::create(builder, value.getLoc(), total, value);
  }
  OpOperand &yielded = repeat.getYield()->getOpOperand(number);
  OpBuilder builder(yielded.getOwner());
  Value slice = getSlice(repeat, total);
  yielded.set(arith::AddFOp::create(builder, yielded.get().getLoc(), slice,
                                    yielded.get()));
  return value;
}
