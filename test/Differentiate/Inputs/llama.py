"""A Llama with its loss, of any size, as the importers would write it.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: llama.py [NAME=NUMBER...] [tied | block] [padding=ROW] [TYPE]

Norm, query, key and value with grouped heads, rotary embedding, causal
attention, residual, norm, gated feed-forward; an embedding and a head, one table
if tied; the sum of the cross-entropy over all tokens. A block is the layers alone,
without rotary embedding, with the sum of their output's squares.
"""

import sys

SIZES = dict(layers=2, first=0, batch=2, seq=8, hidden=16, heads=4, kv=2, head=4, mlp=24, vocabulary=21)
TYPE = "f32"
for word in sys.argv[1:]:
    if "=" in word:
        SIZES[word.split("=")[0]] = int(word.split("=")[1])
    elif word not in ("tied", "block"):
        TYPE = word
B, S, H, F, V, D = (SIZES[name] for name in ("batch", "seq", "hidden", "mlp", "vocabulary", "head"))
NQ, NK = SIZES["heads"], SIZES["kv"]
LAYER = "model.layers.{i}."
EPSILON = "{epsilon = 1.0e-5 : f64}"


def of(*shape, type=TYPE):
    return "tensor<" + "".join(f"{size}x" for size in shape) + type + ">"


X, F32, IDS = of(B, S, H), of(B, S, type="f32"), of(B, S, type="i64")


def linear(to, source, name, n, k):
    print(f'  %w_{to} = tp.parameter "{name}.weight" : {of(n, k)}')
    print(f'  %{to} = nn.linear %{source}, %w_{to} : ({of(B, S, k)}, {of(n, k)}) -> {of(B, S, n)} loc("{name}")')


def norm(to, source, name):
    print(f'  %w_{to} = tp.parameter "{name}.weight" : {of(H)}')
    print(f'  %{to} = nn.rms_norm %{source}, %w_{to} {EPSILON} : ({X}, {of(H)}) -> {X} loc("{name}")')


def attention():
    norm("n1", "h", LAYER + "input_layernorm")
    heads = {"q": NQ, "k": NK, "v": NK}
    for name, number in heads.items():
        linear(name, "n1", f"{LAYER}self_attn.{name}_proj", number * D, H)
        print(f"  %{name}_heads = tensor.expand_shape %{name} [[0], [1], [2, 3]] output_shape [{B}, {S}, {number}, {D}] : "
              f"{of(B, S, number * D)} into {of(B, S, number, D)}")
    table = of(S, D // 2, type="f32")
    turned = "heads" if "block" in sys.argv else "turned"
    for name in "qk" if turned == "turned" else "":
        type = of(B, S, heads[name], D)
        print(f'  %{name}_turned = nn.rotary %{name}_heads, %cos, %sin : ({type}, {table}, {table}) -> {type} loc("{LAYER}{name}")')
    query, key = of(B, S, NQ, D), of(B, S, NK, D)
    print(f"  %o = nn.attention %q_{turned}, %k_{turned}, %v_heads {{causal, scale = {D ** -0.5} : f64}} : ({query}, {key}, {key}) -> {query} "
          f'loc("{LAYER}attention")')
    print(f"  %o_rows = tensor.collapse_shape %o [[0], [1], [2, 3]] : {query} into {of(B, S, NQ * D)}")
    linear("attention", "o_rows", LAYER + "self_attn.o_proj", H, NQ * D)
    print(f"  %h1 = arith.addf %h, %attention : {X}")


def feed_forward():
    norm("n2", "h1", LAYER + "post_attention_layernorm")
    linear("gate", "n2", LAYER + "mlp.gate_proj", F, H)
    linear("up", "n2", LAYER + "mlp.up_proj", F, H)
    print(f'  %active = nn.silu %gate : {of(B, S, F)} loc("{LAYER}silu")')
    print(f"  %gated = arith.mulf %active, %up : {of(B, S, F)}")
    linear("down", "gated", LAYER + "mlp.down_proj", H, F)
    print(f"  %h2 = arith.addf %h1, %down : {X}")


def layers():
    print(f"  %last = tp.repeat {SIZES['layers']} times from {SIZES['first']} iter(%embedded) : ({X}) -> {X} {{")
    print(f"  ^bb0(%i: index, %h: {X}):")
    attention()
    feed_forward()
    print(f"  tp.yield %h2 : {X}\n  }}")


def block():
    print(f'func.func @main(%embedded: {X} {{tp.name = "x"}}) -> (tensor<f32> {{tp.loss, tp.name = "loss_sum"}}) {{')
    layers()
    print(f"  %squares = arith.mulf %last, %last : {X}")
    print("  %none = arith.constant dense<0.0> : tensor<f32>")
    print(f"  %loss = linalg.reduce {{ arith.addf }} ins(%squares : {X}) outs(%none : tensor<f32>) dimensions = [0, 1, 2]")
    print("  return %loss : tensor<f32>\n}")


def main():
    frequencies = ", ".join(f"{10000 ** (-2 * j / D):.9e}" for j in range(D // 2))
    table = of(S, D // 2, type="f32")
    print(f'func.func @main(%ids: {IDS} {{tp.name = "input_ids"}}, %labels: {IDS} {{tp.name = "labels"}}) '
          f'-> (tensor<f32> {{tp.loss, tp.name = "loss_sum"}}) {{')
    print(f'  %table = tp.parameter "model.embed_tokens.weight" : {of(V, H)}')
    padding = f" {{padding_row = {SIZES['padding']} : i64}}" if "padding" in SIZES else ""
    print(f'  %embedded = nn.embedding %ids, %table{padding} : ({IDS}, {of(V, H)}) -> {X} loc("embedding")')
    print("  %zero = arith.constant 0 : index")
    print(f"  %cos, %sin = nn.rotary_table offset %zero {{inv_freq = dense<[{frequencies}]> : {of(D // 2, type='f32')}}} : {table}, {table}")
    layers()
    norm("n", "last", "model.norm")
    head = "table"
    if "tied" not in sys.argv:
        head = "head"
        print(f'  %head = tp.parameter "lm_head.weight" : {of(V, H)}')
    print(f'  %logits = nn.linear %n, %{head} : ({X}, {of(V, H)}) -> {of(B, S, V)} loc("head")')
    print(f'  %each = nn.cross_entropy %logits, %labels : ({of(B, S, V)}, {IDS}) -> {F32} loc("loss")')
    print("  %none = arith.constant dense<0.0> : tensor<f32>")
    print(f"  %loss = linalg.reduce {{ arith.addf }} ins(%each : {F32}) outs(%none : tensor<f32>) dimensions = [0, 1]")
    print("  return %loss : tensor<f32>\n}")


(block if "block" in sys.argv else main)()
