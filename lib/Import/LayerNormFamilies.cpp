//===- LayerNormFamilies.cpp - Phi, GPT-J, GPT-Neo ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of language models with layer norms and a feed-forward without a gate:
// Phi-1 and 2, GPT-J, GPT-Neo, Nemotron.
//
//===----------------------------------------------------------------------===//

#include "DecoderFamilies.h"
#include "JsonFile.h"
#include "TableRows.h"
#include "tp/Import/ModelConfig.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tp {

static void adjustPhi(ObjectReader &reader, ModelConfig &config) {
  if (!reader.getBool("qk_layernorm", false))
    return;
  config.layout.queryNorm = "self_attn.q_layernorm";
  config.layout.keyNorm = "self_attn.k_layernorm";
}

static void adjustGPTJ(ObjectReader &reader, ModelConfig &config) {
  if (reader.isPresent("rotary_dim") && !reader.has("rotary_dim"))
    reader.error("rotary_dim")
        << "expected rotary_dim to be a number of elements, got null";
  int64_t size =
      reader.getInt("rotary_dim", 64, 2, std::max<int64_t>(2, config.headDim));
  if (!reader.failed() && size % 2 != 0)
    reader.error("rotary_dim")
        << "expected rotary_dim to be even, as pairs are rotated, got " << size;
  config.rope.rotaryDim = size;
}

/// The words of `attention_layers`, or of `attention_types`, which lists
/// periods and how often each is repeated. Nothing after an error.
static std::optional<SmallVector<StringRef>>
readAttentionTypes(ObjectReader &reader, int64_t layers) {
  SmallVector<StringRef> words;
  auto add = [&](const llvm::json::Array &list) {
    for (const llvm::json::Value &value : list)
      words.push_back(value.getAsString().value_or(""));
  };
  const llvm::json::Array *all = reader.getArray("attention_layers"),
                          *types = reader.getArray("attention_types");
  if (all) {
    add(*all);
  } else if (types) {
    for (const llvm::json::Value &value : *types) {
      const llvm::json::Array *pair = value.getAsArray();
      bool isPair = pair && pair->size() == 2;
      const llvm::json::Array *period =
          isPair ? (*pair)[0].getAsArray() : nullptr;
      int64_t count = isPair ? (*pair)[1].getAsInteger().value_or(-1) : -1;
      if (!period || count < 0 || count > layers) {
        reader.error("attention_types")
            << "expected attention_types to list pairs of a list of words and "
               "of how often it is repeated, at most "
            << layers << " times, got " << showJson(value);
        return std::nullopt;
      }
      for (int64_t i = 0; i < count; ++i)
        add(*period);
    }
  } else {
    for (int64_t i = 0; i < 24; ++i)
      words.push_back(i % 2 == 0 ? "global" : "local");
  }
  return words;
}

static void adjustGPTNeo(ObjectReader &reader, ModelConfig &config) {
  config.attentionScale = 1;
  auto words = readAttentionTypes(reader, config.numLayers);
  if (reader.failed() || !words)
    return;
  StringRef key =
      reader.has("attention_layers") ? "attention_layers" : "attention_types";
  if (words->size() != static_cast<size_t>(config.numLayers)) {
    reader.error(key) << "expected " << key << " to name " << config.numLayers
                      << " layers (num_layers), got " << words->size();
    return;
  }
  for (auto [i, word] : llvm::enumerate(*words)) {
    config.slides[i] = word == "local";
    if (word != "local" && word != "global") {
      reader.error(key) << "expected " << key
                        << " to have the words \"global\" and \"local\", got "
                        << quoted(word) << " for layer " << i;
      return;
    }
  }
  if (!llvm::is_contained(config.slides, true))
    config.slidingWindow = std::nullopt;
}

Family getPhi() {
  return {.modelType = "phi",
          .architectures = {"PhiForCausalLM", "PhiModel"},
          .layout = {.finalNorm = "final_layernorm",
                     .hasHeadBias = true,
                     .output = "self_attn.dense",
                     .gate = "",
                     .up = "mlp.fc1",
                     .down = "mlp.fc2",
                     .feedForwardNorm = "",
                     .isParallel = true,
                     .norm = NormKind::Layer},
          .keys = {.needsKVHeads = false,
                   .normEpsilon = {"layer_norm_eps", 1e-5},
                   .activation = {"hidden_act", "gelu_new"},
                   .queryKeyValueBias = {"", true},
                   .outputBias = {"", true},
                   .feedForwardBias = {"", true},
                   .rotaryPart = {"partial_rotary_factor", 0.5},
                   .embeddingDropout = {"embd_pdrop", 0},
                   .residualDropout = {"resid_pdrop", 0}},
          .adjust = adjustPhi};
}

Family getGPTJ() {
  return {.modelType = "gptj",
          .architectures = {"GPTJForCausalLM", "GPTJModel"},
          .layout = {.prefixes = {"transformer.", ""},
                     .layer = "h.{i}",
                     .words = "wte",
                     .finalNorm = "ln_f",
                     .hasHeadBias = true,
                     .attention = "attn",
                     .query = "attn.q_proj",
                     .key = "attn.k_proj",
                     .value = "attn.v_proj",
                     .output = "attn.out_proj",
                     .interleavedRotary = true,
                     .gate = "",
                     .up = "mlp.fc_in",
                     .down = "mlp.fc_out",
                     .attentionNorm = "ln_1",
                     .feedForwardNorm = "",
                     .isParallel = true,
                     .norm = NormKind::Layer},
          .keys = {.hiddenSize = "n_embd",
                   .intermediateSize = {"n_inner", 4},
                   .numLayers = "n_layer",
                   .numHeads = "n_head",
                   .numKVHeads = "",
                   .headDim = {"", 0},
                   .maxPositions = {"n_positions", 2048},
                   .normEpsilon = {"layer_norm_epsilon", 1e-5},
                   .activation = {"activation_function", "gelu_new"},
                   .feedForwardBias = {"", true},
                   .ropeTheta = {"", 10000},
                   .embeddingDropout = {"embd_pdrop", 0},
                   .residualDropout = {"resid_pdrop", 0},
                   .attentionDropout = {"attn_pdrop", 0},
                   .paddingRow = {"", -1}},
          .ignored = {"*.attn.bias", "*.attn.masked_bias",
                      "*.attn.embed_positions"},
          .adjust = adjustGPTJ};
}

Family getGPTNeo() {
  return {.modelType = "gpt_neo",
          .architectures = {"GPTNeoForCausalLM", "GPTNeoModel"},
          .layout = {.prefixes = {"transformer.", ""},
                     .layer = "h.{i}",
                     .words = "wte",
                     .positions = "wpe",
                     .finalNorm = "ln_f",
                     .attention = "attn.attention",
                     .query = "attn.attention.q_proj",
                     .key = "attn.attention.k_proj",
                     .value = "attn.attention.v_proj",
                     .output = "attn.attention.out_proj",
                     .gate = "",
                     .up = "mlp.c_fc",
                     .down = "mlp.c_proj",
                     .attentionNorm = "ln_1",
                     .feedForwardNorm = "ln_2",
                     .norm = NormKind::Layer},
          .keys = {.intermediateSize = {"intermediate_size", 4},
                   .numLayers = "num_layers",
                   .numHeads = "num_heads",
                   .numKVHeads = "",
                   .headDim = {"", 0},
                   .normEpsilon = {"layer_norm_epsilon", 1e-5},
                   .activation = {"activation_function", "gelu_new"},
                   .tieEmbeddings = {"tie_word_embeddings", true},
                   .outputBias = {"", true},
                   .feedForwardBias = {"", true},
                   .isRotary = false,
                   .window = {"window_size", 256},
                   .embeddingDropout = {"embed_dropout", 0},
                   .residualDropout = {"resid_dropout", 0},
                   .paddingRow = {"", -1}},
          .ignored = {"*.attn.attention.bias", "*.attn.attention.masked_bias"},
          .adjust = adjustGPTNeo};
}

Family getNemotron() {
  return {.modelType = "nemotron",
          .architectures = {"NemotronForCausalLM", "NemotronModel"},
          .layout = {.gate = "", .norm = NormKind::LayerOnePlus},
          .keys = {.maxPositions = {"max_position_embeddings", 4096},
                   .normEpsilon = {"norm_eps", 1e-5},
                   .activation = {"hidden_act", "relu2"},
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .feedForwardBias = {"mlp_bias", false},
                   .rotaryPart = {"partial_rotary_factor", 0.5}}};
}

} // namespace tp
