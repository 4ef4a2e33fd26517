"""config.json from a GGUF file's metadata.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Each architecture of llama.cpp's is a model_type of transformers' with other names for the same
numbers. Keys of an architecture that nothing here reads are an error, for they may change results.
"""

import numpy

from ._metadata import GgufError

#: Keys behind the architecture's name that do not change what a model computes.
_IGNORED = {"vocab_size", "tensor_data_layout", "rope.scaling.finetuned", "attention.causal"}
#: Layers that a model has at most.
_MOST_LAYERS = 1 << 14
#: Layers of the models whose scores are divided by the root of hidden size by heads; others of
#: these architectures divide by that of the size of a head.
_LARGEST_GEMMAS = {"gemma2": 46, "gemma3": 62}


class _Keys:
    """Metadata of one architecture, and which of it has been read."""

    def __init__(self, file):
        self.file, self.metadata = file, file.metadata
        self.architecture = self.metadata.get("general.architecture")
        self.read = set()

    def get(self, key, default=None, kinds=(int,)):
        """The value of a key; of a list that says the same of all layers, what it says."""
        name = f"{self.architecture}.{key}"
        self.read.add(name)
        value = self.metadata.get(name, default)
        if isinstance(value, list) and value and all(one == value[0] for one in value):
            value = value[0]
        is_number = isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds)
        if value is not None and not is_number:
            raise GgufError(f"{self.file.path}: metadata '{name}': expected "
                            f"{' or '.join(kind.__name__ for kind in kinds)}, the same for all "
                            f"layers, got {str(value)[:80]}")
        return value

    def need(self, key, kinds=(int,)):
        value = self.get(key, kinds=kinds)
        if value is None:
            raise GgufError(f"{self.file.path}: metadata '{self.architecture}.{key}' is missing")
        return value

    def number(self, key, default=None):
        value = self.get(key, default, (int, float))
        # The shortest decimal that is the same f32.
        return float(str(numpy.float32(value))) if isinstance(value, float) else value

    def positive(self, key, default=None, most=1 << 31):
        value = self.need(key) if default is None else self.get(key, default)
        if not 1 <= value <= most:
            raise GgufError(f"{self.file.path}: metadata '{self.architecture}.{key}': expected 1 to "
                            f"{most}, got {value}")
        return value

    def finish(self):
        prefix = f"{self.architecture}."
        left = sorted(key for key in self.metadata
                      if key.startswith(prefix) and key not in self.read and
                      key[len(prefix):] not in _IGNORED)
        if left:
            raise GgufError(f"{self.file.path}: unsupported metadata {', '.join(left)}: what it "
                            f"changes in a model of architecture '{self.architecture}' is not "
                            "known here")


def _has(file, tensor):
    return tensor in file.shapes


def _rope(keys, config):
    """The base, and what stretches it."""
    file = keys.file
    config["rope_theta"] = keys.number("rope.freq_base", 10000.0)
    rotated = keys.get("rope.dimension_count", config["head_dim"])
    if rotated != config["head_dim"]:
        config["partial_rotary_factor"] = rotated / config["head_dim"]
    kind = keys.get("rope.scaling.type", "none", (str,))
    factor = keys.number("rope.scaling.factor", 1.0)
    original = keys.get("rope.scaling.original_context_length")
    attention = keys.number("rope.scaling.attn_factor")
    if kind in ("linear", "yarn") and factor != 1:
        config["rope_scaling"] = {"rope_type": kind, "factor": factor}
        if kind == "yarn":
            config["rope_scaling"]["original_max_position_embeddings"] = \
                original or config["max_position_embeddings"]
            for name in ("beta_fast", "beta_slow"):
                value = keys.number(f"rope.scaling.yarn_{name}")
                if value is not None:
                    config["rope_scaling"][name] = value
    elif kind not in ("none", "linear", "yarn", "longrope"):
        raise GgufError(f"{file.path}: unsupported metadata '{keys.architecture}.rope.scaling.type'"
                        f" {kind!r}: expected 'none', 'linear', 'yarn' or 'longrope'")
    if _has(file, "rope_freqs.weight"):
        # A factor of each frequency, for all lengths.
        factors = file.numbers("rope_freqs.weight")
        config["rope_scaling"] = {
            "rope_type": "longrope", "short_factor": factors, "long_factor": factors,
            "original_max_position_embeddings": config["max_position_embeddings"], "factor": 1.0}
    elif _has(file, "rope_factors_short.weight"):
        config["original_max_position_embeddings"] = original or config["max_position_embeddings"]
        config["rope_scaling"] = {
            "type": "longrope", "short_factor": file.numbers("rope_factors_short.weight"),
            "long_factor": file.numbers("rope_factors_long.weight")}
        if attention is not None:
            config["rope_scaling"]["attention_factor"] = attention
        attention = None
    if attention not in (None, 1.0):
        raise GgufError(f"{file.path}: unsupported metadata '{keys.architecture}.rope.scaling."
                        f"attn_factor' {attention}: expected 1")


def _experts(keys, config, renamed):
    for name, key in renamed.items():
        config[name] = keys.need(key)


def _llama(keys, config):
    file = keys.file
    if keys.get("expert_count", 0):
        config["model_type"] = "mixtral"
        _experts(keys, config, {"num_local_experts": "expert_count",
                                "num_experts_per_tok": "expert_used_count"})
        config["sliding_window"] = None
        return
    keys.get("expert_used_count")
    config["attention_bias"] = _has(file, "blk.0.attn_q.bias")
    config["mlp_bias"] = _has(file, "blk.0.ffn_gate.bias")


def _gemma(keys, config):
    config["hidden_activation"] = "gelu_pytorch_tanh"


def _scores(keys, config):
    """Gemma 2 and 3."""
    _gemma(keys, config)
    is_largest = config["num_hidden_layers"] == _LARGEST_GEMMAS[keys.architecture]
    config["query_pre_attn_scalar"] = (config["hidden_size"] // config["num_attention_heads"]
                                       if is_largest else config["head_dim"])
    config["sliding_window"] = keys.get("attention.sliding_window", 4096)
    config["attn_logit_softcapping"] = keys.number("attn_logit_softcapping")
    config["final_logit_softcapping"] = keys.number("final_logit_softcapping")


def _gemma2(keys, config):
    _scores(keys, config)
    config["attn_logit_softcapping"] = config["attn_logit_softcapping"] or 50.0
    config["final_logit_softcapping"] = config["final_logit_softcapping"] or 30.0


def _gemma3(keys, config):
    _scores(keys, config)
    pattern = keys.positive("attention.sliding_window_pattern", 6)
    config["rope_local_base_freq"] = keys.number("rope.freq_base_swa", 10000.0)
    config["layer_types"] = ["sliding_attention" if (layer + 1) % pattern else "full_attention"
                             for layer in range(config["num_hidden_layers"])]
    if "rope.freq_base" not in _short(keys):
        config["rope_theta"] = 1e6


def _short(keys):
    prefix = f"{keys.architecture}."
    return {key[len(prefix):] for key in keys.metadata if key.startswith(prefix)}


def _phi3(keys, config):
    config["sliding_window"] = keys.get("attention.sliding_window")
    config.pop("head_dim")


def _qwen3(keys, config):
    config["attention_bias"] = _has(keys.file, "blk.0.attn_q.bias")


def _qwen_moe(keys, config):
    _experts(keys, config, {"num_experts": "expert_count",
                            "num_experts_per_tok": "expert_used_count",
                            "moe_intermediate_size": "expert_feed_forward_length"})
    config |= {"decoder_sparse_step": 1, "mlp_only_layers": []}


def _qwen2_moe(keys, config):
    gate = keys.file.shapes.get("blk.0.ffn_gate_exps.weight", [])
    if len(gate) == 3:
        keys.metadata.setdefault("qwen2moe.expert_feed_forward_length", gate[1])
    _qwen_moe(keys, config)
    shared = keys.file.shapes.get("blk.0.ffn_gate_shexp.weight", [0])[0]
    config["shared_expert_intermediate_size"] = \
        keys.get("expert_shared_feed_forward_length") or shared
    config["norm_topk_prob"] = False


def _qwen3_moe(keys, config):
    _qwen_moe(keys, config)
    _qwen3(keys, config)
    config["norm_topk_prob"] = True


def _granite(keys, config):
    for name, key in (("logits_scaling", "logit_scale"), ("embedding_multiplier", "embedding_scale"),
                      ("residual_multiplier", "residual_scale"),
                      ("attention_multiplier", "attention.scale")):
        config[name] = keys.number(key, 1.0)


_MODELS = {"llama": ("llama", _llama), "qwen2": ("qwen2", None), "qwen3": ("qwen3", _qwen3),
           "gemma": ("gemma", _gemma), "gemma2": ("gemma2", _gemma2),
           "gemma3": ("gemma3_text", _gemma3), "phi3": ("phi3", _phi3),
           "qwen2moe": ("qwen2_moe", _qwen2_moe), "qwen3moe": ("qwen3_moe", _qwen3_moe),
           "granite": ("granite", _granite)}


def read_config(file):
    """config.json of a file, a dict."""
    keys = _Keys(file)
    if keys.architecture not in _MODELS:
        raise GgufError(f"{file.path}: unsupported general.architecture "
                        f"{keys.architecture!r}; expected one of {', '.join(_MODELS)}; the "
                        "safetensors that the file was made from may be supported")
    split = file.metadata.get("split.count", 0)
    if isinstance(split, int) and split > 1:
        raise GgufError(f"{file.path}: is one of {split} files of a model: `llama-gguf-split "
                        "--merge` makes one file of them")
    if "token_embd.weight" not in file.shapes:
        raise GgufError(f"{file.path}: tensor 'token_embd.weight' is missing")
    model_type, adjust = _MODELS[keys.architecture]
    hidden, heads = keys.positive("embedding_length"), keys.positive("attention.head_count")
    head = keys.positive("attention.key_length", hidden // heads)
    if keys.get("attention.value_length", head) != head:
        raise GgufError(f"{file.path}: unsupported metadata '{keys.architecture}.attention."
                        f"value_length': expected {head}, the size of keys")
    config = {
        "model_type": model_type, "vocab_size": file.shapes["token_embd.weight"][0],
        "hidden_size": hidden, "num_hidden_layers": keys.positive("block_count", most=_MOST_LAYERS),
        "num_attention_heads": heads,
        "num_key_value_heads": keys.get("attention.head_count_kv", heads), "head_dim": head,
        "intermediate_size": keys.get("feed_forward_length", 0),
        "max_position_embeddings": keys.need("context_length"),
        "rms_norm_eps": keys.number("attention.layer_norm_rms_epsilon", 1e-5),
        "tie_word_embeddings": not _has(file, "output.weight"),
        "quantization_config": {"quant_method": "gguf"}}
    if file.metadata.get(f"{keys.architecture}.attention.causal", True) is not True:
        raise GgufError(f"{file.path}: unsupported metadata '{keys.architecture}.attention.causal' "
                        "false: expected a model that generates text")
    _rope(keys, config)
    if adjust:
        adjust(keys, config)
    keys.finish()
    return config
