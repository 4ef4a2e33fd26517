//===- ConvFamilies.cpp - Families with short convolutions ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LFM2, most layers of which have a gated short convolution where others have
// attention, and LFM2 with experts.
//
//===----------------------------------------------------------------------===//

#include "DecoderFamilies.h"
#include "JsonFile.h"
#include "ReadPositions.h"
#include "TableRows.h"
#include "tp/Import/ModelConfig.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tp {

/// Reads `full_attn_idxs` if there is no `layer_types`: the layers that have
/// attention; all of them if it is missing too.
static void readAttentionLayers(ObjectReader &reader, ModelConfig &config) {
  if (reader.has("layer_types"))
    return reader.ignore({"full_attn_idxs"});
  const llvm::json::Array *layers = reader.getArray("full_attn_idxs");
  if (!layers)
    return;
  config.convolves.assign(config.numLayers, true);
  for (auto [i, value] : llvm::enumerate(*layers)) {
    std::optional<int64_t> layer = value.getAsInteger();
    if (!layer) {
      reader.error("full_attn_idxs")
          << "expected full_attn_idxs[" << i << "] to be the number of a layer,"
          << " got " << showJson(value);
      return;
    }
    // One that is not there has no effect, as in transformers.
    if (*layer >= 0 && *layer < config.numLayers)
      config.convolves[*layer] = false;
  }
}

/// Two thirds of the width, times a factor, rounded up to a multiple.
static void adjustWidth(ObjectReader &reader, ModelConfig &config) {
  bool isAdjusted = reader.getBool("block_auto_adjust_ff_dim", true);
  int64_t multiple = reader.getInt("block_multiple_of", 256, 1, maxSize);
  // Null leaves the width as it is, unrounded.
  bool isNull = reader.isPresent("block_ffn_dim_multiplier") &&
                !reader.has("block_ffn_dim_multiplier");
  double factor =
      isNull ? 0 : reader.getPositive("block_ffn_dim_multiplier", 1);
  if (!isAdjusted || reader.failed())
    return;
  // In doubles and cut off, as there.
  double width = double(int64_t(double(2 * config.intermediateSize) / 3));
  if (!isNull)
    width = factor * width;
  if (!(width >= 1 && width <= double(maxSize))) {
    reader.error("block_ffn_dim_multiplier")
        << "expected a feed-forward of 1 to " << maxSize << " elements, got "
        << width;
    return;
  }
  config.intermediateSize = int64_t(width);
  if (!isNull)
    config.intermediateSize =
        llvm::alignTo(config.intermediateSize, uint64_t(multiple));
}

static void readConvolutions(ObjectReader &reader, ModelConfig &config) {
  ConvConfig conv;
  conv.taps = reader.getInt("conv_L_cache", 3, 2, mostTaps);
  conv.hasBias = reader.getBool("conv_bias", false);
  if (llvm::is_contained(config.convolves, true))
    config.conv = conv;
}

static void adjustLfm2(ObjectReader &reader, ModelConfig &config) {
  readAttentionLayers(reader, config);
  readConvolutions(reader, config);
  adjustWidth(reader, config);
}

/// The first layers have a feed-forward, the others experts.
static void adjustLfm2Moe(ObjectReader &reader, ModelConfig &config) {
  readConvolutions(reader, config);
  ExpertsConfig experts;
  experts.count = reader.getInt("num_experts", 32, 1, maxSize);
  experts.perToken = reader.getInt("num_experts_per_tok", 4, 1,
                                   std::max<int64_t>(1, experts.count));
  experts.width = reader.getInt("moe_intermediate_size", 1792, 1, maxSize);
  experts.sigmoid = true;
  experts.epsilon = 1e-6;
  experts.normalizes = reader.getBool("norm_topk_prob", true);
  experts.scale = reader.getPositive("routed_scaling_factor", 1);
  if (!reader.getBool("use_expert_bias", true))
    config.layout.routerBias = "";
  // A loss that balances the experts is not there in transformers.
  reader.ignore({"output_router_logits", "router_aux_loss_coef"});
  int64_t first = reader.getInt("num_dense_layers", 2, 0, maxLayers);
  for (int64_t i = 0; i < config.numLayers; ++i)
    config.isDense.push_back(i < first);
  config.experts = experts;
}

Family getLfm2() {
  return {.modelType = "lfm2",
          .architectures = {"Lfm2ForCausalLM", "Lfm2Model"},
          .layout = {.finalNorm = "embedding_norm",
                     .output = "self_attn.out_proj",
                     .queryNorm = "self_attn.q_layernorm",
                     .keyNorm = "self_attn.k_layernorm",
                     .convIn = "conv.in_proj",
                     .conv = "conv.conv",
                     .convOut = "conv.out_proj",
                     .feedForward = "feed_forward",
                     .gate = "feed_forward.w1",
                     .up = "feed_forward.w3",
                     .down = "feed_forward.w2",
                     .attentionNorm = "operator_norm",
                     .feedForwardNorm = "ffn_norm"},
          .keys = {.maxPositions = {"max_position_embeddings", 128000},
                   .normEpsilon = {"norm_eps", 1e-5},
                   .activation = {"", "silu"},
                   .tieEmbeddings = {"tie_word_embeddings", true},
                   .ropeTheta = {"rope_theta", 1000000},
                   .convKind = "conv",
                   .attentionDropout = {"", 0},
                   .paddingRow = {"pad_token_id", 0}},
          .adjust = adjustLfm2};
}

Family getLfm2Moe() {
  Family family = getLfm2();
  family.modelType = "lfm2_moe";
  family.architectures = {"Lfm2MoeForCausalLM", "Lfm2MoeModel"};
  ModelLayout &layout = family.layout;
  layout.router = "feed_forward.gate";
  layout.routerBias = "feed_forward.expert_bias";
  layout.expertGate = "feed_forward.experts.{e}.w1";
  layout.expertUp = "feed_forward.experts.{e}.w3";
  layout.expertDown = "feed_forward.experts.{e}.w2";
  family.adjust = adjustLfm2Moe;
  return family;
}

} // namespace tp
