//===- KnownKeys.cpp - Which keys of config.json matter -------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See KnownKeys.h.
//
//===----------------------------------------------------------------------===//

#include "KnownKeys.h"
#include "GenerationKeys.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
namespace json = llvm::json;

namespace tp {

static constexpr size_t maxListed = 32;

namespace {
struct Row {
  llvm::StringLiteral modelType, keys, classes, secondNames;
};
} // namespace

#define TP_TRANSFORMERS_VERSION(VERSION)                                       \
  static constexpr llvm::StringLiteral transformersVersion = VERSION;
#define TP_TRANSFORMERS_KEYS(MODEL_TYPE, KEYS, CLASSES, SECOND_NAMES)
#include "TransformersKeys.inc"
#undef TP_TRANSFORMERS_VERSION
#undef TP_TRANSFORMERS_KEYS

#define TP_TRANSFORMERS_VERSION(VERSION)
#define TP_TRANSFORMERS_KEYS(MODEL_TYPE, KEYS, CLASSES, SECOND_NAMES)          \
  {MODEL_TYPE, KEYS, CLASSES, SECOND_NAMES},
static constexpr Row rows[] = {
#include "TransformersKeys.inc"
};

/// Keys that any config may hold and that do not change a forward pass:
/// tokens and generation, training, reporting, provenance.
static const llvm::StringLiteral ignoredKeys[] = {
    "_attn_implementation", "_attn_implementation_autoset",
    "_attn_implementation_internal", "_commit_hash", "_experts_implementation",
    "_experts_implementation_internal", "_flash_attn_2_enabled",
    "_name_or_path", "_num_labels", "attention_dropout",
    "attention_probs_dropout_prob", "attn_implementation", "attn_pdrop",
    "bad_words_ids", "begin_suppress_tokens", "bos_token_id",
    "chunk_size_feed_forward", "classifier_dropout", "decoder_start_token_id",
    "directionality", "diversity_penalty", "do_sample", "early_stopping",
    "embd_pdrop", "encoder_no_repeat_ngram_size", "eos_token_id",
    "experts_implementation", "exponential_decay_length_penalty",
    "finetuning_task", "forced_bos_token_id", "forced_eos_token_id",
    "gradient_checkpointing", "hidden_dropout", "hidden_dropout_prob",
    "id2label", "init_std", "initializer_factor", "initializer_range",
    "is_llama_config", "label2id", "language", "length_penalty", "max_length",
    "max_sequence_length", "min_length", "model_max_length", "n_ctx", "name",
    "name_or_path", "no_repeat_ngram_size", "num_beam_groups", "num_beams",
    "num_labels", "num_return_sequences", "output_attentions",
    "output_hidden_states", "output_past", "output_scores", "pad_token_id",
    "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
    "pooler_size_per_head", "pooler_type", "prefix", "problem_type",
    "remove_invalid_values", "repetition_penalty", "resid_pdrop", "return_dict",
    "return_dict_in_generate", "sep_token_id", "summary_activation",
    "summary_first_dropout", "summary_last_dropout", "summary_proj_to_labels",
    "summary_type", "summary_use_proj", "suppress_tokens",
    "task_specific_params", "temperature", "tf_legacy_loss",
    "token_classification_bias", "tokenizer_class", "top_k", "top_p",
    "torchscript", "transformers.js_config", "transformers_version",
    "typical_p", "unsloth_fixed", "unsloth_version", "use_bfloat16",
    "use_cache",
    // The same product computed in slices.
    "pretraining_tp"};

ArrayRef<llvm::StringLiteral> getIgnoredKeys() { return ignoredKeys; }

static SmallVector<StringRef> splitWords(StringRef text) {
  SmallVector<StringRef> words;
  llvm::SplitString(text, words);
  return words;
}

KnownKeys::KnownKeys(StringRef modelType) : modelType(modelType) {
  for (const Row &row : rows) {
    if (!row.modelType.empty() && row.modelType != modelType)
      continue;
    keys.append(splitWords(row.keys));
    if (row.modelType.empty())
      continue;
    classes = splitWords(row.classes);
    secondNames = row.secondNames;
  }
  assert(
      llvm::any_of(
          rows, [&](const Row &row) { return row.modelType == modelType; }) &&
      "scripts/list-config-keys has no row for this model_type");
}

bool KnownKeys::reads(StringRef key) const {
  return llvm::is_contained(keys, key);
}

bool KnownKeys::hasClass(StringRef name) const {
  return llvm::any_of(
      classes, [&](StringRef known) { return known.equals_insensitive(name); });
}

void KnownKeys::addSecondNames(ObjectReader &reader) const {
  for (StringRef pair : splitWords(secondNames)) {
    auto [second, first] = pair.split('=');
    reader.addSecondName(first, second);
  }
}

/// The name behind the last dot: `modeling_phi3.Phi3ForCausalLM`.
static std::string getClassName(const json::Value &value) {
  std::optional<StringRef> text = value.getAsString();
  return text ? text->substr(text->rfind('.') + 1).str() : "";
}

/// Python code beside the checkpoint is not run. That is right where its
/// classes have since become part of `transformers`, which does not run it
/// either.
static void readAutoMap(ObjectReader &reader, const KnownKeys &known) {
  const json::Object *map = reader.getObject("auto_map");
  if (!map)
    return;
  for (const auto &[key, value] : *map) {
    StringRef name = key;
    bool isModel = name == "AutoConfig" || name.starts_with("AutoModel");
    if (!isModel || known.hasClass(getClassName(value)))
      continue;
    reader.error("auto_map")
        << "unsupported auto_map: models with their own Python code are not "
           "supported; expected "
        << name << " to name a class that transformers has for model_type "
        << quoted(known.getModelType()) << ", got " << showJson(value);
    return;
  }
  if (!map->empty() && !reader.failed())
    emitRemark(reader.getLoc("auto_map"))
        << "auto_map names classes that the importer knows; the "
           "Python code beside the checkpoint is not run";
}

/// Weights that are not what their names and the rest of the file say.
static void refuseQuantised(ObjectReader &reader) {
  // MLX calls its own "quantization".
  for (auto [key, what] : {std::pair("quantization", "quantised"),
                           std::pair("compression_config", "compressed")}) {
    const json::Value *value = reader.get(key);
    if (!value)
      continue;
    auto diag = reader.error(key);
    diag << "unsupported " << reader.getPath(key) << ": " << what
         << " weights are not supported; expected null, got "
         << showJson(*value);
    if (what == StringRef("quantised"))
      diag << ": convert the weights to bfloat16, float16 or float32 and leave "
              "the key out";
  }
}

void readCommonKeys(ObjectReader &reader, const Family &family,
                    const KnownKeys &known) {
  reader.require("add_cross_attention", false,
                 "models that attend to an encoder are not supported");
  reader.require("is_encoder_decoder", false,
                 "models with an encoder and a decoder are not supported");
  reader.require("pruned_heads", json::Object(),
                 "pruned heads change the weights' shapes");
  reader.require("cross_attention_hidden_size", nullptr,
                 "cross attention is not supported");
  if (family.keys.boundedKind != "chunked_attention")
    reader.require("attention_chunk_size", nullptr,
                   "attention within chunks is not supported");
  reader.require("kv_sharing_modes", nullptr,
                 "layers that share keys and values are not supported");
  for (StringRef key : {"per_layer_config", "mtp_per_layer_config"})
    if (key != "per_layer_config" || !family.keys.hasLayerHeads)
      reader.require(key, json::Object(),
                     "layers with a configuration of their own are not "
                     "supported");
  reader.require("transformers_weights", nullptr,
                 "weights in a file of another name are not supported");
  // transformers asks for the text's configuration by these names.
  for (StringRef key : {"text_config", "text_encoder", "decoder", "generator"})
    if (!known.reads(key))
      reader.require(key, nullptr,
                     "a model within a model of this model_type is not "
                     "supported");
  // Encoders look whether there is an embedding_size, not what it is.
  if (family.layout.isEncoder) {
    reader.ignore({"is_causal", "embedding_size"});
  } else {
    reader.ignore({"is_decoder"});
    reader.require("is_causal", true,
                   "attention to later tokens is not supported");
  }
  for (auto [key, what] : {std::pair("attn_logit_softcapping", "scores"),
                           std::pair("final_logit_softcapping", "logits")})
    if (known.reads(key) && key != family.keys.attentionCap.key &&
        key != family.keys.logitCap.key)
      reader.require(key, nullptr,
                     std::string("capped ") + what + " are not supported");
  refuseQuantised(reader);
  readAutoMap(reader, known);
  reader.ignore(ignoredKeys);
  // GenerationConfig.cpp reads them where texts are generated.
  for (const GenerationKey &key : getGenerationKeys())
    if (!known.reads(key.name))
      reader.ignore({key.name});
}

void finishKeys(ObjectReader &reader, const KnownKeys &known) {
  reader.finish([&](StringRef key) { return known.reads(key); });
}

void reportIgnoredKeys(ObjectReader &reader, const KnownKeys &known) {
  ArrayRef<std::string> ignored = reader.getIgnored();
  if (ignored.empty())
    return;
  auto diag = emitRemark(reader.getLoc(""));
  diag << "ignoring " << (ignored.size() == 1 ? "a key that" : "keys that")
       << " transformers " << transformersVersion
       << " does not read for model_type " << quoted(known.getModelType())
       << ": ";
  llvm::interleave(
      ignored.take_front(maxListed), diag,
      [&](const std::string &path) { diag << quoted(path); }, ", ");
  if (ignored.size() > maxListed)
    diag << " and " << ignored.size() - maxListed << " more";
}

} // namespace tp
