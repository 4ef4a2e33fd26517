//===- GenerationKeys.cpp - keys of generation_config.json ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See GenerationKeys.h. The list is that of transformers 5.23, with those that
// older releases wrote.
//
//===----------------------------------------------------------------------===//

#include "GenerationKeys.h"
#include "llvm/ADT/STLExtras.h"

namespace tp {

using enum KeyUse;

static constexpr llvm::StringLiteral
    speed = "how transformers computes; answers do not depend on it",
    outputs = "what transformers.generate returns beside the tokens",
    beams = "of beam search alone", encoders = "of models with an encoder",
    beamSearch = "beam search is not supported",
    processors = "it is no setting but an object of a Python program";

static constexpr GenerationKey keys[] = {
    // The length of an answer.
    {"max_length", Honoured},
    {"max_new_tokens", Honoured},
    {"min_length", Honoured},
    {"min_new_tokens", Honoured},
    {"eos_token_id", Honoured},
    {"max_time", Refused, "limits of time are not supported"},
    {"stop_strings", Refused,
     "programs know ids alone: write eos_token_id, or give texts as a "
     "request's 'stop'"},
    // The choice of tokens.
    {"do_sample", Honoured},
    {"temperature", Honoured},
    {"top_k", Honoured},
    {"top_p", Honoured},
    {"min_p", Honoured},
    {"repetition_penalty", Honoured},
    {"exponential_decay_length_penalty", Honoured},
    {"no_repeat_ngram_size", Honoured},
    {"bad_words_ids", Honoured},
    {"suppress_tokens", Honoured},
    {"begin_suppress_tokens", Honoured},
    {"forced_bos_token_id", Honoured},
    {"forced_eos_token_id", Honoured},
    {"force_bos_token_to_be_generated", Honoured},
    {"sequence_bias", Honoured},
    {"typical_p", Sampled, "typical decoding is not supported", 1},
    {"top_h", Sampled, "sampling by a budget of entropy is not supported", 1},
    {"epsilon_cutoff", Sampled, "epsilon sampling is not supported"},
    {"eta_cutoff", Sampled, "eta sampling is not supported"},
    {"num_beams", Refused, beamSearch, 1},
    {"constraints", Refused, beamSearch},
    {"force_words_ids", Refused, beamSearch},
    {"penalty_alpha", Refused, "contrastive search is not supported"},
    {"dola_layers", Refused, "decoding by contrasting layers is not supported"},
    {"guidance_scale", Refused, "classifier-free guidance is not supported", 1},
    {"watermarking_config", Refused, "watermarks are not supported"},
    {"token_healing", Refused, "healing the end of a prompt is not supported"},
    {"num_return_sequences", Refused,
     "each prompt has one answer: ask as often, with other seeds", 1},
    {"encoder_repetition_penalty", Refused,
     "a penalty on what is not in the prompt is not supported", 1},
    {"encoder_no_repeat_ngram_size", Refused,
     "a ban of the prompt's n-grams alone is not supported: "
     "no_repeat_ngram_size is"},
    {"logits_processor", Refused, processors},
    {"stopping_criteria", Refused, processors},
    {"prefix_allowed_tokens_fn", Refused, processors},
    {"assistant_model", Refused, processors},
    {"streamer", Refused, processors},
    {"negative_prompt_ids", Refused, processors},
    {"negative_prompt_attention_mask", Refused, processors},
    {"synced_gpus", Refused, processors},
    // Changes nothing.
    {"early_stopping", Ignored, beams},
    {"length_penalty", Ignored, beams, 1},
    {"num_beam_groups", Ignored, beams, 1},
    {"diversity_penalty", Ignored, beams},
    {"renormalize_logits", Ignored,
     "a number added to all logits changes no choice"},
    {"remove_invalid_values", Ignored,
     "a logit that is not a number ends a request with an error"},
    {"decoder_start_token_id", Ignored, encoders},
    {"output_attentions", Ignored, outputs},
    {"output_hidden_states", Ignored, outputs},
    {"output_scores", Ignored, outputs},
    {"output_logits", Ignored, outputs},
    {"return_dict_in_generate", Ignored, outputs},
    {"use_cache", Silent},
    {"cache_implementation", Ignored, speed},
    {"cache_config", Ignored, speed},
    {"max_cache_len", Ignored, speed},
    {"compile_config", Ignored, speed},
    {"disable_compile", Ignored, speed},
    {"continuous_batching_config", Ignored, speed},
    {"low_memory", Ignored, speed},
    {"prefill_chunk_size", Ignored, speed},
    {"use_mtp", Ignored, speed},
    {"speculation_type", Ignored, speed},
    {"prompt_lookup_num_tokens", Ignored, speed},
    {"max_matching_ngram_size", Ignored, speed},
    {"is_assistant", Ignored, speed},
    {"num_assistant_tokens", Ignored, speed},
    {"num_assistant_tokens_schedule", Ignored, speed},
    {"assistant_confidence_threshold", Ignored, speed},
    {"assistant_early_exit", Ignored, speed},
    {"assistant_lookbehind", Ignored, speed},
    {"target_lookbehind", Ignored, speed},
    {"assistant_ensemble_weight", Ignored, speed},
    // No settings of a choice.
    {"pad_token_id", Silent},
    {"bos_token_id", Silent},
    {"transformers_version", Silent},
    {"_from_model_config", Silent},
    {"_commit_hash", Silent}};

bool GenerationKey::isNeutral(const llvm::json::Value &value) const {
  switch (value.kind()) {
  case llvm::json::Value::Null:
    return true;
  case llvm::json::Value::Boolean:
    return !*value.getAsBoolean();
  case llvm::json::Value::Number:
    return *value.getAsNumber() == neutral;
  case llvm::json::Value::String:
    return value.getAsString()->empty();
  case llvm::json::Value::Array:
    return value.getAsArray()->empty();
  case llvm::json::Value::Object:
    // An object without keys still asks for what is refused.
    return value.getAsObject()->empty() && use != KeyUse::Refused;
  }
  llvm_unreachable("unknown kind of JSON");
}

llvm::ArrayRef<GenerationKey> getGenerationKeys() { return keys; }

const GenerationKey *findGenerationKey(llvm::StringRef name) {
  const GenerationKey *found = llvm::find_if(
      keys, [&](const GenerationKey &key) { return key.name == name; });
  return found == std::end(keys) ? nullptr : found;
}

} // namespace tp
