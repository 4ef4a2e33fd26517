//===- BuiltinPlans.cpp - The plans that come with the compiler -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Megatron's split of a transformer as a table of names: outputs of the first
// layers of a pair are split (columns of the transposed weight, rows of the
// weight as stored), inputs of the second, the vocabulary of tables and heads;
// norms, positions, biases after a sum and heads of classes are whole. The
// names are those of all families that are imported (lib/Import/Families.cpp).
// Source: Shoeybi et al., arXiv 1909.08053, and for the sequence, Korthikanti
// et al., arXiv 2205.05198.
//
//===----------------------------------------------------------------------===//

#include "BuiltinPlans.h"

using namespace tp;

/// Experts as layers of their own, or some of them whole. Stacks of matrices
/// [experts, outputs, inputs] are told from matrices by their rank.
static constexpr llvm::StringLiteral expertWidthRules = R"json(
  {"parameter": ["*gate_proj.weight", "*up_proj.weight", "*w1.weight",
                 "*w3.weight", "*input_linear.weight",
                 "*experts.gate_up_proj"],
   "rank": 3, "comment": "outputs of each expert", "dims": [[], ["tp"], []]},
  {"parameter": ["*down_proj.weight", "*w2.weight", "*output_linear.weight",
                 "*experts.down_proj"],
   "rank": 3, "comment": "inputs of each expert", "dims": [[], [], ["tp"]]},
  {"parameter": "*experts.gate_up_proj_bias", "dims": [[], ["tp"]]},
  {"parameter": "*experts.down_proj_bias",
   "comment": "added once, after the sum", "whole": true},
)json";

static constexpr llvm::StringLiteral expertRules = R"json(
  {"parameter": ["*gate_proj.weight", "*up_proj.weight", "*down_proj.weight",
                 "*w1.weight", "*w2.weight", "*w3.weight",
                 "*input_linear.weight", "*output_linear.weight",
                 "*experts.gate_up_proj", "*experts.down_proj"],
   "rank": 3, "comment": "experts", "dims": [["tp"], [], []]},
  {"parameter": ["*experts.gate_up_proj_bias", "*experts.down_proj_bias"],
   "dims": [["tp"], []]},
)json";

static constexpr llvm::StringLiteral megatronRules = R"json(
  {"parameter": ["*q_proj.weight", "*k_proj.weight", "*v_proj.weight",
                 "*gate_proj.weight", "*up_proj.weight",
                 "*c_attn.weight", "*c_fc.weight", "*qkv_proj.weight",
                 "*Wqkv.weight",
                 "*gate_up_proj.weight", "*query_key_value.weight",
                 "*dense_h_to_4h.weight", "*fc1.weight", "*q_lin.weight",
                 "*k_lin.weight", "*v_lin.weight",
                 "*attn.q.weight", "*attn.k.weight", "*attn.v.weight",
                 "*ffn.lin1.weight", "*q_b_proj.weight", "*kv_b_proj.weight",
                 "*attention.self.query.weight", "*attention.self.key.weight",
                 "*attention.self.value.weight", "*intermediate.dense.weight",
                 "*attention.query.weight", "*attention.key.weight",
                 "*attention.value.weight", "*.ffn.weight",
                 "*fc_in.weight", "*mlp.Wi.weight", "*mlp.fc11.weight",
                 "*mlp.fc12.weight", "*up_gate_proj.weight",
                 "*feed_forward.w1.weight", "*feed_forward.w3.weight",
                 "*conv.in_proj.weight", "*linear_attn.in_proj_*.weight",
                 "*mamba.in_proj.weight", "*mixer.in_proj.weight",
                 "*shared_mlp.input_linear.weight"],
   "comment": "column-parallel: outputs", "dims": [["tp"], []]},
  {"parameter": ["*q_proj.bias", "*k_proj.bias", "*v_proj.bias",
                 "*gate_proj.bias", "*up_proj.bias",
                 "*c_attn.bias", "*c_fc.bias", "*qkv_proj.bias",
                 "*gate_up_proj.bias", "*query_key_value.bias",
                 "*dense_h_to_4h.bias", "*fc1.bias", "*q_lin.bias",
                 "*k_lin.bias", "*v_lin.bias",
                 "*attn.q.bias", "*attn.k.bias", "*attn.v.bias",
                 "*ffn.lin1.bias",
                 "*attention.self.query.bias", "*attention.self.key.bias",
                 "*attention.self.value.bias", "*intermediate.dense.bias",
                 "*attention.query.bias", "*attention.key.bias",
                 "*attention.value.bias", "*.ffn.bias",
                 "*fc_in.bias", "*Wqkv.bias", "*mlp.Wi.bias",
                 "*conv.in_proj.bias", "*conv.conv.bias",
                 "*mamba.in_proj.bias", "*mamba.conv1d.bias",
                 "*mixer.in_proj.bias", "*mixer.conv1d.bias"],
   "dims": [["tp"]]},
  {"parameter": ["*o_proj.weight", "*down_proj.weight", "*c_proj.weight",
                 "*output.dense.weight", "*attention.dense.weight",
                 "*dense_4h_to_h.weight", "*attn.out_proj.weight", "*fc2.weight",
                 "*.ffn_output.weight",
                 "*attn.o.weight", "*out_lin.weight",
                 "*ffn.lin2.weight", "*self_attn.dense.weight",
                 "*attention.out_proj.weight", "*fc_out.weight",
                 "*.Wo.weight", "*mixer.out_proj.weight",
                 "*feed_forward.w2.weight", "*conv.out_proj.weight",
                 "*mamba.out_proj.weight", "*shared_mlp.output_linear.weight"],
   "comment": "row-parallel: inputs", "dims": [[], ["tp"]]},
  {"parameter": ["*o_proj.bias", "*down_proj.bias", "*c_proj.bias",
                 "*output.dense.bias", "*attention.dense.bias",
                 "*dense_4h_to_h.bias", "*attn.out_proj.bias", "*fc2.bias",
                 "*.ffn_output.bias",
                 "*attn.o.bias", "*out_lin.bias",
                 "*ffn.lin2.bias", "*self_attn.dense.bias",
                 "*attention.out_proj.bias", "*fc_out.bias",
                 "*.Wo.bias", "*mixer.out_proj.bias",
                 "*conv.out_proj.bias", "*mamba.out_proj.bias"],
   "comment": "added once, after the sum", "whole": true},
  {"parameter": ["*embed_tokens.weight", "*lm_head.weight", "*wte.weight",
                 "*predictions.decoder.weight", "*lm_head.decoder.weight",
                 "*vocab_projector.weight", "*.embeddings.weight",
                 "*word_embeddings.weight", "*embed_in.weight",
                 "*embed_out.weight", "*tok_embeddings.weight",
                 "decoder.weight"],
   "comment": "the vocabulary", "dims": [["tp"], []]},
  {"parameter": ["*predictions.bias", "*predictions.decoder.bias",
                 "*lm_head.bias", "*lm_head.decoder.bias",
                 "*vocab_projector.bias", "decoder.bias"],
   "dims": [["tp"]]},
  {"parameter": ["*linear_attn.A_log", "*linear_attn.dt_bias",
                 "*mamba.A_log", "*mamba.dt_bias", "*mamba.D",
                 "*mixer.A_log", "*mixer.dt_bias", "*mixer.D"],
   "comment": "heads", "dims": [["tp"]]},
  {"parameter": ["*conv.conv.weight", "*linear_attn.conv1d.weight",
                 "*mamba.conv1d.weight", "*mixer.conv1d.weight"], "rank": 3,
   "comment": "channels of a convolution", "dims": [["tp"], [], []]},
  {"parameter": "*relative_attention_bias.weight", "comment": "heads",
   "dims": [[], ["tp"]]},
  {"parameter": "*self_attn.sinks", "comment": "heads", "dims": [["tp"]]},
  {"parameter": ["*q_norm.weight", "*k_norm.weight",
                 "*q_layernorm.norms.*.weight", "*k_layernorm.norms.*.weight"],
   "rank": 2, "comment": "a norm of each head", "dims": [["tp"], []]},
  {"parameter": ["*norm.weight", "*norm.bias", "*layernorm.weight",
                 "*layernorm.bias", "*LayerNorm.weight", "*LayerNorm.bias",
                 "*ln_1.weight", "*ln_1.bias", "*ln_2.weight", "*ln_2.bias",
                 "*ln_f.weight", "*ln_f.bias", "*layer_norm.weight",
                 "*layer_norm.bias", "*ln_attn.weight", "*ln_attn.bias",
                 "*ln_mlp.weight", "*ln_mlp.bias", "*wpe.weight",
                 "*norm_1.weight", "*norm_2.weight", "*norm_f.weight",
                 "*embed_positions.weight",
                 "*position_embeddings.weight",
                 "*token_type_embeddings.weight", "*transform.dense.*",
                 "*pooler.dense.*", "lm_head.dense.*", "vocab_transform.*",
                 "*classifier.*", "*mlp.gate.weight",
                 "*block_sparse_moe.gate.weight", "*mixer.gate.weight",
                 "*feed_forward.gate.weight", "*expert_bias",
                 "*predictions.dense.*", "*embeddings_project.*",
                 "*embedding_hidden_mapping_in.*", "*.pooler.weight",
                 "*.pooler.bias", "*mlp.gate.wg.weight", "*_latent_proj.*", "*router.proj.weight", "*router.scale",
                 "*router.per_expert_scale", "*layer_scalar", "*router.layer.weight", "*router.weight",
                 "*router.bias",
                 "*shared_expert_gate.weight", "*e_score_correction_bias",
                 "*q_a_proj.*", "*kv_a_proj_with_mqa.*", "head.dense.*",
                 "*emb_ln.*", "*attn_ln.*", "*mlp_ln.*", "*norm1.*", "*norm2.*"],
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
   "comment": "one gather for queries, keys and values, also where every rank holds the one KV head"},
  {"value": "nn.rms_norm", "at": "*operator_norm", "rank": 3,
   "dims": [null, [], []], "optional": true,
   "comment": "the same, or one for the projections around a convolution"},
  {"value": "nn.rms_norm", "at": "*}.norm", "rank": 3,
   "dims": [null, [], []], "optional": true,
   "comment": "the same of a layer that has one part"}
)json";

std::optional<std::string> tp::getBuiltinPlan(llvm::StringRef name) {
  std::string head = "{\"version\": 1, \"rules\": [", tail = "]}";
  bool splitsSequence = name.consume_back("-sp");
  std::string rules =
      megatronRules.str() + (splitsSequence ? sequenceRules.str() : "");
  if (name == "megatron")
    return head + expertWidthRules.str() + rules + tail;
  if (name == "expert")
    return head + expertRules.str() + rules + tail;
  if (splitsSequence)
    return std::nullopt;
  if (name == "none")
    return head + tail;
  if (name == "replicated")
    return head +
           "{\"parameter\": \"*\", \"whole\": true}, "
           "{\"argument\": \"*\", \"whole\": true}, "
           "{\"carried\": \"*\", \"whole\": true}, "
           "{\"result\": \"*\", \"whole\": true}" +
           tail;
  return std::nullopt;
}
