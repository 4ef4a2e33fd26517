//===- LatentFamilies.cpp - DeepSeek's attention and experts --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of the table of families whose keys and values are made from a few
// numbers of each token (DeepSeek-AI, arXiv 2405.04434 and 2412.19437). The
// first layers have a feed-forward, the others experts in groups, of which a
// token uses some, beside one that all tokens use.
//
//===----------------------------------------------------------------------===//

#include "ExpertFamilies.h"
#include "JsonFile.h"
#include "ReadPositions.h"
#include "TableRows.h"
#include "tp/Import/ModelConfig.h"
#include <cmath>

namespace tp {

static constexpr int64_t maxHead = 1 << 15;

namespace {
/// Defaults of missing keys.
struct LatentDefaults {
  int64_t queryRank = 1536, keyValueRank = 512, plainDim = 128, valueDim = 128;
};
} // namespace

/// The head's size is that of its rotated part until here.
static void readLatent(ObjectReader &reader, ModelConfig &config,
                       LatentDefaults defaults = {}) {
  LatentConfig latent;
  latent.rotatedDim = config.headDim;
  // Null means none; the default is for a missing key.
  bool hasRank = reader.has("q_lora_rank") || !reader.isPresent("q_lora_rank");
  if (hasRank)
    latent.queryRank =
        reader.getInt("q_lora_rank", defaults.queryRank, 1, maxSize);
  latent.keyValueRank =
      reader.getInt("kv_lora_rank", defaults.keyValueRank, 1, maxSize / 2);
  int64_t plain =
      reader.getInt("qk_nope_head_dim", defaults.plainDim, 1, maxHead);
  config.valueDim = reader.getInt("v_head_dim", defaults.valueDim, 1, maxHead);
  config.headDim = plain + latent.rotatedDim;
  config.latent = latent;
  // Made from the others by whoever wrote them.
  reader.ignore({"head_dim", "qk_head_dim"});
  if (reader.endsEarly())
    return;
  if (config.numKVHeads != config.numHeads)
    reader.error("num_key_value_heads")
        << "expected num_key_value_heads to be the " << config.numHeads
        << " of num_attention_heads, as each has keys and values of its own, "
           "got "
        << config.numKVHeads;
  int64_t widest = std::max(config.headDim, plain + config.valueDim);
  if (widest > maxSize / config.numHeads)
    reader.error("qk_nope_head_dim")
        << "expected num_attention_heads times the sizes of a head to be at "
           "most "
        << maxSize << ", got " << config.numHeads << " times " << widest;
  double scale = config.rope.scoreScale;
  config.attentionScale = scale * scale / std::sqrt(double(config.headDim));
}

static void requireText(ObjectReader &reader, llvm::StringRef key,
                        llvm::StringRef expected) {
  reader.require(key, expected,
                 "no other choice of experts of this model_type is supported");
}

static void adjustV2(ObjectReader &reader, ModelConfig &config) {
  readLatent(reader, config);
  ExpertsConfig experts = readRoutedExperts(reader, 1);
  readFirstDense(reader, config, 0);
  experts.normalizes = false;
  reader.require("norm_topk_prob", false,
                 "scores that are divided by their sum are not supported");
  requireText(reader, "scoring_func", "softmax");
  std::string method = reader.getString("topk_method").value_or("greedy");
  if (method == "group_limited_greedy")
    readExpertGroups(reader, experts, 1, std::nullopt, std::nullopt);
  else if (method != "greedy")
    reader.error("topk_method")
        << "unsupported topk_method " << quoted(method)
        << "; expected \"greedy\" or \"group_limited_greedy\"";
  reader.ignore({"n_group", "topk_group"});
  config.experts = experts;
}

static void adjustV3(ObjectReader &reader, ModelConfig &config) {
  readLatent(reader, config);
  ExpertsConfig experts = readRoutedExperts(reader, 2.5);
  readFirstDense(reader, config, 3);
  experts.sigmoid = true;
  experts.normalizes = reader.getBool("norm_topk_prob", true);
  requireText(reader, "scoring_func", "sigmoid");
  requireText(reader, "topk_method", "noaux_tc");
  readExpertGroups(reader, experts, 2, 8, 4);
  config.layout.interleavedRotary = reader.getBool("rope_interleave", true);
  config.numExtraLayers =
      reader.getInt("num_nextn_predict_layers", 1, 0, maxLayers);
  config.experts = experts;
}

/// DeepSeek-V3's code, where a list says which layers have a feed-forward.
static void adjustGlmLite(ObjectReader &reader, ModelConfig &config) {
  readLatent(reader, config,
             {.queryRank = 768, .plainDim = 192, .valueDim = 256});
  ExpertsConfig experts = readRoutedExperts(reader, 1.8);
  readLayerKinds(reader, config);
  experts.sigmoid = true;
  experts.normalizes = reader.getBool("norm_topk_prob", true);
  readExpertGroups(reader, experts, 2, 1, 1);
  config.layout.interleavedRotary = reader.getBool("rope_interleave", true);
  // Files have the layer whether they say so or not.
  config.numExtraLayers =
      reader.getInt("num_nextn_predict_layers", 1, 0, maxLayers);
  config.experts = experts;
}

/// DeepSeek-V3.2: an indexer chooses which tokens each one attends to, and
/// chooses all as long as there are no more than it may choose.
static void adjustIndexed(ObjectReader &reader, ModelConfig &config,
                          LatentDefaults defaults, int64_t numGroups,
                          int64_t chosenGroups) {
  readLatent(reader, config, defaults);
  if (config.latent && !config.latent->queryRank)
    reader.error("q_lora_rank")
        << "expected q_lora_rank to be a number, as the indexer reads what the "
           "queries are made from, got null";
  ExpertsConfig experts = readRoutedExperts(reader, 2.5);
  readFirstDense(reader, config, 3);
  if (reader.has("mlp_layer_types"))
    readLayerKinds(reader, config);
  experts.sigmoid = true;
  experts.normalizes = reader.getBool("norm_topk_prob", true);
  requireText(reader, "scoring_func", "sigmoid");
  requireText(reader, "topk_method", "noaux_tc");
  readExpertGroups(reader, experts, 2, numGroups, chosenGroups);
  reader.require("rope_interleave", true,
                 "this model_type rotates neighbouring numbers alone");
  config.numExtraLayers =
      reader.getInt("num_nextn_predict_layers", 1, 0, maxLayers);
  config.experts = experts;
  int64_t most = reader.getInt("index_topk", 2048, 1, maxSize);
  boundPositions(config, most,
                 "the indexer chooses " + llvm::Twine(most) +
                     " tokens to attend to (index_topk), and attention to "
                     "fewer than all is not supported");
  // No layer of the model reads the first key; the others describe the indexer,
  // whose choice is all tokens.
  reader.ignore({"mlp_bias", "index_head_dim", "index_n_heads",
                 "indexer_rope_interleave", "indexer_types", "index_topk_freq",
                 "index_topk_pattern", "index_skip_topk_offset"});
}

static void adjustV32(ObjectReader &reader, ModelConfig &config) {
  adjustIndexed(reader, config, {}, 8, 4);
}

static void adjustGlmIndexed(ObjectReader &reader, ModelConfig &config) {
  adjustIndexed(reader, config,
                {.queryRank = 2048, .plainDim = 192, .valueDim = 256}, 1, 1);
}

Family getDeepSeekV2() {
  return {.modelType = "deepseek_v2",
          .architectures = {"DeepseekV2ForCausalLM"},
          .layout =
              nameRoutedExperts({.interleavedRotary = true,
                                 .queryDown = "self_attn.q_a_proj",
                                 .queryDownNorm = "self_attn.q_a_layernorm",
                                 .queryUp = "self_attn.q_b_proj",
                                 .keyValueDown = "self_attn.kv_a_proj_with_mqa",
                                 .keyValueDownNorm = "self_attn.kv_a_layernorm",
                                 .keyValueUp = "self_attn.kv_b_proj"}),
          .keys = {.needsKVHeads = false,
                   .headDim = {"qk_rope_head_dim", 64},
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .feedForwardBias = {"mlp_bias", false}},
          .adjust = adjustV2};
}

Family getDeepSeekV3() {
  Family family = getDeepSeekV2();
  family.modelType = "deepseek_v3";
  family.architectures = {"DeepseekV3ForCausalLM"};
  family.layout.routerBias = "mlp.gate.e_score_correction_bias";
  family.keys.maxPositions = {"max_position_embeddings", 4096};
  family.keys.feedForwardBias = {"", false};
  family.adjust = adjustV3;
  return family;
}

Family getDeepSeekV32() {
  Family family = getDeepSeekV3();
  family.modelType = "deepseek_v32";
  family.architectures = {"DeepseekV32ForCausalLM"};
  family.ignored = {"*.self_attn.indexer.*"};
  family.keys.maxPositions = {"max_position_embeddings", 163840};
  family.keys.boundedKind = "indexed_attention";
  family.adjust = adjustV32;
  return family;
}

/// GLM-5: some layers use the choice of an earlier one's indexer.
Family getGlmMoeDsa() {
  Family family = getDeepSeekV32();
  family.modelType = "glm_moe_dsa";
  family.architectures = {"GlmMoeDsaForCausalLM"};
  family.keys.maxPositions = {"max_position_embeddings", 202752};
  family.keys.normEpsilon = {"rms_norm_eps", 1e-5};
  family.adjust = adjustGlmIndexed;
  return family;
}

/// Moonshot's name for models of DeepSeek-V3's code.
Family getKimiK2() {
  Family family = getDeepSeekV3();
  family.modelType = "kimi_k2";
  return family;
}

Family getGlm4MoeLite() {
  Family family = getDeepSeekV3();
  family.modelType = "glm4_moe_lite";
  family.architectures = {"Glm4MoeLiteForCausalLM"};
  family.keys.maxPositions = {"max_position_embeddings", 202752};
  family.keys.normEpsilon = {"rms_norm_eps", 1e-5};
  family.adjust = adjustGlmLite;
  return family;
}

} // namespace tp
