"""Faults of a backward, each of which tp-verify has to find and name.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: faults.py FOLDER

FOLDER has programs with @gradient of one device: llama.mlir, dropout.mlir, mixture.mlir; one that knows its values
and the same of ranks: one.mlir, sequence.mlir (tp=4, the sequence split, copied key and value
heads, a padded vocabulary), data.mlir (dp=2,tp=2). Those of one device are held against differences of
the loss, those of ranks against one.mlir. With TRAINING=all in the environment there are more, and
each all-reduce of the function is left out once, and done twice.
"""

import os
import re
import subprocess
import sys

# What went wrong, the program, what test-tp-inject-at is told, and what must be said. Of one device
# it is the first gradient that the fault comes to, of ranks the operation.
FAULTS = [
    ("the layers in their own order", "llama", "op=tp.repeat kind=reverse",
     r"gradient of 'model\.layers\.1\.mlp\.down_proj\.weight'"),
    ("the way past the feed-forward lost", "llama",
     "op=arith.addf kind=skip at=post_attention_layernorm type=tensor",
     r"gradient of 'model\.layers\.1\.self_attn\.o_proj\.weight'"),
    ("queries not turned back", "llama", "op=nn.rotary kind=skip at=}.q number=1",
     r"gradient of 'model\.layers\.1\.self_attn\.q_proj\.weight'"),
    ("a norm without its mean", "llama", "op=arith.subf kind=skip at=input_layernorm",
     r"gradient of 'model\.layers\.0\.mlp\.down_proj\.weight'"),
    ("a tied table without what the head adds", "llama", "op=arith.addf kind=skip at=embedding operand=1",
     r"gradient of 'model\.embed_tokens\.weight'"),
    ("what is computed again drops something else", "dropout", "op=nn.dropout kind=op_id number=3",
     r"gradient of 'transformer\.h\.1\.mlp\.c_proj\.weight'"),
    ("a token's experts that take nothing from each other", "mixture",
     "op=arith.subf kind=skip at=block_sparse_moe.gate",
     r"gradient of 'model\.layers\.0\.block_sparse_moe\.gate\.weight'"),
    ("a norm's gradient of a part of the sequence", "sequence",
     "op=tp.all_reduce kind=skip at=input_layernorm", r"@gradient: differs first at tp\.repeat at .*: result 9"),
    ("copied key heads without each other's gradients", "sequence",
     "op=tp.reduce_scatter kind=alone type=2x4x2", r"@gradient: differs first at tp\.slice at .*, iteration 1"),
    ("every rank has the first rows of the table", "sequence",
     "op=arith.muli kind=skip at=embedding number=1", r"@gradient: differs first at nn\.embedding_backward at embedding"),
    ("a sum of sums", "sequence", "op=tp.all_reduce kind=twice at=model.norm",
     r"@gradient: differs first at tp\.all_reduce \(ledger \d+: gradient of model\.norm\.weight"),
    ("a conjugate of tensor parallelism missing", "data", "op=tp.all_reduce kind=skip at=q_proj",
     r"@gradient: differs first at linalg\.generic at model\.layers\.\{i\}\.input_layernorm, iteration 1"),
    ("a gradient of a part of the batch", "data", "op=tp.all_reduce kind=skip at=q_proj number=1",
     r"@gradient: differs first at tp\.repeat at .*: result 8"),
]
MORE = [
    ("attention's scale", "llama", "op=nn.attention_backward kind=scale",
     r"gradient of 'model\.layers\.1\.self_attn\.v_proj\.weight'"),
    ("attention's mask", "llama", "op=nn.attention_backward kind=causal",
     r"gradient of 'model\.layers\.1\.self_attn\.v_proj\.weight'"),
    ("an activation not computed again", "llama", "op=nn.silu kind=skip number=1",
     r"gradient of 'model\.layers\.1\.mlp\.down_proj\.weight'"),
    ("a loss without its label", "llama", "op=arith.subf kind=skip at=loss number=1",
     r"gradient of 'model\.norm\.weight'"),
    ("padding in the sum of the loss", "sequence", "op=arith.select kind=skip operand=1 at=loss number=1",
     r"@gradient: differs first at linalg\.reduce at"),
    ("the layers in their own order", "sequence", "op=tp.repeat kind=reverse",
     r"@gradient: differs first at tp\.repeat at .*, iteration 0"),
]


def break_program(folder, program, how):
    """The broken program's file; None if there is nothing to break."""
    made = subprocess.run(
        ["tp-opt", f"{folder}/{program}.mlir", f"--test-tp-inject-at={how}", "--mlir-print-debuginfo",
         "-o", f"{folder}/broken.mlir"], capture_output=True, text=True)
    if made.returncode and "found nothing to break" not in made.stderr:
        sys.exit(f"{program}, {how}: {made.stderr}")
    return None if made.returncode else f"{folder}/broken.mlir"


def verify(folder, program, broken):
    given = [broken, "--derivative"] if program in ("llama", "dropout", "mixture") else [
        f"{folder}/one.mlir", "--against", broken]
    done = subprocess.run(["tp-verify", *given], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main():
    folder = sys.argv[1]
    failed = []
    for program in ("llama", "dropout", "mixture", "sequence", "data"):
        code, said = verify(folder, program, f"{folder}/{program}.mlir")
        if code:
            failed.append(f"{program} unbroken: exit code {code}, {said}")
    every = os.environ.get("TRAINING") == "all"
    faults = FAULTS + (MORE if every else [])
    for what, program, how, wanted in faults:
        broken = break_program(folder, program, how)
        if not broken:
            sys.exit(f"{what}: nothing to break: {program}, {how}")
        code, said = verify(folder, program, broken)
        if code != 3 or not re.search(wanted, said):
            failed.append(f"{what}: expected exit code 3 and '{wanted}', got {code} and {said}")
    count = len(faults)
    if every:
        for program in ("sequence", "data"):
            for kind in ("skip", "twice"):
                number = equal = 0
                while broken := break_program(folder, program,
                                              f"op=tp.all_reduce kind={kind} number={number}"):
                    code, said = verify(folder, program, broken)
                    # The one maximum, of the loss, may be taken twice.
                    equal += code == 0 and kind == "twice"
                    if code != 3 and not (code == 0 and equal == 1):
                        failed.append(f"{program}, {kind} of all_reduce {number}: exit code {code}, {said}")
                    number += 1
                count += number
    print(f"{count - len(failed)} of {count} faults are named")
    if failed:
        sys.exit("\n".join(failed))


main()
