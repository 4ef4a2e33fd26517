"""lm-eval (package lm-eval, which scores models by their servers) on tp-serve, with a task made of
local text.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import math
import os
import pathlib
import subprocess
import sys

import pytest
from test_serve import MODEL, running

import tp_mlir

PYTHON = os.environ.get("TP_LM_EVAL", sys.executable)
KNOWN = json.loads((MODEL / "continuations.json").read_text())["continuations"]
# The model's own continuation, and another text's.
CHOICES = """
task: licences
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{prompt}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: "{{{{label}}}}"
target_delimiter: ""
metric_list: [{{metric: acc}}]
"""
CONTINUED = """
task: continued
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{prompt}}}}"
doc_to_target: "{{{{continued}}}}"
target_delimiter: ""
generation_kwargs: {{until: ["\\n\\n"], max_gen_toks: 8}}
metric_list: [{{metric: exact_match}}]
"""
ROLLING = """
task: rolling
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{{{prompt}}}}"
metric_list: [{{metric: bits_per_byte}}]
"""


@pytest.fixture(scope="module")
def served():
    """A model and its server, which closes it."""
    if subprocess.run([PYTHON, "-c", "import lm_eval"], capture_output=True).returncode:
        pytest.skip("the package lm-eval[api] is not installed; TP_LM_EVAL names a Python that "
                    "has it")
    llm = tp_mlir.LLM(MODEL, mesh="tp=2", rows=4, chunk=16, context=256, dtype="f32")
    with running(llm.engine) as server:
        yield llm, server


def scored(server, folder, documents, tasks, kind="completions", options=(), more=""):
    """What lm-eval makes of a server: results by task. `tasks` are their files, by name."""
    data = folder / "data.json"
    data.write_text("".join(json.dumps(one) + "\n" for one in documents))
    for name, text in tasks.items():
        (folder / f"{name}.yaml").write_text(text.format(data=data))
    path = {"completions": "completions", "chat-completions": "chat/completions"}[kind]
    made = subprocess.run(
        [PYTHON, "-m", "lm_eval", "--model", f"local-{kind}", "--tasks", ",".join(tasks),
         "--include_path", folder, "--output_path", folder / "out", *options, "--model_args",
         f"model=echo,base_url={server.url}/v1/{path},num_concurrent=2,max_retries=3{more}"],
        capture_output=True, text=True, timeout=300,
        env={**os.environ, "HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1",
             "HF_HOME": str(folder), "OPENAI_API_KEY": "x", "PYTHONPATH": ""})
    assert made.returncode == 0, made.stderr[-6000:]
    found, = pathlib.Path(folder / "out").rglob("results_*.json")
    return json.loads(found.read_text())["results"]


def bits_per_byte(llm, texts):
    """Of all texts together, as lm-eval has them scored: behind the end token."""
    total = size = 0
    for one in texts:
        ids = [llm.tokenizer.eos, *llm.tokenizer.encode(one, add_special_tokens=False)]
        for event in tp_mlir.engine.stream(llm.engine, ids, tp_mlir.engine.Params(
                max_tokens=0, prompt_logprobs=0)):
            total += sum(values.chosen for _, values in event.prompt)
        size += len(one.encode())
    return -total / size / math.log(2)


def test_completions(served, tmp_path):
    """lm-eval sends the ids of /tokenize, without the token that begins a text."""
    llm, server = served
    known = [one["prompt"] for one in KNOWN if one.get("prompt") and len(one["ids"]) >= 8][:5]
    answers = llm.generate([llm.tokenizer.encode(prompt, add_special_tokens=False)
                            for prompt in known], max_tokens=8, stop=["\n\n"])
    texts = [answer.text for answer in answers]
    documents = [{"prompt": prompt, "continued": text, "label": i % 2,
                  "choices": [text, texts[i - 1]] if i % 2 == 0 else [texts[i - 1], text]}
                 for i, (prompt, text) in enumerate(zip(known, texts))]
    assert len(set(texts)) == len(texts) >= 4
    results = scored(server, tmp_path, documents, {
        "licences": CHOICES, "continued": CONTINUED, "rolling": ROLLING},
        more=",tokenizer_backend=remote,max_length=256")
    want = bits_per_byte(llm, known)
    assert results["licences"]["acc,none"] == 1.0
    assert results["continued"]["exact_match,none"] == 1.0
    assert results["rolling"]["bits_per_byte,none"] == pytest.approx(want, abs=1e-4)


def test_chat(served, tmp_path):
    llm, server = served
    known = [one["messages"][-1]["content"] for one in KNOWN if "messages" in one]
    asked = [{"prompt": text, "continued": llm.chat(
        [{"role": "user", "content": text}], max_tokens=8).text} for text in known]
    assert len(asked) >= 2
    results = scored(server, tmp_path, asked, {"continued": CONTINUED}, "chat-completions",
                     ["--apply_chat_template"])
    assert results["continued"]["exact_match,none"] == 1.0
