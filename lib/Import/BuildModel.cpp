//===- BuildModel.cpp - A model as its layout says ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts around the layers: embeddings with positions before them; behind
// them the head of a language model, or of an encoder what
// sentence-transformers puts there.
//
//===----------------------------------------------------------------------===//

#include "CheckQuantized.h"
#include "LayerParts.h"
#include "TiedHead.h"

using namespace mlir;

namespace tp {

static Value getTable(ModelBuilder &m, StringRef name, int64_t rows) {
  const ModelConfig &c = m.config;
  bool isSmall = !c.layout.embeddingsOut.empty();
  return m.parameter(m.namesOf(name + ".weight"),
                     {rows, isSmall ? c.wordSize : c.hiddenSize});
}

/// Words [vocabulary, size]. A tied head is the same tensor, which some files
/// hold twice.
static Value buildTable(ModelBuilder &m) {
  const ModelConfig &c = m.config;
  SmallVector<std::string> names = getTableNames(c);
  if (c.tieEmbeddings)
    names.append(getHeadNames(c));
  if (c.quantization && c.quantization->method == ggufMethod)
    return m.weight({{names, std::nullopt}}, {c.vocabSize, c.wordSize});
  return m.parameter(names, {c.vocabSize, c.wordSize});
}

/// x[..., k] -> [..., n], where words have another size than the hidden state.
static Value resizeWords(ModelBuilder &m, StringRef path, Value x, int64_t n) {
  int64_t k = ModelBuilder::shapeOf(x).back();
  if (k == n)
    return x;
  Value weight = m.parameter(m.namesOf(path + ".weight"), {n, k});
  return m.linear(m.placeOf(path), x, weight, Value());
}

/// Words, token types and positions.
static Value embed(ModelBuilder &m, Value ids, Value types, Value words) {
  const ModelConfig &c = m.config;
  const ModelLayout &layout = c.layout;
  std::string place = m.placeOf(layout.words);
  Value hidden = m.scale(place, m.embedding(place, ids, words, c.paddingRow),
                         c.embeddingScale);
  if (layout.embeddingsOut.empty())
    hidden = resizeWords(m, layout.wordsIn, hidden, c.hiddenSize);
  if (types) {
    Value typed = m.embedding(m.placeOf(layout.tokenTypes), types,
                              getTable(m, layout.tokenTypes, c.typeVocabSize));
    hidden = m.add(m.placeOf(layout.tokenTypes), hidden, typed);
  }
  if (!layout.positions.empty()) {
    std::string path = m.placeOf(layout.positions);
    Value table =
        getTable(m, layout.positions, c.maxPositions + layout.firstPosition);
    if (layout.countsTokens) {
      // Padding stands at the row before the first, which is not trained
      // either.
      int64_t padding = layout.firstPosition - 1;
      Value rows = m.countedPositions(path, ids, padding);
      hidden = m.add(path, hidden, m.embedding(path, rows, table, padding));
    } else {
      hidden = m.addPositions(path, hidden, m.firstRows(path, table));
    }
  }
  hidden = buildNorm(m, layout.embeddingNorm, hidden);
  if (!layout.embeddingsOut.empty())
    hidden = project(m, layout.embeddingsOut.str(), hidden, c.hiddenSize,
                     /*hasBias=*/true);
  return m.dropout(place, hidden, c.dropout.embedding);
}

static Value buildLayers(ModelBuilder &m, Value hidden, Value mask) {
  const ModelConfig &c = m.config;
  std::pair<Value, Value> global, local;
  auto table = [&](const RopeConfig &rope, bool isLocal) {
    int64_t size = c.latent ? c.latent->rotatedDim
                            : c.getHeads({.isLocal = isLocal}).headDim;
    return m.rotaryTable(m.placeOf("rotary_emb"),
                         rope.getInverseFrequencies(size, m.seq),
                         rope.attentionFactor);
  };
  auto uses = [&](bool isLocal) {
    auto matches = [&](LayerKind kind) {
      return kind.rotates && kind.isLocal == isLocal;
    };
    return c.family->keys.isRotary &&
           llvm::any_of(m.runs, [&](const LayerRun &run) {
             return llvm::any_of(run.kinds, matches);
           });
  };
  if (uses(/*isLocal=*/false))
    global = table(c.rope, /*isLocal=*/false);
  if (uses(/*isLocal=*/true))
    local = table(*c.localRope, /*isLocal=*/true);
  Value bias = buildScoreBias(m);
  Value factors = m.queryFactors(m.placeOf("rotary_emb"));
  return m.repeatLayers(c.layout.layer, hidden, [&](Value x, LayerKind kind) {
    return buildLayer(m, x, kind,
                      {kind.isLocal ? local : global, mask, bias, factors});
  });
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

/// The modules that sentence-transformers puts behind the hidden states.
static NamedValues buildSentence(ModelBuilder &m, Value hidden, Value mask,
                                 const SentenceModules &modules) {
  NamedValues outputs = {{"last_hidden_state", hidden}};
  StringRef place = "1_Pooling";
  Value sentence;
  switch (modules.pooling) {
  case Pooling::None:
    return outputs;
  case Pooling::Mean:
    sentence = m.meanPool(place, hidden, mask);
    break;
  case Pooling::First:
    sentence = m.joinDims(place, m.slice(place, hidden, 1, 0, 1), 0);
    break;
  case Pooling::Last:
    sentence = m.joinDims(place, m.lastPosition(place, hidden, mask), 0);
    break;
  }
  if (modules.normalize)
    sentence = m.l2Normalize("2_Normalize", sentence);
  outputs.push_back({"sentence_embedding", sentence});
  return outputs;
}

/// A linear layer that stands outside the model's prefix.
static Value buildDense(ModelBuilder &m, StringRef path, Value x,
                        int64_t outputs, bool hasBias = true) {
  Value weight = m.parameter({(path + ".weight").str()},
                             {outputs, ModelBuilder::shapeOf(x).back()});
  Value bias;
  if (hasBias)
    bias = m.parameter({(path + ".bias").str()}, {outputs});
  return m.linear(path, x, weight, bias);
}

/// Builds the input of the decoder of masked tokens: a linear layer, an
/// activation, a norm.
static Value buildTransform(ModelBuilder &m, Value x) {
  const ModelConfig &c = m.config;
  const ModelLayout &layout = c.layout;
  StringRef dense = layout.maskedDense, norm = layout.maskedNorm;
  x = buildDense(m, dense, x, c.wordSize, layout.hasDenseBias);
  x = m.activation(dense, x, layout.headActivation.value_or(c.activation));
  auto parameter = [&](StringRef now, StringRef old) {
    SmallVector<std::string> names{(norm + "." + now).str()};
    if (std::string before = m.oldNameOf(names.front());
        before != names.front())
      names.push_back(before);
    if (layout.hasOldNormNames)
      names.push_back((norm + "." + old).str());
    return m.parameter(names, {c.wordSize});
  };
  Value weight = parameter("weight", "gamma"), bias;
  if (hasBias(layout.norm))
    bias = parameter("bias", "beta");
  return m.norm(norm, x, weight, bias);
}

/// Logits of the vocabulary at each position.
static Value buildMaskedHead(ModelBuilder &m, Value hidden, Value words) {
  const ModelConfig &c = m.config;
  const ModelLayout &layout = c.layout;
  Value x = buildTransform(m, hidden);
  StringRef decoder = layout.maskedDecoder;
  if (!c.tieEmbeddings)
    words =
        m.parameter({(decoder + ".weight").str()}, {c.vocabSize, c.wordSize});
  Value bias;
  if (layout.hasDecoderBias) {
    // They are one where the table is tied; else the decoder's counts.
    SmallVector<std::string> biases{(decoder + ".bias").str()};
    if (!layout.maskedBias.empty())
      biases.push_back(layout.maskedBias.str());
    if (!c.tieEmbeddings && m.has(biases.front()))
      biases.truncate(1);
    bias = m.parameter(biases, {c.vocabSize});
  }
  return m.linear(decoder, x, words, bias);
}

/// Logits of the classes of a text.
static Value buildSequenceHead(ModelBuilder &m, Value hidden, Value mask) {
  const ModelConfig &c = m.config;
  const ModelLayout &layout = c.layout;
  StringRef classes = layout.sequenceClasses;
  if (layout.poolsMean) {
    Value x = buildTransform(m, m.meanPool(classes, hidden, mask));
    return buildDense(m, classes, x, c.numLabels);
  }
  StringRef dense =
      layout.sharesMaskedHead ? layout.maskedDense : layout.sequenceDense;
  Value x = m.slice(dense, hidden, 1, 0, 1);
  if (layout.sharesMaskedHead) {
    x = buildTransform(m, x);
  } else {
    x = buildDense(m, dense, x, c.hiddenSize);
    // cap at 1 is tanh.
    x = layout.sequenceActivation
            ? m.activation(dense, x, *layout.sequenceActivation)
            : m.cap(dense, x, 1);
  }
  return m.joinDims(classes, buildDense(m, classes, x, c.numLabels), 0);
}

static NamedValues buildHead(ModelBuilder &m, Value hidden, Value words,
                             Value mask) {
  const ModelConfig &c = m.config;
  const ModelLayout &layout = c.layout;
  NamedValues outputs = {{"last_hidden_state", hidden}};
  if (c.head == Head::MaskedToken) {
    outputs.push_back({"logits", buildMaskedHead(m, hidden, words)});
  } else if (c.head == Head::Token) {
    Value x = layout.sharesMaskedHead ? buildTransform(m, hidden) : hidden;
    outputs.push_back(
        {"logits", buildDense(m, layout.tokenClasses, x, c.numLabels)});
  } else {
    outputs.push_back({"logits", buildSequenceHead(m, hidden, mask)});
  }
  return outputs;
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

static NamedValues buildDecoder(ModelBuilder &m,
                                const SentenceModules &modules) {
  const ModelConfig &c = m.config;
  bool hasHead = c.head == Head::NextToken;
  Value ids = m.addTokens();
  Value words = buildTable(m);
  Value hidden = buildLayers(m, embed(m, ids, Value(), words), Value());
  StringRef place = c.layout.heads.front();
  if (hasHead)
    hidden = m.selectPositions(place, hidden);
  hidden = buildNorm(m, c.layout.finalNorm, hidden);
  hidden = resizeWords(m, c.layout.wordsOut, hidden, c.wordSize);
  if (!hasHead)
    return buildSentence(m, hidden, m.getMask(), modules);
  Value head = words;
  if (!c.tieEmbeddings)
    head =
        m.weight({{getHeadNames(c), std::nullopt}}, {c.vocabSize, c.wordSize});
  Value bias;
  if (c.layout.hasHeadBias)
    bias = m.parameter(getHeadNames(c, "bias"), {c.vocabSize});
  return m.logits(place, hidden, head, bias);
}

static NamedValues buildEncoder(ModelBuilder &m,
                                const SentenceModules &modules) {
  const ModelConfig &c = m.config;
  Value ids = m.addInput("input_ids", c.vocabSize, "");
  Value mask = m.addInput("attention_mask", 2, "ones");
  Value types;
  if (!c.layout.tokenTypes.empty())
    types = m.addInput("token_type_ids", c.typeVocabSize, "zeros");
  Value words = buildTable(m);
  Value hidden = buildLayers(m, embed(m, ids, types, words), mask);
  hidden = buildNorm(m, c.layout.finalNorm, hidden);
  return c.head == Head::None ? buildSentence(m, hidden, mask, modules)
                              : buildHead(m, hidden, words, mask);
}

NamedValues buildModel(ModelBuilder &m, const SentenceModules &modules) {
  return m.config.layout.isEncoder ? buildEncoder(m, modules)
                                   : buildDecoder(m, modules);
}

} // namespace tp
