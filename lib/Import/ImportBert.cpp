//===- ImportBert.cpp - BERT encoders and sentence embeddings -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An encoder with LayerNorm after each part, learned positions, token types and
// a padding mask, and what sentence-transformers puts behind it. Checkpoints
// name tensors with and without `bert.`, and old ones call the norms' tensors
// gamma and beta.
//
//===----------------------------------------------------------------------===//

#include "ModelBuilder.h"

using namespace mlir;

namespace tp {

/// Encoders are saved without the prefix, models with a head with it.
static SmallVector<std::string> namesOf(ModelBuilder &m, StringRef name) {
  std::string with = ("bert." + name).str(), without = name.str();
  if (m.config.architecture == "BertModel")
    return {without, with};
  return {with, without};
}

static std::string placeOf(ModelBuilder &m, StringRef name) {
  return namesOf(m, name).front();
}

static Value normalize(ModelBuilder &m, const std::string &path, Value x) {
  int64_t size = ModelBuilder::shapeOf(x).back();
  auto names = [&](StringRef now, StringRef old) {
    SmallVector<std::string> all = namesOf(m, path + "." + now.str());
    all.append(namesOf(m, path + "." + old.str()));
    return all;
  };
  Value weight = m.parameter(names("weight", "gamma"), {size});
  Value bias = m.parameter(names("bias", "beta"), {size});
  return m.layerNorm(placeOf(m, path), x, weight, bias);
}

static Value project(ModelBuilder &m, const std::string &path, Value x,
                     int64_t outputs) {
  int64_t inputs = ModelBuilder::shapeOf(x).back();
  Value weight = m.parameter(namesOf(m, path + ".weight"), {outputs, inputs});
  Value bias = m.parameter(namesOf(m, path + ".bias"), {outputs});
  return m.linear(placeOf(m, path), x, weight, bias);
}

static Value buildLayer(ModelBuilder &m, const std::string &layer, Value x,
                        Value mask) {
  const ModelConfig &c = m.config;
  std::string self = layer + ".attention.self", place = placeOf(m, self);
  auto heads = [&](StringRef name) {
    Value y = project(m, self + "." + name.str(), x, c.hiddenSize);
    return m.splitHeads(placeOf(m, self + "." + name.str()), y, c.numHeads);
  };
  Value q = heads("query"), k = heads("key"), v = heads("value");
  Value context = m.attention(place, q, k, v, mask, /*causal=*/false);
  Value y = project(m, layer + ".attention.output.dense",
                    m.mergeHeads(place, context), c.hiddenSize);
  y = m.add(placeOf(m, layer + ".attention.output"), y, x);
  x = normalize(m, layer + ".attention.output.LayerNorm", y);

  y = project(m, layer + ".intermediate.dense", x, c.intermediateSize);
  y = m.activation(placeOf(m, layer + ".intermediate"), y);
  y = project(m, layer + ".output.dense", y, c.hiddenSize);
  y = m.add(placeOf(m, layer + ".output"), y, x);
  return normalize(m, layer + ".output.LayerNorm", y);
}

NamedValues buildBert(ModelBuilder &m, const SentenceModules &modules) {
  const ModelConfig &c = m.config;
  Value ids = m.addInput("input_ids", c.vocabSize, "");
  Value mask = m.addInput("attention_mask", 2, "ones");
  Value types = m.addInput("token_type_ids", c.typeVocabSize, "zeros");

  auto table = [&](StringRef name, int64_t rows) {
    return m.parameter(
        namesOf(m, ("embeddings." + name + "_embeddings.weight").str()),
        {rows, c.hiddenSize});
  };
  auto place = [&](StringRef name) {
    return placeOf(m, ("embeddings." + name + "_embeddings").str());
  };
  Value words = m.embedding(place("word"), ids, table("word", c.vocabSize));
  Value typed = m.embedding(place("token_type"), types,
                            table("token_type", c.typeVocabSize));
  Value positions = table("position", c.maxPositions);
  Value hidden = m.add(placeOf(m, "embeddings"), words, typed);
  hidden = m.addPositions(place("position"), hidden,
                          m.firstRows(place("position"), positions));
  hidden = normalize(m, "embeddings.LayerNorm", hidden);

  std::string layer = "encoder.layer.{i}";
  hidden = m.repeatLayers(placeOf(m, layer), hidden, [&](Value x) {
    return buildLayer(m, layer, x, mask);
  });

  NamedValues outputs = {{"last_hidden_state", hidden}};
  if (modules.pooling) {
    Value sentence = m.meanPool("1_Pooling", hidden, mask);
    if (modules.normalize)
      sentence = m.l2Normalize("2_Normalize", sentence);
    outputs.push_back({"sentence_embedding", sentence});
  }
  return outputs;
}

} // namespace tp
