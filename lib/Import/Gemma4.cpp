//===- Gemma4.cpp - Gemma 4 -----------------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of Gemma 4. Layers without a window have fewer and larger heads,
// whose values may be their keys, and a rotation of a part of the frequencies;
// experts, where there are any, stand beside the feed-forward.
//
//===----------------------------------------------------------------------===//

#include "DecoderFamilies.h"
#include "JsonFile.h"
#include "KnownKeys.h"
#include "ReadPositions.h"
#include "TableRows.h"
#include "tp/Import/ModelConfig.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
namespace json = llvm::json;

namespace tp {

static constexpr int64_t maxHeadDim = 1 << 16;

/// Reads an object for each layer without a window, by its number, which gives
/// its heads; all of them must be alike.
static void readLayerHeads(ObjectReader &reader, const json::Object &layers,
                           const ModelConfig &config, HeadsConfig &heads) {
  constexpr StringLiteral key = "per_layer_config";
  std::optional<std::pair<int64_t, int64_t>> first;
  for (int64_t i = 0; i < config.numLayers; ++i) {
    const json::Object *own = layers.getObject(llvm::utostr(i));
    if ((own != nullptr) == config.slides[i]) {
      reader.error(key) << "expected " << key << " to have an object for each "
                        << "layer without a window, and no others: layer " << i
                        << " has " << (own ? "one" : "none");
      return;
    }
    if (!own)
      continue;
    ObjectReader nested(reader.getFile(), *own, (key + "." + Twine(i)).str());
    std::pair<int64_t, int64_t> shape(
        nested.getInt("head_dim", config.headDim, 1, maxHeadDim),
        nested.getInt("num_key_value_heads", config.numKVHeads, 1, maxSize));
    nested.finish();
    reader.join(nested);
    if (first && *first != shape) {
      reader.error(key) << "layers without a window that have different heads "
                           "are not supported: layer "
                        << i << " has " << shape.second << " of " << shape.first
                        << ", others " << first->second << " of "
                        << first->first;
      return;
    }
    first = shape;
  }
  if (first)
    std::tie(heads.headDim, heads.numKVHeads) = *first;
}

static void readGlobalHeads(ObjectReader &reader, ModelConfig &config) {
  HeadsConfig heads = config.getHeads({.isLocal = true});
  heads.sharesKeys = reader.getBool("attention_k_eq_v", false);
  const json::Object *layers = reader.getObject("per_layer_config");
  if (layers) {
    reader.ignore({"global_head_dim", "num_global_key_value_heads"});
    readLayerHeads(reader, *layers, config, heads);
  } else {
    heads.headDim = reader.getInt("global_head_dim", 512, 1, maxHeadDim);
    constexpr StringLiteral key = "num_global_key_value_heads";
    if (heads.sharesKeys && reader.has(key))
      heads.numKVHeads = reader.getInt(key, std::nullopt, 1, maxSize);
    reader.ignore({key});
  }
  heads.valueDim = heads.headDim;
  if (reader.endsEarly())
    return;
  if (heads.headDim % 2 != 0 || config.numHeads % heads.numKVHeads != 0 ||
      heads.headDim > maxSize / config.numHeads) {
    reader.error() << "expected layers without a window to have an even head "
                      "size, and KV heads that divide the "
                   << config.numHeads << " query heads, got "
                   << heads.numKVHeads << " of " << heads.headDim;
    return;
  }
  config.globalHeads = heads;
}

static void readExperts(ObjectReader &reader, ModelConfig &config) {
  if (!reader.getBool("enable_moe_block", false))
    return reader.ignore(
        {"num_experts", "top_k_experts", "moe_intermediate_size"});
  ExpertsConfig experts;
  experts.count = reader.getInt("num_experts", std::nullopt, 1, maxSize);
  experts.perToken = reader.getInt("top_k_experts", std::nullopt, 1,
                                   std::max<int64_t>(1, experts.count));
  experts.width =
      reader.getInt("moe_intermediate_size", std::nullopt, 1, maxSize);
  config.experts = experts;
}

static void adjust(ObjectReader &reader, ModelConfig &config) {
  config.embeddingScale = std::sqrt(double(config.hiddenSize));
  if (!reader.has("rope_parameters")) {
    config.rope.kind = RopeConfig::Kind::Proportional;
    config.rope.rotaryPart = 0.25;
    config.rope.originalMaxPositions = config.maxPositions;
  }
  // As in transformers the last layer has no window, whatever the file says.
  if (!config.slides.empty())
    config.slides.back() = false;
  readGlobalHeads(reader, config);
  readExperts(reader, config);
  // "vision" concerns images alone, so a text is causal with it.
  std::optional<std::string> directions =
      reader.getString("use_bidirectional_attention");
  if (directions && *directions != "vision")
    reader.error("use_bidirectional_attention")
        << "unsupported use_bidirectional_attention " << quoted(*directions)
        << ": attention to later tokens is not supported; expected null or "
           "\"vision\"";
  int64_t inputSize =
      reader.getInt("hidden_size_per_layer_input", 256, 0, maxSize);
  if (inputSize != 0)
    reader.error("hidden_size_per_layer_input")
        << "unsupported hidden_size_per_layer_input " << inputSize
        << ": layers with embeddings of their own are not supported; expected "
           "0";
  reader.require("num_kv_shared_layers", 0,
                 "layers that read the keys and values of others are not "
                 "supported");
  // Only layers that read the keys and values of others use these keys.
  reader.ignore({"use_double_wide_mlp", "vocab_size_per_layer_input"});
}

Family getGemma4Text() {
  return {
      .modelType = "gemma4_text",
      .architectures = {"Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"},
      .layout = {.queryNorm = "self_attn.q_norm",
                 .keyNorm = "self_attn.k_norm",
                 .normsValues = true,
                 .router = "router.proj",
                 .routerScale = "router.scale",
                 .expertScale = "router.per_expert_scale",
                 .expertsNorm = "pre_feedforward_layernorm_2",
                 .expertsAddendNorm = "post_feedforward_layernorm_2",
                 .denseAddendNorm = "post_feedforward_layernorm_1",
                 .expertGate = "experts.{e}.gate_proj",
                 .expertUp = "experts.{e}.up_proj",
                 .expertDown = "experts.{e}.down_proj",
                 .expertsAreStacks = true,
                 .stacksMayBeSwapped = true,
                 .attentionAddendNorm = "post_attention_layernorm",
                 .feedForwardNorm = "pre_feedforward_layernorm",
                 .feedForwardAddendNorm = "post_feedforward_layernorm",
                 .layerScale = "layer_scalar"},
      .keys = {.headDim = {"head_dim", 256},
               .maxPositions = {"max_position_embeddings", 131072},
               .activation = {"hidden_activation", "gelu_pytorch_tanh"},
               .tieEmbeddings = {"tie_word_embeddings", true},
               .queryKeyValueBias = {"attention_bias", false},
               .outputBias = {"attention_bias", false},
               .ropeTheta = {"rope_theta", 1e6},
               .localTheta = {"", 10000},
               .window = {"sliding_window", 512},
               .windowed = WindowedLayers::Periodic,
               .windowPeriod = {"", 6},
               .hasLayerHeads = true,
               .attentionScale = {"", 1},
               .logitCap = {"final_logit_softcapping", 0},
               .paddingRow = {"pad_token_id", 0}},
      .adjust = adjust};
}

} // namespace tp
