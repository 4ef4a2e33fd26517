"""The normalizer, pre-tokenizer and decoder that a tokenizer class brings.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

`AutoTokenizer` of transformers 5 chooses a class by `model_type` and `tokenizer_class`. Some
classes reuse only the vocabulary, the merges and the post-processor of tokenizer.json. They build
the other components themselves, from keys of tokenizer_config.json (`add_prefix_space`, `legacy`),
and can therefore start from vocab.json and merges.txt as well. All other classes use
tokenizer.json unchanged, and so does "PreTrainedTokenizerFast".
"""

from dataclasses import dataclass
from typing import Callable, Mapping

_QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?{L}+|\p{N}| ?[^\s{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
               "use_regex": True}
_END = "<|endoftext|>"


def _sequence(kind, *parts):
    return {"type": "Sequence", kind: list(parts)}


def _before(config, default=False):
    """Returns whether a space is prepended to a text."""
    value = config.get("add_prefix_space")
    return default if value is None else value


def _byte_level(config, use_regex=True):
    return {**_BYTE_LEVEL, "add_prefix_space": _before(config), "use_regex": use_regex}


def _gpt2(config):
    return {"normalizer": None, "pre_tokenizer": _byte_level(config), "decoder": _BYTE_LEVEL}


def _gpt_neox(config):
    return {**_gpt2(config), "normalizer": {"type": "NFC"}}


def _cohere(config):
    digits = {"type": "Digits", "individual_digits": True}
    return {**_gpt_neox(config),
            "pre_tokenizer": _sequence("pretokenizers", digits, _byte_level(config))}


def _qwen(letters, other):
    pattern = _QWEN.replace("?{L}", "?" + letters).replace(r"\s{L}", r"\s" + other)
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated",
             "invert": False}

    def made(config):
        return {**_gpt_neox(config), "pre_tokenizer": _sequence(
            "pretokenizers", split, _byte_level(config, use_regex=False))}
    return made


def _fallback(*more):
    return _sequence("decoders", {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                     {"type": "ByteFallback"}, {"type": "Fuse"}, *more)


def _llama(config):
    before = _before(config, True)
    scheme = ("always" if config.get("legacy") else "first") if before else "never"
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if before else []
    return {"normalizer": None, "decoder": _fallback(*strip), "pre_tokenizer": {
        "type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": False}}


def _gemma(config):
    space = {"String": " "}
    return {"normalizer": {"type": "Replace", "pattern": space, "content": "▁"},
            "pre_tokenizer": {"type": "Split", "pattern": space, "behavior": "MergedWithPrevious",
                              "invert": False},
            "decoder": _fallback()}


@dataclass(frozen=True)
class Pipeline:
    """
    Attributes:
        parts: function from tokenizer_config.json to the normalizer, pre_tokenizer and decoder,
            in the form of tokenizer.json.
        names: default special tokens by name.
        model: options of the BPE; a true `unk_token` stands for the configured one.
        keys: keys of tokenizer_config.json that `parts` reads.
        special: whether every named token is made special, whatever tokenizer.json says.
        keeps_flags: whether the other flags of these tokens are kept.
        bare: whether the post-processor of tokenizer.json is dropped.
    """

    parts: Callable
    names: Mapping
    model: Mapping
    keys: tuple = ("add_prefix_space",)
    special: bool = False
    keeps_flags: bool = False
    bare: bool = False


def _names(unk=_END, bos=_END, eos=_END, **more):
    found = {"unk": unk, "bos": bos, "eos": eos, **more}
    return {f"{name}_token": value for name, value in found.items() if value}


_SENTENCEPIECE = {"fuse_unk": True, "byte_fallback": True}
_AFFIXES = {"continuing_subword_prefix": "", "end_of_word_suffix": ""}
_QWEN_NAMES = _names(bos=None, pad=_END)
PIPELINES = {
    "GPT2Tokenizer": Pipeline(_gpt2, _names(), _AFFIXES),
    "GPTNeoXTokenizer": Pipeline(_gpt_neox, _names(pad="<|padding|>"), _AFFIXES,
                                bare=True),
    "CohereTokenizer": Pipeline(_cohere, _names(
        "<UNK>", "<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>", pad="<PAD>", cls="<CLS>", sep="<SEP>",
        mask="<MASK_TOKEN>"), _AFFIXES, special=True, keeps_flags=True),
    "Qwen2Tokenizer": Pipeline(_qwen(r"\p{L}", r"\p{L}"), _QWEN_NAMES, _AFFIXES, special=True),
    "Qwen3_5Tokenizer": Pipeline(_qwen(r"[\p{L}\p{M}]", r"\p{L}\p{M}"), _QWEN_NAMES, _AFFIXES),
    "LlamaTokenizer": Pipeline(_llama, _names("<unk>", "<s>", "</s>"), _SENTENCEPIECE,
                               ("add_prefix_space", "legacy")),
    "GemmaTokenizer": Pipeline(_gemma, _names("<unk>", "<bos>", "<eos>", pad="<pad>",
                                              mask="<mask>"),
                               {**_SENTENCEPIECE, "unk_token": True}, ()),
}
PIPELINES["CodeGenTokenizer"] = PIPELINES["GPT2Tokenizer"]
# Classes that can start from vocab.json and merges.txt.
FROM_VOCABULARY = ("GPT2Tokenizer", "CodeGenTokenizer", "GPTNeoXTokenizer", "Qwen2Tokenizer",
                   "Qwen3_5Tokenizer")

GENERIC = "PreTrainedTokenizerFast"
# The class that transformers registers for a model_type, if it registers one.
_CLASSES = {
    "GPT2Tokenizer": "gpt2 gpt_neo gptj opt phi starcoder2 codegen dbrx jais2",
    "GPTNeoXTokenizer": "gpt_neox mpt olmo olmoe mamba mamba2 falcon_mamba rwkv xlstm",
    "CohereTokenizer": "cohere cohere2 aya_vision",
    "Qwen2Tokenizer": "qwen2 qwen2_moe qwen2_vl qwen2_5_vl qwen2_5_omni qwen2_audio qwen3 "
                      "qwen3_moe qwen3_next qwen3_vl qwen3_vl_moe qwen3_omni_moe internvl ovis2",
    "Qwen3_5Tokenizer": "qwen3_5 qwen3_5_moe qwen3_5_text qwen3_5_moe_text",
    "GemmaTokenizer": "gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text recurrent_gemma "
                      "shieldgemma2 t5gemma zaya",
    GENERIC: "mistral mistral3 ministral ministral3 mixtral pixtral voxtral granite granitemoe "
              "granitemoehybrid granitemoeshared glm glm4 glm4_moe glm4_moe_lite glm4v gpt_bigcode "
              "olmo2 olmo3 olmo_hybrid flex_olmo stablelm persimmon kimi_k25 kimi_linear "
              "mimo_v2_flash arctic ernie4_5 ernie4_5_moe fuyu hyperclovax internlm2 internlm3 "
              "jamba llava llava_next minicpm3 minimax_m2 modernbert modernbert-decoder molmo "
              "nemotron phi3 phi3_v phimoe smolvlm step3_vl",
}
_OF_TYPE = {kind: name for name, kinds in _CLASSES.items() for kind in kinds.split()}
# Model types whose checkpoints name a wrong class, so that the registered one is used.
_WRONGLY_NAMED = frozenset(
    "arctic ernie4_5 ernie4_5_moe fuyu hyperclovax internlm2 internlm3 jamba llava llava_next "
    "minicpm3 minimax_m2 modernbert modernbert-decoder molmo nemotron phi3 phi3_v phimoe qwen2 "
    "qwen3_5 qwen3_5_moe qwen3_5_moe_text smolvlm step3_vl".split())


def class_of(model_type, declared, is_byte_level):
    """Returns the class that `AutoTokenizer` chooses, without "Fast", or None for a class that
    uses tokenizer.json unchanged.

    Args:
        model_type: config.json's.
        declared: `tokenizer_class`, or None.
        is_byte_level: whether tokenizer.json has a component of type "ByteLevel".
    """
    registered = _OF_TYPE.get(model_type)
    declared = declared.removesuffix("Fast") if declared else None
    if declared is None:
        name = registered
    elif (declared == "LlamaTokenizer" and is_byte_level and model_type not in _WRONGLY_NAMED):
        name = None
    elif registered is None or registered == declared:
        name = declared
    elif registered == GENERIC:
        name = None
    else:
        name = registered if model_type in _WRONGLY_NAMED else declared
    return name if name in PIPELINES else None


def _meaning(part):
    """Removes from a component of tokenizer.json everything that does not affect ids."""
    if isinstance(part, list):
        return [_meaning(one) for one in part]
    if not isinstance(part, dict):
        return part
    inner = next((part[key] for key in ("normalizers", "pretokenizers", "decoders")
                  if part.get("type") == "Sequence" and key in part), None)
    if inner is not None and len(inner) == 1:
        return _meaning(inner[0])
    return {key: _meaning(value) for key, value in part.items() if key != "trim_offsets"}


def replaced(spec, parts):
    """Returns the names of components in `spec` that differ from those in `parts`."""
    def same(name):
        mine, theirs = _meaning(parts[name]), _meaning(spec.get(name))
        byte_level = name == "decoder" and isinstance(theirs, dict)
        return mine == theirs or byte_level and theirs.get("type") == mine["type"] == "ByteLevel"
    return [name for name in parts if not same(name)]


def puts_around(part):
    """Returns whether a post-processor of tokenizer.json adds tokens around a text."""
    return part is not None and (part["type"] not in ("ByteLevel", "Sequence")
                                 or any(map(puts_around, part.get("processors", ()))))


def rebuilt(spec, pipeline, config, unk):
    """Returns tokenizer.json with the components of a class, and without added tokens, which come
    from the settings. `unk` is the text of the unknown token."""
    model = {"type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False,
             "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "byte_fallback": False, "ignore_merges": False, **pipeline.model}
    if model["unk_token"]:
        model["unk_token"] = unk
    model |= {key: spec["model"][key] for key in ("vocab", "merges")}
    around = {"post_processor": None} if pipeline.bare else {}
    return {**spec, **pipeline.parts(config), **around, "model": model, "added_tokens": []}
