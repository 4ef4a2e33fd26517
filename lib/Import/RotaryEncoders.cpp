//===- RotaryEncoders.cpp - Encoders that rotate --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of encoders with rotary positions instead of a table: ModernBERT, whose
// layers have a window or none, and the encoders of Nomic, Alibaba and Jina,
// which are BERT with another feed-forward. The latter have two spellings: that
// of the code beside their first checkpoints and that of `transformers`.
//
//===----------------------------------------------------------------------===//

#include "EncoderFamilies.h"
#include "JsonFile.h"
#include "TableRows.h"
#include "tp/Import/ModelConfig.h"

using namespace mlir;

namespace tp {

static void adjustModernBert(ObjectReader &reader, ModelConfig &config) {
  ModelLayout &layout = config.layout;
  if (reader.getBool("norm_bias", false))
    layout.norm = NormKind::Layer;
  layout.hasDenseBias = reader.getBool("classifier_bias", false);
  layout.hasDecoderBias = reader.getBool("decoder_bias", true);
  layout.headActivation =
      readActivation(reader, "classifier_activation", "gelu");
  std::string pooling = reader.getString("classifier_pooling").value_or("cls");
  layout.poolsMean = pooling == "mean";
  if (pooling != "cls" && pooling != "mean")
    reader.error("classifier_pooling")
        << "expected classifier_pooling to be \"cls\" or \"mean\", got "
        << quoted(pooling);
  reader.require("rope_scaling", nullptr,
                 "frequencies of both kinds of layers that are scaled are not "
                 "supported; rope_parameters has an object for each");
  // These keys concern training, kernels and the tokenizer.
  reader.ignore({"cls_token_id", "deterministic_flash_attn",
                 "embedding_dropout", "initializer_cutoff_factor",
                 "mlp_dropout", "sparse_pred_ignore_index",
                 "sparse_prediction"});
}

Family getModernBert() {
  return {.modelType = "modernbert",
          .architectures = {"ModernBertModel", "ModernBertForMaskedLM",
                            "ModernBertForSequenceClassification",
                            "ModernBertForTokenClassification"},
          .layout = {.isEncoder = true,
                     .prefixes = {"model.", ""},
                     .words = "embeddings.tok_embeddings",
                     .embeddingNorm = "embeddings.norm",
                     .finalNorm = "final_norm",
                     .maskedDense = "head.dense",
                     .maskedNorm = "head.norm",
                     .maskedDecoder = "decoder",
                     .sharesMaskedHead = true,
                     .attention = "attn",
                     .output = "attn.Wo",
                     .fusion = Fusion::Blocks,
                     .queryKeyValue = "attn.Wqkv",
                     .down = "mlp.Wo",
                     .gateUp = "mlp.Wi",
                     .attentionNorm = "attn_norm",
                     .feedForwardNorm = "mlp_norm",
                     .skipsFirstNorm = true,
                     .norm = NormKind::LayerNoBias},
          .keys = {.numKVHeads = "",
                   .headDim = {"", 0},
                   .maxPositions = {"max_position_embeddings", 8192},
                   .normEpsilon = {"norm_eps", 1e-5},
                   .activation = {"hidden_activation", "gelu"},
                   .tieEmbeddings = {"tie_word_embeddings", true},
                   .queryKeyValueBias = {"attention_bias", false},
                   .outputBias = {"attention_bias", false},
                   .feedForwardBias = {"mlp_bias", false},
                   .ropeTheta = {"global_rope_theta", 160000},
                   .localTheta = {"local_rope_theta", 10000},
                   .window = {"local_attention", 128},
                   .windowed = WindowedLayers::LaterInPeriod,
                   .windowPeriod = {"global_attn_every_n_layers", 3},
                   .paddingRow = {"pad_token_id", 50283}},
          .ignored = {"head.*", "decoder.*", "classifier.*"},
          .adjust = adjustModernBert};
}

/// BERT's layer with rotation and the names of Llama's parts, as `transformers`
/// has it for all three.
static Family getRotaryBert() {
  Family family = getBert();
  ModelLayout &layout = family.layout;
  layout.layer = "layers.{i}";
  layout.positions = "";
  layout.attention = "self_attn";
  layout.query = "self_attn.q_proj";
  layout.key = "self_attn.k_proj";
  layout.value = "self_attn.v_proj";
  layout.output = "self_attn.o_proj";
  layout.feedForward = "mlp";
  layout.gate = "mlp.gate_proj";
  layout.up = "mlp.up_proj";
  layout.down = "mlp.down_proj";
  layout.attentionSumNorm = "post_attention_layernorm";
  layout.feedForwardSumNorm = "post_mlp_layernorm";
  layout.hasOldNormNames = false;
  family.keys.isRotary = true;
  family.adjust = nullptr;
  return family;
}

/// Refuses what the code beside the first checkpoints can do and `transformers`
/// cannot.
static void adjustNomic(ObjectReader &reader, ModelConfig &) {
  reader.require("activation_function", "swiglu",
                 "no other feed-forward is supported");
  for (StringRef key : {"mlp_fc1_bias", "mlp_fc2_bias", "parallel_block",
                        "prenorm", "qkv_proj_bias", "rotary_emb_interleaved",
                        "scale_attn_by_inverse_layer_idx", "use_rms_norm"})
    reader.require(key, false, "another layer is not supported");
  reader.require("scale_attn_weights", true,
                 "scores without a factor are not supported");
  reader.require("causal", false, "causal attention is not supported");
  reader.require("rotary_emb_fraction", 1.0,
                 "rotating a part of each head is not supported");
  for (StringRef key : {"rotary_emb_scale_base", "rotary_scaling_factor"})
    reader.require(key, nullptr, "scaled rotation is not supported");
}

Family getNomicBert() {
  Family family = getRotaryBert();
  family.modelType = "nomic_bert";
  family.architectures = {"NomicBertModel", "NomicBertForMaskedLM",
                          "NomicBertForSequenceClassification",
                          "NomicBertForTokenClassification"};
  ModelLayout &layout = family.layout;
  layout.prefixes = {"nomic_bert.", "bert.", ""};
  layout.maskedNorm = "cls.predictions.transform.layer_norm";
  layout.sequenceDense = "nomic_bert.pooler.dense";
  layout.oldNames = {{"layers.", "encoder.layers."},
                     {"embeddings.LayerNorm", "emb_ln"},
                     {"self_attn.o_proj", "attn.out_proj"},
                     {"self_attn.qkv_proj", "attn.Wqkv"},
                     {"mlp.up_proj", "mlp.fc11"},
                     {"mlp.gate_proj", "mlp.fc12"},
                     {"mlp.down_proj", "mlp.fc2"},
                     {"post_attention_layernorm", "norm1"},
                     {"post_mlp_layernorm", "norm2"}};
  ConfigKeys &keys = family.keys;
  keys.headDim = {"head_dim", 0};
  keys.maxPositions.value = 2048;
  keys.activation.value = "silu";
  keys.queryKeyValueBias = keys.outputBias = keys.feedForwardBias = {"", false};
  keys.ropeTheta.value = 1000;
  family.adjust = adjustNomic;
  return family;
}

static void adjustNew(ObjectReader &reader, ModelConfig &) {
  reader.require("position_embedding_type", "rope",
                 "other positions are not supported");
  reader.require("layer_norm_type", "layer_norm",
                 "other norms are not supported");
  reader.require("logn_attention_scale", false,
                 "scores that grow with the text are not supported");
  // The tensors show what the file holds; the rest says how others compute it.
  reader.ignore({"pack_qkv", "unpad_inputs", "use_memory_efficient_attention",
                 "logn_attention_clip1"});
}

Family getGte(StringRef modelType) {
  bool isNew = modelType == "new";
  Family family = getRotaryBert();
  family.modelType = modelType;
  family.architectures = {"GteModel", "GteForMaskedLM",
                          "GteForSequenceClassification",
                          "GteForTokenClassification"};
  if (isNew)
    family.architectures = {"NewModel", "NewForSequenceClassification",
                            "NewForTokenClassification"};
  ModelLayout &layout = family.layout;
  layout.prefixes = {isNew ? "new." : "gte.", isNew ? "gte." : "new.", ""};
  layout.maskedDense = "lm_head.dense";
  layout.maskedNorm = "lm_head.layer_norm";
  layout.maskedDecoder = "lm_head.decoder";
  layout.maskedBias = "";
  layout.headActivation = Activation::GeluErf;
  layout.sequenceDense = isNew ? "new.pooler.dense" : "gte.pooler.dense";
  layout.isUpFirst = true;
  layout.onlyDownHasBias = true;
  layout.oldNames = {{"layers.", "encoder.layer."},
                     {"self_attn.", "attention."},
                     {"mlp.gate_up_proj", "mlp.up_gate_proj"},
                     {"post_attention_layernorm", "attn_ln"},
                     {"post_mlp_layernorm", "mlp_ln"},
                     {"lm_head.layer_norm", "lm_head.norm"}};
  ConfigKeys &keys = family.keys;
  keys.tokenTypes.value = 1;
  keys.mayLackTokenTypes = true;
  keys.maxPositions.value = 8192;
  keys.ropeTheta.value = isNew ? 10000 : 160000;
  keys.hasNtk = isNew;
  keys.paddingRow.value = 1;
  family.ignored = {"*pooler.dense.*", "lm_head.*"};
  family.adjust = isNew ? adjustNew : nullptr;
  return family;
}

Family getJinaV3() {
  Family family = getRotaryBert();
  family.modelType = "jina_embeddings_v3";
  family.architectures = {"JinaEmbeddingsV3Model",
                          "JinaEmbeddingsV3ForMaskedLM",
                          "JinaEmbeddingsV3ForSequenceClassification",
                          "JinaEmbeddingsV3ForTokenClassification"};
  ModelLayout &layout = family.layout;
  layout.prefixes = {"roberta.", ""};
  layout.maskedDense = "lm_head.dense";
  layout.maskedNorm = "lm_head.layer_norm";
  layout.maskedDecoder = "lm_head.decoder";
  layout.maskedBias = "lm_head.bias";
  layout.headActivation = Activation::GeluErf;
  layout.sequenceDense = "classifier.dense";
  layout.sequenceClasses = "classifier.out_proj";
  layout.gate = "";
  layout.up = "mlp.fc1";
  layout.down = "mlp.fc2";
  layout.oldNames = {{"layers.", "encoder.layers."},
                     {"embeddings.LayerNorm", "emb_ln"},
                     {"self_attn.o_proj", "mixer.out_proj"},
                     {"self_attn.qkv_proj", "mixer.Wqkv"},
                     {"post_attention_layernorm", "norm1"},
                     {"post_mlp_layernorm", "norm2"}};
  ConfigKeys &keys = family.keys;
  keys.tokenTypes.value = 1;
  keys.maxPositions.value = 8194;
  keys.normEpsilon.value = 1e-5;
  keys.ropeTheta.value = 20000;
  keys.paddingRow.value = 1;
  family.ignored = {"*pooler.dense.*", "lm_head.*"};
  return family;
}

} // namespace tp
