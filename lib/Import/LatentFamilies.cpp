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
#include "tp/Import/ModelConfig.h"
#include <cmath>

// Fields that a row leaves out have their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#ifdef __clang__
#pragma clang diagnostic ignored "-Wmissing-designated-field-initializers"
#endif

namespace tp {

static constexpr int64_t maxExperts = 1 << 16, maxHead = 1 << 15;

/// The head's size is that of its rotated part until here.
static void readLatent(ObjectReader &reader, ModelConfig &config) {
  LatentConfig latent;
  latent.rotatedDim = config.headDim;
  // Null means none; the default is for a missing key.
  bool hasRank = reader.has("q_lora_rank") || !reader.isPresent("q_lora_rank");
  if (hasRank)
    latent.queryRank = reader.getInt("q_lora_rank", 1536, 1, maxSize);
  latent.keyValueRank = reader.getInt("kv_lora_rank", 512, 1, maxSize / 2);
  int64_t plain = reader.getInt("qk_nope_head_dim", 128, 1, maxHead);
  config.valueDim = reader.getInt("v_head_dim", 128, 1, maxHead);
  config.headDim = plain + latent.rotatedDim;
  config.latent = latent;
  // Made from the others by whoever wrote them.
  reader.ignore({"head_dim", "qk_head_dim"});
  if (reader.failed())
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

/// Groups of experts, `groupBest` of which say what a group is worth.
static void readGroups(ObjectReader &reader, ExpertsConfig &experts,
                       int64_t groupBest, std::optional<int64_t> groups,
                       std::optional<int64_t> topGroups) {
  experts.groups = reader.getInt("n_group", groups, 1, maxExperts);
  experts.topGroups = reader.getInt("topk_group", topGroups, 1,
                                    std::max<int64_t>(1, experts.groups));
  experts.groupBest = groupBest;
  if (reader.failed())
    return;
  int64_t size = experts.count / experts.groups;
  if (experts.count % experts.groups != 0 || size < groupBest)
    reader.error("n_group")
        << "expected n_group to divide the " << experts.count
        << " of n_routed_experts into groups of at least " << groupBest
        << ", got " << experts.groups;
  else if (experts.topGroups * size < experts.perToken)
    reader.error("topk_group")
        << "expected topk_group to have at least the " << experts.perToken
        << " experts of num_experts_per_tok, got " << experts.topGroups
        << " groups of " << size;
}

static ExpertsConfig readExperts(ObjectReader &reader, ModelConfig &config,
                                 double scale, int64_t firstExperts) {
  ExpertsConfig experts;
  experts.count =
      reader.getInt("n_routed_experts", std::nullopt, 1, maxExperts);
  experts.perToken = reader.getInt("num_experts_per_tok", std::nullopt, 1,
                                   std::max<int64_t>(1, experts.count));
  experts.width =
      reader.getInt("moe_intermediate_size", std::nullopt, 1, maxSize);
  experts.sharedWidth =
      experts.width *
      reader.getInt("n_shared_experts", std::nullopt, 1,
                    maxSize / std::max<int64_t>(1, experts.width));
  experts.scale = reader.getPositive("routed_scaling_factor", scale);
  int64_t first =
      reader.getInt("first_k_dense_replace", firstExperts, 0, maxLayers);
  config.isDense.resize(config.numLayers);
  for (int64_t i = 0; i < config.numLayers; ++i)
    config.isDense[i] = i < first;
  reader.require("moe_layer_freq", 1,
                 "dense layers among those with experts are not supported");
  // Of training, and of where experts are.
  reader.ignore({"aux_loss_alpha", "ep_size", "output_router_logits",
                 "router_aux_loss_coef", "seq_aux"});
  return experts;
}

static void requireText(ObjectReader &reader, llvm::StringRef key,
                        llvm::StringRef expected) {
  reader.require(key, expected,
                 "no other choice of experts of this model_type is supported");
}

static void adjustV2(ObjectReader &reader, ModelConfig &config) {
  readLatent(reader, config);
  ExpertsConfig experts = readExperts(reader, config, 1, 0);
  experts.normalizes = false;
  reader.require("norm_topk_prob", false,
                 "scores that are divided by their sum are not supported");
  requireText(reader, "scoring_func", "softmax");
  std::string method = reader.getString("topk_method").value_or("greedy");
  if (method == "group_limited_greedy")
    readGroups(reader, experts, 1, std::nullopt, std::nullopt);
  else if (method != "greedy")
    reader.error("topk_method")
        << "unsupported topk_method " << quoted(method)
        << "; expected \"greedy\" or \"group_limited_greedy\"";
  reader.ignore({"n_group", "topk_group"});
  config.experts = experts;
}

static void adjustV3(ObjectReader &reader, ModelConfig &config) {
  readLatent(reader, config);
  ExpertsConfig experts = readExperts(reader, config, 2.5, 3);
  experts.sigmoid = true;
  experts.normalizes = reader.getBool("norm_topk_prob", true);
  requireText(reader, "scoring_func", "sigmoid");
  requireText(reader, "topk_method", "noaux_tc");
  readGroups(reader, experts, 2, 8, 4);
  config.layout.interleavedRotary = reader.getBool("rope_interleave", true);
  config.numExtraLayers =
      reader.getInt("num_nextn_predict_layers", 1, 0, maxLayers);
  config.experts = experts;
}

Family getDeepSeekV2() {
  return {.modelType = "deepseek_v2",
          .architectures = {"DeepseekV2ForCausalLM"},
          .layout = {.interleavedRotary = true,
                     .queryDown = "self_attn.q_a_proj",
                     .queryDownNorm = "self_attn.q_a_layernorm",
                     .queryUp = "self_attn.q_b_proj",
                     .keyValueDown = "self_attn.kv_a_proj_with_mqa",
                     .keyValueDownNorm = "self_attn.kv_a_layernorm",
                     .keyValueUp = "self_attn.kv_b_proj",
                     .router = "mlp.gate",
                     .expertGate = "mlp.experts.{e}.gate_proj",
                     .expertUp = "mlp.experts.{e}.up_proj",
                     .expertDown = "mlp.experts.{e}.down_proj",
                     .sharedGate = "mlp.shared_experts.gate_proj",
                     .sharedUp = "mlp.shared_experts.up_proj",
                     .sharedDown = "mlp.shared_experts.down_proj"},
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

} // namespace tp
