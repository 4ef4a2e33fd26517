//===- ImportGPT2.cpp - GPT-2 ---------------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decoder with LayerNorm before each part and learned positions. Checkpoints
// store each weight as [inputs, outputs] and queries, keys and values side by
// side in one tensor; they are read as three transposed boxes of it, because
// cutting the whole tensor over ranks would cut it in the wrong places. Names
// come with and without `transformer.`.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"

using namespace mlir;

namespace tp {

static constexpr llvm::StringLiteral prefix = "transformer.";

static SmallVector<std::string> namesOf(const Twine &name) {
  return {(prefix + name).str(), name.str()};
}

static Value normalize(ModelBuilder &m, const std::string &path, Value x) {
  int64_t size = ModelBuilder::shapeOf(x).back();
  Value weight = m.parameter(namesOf(path + ".weight"), {size});
  Value bias = m.parameter(namesOf(path + ".bias"), {size});
  return m.layerNorm((prefix + path).str(), x, weight, bias);
}

/// Part `part` of the `parts` equal ones that a Conv1D's outputs consist of.
static Value project(ModelBuilder &m, const std::string &path, Value x,
                     int64_t outputs, int64_t part = 0, int64_t parts = 1) {
  int64_t inputs = ModelBuilder::shapeOf(x).back();
  ParameterBox weightBox{
      {inputs, parts * outputs}, {0, part * outputs}, {1, 0}};
  ParameterBox biasBox{{parts * outputs}, {part * outputs}, {0}};
  Value weight =
      m.parameter(namesOf(path + ".weight"), {outputs, inputs}, &weightBox);
  Value bias = m.parameter(namesOf(path + ".bias"), {outputs},
                           parts > 1 ? &biasBox : nullptr);
  std::string place = (prefix + path).str();
  if (parts > 1)
    place += "[" + std::string(1, "qkv"[part]) + "]";
  return m.linear(place, x, weight, bias);
}

static Value buildAttention(ModelBuilder &m, const std::string &path, Value x) {
  const ModelConfig &c = m.config;
  std::string place = (prefix + path).str();
  auto heads = [&](int64_t part) {
    Value y = project(m, path + ".c_attn", x, c.hiddenSize, part, 3);
    return m.splitHeads(place, y, c.numHeads);
  };
  Value q = heads(0), k = heads(1), v = heads(2);
  Value context = m.causalAttention(place, q, k, v);
  return project(m, path + ".c_proj", m.mergeHeads(place, context),
                 c.hiddenSize);
}

NamedValues buildGPT2(ModelBuilder &m) {
  const ModelConfig &c = m.config;
  Value ids = m.addTokens();
  SmallVector<std::string> names = namesOf("wte.weight");
  if (c.tieEmbeddings)
    names.push_back("lm_head.weight");
  Value table = m.parameter(names, {c.vocabSize, c.hiddenSize});
  Value positions =
      m.parameter(namesOf("wpe.weight"), {c.maxPositions, c.hiddenSize});
  Value hidden = m.embedding("transformer.wte", ids, table);
  hidden = m.addLearnedPositions("transformer.wpe", hidden, positions);
  hidden = m.dropout("transformer.drop", hidden, c.dropout.embedding);

  std::string layer = "h.{i}", place = "transformer.h.{i}";
  hidden = m.repeatLayers(place, hidden, [&](Value x) {
    Value normed = normalize(m, layer + ".ln_1", x);
    x = m.add(place, x,
              m.dropout(place + ".attn",
                        buildAttention(m, layer + ".attn", normed),
                        c.dropout.residual));
    normed = normalize(m, layer + ".ln_2", x);
    Value inner = project(m, layer + ".mlp.c_fc", normed, c.intermediateSize);
    inner = m.activation(place + ".mlp", inner);
    inner = project(m, layer + ".mlp.c_proj", inner, c.hiddenSize);
    return m.add(place, x,
                 m.dropout(place + ".mlp", inner, c.dropout.residual));
  });

  hidden = m.selectPositions("lm_head", hidden);
  hidden = normalize(m, "ln_f", hidden);
  Value head = c.tieEmbeddings ? table
                               : m.parameter({"lm_head.weight"},
                                             {c.vocabSize, c.hiddenSize});
  return m.logits("lm_head", hidden, head);
}

} // namespace tp
