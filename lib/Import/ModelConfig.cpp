//===- ModelConfig.cpp - What a checkpoint's config.json says -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function per family reads its keys; what families share (element type,
// rope, activation, sliding windows, keys without influence) is read by the
// functions above them. The table of architectures at the end of the file is
// what the importer supports.
//
//===----------------------------------------------------------------------===//

#include "tp/Import/ModelConfig.h"
#include "JsonFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Path.h"

using namespace mlir;
namespace json = llvm::json;

namespace tp {

static constexpr size_t maxConfigBytes = 8 << 20;
static constexpr int64_t maxSize = 1 << 30;
static constexpr int64_t maxLayers = 10000;
static constexpr int64_t maxHeadDim = 1 << 16;

StringRef stringify(FloatKind kind) {
  switch (kind) {
  case FloatKind::F32:
    return "f32";
  case FloatKind::BF16:
    return "bf16";
  case FloatKind::F16:
    return "f16";
  }
  llvm_unreachable("unknown float kind");
}

std::optional<FloatKind> parseFloatKind(StringRef name) {
  return llvm::StringSwitch<std::optional<FloatKind>>(name)
      .Case("f32", FloatKind::F32)
      .Case("bf16", FloatKind::BF16)
      .Case("f16", FloatKind::F16)
      .Default(std::nullopt);
}

/// Keys that any config may hold and that do not change a forward pass:
/// tokens and generation, training, reporting, provenance.
static const llvm::StringLiteral ignoredKeys[] = {
    "_attn_implementation", "_attn_implementation_autoset", "_commit_hash",
    "_flash_attn_2_enabled", "_name_or_path", "_num_labels",
    "attention_dropout", "attention_probs_dropout_prob", "attn_implementation",
    "attn_pdrop", "bad_words_ids", "begin_suppress_tokens", "bos_token_id",
    "chunk_size_feed_forward", "classifier_dropout", "decoder_start_token_id",
    "directionality", "diversity_penalty", "do_sample", "early_stopping",
    "embd_pdrop", "encoder_no_repeat_ngram_size", "eos_token_id",
    "exponential_decay_length_penalty", "finetuning_task",
    "forced_bos_token_id", "forced_eos_token_id", "gradient_checkpointing",
    "hidden_dropout_prob", "id2label", "initializer_range", "is_llama_config",
    "label2id", "language", "length_penalty", "max_length",
    "max_sequence_length", "min_length", "model_max_length", "n_ctx", "name",
    "no_repeat_ngram_size", "num_beam_groups", "num_beams",
    "num_return_sequences", "output_attentions", "output_hidden_states",
    "output_past", "output_scores", "pad_token_id", "pooler_fc_size",
    "pooler_num_attention_heads", "pooler_num_fc_layers",
    "pooler_size_per_head", "pooler_type", "prefix", "problem_type",
    "remove_invalid_values", "repetition_penalty", "resid_pdrop", "return_dict",
    "return_dict_in_generate", "sep_token_id", "summary_activation",
    "summary_first_dropout", "summary_proj_to_labels", "summary_type",
    "summary_use_proj", "suppress_tokens", "task_specific_params",
    "temperature", "tf_legacy_loss", "tokenizer_class", "top_k", "top_p",
    "torchscript", "transformers.js_config", "transformers_version",
    "typical_p", "unsloth_fixed", "unsloth_version", "use_bfloat16",
    "use_cache",
    // The same product computed in slices.
    "pretraining_tp"};

/// Keys that change the result in every family, and the one value of each that
/// is supported. An empty object stands for "absent or empty".
static void refuseCommonKeys(ObjectReader &reader) {
  reader.require("add_cross_attention", false,
                 "models that attend to an encoder are not supported");
  reader.require("is_encoder_decoder", false,
                 "models with an encoder and a decoder are not supported");
  reader.require("pruned_heads", json::Object(),
                 "pruned heads change the weights' shapes");
  reader.require("partial_rotary_factor", 1.0,
                 "rotating a part of each head is not supported");
  for (auto [key, reason] :
       {std::pair("quantization_config", "quantised weights"),
        std::pair("compression_config", "compressed weights"),
        std::pair("auto_map", "models with their own Python code"),
        std::pair("attn_logit_softcapping", "capped attention scores"),
        std::pair("final_logit_softcapping", "capped logits"),
        std::pair("cross_attention_hidden_size", "cross attention")})
    if (const json::Value *value = reader.get(key))
      reader.error(key) << "unsupported " << key << ": " << reason
                        << " are not supported; expected null, got "
                        << showJson(*value);
}

/// `dtype`, or `torch_dtype` as it was called.
static void readDtype(ObjectReader &reader, ModelConfig &config) {
  std::optional<std::string> now = reader.getString("dtype");
  std::optional<std::string> old = reader.getString("torch_dtype");
  StringRef key = now ? "dtype" : "torch_dtype";
  if (now && old && *now != *old)
    reader.error("torch_dtype") << "torch_dtype " << quoted(*old)
                                << " contradicts dtype " << quoted(*now);
  if (!now && !old)
    return;
  StringRef name = now ? *now : *old;
  config.dtype = llvm::StringSwitch<std::optional<FloatKind>>(name)
                     .Cases({"float32", "torch.float32"}, FloatKind::F32)
                     .Cases({"bfloat16", "torch.bfloat16"}, FloatKind::BF16)
                     .Cases({"float16", "torch.float16"}, FloatKind::F16)
                     .Default(std::nullopt);
  if (!config.dtype)
    reader.error(key) << "unsupported " << key << " " << quoted(name)
                      << "; expected \"float32\", \"bfloat16\" or \"float16\"";
}

static void readActivation(ObjectReader &reader, StringRef key,
                           StringRef fallback, ModelConfig &config) {
  std::string name = reader.getString(key).value_or(fallback.str());
  auto activation = llvm::StringSwitch<std::optional<Activation>>(name)
                        .Cases({"silu", "swish"}, Activation::SiLU)
                        .Cases({"gelu", "gelu_python"}, Activation::GeluErf)
                        .Cases({"gelu_new", "gelu_pytorch_tanh", "gelu_fast"},
                               Activation::GeluTanh)
                        .Case("relu", Activation::ReLU)
                        .Default(std::nullopt);
  if (activation)
    config.activation = *activation;
  else
    reader.error(key) << "unsupported " << key << " " << quoted(name)
                      << "; expected \"silu\", \"gelu\", \"gelu_new\", "
                         "\"gelu_pytorch_tanh\", \"gelu_fast\" or \"relu\"";
}

/// Reads what describes the stretching of frequencies: today's whole
/// `rope_parameters` or the `rope_scaling` of older files.
static void readRopeScaling(ObjectReader &reader, StringRef typeKey,
                            std::optional<int64_t> originalMaxPositions,
                            RopeConfig &rope) {
  std::string type = reader.getString(typeKey).value_or("default");
  if (type == "default") {
    rope.kind = RopeConfig::Kind::Default;
  } else if (type == "linear") {
    rope.kind = RopeConfig::Kind::Linear;
    rope.factor = reader.getPositive("factor", std::nullopt);
  } else if (type == "llama3") {
    rope.kind = RopeConfig::Kind::Llama3;
    rope.factor = reader.getPositive("factor", std::nullopt);
    rope.lowFrequencyFactor =
        reader.getPositive("low_freq_factor", std::nullopt);
    rope.highFrequencyFactor =
        reader.getPositive("high_freq_factor", std::nullopt);
    rope.originalMaxPositions = reader.getInt(
        "original_max_position_embeddings", originalMaxPositions, 1, maxSize);
    if (!reader.failed() && rope.highFrequencyFactor <= rope.lowFrequencyFactor)
      reader.error("high_freq_factor")
          << "expected " << reader.getPath("high_freq_factor") << " to exceed "
          << reader.getPath("low_freq_factor") << ", got "
          << rope.highFrequencyFactor << " and " << rope.lowFrequencyFactor;
  } else {
    reader.error(typeKey) << "unsupported " << reader.getPath(typeKey) << " "
                          << quoted(type)
                          << "; expected \"default\", \"linear\" or \"llama3\"";
    return;
  }
  reader.require("partial_rotary_factor", 1.0,
                 "rotating a part of each head is not supported");
  reader.finish();
}

static bool operator==(const RopeConfig &a, const RopeConfig &b) {
  return a.kind == b.kind && a.theta == b.theta && a.factor == b.factor &&
         a.lowFrequencyFactor == b.lowFrequencyFactor &&
         a.highFrequencyFactor == b.highFrequencyFactor &&
         a.originalMaxPositions == b.originalMaxPositions;
}

/// Both spellings; where a file has both they must agree.
static void readRope(ObjectReader &reader, const JsonFile &file,
                     ModelConfig &config) {
  std::optional<int64_t> original;
  if (reader.has("original_max_position_embeddings"))
    original = reader.getInt("original_max_position_embeddings", std::nullopt,
                             1, maxSize);

  RopeConfig old;
  bool hasOld = reader.has("rope_theta") || reader.has("rope_scaling");
  old.theta = reader.getPositive("rope_theta", old.theta);
  if (const json::Object *scaling = reader.getObject("rope_scaling")) {
    ObjectReader nested(file, *scaling, "rope_scaling");
    bool hasNewKey = nested.has("rope_type");
    if (!hasNewKey && !nested.has("type"))
      nested.error() << "missing rope_scaling.rope_type: expected a string";
    // Files written in between hold both, with one meaning.
    if (hasNewKey)
      nested.ignore({"type"});
    readRopeScaling(nested, hasNewKey ? "rope_type" : "type", original, old);
    if (nested.failed())
      reader.fail();
  }

  RopeConfig now;
  if (const json::Object *parameters = reader.getObject("rope_parameters")) {
    ObjectReader nested(file, *parameters, "rope_parameters");
    now.theta = nested.getPositive("rope_theta", old.theta);
    readRopeScaling(nested, "rope_type", original, now);
    if (nested.failed())
      reader.fail();
    else if (hasOld && !(now == old))
      reader.error("rope_parameters")
          << "rope_parameters contradicts rope_theta and rope_scaling";
    config.rope = now;
  } else {
    config.rope = old;
  }
}

/// Which layers have the window: all of them, none, those from
/// `max_window_layers` on (Qwen), or as `layer_types` lists them.
static void readSlidingWindow(ObjectReader &reader, ModelConfig &config,
                              int64_t fallback, bool isQwen) {
  std::optional<int64_t> window;
  // A null window means none; Mistral's default is for a missing key.
  if (reader.has("sliding_window"))
    window = reader.getInt("sliding_window", std::nullopt, 1, maxSize);
  else if (fallback && !reader.isPresent("sliding_window"))
    window = fallback;
  int64_t first = 0;
  if (isQwen) {
    first = reader.getInt("max_window_layers", 28, 0, maxLayers);
    if (!reader.getBool("use_sliding_window", false))
      window = std::nullopt;
  }
  reader.ignore({"sliding_window"});
  config.slides.assign(config.numLayers, false);
  if (window)
    for (int64_t i = first; i < config.numLayers; ++i)
      config.slides[i] = true;

  if (const json::Array *types = reader.getArray("layer_types")) {
    if (types->size() != static_cast<size_t>(config.numLayers)) {
      reader.error("layer_types")
          << "expected layer_types to have " << config.numLayers
          << " entries (num_hidden_layers), got " << types->size();
      return;
    }
    for (auto [i, type] : llvm::enumerate(*types)) {
      std::optional<StringRef> name = type.getAsString();
      if (name != "full_attention" && name != "sliding_attention") {
        reader.error("layer_types")
            << "unsupported layer_types[" << i << "] " << showJson(type)
            << "; expected \"full_attention\" or \"sliding_attention\"";
        return;
      }
      config.slides[i] = name == "sliding_attention";
      if (config.slides[i] && !window) {
        reader.error("layer_types")
            << "layer_types[" << i
            << "] is \"sliding_attention\" but no sliding_window is in use";
        return;
      }
    }
  }
  if (llvm::is_contained(config.slides, true))
    config.slidingWindow = window;
}

/// Heads of the same size for queries, keys and values.
static void readHeads(ObjectReader &reader, ModelConfig &config,
                      StringRef headsKey, bool grouped) {
  config.numHeads = reader.getInt(headsKey, std::nullopt, 1, maxSize);
  config.numKVHeads = config.numHeads;
  if (grouped) {
    reader.ignore({"head_dim"});
    // Null means as many as queries; the defaults of a missing key differ, so
    // only Llama's (the same) is taken.
    bool optional =
        config.modelType == "llama" || reader.isPresent("num_key_value_heads");
    config.numKVHeads = reader.getInt(
        "num_key_value_heads",
        optional ? std::optional(config.numHeads) : std::nullopt, 1, maxSize);
  }
  if (reader.failed())
    return;
  if (config.numHeads % config.numKVHeads != 0)
    reader.error("num_key_value_heads")
        << "expected num_key_value_heads to divide the " << config.numHeads
        << " query heads, got " << config.numKVHeads;
  if (grouped && reader.has("head_dim")) {
    config.headDim = reader.getInt("head_dim", std::nullopt, 1, maxHeadDim);
  } else if (config.modelType == "qwen3") {
    config.headDim = 128;
  } else if (config.hiddenSize % config.numHeads != 0) {
    reader.error(headsKey) << "expected " << headsKey
                           << " to divide the hidden size " << config.hiddenSize
                           << ", got " << config.numHeads;
    return;
  } else {
    config.headDim = config.hiddenSize / config.numHeads;
  }
  if (config.headDim > maxHeadDim)
    reader.error(headsKey) << "expected a head size of at most " << maxHeadDim
                           << ", got " << config.headDim;
  else if (config.headDim > maxSize / config.numHeads)
    reader.error("head_dim")
        << "expected " << headsKey << " times head_dim to be at most "
        << maxSize << ", got " << config.numHeads << " times "
        << config.headDim;
}

static void readLlama(ObjectReader &reader, const JsonFile &file,
                      ModelConfig &config) {
  StringRef type = config.modelType;
  bool isLlama = type == "llama", isMistral = type == "mistral";
  bool isQwen = !isLlama && !isMistral;
  config.family = ModelFamily::Llama;
  config.hiddenSize = reader.getInt("hidden_size", std::nullopt, 1, maxSize);
  config.intermediateSize =
      reader.getInt("intermediate_size", std::nullopt, 1, maxSize);
  config.numLayers =
      reader.getInt("num_hidden_layers", std::nullopt, 1, maxLayers);
  readHeads(reader, config, "num_attention_heads", /*grouped=*/true);
  if (config.headDim % 2 != 0)
    reader.error("head_dim") << "expected an even head size for rotary "
                                "embeddings, got "
                             << config.headDim;
  config.maxPositions =
      reader.getInt("max_position_embeddings",
                    isLlama ? 2048 : (isMistral ? 131072 : 32768), 1, maxSize);
  config.normEpsilon = reader.getPositive("rms_norm_eps", 1e-6);
  config.tieEmbeddings = reader.getBool("tie_word_embeddings", false);
  readActivation(reader, "hidden_act", "silu", config);
  readRope(reader, file, config);

  if (isLlama || type == "qwen3") {
    config.queryKeyValueBias = reader.getBool("attention_bias", false);
    config.attentionOutputBias = config.queryKeyValueBias;
  } else if (type == "qwen2") {
    config.queryKeyValueBias = true;
  }
  if (isLlama)
    config.feedForwardBias = reader.getBool("mlp_bias", false);
  config.dropout.attention = reader.getProbability("attention_dropout", 0);
  config.queryKeyNorm = type == "qwen3";
  if (isLlama)
    config.slides.assign(config.numLayers, false);
  else
    readSlidingWindow(reader, config, isMistral ? 4096 : 0, isQwen);
}

static void readGPT2(ObjectReader &reader, const JsonFile &,
                     ModelConfig &config) {
  config.family = ModelFamily::GPT2;
  config.hiddenSize = reader.getInt("n_embd", std::nullopt, 1, maxSize / 4);
  config.intermediateSize =
      reader.getInt("n_inner", 4 * config.hiddenSize, 1, maxSize);
  config.numLayers = reader.getInt("n_layer", std::nullopt, 1, maxLayers);
  readHeads(reader, config, "n_head", /*grouped=*/false);
  config.maxPositions = reader.getInt("n_positions", 1024, 1, maxSize);
  config.normEpsilon = reader.getPositive("layer_norm_epsilon", 1e-5);
  config.tieEmbeddings = reader.getBool("tie_word_embeddings", true);
  config.scaleScores = reader.getBool("scale_attn_weights", true);
  config.queryKeyValueBias = config.attentionOutputBias =
      config.feedForwardBias = true;
  readActivation(reader, "activation_function", "gelu_new", config);
  config.dropout = {reader.getProbability("embd_pdrop", 0.1),
                    reader.getProbability("resid_pdrop", 0.1),
                    reader.getProbability("attn_pdrop", 0.1), "attn_pdrop"};
  reader.require("scale_attn_by_inverse_layer_idx", false,
                 "scores divided by the layer's number are not supported");
  // Scores in f32 whatever the model's type: what this compiler always does.
  reader.ignore({"reorder_and_upcast_attn"});
  config.slides.assign(config.numLayers, false);
}

static void readBert(ObjectReader &reader, const JsonFile &,
                     ModelConfig &config) {
  config.family = ModelFamily::Bert;
  config.hiddenSize = reader.getInt("hidden_size", std::nullopt, 1, maxSize);
  config.intermediateSize =
      reader.getInt("intermediate_size", std::nullopt, 1, maxSize);
  config.numLayers =
      reader.getInt("num_hidden_layers", std::nullopt, 1, maxLayers);
  readHeads(reader, config, "num_attention_heads", /*grouped=*/false);
  config.maxPositions =
      reader.getInt("max_position_embeddings", 512, 1, maxSize);
  config.typeVocabSize = reader.getInt("type_vocab_size", 2, 1, maxSize);
  config.normEpsilon = reader.getPositive("layer_norm_eps", 1e-12);
  config.queryKeyValueBias = config.attentionOutputBias =
      config.feedForwardBias = true;
  readActivation(reader, "hidden_act", "gelu", config);
  reader.require("position_embedding_type", "absolute",
                 "relative positions are not supported");
  reader.require("is_decoder", false,
                 "causal attention in an encoder is not supported");
  // The output is the last hidden state, so there is no head to tie.
  reader.ignore({"tie_word_embeddings"});
  config.slides.assign(config.numLayers, false);
}

/// What `transformers` begins to train with: its PreTrainedModel._init_weights.
/// What is no deviation or row is as if it were not there, for no result hangs
/// on it.
static void readInitialValues(ObjectReader &reader, ModelConfig &config) {
  const json::Value *range = reader.get("initializer_range");
  double deviation = range ? range->getAsNumber().value_or(0) : 0;
  if (deviation > 0 && deviation < 1e6)
    config.initializerRange = deviation;
  const json::Value *padding = reader.get("pad_token_id");
  std::optional<int64_t> row = padding ? padding->getAsInteger() : std::nullopt;
  if (config.family == ModelFamily::Bert && !reader.isPresent("pad_token_id"))
    row = 0;
  if (config.family == ModelFamily::GPT2 || !row)
    return; // no row of padding
  if (*row < 0)
    *row += config.vocabSize;
  if (*row >= 0 && *row < config.vocabSize)
    config.paddingRow = row;
}

namespace {
/// A model type, the architectures of it, and the reader of its keys.
struct Supported {
  StringRef modelType;
  SmallVector<StringRef> architectures;
  void (*read)(ObjectReader &, const JsonFile &, ModelConfig &);
};
} // namespace

static ArrayRef<Supported> getSupported() {
  static const Supported table[] = {
      {"llama", {"LlamaForCausalLM"}, readLlama},
      {"mistral", {"MistralForCausalLM"}, readLlama},
      {"qwen2", {"Qwen2ForCausalLM"}, readLlama},
      {"qwen3", {"Qwen3ForCausalLM"}, readLlama},
      {"gpt2", {"GPT2LMHeadModel"}, readGPT2},
      {"bert",
       {"BertModel", "BertForMaskedLM", "BertForPreTraining"},
       readBert}};
  return table;
}

/// The row of the table for the file's model, with its architecture checked.
static const Supported *readArchitecture(ObjectReader &reader,
                                         ModelConfig &config) {
  std::optional<std::string> type = reader.getString("model_type");
  if (!type) {
    if (!reader.failed())
      reader.error() << "missing model_type: expected a string";
    return nullptr;
  }
  config.modelType = *type;
  const Supported *row = llvm::find_if(
      getSupported(), [&](const auto &s) { return s.modelType == *type; });
  if (row == getSupported().end()) {
    auto diag = reader.error("model_type");
    diag << "unsupported model_type " << quoted(*type) << "; expected one of ";
    llvm::interleave(
        getSupported(), diag,
        [&](const Supported &s) { diag << quoted(s.modelType); }, ", ");
    return nullptr;
  }
  config.architecture = row->architectures.front();
  const json::Array *architectures = reader.getArray("architectures");
  if (!architectures)
    return row;
  std::optional<StringRef> name;
  if (architectures->size() == 1)
    name = architectures->front().getAsString();
  if (!name || !llvm::is_contained(row->architectures, *name)) {
    auto diag = reader.error("architectures");
    diag << "unsupported architectures "
         << showJson(json::Value(json::Array(*architectures)))
         << " of model_type " << quoted(*type) << "; expected one of ";
    llvm::interleave(
        row->architectures, diag, [&](StringRef s) { diag << quoted(s); },
        ", ");
    return nullptr;
  }
  config.architecture = name->str();
  return row;
}

std::optional<ModelConfig> readModelConfig(MLIRContext *context,
                                           StringRef directory) {
  SmallString<128> path(directory);
  llvm::sys::path::append(path, "config.json");
  std::optional<JsonFile> file = JsonFile::read(context, path, maxConfigBytes);
  if (!file)
    return std::nullopt;
  ObjectReader reader(*file, file->getRoot());
  ModelConfig config;
  const Supported *row = readArchitecture(reader, config);
  if (!row)
    return std::nullopt;
  config.vocabSize = reader.getInt("vocab_size", std::nullopt, 1, maxSize);
  readDtype(reader, config);
  refuseCommonKeys(reader);
  row->read(reader, *file, config);
  readInitialValues(reader, config);
  reader.ignore(ignoredKeys);
  reader.finish();
  if (reader.failed())
    return std::nullopt;
  return config;
}

} // namespace tp
