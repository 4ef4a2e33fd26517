//===- Composites.cpp - Models of text and more ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row for each model_type (tp/Import/Family.h), and how the object of the
// text becomes what a file of that text alone would say: it leaves out what
// its class has as a default, and some keys stand with the whole.
//
//===----------------------------------------------------------------------===//

#include "Composites.h"
#include "TableRows.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
namespace json = llvm::json;

namespace tp {

/// Keys of the text that may stand with the whole.
static constexpr StringRef sharedKeys[] = {"dtype", "torch_dtype"};

static void adjustGemma3(ObjectReader &text) {
  text.require("final_logit_softcapping", nullptr,
               "logits that the text has capped and the whole has not are not "
               "supported");
}

/// Pixtral's images before Mistral's text. Some files call the whole by the
/// name of its text.
static Composite getMistral3(StringRef modelType) {
  return {.modelType = modelType,
          .keysType = "mistral3",
          .architectures = {"Mistral3ForConditionalGeneration"},
          .textTypes = {"mistral", "ministral3"},
          .keys = {"vision_config", "image_token_index", "image_token_id",
                   "projector_hidden_act", "vision_feature_layer",
                   "multimodal_projector_bias", "spatial_merge_size"}};
}

/// A token of text has the same position on all three axes of rotation, which
/// then is that of any other model.
static Composite getQwenVL(StringRef modelType, StringRef architecture,
                           StringRef textType) {
  return {.modelType = modelType,
          .architectures = {architecture},
          .textTypes = {textType},
          .tiesEmbeddings = false,
          .prefixes = {"model.language_model.", "language_model.model."},
          .keys = {"vision_config", "image_token_id", "video_token_id",
                   "vision_start_token_id", "vision_end_token_id",
                   "vision_token_id"},
          .ignored = {"model.visual.*", "visual.*"}};
}

static Composite getQwen2VL(StringRef modelType, StringRef architecture,
                            StringRef textType) {
  Composite row = getQwenVL(modelType, architecture, textType);
  row.mayBeFlat = row.mayTieInText = true;
  row.prefixes = {"model.", "model.language_model."};
  row.ignored = {"visual.*", "model.visual.*"};
  row.defaults = {{"vocab_size", 152064},       {"hidden_size", 8192},
                  {"intermediate_size", 29568}, {"num_hidden_layers", 80},
                  {"num_attention_heads", 64},  {"num_key_value_heads", 8}};
  return row;
}

static Composite getQwen3VL() {
  Composite row =
      getQwenVL("qwen3_vl", "Qwen3VLForConditionalGeneration", "qwen3_vl_text");
  row.defaults = {{"vocab_size", 151936},       {"hidden_size", 4096},
                  {"intermediate_size", 22016}, {"num_hidden_layers", 32},
                  {"num_attention_heads", 32},  {"num_key_value_heads", 32}};
  return row;
}

/// Layers that predict more tokens are not read.
static Composite getQwen35(StringRef modelType, StringRef architecture,
                           StringRef textType) {
  Composite row = getQwenVL(modelType, architecture, textType);
  row.keys.push_back("language_model_only");
  row.ignored.push_back("mtp.*");
  row.defaults = {{"vocab_size", 248320}, {"num_attention_heads", 16}};
  return row;
}

static Composite getQwen35Dense() {
  Composite row =
      getQwen35("qwen3_5", "Qwen3_5ForConditionalGeneration", "qwen3_5_text");
  row.defaults.append({{"hidden_size", 4096},
                       {"intermediate_size", 12288},
                       {"num_hidden_layers", 32},
                       {"num_key_value_heads", 4}});
  return row;
}

static Composite getQwen35Moe() {
  Composite row = getQwen35("qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration",
                            "qwen3_5_moe_text");
  row.defaults.append({{"hidden_size", 2048},
                       {"num_hidden_layers", 40},
                       {"num_key_value_heads", 2},
                       {"num_experts", 256},
                       {"num_experts_per_tok", 8}});
  return row;
}

static Composite getGemma4() {
  return {.modelType = "gemma4",
          .architectures = {"Gemma4ForConditionalGeneration"},
          .textTypes = {"gemma4_text"},
          .defaults = {{"vocab_size", 262144},
                       {"hidden_size", 2304},
                       {"intermediate_size", 9216},
                       {"num_hidden_layers", 30},
                       {"num_attention_heads", 8},
                       {"num_key_value_heads", 4}},
          .prefixes = {"model.language_model.", "language_model.model."},
          .keys = {"vision_config", "audio_config", "image_token_id",
                   "audio_token_id", "video_token_id", "boi_token_id",
                   "eoi_token_id", "boa_token_id", "eoa_token_id",
                   "eoa_token_index", "vision_soft_tokens_per_image"},
          .ignored = {"model.vision_tower.*", "model.embed_vision.*",
                      "model.audio_tower.*", "model.embed_audio.*"}};
}

ArrayRef<Composite> getComposites() {
  static const Composite table[] = {
      getMistral3("mistral3"),
      getMistral3("ministral3"),
      getQwen2VL("qwen2_vl", "Qwen2VLForConditionalGeneration",
                 "qwen2_vl_text"),
      getQwen2VL("qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration",
                 "qwen2_5_vl_text"),
      getQwen3VL(),
      {.modelType = "gemma3",
       .architectures = {"Gemma3ForConditionalGeneration"},
       .textTypes = {"gemma3_text"},
       .defaults = {{"vocab_size", 262208},
                    {"hidden_size", 2304},
                    {"intermediate_size", 9216},
                    {"num_hidden_layers", 26},
                    {"num_attention_heads", 8},
                    {"num_key_value_heads", 4}},
       .keys = {"vision_config", "mm_tokens_per_image", "image_token_index",
                "boi_token_index", "eoi_token_index"},
       .adjust = adjustGemma3},
      getGemma4(),
      {.modelType = "qwen3_vl_moe",
       .architectures = {"Qwen3VLMoeForConditionalGeneration"},
       .textTypes = {"qwen3_vl_moe_text"},
       .defaults = {{"vocab_size", 151936},
                    {"hidden_size", 2048},
                    {"intermediate_size", 5632},
                    {"num_hidden_layers", 24},
                    {"num_attention_heads", 16},
                    {"num_key_value_heads", 16},
                    {"moe_intermediate_size", 1408},
                    {"num_experts_per_tok", 4}},
       .tiesEmbeddings = false,
       .prefixes = {"model.language_model."},
       .heads = {"lm_head"},
       .keys = {"vision_config", "image_token_id", "video_token_id",
                "vision_start_token_id", "vision_end_token_id"},
       .ignored = {"model.visual.*"}},
      {.modelType = "kimi_k25",
       .architectures = {"KimiK25ForConditionalGeneration",
                         "Kimi_K25ForConditionalGeneration"},
       .textTypes = {"kimi_k2", "deepseek_v3"},
       .keys = {"vision_config", "image_token_id", "video_token_id",
                "vision_start_token_id", "vision_end_token_id",
                "projection_hidden_size", "projection_layer_norm_eps"},
       .ignored = {"vision_tower.*", "mm_projector.*", "model.vision_tower.*",
                   "model.mm_projector.*"}},
      {.modelType = "llama4",
       .architectures = {"Llama4ForConditionalGeneration"},
       .textTypes = {"llama4_text"},
       .defaults = {{"vocab_size", 202048},
                    {"hidden_size", 5120},
                    {"intermediate_size", 8192},
                    {"num_hidden_layers", 48},
                    {"num_attention_heads", 40},
                    {"num_key_value_heads", 8}},
       .tiesEmbeddings = false,
       .heads = {"language_model.lm_head", "lm_head"},
       .keys = {"vision_config", "boi_token_index", "eoi_token_index",
                "image_token_index"},
       .ignored = {"vision_model.*", "multi_modal_projector.*",
                   "model.vision_model.*", "model.multi_modal_projector.*"}},
      getQwen35Dense(),
      getQwen35Moe()};
  return table;
}

/// Adds the defaults of the text's class for keys that are missing.
static void addDefaults(json::Object &text, const Composite &composite) {
  auto isThere = [&](StringRef key) {
    const json::Value *value = text.get(key);
    return value && value->kind() != json::Value::Null;
  };
  for (auto [key, value] : composite.defaults)
    if (!isThere(key))
      text[key] = value;
  if (!isThere("tie_word_embeddings"))
    text["tie_word_embeddings"] = composite.tiesEmbeddings;
}

/// The text of a file whose keys stand with the whole.
static json::Object flatten(ObjectReader &whole, const Composite &composite) {
  json::Object text = whole.getFile().getRoot();
  for (StringRef key : composite.keys)
    text.erase(key);
  text.erase("architectures");
  text["model_type"] = composite.textTypes.front();
  addDefaults(text, composite);
  return text;
}

const Composite *findComposite(ObjectReader &whole) {
  const json::Value *type = whole.get("model_type");
  std::optional<StringRef> name =
      type ? type->getAsString() : std::optional<StringRef>();
  const Composite *row =
      llvm::find_if(getComposites(), [&](const Composite &row) {
        bool isText = llvm::is_contained(row.textTypes, row.modelType);
        return row.modelType == name && (!isText || whole.has(row.text));
      });
  return row == getComposites().end() ? nullptr : row;
}

std::optional<json::Object> readText(ObjectReader &whole,
                                     const Composite &composite) {
  const json::Object *object = whole.getObject(composite.text);
  if (!object && !whole.failed() && composite.mayBeFlat)
    return flatten(whole, composite);
  if (!object) {
    if (!whole.failed())
      whole.error() << "missing " << composite.text
                    << ": expected an object that describes the text of "
                       "model_type "
                    << quoted(composite.modelType);
    return std::nullopt;
  }
  json::Object text = *object;
  auto getValue = [&](StringRef key) -> const json::Value * {
    const json::Value *value = text.get(key);
    return value && value->kind() != json::Value::Null ? value : nullptr;
  };
  const json::Value *type = getValue("model_type");
  if (type && llvm::none_of(composite.textTypes, [&](StringRef known) {
        return *type == json::Value(known);
      })) {
    auto diag = whole.error(composite.text);
    diag << "unsupported " << composite.text << ".model_type "
         << showJson(*type) << " of model_type " << quoted(composite.modelType)
         << "; expected ";
    llvm::interleave(
        composite.textTypes, diag,
        [&](StringRef known) { diag << quoted(known); }, " or ");
    return std::nullopt;
  }
  if (!type)
    text["model_type"] = composite.textTypes.front();
  for (StringRef key : sharedKeys) {
    const json::Value *shared = whole.get(key), *own = getValue(key);
    if (shared && own && *shared != *own)
      whole.error(key) << key << " " << showJson(*shared) << " contradicts "
                       << composite.text << "." << key << " " << showJson(*own);
    if (shared)
      text[key] = *shared;
  }
  // The head is of the whole, which says whether it is tied; what the object
  // has beside that is the default of its class.
  const json::Value *tie = whole.get("tie_word_embeddings");
  bool textTies = composite.mayTieInText &&
                  text.getBoolean("tie_word_embeddings").value_or(false);
  if (tie && !textTies)
    text["tie_word_embeddings"] = *tie;
  addDefaults(text, composite);
  return text;
}

void noteComposite(ObjectReader &whole, const Composite &composite,
                   StringRef textType) {
  emitRemark(whole.getLoc(composite.text))
      << "of " << composite.architectures.front()
      << " the text alone is imported (" << textType << "), without "
      << llvm::join(ArrayRef(composite.ignored).take_front(2), " and ");
}

} // namespace tp
