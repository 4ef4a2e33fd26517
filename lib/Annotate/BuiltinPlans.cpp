//===- BuiltinPlans.cpp - The plans that come with the compiler -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Megatron's split of a transformer as a table of names: outputs of the first
// layers of a pair are split (columns of the transposed weight, rows of the
// weight as stored), inputs of the second, the vocabulary of tables and heads;
// norms, positions and biases after a sum are whole. The names are those of the
// llama, gpt2 and bert families. Source: Shoeybi et al., arXiv 1909.08053, and
// for the sequence, Korthikanti et al., arXiv 2205.05198.
//
//===----------------------------------------------------------------------===//

#include "BuiltinPlans.h"

using namespace tp;

static constexpr llvm::StringLiteral megatronRules = R"json(
  {"parameter": ["*q_proj.weight", "*k_proj.weight", "*v_proj.weight",
                 "*gate_proj.weight", "*up_proj.weight",
                 "*c_attn.weight", "*c_fc.weight",
                 "*attention.self.query.weight", "*attention.self.key.weight",
                 "*attention.self.value.weight", "*intermediate.dense.weight"],
   "comment": "column-parallel: outputs", "dims": [["tp"], []]},
  {"parameter": ["*q_proj.bias", "*k_proj.bias", "*v_proj.bias",
                 "*gate_proj.bias", "*up_proj.bias",
                 "*c_attn.bias", "*c_fc.bias",
                 "*attention.self.query.bias", "*attention.self.key.bias",
                 "*attention.self.value.bias", "*intermediate.dense.bias"],
   "dims": [["tp"]]},
  {"parameter": ["*o_proj.weight", "*down_proj.weight", "*c_proj.weight",
                 "*output.dense.weight"],
   "comment": "row-parallel: inputs", "dims": [[], ["tp"]]},
  {"parameter": ["*o_proj.bias", "*down_proj.bias", "*c_proj.bias",
                 "*output.dense.bias"],
   "comment": "added once, after the sum", "whole": true},
  {"parameter": ["*embed_tokens.weight", "*lm_head.weight", "*wte.weight",
                 "*word_embeddings.weight"],
   "comment": "the vocabulary", "dims": [["tp"], []]},
  {"parameter": ["*norm.weight", "*norm.bias", "*layernorm.weight",
                 "*layernorm.bias", "*LayerNorm.weight", "*LayerNorm.bias",
                 "*ln_1.weight", "*ln_1.bias", "*ln_2.weight", "*ln_2.bias",
                 "*ln_f.weight", "*ln_f.bias", "*wpe.weight",
                 "*position_embeddings.weight",
                 "*token_type_embeddings.weight"],
   "whole": true},
  {"argument": "*", "dim": 0, "axes": ["dp"], "when_axis": "dp",
   "even": "batch"}
)json";

static constexpr llvm::StringLiteral sequenceRules = R"json(,
  {"carried": "*", "rank": 3, "dims": [null, ["tp"], []], "even": "sequence",
   "comment": "the residual stream"},
  {"value": "nn.embedding", "rank": 3, "dims": [null, ["tp"], []],
   "even": "sequence"},
  {"value": "nn.rms_norm", "at": "*input_layernorm", "rank": 3,
   "dims": [null, [], []], "optional": true,
   "comment": "one gather for queries, keys and values, also where every rank holds the one KV head"}
)json";

std::optional<std::string> tp::getBuiltinPlan(llvm::StringRef name) {
  std::string head = "{\"version\": 1, \"rules\": [", tail = "]}";
  if (name == "megatron")
    return head + megatronRules.str() + tail;
  if (name == "megatron-sp")
    return head + megatronRules.str() + sequenceRules.str() + tail;
  if (name == "replicated")
    return head +
           "{\"parameter\": \"*\", \"whole\": true}, "
           "{\"argument\": \"*\", \"whole\": true}, "
           "{\"carried\": \"*\", \"whole\": true}, "
           "{\"result\": \"*\", \"whole\": true}" +
           tail;
  return std::nullopt;
}
