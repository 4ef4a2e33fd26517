# A property of the importer: no key that transformers reads is ignored. Draws
# model types and keys from TransformersKeys.inc, gives the key a value that
# nothing understands, and expects an error that names it. Keys on the list of
# those that change no result are the exception. A key that is in none of the
# lists is ignored, and a remark names it.
#
#   known_keys.py TP_IMPORT SOURCE WORK [--seed N] [--count N | --all]

import argparse
import json
import pathlib
import random
import re
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("tool")
parser.add_argument("source", type=pathlib.Path)
parser.add_argument("work", type=pathlib.Path)
parser.add_argument("--seed", type=int, default=None)
parser.add_argument("--count", type=int, default=60)
parser.add_argument("--all", action="store_true")
args = parser.parse_args()

# Keys that choose the family, objects with rows of their own, and keys that only a head of classes
# or training reads.
EVERYWHERE = set("""model_type architectures text_config attn_config num_labels router_aux_loss_coef
    router_jitter_noise output_router_logits is_decoder is_causal embedding_size""".split())
# Keys that a family reads and that no result depends on: a window that is switched off, sizes that
# follow from others, periods and numbers beside a list of layers, what an indexer of all tokens is,
# the precision of scores, dropout, and images.
EXCEPTIONS = {
    "qwen2": "sliding_window", "qwen3": "sliding_window", "qwen2_moe": "sliding_window",
    "qwen3_moe": "sliding_window", "smollm3": "sliding_window",
    "deepseek_v2": "head_dim qk_head_dim", "deepseek_v3": "head_dim qk_head_dim",
    "kimi_k2": "head_dim qk_head_dim", "glm4_moe_lite": "head_dim qk_head_dim",
    "deepseek_v32": "head_dim qk_head_dim index_head_dim index_n_heads mlp_bias",
    "glm_moe_dsa": """head_dim qk_head_dim index_head_dim index_n_heads indexer_types index_skip_topk_offset
        index_topk_freq index_topk_pattern mlp_bias""",
    "lfm2": "full_attn_idxs",
    "gpt2": "reorder_and_upcast_attn", "bloom": "slow_but_exact",
    "mpt": "emb_pdrop embedding_fraction init_device learned_pos_emb no_bias", "opt": "layerdrop",
    "distilbert": "dropout qa_dropout seq_classif_dropout sinusoidal_pos_embds",
    "gemma3_text": "_sliding_window_pattern sliding_window_pattern", "exaone4": "sliding_window_pattern",
    "cohere2": "sliding_window_pattern", "hunyuan_v1_dense": "eod_token_id", "mimo": "sliding_window",
    "qwen2_5_vl_text": "sliding_window", "qwen2_vl_text": "sliding_window", "modernbert": "global_attn_every_n_layers cls_token_id deterministic_flash_attn embedding_dropout "
    "initializer_cutoff_factor mlp_dropout sparse_pred_ignore_index sparse_prediction",
    "mistral3": "vision_config image_token_id image_token_index multimodal_projector_bias projector_hidden_act "
    "spatial_merge_size vision_feature_layer",
    "qwen2_5_vl": "vision_config image_token_id video_token_id vision_start_token_id vision_end_token_id",
    "qwen2_vl": "vision_config image_token_id video_token_id vision_start_token_id vision_end_token_id",
    "qwen3_vl": "vision_config image_token_id video_token_id vision_start_token_id vision_end_token_id",
    "gemma3": "vision_config boi_token_index eoi_token_index image_token_index mm_tokens_per_image",
    "qwen3_vl_moe": "vision_config image_token_id video_token_id vision_start_token_id vision_end_token_id",
    "kimi_k25": """vision_config image_token_id video_token_id vision_start_token_id vision_end_token_id
        projection_hidden_size projection_layer_norm_eps""",
    "llama4": "vision_config boi_token_index eoi_token_index image_token_index",
    "llama4_text": "attn_scale",
    "qwen3_next": "full_attention_interval", "qwen3_5_text": "full_attention_interval",
    "qwen3_5_moe_text": "full_attention_interval", "granitemoehybrid": "mamba_chunk_size",
    "nemotron_h": """chunk_size expand hybrid_override_pattern mamba_chunk_size mamba_dt_init_floor mamba_dt_max
        mamba_expand moe_shared_expert_overlap mtp_hybrid_override_pattern mtp_layers_block_type num_logits_to_keep
        num_nextn_predict_layers partial_rotary_factor rescale_prenorm_residual rope_parameters rope_scaling rope_theta
        time_step_floor time_step_max use_mamba_kernels""",
    "gemma4_text": "global_head_dim num_global_key_value_heads use_double_wide_mlp vocab_size_per_layer_input",
    "gemma4": """audio_config audio_token_id boa_token_id boi_token_id eoa_token_index eoi_token_id image_token_id
        video_token_id vision_config""",
    "albert": "classifier_dropout_prob", "hunyuan_v1_moe": "eod_token_id",
    "qwen3_5": "vision_config image_token_id video_token_id vision_start_token_id vision_end_token_id",
    "qwen3_5_moe": "vision_config image_token_id video_token_id vision_start_token_id vision_end_token_id"}


# Families without a checkpoint of their own, and those whose form they have.
LIKE = {"mimo": "qwen2", "new": "gte", "ministral": "mistral", "internlm3": "llama", "helium": "llama",
        "arcee": "llama", "qwen2_vl": "qwen2_5_vl", "qwen2_vl_text": "qwen2_5_vl_text", "camembert": "roberta"}


def read_rows():
    """{model_type: keys}, with "" for the keys that all have."""
    text = (args.source / "lib/Import/TransformersKeys.inc").read_text()
    rows = {}
    for row in re.findall(r'TP_TRANSFORMERS_KEYS\((.*?)\)\n', text, re.S):
        model_type, keys, *_ = [" ".join(re.findall(r'"([^"]*)"', part)) for part in row.split(",\n")]
        rows[model_type] = keys.split()
    return rows


def read_ignored():
    text = (args.source / "lib/Import/KnownKeys.cpp").read_text()
    return set(re.findall(r'"([^"]+)"', text.split("ignoredKeys[] = {")[1].split("};")[0]))


def read_examples():
    """{model_type: a config.json of it}."""
    found = {}
    for path in sorted((args.source / "test").glob("f*/*/config.json")):
        config = json.loads(path.read_text())
        found.setdefault(config.get("model_type"), config)
        if text := config.get("text_config"):
            found.setdefault(text.get("model_type"), text)
    for model_type, other in LIKE.items():
        found[model_type] = found[other] | {"model_type": model_type, "architectures": None}
        if text := found[model_type].get("text_config"):
            found[model_type]["text_config"] = text | {"model_type": f"{model_type}_text"}
    found["llama4"] = {"model_type": "llama4", "text_config": found["llama4_text"] | {"architectures": None}}
    found["kimi_k2"] = found["deepseek_v3"] | {"model_type": "kimi_k2"}
    return found


def try_key(config, key):
    (args.work / "config.json").write_text(json.dumps(config | {key: {"odd": {"odd": 1}}}))
    done = subprocess.run([args.tool, args.work, "-o", "/dev/null"], capture_output=True, text=True)
    return done.returncode, done.stderr


def check(model_type, config, key, reads):
    """What is wrong, or nothing."""
    code, said = try_key(config, key)
    named = re.search(rf'\b{re.escape(key)}\b', said)
    if reads:
        return "" if code == 1 and named and "ignoring" not in said else f"expected an error, got {code}: {said}"
    fine = code == 0 and f'"{key}"' in said and "ignoring " in said
    return "" if fine else f"expected a remark, got {code}: {said}"


rows, ignored, examples = read_rows(), read_ignored() | EVERYWHERE, read_examples()
pairs = [(t, key) for t in rows if t in examples for key in rows[""] + rows[t]
         if key not in ignored and key not in EXCEPTIONS.get(t, "").split()]
missing = [t for t in rows if t not in examples and t not in ("", "mpt.attn_config")]
seed = args.seed if args.seed is not None else random.randrange(1 << 30)
print(f"seed {seed}, {len(pairs)} pairs")
args.work.mkdir(parents=True, exist_ok=True)
(args.work / "config.json").write_text('{"model_type": "none"}')
told = subprocess.run([args.tool, args.work], capture_output=True, text=True).stderr
families = re.findall(r'"([^"]+)"', told.split("expected one of")[1].split(";")[0])
draw = random.Random(seed)
wrong = [f"{t}: no example" for t in missing]
wrong += [f"{t}: no row; run scripts/list-config-keys" for t in families if t not in rows]
for model_type, key in pairs if args.all else draw.sample(pairs, args.count):
    reason = check(model_type, examples[model_type], key, reads=True)
    wrong += [f"{model_type}: {key}: {reason}"] if reason else []
for model_type in examples if args.all else draw.sample(sorted(examples), 8):
    key = "odd_" + str(draw.randrange(1000))
    reason = check(model_type, examples[model_type], key, reads=False)
    wrong += [f"{model_type}: {key}: {reason}"] if reason else []
print("\n".join(wrong) or "no key that matters is ignored")
sys.exit(bool(wrong))
