//===- WindowFamilies.cpp - OLMo, EXAONE and Cohere -----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of families whose newer generation has a window in most of its layers,
// and rotates those otherwise than the others: by other frequencies (OLMo 3),
// or alone (EXAONE 4, Cohere 2).
//
//===----------------------------------------------------------------------===//

#include "DecoderFamilies.h"
#include "JsonFile.h"
#include "TableRows.h"
#include "tp/Import/ModelConfig.h"

using namespace mlir;

namespace tp {

static void adjustCohere(ObjectReader &reader, ModelConfig &config) {
  if (!reader.getBool("use_qk_norm", false))
    return;
  config.layout.queryNorm = "self_attn.q_norm";
  config.layout.keyNorm = "self_attn.k_norm";
  config.layout.normsHaveHeads = true;
}

/// Layers with a window rotate, the others do not.
static void rotateWindowedLayers(ModelConfig &config) {
  for (bool slides : config.slides)
    config.skipsRotation.push_back(!slides);
}

/// Without a window all layers rotate.
static void adjustExaone4(ObjectReader &reader, ModelConfig &config) {
  if (reader.has("sliding_window") || !reader.isPresent("sliding_window"))
    rotateWindowedLayers(config);
}

static void adjustCohere2(ObjectReader &reader, ModelConfig &config) {
  rotateWindowedLayers(config);
  reader.ignore({"cache_implementation"});
}

Family getOlmo2() {
  return {.modelType = "olmo2",
          .architectures = {"Olmo2ForCausalLM"},
          .layout = {.queryNorm = "self_attn.q_norm",
                     .keyNorm = "self_attn.k_norm",
                     .normsAllHeads = true,
                     .attentionNorm = "",
                     .attentionAddendNorm = "post_attention_layernorm",
                     .feedForwardNorm = "",
                     .feedForwardAddendNorm = "post_feedforward_layernorm"},
          .keys = {.needsKVHeads = false,
                   .normEpsilon = {"rms_norm_eps", 1e-5},
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .paddingRow = {"pad_token_id", 1}}};
}

/// `rope_scaling` and `rope_theta`, the old spelling, concern the layers
/// without a window; those with one have the default base.
Family getOlmo3() {
  Family family = getOlmo2();
  family.modelType = "olmo3";
  family.architectures = {"Olmo3ForCausalLM", "Olmo3Model"};
  ConfigKeys &keys = family.keys;
  keys.ropeTheta.value = 500000;
  keys.localTheta = {"", 500000};
  keys.window = {"sliding_window", 4096};
  keys.windowed = WindowedLayers::Periodic;
  keys.windowPeriod = {"", 4};
  return family;
}

Family getExaone4() {
  Family family = getOlmo2();
  family.modelType = "exaone4";
  family.architectures = {"Exaone4ForCausalLM", "Exaone4Model"};
  family.layout.normsAllHeads = false;
  ConfigKeys &keys = family.keys;
  keys.needsKVHeads = true;
  keys.queryKeyValueBias = keys.outputBias = {"", false};
  keys.window = {"sliding_window", 4096};
  keys.windowed = WindowedLayers::Periodic;
  keys.windowPeriod = {"sliding_window_pattern", 4};
  keys.paddingRow = {"pad_token_id", -1};
  family.adjust = adjustExaone4;
  return family;
}

Family getCohere() {
  return {.modelType = "cohere",
          .architectures = {"CohereForCausalLM"},
          .layout = {.interleavedRotary = true,
                     .feedForwardNorm = "",
                     .isParallel = true,
                     .norm = NormKind::LayerNoBias},
          .keys = {.needsKVHeads = false,
                   .maxPositions = {"max_position_embeddings", 8192},
                   .normEpsilon = {"layer_norm_eps", 1e-5},
                   .tieEmbeddings = {"tie_word_embeddings", true},
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .ropeTheta = {"rope_theta", 500000},
                   .logitScale = {"logit_scale", 0.0625},
                   .paddingRow = {"pad_token_id", 0}},
          .adjust = adjustCohere};
}

Family getCohere2() {
  Family family = getCohere();
  family.modelType = "cohere2";
  family.architectures = {"Cohere2ForCausalLM", "Cohere2Model"};
  ConfigKeys &keys = family.keys;
  keys.headDim = {"", 0};
  keys.ropeTheta.value = 10000;
  keys.window = {"sliding_window", 4096};
  keys.windowed = WindowedLayers::Periodic;
  keys.windowPeriod = {"sliding_window_pattern", 4};
  family.adjust = adjustCohere2;
  return family;
}

} // namespace tp
