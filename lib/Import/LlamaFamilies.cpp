//===- LlamaFamilies.cpp - Families near Llama ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of families that differ from Llama in how heads are rotated and normed,
// in further norms, or in tensors beside the model.
//
//===----------------------------------------------------------------------===//

#include "DecoderFamilies.h"
#include "JsonFile.h"
#include "TableRows.h"
#include "tp/Import/ModelConfig.h"

using namespace mlir;

namespace tp {

static void adjustMinistral3(ObjectReader &reader, ModelConfig &config) {
  if (!reader.failed() && config.rope.queryGrowth == 0)
    reader.error() << "missing rope_parameters: expected an object with "
                      "llama_4_scaling_beta";
}

static void adjustHunyuan(ObjectReader &reader, ModelConfig &) {
  reader.ignore({"eod_token_id"});
}

static void adjustMiMo(ObjectReader &reader, ModelConfig &) {
  reader.ignore({"num_nextn_predict_layers"});
}

Family getGlm() {
  return {.modelType = "glm",
          .architectures = {"GlmForCausalLM", "GlmModel"},
          .layout = {.interleavedRotary = true, .gateUp = "mlp.gate_up_proj"},
          .keys = {.headDim = {"head_dim", 128},
                   .maxPositions = {"max_position_embeddings", 131072},
                   .normEpsilon = {"rms_norm_eps", 1.5625e-7},
                   .queryKeyValueBias = {"attention_bias", true},
                   .rotaryPart = {"partial_rotary_factor", 0.5},
                   .paddingRow = {"pad_token_id", 151329}}};
}

Family getGlm4() {
  Family family = getGlm();
  family.modelType = "glm4";
  family.architectures = {"Glm4ForCausalLM", "Glm4Model"};
  family.layout.attentionAddendNorm = "post_self_attn_layernorm";
  family.layout.feedForwardAddendNorm = "post_mlp_layernorm";
  return family;
}

Family getErnie45() {
  return {.modelType = "ernie4_5",
          .architectures = {"Ernie4_5ForCausalLM", "Ernie4_5Model"},
          .layout = {.interleavedRotary = true},
          .keys = {.headDim = {"head_dim", 128},
                   .maxPositions = {"max_position_embeddings", 131072},
                   .normEpsilon = {"rms_norm_eps", 1e-5},
                   .tieEmbeddings = {"tie_word_embeddings", true},
                   .queryKeyValueBias = {"use_bias", false},
                   .outputBias = {"use_bias", false},
                   .feedForwardBias = {"use_bias", false},
                   .ropeTheta = {"rope_theta", 500000},
                   .attentionDropout = {"", 0},
                   .paddingRow = {"pad_token_id", 0}}};
}

Family getHunyuanDense() {
  return {.modelType = "hunyuan_v1_dense",
          .architectures = {"HunYuanDenseV1ForCausalLM", "HunYuanDenseV1Model"},
          .layout = {.queryNorm = "self_attn.query_layernorm",
                     .keyNorm = "self_attn.key_layernorm",
                     .rotatesBeforeNorms = true},
          .keys = {.needsKVHeads = false,
                   .normEpsilon = {"rms_norm_eps", 1e-5},
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .hasRopeAlpha = true,
                   .paddingRow = {"pad_token_id", 0}},
          .adjust = adjustHunyuan};
}

Family getMinistral3() {
  return {.modelType = "ministral3",
          .architectures = {"Ministral3ForCausalLM", "Ministral3Model"},
          .keys = {.headDim = {"head_dim", 128},
                   .maxPositions = {"max_position_embeddings", 262144},
                   .normEpsilon = {"rms_norm_eps", 1e-5},
                   .hasQueryGrowth = true,
                   .window = {"sliding_window", 0},
                   .paddingRow = {"pad_token_id", 11}},
          .adjust = adjustMinistral3};
}

Family getMinistral() {
  return {.modelType = "ministral",
          .architectures = {"MinistralForCausalLM", "MinistralModel"},
          .keys = {.maxPositions = {"max_position_embeddings", 131072},
                   .window = {"sliding_window", 4096},
                   .windowed = WindowedLayers::Later,
                   .windowBound = {"", 0}}};
}

Family getArcee() {
  return {.modelType = "arcee",
          .architectures = {"ArceeForCausalLM", "ArceeModel"},
          .layout = {.gate = ""},
          .keys = {.needsKVHeads = false,
                   .maxPositions = {"max_position_embeddings", 4096},
                   .normEpsilon = {"rms_norm_eps", 1e-5},
                   .activation = {"hidden_act", "relu2"},
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .feedForwardBias = {"mlp_bias", false}}};
}

Family getInternLM3() {
  return {.modelType = "internlm3",
          .architectures = {"InternLM3ForCausalLM", "LlamaForCausalLM"},
          .keys = {.headDim = {"head_dim", 128},
                   .maxPositions = {"max_position_embeddings", 32768},
                   .normEpsilon = {"rms_norm_eps", 1e-5},
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .feedForwardBias = {"mlp_bias", false},
                   .paddingRow = {"pad_token_id", 2}}};
}

Family getHelium() {
  return {.modelType = "helium",
          .architectures = {"HeliumForCausalLM", "HeliumModel"},
          .layout = {.interleavedRotary = true},
          .keys = {.headDim = {"head_dim", 128},
                   .maxPositions = {"max_position_embeddings", 4096},
                   .normEpsilon = {"rms_norm_eps", 1e-8},
                   .queryKeyValueBias = {"attention_bias", false},
                   .feedForwardBias = {"mlp_bias", false},
                   .paddingRow = {"pad_token_id", 3}}};
}

Family getMiMo() {
  Family family = getQwen2();
  family.modelType = "mimo";
  family.architectures = {"MiMoForCausalLM"};
  family.ignored.push_back("model.mtp_layers.*");
  family.adjust = adjustMiMo;
  return family;
}

Family getQwen2VLText() {
  Family family = getQwen25VLText();
  family.modelType = "qwen2_vl_text";
  family.architectures = {"Qwen2VLForConditionalGeneration",
                          "Qwen2VLTextModel"};
  return family;
}

Family getQwen25VLText() {
  Family family = getQwen2();
  family.modelType = "qwen2_5_vl_text";
  family.architectures = {"Qwen2_5_VLForConditionalGeneration",
                          "Qwen2_5_VLTextModel"};
  family.keys.headDim = {"", 0};
  family.keys.normEpsilon.value = 1e-5;
  family.keys.ropeTheta.value = 1e6;
  family.keys.plainRopeType = "mrope";
  family.keys.windowBound.value = 80;
  return family;
}

Family getQwen3VLText() {
  return {
      .modelType = "qwen3_vl_text",
      .architectures = {"Qwen3VLForConditionalGeneration", "Qwen3VLTextModel"},
      .layout = {.queryNorm = "self_attn.q_norm",
                 .keyNorm = "self_attn.k_norm"},
      .keys = {.headDim = {"head_dim", 128},
               .maxPositions = {"max_position_embeddings", 128000},
               .queryKeyValueBias = {"attention_bias", false},
               .outputBias = {"attention_bias", false},
               .ropeTheta = {"rope_theta", 500000},
               .plainRopeType = "mrope"}};
}

} // namespace tp
