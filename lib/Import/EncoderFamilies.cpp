//===- EncoderFamilies.cpp - BERT and its kin -----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of the table of encoders: BERT's says what is not as in Llama, the
// others what is not as in BERT.
//
//===----------------------------------------------------------------------===//

#include "EncoderFamilies.h"
#include "JsonFile.h"
#include "TableRows.h"
#include "tp/Import/ModelConfig.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tp {

static void adjustBert(ObjectReader &reader, ModelConfig &) {
  reader.require("position_embedding_type", "absolute",
                 "relative positions are not supported");
  reader.require("is_decoder", false,
                 "causal attention in an encoder is not supported");
}

/// Positions are counted from the row behind that of padding; the table has
/// rows for those before, too.
static void countFromPadding(ObjectReader &reader, int64_t padding,
                             ModelConfig &config) {
  config.layout.countsTokens = true;
  config.layout.firstPosition = padding + 1;
  config.maxPositions -= padding + 1;
  if (config.maxPositions < 1 && !reader.failed())
    reader.error("max_position_embeddings")
        << "expected max_position_embeddings to be more than "
        << config.layout.firstPosition
        << ", the row of the first position, got "
        << config.maxPositions + config.layout.firstPosition;
}

static void adjustRoberta(ObjectReader &reader, ModelConfig &config) {
  adjustBert(reader, config);
  if (reader.isPresent("pad_token_id") && !reader.has("pad_token_id"))
    reader.error("pad_token_id")
        << "expected pad_token_id to be a token, as positions are counted from "
           "it, got null";
  countFromPadding(reader, reader.getInt("pad_token_id", 1, 0, 1 << 30),
                   config);
}

/// Embeddings may be smaller than the hidden state.
static void adjustElectra(ObjectReader &reader, ModelConfig &config) {
  adjustBert(reader, config);
  config.wordSize = reader.getInt("embedding_size", 128, 1, 1 << 30);
  if (config.wordSize == config.hiddenSize)
    config.layout.embeddingsOut = "";
}

/// All layers have the same parameters.
static void adjustAlbert(ObjectReader &reader, ModelConfig &config) {
  adjustBert(reader, config);
  config.wordSize = reader.getInt("embedding_size", 128, 1, 1 << 30);
  reader.require("num_hidden_groups", 1,
                 "several groups of layers are not supported");
  reader.require("inner_group_num", 1,
                 "groups of several layers are not supported");
  reader.ignore({"classifier_dropout_prob"});
}

static void adjustDistilBert(ObjectReader &reader, ModelConfig &) {
  // Its values are in the checkpoint.
  reader.ignore({"sinusoidal_pos_embds", "qa_dropout", "seq_classif_dropout",
                 "dropout", "tie_weights_"});
}

static void adjustMPNet(ObjectReader &reader, ModelConfig &config) {
  countFromPadding(reader, 1, config);
  // The model finds buckets for 32 whatever the size of the table.
  config.relativeRows = reader.getInt("relative_attention_num_buckets", 32,
                                      numRelativeBuckets, 1 << 20);
}

Family getBert() {
  return {.modelType = "bert",
          .architectures = {"BertModel", "BertForMaskedLM",
                            "BertForPreTraining",
                            "BertForSequenceClassification",
                            "BertForTokenClassification"},
          .layout = {.isEncoder = true,
                     .prefixes = {"bert.", ""},
                     .layer = "encoder.layer.{i}",
                     .words = "embeddings.word_embeddings",
                     .tokenTypes = "embeddings.token_type_embeddings",
                     .embeddingNorm = "embeddings.LayerNorm",
                     .positions = "embeddings.position_embeddings",
                     .finalNorm = "",
                     .maskedDense = "cls.predictions.transform.dense",
                     .maskedNorm = "cls.predictions.transform.LayerNorm",
                     .maskedDecoder = "cls.predictions.decoder",
                     .maskedBias = "cls.predictions.bias",
                     .sequenceDense = "bert.pooler.dense",
                     .attention = "attention.self",
                     .query = "attention.self.query",
                     .key = "attention.self.key",
                     .value = "attention.self.value",
                     .output = "attention.output.dense",
                     .feedForward = "intermediate",
                     .gate = "",
                     .up = "intermediate.dense",
                     .down = "output.dense",
                     .attentionNorm = "",
                     .attentionSumNorm = "attention.output.LayerNorm",
                     .feedForwardNorm = "",
                     .feedForwardSumNorm = "output.LayerNorm",
                     .norm = NormKind::Layer,
                     .hasOldNormNames = true},
          .keys = {.numKVHeads = "",
                   .headDim = {"", 0},
                   .maxPositions = {"max_position_embeddings", 512},
                   .normEpsilon = {"layer_norm_eps", 1e-12},
                   .activation = {"hidden_act", "gelu"},
                   .tieEmbeddings = {"tie_word_embeddings", true},
                   .queryKeyValueBias = {"", true},
                   .outputBias = {"", true},
                   .feedForwardBias = {"", true},
                   .isRotary = false,
                   .attentionDropout = {"", 0},
                   .paddingRow = {"pad_token_id", 0}},
          .ignored = {"*embeddings.position_ids", "*pooler.dense.*", "cls.*"},
          .adjust = adjustBert};
}

Family getRoberta(StringRef modelType, StringRef name) {
  Family family = getBert();
  family.modelType = modelType;
  family.architectures.clear();
  static llvm::StringSet<> names;
  for (StringRef end : {"Model", "ForMaskedLM", "ForSequenceClassification",
                        "ForTokenClassification"})
    family.architectures.push_back(
        names.insert((name + end).str()).first->getKey());
  ModelLayout &layout = family.layout;
  layout.prefixes = {"roberta.", ""};
  layout.maskedDense = "lm_head.dense";
  layout.maskedNorm = "lm_head.layer_norm";
  layout.maskedDecoder = "lm_head.decoder";
  layout.maskedBias = "lm_head.bias";
  layout.headActivation = Activation::GeluErf;
  layout.sequenceDense = "classifier.dense";
  layout.sequenceClasses = "classifier.out_proj";
  family.keys.paddingRow.value = 1;
  family.ignored = {"*embeddings.position_ids", "*pooler.dense.*", "lm_head.*"};
  family.adjust = adjustRoberta;
  return family;
}

Family getElectra() {
  Family family = getBert();
  family.modelType = "electra";
  family.architectures = {
      "ElectraModel", "ElectraForPreTraining", "ElectraForMaskedLM",
      "ElectraForSequenceClassification", "ElectraForTokenClassification"};
  ModelLayout &layout = family.layout;
  layout.prefixes = {"electra.", ""};
  layout.embeddingsOut = "embeddings_project";
  layout.maskedDense = "generator_predictions.dense";
  layout.maskedNorm = "generator_predictions.LayerNorm";
  layout.maskedDecoder = "generator_lm_head";
  layout.maskedBias = "";
  layout.headActivation = Activation::GeluErf;
  layout.sequenceDense = "classifier.dense";
  layout.sequenceClasses = "classifier.out_proj";
  layout.sequenceActivation = Activation::GeluErf;
  family.ignored = {"*embeddings.position_ids", "discriminator_predictions.*",
                    "generator_*"};
  family.adjust = adjustElectra;
  return family;
}

Family getAlbert() {
  Family family = getBert();
  family.modelType = "albert";
  family.architectures = {
      "AlbertModel", "AlbertForPreTraining", "AlbertForMaskedLM",
      "AlbertForSequenceClassification", "AlbertForTokenClassification"};
  ModelLayout &layout = family.layout;
  layout.prefixes = {"albert.", ""};
  layout.layer = "encoder.albert_layer_groups.0.albert_layers.0";
  layout.embeddingsOut = "encoder.embedding_hidden_mapping_in";
  layout.maskedDense = "predictions.dense";
  layout.maskedNorm = "predictions.LayerNorm";
  layout.maskedDecoder = "predictions.decoder";
  layout.maskedBias = "predictions.bias";
  layout.sequenceDense = "albert.pooler";
  layout.attention = "attention";
  layout.query = "attention.query";
  layout.key = "attention.key";
  layout.value = "attention.value";
  layout.output = "attention.dense";
  layout.feedForward = "ffn";
  layout.up = "ffn";
  layout.down = "ffn_output";
  layout.attentionSumNorm = "attention.LayerNorm";
  layout.feedForwardSumNorm = "full_layer_layer_norm";
  family.keys.activation = {"hidden_act", "gelu_new"};
  family.ignored = {"*embeddings.position_ids", "*pooler.*", "predictions.*",
                    "sop_classifier.*"};
  family.adjust = adjustAlbert;
  return family;
}

Family getMPNet() {
  Family family = getRoberta("mpnet", "MPNet");
  ModelLayout &layout = family.layout;
  layout.prefixes = {"mpnet.", ""};
  layout.tokenTypes = "";
  layout.relativeBias = "encoder.relative_attention_bias";
  family.keys.paddingRow = {"", 1};
  layout.attention = "attention.attn";
  layout.query = "attention.attn.q";
  layout.key = "attention.attn.k";
  layout.value = "attention.attn.v";
  layout.output = "attention.attn.o";
  layout.attentionSumNorm = "attention.LayerNorm";
  family.adjust = adjustMPNet;
  return family;
}

Family getDistilBert() {
  Family family = getBert();
  family.modelType = "distilbert";
  family.architectures = {"DistilBertModel", "DistilBertForMaskedLM",
                          "DistilBertForSequenceClassification",
                          "DistilBertForTokenClassification"};
  ModelLayout &layout = family.layout;
  layout.prefixes = {"distilbert.", ""};
  layout.layer = "transformer.layer.{i}";
  layout.tokenTypes = "";
  layout.maskedDense = "vocab_transform";
  layout.maskedNorm = "vocab_layer_norm";
  layout.maskedDecoder = "vocab_projector";
  layout.maskedBias = "vocab_projector.bias";
  layout.sequenceDense = "pre_classifier";
  layout.sequenceActivation = Activation::ReLU;
  layout.attention = "attention";
  layout.query = "attention.q_lin";
  layout.key = "attention.k_lin";
  layout.value = "attention.v_lin";
  layout.output = "attention.out_lin";
  layout.feedForward = "ffn";
  layout.up = "ffn.lin1";
  layout.down = "ffn.lin2";
  layout.attentionSumNorm = "sa_layer_norm";
  layout.feedForwardSumNorm = "output_layer_norm";
  ConfigKeys &keys = family.keys;
  keys.hiddenSize = "dim";
  keys.intermediateSize = {"hidden_dim", 4};
  keys.numLayers = "n_layers";
  keys.numHeads = "n_heads";
  keys.normEpsilon = {"", 1e-12};
  keys.activation = {"activation", "gelu"};
  family.ignored = {"*embeddings.position_ids", "vocab_*"};
  family.adjust = adjustDistilBert;
  return family;
}

} // namespace tp
