"""The files of the text model: tokenizer, weights, and what `transformers` makes of them.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import GenerationConfig, LlamaForCausalLM

from . import corpus

CHAT_TEMPLATE = """{{ bos_token }}
{%- for message in messages %}
    {%- if message['role'] not in ['system', 'user', 'assistant'] %}
        {{- raise_exception('unknown role ' + message['role']) }}
    {%- endif %}
    {{- '<|' + message['role'] + '|>\\n' + message['content'] | trim + '<|eot|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>\\n' }}
{%- endif %}
"""
# (document, first token, tokens of the prompt with the begin token, new tokens)
CONTINUATIONS = [(0, 0, 1, 96), (0, 0, 5, 64), (0, 300, 31, 96), (1, 200, 32, 96),
                 (1, 900, 33, 96), (2, 0, 33, 400), (2, 300, 48, 400), (3, 40, 64, 200),
                 (0, 1500, 65, 64), (3, 700, 200, 96)]


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_tokenizer(out, vocabulary, context):
    """Byte-level byte pairs, which begin with the bytes: no text is unknown."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(corpus.strings(), trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=corpus.SPECIAL, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    assert tokenizer.get_vocab_size() == vocabulary
    begin = corpus.SPECIAL[corpus.BEGIN]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A", pair=f"{begin} $A {begin} $B",
        special_tokens=[(begin, corpus.BEGIN)])
    tokenizer.save(str(out / "tokenizer.json"))
    write_json(out / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": begin,
        "eos_token": corpus.SPECIAL[corpus.END], "model_max_length": context,
        "clean_up_tokenization_spaces": False, "chat_template": CHAT_TEMPLATE})


def write_model(out, model):
    model = model.to(torch.bfloat16)
    model.config.dtype = torch.bfloat16
    # A list here and a number in config.json: generation stops at any of them.
    model.generation_config = GenerationConfig(
        bos_token_id=corpus.BEGIN, eos_token_id=[corpus.END, corpus.END_OF_TURN])
    model.save_pretrained(out)


def continued(models, ids, count):
    """What `transformers` generates in f32, and the least margins on the way in each type."""
    stops = {corpus.END, corpus.END_OF_TURN}
    prompt = torch.tensor([ids])
    with torch.no_grad():
        made = models["f32"].generate(prompt, attention_mask=torch.ones_like(prompt),
                                      max_new_tokens=count, do_sample=False,
                                      pad_token_id=corpus.END)[0].tolist()[len(ids):]
        margins = {}
        for name, model in models.items():
            logits = model(input_ids=torch.tensor([ids + made])).logits[0].float()
            best = logits[len(ids) - 1:-1].topk(2)
            assert best.indices[:, 0].tolist() == made, f"{name} continues otherwise"
            margins[name] = round((best.values[:, 0] - best.values[:, 1]).min().item(), 3)
    return {"ids": made, "finish": "stop" if made[-1] in stops else "length",
            "margins": margins}


def write_continuations(out, texts, least):
    """Prompts, and the greedy continuations that `transformers` gives in f32."""
    models = {name: LlamaForCausalLM.from_pretrained(out, dtype=dtype).eval()
              for name, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16))}
    tokenizer, found = texts.tokenizer, []
    for number, begin, length, count in CONTINUATIONS:
        text = texts.documents[number]
        ids = text[:length] if begin == 0 else [corpus.BEGIN] + text[begin:begin + length - 1]
        after = text[begin + length - (begin != 0):][:count]
        made = continued(models, ids, count)
        assert made["ids"] == after, "the text is continued otherwise"
        written = tokenizer.decode(ids, skip_special_tokens=True)
        found.append({"prompt": written, "prompt_ids": ids,
                      "text": tokenizer.decode(made["ids"], skip_special_tokens=True), **made})
    for numbers, system in ([[0], False], [[2], True], [[4, 3], False]):
        messages = [{"role": "system", "content": corpus.SYSTEM}] if system else []
        for number in numbers:
            question, reply = texts.questions[number]
            messages += [{"role": "user", "content": question},
                         {"role": "assistant", "content": reply}]
        ids = tokenizer.apply_chat_template(messages[:-1], add_generation_prompt=True,
                                            return_dict=False)
        made = continued(models, ids, 400)
        text = tokenizer.decode(made["ids"], skip_special_tokens=True)
        assert text == reply and made["finish"] == "stop"
        found.append({"messages": messages[:-1], "prompt_ids": ids, "text": text, **made})
    for one in found:
        print(f"prompt of {len(one['prompt_ids'])}, {len(one['ids'])} new, least margins "
              f"{one['margins']}: {one['text'][:50]!r}")
    write_json(out / "continuations.json", {"least_margins": least, "continuations": found})


def write_fixture(out, fixtures):
    """Inputs, logits and continuations, as of every other fixture."""
    model = LlamaForCausalLM.from_pretrained(out)
    f = fixtures.Fixture("text-model", "trained: licences known by heart; bf16 file",
                         LlamaForCausalLM, model.config, batch=1, seq=16, dtype="bfloat16")
    fixtures.write_reference(out, f, fixtures.make_inputs(f, torch.Generator().manual_seed(3)))
    fixtures.write_generation(out)
    fixtures.write_training(out)
