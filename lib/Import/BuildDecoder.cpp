//===- BuildDecoder.cpp - What language models read and give --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens, positions, operations that mix positions, and logits. Steps of
// generation are derived from the program that these make (lib/Derive); the
// checkpoint's scales of a cache are read here.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/NN/IR/Emitter.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"

using namespace mlir;

namespace tp {

Value ModelBuilder::addTokens() {
  Value ids = addInput("input_ids", config.vocabSize, "");
  mask = addInput("attention_mask", 2, "ones");
  return ids;
}

std::pair<Value, Value> ModelBuilder::rotaryTable(StringRef path,
                                                  ArrayRef<float> frequencies,
                                                  double factor) {
  int64_t half = frequencies.size();
  Type f32 = builder.getF32Type();
  auto attr =
      DenseElementsAttr::get(RankedTensorType::get({half}, f32), frequencies);
  auto type = RankedTensorType::get({seq, half}, f32);
  auto op = nn::RotaryTableOp::create(builder, at(path), type, type,
                                      /*offset=*/Value(), /*positions=*/Value(),
                                      attr, builder.getF64FloatAttr(factor));
  return {op.getCos(), op.getSin()};
}

/// Computed in f32 and rounded to the model's type, as queries are then
/// multiplied in that.
Value ModelBuilder::queryFactors(StringRef path) {
  double growth = config.rope.queryGrowth;
  if (growth == 0)
    return {};
  int64_t length = config.rope.originalMaxPositions;
  nn::Emitter emitter(builder, at(path), elementType);
  return emitter.map(type({seq}), {}, [&](nn::Scalar &e, ValueRange) {
    Value position = e.cast(e.index(0), e.b.getI32Type());
    Value lengths = e.toFloat(e.quotient(position, length));
    Value log = e.log(e.add(e.number(1), lengths));
    return e.add(e.number(1), e.mul(e.number(growth), log));
  });
}

//===----------------------------------------------------------------------===//
// Operations that mix positions
//===----------------------------------------------------------------------===//

Value ModelBuilder::causalAttention(StringRef path, Value q, Value k, Value v,
                                    Value bias, Value sinks, bool slides) {
  Value result =
      attention(path, q, k, v, mask, bias, sinks, /*causal=*/true, slides);
  attentions[result.getDefiningOp()] = {firstIteration, numIterations,
                                        layerNumber};
  return result;
}

Value ModelBuilder::causalConv(StringRef path, Value x, Value weight,
                               Value bias) {
  return nn::CausalConvOp::create(builder, at(path), x.getType(), x, weight,
                                  bias, /*reversed=*/UnitAttr());
}

Value ModelBuilder::deltaRule(StringRef path, Value q, Value k, Value v,
                              Value decay, Value beta) {
  return nn::GatedDeltaRuleOp::create(builder, at(path), v.getType(), q, k, v,
                                      decay, beta);
}

//===----------------------------------------------------------------------===//
// Scales of a cache
//===----------------------------------------------------------------------===//

/// The names that tools give the scales of keys (0) or values (1), within the
/// module of attention.
static SmallVector<std::string> getScaleNames(unsigned which) {
  std::string letter = which == 0 ? "k" : "v", scale = letter + "_scale";
  return {"." + scale, ".attn." + scale, "." + letter + "_proj." + scale,
          "." + letter + "_proj.output_scale", ".kv_scale"};
}

bool readsCacheScales(const ModelConfig &config, const Checkpoint &checkpoint,
                      CacheType type) {
  // A checkpoint's scales of latent attention are those of the latent values.
  if (type != CacheType::FP8 || config.latent)
    return false;
  return llvm::any_of(getScaleNames(0), [&](StringRef end) {
    std::string name = (config.layout.attention + end).str();
    return llvm::any_of(checkpoint.getTensors(), [&](const auto &entry) {
      return entry.first().ends_with(name);
    });
  });
}

/// The checkpoint's scales [1, heads], or [1, 1], of the keys (0) or values (1)
/// of an attention.
Value ModelBuilder::readCacheScales(Operation *attention, unsigned which,
                                    int64_t heads) {
  auto [first, iterations, number] = attentions.at(attention);
  firstIteration = first, numIterations = iterations, layerNumber = number;
  const ModelLayout &layout = config.layout;
  SmallVector<std::string> names;
  for (StringRef end : getScaleNames(which))
    llvm::append_range(names,
                       namesOf(layout.layer + "." + layout.attention + end));
  StringRef type = "F32";
  int64_t size = 1;
  for (const std::string &name : names)
    if (const CheckpointTensor *tensor = find(name, {})) {
      type = tensor->dtype;
      if (llvm::any_of(tensor->shape, [](int64_t size) { return size != 1; }))
        size = heads;
      break;
    }
  auto storage =
      StorageAttr::get(builder.getContext(), builder.getStringAttr(type), 0, 0,
                       ArrayRef<int64_t>(), 0, ArrayRef<int64_t>());
  return parameter(names, {1, size}, nullptr, builder.getF32Type(), storage);
}

//===----------------------------------------------------------------------===//
// Logits
//===----------------------------------------------------------------------===//

Value ModelBuilder::selectPositions(StringRef path, Value hidden) {
  return lastLogits ? lastPosition(path, hidden, mask) : hidden;
}

NamedValues ModelBuilder::logits(StringRef path, Value hidden, Value head,
                                 Value bias) {
  Value all = linear(path, hidden, head, bias);
  // Many 16-bit logits tie: those that tokens are chosen by are in f32.
  if (isForSteps)
    all.setType(cast<RankedTensorType>(all.getType())
                    .clone(Float32Type::get(builder.getContext())));
  all = cap(path, scale(path, all, config.logitScale), config.logitCap);
  return {{"logits", all}};
}

} // namespace tp
