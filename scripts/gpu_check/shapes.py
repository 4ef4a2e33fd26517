"""The shapes of a Llama: its matrix products and its checkpoint.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

LINEAR = {"q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj",
          "o": "self_attn.o_proj", "gate": "mlp.gate_proj", "up": "mlp.up_proj",
          "down": "mlp.down_proj"}


def facts_of(config, prefill, short):
    """What travels in the pack of a config.json."""
    heads = config["num_attention_heads"]
    return {"hidden": config["hidden_size"], "feed": config["intermediate_size"], "heads": heads,
            "kv_heads": config["num_key_value_heads"], "size": config["hidden_size"] // heads,
            "layers": config["num_hidden_layers"], "vocabulary": config["vocab_size"],
            "tokens": {"prefill": prefill, "short": short}}


class Llama:
    """What one of `ranks` ranks computes."""

    def __init__(self, facts, tokens, ranks=1):
        self.tokens, self.ranks = tokens, ranks
        self.hidden, self.size, self.layers = facts["hidden"], facts["size"], facts["layers"]
        self.heads = facts["heads"] // ranks
        self.kv_heads = max(1, facts["kv_heads"] // ranks)
        self.feed, self.vocabulary = facts["feed"] // ranks, facts["vocabulary"] // ranks

    def products(self):
        """(outputs, inputs) of the matrix products of a layer."""
        h, q, kv = self.hidden, self.heads * self.size, self.kv_heads * self.size
        return {"q": (q, h), "k": (kv, h), "v": (kv, h), "o": (h, q), "gate": (self.feed, h),
                "up": (self.feed, h), "down": (h, self.feed)}

    def checkpoint(self):
        """Names and shapes of all tensors, as Hugging Face has them."""
        tensors = {"model.embed_tokens.weight": (self.vocabulary, self.hidden),
                   "lm_head.weight": (self.vocabulary, self.hidden),
                   "model.norm.weight": (self.hidden,)}
        for i in range(self.layers):
            for name, size in self.products().items():
                tensors[f"model.layers.{i}.{LINEAR[name]}.weight"] = size
            for norm in ("input_layernorm", "post_attention_layernorm"):
                tensors[f"model.layers.{i}.{norm}.weight"] = (self.hidden,)
        return tensors
