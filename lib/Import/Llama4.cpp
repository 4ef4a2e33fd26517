//===- Llama4.cpp - The text of Llama 4 -----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row of the table of families. Its layers that rotate attend within chunks,
// and those that do not scale their queries by how far the text has come: up to
// the shorter of the two lengths both are what they are in other models, and no
// program is longer.
//
//===----------------------------------------------------------------------===//

#include "ExpertFamilies.h"
#include "JsonFile.h"
#include "ReadPositions.h"
#include "TableRows.h"
#include "tp/Import/ModelConfig.h"

using namespace mlir;
namespace json = llvm::json;

namespace tp {

static constexpr int64_t maxExperts = 1 << 16;

/// Layers that do not rotate: the last of every few, unless a list has a 0 or 1
/// for each.
static void readRotation(ObjectReader &reader, ModelConfig &config) {
  int64_t interval = reader.getInt("no_rope_layer_interval", 4, 1, maxLayers);
  config.skipsRotation.resize(config.numLayers);
  for (int64_t i = 0; i < config.numLayers; ++i)
    config.skipsRotation[i] = (i + 1) % interval == 0;
  const json::Array *rotates = reader.getArray("no_rope_layers");
  if (!rotates || rotates->empty())
    return;
  if (rotates->size() < static_cast<size_t>(config.numLayers)) {
    reader.error("no_rope_layers")
        << "expected no_rope_layers to have " << config.numLayers
        << " entries (num_hidden_layers), got " << rotates->size();
    return;
  }
  for (int64_t i = 0; i < config.numLayers; ++i)
    config.skipsRotation[i] = (*rotates)[i].getAsInteger() == 0;
}

/// Layers without experts: those that a list leaves out, or all but every so
/// manieth.
static void readDense(ObjectReader &reader, ModelConfig &config) {
  int64_t step = reader.getInt("interleave_moe_layer_step", 1, 1, maxLayers);
  config.isDense.resize(config.numLayers);
  for (int64_t i = 0; i < config.numLayers; ++i)
    config.isDense[i] = (i + 1) % step != 0;
  const json::Array *list = reader.getArray("moe_layers");
  if (!list)
    return;
  config.isDense.assign(config.numLayers, true);
  for (const json::Value &value : *list) {
    std::optional<int64_t> layer = value.getAsInteger();
    if (!layer || *layer < 0 || *layer >= config.numLayers)
      reader.error("moe_layers")
          << "expected moe_layers to list numbers of the " << config.numLayers
          << " layers from 0, got " << showJson(value);
    else
      config.isDense[*layer] = false;
  }
}

/// How long a text may be before chunks end or queries are scaled.
static void readLengths(ObjectReader &reader, ModelConfig &config) {
  // A null chunk is none; the default is for a missing key.
  if (reader.has("attention_chunk_size") ||
      !reader.isPresent("attention_chunk_size")) {
    int64_t chunk = reader.getInt("attention_chunk_size", 8192, 1, maxSize);
    boundPositions(config, chunk,
                   "layers that rotate attend within chunks of " +
                       Twine(chunk) +
                       " positions (attention_chunk_size), which is supported "
                       "within the first one alone");
  }
  int64_t floor = reader.getInt("floor_scale", 8192, 1, maxSize);
  double scale = 0.1;
  if (const json::Value *value = reader.get("attn_scale"))
    scale = value->getAsNumber().value_or(scale);
  if (reader.getBool("attn_temperature_tuning", true) && scale != 0)
    boundPositions(
        config, std::max<int64_t>(1, floor - 1),
        "layers that do not rotate scale the queries of positions from " +
            Twine(floor - 1) +
            " on (attn_temperature_tuning, floor_scale), which is not "
            "supported");
}

static void adjustLlama4(ObjectReader &reader, ModelConfig &config) {
  ExpertsConfig experts;
  experts.count = reader.getInt("num_local_experts", 16, 1, maxExperts);
  experts.perToken = reader.getInt("num_experts_per_tok", 1, 1,
                                   std::max<int64_t>(1, experts.count));
  experts.width = experts.sharedWidth = config.intermediateSize;
  experts.sigmoid = experts.scalesInput = true;
  experts.normalizes = false;
  config.experts = experts;
  config.intermediateSize =
      reader.getInt("intermediate_size_mlp", 16384, 1, maxSize);
  config.layout.normsRotated = reader.getBool("use_qk_norm", true);
  readRotation(reader, config);
  readDense(reader, config);
  readLengths(reader, config);
  // These keys concern training.
  reader.ignore({"output_router_logits", "router_aux_loss_coef",
                 "router_jitter_noise", "for_llm_compressor"});
}

Family getLlama4Text() {
  return {.modelType = "llama4_text",
          .architectures = {"Llama4ForCausalLM"},
          .layout = {.interleavedRotary = true,
                     .feedForward = "feed_forward",
                     .gate = "feed_forward.gate_proj",
                     .up = "feed_forward.up_proj",
                     .down = "feed_forward.down_proj",
                     .router = "feed_forward.router",
                     .expertGate = "feed_forward.experts.{e}.gate_proj",
                     .expertUp = "feed_forward.experts.{e}.up_proj",
                     .expertDown = "feed_forward.experts.{e}.down_proj",
                     .expertsAreStacks = true,
                     .sharedGate = "feed_forward.shared_expert.gate_proj",
                     .sharedUp = "feed_forward.shared_expert.up_proj",
                     .sharedDown = "feed_forward.shared_expert.down_proj"},
          .keys = {.needsKVHeads = false,
                   .headDim = {"head_dim", 128},
                   .maxPositions = {"max_position_embeddings", 131072},
                   .normEpsilon = {"rms_norm_eps", 1e-5},
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .ropeTheta = {"rope_theta", 500000},
                   .boundedKind = "chunked_attention"},
          .adjust = adjustLlama4};
}

} // namespace tp
