//===- ImportLlama.cpp - Llama, Mistral, Qwen2 and Qwen3 ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoders with RMSNorm before each part, rotary positions, grouped query
// attention and a gated feed-forward. The model types differ in biases, norms
// on queries and keys, and windows, all of which the config holds.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"
#include "tp/Dialect/NN/IR/NNOps.h"

using namespace mlir;

namespace tp {

/// A projection by its module's path.
static Value project(ModelBuilder &m, const std::string &path, Value x,
                     int64_t outputs, bool hasBias) {
  Value weight = m.parameter({path + ".weight"},
                             {outputs, ModelBuilder::shapeOf(x).back()});
  Value bias = hasBias ? m.parameter({path + ".bias"}, {outputs}) : Value();
  return m.linear(path, x, weight, bias);
}

static Value normalize(ModelBuilder &m, const std::string &path, Value x) {
  return m.rmsNorm(
      path, x,
      m.parameter({path + ".weight"}, {ModelBuilder::shapeOf(x).back()}));
}

using RotaryTable = std::pair<Value, Value>;

static Value rotate(ModelBuilder &m, StringRef path, Value x,
                    RotaryTable table) {
  return nn::RotaryOp::create(m.builder, m.at(path), x.getType(), x,
                              table.first, table.second);
}

static Value buildAttention(ModelBuilder &m, const std::string &path, Value x,
                            RotaryTable table) {
  const ModelConfig &c = m.config;
  auto heads = [&](const std::string &name, int64_t count, bool norm) {
    std::string module = path + "." + name + "_proj";
    Value y = project(m, module, x, count * c.headDim, c.queryKeyValueBias);
    y = m.splitHeads(module, y, count);
    return norm ? normalize(m, path + "." + name + "_norm", y) : y;
  };
  Value q = heads("q", c.numHeads, c.queryKeyNorm);
  Value k = heads("k", c.numKVHeads, c.queryKeyNorm);
  Value v = heads("v", c.numKVHeads, false);
  q = rotate(m, path, q, table);
  k = rotate(m, path, k, table);
  Value context = m.causalAttention(path, q, k, v);
  return project(m, path + ".o_proj", m.mergeHeads(path, context), c.hiddenSize,
                 c.attentionOutputBias);
}

static Value buildFeedForward(ModelBuilder &m, const std::string &path,
                              Value x) {
  const ModelConfig &c = m.config;
  Value gate =
      project(m, path + ".gate_proj", x, c.intermediateSize, c.feedForwardBias);
  Value up =
      project(m, path + ".up_proj", x, c.intermediateSize, c.feedForwardBias);
  Value gated = m.mul(path, m.activation(path, gate), up);
  return project(m, path + ".down_proj", gated, c.hiddenSize,
                 c.feedForwardBias);
}

NamedValues buildLlama(ModelBuilder &m) {
  const ModelConfig &c = m.config;
  Value ids = m.addTokens();
  // A tied head is the embedding's own tensor; some files hold it twice.
  SmallVector<std::string> names = {"model.embed_tokens.weight"};
  if (c.tieEmbeddings)
    names.push_back("lm_head.weight");
  Value table = m.parameter(names, {c.vocabSize, c.hiddenSize});
  Value hidden = m.embedding("model.embed_tokens", ids, table);
  RotaryTable rotary = m.rotaryTable("model.rotary_emb",
                                     c.rope.getInverseFrequencies(c.headDim));

  std::string layer = "model.layers.{i}";
  hidden = m.repeatLayers(layer, hidden, [&](Value x) {
    Value normed = normalize(m, layer + ".input_layernorm", x);
    Value attended = buildAttention(m, layer + ".self_attn", normed, rotary);
    x = m.add(layer, x, attended);
    normed = normalize(m, layer + ".post_attention_layernorm", x);
    return m.add(layer, x, buildFeedForward(m, layer + ".mlp", normed));
  });

  hidden = m.selectPositions("lm_head", hidden);
  hidden = normalize(m, "model.norm", hidden);
  Value head = c.tieEmbeddings ? table
                               : m.parameter({"lm_head.weight"},
                                             {c.vocabSize, c.hiddenSize});
  return m.logits("lm_head", hidden, head);
}

} // namespace tp
