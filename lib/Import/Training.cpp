//===- Training.cpp - What a program that trains is imported with ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The models that can be trained, and dropout, which training alone has: its
// masks are functions of the inputs `seed` and `microstep`, and of the place in
// the program.
//
//===----------------------------------------------------------------------===//

#include "Training.h"

#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/TPOps.h"

using namespace mlir;

namespace tp {

static LogicalResult checkDropout(Location loc, const DropoutConfig &config,
                                  TrainOptions::Dropout asked) {
  using Dropout = TrainOptions::Dropout;
  if (asked == Dropout::On && config.attention > 0)
    return emitError(loc)
           << "--dropout on: " << config.attentionKey << " is "
           << config.attention
           << ", and dropout of attention's weights, which are never in "
              "memory, is not supported: expected --dropout residual, which "
              "leaves it out, or an "
           << config.attentionKey << " of 0";
  if (asked != Dropout::Off && config.other > 0)
    return emitError(loc) << "--dropout: " << config.otherKey << " is "
                          << config.other
                          << ", and this model drops by it where other models "
                             "do not: expected --dropout off, or a "
                          << config.otherKey << " of 0";
  if (asked != Dropout::Off && config.residual == 0 && config.embedding == 0)
    emitWarning(loc) << "--dropout "
                     << (asked == Dropout::On ? "on" : "residual")
                     << ": config.json asks for none";
  return success();
}

/// Refuses what families with experts do in training beside the loss of the
/// tokens.
static LogicalResult checkExperts(Location loc, const ModelConfig &config) {
  if (!config.experts)
    return success();
  if (config.experts->isBalanced)
    return emitError(loc)
           << "--train: output_router_logits asks for the loss that balances "
              "experts, times router_aux_loss_coef, which is not supported: "
              "expected false, or a coefficient of 0";
  if (config.experts->scalesInput)
    return emitError(loc)
           << "--train: experts of model_type \"" << config.modelType
           << "\", whose weights multiply what they read, have no derivative "
              "yet";
  if (config.experts->jitter != 0)
    return emitError(loc)
           << "--train: router_jitter_noise is " << config.experts->jitter
           << ", and random routing is not supported: expected 0";
  return success();
}

LogicalResult checkTraining(Location loc, const ModelConfig &config,
                            FloatKind dtype, const TrainOptions &options) {
  if (config.head != Head::NextToken)
    return emitError(loc) << "--train needs a language model; "
                          << config.architecture
                          << " has no loss that is known";
  if (failed(checkExperts(loc, config)))
    return failure();
  if (!config.paddingProblem.empty())
    return emitError(loc)
           << "--train: pad_token_id is " << config.paddingProblem
           << ", which is no row of the table of words, so that it is not "
              "known "
              "which row is not trained: expected null or an id in [-"
           << config.vocabSize << ", " << config.vocabSize << ")";
  if (dtype == FloatKind::F16)
    return emitError(loc)
           << "training in f16, the checkpoint's type, is not supported, for "
              "its gradients leave the range: expected --dtype f32 or bf16";
  return checkDropout(loc, config.dropout, options.dropout);
}

/// A number that is zero unless a step is given another.
Value ModelBuilder::getCounter(StringRef name, int64_t limit, Value &known) {
  if (known)
    return known;
  auto attribute = [&](StringRef key, Attribute value) {
    return builder.getNamedAttr(key, value);
  };
  return known = addArgument(
             name, RankedTensorType::get({}, builder.getI64Type()),
             {attribute(TPDialect::getNameAttrName(),
                        builder.getStringAttr(name)),
              attribute(rangeAttrName,
                        builder.getDenseI64ArrayAttr({0, limit})),
              attribute(defaultAttrName, builder.getStringAttr("zeros"))});
}

Value ModelBuilder::dropout(StringRef path, Value x, double probability) {
  if (!drops || probability == 0)
    return x;
  Value seed = getCounter("seed", INT64_MAX, dropoutSeed);
  Value step = getCounter("microstep", int64_t(1) << 32, dropoutStep);
  auto repeat = dyn_cast<RepeatOp>(builder.getInsertionBlock()->getParentOp());
  return nn::DropoutOp::create(
      builder, at(path), x.getType(), x, seed, step,
      repeat ? Value(repeat.getIndex()) : Value(), ValueRange(),
      builder.getF64FloatAttr(probability),
      builder.getI64IntegerAttr(numDropouts++), DenseI64ArrayAttr());
}

} // namespace tp
