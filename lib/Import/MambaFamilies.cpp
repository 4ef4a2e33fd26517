//===- MambaFamilies.cpp - Families with Mamba-2 --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Granite 4 H and Nemotron-H (Nemotron 3 too), most layers of which are
// Mamba-2. A layer of Nemotron-H is one thing: Mamba-2, attention, a
// feed-forward or experts.
//
//===----------------------------------------------------------------------===//

#include "DecoderFamilies.h"
#include "ExpertFamilies.h"
#include "JsonFile.h"
#include "ReadPositions.h"
#include "TableRows.h"
#include "tp/Import/ModelConfig.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
namespace json = llvm::json;

namespace tp {

/// Steps that are held within bounds; those of no effect may be written.
static void readStepLimit(ObjectReader &reader) {
  const json::Array *limit = reader.getArray("time_step_limit");
  if (!limit)
    return;
  // As Python's json writes it, and as transformers does.
  auto isInfinite = [](const json::Value &value) {
    if (const json::Object *named = value.getAsObject())
      return named->getString("__float__") == "Infinity";
    return value.getAsNumber() == HUGE_VAL;
  };
  bool isOpen = limit->size() == 2 && (*limit)[0].getAsNumber() == 0.0 &&
                isInfinite((*limit)[1]);
  if (!isOpen)
    reader.error("time_step_limit")
        << "steps within bounds are not supported: expected time_step_limit to "
           "be [0.0, Infinity], got "
        << showJson(*reader.get("time_step_limit"));
}

/// Value heads share the keys of a group.
static void checkGroups(ObjectReader &reader, StringRef heads, StringRef groups,
                        const LinearConfig &linear) {
  if (linear.valueHeads % linear.keyHeads != 0)
    reader.error(groups) << "expected " << heads << " to be a multiple of "
                         << groups << ", " << linear.keyHeads << ", got "
                         << linear.valueHeads;
}

/// Granite's keys of Mamba-2. A head has as many elements as make
/// `mamba_expand` hidden sizes of all.
static void readStateSpace(ObjectReader &reader, ModelConfig &config) {
  LinearConfig linear;
  ConvConfig conv;
  linear.activation = config.activation;
  conv.taps = reader.getInt("mamba_d_conv", 4, 2, mostTaps);
  conv.hasBias = reader.getBool("mamba_conv_bias", true);
  linear.hasBias = reader.getBool("mamba_proj_bias", false);
  linear.valueHeads = reader.getInt("mamba_n_heads", 128, 1, mostElements);
  linear.keyHeads = reader.getInt("mamba_n_groups", 1, 1, linear.valueHeads);
  linear.keyDim = reader.getInt("mamba_d_state", 256, 1, mostElements);
  int64_t width =
      config.hiddenSize * reader.getInt("mamba_expand", 2, 1, mostElements);
  const json::Value *size = reader.get("mamba_d_head");
  bool isAuto = !size || *size == json::Value("auto");
  linear.valueDim =
      isAuto ? width / linear.valueHeads
             : reader.getInt("mamba_d_head", std::nullopt, 1, mostElements);
  // The size of chunks changes no result.
  reader.ignore({"mamba_chunk_size"});
  readStepLimit(reader);
  if (reader.endsEarly())
    return;
  if (linear.getValueSize() != width) {
    reader.error("mamba_n_heads")
        << "expected mamba_n_heads of mamba_d_head elements to make "
           "mamba_expand times hidden_size, "
        << width << ", got " << linear.valueHeads << " of " << linear.valueDim;
    return;
  }
  checkGroups(reader, "mamba_n_heads", "mamba_n_groups", linear);
  setLinear(config, linear, conv);
}

static void adjustGraniteHybrid(ObjectReader &reader, ModelConfig &config) {
  if (!reader.has("layer_types") && !reader.has("layers_block_type"))
    config.convolves.assign(config.numLayers, true);
  readStateSpace(reader, config);
  config.logitScale = 1 / reader.getPositive("logits_scaling", 1.0);
  std::optional<std::string> position =
      reader.getString("position_embedding_type");
  if (position != "rope")
    config.skipsRotation.assign(config.numLayers, true);
  int64_t shared = reader.getInt("shared_intermediate_size", 1024, 1, maxSize);
  if (reader.getInt("num_local_experts", 8, 0, maxSize) == 0) {
    reader.ignore({"num_experts_per_tok", "output_router_logits",
                   "router_aux_loss_coef"});
    config.intermediateSize = shared;
    return;
  }
  readSharedExperts(reader, config, shared);
}

//===----------------------------------------------------------------------===//
// Nemotron-H
//===----------------------------------------------------------------------===//

namespace {
/// The one thing that a layer of Nemotron-H has.
enum class Part { StateSpace, Attention, FeedForward, Experts };
} // namespace

/// The layers' parts, as a list of names, of which there are old ones, or as a
/// text with a letter for each.
static std::optional<SmallVector<Part>> readParts(ObjectReader &reader) {
  SmallVector<Part> parts;
  constexpr StringLiteral listKey = "layers_block_type",
                          patternKey = "hybrid_override_pattern";
  auto add = [&](StringRef key, const Twine &place, StringRef name,
                 std::optional<Part> part) {
    if (part)
      return parts.push_back(*part);
    auto diag = reader.error(key);
    diag << "unsupported " << place << " " << quoted(name) << "; expected ";
    if (key == listKey)
      diag << "\"linear_attention\", \"full_attention\", \"mlp\" or \"moe\"";
    else
      diag << "M, *, - or E, of Mamba-2, attention, a feed-forward and experts";
  };
  using Cases = llvm::StringSwitch<std::optional<Part>>;
  if (const json::Array *list = reader.getArray(listKey)) {
    reader.ignore({patternKey});
    for (auto [i, value] : llvm::enumerate(*list)) {
      StringRef name = value.getAsString().value_or("");
      add(listKey, listKey + "[" + Twine(i) + "]", name,
          Cases(name)
              .Cases({"linear_attention", "mamba"}, Part::StateSpace)
              .Cases({"full_attention", "attention"}, Part::Attention)
              .Case("mlp", Part::FeedForward)
              .Case("moe", Part::Experts)
              .Default(std::nullopt));
    }
  } else if (std::optional<std::string> text = reader.getString(patternKey)) {
    for (auto [i, letter] : llvm::enumerate(*text))
      add(patternKey, "letter " + Twine(i) + " of " + patternKey,
          StringRef(&letter, 1),
          Cases(StringRef(&letter, 1))
              .Case("M", Part::StateSpace)
              .Case("*", Part::Attention)
              .Case("-", Part::FeedForward)
              .Case("E", Part::Experts)
              .Default(std::nullopt));
  } else if (!reader.failed()) {
    reader.error() << "missing " << listKey << ", or " << patternKey
                   << ": expected what each layer is";
  }
  if (reader.endsEarly())
    return std::nullopt;
  int64_t count = parts.size();
  if (count < 1 || count > maxLayers) {
    reader.error(listKey) << "expected 1 to " << maxLayers << " layers, got "
                          << count;
  } else if (reader.getInt("num_hidden_layers", count, 1, maxLayers) != count) {
    reader.error("num_hidden_layers")
        << "expected num_hidden_layers to be the " << count << " entries of "
        << (reader.has(listKey) ? listKey : patternKey);
  }
  if (reader.endsEarly())
    return std::nullopt;
  return parts;
}

static void setParts(ModelConfig &config, ArrayRef<Part> parts) {
  config.numLayers = parts.size();
  config.slides.assign(parts.size(), false);
  config.skipsRotation.assign(parts.size(), true);
  for (Part part : parts) {
    bool mixes = part == Part::StateSpace || part == Part::Attention;
    config.convolves.push_back(part == Part::StateSpace);
    config.lacksMixer.push_back(!mixes);
    config.lacksFeedForward.push_back(mixes);
    config.isDense.push_back(part != Part::Experts);
  }
}

/// The keys of Nemotron-H's Mamba-2. `transformers` holds its steps above
/// `time_step_min`.
static void readNemotronStates(ObjectReader &reader, ModelConfig &config) {
  LinearConfig linear;
  ConvConfig conv;
  conv.taps = reader.getInt("conv_kernel", 4, 2, mostTaps);
  conv.hasBias = reader.getBool("use_conv_bias", true);
  linear.hasBias = reader.getBool("use_bias", false);
  linear.valueHeads = reader.getInt("mamba_num_heads", 128, 1, mostElements);
  linear.keyHeads = reader.getInt("n_groups", 8, 1, linear.valueHeads);
  linear.keyDim = reader.getInt("ssm_state_size", 128, 1, mostElements);
  linear.valueDim = reader.getInt("mamba_head_dim", 64, 1, mostElements);
  linear.activation = readActivation(reader, "mamba_hidden_act", "silu");
  linear.leastStep = reader.getPositive("time_step_min", 0.001);
  readStepLimit(reader);
  reader.require("mamba_proj_bias", false,
                 "the projections' biases are those of use_bias");
  reader.require("mamba_ssm_cache_dtype", "float32",
                 "states are computed and kept in f32");
  if (!reader.failed())
    checkGroups(reader, "mamba_num_heads", "n_groups", linear);
  setLinear(config, linear, conv);
}

static void readNemotronExperts(ObjectReader &reader, ModelConfig &config) {
  ExpertsConfig experts = readRoutedExperts(reader, 1);
  experts.sharedWidth = reader.getInt("moe_shared_expert_intermediate_size",
                                      std::nullopt, 1, maxSize);
  experts.sigmoid = true;
  experts.normalizes = reader.getBool("norm_topk_prob", true);
  if (reader.has("moe_latent_size"))
    experts.latentSize =
        reader.getInt("moe_latent_size", std::nullopt, 1, maxSize);
  readExpertGroups(reader, experts, /*groupBest=*/2, 1, 1);
  config.experts = experts;
}

static void adjustNemotronH(ObjectReader &reader, ModelConfig &config) {
  std::optional<SmallVector<Part>> parts = readParts(reader);
  if (!parts)
    return;
  setParts(config, *parts);
  // No result depends on the size of chunks, on `expand` beside the number of
  // heads, or on what training begins with.
  reader.ignore({"chunk_size", "expand", "rescale_prenorm_residual",
                 "time_step_floor", "time_step_max", "use_mamba_kernels",
                 "num_logits_to_keep", "moe_shared_expert_overlap"});
  // Attention does not rotate, whatever is written about that.
  reader.ignore({"partial_rotary_factor", "rope_parameters", "rope_scaling",
                 "rope_theta"});
  // Layers that predict more tokens are not read.
  reader.ignore({"mtp_hybrid_override_pattern", "mtp_layers_block_type",
                 "num_nextn_predict_layers"});
  reader.require("attention_bias", false,
                 "attention with biases is not supported");
  reader.require("residual_in_fp32", false,
                 "a residual stream in another type is not supported");
  if (llvm::is_contained(*parts, Part::StateSpace))
    readNemotronStates(reader, config);
  else
    reader.ignore({"conv_kernel", "mamba_head_dim", "mamba_hidden_act",
                   "mamba_num_heads", "mamba_proj_bias",
                   "mamba_ssm_cache_dtype", "n_groups", "ssm_state_size",
                   "time_step_limit", "time_step_min", "use_bias",
                   "use_conv_bias"});
  if (llvm::is_contained(*parts, Part::Experts))
    readNemotronExperts(reader, config);
  else
    reader.ignore({"moe_intermediate_size", "moe_latent_size",
                   "moe_shared_expert_intermediate_size", "n_group",
                   "n_routed_experts", "n_shared_experts", "norm_topk_prob",
                   "num_experts_per_tok", "output_router_logits",
                   "routed_scaling_factor", "topk_group"});
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Family getGraniteHybrid() {
  return {.modelType = "granitemoehybrid",
          .architectures = {"GraniteMoeHybridForCausalLM"},
          .layout = {.linear = "mamba",
                     .linearConv = "mamba.conv1d",
                     .linearDecayLog = "mamba.A_log",
                     .linearDecayBias = "mamba.dt_bias",
                     .linearNorm = "mamba.norm",
                     .linearOut = "mamba.out_proj",
                     .stateIn = "mamba.in_proj",
                     .stateSkip = "mamba.D",
                     .feedForward = "shared_mlp",
                     .down = "shared_mlp.output_linear",
                     .gateUp = "shared_mlp.input_linear",
                     .router = "block_sparse_moe.router.layer",
                     .expertDown = "block_sparse_moe.output_linear",
                     .expertGateUp = "block_sparse_moe.input_linear",
                     .sharedDown = "shared_mlp.output_linear"},
          .keys = {.needsKVHeads = false,
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .convKind = "linear_attention",
                   .otherConvKind = "mamba",
                   .otherFullKind = "attention",
                   .embeddingScale = {"embedding_multiplier", 1},
                   .residualScale = {"residual_multiplier", 1},
                   .attentionScale = {"attention_multiplier", 1}},
          .adjust = adjustGraniteHybrid};
}

Family getNemotronH() {
  return {.modelType = "nemotron_h",
          .architectures = {"NemotronHForCausalLM"},
          .layout = {.prefixes = {"backbone.", "model."},
                     .words = "embeddings",
                     .finalNorm = "norm_f",
                     .attention = "mixer",
                     .query = "mixer.q_proj",
                     .key = "mixer.k_proj",
                     .value = "mixer.v_proj",
                     .output = "mixer.o_proj",
                     .linear = "mixer",
                     .linearConv = "mixer.conv1d",
                     .linearDecayLog = "mixer.A_log",
                     .linearDecayBias = "mixer.dt_bias",
                     .linearNorm = "mixer.norm",
                     .linearOut = "mixer.out_proj",
                     .stateIn = "mixer.in_proj",
                     .stateSkip = "mixer.D",
                     .feedForward = "mixer",
                     .gate = "",
                     .up = "mixer.up_proj",
                     .down = "mixer.down_proj",
                     .router = "mixer.gate",
                     .routerBias = "mixer.gate.e_score_correction_bias",
                     .expertUp = "mixer.experts.{e}.up_proj",
                     .expertDown = "mixer.experts.{e}.down_proj",
                     .expertsIn = "mixer.fc1_latent_proj",
                     .expertsOut = "mixer.fc2_latent_proj",
                     .sharedUp = "mixer.shared_experts.up_proj",
                     .sharedDown = "mixer.shared_experts.down_proj",
                     .attentionNorm = "norm",
                     .feedForwardNorm = "norm"},
          .keys = {.numLayers = "",
                   .headDim = {"head_dim", 128},
                   .maxPositions = {"max_position_embeddings", 4096},
                   .normEpsilon = {"layer_norm_epsilon", 1e-5},
                   .activation = {"mlp_hidden_act", "relu2"},
                   .feedForwardBias = {"mlp_bias", false},
                   .isRotary = false,
                   .hasOwnLayerTypes = true,
                   .paddingRow = {"", -1}},
          .ignored = {"*.rotary_emb.inv_freq", "mtp.*"},
          .adjust = adjustNemotronH};
}

} // namespace tp
