"""tp-plan: what it says of wrong models, workloads, command lines and profiles.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import re

import pytest

from plan_reports import (FIXTURES, LLAMA_8B, TEST, compile_once,  # noqa: F401 (a fixture)
                          profile, refused, report, rows)
from tp_mlir.plan import _work


def test_bad_input(capsys, tmp_path):
    assert refused(capsys, 1, tmp_path / "none") == (
        f"tp-plan: {tmp_path / 'none'}: expected a checkpoint folder, a GGUF file or a .mlir file, found "
        "nothing\n")
    assert refused(capsys, 1, tmp_path) == (
        f"tp-plan: no config.json in {tmp_path}: a checkpoint folder has one; it is all that "
        "tp-plan needs of it\n")
    (tmp_path / "file").write_text("")
    assert "expected a checkpoint folder, a GGUF file or a .mlir file, found a file" in refused(
        capsys, 1, tmp_path / "file")
    assert refused(capsys, 1, "--measure", tmp_path / "none" / "cpu.json") == (
        f"tp-plan: {tmp_path}/none/cpu.json: there is no folder {tmp_path}/none\n")
    (tmp_path / "config.json").write_text("[]")
    assert "config.json: expected an object" in refused(capsys, 1, tmp_path)
    pointer = "version https://git-lfs.github.com/spec/v1\n"
    (tmp_path / "config.json").write_text(pointer)
    assert refused(capsys, 1, tmp_path) == (
        f"tp-plan: {tmp_path}/config.json is what Git LFS leaves in place of a file: run `git lfs "
        "pull` in its directory\n")
    for name in ("owner/name", "gpt2", "https://huggingface.co/owner/name"):
        assert refused(capsys, 1, name) == (
            f"tp-plan: '{name}' is not on this machine; if it is the name of a model on a hub, "
            "download it first (hf download NAME --local-dir DIR) and give DIR\n")
    assert "found nothing" in refused(capsys, 1, "model.mlir")
    (tmp_path / "config.json").write_text("{")
    assert "config.json: expected JSON: " in refused(capsys, 1, tmp_path)
    known = "a100, b200, gb200, h100, h200, l40s, rtx4090"
    assert refused(capsys, 2, LLAMA_8B, "--gpu", "h900") == (
        f"tp-plan: for --gpu: expected one of {known} or a file with a profile, got 'h900'; "
        "tp-plan --measure FILE.json makes one of this machine\n")
    assert "or a file with a profile, no such file: 'mine.json'; " in refused(
        capsys, 2, LLAMA_8B, "--gpu", "mine.json")
    assert report(capsys, LLAMA_8B, "--gpu", "H200", "--degrees", 1)["profile"] == "H200 SXM 141GB"
    (tmp_path / "few.json").write_text('{"name": "mine", "target": "cpu"}')
    assert refused(capsys, 1, LLAMA_8B, "--gpu", tmp_path / "few.json") == (
        f"tp-plan: {tmp_path}/few.json: profile: expected the keys measured, memory, reserved, "
        "ranks_per_node, matrix, vector, bandwidth, kernel_seconds, efficiency, links, which are not "
        "there\n")
    told = refused(capsys, 1, LLAMA_8B, "--degrees", 33)
    assert told.startswith("tp-plan: 'nn.attention' op at model.layers.{i}.self_attn: degree 33 ")
    assert "degree 33 does not fit 32 query heads" in told
    told = refused(capsys, 1, LLAMA_8B, "--degrees", "33,35")
    assert told.startswith("tp-plan: no degree and plan asked for can be sized:\ntp=33, tp=35 with ")
    assert told.count("does not fit") == 1
    # What all candidates have in common is said once.
    config = json.loads((LLAMA_8B / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"model_type": "lama"}))
    assert refused(capsys, 1, tmp_path).count("unsupported model_type") == 1
    assert "positions, 8192, got 9000" in refused(capsys, 2, LLAMA_8B, "--context", 9000)


@pytest.mark.parametrize("words, message", [
    ({"kind": "training"}, "kind: expected 'serve', 'train' or 'run', got 'training'"),
    ({"kind": "train", "seq": 8}, "optimizer: expected one where kind is 'train', and there alone; "
     "got None of kind 'train'"),
    ({"kind": "run", "optimizer": "sgd"}, "optimizer: expected one where kind is 'train', and there "
     "alone; got 'sgd' of kind 'run'")])
def test_bad_workload(words, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        _work.Workload(**words)


@pytest.mark.parametrize("words, text", [
    ((), "expected a checkpoint folder, a GGUF file or a .mlir file, or --measure"),
    ((LLAMA_8B, "--degrees", "1,x"), "for --degrees: expected positive integers with commas "
     "between them, such as 1,2,4,8, got '1,x'"),
    ((LLAMA_8B, "--users", 0), "for --users: expected an integer of at least 1, got '0'; tp-plan --help"),
    ((LLAMA_8B, "--train", "adamw", "--users", 2), "for --users: has no meaning with --train, "
     "whose sequences are --seq and --batch"),
    ((LLAMA_8B, "--dp", 2), "for --dp: has no meaning without --train"),
    ((LLAMA_8B, "--seq", 64, "--context", 64), "for --context: has no meaning for one run of a "
     "program, which --seq, --batch or an encoder asks for"),
    ((TEST / "Ledger" / "memory.mlir", "--seq", 64), "for --seq: has no meaning for a .mlir file, "
     "which says all of what it computes"),
    ((TEST / "Ledger" / "memory.mlir", "--check"), "for --check: expected a checkpoint folder, as "
     "it is tokens that the program is run on"),
    ((LLAMA_8B, "--context", 64, "--prompt", 65), "for --prompt: expected at most the context, 64, "
     "got 65"),
    ((LLAMA_8B, "--plans", "megatron,foo"), "for --plans: expected some of megatron, megatron-sp, "
     "expert, expert-sp, replicated and files that end in .json, got 'foo'"),
    ((LLAMA_8B, "--price", "-1"), "for --price: expected a number above 0, got '-1'"),
    ((LLAMA_8B, "--rate", "inf"), "for --rate: expected a number above 0, got 'inf'"),
    ((LLAMA_8B, "--train", "adamw", "--rate", 9), "for --rate: has no meaning with --train: --dp "
     "and --accumulate say how many sequences a step has"),
    ((LLAMA_8B, "--rate", 9, "--check"), "for --check: has no meaning with --rate, as this machine "
     "is no service of replicas"),
    ((LLAMA_8B, "--shard-optimizer", "dp"), "for --shard-optimizer: has no meaning without --train"),
    ((LLAMA_8B, "--train", "adamw", "--shard-optimizer", "dp"), "for --shard-optimizer: expected "
     "--dp D beside it, the data-parallel groups over which the optimizer is divided"),
    ((LLAMA_8B, "--dtype", "fp8"), "tp-plan: for --dtype: expected f32, bf16 or f16, got 'fp8'; "
     "weights of 4 and 8 bits are those of a checkpoint whose config.json has a "
     "quantization_config, as tp-quantize makes them, or what --quantize makes of others\n"),
    ((LLAMA_8B, "--rate", "100k"), "tp-plan: for --rate: expected a number above 0, got '100k'"),
    ((LLAMA_8B, "-o", "a.pdf"), "tp-plan: for --output: expected a name that ends in .json, .csv, "
     ".html or .txt, or --format beside it, got 'a.pdf'\n"),
    ((LLAMA_8B, "-o", TEST), f"tp-plan: for --output: expected the name of a file, and '{TEST}' is a "
     "folder\n"),
    ((LLAMA_8B, "-o", "none/a.csv"), "tp-plan: for --output: there is no folder 'none'\n"),
    (("--measure", "a.yaml"), "tp-plan: for --measure: expected a name that ends in .json, got "
     "'a.yaml'\n"),
    ((LLAMA_8B, "--measure", "a.json"), "for --measure: measures this machine and nothing else: "
     "expected no model beside it"),
    ((LLAMA_8B, "--contxt", "4"), "tp-plan: unknown option --contxt; did you mean --context?; "),
    ((LLAMA_8B, "--epochs", "4"), "tp-plan: unknown option --epochs; tp-plan --help lists the"),
    ((LLAMA_8B, "--rate"), "tp-plan: for --rate: expected a value; "),
    ((LLAMA_8B, "--format", "yaml"), "tp-plan: for --format: expected one of table, json, csv, html, "
     "got 'yaml'; "),
    ((LLAMA_8B, "-o", "/proc/none.csv", "--degrees", 8, "--context", 32), "tp-plan: "
     "'/proc/none.csv': No such file or directory\n"),
    ((FIXTURES / "text-model", "--users", 5000), "tp-plan: expected --users to be from 1 to at most "
     "4096, got 5000\n"),
    ((LLAMA_8B, "--degrees", 10**9), "for --degrees: expected positive integers with commas between "
     "them, such as 1,2,4,8, got '1000000000'"),
    ((LLAMA_8B, "--dtype", "float16"), "tp-plan: for --dtype: expected f32, bf16 or f16, got "
     "'float16'\n"),
    ((LLAMA_8B, "8", "16"), "tp-plan: unexpected argument: 8 16; "),
    ((LLAMA_8B, "--train", "adamw", "--dp", 2, "--shard-optimizer", "pp"), "tp-plan: for "
     "--shard-optimizer: expected dp, the axis of the data-parallel groups, got 'pp'\n"),
    ((LLAMA_8B, "--train", "adamw", "--recompute", "all"), "tp-plan: for --recompute: expected none, "
     "selective or full, got 'all'\n"),
    ((LLAMA_8B, "--train", "adam"), "tp-plan: for --train: expected adamw or sgd, got 'adam'"),
])
def test_bad_command_line(capsys, words, text):
    assert text in refused(capsys, 1 if "/proc/none.csv" in words else 2, *words)


@pytest.mark.parametrize("changes, text", [
    ({"bandwidth": {"value": -4, "source": "x"}},
     "bandwidth.value: expected a positive number, got -4"),
    ({"bandwidth": {"value": 4}}, "bandwidth: expected the key source, which is not there"),
    ({"vector": 4}, 'vector: expected an object {"value": NUMBER, "source": TEXT}, got 4'),
    ({"vektor": 4}, 'profile: expected one of bandwidth, beside, efficiency, kernel_seconds, link_beside, links, '
     'matrix, measured, memory, name, price, ranks_per_node, reserved, rows, shared, target, vector, '
     'got "vektor"'),
    ({"rows": [{"rows": 4, "efficiency": 0.5}, {"rows": 4, "efficiency": 1}]},
     "rows[1].rows: expected an integer above 4"),
    ({"beside": {"value": 2, "source": "x"}}, "beside.value: expected a number above 0"),
    ({"link_beside": {"value": 2, "source": "x"}}, "link_beside.value: expected a number above 0"),
    ({"efficiency": {"matrix": 2, "attention": 1, "vector": 1, "bandwidth": 1}},
     "efficiency.matrix: expected a number above 0 and at most 1, got 2"),
    ({"links": []}, "links: expected a list of the link within a node and, if there is one, of "
     "that between nodes, got []"),
    ({"ranks_per_node": 0}, "ranks_per_node: expected a positive integer, got 0"),
    ({"matrix": {}}, "matrix: expected figures for some of f32, bf16, f16, got {}"),
    ({"measured": 1}, "measured: expected true or false, got 1"),
    ({"name": ""}, 'name: expected a text, got ""'),
    ({"target": "gpu"}, "for the --target option: "),
])
def test_bad_profile(capsys, tmp_path, changes, text):
    path = profile(tmp_path, **changes)
    code = 2 if "target" in changes else 1
    assert text in refused(capsys, code, LLAMA_8B, "--degrees", 1, "--gpu", path)


def test_profile_lacks(capsys, tmp_path):
    figure = {"value": 1e9, "source": "a test"}
    path = profile(tmp_path, matrix={"f32": figure})
    assert refused(capsys, 1, LLAMA_8B, "--degrees", 1, "--gpu", path) == (
        "tp-plan: the profile 'a test's device' has no figure for products in bf16: expected them to "
        "be in one of f32 (--dtype), or matrix.bf16 in the profile\n")
    told = report(capsys, LLAMA_8B, "--degrees", "4,8", "--gpu", profile(tmp_path), "--context", 32)
    assert rows(told)["megatron", 8]["refusal"] == (
        "8 ranks do not lie on one node, which has 4, and a test's device has no link between "
        "nodes")
    assert "all ranks share one memory" in told["recommendation"]
    assert refused(capsys, 1, LLAMA_8B, "--degrees", 1, "--context", 32, "--check") == (
        "tp-plan: "
        "--check runs on this machine's processor: expected a profile that tp-plan --measure made, "
        "got H100 SXM 80GB\n")
