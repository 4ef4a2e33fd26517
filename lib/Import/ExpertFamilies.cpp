//===- ExpertFamilies.cpp - Families with a mixture of experts ------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of the table of families, and the keys of config.json that say how many
// experts there are, how many a token uses and how wide they are. The scores of
// those that a token uses are divided by their sum, but for Qwen, whose
// files say whether they are.
//
//===----------------------------------------------------------------------===//

#include "ExpertFamilies.h"
#include "JsonFile.h"
#include "ReadPositions.h"
#include "TableRows.h"
#include "tp/Import/ModelConfig.h"
#include <cmath>

namespace tp {

static constexpr int64_t maxExperts = 1 << 16, maxWidth = 1 << 30;

/// Reads a key that inference leaves alone, so that any value will do.
static double getNumber(ObjectReader &reader, llvm::StringRef key,
                        double fallback) {
  const llvm::json::Value *value = reader.get(key);
  return value ? value->getAsNumber().value_or(fallback) : fallback;
}

static void readExperts(ObjectReader &reader, ModelConfig &config,
                        llvm::StringRef countKey,
                        std::optional<int64_t> count = std::nullopt) {
  ExpertsConfig experts;
  experts.count = reader.getInt(countKey, count, 1, maxExperts);
  experts.perToken = reader.getInt("num_experts_per_tok", std::nullopt, 1,
                                   std::max<int64_t>(1, experts.count));
  experts.width = config.intermediateSize;
  // The term matters in training alone.
  bool hasTerm = getNumber(reader, "router_aux_loss_coef", 0.001) != 0;
  experts.isBalanced = reader.getBool("output_router_logits", false) && hasTerm;
  experts.jitter = getNumber(reader, "router_jitter_noise", 0);
  config.experts = experts;
}

static void adjustMixtral(ObjectReader &reader, ModelConfig &config) {
  readExperts(reader, config, "num_local_experts");
}

/// Layers that have a feed-forward instead: all but every so manieth, and those
/// of a list.
static void readDenseLayers(ObjectReader &reader, ModelConfig &config) {
  int64_t step = reader.getInt("decoder_sparse_step", 1, 1, maxLayers);
  config.isDense.resize(config.numLayers);
  for (int64_t i = 0; i < config.numLayers; ++i)
    config.isDense[i] = (i + 1) % step != 0;
  const llvm::json::Array *listed = reader.getArray("mlp_only_layers");
  if (!listed)
    return;
  for (const llvm::json::Value &value : *listed) {
    std::optional<int64_t> layer = value.getAsInteger();
    if (!layer || *layer < 0 || *layer >= config.numLayers)
      reader.error("mlp_only_layers")
          << "expected mlp_only_layers to list numbers of the "
          << config.numLayers << " layers from 0, got " << showJson(value);
    else
      config.isDense[*layer] = true;
  }
}

static void readQwenExperts(ObjectReader &reader, ModelConfig &config,
                            std::optional<int64_t> count = std::nullopt) {
  // Newer files say it as others do.
  readExperts(reader, config,
              reader.has("num_local_experts") ? "num_local_experts"
                                              : "num_experts",
              count);
  config.experts->width =
      reader.getInt("moe_intermediate_size", std::nullopt, 1, maxWidth);
  readDenseLayers(reader, config);
}

static void adjustQwen(ObjectReader &reader, ModelConfig &config) {
  readQwenExperts(reader, config);
  config.experts->normalizes = reader.getBool("norm_topk_prob", false);
  if (!config.layout.sharedExpertGate.empty())
    config.experts->sharedWidth = reader.getInt(
        "shared_expert_intermediate_size", std::nullopt, 1, maxWidth);
}

void readSharedExperts(ObjectReader &reader, ModelConfig &config,
                       int64_t width) {
  readExperts(reader, config, "num_local_experts");
  config.experts->sharedWidth = width;
}

void readNextExperts(ObjectReader &reader, ModelConfig &config,
                     bool mayBeDense) {
  readExperts(reader, config, "num_experts");
  ExpertsConfig &experts = *config.experts;
  auto width = [&](llvm::StringRef key) {
    return reader.getInt(key, 512, 1, maxWidth);
  };
  experts.width = width("moe_intermediate_size");
  experts.sharedWidth = width("shared_expert_intermediate_size");
  if (!mayBeDense)
    return;
  experts.normalizes = reader.getBool("norm_topk_prob", true);
  readDenseLayers(reader, config);
}

/// The text of a whole may leave the number out.
static void adjustQwenVL(ObjectReader &reader, ModelConfig &config) {
  readQwenExperts(reader, config, 60);
}

static void adjustOlmoe(ObjectReader &reader, ModelConfig &config) {
  readExperts(reader, config, "num_experts");
  config.experts->normalizes = reader.getBool("norm_topk_prob", false);
  reader.require("clip_qkv", nullptr,
                 "queries, keys and values within bounds are not supported");
}

/// The released files say how many elements of a head are rotated.
static void adjustMiniMax(ObjectReader &reader, ModelConfig &config) {
  readExperts(reader, config, "num_local_experts");
  config.experts->sigmoid = true;
  if (!reader.has("rotary_dim"))
    return;
  int64_t size = reader.getInt("rotary_dim", std::nullopt, 2,
                               std::max<int64_t>(2, config.headDim));
  if (reader.endsEarly())
    return;
  if (size % 2 != 0)
    reader.error("rotary_dim")
        << "expected rotary_dim to be even, got " << size;
  // A file with both means the other one.
  if (config.rope.rotaryPart == 1 && !reader.has("partial_rotary_factor"))
    config.rope.rotaryPart = double(size) / double(config.headDim);
}

/// top-k of the logits and then a softmax of these is what a softmax of all
/// becomes once it is divided by the sum of the chosen.
static void adjustGptOss(ObjectReader &reader, ModelConfig &config) {
  readExperts(reader, config, "num_local_experts");
  ExpertsConfig &experts = *config.experts;
  experts.alpha = reader.getPositive("swiglu_alpha", 1.702);
  experts.limit = reader.getPositive("swiglu_limit", 7.0);
  experts.upOffset = 1;
  // The experts are what they are, whatever this says.
  config.activation = Activation::SiLU;
  // How long the length of training was, and the same number once more.
  reader.ignore({"initial_context_length", "experts_per_token"});
  if (reader.has("rope_scaling") || reader.has("rope_parameters"))
    return;
  RopeConfig &rope = config.rope;
  rope.kind = RopeConfig::Kind::Yarn;
  rope.factor = 32;
  rope.originalMaxPositions = 4096;
  rope.truncates = false;
  rope.attentionFactor = 0.1 * std::log(rope.factor) + 1;
}

static void adjustGranite(ObjectReader &reader, ModelConfig &config) {
  readExperts(reader, config, "num_local_experts");
  config.logitScale = 1 / reader.getPositive("logits_scaling", 1.0);
}

Family getMixtral() {
  return {.modelType = "mixtral",
          .architectures = {"MixtralForCausalLM"},
          .layout = {.feedForward = "block_sparse_moe",
                     .router = "block_sparse_moe.gate",
                     .expertGate = "block_sparse_moe.experts.{e}.w1",
                     .expertUp = "block_sparse_moe.experts.{e}.w3",
                     .expertDown = "block_sparse_moe.experts.{e}.w2"},
          .keys = {.maxPositions = {"max_position_embeddings", 131072},
                   .normEpsilon = {"rms_norm_eps", 1e-5},
                   .ropeTheta = {"rope_theta", 1e6},
                   .window = {"sliding_window", 0}},
          .adjust = adjustMixtral};
}

Family getQwen2Moe() {
  return {.modelType = "qwen2_moe",
          .architectures = {"Qwen2MoeForCausalLM"},
          .layout = {.router = "mlp.gate",
                     .expertGate = "mlp.experts.{e}.gate_proj",
                     .expertUp = "mlp.experts.{e}.up_proj",
                     .expertDown = "mlp.experts.{e}.down_proj",
                     .sharedGate = "mlp.shared_expert.gate_proj",
                     .sharedUp = "mlp.shared_expert.up_proj",
                     .sharedDown = "mlp.shared_expert.down_proj",
                     .sharedExpertGate = "mlp.shared_expert_gate"},
          .keys = {.maxPositions = {"max_position_embeddings", 32768},
                   .queryKeyValueBias = {"qkv_bias", true},
                   .window = {"sliding_window", 4096},
                   .hasWindowSwitch = true,
                   .windowed = WindowedLayers::EvenEarlier},
          .adjust = adjustQwen};
}

Family getQwen3Moe() {
  return {.modelType = "qwen3_moe",
          .architectures = {"Qwen3MoeForCausalLM"},
          .layout = {.queryNorm = "self_attn.q_norm",
                     .keyNorm = "self_attn.k_norm",
                     .router = "mlp.gate",
                     .expertGate = "mlp.experts.{e}.gate_proj",
                     .expertUp = "mlp.experts.{e}.up_proj",
                     .expertDown = "mlp.experts.{e}.down_proj"},
          .keys = {.maxPositions = {"max_position_embeddings", 32768},
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .window = {"sliding_window", 4096},
                   .hasWindowSwitch = true},
          .adjust = adjustQwen};
}

Family getOlmoe() {
  return {.modelType = "olmoe",
          .architectures = {"OlmoeForCausalLM"},
          .layout = {.queryNorm = "self_attn.q_norm",
                     .keyNorm = "self_attn.k_norm",
                     .normsAllHeads = true,
                     .router = "mlp.gate",
                     .expertGate = "mlp.experts.{e}.gate_proj",
                     .expertUp = "mlp.experts.{e}.up_proj",
                     .expertDown = "mlp.experts.{e}.down_proj"},
          .keys = {.needsKVHeads = false,
                   .maxPositions = {"max_position_embeddings", 4096},
                   .normEpsilon = {"rms_norm_eps", 1e-5},
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .paddingRow = {"pad_token_id", 1}},
          .adjust = adjustOlmoe};
}

/// The text of Qwen3-VL-MoE. Its rotation has an axis for each of time, height
/// and width, which are the same number for text.
Family getQwen3VLMoeText() {
  Family family = getQwen3Moe();
  family.modelType = "qwen3_vl_moe_text";
  family.architectures = {"Qwen3VLMoeForConditionalGeneration"};
  family.layout.expertsAreStacks = family.layout.stacksMayBeSwapped = true;
  family.keys.maxPositions = {"max_position_embeddings", 128000};
  family.keys.ropeTheta = {"rope_theta", 500000};
  family.keys.window = {"", 0};
  family.keys.hasWindowSwitch = false;
  family.adjust = adjustQwenVL;
  return family;
}

Family getMiniMaxM2() {
  Family family = getMixtral();
  family.modelType = "minimax_m2";
  family.architectures = {"MiniMaxM2ForCausalLM"};
  family.layout.queryNorm = "self_attn.q_norm";
  family.layout.keyNorm = "self_attn.k_norm";
  family.layout.normsAllHeads = true;
  family.layout.routerBias = "block_sparse_moe.e_score_correction_bias";
  family.keys.headDim = {"head_dim", 128};
  family.keys.maxPositions = {"max_position_embeddings", 196608};
  family.keys.normEpsilon = {"rms_norm_eps", 1e-6};
  family.keys.ropeTheta = {"rope_theta", 5e6};
  family.keys.rotaryPart = {"partial_rotary_factor", 1};
  family.keys.window = {"", 0};
  family.adjust = adjustMiniMax;
  return family;
}

Family getGptOss() {
  return {.modelType = "gpt_oss",
          .architectures = {"GptOssForCausalLM"},
          .layout = {.sinks = "self_attn.sinks",
                     .router = "mlp.router",
                     .expertGate = "mlp.experts.{e}.gate_proj",
                     .expertUp = "mlp.experts.{e}.up_proj",
                     .expertDown = "mlp.experts.{e}.down_proj",
                     .hasRouterBias = true,
                     .expertsAreStacks = true,
                     .expertsAlternate = true,
                     .expertsHaveBias = true},
          .keys = {.needsKVHeads = false,
                   .headDim = {"head_dim", 64},
                   .maxPositions = {"max_position_embeddings", 131072},
                   .normEpsilon = {"rms_norm_eps", 1e-5},
                   .queryKeyValueBias = {"attention_bias", true},
                   .outputBias = {"attention_bias", true},
                   .ropeTheta = {"rope_theta", 150000},
                   .window = {"sliding_window", 128},
                   .windowed = WindowedLayers::Periodic,
                   .windowPeriod = {"", 2}},
          .adjust = adjustGptOss};
}

Family getGraniteMoe() {
  return {.modelType = "granitemoe",
          .architectures = {"GraniteMoeForCausalLM"},
          .layout = {.feedForward = "block_sparse_moe",
                     .router = "block_sparse_moe.router.layer",
                     .expertDown = "block_sparse_moe.output_linear",
                     .expertGateUp = "block_sparse_moe.input_linear"},
          .keys = {.queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .embeddingScale = {"embedding_multiplier", 1},
                   .residualScale = {"residual_multiplier", 1},
                   .attentionScale = {"attention_multiplier", 1}},
          .adjust = adjustGranite};
}

} // namespace tp
