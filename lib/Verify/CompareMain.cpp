//===- CompareMain.cpp - Steps of generation against @main ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One device runs a script, on a cache whose dead cells are no number, and what
// a step says of a row's last token is what @main says at that position of the
// whole text. Both compute the same function, so what disturbing does to @main
// is how far they may be apart.
//
//===----------------------------------------------------------------------===//

#include "Replay.h"
#include "Session.h"
#include "Steps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include <set>

using namespace mlir;
using namespace tp::interp;

namespace tp {

static Value castTo(OpBuilder &builder, Value value, Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  Location loc = value.getLoc();
  Type f32 = builder.getF32Type();
  if (type.getElementType() == element)
    return value;
  if (type.getElementType() != f32)
    value = arith::ExtFOp::create(builder, loc, type.clone(f32), value);
  if (element != f32)
    value = arith::TruncFOp::create(builder, loc, type.clone(element), value);
  return value;
}

/// Keys and values go through the type of the cache in @main as well.
static void roundAsCached(func::FuncOp main, Type cached) {
  main.walk([&](nn::AttentionOp op) {
    OpBuilder builder(op);
    for (OpOperand *operand : {&op.getKeyMutable(), &op.getValueMutable()}) {
      Value value = operand->get();
      Value rounded = castTo(builder, value, cached);
      operand->set(castTo(builder, rounded, getElementTypeOrSelf(value)));
    }
  });
}

/// The numbers that a quantised cache has of `value` [b, s, heads, size], by
/// scales as `write` has them.
static Value roundAsWritten(OpBuilder &builder, Value value,
                            nn::QuantizedCacheWriteOp write) {
  auto type = cast<RankedTensorType>(value.getType());
  Location loc = value.getLoc();
  SmallVector<int64_t> sizes(type.getShape()), group{1, 1, 1, 0};
  sizes.back() = 1;
  Value scales;
  if (write.getResultScales()) {
    scales = nn::ActivationScalesOp::create(
        builder, loc, RankedTensorType::get(sizes, builder.getF32Type()), value,
        write.getElement(), /*group=*/0, FloatAttr());
  } else {
    // [1, heads or 1], a parameter of the layer.
    int64_t heads =
        cast<RankedTensorType>(write.getScales().getType()).getDimSize(1);
    group = {0, 0, heads == 1 ? 0 : 1, 0};
    scales = builder.clone(*write.getScales().getDefiningOp())->getResult(0);
    scales = tensor::ExpandShapeOp::create(
        builder, loc,
        RankedTensorType::get({1, 1, heads, 1}, builder.getF32Type()), scales,
        SmallVector<ReassociationIndices>{{0, 1}, {2, 3}});
  }
  Value elements = nn::QuantizeOp::create(
      builder, loc, type.clone(write.getElement()), value, scales, group);
  Value numbers = nn::DequantizeOp::create(
      builder, loc, type.clone(builder.getF32Type()), elements, scales,
      /*zeros=*/Value(), /*groups=*/Value(), group);
  return castTo(builder, numbers, type.getElementType());
}

/// The same where the cache is quantised: layers write in the order in which
/// @main has them.
static LogicalResult roundAsQuantized(ModuleOp module, func::FuncOp main) {
  func::FuncOp step;
  SmallVector<nn::QuantizedCacheWriteOp> writes;
  module.walk([&](nn::QuantizedCacheWriteOp op) {
    auto function = op->getParentOfType<func::FuncOp>();
    if (!step || function == step) {
      step = function;
      writes.push_back(op);
    }
  });
  if (writes.empty())
    return success();
  SmallVector<nn::AttentionOp> attentions;
  main.walk([&](nn::AttentionOp op) { attentions.push_back(op); });
  if (writes.size() != 2 * attentions.size())
    return main.emitError()
           << "expected keys and values of " << attentions.size()
           << " attentions in a quantised cache, got " << writes.size()
           << " writes";
  for (auto [i, op] : llvm::enumerate(attentions)) {
    OpBuilder builder(op);
    OpOperand *operands[] = {&op.getKeyMutable(), &op.getValueMutable()};
    for (auto [j, operand] : llvm::enumerate(operands))
      operand->set(roundAsWritten(builder, operand->get(), writes[2 * i + j]));
  }
  return success();
}

namespace {
/// @main on whole texts, each run when it is first asked for.
class MainRuns {
public:
  static FailureOr<MainRuns> make(ModuleOp program, const Script &script,
                                  const VerifyOptions &options);
  FailureOr<Reference *> get(int64_t text);
  unsigned getLogitsNumber() const { return logits; }
  int64_t getVocabulary() const { return vocabulary; }
  const Reference::Value &getLogits(const Reference &run) const {
    return run.getResults()[logits];
  }

private:
  MainRuns(const Script &script, const VerifyOptions &options)
      : script(&script), options(options) {
    // Only its results are kept.
    this->options.maxKeptBytes = 0;
  }

  const Script *script;
  VerifyOptions options;
  OwningOpRef<ModuleOp> module;
  func::FuncOp main;
  unsigned ids = 0, logits = 0;
  /// None, if the program has no mask.
  std::optional<unsigned> mask;
  int64_t vocabulary = 0;
  std::map<int64_t, Reference> runs;
};
} // namespace

FailureOr<MainRuns> MainRuns::make(ModuleOp program, const Script &script,
                                   const VerifyOptions &options) {
  MainRuns runs(script, options);
  runs.module = program.clone();
  runs.main = runs.module->lookupSymbol<func::FuncOp>("main");
  for (auto state : runs.module->getOps<StateOp>()) {
    RankedTensorType type = state.getGlobalType();
    if (isPool(state.getSymName(), type.getShape(), *getElementType(type)) &&
        isa<FloatType>(type.getElementType()) && type.getRank() == 4)
      roundAsCached(runs.main, type.getElementType());
  }
  if (failed(roundAsQuantized(*runs.module, runs.main)))
    return failure();
  FailureOr<unsigned> ids = findArgument(runs.main, "input_ids"),
                      logits = findResult(runs.main, "logits");
  if (failed(ids) || failed(logits))
    return failure();
  runs.ids = *ids;
  for (unsigned i = 0; i < runs.main.getNumArguments(); ++i) {
    auto name =
        runs.main.getArgAttrOfType<StringAttr>(i, TPDialect::getNameAttrName());
    if (name && name.getValue() == "attention_mask")
      runs.mask = i;
  }
  runs.logits = *logits;
  auto shapeOf = [](Type type) {
    return cast<RankedTensorType>(type).getShape();
  };
  ArrayRef<int64_t> in = shapeOf(runs.main.getArgument(*ids).getType()),
                    out = shapeOf(runs.main.getResultTypes()[*logits]);
  if (out.size() != 3 || out.drop_back() != in)
    return runs.main.emitError()
           << "expected logits of every position to compare the steps of "
              "generation with: import the checkpoint without --logits last";
  runs.vocabulary = out.back();
  return runs;
}

FailureOr<Reference *> MainRuns::get(int64_t text) {
  auto found = runs.find(text);
  if (found != runs.end())
    return &found->second;
  FailureOr<SmallVector<Tensor>> inputs = makeInputs(main, options.seed);
  if (failed(inputs))
    return failure();
  const std::vector<int64_t> &numbers = script->texts[text];
  Tensor &id = (*inputs)[ids];
  int64_t length = numbers.size(), width = id.getShape().back();
  for (int64_t i = 0; i < id.getNumElements(); ++i) {
    id.setInt(i, i % width < length ? numbers[i % width] : 0);
    // No position sees what comes after it.
    if (mask)
      (*inputs)[*mask].setInt(i, 1);
  }
  FailureOr<Reference> run = Reference::run(main, *inputs, options);
  if (failed(run))
    return failure();
  return &runs.emplace(text, std::move(*run)).first->second;
}

/// Observes a row of a step as @main gives it.
static Observation observeRow(const Tensor &logits,
                              const Script::LastToken &token,
                              const Reference::Value &expected) {
  Tensor all(expected.tensor.getShape(), {ElementType::F32, 32});
  int64_t vocabulary = all.getShape().back();
  for (int64_t i = 0; i < all.getNumElements(); ++i)
    all.setFloat(i, expected.tensor.getFloat(i));
  for (int64_t i = 0; i < vocabulary; ++i)
    all.setFloat(token.position * vocabulary + i,
                 logits.getFloat(token.row * vocabulary + i));
  return observeNative(all, expected);
}

/// The number of the output, checked against that of @main.
static FailureOr<unsigned> findLogits(func::FuncOp function,
                                      const Script::Step &step,
                                      int64_t vocabulary) {
  FailureOr<unsigned> index = findResult(function, "logits");
  if (failed(index))
    return failure();
  int64_t rows = step.inputs.at("context").getNumElements();
  auto type = cast<RankedTensorType>(function.getResultTypes()[*index]);
  if (type.getShape() != ArrayRef<int64_t>{rows, vocabulary})
    return function.emitError()
           << "expected output 'logits' of @" << function.getSymName()
           << " to be of [" << rows << ", " << vocabulary << "], got " << type;
  return index;
}

/// One step: `states` are what it begins with, and then what it leaves.
static FailureOr<SmallVector<Tensor>> runStep(func::FuncOp function,
                                              const Script::Step &step,
                                              NamedTensors &states,
                                              const VerifyOptions &options) {
  FailureOr<SmallVector<Tensor>> inputs =
      makeStepInputs(function, states, &step.inputs, options.seed);
  if (failed(inputs))
    return failure();
  RandomParameters random(options.seed);
  InterpreterOptions run;
  run.parameters = options.parameters ? options.parameters : &random;
  FailureOr<SmallVector<Tensor>> results =
      interpretOneRank(function, *inputs, run);
  if (succeeded(results))
    for (auto [index, result] : llvm::enumerate(*results))
      if (FlatSymbolRefAttr state = getResultState(function, index))
        states[state.getValue().str()] = result;
  return results;
}

FailureOr<Comparison> compareWithMain(ModuleOp program, const Script &script,
                                      const VerifyOptions &options) {
  FailureOr<MainRuns> runs = MainRuns::make(program, script, options);
  FailureOr<NamedTensors> states = makeInitialStates(program, options);
  if (failed(runs) || failed(states))
    return failure();
  Comparison all;
  std::set<int64_t> judged;
  for (auto [number, step] : llvm::enumerate(script.steps)) {
    for (auto &[name, pool] : *states)
      poisonPages(name, pool, step.freed);
    auto function = program.lookupSymbol<func::FuncOp>(step.entry);
    FailureOr<unsigned> logits =
        findLogits(function, step, runs->getVocabulary());
    if (failed(logits))
      return failure();
    FailureOr<SmallVector<Tensor>> results =
        runStep(function, step, *states, options);
    if (failed(results))
      return failure();
    Comparison comparison;
    for (const Script::LastToken &token : step.lastTokens) {
      FailureOr<Reference *> run = runs->get(token.text);
      if (failed(run))
        return failure();
      Observation observation =
          observeRow((*results)[*logits], token, runs->getLogits(**run));
      observation.resultNumber = runs->getLogitsNumber();
      // An inconclusive text is reported once.
      observation.isOriginal = judged.insert(token.text).second;
      observation.what =
          "row " + std::to_string(token.row) + " of @" + step.entry;
      observation.location = formatLocation(function.getLoc());
      if (failed(compareObservation(observation, Mesh(), **run, comparison)))
        break;
    }
    append(all, std::move(comparison), number + 1);
    if (all.divergence)
      break;
  }
  return all;
}

} // namespace tp
