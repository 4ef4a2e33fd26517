"""Programs, inputs and comparison of padding-row.test.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../Integration/CPU/Inputs"))
import tensors  # noqa: E402

V, H, S, ROW = 11, 6, 9, 7
IDS = [7, 0, 10, 7, 3, 7, 10, 1, 7]
TARGETS = [0, 10, 7, -100, 7, 10, 1, 7, 2]
TABLE, HEAD = "model.embed_tokens.weight", "lm_head.weight"


def program(head, padding):
    ids, hidden, logits, table = f"tensor<1x{S}xi64>", f"tensor<1x{S}x{H}xf32>", f"tensor<1x{S}x{V}xf32>", f"tensor<{V}x{H}xf32>"
    second = "" if head == TABLE else f'  %head = tp.parameter "{head}" : {table}\n'
    return f"""func.func @main(%ids: {ids} {{tp.name = "input_ids"}}, %targets: {ids} {{tp.name = "targets"}}) -> (tensor<f32> {{tp.loss, tp.name = "loss"}}) {{
  %table = tp.parameter "{TABLE}" : {table}
{second}  %x = nn.embedding %ids, %table{padding} : ({ids}, {table}) -> {hidden}
  %y = nn.gelu erf %x : {hidden}
  %logits = nn.linear %y, %{"head" if second else "table"} : ({hidden}, {table}) -> {logits}
  %each = nn.cross_entropy %logits, %targets : ({logits}, {ids}) -> tensor<1x{S}xf32>
  %none = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.reduce {{ arith.addf }} ins(%each : tensor<1x{S}xf32>) outs(%none : tensor<f32>) dimensions = [0, 1]
  return %loss : tensor<f32>
}}
"""


def main():
    mode, folder = sys.argv[1:]
    if mode == "programs":
        for name, text in (("two", program(HEAD, "")),
                           ("tied", program(TABLE, f" {{padding_row = {ROW} : i64}}"))):
            with open(f"{folder}/{name}.mlir", "w") as file:
                file.write(text)
        values = [math.sin(1.7 * i) for i in range(V * H)]
        for file, names in (("two", (TABLE, HEAD)), ("tied", (TABLE,))):
            tensors.save(f"{folder}/{file}-weights.safetensors", {
                name: ("F32", [V, H], values) for name in names})
        tensors.save(f"{folder}/in.safetensors", {
            "input_ids": ("I64", [1, S], IDS), "targets": ("I64", [1, S], TARGETS)})
        return
    two = tensors.load(f"{folder}/two.safetensors")
    # In the order of their parameters, behind the loss.
    embedding, head = two["result1"][1], two["result2"][1]
    assert any(embedding[ROW * H:(ROW + 1) * H])
    wanted = [h + (e if i // H != ROW else 0) for i, (e, h) in enumerate(zip(embedding, head))]
    for degree in (1, 2, 3):
        found = tensors.load(f"{folder}/{degree}.safetensors")
        tensors.compare(f"tp={degree}", found["result1"], wanted, 1e-6)


main()
