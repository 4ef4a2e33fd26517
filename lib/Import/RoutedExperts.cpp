//===- RoutedExperts.cpp - Experts that DeepSeek's keys describe ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The keys by which DeepSeek's files, and those of families that followed,
// describe a mixture of experts, and rows of such families whose attention is
// an ordinary one.
//
//===----------------------------------------------------------------------===//

#include "DecoderFamilies.h"
#include "ExpertFamilies.h"
#include "JsonFile.h"
#include "ReadPositions.h"
#include "TableRows.h"
#include "tp/Import/ModelConfig.h"

using namespace mlir;

namespace tp {

static constexpr int64_t maxExperts = 1 << 16;

void readExpertGroups(ObjectReader &reader, ExpertsConfig &experts,
                      int64_t groupBest, std::optional<int64_t> groups,
                      std::optional<int64_t> topGroups) {
  experts.groups = reader.getInt("n_group", groups, 1, maxExperts);
  experts.topGroups = reader.getInt("topk_group", topGroups, 1,
                                    std::max<int64_t>(1, experts.groups));
  experts.groupBest = groupBest;
  if (reader.endsEarly())
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

ExpertsConfig readRoutedExperts(ObjectReader &reader, double scale) {
  ExpertsConfig experts;
  experts.count =
      reader.getInt("n_routed_experts", std::nullopt, 1, maxExperts);
  experts.perToken = reader.getInt("num_experts_per_tok", std::nullopt, 1,
                                   std::max<int64_t>(1, experts.count));
  experts.width =
      reader.getInt("moe_intermediate_size", std::nullopt, 1, maxSize);
  experts.sharedWidth =
      experts.width *
      reader.getInt("n_shared_experts", std::nullopt, 0,
                    maxSize / std::max<int64_t>(1, experts.width));
  experts.scale = reader.getPositive("routed_scaling_factor", scale);
  // These keys concern training, and the devices that experts are on.
  reader.ignore({"aux_loss_alpha", "ep_size", "output_router_logits",
                 "router_aux_loss_coef", "seq_aux"});
  return experts;
}

ModelLayout nameRoutedExperts(ModelLayout layout) {
  layout.router = "mlp.gate";
  layout.expertGate = "mlp.experts.{e}.gate_proj";
  layout.expertUp = "mlp.experts.{e}.up_proj";
  layout.expertDown = "mlp.experts.{e}.down_proj";
  layout.sharedGate = "mlp.shared_experts.gate_proj";
  layout.sharedUp = "mlp.shared_experts.up_proj";
  layout.sharedDown = "mlp.shared_experts.down_proj";
  return layout;
}

void readFirstDense(ObjectReader &reader, ModelConfig &config, int64_t count) {
  int64_t first = reader.getInt("first_k_dense_replace", count, 0, maxLayers);
  config.isDense.resize(config.numLayers);
  for (int64_t i = 0; i < config.numLayers; ++i)
    config.isDense[i] = i < first;
  reader.require("moe_layer_freq", 1,
                 "dense layers among those with experts are not supported");
}

void readLayerKinds(ObjectReader &reader, ModelConfig &config) {
  config.isDense.assign(config.numLayers, false);
  if (config.numLayers > 0)
    config.isDense[0] = true;
  const llvm::json::Array *kinds = reader.getArray("mlp_layer_types");
  if (!kinds)
    return;
  if (kinds->size() != static_cast<size_t>(config.numLayers)) {
    reader.error("mlp_layer_types")
        << "expected mlp_layer_types to have " << config.numLayers
        << " entries (num_hidden_layers), got " << kinds->size();
    return;
  }
  for (int64_t i = 0; i < config.numLayers; ++i) {
    std::optional<StringRef> kind = (*kinds)[i].getAsString();
    if (kind != "dense" && kind != "sparse") {
      reader.error("mlp_layer_types")
          << "expected mlp_layer_types[" << i
          << "] to be \"dense\" or \"sparse\", got " << showJson((*kinds)[i]);
      return;
    }
    config.isDense[i] = *kind == "dense";
  }
}

static void adjustGlm(ObjectReader &reader, ModelConfig &config) {
  if (reader.getBool("use_qk_norm", false)) {
    config.layout.queryNorm = "self_attn.q_norm";
    config.layout.keyNorm = "self_attn.k_norm";
  }
  ExpertsConfig experts = readRoutedExperts(reader, 1);
  readFirstDense(reader, config, 1);
  experts.sigmoid = true;
  experts.normalizes = reader.getBool("norm_topk_prob", true);
  readExpertGroups(reader, experts, 2, 1, 1);
  config.numExtraLayers =
      reader.getInt("num_nextn_predict_layers", 1, 0, maxLayers);
  config.experts = experts;
}

/// Reads which layers have experts: every so manieth between two numbers.
static void readErnieLayers(ObjectReader &reader, ModelConfig &config) {
  int64_t last = std::max<int64_t>(0, config.numLayers - 1);
  int64_t first = reader.getInt("moe_layer_start_index", 1, 0, maxLayers);
  int64_t end = reader.getInt("moe_layer_end_index", -1, -1, maxLayers);
  int64_t interval = reader.getInt("moe_layer_interval", 1, 1, maxLayers);
  config.isDense.resize(config.numLayers);
  for (int64_t i = 0; i < config.numLayers; ++i)
    config.isDense[i] =
        (i + 1) % interval != 0 || i < first || i > (end < 0 ? last : end);
}

static void adjustErnie(ObjectReader &reader, ModelConfig &config) {
  ExpertsConfig experts;
  experts.count = reader.getInt("moe_num_experts", 64, 1, maxExperts);
  experts.perToken =
      reader.getInt("moe_k", 6, 1, std::max<int64_t>(1, experts.count));
  experts.width = reader.getInt("moe_intermediate_size", 1536, 1, maxSize);
  experts.sharedWidth =
      experts.width *
      reader.getInt("moe_num_shared_experts", 2, 0,
                    maxSize / std::max<int64_t>(1, experts.width));
  readErnieLayers(reader, config);
  reader.require("use_bias", false,
                 "biases of all layers and of the head are "
                 "not supported");
  // The chosen are the largest of all but for the bias; together they are
  // hardly less than their share, and never as little as this.
  double least = reader.getPositive("moe_norm_min", 1e-12);
  if (!reader.failed() && least > 1e-6)
    reader.error("moe_norm_min")
        << "unsupported moe_norm_min " << showJson(least)
        << ": expected at most 1e-06, below which no sum of scores is likely "
           "to be";
  bool hasTerm = reader.get("router_aux_loss_coef") == nullptr ||
                 reader.get("router_aux_loss_coef")->getAsNumber() != 0.0;
  experts.isBalanced = reader.getBool("output_router_logits", false) && hasTerm;
  config.experts = experts;
}

/// How many experts a token uses: a number, or one for each layer, which must
/// be the same.
static int64_t readTopK(ObjectReader &reader, int64_t most) {
  constexpr StringLiteral key = "moe_topk";
  const llvm::json::Value *value = reader.get(key);
  const llvm::json::Array *list = value ? value->getAsArray() : nullptr;
  if (!list)
    return reader.getInt(key, 1, 1, most);
  std::optional<int64_t> first;
  if (!list->empty())
    first = list->front().getAsInteger();
  bool isSame = llvm::all_of(*list, [&](const llvm::json::Value &one) {
    return one == list->front();
  });
  if (first && *first >= 1 && *first <= most && isSame)
    return *first;
  reader.error(key)
      << "expected moe_topk to be one number of experts from 1 to " << most
      << " in all layers, got " << showJson(*value);
  return 1;
}

static void adjustHunyuan(ObjectReader &reader, ModelConfig &config) {
  ExpertsConfig experts;
  experts.count = reader.getInt("num_experts", 1, 1, maxExperts);
  experts.perToken = readTopK(reader, std::max<int64_t>(1, experts.count));
  experts.width = experts.sharedWidth = config.intermediateSize;
  reader.ignore({"eod_token_id", "output_router_logits"});
  config.experts = experts;
}

Family getHunyuanMoe() {
  Family family = getHunyuanDense();
  family.modelType = "hunyuan_v1_moe";
  family.architectures = {"HunYuanMoEV1ForCausalLM", "HunYuanMoEV1Model"};
  family.layout = nameRoutedExperts(family.layout);
  family.layout.router = "mlp.gate.wg";
  family.layout.sharedGate = "mlp.shared_mlp.gate_proj";
  family.layout.sharedUp = "mlp.shared_mlp.up_proj";
  family.layout.sharedDown = "mlp.shared_mlp.down_proj";
  family.adjust = adjustHunyuan;
  return family;
}

Family getErnieMoe() {
  return {.modelType = "ernie4_5_moe",
          .architectures = {"Ernie4_5_MoeForCausalLM"},
          .layout = nameRoutedExperts(
              {.interleavedRotary = true,
               .routerBias = "mlp.moe_statics.e_score_correction_bias",
               .routerBiasIsRow = true}),
          .keys = {.maxPositions = {"max_position_embeddings", 131072},
                   .normEpsilon = {"rms_norm_eps", 1e-5},
                   .tieEmbeddings = {"tie_word_embeddings", true},
                   .ropeTheta = {"rope_theta", 500000},
                   .attentionDropout = {"", 0},
                   .paddingRow = {"pad_token_id", 0}},
          // Layers that predict more than the next token.
          .ignored = {"*.rotary_emb.inv_freq", "*mtp*"},
          .adjust = adjustErnie};
}

Family getGlm4Moe() {
  return {.modelType = "glm4_moe",
          .architectures = {"Glm4MoeForCausalLM"},
          .layout = nameRoutedExperts(
              {.routerBias = "mlp.gate.e_score_correction_bias"}),
          .keys = {.maxPositions = {"max_position_embeddings", 131072},
                   .normEpsilon = {"rms_norm_eps", 1e-5},
                   .queryKeyValueBias = {"attention_bias", false},
                   .rotaryPart = {"partial_rotary_factor", 0.5}},
          .adjust = adjustGlm};
}

} // namespace tp
