"""Small random models of many architectures, for survey-exports and make-export-fixtures.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Two layers each, sizes that 2 and 4 ranks divide, and weights of norms and biases away from their
defaults, so that one that is left out shows.
"""

from dataclasses import dataclass

import torch
import transformers

SEQUENCE = 16
_SIZES = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
              vocab_size=97, max_position_embeddings=64)
_GROUPED = dict(_SIZES, num_key_value_heads=2)


@dataclass
class Architecture:
    """`needed`: all-reduces of a step: two a layer, or one where attention and MLP are side by
    side, one more where queries and keys are normed over all heads at once, and one of the word
    table. `gathers`: all-gathers, one for each projection whose parts lie one after the other.
    `on_four`: all calls of four ranks, where two heads or groups need others. `experts`: a
    token's path is a choice, which another rounding may change; `routed`: the same of experts in
    another form than nn.experts. `refused`: words of the error
    that says why it has no form. `masked`: called with a padding mask, which positions are counted by."""
    config: str
    model: str
    settings: dict
    kind: str = "text"
    needed: int = 5
    gathers: int = 0
    on_four: dict = None
    attention: str = "sdpa"
    outputs: list = None
    experts: bool = False
    routed: bool = False
    refused: str = ""
    masked: bool = False

    def collectives(self, degree):
        """Count by kind of a step on `degree` ranks."""
        if degree == 4 and self.on_four:
            return self.on_four
        gathers = {"all_gather": self.gathers} if self.gathers else {}
        return gathers | {"all_reduce": self.needed} if degree > 1 else {}


def _text(config, settings, model=None, **rest):
    return Architecture(config, model or config.replace("Config", "ForCausalLM"), settings,
                        outputs=["logits"], **rest)


def _encoder(config, model, settings, **rest):
    return Architecture(config, model, settings, kind="encoder", outputs=["last_hidden_state"],
                        **rest)


_GEMMA = dict(_GROUPED, head_dim=16, query_pre_attn_scalar=16, sliding_window=8)

_MAMBA = dict(mamba_n_heads=8, mamba_d_head=16, mamba_n_groups=2, mamba_d_state=16)
_DELTA = dict(linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=16,
              linear_value_head_dim=16)

ARCHITECTURES = {
    "llama": _text("LlamaConfig", _GROUPED),
    "mistral": _text("MistralConfig", dict(_GROUPED, sliding_window=8)),
    "qwen2": _text("Qwen2Config", _GROUPED),
    "qwen3": _text("Qwen3Config", dict(_GROUPED, head_dim=16)),
    "gpt2": _text("GPT2Config", dict(n_embd=64, n_layer=2, n_head=4, vocab_size=97,
                                     n_positions=64), "GPT2LMHeadModel"),
    "bert": _encoder("BertConfig", "BertModel", _SIZES),
    "gemma": _text("GemmaConfig", dict(_GROUPED, head_dim=16)),
    "gemma2": _text("Gemma2Config", _GEMMA, attention="eager"),
    "gemma3": _text("Gemma3TextConfig", _GEMMA, "Gemma3ForCausalLM"),
    "phi3": _text("Phi3Config", dict(_GROUPED, pad_token_id=0)),
    "falcon": _text("FalconConfig", dict(hidden_size=64, num_hidden_layers=2,
                                         num_attention_heads=4, vocab_size=97, alibi=False),
                    needed=3),
    "falcon_new": _text("FalconConfig", dict(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_kv_heads=2,
        new_decoder_architecture=True, vocab_size=97, alibi=False), "FalconForCausalLM",
        needed=3),
    "opt": _text("OPTConfig", dict(hidden_size=64, ffn_dim=128, num_hidden_layers=2,
                                   num_attention_heads=4, vocab_size=97,
                                   max_position_embeddings=64, word_embed_proj_dim=64)),
    "opt_mask": _text("OPTConfig", dict(hidden_size=64, ffn_dim=128, num_hidden_layers=2,
                                        num_attention_heads=4, vocab_size=97,
                                        max_position_embeddings=64, word_embed_proj_dim=64),
                      masked=True),
    "gpt_neox": _text("GPTNeoXConfig", _SIZES, needed=3),
    "bloom": _text("BloomConfig", dict(hidden_size=64, n_layer=2, n_head=4, vocab_size=97),
                   attention="eager"),
    "bloom_mask": _text("BloomConfig", dict(hidden_size=64, n_layer=2, n_head=4, vocab_size=97),
                        attention="eager", masked=True),
    "starcoder2": _text("Starcoder2Config", _GROUPED),
    "olmo2": _text("Olmo2Config", _GROUPED, needed=7,
                   on_four={"all_reduce": 9}),      # squares of keys over two ranks
    "granite": _text("GraniteConfig", _GROUPED),
    "cohere": _text("CohereConfig", _GROUPED, needed=3),
    "stablelm": _text("StableLmConfig", _GROUPED),
    "smollm3": _text("SmolLM3Config", dict(_GROUPED, pad_token_id=0)),
    "roberta": _encoder("RobertaConfig", "RobertaModel", _SIZES),
    "distilbert": _encoder("DistilBertConfig", "DistilBertModel", dict(
        dim=64, hidden_dim=128, n_layers=2, n_heads=4, vocab_size=97,
        max_position_embeddings=64)),
    "modernbert": _encoder("ModernBertConfig", "ModernBertModel", dict(
        _SIZES, local_attention=8, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        cls_token_id=1, sep_token_id=2)),
    "t5_encoder": _encoder("T5Config", "T5EncoderModel", dict(
        d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, vocab_size=97)),
    "clip_text": _encoder("CLIPTextConfig", "CLIPTextModel", dict(
        _SIZES, eos_token_id=2, bos_token_id=1, pad_token_id=0)),
    "vit": Architecture("ViTConfig", "ViTModel", dict(
        hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        image_size=32, patch_size=8), kind="image", needed=4, outputs=["last_hidden_state"]),
    "whisper": Architecture("WhisperConfig", "", dict(
        d_model=64, encoder_layers=2, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, vocab_size=97,
        max_source_positions=32, num_mel_bins=16, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, decoder_start_token_id=1), kind="sound", needed=4,
        outputs=["last_hidden_state"]),
    "transformer": Architecture("", "", {}, kind="torch", needed=4),
    "mixtral": _text("MixtralConfig", dict(_GROUPED, num_local_experts=4,
                                           num_experts_per_tok=2), experts=True),
    "qwen3_moe": _text("Qwen3MoeConfig", dict(
        _GROUPED, head_dim=16, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32),
        "Qwen3MoeForCausalLM", experts=True),
    "granitemoe": _text("GraniteMoeConfig", dict(_GROUPED, num_local_experts=4,
                                                 num_experts_per_tok=2), "GraniteMoeForCausalLM",
                         experts=True),
    "deepseek_v3": _text("DeepseekV3Config", dict(
        hidden_size=64, intermediate_size=128, moe_intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=4, n_routed_experts=4, num_experts_per_tok=2,
        n_group=2, topk_group=1, kv_lora_rank=16, q_lora_rank=24, qk_rope_head_dim=8,
        v_head_dim=16, qk_nope_head_dim=16, first_k_dense_replace=1, vocab_size=97,
        max_position_embeddings=64), experts=True),
    "gpt_oss": _text("GptOssConfig", dict(_GROUPED, head_dim=16, num_local_experts=4,
                                          num_experts_per_tok=2, sliding_window=8),
                     attention="eager", experts=True),
    "qwen2_moe": _text("Qwen2MoeConfig", dict(
        _GROUPED, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
        shared_expert_intermediate_size=64), experts=True),
    "olmoe": _text("OlmoeConfig", dict(_GROUPED, num_experts=4, num_experts_per_tok=2),
                   needed=7, on_four={"all_reduce": 9}, experts=True),
    "glm4_moe": _text("Glm4MoeConfig", dict(
        _GROUPED, head_dim=16, moe_intermediate_size=32, n_routed_experts=4,
        num_experts_per_tok=2, first_k_dense_replace=1, use_qk_norm=True), experts=True),
    "ernie4_5_moe": _text("Ernie4_5_MoeConfig", dict(
        _GROUPED, moe_intermediate_size=32, moe_num_experts=4, moe_k=2, moe_layer_start_index=0,
        moe_num_shared_experts=1), experts=True),
    "minimax_m2": _text("MiniMaxM2Config", dict(
        _GROUPED, head_dim=16, num_local_experts=4, num_experts_per_tok=2), needed=7,
        on_four={"all_reduce": 9}, experts=True),
    "deepseek_v2": _text("DeepseekV2Config", dict(
        hidden_size=64, intermediate_size=128, moe_intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=4, n_routed_experts=4, num_experts_per_tok=2,
        n_group=2, topk_group=1, topk_method="group_limited_greedy", kv_lora_rank=16,
        q_lora_rank=24, qk_rope_head_dim=8, v_head_dim=16, qk_nope_head_dim=16,
        first_k_dense_replace=1, vocab_size=97, max_position_embeddings=64), experts=True),
    "llama4": _text("Llama4TextConfig", dict(
        _GROUPED, head_dim=16, intermediate_size_mlp=128, num_local_experts=4,
        num_experts_per_tok=2, interleave_moe_layer_step=2, attention_chunk_size=16, pad_token_id=0,
        layer_types=["chunked_attention", "full_attention"]), "Llama4ForCausalLM", routed=True),
    "phimoe": _text("PhimoeConfig", dict(_GROUPED, num_local_experts=4, num_experts_per_tok=2),
                    experts=True),
    "mamba2": _text("Mamba2Config", dict(hidden_size=64, num_hidden_layers=2, vocab_size=97,
                                         num_heads=8, head_dim=16, state_size=16, n_groups=2),
                    attention="eager", needed=3, on_four={"all_reduce": 5}),       # norms of two groups
    "bamba": _text("BambaConfig", dict(_GROUPED, attn_layer_indices=[1], pad_token_id=0, **_MAMBA),
                   on_four={"all_reduce": 6}),
    "granitemoehybrid": _text("GraniteMoeHybridConfig", dict(
        _GROUPED, num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=64,
        layer_types=["mamba", "attention"], **_MAMBA), "GraniteMoeHybridForCausalLM", experts=True,
        on_four={"all_reduce": 6}),
    "qwen3_next": _text("Qwen3NextConfig", dict(
        _GROUPED, head_dim=16, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
        shared_expert_intermediate_size=64, layer_types=["linear_attention", "full_attention"],
        **_DELTA), experts=True,
        on_four={"all_gather": 1, "all_reduce": 5}),    # a projection of two groups
    "qwen3_5": _text("Qwen3_5TextConfig", dict(
        _GROUPED, head_dim=16, layer_types=["linear_attention", "full_attention"], **_DELTA),
        "Qwen3_5ForCausalLM"),
    "mpt": _text("MptConfig", dict(d_model=64, n_heads=4, n_layers=2, vocab_size=97, max_seq_len=64),
                 attention="eager"),
}


def _make(entry):
    if entry.kind == "torch":
        layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0)
        return torch.nn.TransformerEncoder(layer, 2)
    config = getattr(transformers, entry.config)(**entry.settings)
    config._attn_implementation = entry.attention
    if entry.kind == "sound":
        from transformers.models.whisper.modeling_whisper import WhisperEncoder
        return WhisperEncoder(config)
    return getattr(transformers, entry.model)(config)


def _arguments(entry, batch, dtype):
    if entry.kind == "image":
        return (torch.randn(batch, 3, 32, 32, dtype=dtype),), {}
    if entry.kind == "sound":
        return (torch.randn(batch, 16, 64, dtype=dtype),), {}
    if entry.kind == "torch":
        return (torch.randn(batch, SEQUENCE, 64, dtype=dtype),), {}
    ids = (torch.arange(batch * SEQUENCE).reshape(batch, SEQUENCE) * 7) % 89 + 3
    if entry.kind == "text" and not entry.masked:
        return (ids,), {}
    mask = torch.ones_like(ids)
    mask[-1, SEQUENCE - 3:] = 0
    return (ids,), {"attention_mask": mask}


def build(name, dtype="float32", batch=1):
    """(module, args, kwargs, Architecture)"""
    entry = ARCHITECTURES[name]
    torch.manual_seed(0)
    model = _make(entry).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter.data.add_(torch.randn_like(parameter) * 0.1)
    dtype = getattr(torch, dtype)
    model = model.to(dtype)
    args, kwargs = _arguments(entry, batch, dtype)
    return model, args, kwargs, entry
