//===- LinearFamilies.cpp - Families with a gated delta rule --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Qwen3-Next and Qwen3.5, most layers of which have a gated delta rule where
// others have attention, which is gated too. The two differ in how the
// projections before the rule are stored, and in their feed-forward. Qwen3.6 is
// Qwen3.5 by its files.
//
//===----------------------------------------------------------------------===//

#include "DecoderFamilies.h"
#include "ExpertFamilies.h"
#include "JsonFile.h"
#include "ReadPositions.h"
#include "TableRows.h"
#include "tp/Import/ModelConfig.h"

using namespace mlir;
namespace json = llvm::json;

namespace tp {

/// All layers but the last of each period have linear attention where there is
/// no `layer_types`.
static void readInterval(ObjectReader &reader, ModelConfig &config) {
  constexpr StringLiteral key = "full_attention_interval";
  if (reader.has("layer_types"))
    return reader.ignore({key});
  int64_t interval = reader.getInt(key, 4, 1, maxLayers);
  for (int64_t i = 0; i < config.numLayers; ++i)
    config.convolves[i] = (i + 1) % interval != 0;
}

void setLinear(ModelConfig &config, const LinearConfig &linear,
               const ConvConfig &conv) {
  if (!llvm::is_contained(config.convolves, true))
    return;
  config.linear = linear;
  config.conv = conv;
}

static void readLinear(ObjectReader &reader, ModelConfig &config) {
  LinearConfig linear;
  ConvConfig conv;
  linear.activation = config.activation;
  conv.taps = reader.getInt("linear_conv_kernel_dim", 4, 2, mostTaps);
  auto size = [&](StringRef key, int64_t fallback) {
    return reader.getInt(key, fallback, 1, mostElements);
  };
  linear.keyHeads = size("linear_num_key_heads", 16);
  linear.valueHeads = size("linear_num_value_heads", 32);
  linear.keyDim = size("linear_key_head_dim", 128);
  linear.valueDim = size("linear_value_head_dim", 128);
  readInterval(reader, config);
  if (reader.endsEarly())
    return;
  if (linear.valueHeads % linear.keyHeads != 0) {
    reader.error("linear_num_value_heads")
        << "expected linear_num_value_heads to be a multiple of "
           "linear_num_key_heads, "
        << linear.keyHeads << ", got " << linear.valueHeads;
    return;
  }
  setLinear(config, linear, conv);
}

static void adjustQwen3Next(ObjectReader &reader, ModelConfig &config) {
  readLinear(reader, config);
  readNextExperts(reader, config, /*mayBeDense=*/true);
}

/// The predicted tokens behind the next one are of training, or of another
/// program; what a state is computed in is f32 here.
static void readQwen35(ObjectReader &reader, ModelConfig &config) {
  readLinear(reader, config);
  reader.ignore({"mtp_num_hidden_layers", "mtp_use_dedicated_embeddings"});
  reader.require("mamba_ssm_dtype", "float32",
                 "states are computed and kept in f32");
  reader.require("output_gate_type", "swish",
                 "another gate behind linear attention is not supported");
  reader.require("attn_output_gate", true,
                 "attention without its gate is not supported");
}

static void adjustQwen35Moe(ObjectReader &reader, ModelConfig &config) {
  readQwen35(reader, config);
  readNextExperts(reader, config, /*mayBeDense=*/false);
}

Family getQwen3Next() {
  return {.modelType = "qwen3_next",
          .architectures = {"Qwen3NextForCausalLM"},
          .layout = {.queryNorm = "self_attn.q_norm",
                     .keyNorm = "self_attn.k_norm",
                     .linear = "linear_attn",
                     .linearIn = "linear_attn.in_proj_qkvz",
                     .linearRates = "linear_attn.in_proj_ba",
                     .linearConv = "linear_attn.conv1d",
                     .linearDecayLog = "linear_attn.A_log",
                     .linearDecayBias = "linear_attn.dt_bias",
                     .linearNorm = "linear_attn.norm",
                     .linearOut = "linear_attn.out_proj",
                     .attentionIsGated = true,
                     .router = "mlp.gate",
                     .expertGate = "mlp.experts.{e}.gate_proj",
                     .expertUp = "mlp.experts.{e}.up_proj",
                     .expertDown = "mlp.experts.{e}.down_proj",
                     .sharedGate = "mlp.shared_expert.gate_proj",
                     .sharedUp = "mlp.shared_expert.up_proj",
                     .sharedDown = "mlp.shared_expert.down_proj",
                     .sharedExpertGate = "mlp.shared_expert_gate",
                     .norm = NormKind::RMSOnePlus},
          .keys = {.headDim = {"head_dim", 256},
                   .maxPositions = {"max_position_embeddings", 32768},
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .rotaryPart = {"partial_rotary_factor", 0.25},
                   .convKind = "linear_attention"},
          .ignored = {"*.rotary_emb.inv_freq", "mtp.*"},
          .adjust = adjustQwen3Next};
}

static void separateProjections(Family &family) {
  ModelLayout &layout = family.layout;
  layout.linearIn = layout.linearRates = "";
  layout.linearQueryKeyValue = "linear_attn.in_proj_qkv";
  layout.linearGate = "linear_attn.in_proj_z";
  layout.linearBeta = "linear_attn.in_proj_b";
  layout.linearDecay = "linear_attn.in_proj_a";
}

Family getQwen35Text() {
  Family family = getQwen3Next();
  family.modelType = "qwen3_5_text";
  family.architectures = {"Qwen3_5ForCausalLM",
                          "Qwen3_5ForConditionalGeneration"};
  separateProjections(family);
  ModelLayout &layout = family.layout;
  layout.router = layout.expertGate = layout.expertUp = layout.expertDown =
      layout.sharedGate = layout.sharedUp = layout.sharedDown =
          layout.sharedExpertGate = "";
  family.adjust = readQwen35;
  return family;
}

Family getQwen35MoeText() {
  Family family = getQwen3Next();
  family.modelType = "qwen3_5_moe_text";
  family.architectures = {"Qwen3_5MoeForCausalLM",
                          "Qwen3_5MoeForConditionalGeneration"};
  // No layer has a feed-forward, even if a file gives its size.
  family.keys.intermediateSize = {"intermediate_size", 1};
  separateProjections(family);
  family.layout.expertsAreStacks = family.layout.stacksMayBeSwapped = true;
  family.adjust = adjustQwen35Moe;
  return family;
}

} // namespace tp
