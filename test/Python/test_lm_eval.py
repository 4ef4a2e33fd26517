"""lm-eval (package lm-eval, which scores models by their servers) on tp-serve, with a task made of
local text.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from test_serve import MODEL, running

import tp_mlir

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


def documents(llm):
    """Prompts with what the model makes of them, and with what it makes of others."""
    known = [one for one in KNOWN if len(one["ids"]) >= 8 and one["prompt"]][:5]
    texts = [answer.text.split("\n\n")[0] for answer in
             llm.generate([one["prompt"] for one in known], max_tokens=8)]
    return [{"prompt": one["prompt"], "continued": text, "label": i % 2,
             "choices": [text, texts[i - 1]] if i % 2 == 0 else [texts[i - 1], text]}
            for i, (one, text) in enumerate(zip(known, texts)) if text != texts[i - 1]]


def test_lm_eval(tmp_path):
    python = os.environ.get("TP_LM_EVAL", sys.executable)
    if subprocess.run([python, "-c", "import lm_eval"], capture_output=True).returncode:
        pytest.skip("the package lm-eval is not installed; TP_LM_EVAL names a Python that has it")
    data = tmp_path / "data.json"
    with tp_mlir.LLM(MODEL, mesh="tp=2", rows=4, chunk=16, context=256, dtype="f32") as llm:
        asked = documents(llm)
        data.write_text("".join(json.dumps(one) + "\n" for one in asked))
        for name, text in (("licences", CHOICES), ("continued", CONTINUED)):
            (tmp_path / f"{name}.yaml").write_text(text.format(data=data))
        with running(llm.engine) as server:
            made = subprocess.run(
                [python, "-m", "lm_eval", "--model", "local-completions", "--tasks",
                 "licences,continued", "--include_path", tmp_path, "--output_path", tmp_path / "out",
                 "--model_args", f"model=echo,base_url={server.url}/v1/completions,"
                 "num_concurrent=2,max_retries=3,tokenizer_backend=remote,max_length=256"],
                capture_output=True, text=True, timeout=300,
                env={**os.environ, "HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1",
                     "HF_HOME": str(tmp_path), "OPENAI_API_KEY": "x", "PYTHONPATH": ""})
    assert made.returncode == 0, made.stderr[-6000:]
    path, = pathlib.Path(tmp_path / "out").rglob("results_*.json")
    results = json.loads(path.read_text())["results"]
    assert len(asked) >= 4
    assert results["licences"]["acc,none"] == 1.0
    assert results["continued"]["exact_match,none"] == 1.0
