"""One-token steps of a Llama in llama.cpp, by its own clock.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: llama_cpp.py CHECKPOINT THREADS [Q8_0|Q4_0]

Writes the checkpoint's weights, bit for bit, to a file of llama.cpp's format beside it; with a type
the matrices of layers, rounded to it, while table and head stay as they are.
"""

import pathlib
import sys
from concurrent.futures import ThreadPoolExecutor

import gguf
import numpy as np
import xllamacpp

import checkpoint

NAMES = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
         "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def name_of(name):
    if name.startswith("model.layers."):
        layer, rest = name.removeprefix("model.layers.").removesuffix(".weight").split(".", 1)
        return f"blk.{layer}.{NAMES[rest]}.weight"
    return {"model.embed_tokens.weight": "token_embd.weight", "lm_head.weight": "output.weight",
            "model.norm.weight": "output_norm.weight"}[name]


def interleave(values, heads):
    """Rows of queries and keys as llama.cpp rotates them: neighbours are a pair."""
    n, k = values.shape
    return values.reshape(heads, 2, n // heads // 2, k).swapaxes(1, 2).reshape(n, k)


def convert(folder, path, kind):
    config, dtype, tensors = checkpoint.load(folder)
    writer = gguf.GGUFWriter(path, "llama")
    heads, kv = config["num_attention_heads"], config["num_key_value_heads"]
    vocabulary = config["vocab_size"]
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_rope_dimension_count(config["hidden_size"] // heads)
    writer.add_vocab_size(vocabulary)
    # It wants a tokenizer, though prompts are ids: any.
    writer.add_tokenizer_model("llama")
    writer.add_token_list(["<unk>", "<s>", "</s>"] +
                          [f"<0x{i:02X}>" for i in range(256)] +
                          [f"t{i}" for i in range(259, vocabulary)])
    writer.add_token_scores([0.0] * vocabulary)
    writer.add_token_types([2, 3, 3] + [6] * 256 + [1] * (vocabulary - 259))
    for name, values in tensors.items():
        if len(values.shape) == 1:  # norms are f32 there
            values = np.ones(values.shape, np.float32)
        elif "q_proj" in name or "k_proj" in name:
            values = interleave(values, heads if "q_proj" in name else kv)
        if kind and len(values.shape) == 2 and name.startswith("model.layers."):
            if dtype == "bf16":
                values = (values.astype(np.uint32) << 16).view(np.float32)
            rounded = gguf.quants.quantize(np.ascontiguousarray(values, np.float32), kind)
            writer.add_tensor(name_of(name), rounded, raw_dtype=kind)
        elif dtype == "bf16" and values.dtype == np.uint16:
            writer.add_tensor(name_of(name), np.ascontiguousarray(values).view(np.uint8),
                              raw_dtype=gguf.GGMLQuantizationType.BF16)
        else:
            writer.add_tensor(name_of(name), np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    folder, threads = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    kind = gguf.GGMLQuantizationType[sys.argv[3]] if len(sys.argv) > 3 else None
    path = folder / (f"model-{sys.argv[3]}.gguf" if kind else "model.gguf")
    if not path.exists():
        convert(folder, path, kind)
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel, params.n_gpu_layers = 8 * 128, 8, 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.warmup = False
    server = xllamacpp.Server(params)

    def one(row, tokens):
        answer = server.handle_completions(
            {"prompt": list(range(300 + row, 316 + row)), "n_predict": tokens, "temperature": 0,
             "ignore_eos": True, "cache_prompt": False})
        return answer["timings"]["predicted_ms"] / 1000 / (answer["timings"]["predicted_n"] - 1)

    def decode(rows, tokens):
        with ThreadPoolExecutor(rows) as pool:
            return max(pool.map(one, range(rows), [tokens + 1] * rows))

    decode(1, 2)
    checkpoint.serve(decode)


main()
