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
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
namespace json = llvm::json;

// Fields that a row leaves out have their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#ifdef __clang__
#pragma clang diagnostic ignored "-Wmissing-designated-field-initializers"
#endif

namespace tp {

/// Keys of the text that may stand with the whole.
static constexpr StringRef sharedKeys[] = {"dtype", "torch_dtype",
                                           "tie_word_embeddings"};

static void adjustGemma3(ObjectReader &text) {
  text.require("final_logit_softcapping", nullptr,
               "logits that the text has capped and the whole has not are not "
               "supported");
}

ArrayRef<Composite> getComposites() {
  static const Composite table[] = {
      {.modelType = "gemma3",
       .architectures = {"Gemma3ForConditionalGeneration"},
       .textType = "gemma3_text",
       .defaults = {{"vocab_size", 262208},
                    {"hidden_size", 2304},
                    {"intermediate_size", 9216},
                    {"num_hidden_layers", 26},
                    {"num_attention_heads", 8},
                    {"num_key_value_heads", 4}},
       .keys = {"vision_config", "mm_tokens_per_image", "image_token_index",
                "boi_token_index", "eoi_token_index"},
       .adjust = adjustGemma3},
      {.modelType = "qwen3_vl_moe",
       .architectures = {"Qwen3VLMoeForConditionalGeneration"},
       .textType = "qwen3_vl_moe_text",
       .defaults = {{"vocab_size", 151936},
                    {"hidden_size", 2048},
                    {"intermediate_size", 5632},
                    {"num_hidden_layers", 24},
                    {"num_attention_heads", 16},
                    {"num_key_value_heads", 16},
                    {"moe_intermediate_size", 1408},
                    {"num_experts_per_tok", 4}},
       .prefixes = {"model.language_model."},
       .heads = {"lm_head"},
       .keys = {"vision_config", "image_token_id", "video_token_id",
                "vision_start_token_id", "vision_end_token_id"},
       .ignored = {"model.visual.*"}},
      {.modelType = "kimi_k25",
       .architectures = {"KimiK25ForConditionalGeneration",
                         "Kimi_K25ForConditionalGeneration"},
       .textType = "kimi_k2",
       .otherTextType = "deepseek_v3",
       .keys = {"vision_config", "image_token_id", "video_token_id",
                "vision_start_token_id", "vision_end_token_id",
                "projection_hidden_size", "projection_layer_norm_eps"},
       .ignored = {"vision_tower.*", "mm_projector.*", "model.vision_tower.*",
                   "model.mm_projector.*"}},
      {.modelType = "llama4",
       .architectures = {"Llama4ForConditionalGeneration"},
       .textType = "llama4_text",
       .defaults = {{"vocab_size", 202048},
                    {"hidden_size", 5120},
                    {"intermediate_size", 8192},
                    {"num_hidden_layers", 48},
                    {"num_attention_heads", 40},
                    {"num_key_value_heads", 8}},
       .heads = {"language_model.lm_head", "lm_head"},
       .keys = {"vision_config", "boi_token_index", "eoi_token_index",
                "image_token_index"},
       .ignored = {"vision_model.*", "multi_modal_projector.*",
                   "model.vision_model.*", "model.multi_modal_projector.*"}}};
  return table;
}

const Composite *findComposite(ObjectReader &whole) {
  const json::Value *type = whole.get("model_type");
  std::optional<StringRef> name =
      type ? type->getAsString() : std::optional<StringRef>();
  const Composite *row =
      llvm::find_if(getComposites(), [&](const Composite &row) {
        return row.modelType == name;
      });
  return row == getComposites().end() ? nullptr : row;
}

std::optional<json::Object> readText(ObjectReader &whole,
                                     const Composite &composite) {
  const json::Object *object = whole.getObject(composite.text);
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
  if (type && *type != json::Value(composite.textType) &&
      *type != json::Value(composite.otherTextType)) {
    whole.error(composite.text)
        << "unsupported " << composite.text << ".model_type " << showJson(*type)
        << " of model_type " << quoted(composite.modelType) << "; expected "
        << quoted(composite.textType);
    return std::nullopt;
  }
  text["model_type"] = composite.textType;
  for (StringRef key : sharedKeys) {
    const json::Value *shared = whole.get(key), *own = getValue(key);
    if (shared && own && *shared != *own)
      whole.error(key) << key << " " << showJson(*shared) << " contradicts "
                       << composite.text << "." << key << " " << showJson(*own);
    if (shared)
      text[key] = *shared;
  }
  for (auto [key, value] : composite.defaults)
    if (!getValue(key))
      text[key] = value;
  return text;
}

void noteComposite(ObjectReader &whole, const Composite &composite) {
  emitRemark(whole.getLoc(composite.text))
      << "of " << composite.architectures.front()
      << " the text alone is imported (" << composite.textType << "), without "
      << llvm::join(ArrayRef(composite.ignored).take_front(2), " and ");
}

} // namespace tp
