//===- MakeTrainingStep.cpp - From a gradient to a training step ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tp-make-training-step: the parameters of @main and @gradient become states,
// @gradient adds to the gradients of earlier micro-batches, and @update makes
// new weights of them.
//
//===----------------------------------------------------------------------===//

#include "Training.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/Phase.h"
#include "tp/Differentiate/Passes.h"

namespace tp {
#define GEN_PASS_DEF_MAKETRAININGSTEP
#include "tp/Differentiate/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::differentiate;

/// The options that the module asks for, or an error.
static FailureOr<TrainingOptions> readOptions(ModuleOp module,
                                              DictionaryAttr given) {
  TrainingOptions options;
  for (NamedAttribute entry : given) {
    StringRef key = entry.getName(), text;
    if (auto string = dyn_cast<StringAttr>(entry.getValue()))
      text = string.getValue();
    auto number = dyn_cast<FloatAttr>(entry.getValue());
    if (key == "optimizer" && (text == "adamw" || text == "sgd"))
      options.optimizer = text == "adamw" ? TrainingOptions::Optimizer::AdamW
                                          : TrainingOptions::Optimizer::Sgd;
    else if (key == "clip" && number && number.getValueAsDouble() >= 0)
      options.clip = number.getValueAsDouble();
    else if (key == "momentum" && isa<UnitAttr>(entry.getValue()))
      options.hasMomentum = true;
    // Annotate's business.
    else if (key != shardOptimizerAttrName || text.empty())
      return module.emitError()
             << "expected " << TPDialect::getTrainingAttrName()
             << " to have 'optimizer' (\"adamw\" or \"sgd\"), 'clip' (a number "
                "that is not negative), 'momentum' (of sgd) and "
                "'shard_optimizer' (a mesh axis), got '"
             << key << "' = " << entry.getValue();
  }
  if (!given.contains("optimizer") ||
      (options.hasMomentum &&
       options.optimizer != TrainingOptions::Optimizer::Sgd))
    return module.emitError()
           << "expected " << TPDialect::getTrainingAttrName()
           << " to have an 'optimizer', and 'momentum' only with \"sgd\", got "
           << given;
  return options;
}

/// The value that `function` returns under `name`, a rank-0 f32; null, after an
/// error, if there is none.
static Value findResult(func::FuncOp function, StringRef name) {
  Operation *end = function.getBody().front().getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto given = function.getResultAttrOfType<StringAttr>(
        i, TPDialect::getNameAttrName());
    auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[i]);
    if (given && given.getValue() == name && type && type.getRank() == 0 &&
        type.getElementType().isF32())
      return end->getOperand(i);
  }
  function.emitError() << "expected a result named '" << name
                       << "' of type tensor<f32>, for a training step adds up "
                          "the loss and counts tokens";
  return {};
}

namespace {
struct MakeTrainingStepPass
    : tp::impl::MakeTrainingStepBase<MakeTrainingStepPass> {
  void runOnOperation() override {
    if (failed(expectGlobal(getOperation())))
      return signalPassFailure();
    auto given = getOperation()->getAttrOfType<DictionaryAttr>(
        TPDialect::getTrainingAttrName());
    // One with weights is such a step already.
    if (given && !given.contains("weights") && failed(make(given)))
      signalPassFailure();
  }

  LogicalResult make(DictionaryAttr given);
  /// Let @gradient add to states what it returned.
  LogicalResult addToStates(func::FuncOp gradient, TrainingStates &states);
  void note(DictionaryAttr given, TrainingStates &states);
};
} // namespace

LogicalResult MakeTrainingStepPass::make(DictionaryAttr given) {
  ModuleOp module = getOperation();
  FailureOr<TrainingOptions> options = readOptions(module, given);
  if (failed(options))
    return failure();
  func::FuncOp gradient, forward;
  for (auto function : module.getOps<func::FuncOp>()) {
    bool hasLoss = false, hasGradient = false;
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      hasLoss |= bool(function.getResultAttr(i, TPDialect::getLossAttrName()));
      hasGradient |=
          bool(function.getResultAttr(i, TPDialect::getGradientAttrName()));
    }
    if (hasGradient)
      gradient = function;
    else if (hasLoss)
      forward = function;
  }
  if (!forward || !gradient)
    return module.emitError()
           << "expected a function with a result marked "
           << TPDialect::getLossAttrName()
           << " and one with its gradients, for the module asks for training ("
           << TPDialect::getTrainingAttrName() << ")";
  if (Operation *other = module.lookupSymbol("update")) {
    InFlightDiagnostic diag = module.emitError()
                              << "expected no @update in a module that asks "
                                 "for training";
    diag.attachNote(other->getLoc()) << "it is here";
    return diag;
  }
  FailureOr<TrainingStates> states =
      declareStates(module, {forward, gradient}, *options);
  if (failed(states) || failed(addToStates(gradient, *states)))
    return failure();
  dropNothing(forward);
  readStates(forward, *states);
  readStates(gradient, *states);
  buildUpdate(module, *states, *options);
  note(given, *states);
  return success();
}

LogicalResult MakeTrainingStepPass::addToStates(func::FuncOp gradient,
                                                TrainingStates &states) {
  Value lossSum = findResult(gradient, "loss_sum");
  Value tokens = lossSum ? findResult(gradient, "tokens") : Value();
  if (!tokens)
    return failure();
  Operation *end = gradient.getBody().front().getTerminator();
  struct Addend {
    StateOp state;
    Value value;
  };
  SmallVector<Addend> addends;
  for (unsigned i = 0; i < gradient.getNumResults(); ++i) {
    auto mark = gradient.getResultAttrOfType<GradientAttr>(
        i, TPDialect::getGradientAttrName());
    for (TrainedWeight &weight : states.weights)
      if (mark && mark.getName() == weight.key.name &&
          mark.getSource() == weight.key.source &&
          mark.getFirst() == weight.key.first)
        addends.push_back({weight.gradient, end->getOperand(i)});
  }
  addends.push_back({states.lossSum, lossSum});
  addends.push_back({states.tokens, tokens});
  // A value that is returned twice is added twice.
  SmallVector<Value> returned;
  for (const Addend &addend : addends)
    returned.push_back(addend.value);
  end->setOperands(returned);
  SmallVector<NamedResult> results;
  for (const Addend &addend : addends)
    results.push_back(
        makeResult(addend.state, accumulate(addArgument(gradient, addend.state),
                                            addend.value)));
  setResults(gradient, results);
  return success();
}

void MakeTrainingStepPass::note(DictionaryAttr given, TrainingStates &states) {
  Builder builder(&getContext());
  auto entry = [&](StringRef key, StateOp state) {
    return builder.getNamedAttr(key,
                                FlatSymbolRefAttr::get(state.getSymNameAttr()));
  };
  SmallVector<Attribute> weights;
  for (TrainedWeight &weight : states.weights) {
    SmallVector<NamedAttribute> fields{
        entry("weight", weight.weight),
        builder.getNamedAttr("decay", builder.getBoolAttr(weight.decays))};
    for (auto [role, state] : weight.getCompanions())
      fields.push_back(entry(role, state));
    weights.push_back(builder.getDictionaryAttr(fields));
    ++numWeights;
  }
  SmallVector<NamedAttribute> all(given.getValue());
  all.push_back(builder.getNamedAttr("weights", builder.getArrayAttr(weights)));
  all.push_back(entry("loss_sum", states.lossSum));
  all.push_back(entry("tokens", states.tokens));
  getOperation()->setAttr(TPDialect::getTrainingAttrName(),
                          builder.getDictionaryAttr(all));
}
