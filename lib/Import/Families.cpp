//===- Families.cpp - The table of model families -------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row for each model_type says what is not as in Llama (tp/Import/Family.h).
// What a row has no word for, keys that no other family has, is in a function
// beside it.
//
//===----------------------------------------------------------------------===//

#include "DecoderFamilies.h"
#include "EncoderFamilies.h"
#include "ExpertFamilies.h"
#include "JsonFile.h"
#include "KnownKeys.h"
#include "TableRows.h"
#include "tp/Import/ModelConfig.h"
#include <cmath>

using namespace mlir;

namespace tp {

//===----------------------------------------------------------------------===//
// Keys of one family
//===----------------------------------------------------------------------===//

static void adjustGPT2(ObjectReader &reader, ModelConfig &config) {
  if (!reader.getBool("scale_attn_weights", true))
    config.attentionScale = 1;
  reader.require("scale_attn_by_inverse_layer_idx", false,
                 "scores divided by the layer's number are not supported");
  // Scores in f32 whatever the model's type: what this compiler always does.
  reader.ignore({"reorder_and_upcast_attn"});
}

/// The embeddings' factor is that of the hidden size. `gelu` is what old files
/// call its approximation by tanh.
static void adjustGemma(ObjectReader &reader, ModelConfig &config) {
  config.embeddingScale = std::sqrt(double(config.hiddenSize));
  if (config.activation == Activation::GeluErf)
    config.activation = Activation::GeluTanh;
  if (config.modelType != "gemma3_text")
    reader.require("use_bidirectional_attention", false,
                   "attention to later tokens is not supported");
  reader.ignore({"cache_implementation", "_sliding_window_pattern"});
}

static void adjustGemma2(ObjectReader &reader, ModelConfig &config) {
  adjustGemma(reader, config);
  config.attentionScale =
      1 / std::sqrt(reader.getPositive("query_pre_attn_scalar", 256));
}

/// An embedding model may attend to later tokens, and then is an encoder, whose
/// window reaches half as far in each direction.
static void adjustGemma3(ObjectReader &reader, ModelConfig &config) {
  adjustGemma2(reader, config);
  if (!reader.getBool("use_bidirectional_attention", false))
    return;
  config.layout.isEncoder = true;
  if (config.head != Head::None)
    reader.error("use_bidirectional_attention")
        << "unsupported use_bidirectional_attention of " << config.architecture
        << ", which generates: attention to later tokens is supported with "
           "\"Gemma3TextModel\" alone";
}

static void adjustStarcoder2(ObjectReader &reader, ModelConfig &) {
  reader.require("norm_type", "layer_norm", "other norms are not supported");
  reader.require("mlp_type", "default", "a gate is not supported");
}

static void adjustGranite(ObjectReader &reader, ModelConfig &config) {
  config.logitScale = 1 / reader.getPositive("logits_scaling", 1);
}

static void adjustStableLM(ObjectReader &reader, ModelConfig &config) {
  if (reader.getBool("qk_layernorm", false)) {
    config.layout.queryNorm = "self_attn.q_layernorm.norms.{e}";
    config.layout.keyNorm = "self_attn.k_layernorm.norms.{e}";
    config.layout.normsHaveHeads = true;
  }
  if (config.layout.isParallel)
    config.layout.feedForwardNorm = "";
}

/// The last of every few layers does not rotate.
static void adjustSmolLM3(ObjectReader &reader, ModelConfig &config) {
  reader.require("use_sliding_window", false,
                 "windows of layers that do not rotate are not supported");
  int64_t interval = reader.getInt("no_rope_layer_interval", 4, 1, 1 << 30);
  for (int64_t i = 0; i < config.numLayers; ++i)
    config.skipsRotation.push_back((i + 1) % interval == 0);
  const llvm::json::Array *rotates = reader.getArray("no_rope_layers");
  if (!rotates)
    return;
  if (rotates->size() < static_cast<size_t>(config.numLayers)) {
    reader.error("no_rope_layers")
        << "expected no_rope_layers to have " << config.numLayers
        << " entries (num_hidden_layers), got " << rotates->size();
    return;
  }
  for (int64_t i = 0; i < config.numLayers; ++i) {
    std::optional<int64_t> flag = (*rotates)[i].getAsInteger();
    if (flag != 0 && flag != 1) {
      reader.error("no_rope_layers")
          << "expected no_rope_layers[" << i << "] to be 0 or 1, got "
          << showJson((*rotates)[i]);
      return;
    }
    config.skipsRotation[i] = *flag == 0;
  }
}

static void adjustOPT(ObjectReader &reader, ModelConfig &config) {
  ModelLayout &layout = config.layout;
  if (!reader.getBool("do_layer_norm_before", true)) {
    std::swap(layout.attentionNorm, layout.attentionSumNorm);
    std::swap(layout.feedForwardNorm, layout.feedForwardSumNorm);
    layout.finalNorm = "";
  }
  if (reader.getBool("_remove_final_layer_norm", false))
    layout.finalNorm = "";
  config.wordSize =
      reader.getInt("word_embed_proj_dim", config.hiddenSize, 1, INT32_MAX);
  reader.require("layer_norm_elementwise_affine", true,
                 "norms without weights are not supported");
  // These matter in training.
  reader.ignore({"layerdrop", "activation_dropout"});
}

/// Three generations: one KV head, a KV head for each query head, groups.
static void adjustFalcon(ObjectReader &reader, ModelConfig &config) {
  ModelLayout &layout = config.layout;
  if (reader.getBool("alibi", false)) {
    config.alibi = {.scale = config.attentionScale, .isBF16 = true};
    config.skipsRotation.assign(config.numLayers, true);
  }
  bool isNew = reader.getBool("new_decoder_architecture", false);
  bool isParallel = reader.getBool("parallel_attn", true);
  bool isMultiQuery = reader.getBool("multi_query", true);
  int64_t numNorms =
      reader.getInt("num_ln_in_parallel_attn", isNew ? 2 : 1, 1, 2);
  if (!isNew)
    config.numKVHeads = isMultiQuery ? 1 : config.numHeads;
  // One KV head's key and value are behind all queries.
  layout.fusion = config.numKVHeads == 1 ? Fusion::Blocks : Fusion::Groups;
  layout.isParallel = isNew || isParallel;
  if (!layout.isParallel)
    return;
  layout.feedForwardNorm = "";
  if (isNew && numNorms == 2) {
    layout.attentionNorm = "ln_attn";
    layout.feedForwardNorm = "ln_mlp";
  }
}

static void adjustBloom(ObjectReader &reader, ModelConfig &config) {
  config.alibi.emplace();
  reader.require("apply_residual_connection_post_layernorm", false,
                 "a residual stream of normalised values is not supported");
  // The same products in slices; how others compute it; what is in each model.
  reader.ignore({"slow_but_exact", "attention_softmax_in_fp32",
                 "bias_dropout_fusion", "masked_softmax_fusion", "offset_alibi",
                 "skip_bias_add", "skip_bias_add_qkv", "unk_token_id"});
}

static void adjustMPT(ObjectReader &reader, ModelConfig &config) {
  config.alibi.emplace();
  reader.require("expansion_ratio", 4, "another width is not supported");
  reader.require("logit_scale", 1.0, "scaled logits are not supported");
  reader.require("norm_type", "low_precision_layernorm",
                 "other norms are not supported");
  // ALiBi takes their place; what `transformers` does not read.
  reader.ignore({"learned_pos_emb", "no_bias", "init_device",
                 "embedding_fraction", "emb_pdrop", "verbose"});
  const llvm::json::Object *object = reader.getObject("attn_config");
  if (!object)
    return;
  ObjectReader nested(reader.getFile(), *object, "attn_config");
  nested.require("alibi", true, "positions without ALiBi are not supported");
  nested.require("alibi_bias_max", 8, "other slopes are not supported");
  nested.require("attn_type", "multihead_attention",
                 "KV heads that share are not supported");
  nested.require("clip_qkv", nullptr,
                 "queries, keys and values within bounds are not supported");
  for (StringRef key : {"prefix_lm", "qk_ln", "attn_uses_sequence_id"})
    nested.require(key, false, "another attention is not supported");
  config.attentionScale =
      nested.getPositive("softmax_scale", config.attentionScale);
  config.dropout.attention = nested.getProbability("attn_pdrop", 0);
  config.dropout.attentionKey = "attn_config.attn_pdrop";
  nested.ignore({"attn_impl", "model_type", "dtype", "architectures",
                 "is_encoder_decoder"});
  nested.ignore(getIgnoredKeys());
  finishKeys(nested, KnownKeys("mpt.attn_config"));
  reader.join(nested);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static Family getGPT2() {
  return {.modelType = "gpt2",
          .architectures = {"GPT2LMHeadModel"},
          .layout = {.prefixes = {"transformer.", ""},
                     .layer = "h.{i}",
                     .words = "wte",
                     .positions = "wpe",
                     .finalNorm = "ln_f",
                     .attention = "attn",
                     .output = "attn.c_proj",
                     .fusion = Fusion::Blocks,
                     .queryKeyValue = "attn.c_attn",
                     .gate = "",
                     .up = "mlp.c_fc",
                     .down = "mlp.c_proj",
                     .attentionNorm = "ln_1",
                     .feedForwardNorm = "ln_2",
                     .norm = NormKind::Layer,
                     .isTransposed = true},
          .keys = {.hiddenSize = "n_embd",
                   .intermediateSize = {"n_inner", 4},
                   .numLayers = "n_layer",
                   .numHeads = "n_head",
                   .numKVHeads = "",
                   .headDim = {"", 0},
                   .maxPositions = {"n_positions", 1024},
                   .normEpsilon = {"layer_norm_epsilon", 1e-5},
                   .activation = {"activation_function", "gelu_new"},
                   .tieEmbeddings = {"tie_word_embeddings", true},
                   .queryKeyValueBias = {"", true},
                   .outputBias = {"", true},
                   .feedForwardBias = {"", true},
                   .isRotary = false,
                   .embeddingDropout = {"embd_pdrop", 0.1},
                   .residualDropout = {"resid_pdrop", 0.1},
                   .attentionDropout = {"attn_pdrop", 0.1},
                   .paddingRow = {"", -1}},
          .ignored = {"*.attn.bias", "*.attn.masked_bias"},
          .adjust = adjustGPT2};
}

static Family getGemma(StringRef modelType) {
  Family family{.modelType = modelType,
                .architectures = {"GemmaForCausalLM"},
                .layout = {.norm = NormKind::RMSOnePlus},
                .keys = {.headDim = {"head_dim", 256},
                         .maxPositions = {"max_position_embeddings", 8192},
                         .activation = {"hidden_act", "gelu_pytorch_tanh"},
                         .tieEmbeddings = {"tie_word_embeddings", true},
                         .queryKeyValueBias = {"attention_bias", false},
                         .outputBias = {"attention_bias", false},
                         .paddingRow = {"pad_token_id", 0}},
                .adjust = adjustGemma};
  if (modelType == "gemma")
    return family;
  family.adjust = adjustGemma2;
  family.architectures = {"Gemma2ForCausalLM"};
  family.layout.attentionAddendNorm = "post_attention_layernorm";
  family.layout.feedForwardNorm = "pre_feedforward_layernorm";
  family.layout.feedForwardAddendNorm = "post_feedforward_layernorm";
  family.keys.activation.key = "hidden_activation";
  family.keys.window = {"sliding_window", 4096};
  family.keys.windowed = WindowedLayers::Periodic;
  family.keys.windowPeriod = {"", 2};
  family.keys.logitCap = {"final_logit_softcapping", 30};
  family.keys.attentionCap = {"attn_logit_softcapping", 50};
  if (modelType == "gemma2")
    return family;
  family.adjust = adjustGemma3;
  family.architectures = {"Gemma3ForCausalLM", "Gemma3TextModel"};
  family.layout.queryNorm = "self_attn.q_norm";
  family.layout.keyNorm = "self_attn.k_norm";
  family.keys.maxPositions.value = 131072;
  family.keys.windowPeriod = {"sliding_window_pattern", 6};
  family.keys.ropeTheta.value = 1e6;
  family.keys.localTheta = {"rope_local_base_freq", 10000};
  family.keys.logitCap.value = 0;
  family.keys.attentionCap = {"", 0}; // its attention has no use for the key
  return family;
}

static Family getGPTNeoX() {
  return {.modelType = "gpt_neox",
          .architectures = {"GPTNeoXForCausalLM"},
          .layout = {.prefixes = {"gpt_neox."},
                     .words = "embed_in",
                     .finalNorm = "final_layer_norm",
                     .heads = {"lm_head", "embed_out"},
                     .attention = "attention",
                     .output = "attention.dense",
                     .fusion = Fusion::Groups,
                     .queryKeyValue = "attention.query_key_value",
                     .gate = "",
                     .up = "mlp.dense_h_to_4h",
                     .down = "mlp.dense_4h_to_h",
                     .norm = NormKind::Layer},
          .keys = {.numKVHeads = "",
                   .headDim = {"", 0},
                   .normEpsilon = {"layer_norm_eps", 1e-5},
                   .activation = {"hidden_act", "gelu"},
                   .queryKeyValueBias = {"attention_bias", true},
                   .outputBias = {"attention_bias", true},
                   .feedForwardBias = {"", true},
                   .isParallel = {"use_parallel_residual", true},
                   .ropeTheta = {"rotary_emb_base", 10000},
                   .rotaryPart = {"rotary_pct", 0.25},
                   .embeddingDropout = {"hidden_dropout", 0},
                   .residualDropout = {"hidden_dropout", 0},
                   .paddingRow = {"", -1}},
          .ignored = {"*.rotary_emb.inv_freq", "*.attention.bias",
                      "*.attention.masked_bias"}};
}

static Family getOPT() {
  return {.modelType = "opt",
          .architectures = {"OPTForCausalLM"},
          .layout = {.prefixes = {"model.decoder.", "decoder."},
                     .wordsIn = "project_in",
                     .wordsOut = "project_out",
                     .positions = "embed_positions",
                     .firstPosition = 2,
                     .finalNorm = "final_layer_norm",
                     .output = "self_attn.out_proj",
                     .gate = "",
                     .up = "fc1",
                     .down = "fc2",
                     .attentionNorm = "self_attn_layer_norm",
                     .feedForwardNorm = "final_layer_norm",
                     .norm = NormKind::Layer},
          .keys = {.intermediateSize = {"ffn_dim", 0},
                   .numKVHeads = "",
                   .headDim = {"", 0},
                   .normEpsilon = {"", 1e-5},
                   .activation = {"activation_function", "relu"},
                   .tieEmbeddings = {"tie_word_embeddings", true},
                   .queryKeyValueBias = {"enable_bias", true},
                   .outputBias = {"enable_bias", true},
                   .feedForwardBias = {"enable_bias", true},
                   .isRotary = false,
                   .residualDropout = {"dropout", 0.1},
                   .initializerRange = "init_std",
                   .paddingRow = {"pad_token_id", 1}},
          .ignored = {},
          .adjust = adjustOPT};
}

static Family getFalcon() {
  return {.modelType = "falcon",
          .architectures = {"FalconForCausalLM"},
          .layout = {.prefixes = {"transformer."},
                     .layer = "h.{i}",
                     .words = "word_embeddings",
                     .finalNorm = "ln_f",
                     .attention = "self_attention",
                     .output = "self_attention.dense",
                     .queryKeyValue = "self_attention.query_key_value",
                     .gate = "",
                     .up = "mlp.dense_h_to_4h",
                     .down = "mlp.dense_4h_to_h",
                     .norm = NormKind::Layer},
          .keys = {.intermediateSize = {"ffn_hidden_size", 4},
                   .numKVHeads = "num_kv_heads",
                   .needsKVHeads = false,
                   .headDim = {"", 0},
                   .normEpsilon = {"layer_norm_epsilon", 1e-5},
                   .activation = {"activation", "gelu"},
                   .tieEmbeddings = {"tie_word_embeddings", true},
                   .queryKeyValueBias = {"bias", false},
                   .outputBias = {"bias", false},
                   .feedForwardBias = {"bias", false},
                   .otherDropout = {"hidden_dropout", 0},
                   .paddingRow = {"", -1}},
          .adjust = adjustFalcon};
}

static Family getBloom() {
  return {.modelType = "bloom",
          .architectures = {"BloomForCausalLM"},
          .layout = {.prefixes = {"transformer.", ""},
                     .layer = "h.{i}",
                     .words = "word_embeddings",
                     .embeddingNorm = "word_embeddings_layernorm",
                     .finalNorm = "ln_f",
                     .attention = "self_attention",
                     .output = "self_attention.dense",
                     .fusion = Fusion::Groups,
                     .queryKeyValue = "self_attention.query_key_value",
                     .gate = "",
                     .up = "mlp.dense_h_to_4h",
                     .down = "mlp.dense_4h_to_h",
                     .norm = NormKind::Layer},
          .keys = {.intermediateSize = {"", 4},
                   .numLayers = "n_layer",
                   .numHeads = "n_head",
                   .numKVHeads = "",
                   .headDim = {"", 0},
                   .maxPositions = {"seq_length", 2048},
                   .normEpsilon = {"layer_norm_epsilon", 1e-5},
                   .activation = {"", "gelu_pytorch_tanh"},
                   .tieEmbeddings = {"tie_word_embeddings", true},
                   .queryKeyValueBias = {"", true},
                   .outputBias = {"", true},
                   .feedForwardBias = {"", true},
                   .isRotary = false,
                   .residualDropout = {"hidden_dropout", 0},
                   .paddingRow = {"", -1}},
          .ignored = {},
          .adjust = adjustBloom};
}

static Family getMPT() {
  return {.modelType = "mpt",
          .architectures = {"MptForCausalLM"},
          .layout = {.prefixes = {"transformer."},
                     .layer = "blocks.{i}",
                     .words = "wte",
                     .finalNorm = "norm_f",
                     .attention = "attn",
                     .output = "attn.out_proj",
                     .fusion = Fusion::Blocks,
                     .queryKeyValue = "attn.Wqkv",
                     .feedForward = "ffn",
                     .gate = "",
                     .up = "ffn.up_proj",
                     .down = "ffn.down_proj",
                     .attentionNorm = "norm_1",
                     .feedForwardNorm = "norm_2",
                     .norm = NormKind::LayerNoBias},
          .keys = {.hiddenSize = "d_model",
                   .intermediateSize = {"", 4},
                   .numLayers = "n_layers",
                   .numHeads = "n_heads",
                   .numKVHeads = "",
                   .headDim = {"", 0},
                   .maxPositions = {"max_seq_len", 2048},
                   .normEpsilon = {"layer_norm_epsilon", 1e-5},
                   .activation = {"", "gelu"},
                   .tieEmbeddings = {"tie_word_embeddings", true},
                   .isRotary = false,
                   .attentionDropout = {"", 0},
                   .paddingRow = {"", -1}},
          .ignored = {},
          .adjust = adjustMPT};
}

//===----------------------------------------------------------------------===//
// Rows near Llama's
//===----------------------------------------------------------------------===//

static Family getLlama() {
  return {.modelType = "llama",
          .architectures = {"LlamaForCausalLM", "LlamaModel"},
          .keys = {.needsKVHeads = false,
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .feedForwardBias = {"mlp_bias", false}}};
}

static Family getMistral() {
  return {.modelType = "mistral",
          .architectures = {"MistralForCausalLM", "MistralModel"},
          .keys = {.maxPositions = {"max_position_embeddings", 131072},
                   .window = {"sliding_window", 4096}}};
}

Family getQwen2() {
  return {.modelType = "qwen2",
          .architectures = {"Qwen2ForCausalLM", "Qwen2Model"},
          .keys = {.maxPositions = {"max_position_embeddings", 32768},
                   .queryKeyValueBias = {"", true},
                   .window = {"sliding_window", 4096},
                   .hasWindowSwitch = true,
                   .windowed = WindowedLayers::Later}};
}

static Family getQwen3() {
  return {.modelType = "qwen3",
          .architectures = {"Qwen3ForCausalLM", "Qwen3Model"},
          .layout = {.queryNorm = "self_attn.q_norm",
                     .keyNorm = "self_attn.k_norm"},
          .keys = {.headDim = {"head_dim", 128},
                   .maxPositions = {"max_position_embeddings", 32768},
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .window = {"sliding_window", 4096},
                   .hasWindowSwitch = true,
                   .windowed = WindowedLayers::Later}};
}

static Family getPhi3() {
  return {.modelType = "phi3",
          .architectures = {"Phi3ForCausalLM"},
          .layout = {.fusion = Fusion::Blocks,
                     .queryKeyValue = "self_attn.qkv_proj",
                     .gateUp = "mlp.gate_up_proj"},
          .keys = {.needsKVHeads = false,
                   .maxPositions = {"max_position_embeddings", 4096},
                   .normEpsilon = {"rms_norm_eps", 1e-5},
                   .rotaryPart = {"partial_rotary_factor", 1},
                   .originalMaxPositions = 4096,
                   .window = {"sliding_window", 0},
                   .residualDropout = {"resid_pdrop", 0},
                   .paddingRow = {"pad_token_id", 32000}}};
}

static Family getStarcoder2() {
  return {.modelType = "starcoder2",
          .architectures = {"Starcoder2ForCausalLM"},
          .layout = {.gate = "",
                     .up = "mlp.c_fc",
                     .down = "mlp.c_proj",
                     .norm = NormKind::Layer},
          .keys = {.maxPositions = {"max_position_embeddings", 4096},
                   .normEpsilon = {"norm_epsilon", 1e-5},
                   .activation = {"hidden_act", "gelu_pytorch_tanh"},
                   .tieEmbeddings = {"tie_word_embeddings", true},
                   .queryKeyValueBias = {"use_bias", true},
                   .outputBias = {"use_bias", true},
                   .feedForwardBias = {"use_bias", true},
                   .window = {"sliding_window", 0},
                   .embeddingDropout = {"embedding_dropout", 0},
                   .residualDropout = {"residual_dropout", 0}},
          .adjust = adjustStarcoder2};
}

static Family getGranite() {
  return {.modelType = "granite",
          .architectures = {"GraniteForCausalLM"},
          .keys = {.needsKVHeads = false,
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .feedForwardBias = {"mlp_bias", false},
                   .embeddingScale = {"embedding_multiplier", 1},
                   .residualScale = {"residual_multiplier", 1},
                   .attentionScale = {"attention_multiplier", 1}},
          .adjust = adjustGranite};
}

static Family getStableLM() {
  return {.modelType = "stablelm",
          .architectures = {"StableLmForCausalLM"},
          .layout = {.norm = NormKind::Layer},
          .keys = {.headDim = {"", 0},
                   .maxPositions = {"max_position_embeddings", 4096},
                   .normEpsilon = {"layer_norm_eps", 1e-5},
                   .queryKeyValueBias = {"use_qkv_bias", false},
                   .isParallel = {"use_parallel_residual", false},
                   .rotaryPart = {"partial_rotary_factor", 0.25},
                   .otherDropout = {"hidden_dropout", 0}},
          .adjust = adjustStableLM};
}

static Family getSmolLM3() {
  return {.modelType = "smollm3",
          .architectures = {"SmolLM3ForCausalLM"},
          .keys = {.maxPositions = {"max_position_embeddings", 32768},
                   .tieEmbeddings = {"tie_word_embeddings", true},
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .feedForwardBias = {"mlp_bias", false},
                   .ropeTheta = {"rope_theta", 2e6},
                   .window = {"sliding_window", 0},
                   .hasWindowSwitch = true,
                   .windowed = WindowedLayers::Later,
                   .paddingRow = {"pad_token_id", 128004}},
          .adjust = adjustSmolLM3};
}

static Family getSeedOss() {
  return {.modelType = "seed_oss",
          .architectures = {"SeedOssForCausalLM", "SeedOssModel"},
          .keys = {.needsKVHeads = false,
                   .headDim = {"head_dim", 128},
                   .maxPositions = {"max_position_embeddings", 524288},
                   .queryKeyValueBias = {"attention_bias", true},
                   .outputBias = {"attention_out_bias", false},
                   .feedForwardBias = {"mlp_bias", false},
                   .residualDropout = {"residual_dropout", 0.1},
                   .attentionDropout = {"attention_dropout", 0.1},
                   .paddingRow = {"pad_token_id", 1}}};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

ArrayRef<Family> getFamilies() {
  static const Family table[] = {getLlama(),
                                 getMistral(),
                                 getQwen2(),
                                 getQwen3(),
                                 getMixtral(),
                                 getQwen2Moe(),
                                 getQwen3Moe(),
                                 getGraniteMoe(),
                                 getDeepSeekV2(),
                                 getDeepSeekV3(),
                                 getGPT2(),
                                 getGemma("gemma"),
                                 getGemma("gemma2"),
                                 getGemma("gemma3_text"),
                                 getPhi3(),
                                 getOlmo2(),
                                 getGPTNeoX(),
                                 getStarcoder2(),
                                 getGranite(),
                                 getStableLM(),
                                 getCohere(),
                                 getSmolLM3(),
                                 getSeedOss(),
                                 getOPT(),
                                 getFalcon(),
                                 getBloom(),
                                 getMPT(),
                                 getBert(),
                                 getRoberta("roberta", "Roberta"),
                                 getRoberta("xlm-roberta", "XLMRoberta"),
                                 getDistilBert(),
                                 getMPNet(),
                                 getOlmo3(),
                                 getExaone4(),
                                 getGlm(),
                                 getGlm4(),
                                 getPhi(),
                                 getCohere2(),
                                 getErnie45(),
                                 getHunyuanDense(),
                                 getMiMo(),
                                 getMinistral3(),
                                 getQwen25VLText(),
                                 getQwen3VLText(),
                                 getGPTJ(),
                                 getGPTNeo(),
                                 getNemotron(),
                                 getModernBert(),
                                 getNomicBert(),
                                 getGte("gte"),
                                 getGte("new"),
                                 getJinaV3(),
                                 getMinistral(),
                                 getArcee(),
                                 getInternLM3(),
                                 getHelium(),
                                 getLfm2(),
                                 getQwen2VLText(),
                                 getRoberta("camembert", "Camembert"),
                                 getOlmoe(),
                                 getKimiK2(),
                                 getGlm4Moe(),
                                 getGlm4MoeLite(),
                                 getDeepSeekV32(),
                                 getGlmMoeDsa(),
                                 getQwen3VLMoeText(),
                                 getGptOss(),
                                 getMiniMaxM2(),
                                 getErnieMoe(),
                                 getLlama4Text(),
                                 getGraniteHybrid(),
                                 getLfm2Moe(),
                                 getGemma4Text(),
                                 getElectra(),
                                 getAlbert(),
                                 getHunyuanMoe(),
                                 getNemotronH(),
                                 getNemotronNas(),
                                 getQwen3Next(),
                                 getQwen35Text(),
                                 getQwen35MoeText()};
  return table;
}

} // namespace tp
