//===- ConvFamilies.cpp - Families with short convolutions ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LFM2, most layers of which have a gated short convolution where others have
// attention.
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

/// What `full_attn_idxs` says where there is no `layer_types`: the layers that
/// have attention; all of them if it is missing too.
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

static void adjustLfm2(ObjectReader &reader, ModelConfig &config) {
  /// Each position's weight is written out in the program.
  constexpr int64_t mostTaps = 64;
  ConvConfig conv;
  conv.taps = reader.getInt("conv_L_cache", 3, 2, mostTaps);
  conv.hasBias = reader.getBool("conv_bias", false);
  readAttentionLayers(reader, config);
  if (llvm::is_contained(config.convolves, true))
    config.conv = conv;
  adjustWidth(reader, config);
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

} // namespace tp
