"""tp-plan: the formulas that its figures must obey, its answers, its refusals.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import csv
import functools
import html.parser
import io
import json
import math
import os
import random
import re
import subprocess
import sys

import pytest

import browser
from plan_reports import (FIXTURES, LLAMA_8B, LLAMA_70B, MIB, MODELS, TEST,
                          compile_once,  # noqa: F401 (a fixture)
                          profile, refused, report, rows, run)
from tp_mlir import plan
from tp_mlir.plan import _drawings, _measure, _options, _profile, _service, _work


# Formulas

def test_worked_example(capsys):
    """Hidden 4096, 2048 tokens of two bytes, N = 8: 16 MiB a call, 28 MiB sent, 64 calls in
    layers, about 1.8 GB and 2 to 4 ms at the link's peak."""
    row, split = report(capsys, LLAMA_8B, "--degrees", 8, "--seq", 2048, "--plans",
                        "megatron,megatron-sp")["rows"]
    # Sequence parallelism: as many gathers and scatters, and the same bytes.
    assert {one["kind"]: one["count"] for one in split["collectives"]} == {
        "all_gather": 65, "reduce_scatter": 65}
    assert split["traffic"] == row["traffic"]
    one, = row["collectives"]
    assert (one["kind"], one["axis"], one["count"]) == ("all_reduce", "tp", 65)
    assert one["bytes"] == 65 * 16 * MIB and one["traffic"] == 65 * 28 * MIB
    assert row["traffic"] == {"NVLink 4": 65 * 28 * MIB, "InfiniBand NDR": 0}
    assert 2e-3 < 64 * 28 * MIB / 450e9 < 4.2e-3
    h100 = _profile.read("h100")
    link = h100.links[0]
    # Those of layers are in parts, each of which is a call.
    workload = _work.Workload("run", seq=2048, batch=1)
    told = _work.compile_one(LLAMA_8B, workload, "megatron", 8, h100.target, h100.figures_text)
    calls = sum(line["count"] * line["chunks"] for line in told.collectives("main"))
    assert calls > 65
    assert one["seconds"] == pytest.approx(
        calls * (link.start.value + 14 * link.alpha.value) +
        65 * 28 * MIB / (450e9 * link.efficiency), rel=1e-6)
    # A rank waits for no more of it than there is.
    assert 0 < one["exposed"] <= one["seconds"]
    seconds = told.function("main")["seconds"]
    assert row["times"]["run"]["seconds"] == pytest.approx(seconds["total"])
    assert row["times"]["run"]["communication"] == pytest.approx(one["exposed"] + seconds["slowed"])


def test_cache(capsys):
    """Llama-3-8B keeps 131072 bytes a token, of which 8 ranks hold an eighth each, and so do 16."""
    found = rows(report(capsys, LLAMA_8B, "--degrees", "1,8,16", "--context", 32, "--users", 4,
                        "--gpu", "h200"))
    for degree, part in ((1, 1), (8, 8), (16, 8)):
        row = found["megatron", degree]
        assert row["memory"]["kv_cache"] == pytest.approx(4 * 32 * 131072 / part, rel=1e-3)
    assert found["megatron", 8]["memory"]["parameters"] == pytest.approx(16.06e9 / 8, rel=0.01)
    assert found["megatron", 16]["cache_copies"] == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize("name, layers, experts, chosen, size, active", [
    ("mixtral-8x7b", 32, 8, 2, 3 * 4096 * 14336, 12.9e9),
    ("deepseek-v3", 58, 256, 8, 3 * 7168 * 2048, 37.6e9)])
def test_experts_that_are_read(name, layers, experts, chosen, size, active):
    """B tokens read E (1 - (1 - k/E)^B) of E experts: one token as many parameters as its model
    is known to use, and the more tokens, the less for each."""
    workload = _work.Workload("serve", context=32, users=8, dtype="bf16")
    told = _work.compile_one(TEST / "Import" / "Inputs" / name, workload, "megatron", 2, "cpu",
                             _profile.read("h100").figures_text)
    assert told.refusal is None
    for tokens in (1, 2, 8):
        function = told.function(f"step_{tokens}")
        read = 2 * sum(work["bytes"] * work["count"] for work in function["work"]
                       if work["kernel"] == "nn.experts")
        expected = 2 * layers * size * experts * (1 - (1 - chosen / experts) ** tokens)
        assert read == pytest.approx(expected, rel=2e-3)
        if tokens == 1:
            rest = told.data["parameters"]["model_bytes"] - 2 * layers * size * experts
            assert (rest + read) / 2 == pytest.approx(active, rel=0.01)


@pytest.mark.parametrize("dtype, state", [("bf16", 18), ("f32", 16)])
def test_training_memory(capsys, dtype, state):
    """Bytes of state for each parameter, and of what a layer keeps (docs/Training.md)."""
    tokens, hidden, wide, ranks = 2048, 4096, 14336, 8
    found = rows(report(capsys, LLAMA_8B, "--train", "adamw", "--seq", tokens, "--degrees", ranks,
                        "--plans", "megatron,megatron-sp", "--dtype", dtype))
    size = {"bf16": 2, "f32": 4}[dtype]
    for name, part in (("megatron", 1), ("megatron-sp", 1 / ranks)):
        row = found[name, ranks]
        held = sum(row["memory"][kind] for kind in ("parameters", "gradients", "moments"))
        assert held == pytest.approx(state * 8.03e9 / ranks, rel=0.01)
        kept = size * tokens * (2 * hidden * part + (2 * 4096 + 2 * 1024 + 2 * wide) / ranks)
        kept += 4 * tokens * (2 * part + 32 / ranks)
        assert row["memory"]["kept_values"] == pytest.approx(32 * kept, rel=0.01)
    plain, split = found["megatron", ranks], found["megatron-sp", ranks]
    # Gathering again for the products by the weights is what sequence parallelism costs.
    assert split["traffic"]["NVLink 4"] / plain["traffic"]["NVLink 4"] == pytest.approx(
        4536 / 3640, rel=0.01)


def test_accumulation(capsys):
    words = (FIXTURES / "text-model", "--train", "adamw", "--seq", 512, "--degrees", 2)
    one, four = (report(capsys, *words, "--accumulate", n)["rows"][0] for n in (1, 4))
    gradient = (four["times"]["step"]["seconds"] - one["times"]["step"]["seconds"]) / 3
    update = one["times"]["step"]["seconds"] - gradient
    assert gradient > 0 and update > 0
    assert four["tokens_per_second"] == pytest.approx(4 * 512 / (4 * gradient + update))
    assert four["memory"] == one["memory"]


def test_data_parallel_groups_leave_the_node(capsys):
    row, = report(capsys, LLAMA_8B, "--train", "adamw", "--seq", 512, "--degrees", 8, "--dp",
                  2)["rows"]
    assert (row["mesh"], row["ranks"], row["nodes"]) == ("dp=2,tp=8", 16, 2)
    links = {one["axis"]: one["link"] for one in row["collectives"]}
    assert links["tp"] == "NVLink 4" and links["dp"] == "InfiniBand NDR"
    assert row["tokens"] == 1024


# Answers

def test_llama_70b(capsys):
    """140 GB of weights: two H100 hold them, and more are faster."""
    told = report(capsys, LLAMA_70B, "--gpu", "h100")
    found = rows(told)
    assert [row["fits"] for row in told["rows"]] == [False, True, True, True]
    assert found["megatron", 1]["memory"]["parameters"] == pytest.approx(141e9, rel=0.01)
    seconds = [row["times"]["token"]["seconds"] for row in told["rows"]]
    assert seconds == sorted(seconds, reverse=True)
    for row in told["rows"]:
        # A token reads the weights (the table but for a row), and cannot be faster.
        assert row["times"]["token"]["seconds"] > 0.97 * row["memory"]["parameters"] / 3.35e12
    assert told["recommendation"].startswith(
        "Take tp=2 with megatron on H100 SXM 80GB: the fewest ranks tried that hold it (67.7 of "
        "79.6 GiB a rank); tp=4 would be 1.6")
    for row in told["rows"]:
        assert row["total_bytes"] == sum(row["memory"].values())
        assert row["device_bytes"] == 81559 * MIB


def test_what_fits_is_told(capsys):
    """What is said to fit does when it is asked for, and a little more does not."""
    words = (LLAMA_70B, "--degrees", 2, "--gpu", "h100")
    row, = report(capsys, *words, "--users", 4, "--context", 2048)["rows"]
    users = row["most_users"]
    assert users > 4
    for asked, fits in ((users, True), (users + 2, False)):
        row, = report(capsys, *words, "--users", asked, "--context", 2048)["rows"]
        assert row["fits"] == fits
    row, = report(capsys, *words, "--users", 32, "--context", 64)["rows"]
    longest = row["longest_context"]
    assert 64 < longest < 8192
    for asked, fits in ((longest, True), (longest + 64, False)):
        row, = report(capsys, *words, "--users", 32, "--context", asked)["rows"]
        assert row["fits"] == fits
    row, = report(capsys, FIXTURES / "llama-gqa", "--degrees", 1)["rows"]
    assert row["most_users"] == 4096 and row["longest_context"] == 64
    words = (LLAMA_8B, "--degrees", 8, "--train", "adamw", "--seq", 2048)
    most = report(capsys, *words)["rows"][0]["most_sequences"]
    for asked, fits in ((most, True), (math.ceil(1.1 * most), False)):
        assert report(capsys, *words, "--batch", asked)["rows"][0]["fits"] == fits


def test_published_measurement(capsys):
    """An MLP in f32 on one H100 and on two: 7.59 and 3.99 ms, 360.7 and 180.4 MB of weights; 3.5
    and 5 to 6 times as fast on 4 and 8 by rule of thumb."""
    told = report(capsys, TEST / "Inputs" / "mlp.mlir", "--plans", TEST / "Inputs" / "mlp.json")
    seconds = [row["times"]["run"]["seconds"] for row in told["rows"]]
    assert seconds[:2] == pytest.approx([7.59e-3, 3.99e-3], rel=0.06)
    assert seconds[0] / seconds[2] == pytest.approx(3.5, rel=0.1)
    assert 5 < seconds[0] / seconds[3] < 7
    assert [row["memory"]["parameters"] for row in told["rows"][:2]] == pytest.approx(
        [360.7e6, 180.4e6], rel=1e-3)


def test_latency(capsys):
    words = (LLAMA_70B, "--degrees", "2,4,8")
    told = report(capsys, *words, "--latency", 20)
    assert told["recommendation"].startswith("Take tp=4 ") and "meet 20 ms for a token" in \
        told["recommendation"]
    told = report(capsys, *words, "--latency", 1)
    assert told["recommendation"].startswith("None meets 1 ms: the fastest, tp=8 with megatron, ")


def test_where_tensor_parallelism_stops(capsys):
    told = report(capsys, LLAMA_70B, "--degrees", "8,16", "--context", 32)
    assert any("stops paying at tp=8" in note and "its groups leave the node" in note and
               "use several replicas (--rate counts them)" in note and
               "pipeline parallelism" in note for note in told["notes"])
    # Nothing pays where it does not fit.
    told = report(capsys, MODELS / "llama-3.1-405b", "--degrees", "8,16", "--context", 32)
    assert not any("stops paying" in note for note in told["notes"])
    assert "its groups leave the node, where pipeline" in told["recommendation"]
    assert any("lies on 2 ranks" in note and "Context parallelism" in note
               for note in told["notes"])
    told = report(capsys, MODELS / "llama-3.1-405b", "--degrees", 8, "--train", "adamw")
    assert re.search(r"None fits: tp=8 .* over about 1\d nodes by pipeline parallelism, which "
                     r"tp-mlir does not have", told["recommendation"])
    # Nodes of four leave it earlier.
    told = report(capsys, LLAMA_70B, "--degrees", "4,8", "--ranks-per-node", 4, "--context", 32)
    assert any("stops paying at tp=4" in note for note in told["notes"])
    # It is the groups of batches that leave the node here, and they are there already.
    told = report(capsys, LLAMA_8B, "--gpu", "b200", "--degrees", "4,8", "--train", "adamw", "--dp",
                  2, "--seq", 64)
    assert not any("stops paying" in note for note in told["notes"])
    note, = (note for note in told["notes"] if "the exchange of gradients over dp takes" in note)
    assert note.startswith("With 2 groups, dp=2,tp=8 with megatron leaves the node: ")
    assert "(--accumulate)" in note and note.endswith("help, and more groups do not.")


def test_what_helps_fits(capsys):
    """What is said to help does: fewer users, a shorter context, more groups, another plan."""
    words = (LLAMA_8B, "--degrees", 8)
    told = report(capsys, *words, "--users", 4000)["recommendation"]
    most = re.search(r"at most ([\d,]+) users fit in a replica", told)[1].replace(",", "")
    assert "pipeline" not in told and report(capsys, *words, "--users", most)["rows"][0]["fits"]
    words = (LLAMA_70B, "--degrees", 8, "--plans", "megatron-sp", "--train", "adamw", "--seq", 512,
             "--recompute", "full", "--shard-optimizer", "dp")
    told = report(capsys, *words, "--dp", 2)["recommendation"]
    groups = int(re.search(r"; dp=(\d+),tp=8 with megatron-sp fits: ", told)[1])
    assert groups > 2 and "pipeline" not in told
    assert report(capsys, *words, "--dp", groups)["rows"][0]["fits"]
    told = report(capsys, LLAMA_70B, "--degrees", "1,2", "--plans", "replicated")["recommendation"]
    assert "no degree helps; ask for another plan" in told and "higher degrees" not in told


def test_rows_that_miss_the_latency(capsys):
    """They have neither replicas nor a price, and the table marks them."""
    words = (LLAMA_70B, "--gpu", "h200", "--degrees", "1,2", "--users", 1, "--latency", 30, "--price",
             3, "--rate", 100)
    slow, fast = report(capsys, *words)["rows"]
    assert slow["fits"] and not slow["meets_latency"] and fast["meets_latency"]
    assert not {"replicas", "devices", "price_per_hour"} & set(slow) and fast["replicas"] > 0
    assert run(*words) == 0
    table = capsys.readouterr().out
    assert re.search(r"^tp=1 +megatron +yes .* GiB +no ", table, re.MULTILINE)
    assert re.search(r"^tp=2 +megatron +yes .* GiB +yes ", table, re.MULTILINE)


def test_where_a_report_goes(capsys, monkeypatch, tmp_path):
    """`-` is standard output, whatever the format; an error names the file."""
    monkeypatch.chdir(tmp_path)
    words = (FIXTURES / "llama-gqa", "--degrees", 1, "--context", 16)
    assert run(*words) == 0
    text = capsys.readouterr().out
    assert run(*words, "-o", "-") == 0
    assert capsys.readouterr().out == text and not list(tmp_path.iterdir())
    assert refused(capsys, 1, *words, "-o", "/dev/full") == (
        "tp-plan: '/dev/full': No space left on device\n")


@pytest.mark.parametrize("option", ["--help", "--version"])
@pytest.mark.parametrize("module", ["plan", "quantize"])
def test_answers_that_nobody_reads(module, option):
    """A full disk is told in one line, a reader that has gone not at all; both are code 1."""
    command = [sys.executable, "-c", f"from tp_mlir.{module} import main; main()", option]
    env = os.environ | {"PYTHONPATH": str(TEST.parent / "python")}
    with open("/dev/full", "w", encoding="utf-8") as full:
        made = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=env)
    assert made.returncode == 1 and made.stderr == (
        f"tp-{module}: cannot write to standard output: No space left on device\n")
    read, write = os.pipe()
    os.close(read)
    made = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, env=env)
    os.close(write)
    assert made.returncode == 1 and made.stderr == ""


def test_operations_that_the_target_lacks(capsys):
    """No degree is recommended of a program that the compiler refuses for the target."""
    told = refused(capsys, 1, TEST / "families" / "qwen3-next", "--degrees", "1,2", "--gpu", "h100")
    assert "'nn.gated_delta_rule' op is computed by " in told and "which target 'cuda' has not" in told


def test_what_config_does_not_say(tmp_path, capsys):
    """The type that is taken is told, and that is what --dtype asks for; so is a bound of an
    operation on positions."""
    config = json.loads((TEST / "families/gpt-oss/config.json").read_text())
    for key in ("dtype", "torch_dtype"):
        config.pop(key, None)
    config["quantization_config"] = {"quant_method": "mxfp4"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    words = (tmp_path, "--degrees", 1, "--gpu", "h100", "--format", "json")
    assert run(*words) == 0
    taken = capsys.readouterr()
    assert "names no dtype, and there are no weights to tell it: bf16 is taken" in taken.err
    assert run(*words, "--dtype", "bf16") == 0
    asked = capsys.readouterr()
    assert "names no dtype" not in asked.err
    assert json.loads(asked.out)["rows"] == json.loads(taken.out)["rows"]
    config = json.loads((TEST / "families/llama4/config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"floor_scale": 6}))
    told = report(capsys, tmp_path, "--degrees", 1)
    assert any(note.startswith("A context is of at most 5 tokens: layers that do not rotate scale ")
               for note in told["notes"])


def test_profile_of_a_pipe(capsys):
    """What can be read is, though it is no regular file; an empty one is no JSON."""
    read, write = os.pipe()
    with os.fdopen(write, "w") as pipe:
        pipe.write((_profile._FOLDER / "h100.json").read_text())
    assert _profile.read(f"/dev/fd/{read}").name == "H100 SXM 80GB"
    os.close(read)
    assert "/dev/null: expected JSON" in refused(capsys, 1, LLAMA_8B, "--gpu", "/dev/null")


def test_starts_of_links():
    """The link within a node has a start in every profile; PCI Express is no quicker than NVLink."""
    starts = {name: _profile.read(name).links[0].start.value for name in _profile.known()}
    for name in ("l40s", "rtx4090"):
        assert starts[name] >= starts["h100"]


def test_encoders_and_programs(capsys, tmp_path):
    told = report(capsys, MODELS / "all-minilm-l6-v2", "--degrees", "1,2", "--seq", 64)
    assert [row["times"]["run"]["seconds"] > 0 for row in told["rows"]] == [True, True]
    source = tmp_path / "model.mlir"
    source.write_text("func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {\n"
                      '  %w = tp.parameter "w" : tensor<64x64xf32>\n'
                      "  %y = nn.linear %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> "
                      "tensor<8x64xf32>\n  return %y : tensor<8x64xf32>\n}\n")
    row, = report(capsys, source, "--degrees", 1, "--plans", "replicated")["rows"]
    assert row["memory"]["parameters"] == 64 * 64 * 4 and "tokens_per_second" not in row
    for shape in _options.FORMATS:
        assert run(source, "--degrees", 1, "--plans", "replicated", "--format", shape) == 0


def test_text_of_text_and_images(capsys):
    row, = report(capsys, TEST / "families" / "gemma3-images", "--degrees", 1)["rows"]
    assert row["tokens_per_second"] > 0 and row["longest_context"] == 48   # the text's limit


def test_what_does_not_divide(capsys):
    told = report(capsys, FIXTURES / "qwen2-14-2", "--degrees", "2,4,16")
    assert "fits" in rows(told)["megatron", 2] and "fits" in rows(told)["megatron", 4]
    assert rows(told)["megatron", 16]["refusal"] == (
        "'nn.attention' op at model.layers.{i}.self_attn: degree 16 does not fit 14 query heads and "
        "2 key/value heads: some ranks would have none; degrees that fit: 1, 2, 3, 4, 5, 6, 7, 8, "
        "9, 10, 11, 12, 13, 14")
    # The compiler's option is none of tp-plan's.
    told = refused(capsys, 1, FIXTURES / "qwen2", "--degrees", "5")
    assert "tp-compile's --allow-padding" in told
    assert run(FIXTURES / "qwen2-14-2", "--degrees", "2,16") == 0
    assert "what cannot be compiled:\ntp=16 with megatron: " in capsys.readouterr().out


# Formats

def test_formats(capsys):
    words = (LLAMA_70B, "--degrees", "2,4,65")
    told = report(capsys, *words)
    assert run(*words) == 0
    table = capsys.readouterr().out
    assert "data-sheet peaks and assumed efficiencies, not measurements" in table
    assert re.search(r"^tp=2 +megatron +yes +67\.7 of 79\.6 GiB ", table, re.MULTILINE)
    assert re.search(r"^tp=2 +megatron +65\.7 GiB .* 67\.7 GiB$", table, re.MULTILINE)
    assert run(*words, "--format", "csv") == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [line["mesh"] for line in lines] == ["tp=2", "tp=4", "tp=65"]
    assert float(lines[1]["kv_cache_bytes"]) == told["rows"][1]["memory"]["kv_cache"]
    assert "degree 65 does not fit 64" in lines[2]["refusal"]


class _Page(html.parser.HTMLParser):
    """Counts of a page's elements; every one must be closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.counts, self.foreign = [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.foreign += [value for name, value in attributes
                         if name in ("src", "href") and tag != "svg"]
        if tag not in ("meta", "rect", "path", "circle"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag):
        if tag in ("rect", "circle", "path"):
            return
        assert self.open.pop() == tag


def test_page(tmp_path):
    """A page by the name of the file; all of it lies within 1200 and 400 px."""
    out = tmp_path / "page.html"
    assert run(LLAMA_70B, "--degrees", "1,2,3,4", "--plans", "megatron,replicated", "--price", 2,
               "-o", out) == 0
    text = out.read_text(encoding="utf-8")
    page = _Page(text)
    assert page.open == [] and page.foreign == []
    # Prefill, token, tokens a second, for each rank, price. By three, heads are padded.
    assert page.counts["svg"] == 5
    # What does not fit has no price, and is a triangle where it is beyond the scale of the others.
    hollow, beyond = text.count('fill="Canvas"'), text.count('Z" fill="Canvas"')
    assert hollow == 5 * 4 and 2 * 5 <= beyond < hollow
    assert page.counts["circle"] == 3 * 5 + hollow - beyond
    # No plan's point hides another's.
    prefill = text.split("<svg")[1]
    places = re.findall(r'<circle cx="([\d.]+)" cy|<path d="M([\d.]+) [\d.]+L[^"]*Z"', prefill)
    assert len(set(places)) == len(places) == 8
    assert text.count('<tr class="take">') == text.count('<div class="bar take">') == 1
    assert '<tr class="take"><td data-title="mesh">tp=2<' in text and ">memory bandwidth<" in text and ">3.35 TB/s<" in text
    assert "NVIDIA H100 Tensor Core GPU data sheet" in text and "the device ends: 79.6 GiB" in text


def test_pages_lie_within(tmp_path):
    """Nothing beyond the edges of 1200 and 400 px, no label over another."""
    pages, text = [], FIXTURES / "text-model"
    for words in ((FIXTURES / "llama-gqa", "--degrees", 1),
                  (text, "--rate", 90000, "--users", 4, "--price", 3.5, "--degrees", "2,4"),
                  (text, "--train", "adamw", "--dp", 2, "--degrees", "1,2", "--plans",
                   "megatron,megatron-sp", "--seq", 64),
                  (MODELS / "all-minilm-l6-v2", "--degrees", "1,2,5")):
        out = tmp_path / "page.html"
        assert run(*words, "-o", out) == 0
        pages.append(out.read_text(encoding="utf-8"))
    for found in browser.lay_out(pages, tmp_path, (1200, 400)):
        assert found["elements"] > 100 and not found["scrolls"], found["width"]
        assert found["outside"] == [] and found["over"] == [], found["width"]


# Services

def test_rate(capsys):
    """So many replicas that their tokens are as many as asked for, and not one more; with fewer
    users they would not do, and with more no fewer would."""
    latency = 30  # ms, that the estimate must keep: nothing is timed here
    words = (LLAMA_70B, "--gpu", "h200", "--degrees", 2)
    told = report(capsys, *words, "--rate", 5000, "--latency", latency, "--price", 3)
    row, = told["rows"]
    assert row["replicas"] == math.ceil(5000 / row["tokens_per_second"]) > 1
    assert row["devices"] == 2 * row["replicas"]
    assert row["fits"] and row["times"]["token"]["seconds"] <= latency / 1e3
    assert row["price_per_hour"] == 6 and row["service_price_per_hour"] == 3 * row["devices"]
    assert row["price_per_million_tokens"] == pytest.approx(
        1e6 * row["service_price_per_hour"] / 3600 / 5000)
    assert row["price_per_million_prompt_tokens"] == pytest.approx(
        1e6 * 6 / 3600 * row["times"]["prefill"]["seconds"] / 4096)
    assert told["recommendation"].startswith(
        f"Take {row['replicas']} replicas of tp=2 with megatron, {row['devices']} devices, for 5,000 "
        "tokens/s: each gives ")
    assert f" an hour, {row['price_per_million_tokens']:.2f} for a million" in \
        told["recommendation"]
    fewer, = report(capsys, *words, "--users", row["users"] - 1, "--rate", 5000)["rows"]
    assert fewer["users"] == row["users"] - 1
    assert fewer["replicas"] == math.ceil(5000 / fewer["tokens_per_second"]) > row["replicas"]
    assert run(*words, "--users", row["users"], "--rate", 10) == 0
    shown = capsys.readouterr().out
    assert f"collectives of a step that gives all {row['users']} users a token:" in shown
    assert "Take 1 replica of tp=2 with megatron, 2 devices, for 10 tokens/s: it gives " in shown


def test_fewest_users():
    """The search finds what trying every number of users does."""
    for seed in range(150):
        draw = random.Random(seed)
        base, of_step, of_user, held, of_cache = (draw.uniform(*ends) for ends in (
            (1, 20), (0, 1), (0, 0.3), (10, 95), (0.3, 8)))

        @functools.cache
        def row(users):
            step = 2 ** (users - 1).bit_length()
            seconds = (base + of_step * step + of_user * users) / 1e3
            return {"memory": {}, "device_bytes": 100,
                    "total_bytes": held + of_cache * users + 0.01 * step,
                    "times": {"token": {"seconds": seconds}},
                    "tokens_per_second": users / seconds,
                    "most_users": int((100 - held) // of_cache)}

        rate, latency = 10 ** draw.uniform(1, 5), draw.choice([None, draw.uniform(0.001, 0.04)])
        found = _service.fewest_users(row, rate, latency)
        good = [users for users in range(1, 400) if row(users)["total_bytes"] <= 100 and
                row(users)["times"]["token"]["seconds"] <= (latency or 1e9)]
        by_replicas = [(math.ceil(rate / row(users)["tokens_per_second"]), users) for users in good]
        assert found == (min(by_replicas)[1] if good else 1), f"seed {seed}"


def test_price_of_the_profile(capsys, tmp_path):
    path = profile(tmp_path, price={"value": 2, "source": "a test"})
    row, = report(capsys, FIXTURES / "bert", "--degrees", 2, "--gpu", path)["rows"]
    assert row["price_per_hour"] == 4 and "price_per_million_prompt_tokens" not in row
    row, = report(capsys, FIXTURES / "bert", "--degrees", 2, "--gpu", path, "--price", 3)["rows"]
    assert row["price_per_hour"] == 6


def test_optimizer_that_is_divided(capsys):
    """Moments and masters of four groups are a quarter; where that is what is missing, it is said."""
    words = (LLAMA_70B, "--gpu", "h200", "--train", "adamw", "--dp", 4, "--degrees", 8, "--plans",
             "megatron-sp")
    told, divided = report(capsys, *words), report(capsys, *words, "--shard-optimizer", "dp")
    (whole,), (part,) = told["rows"], divided["rows"]
    assert not whole["fits"] and part["fits"]
    assert part["memory"]["moments"] == pytest.approx(whole["memory"]["moments"] / 4, rel=1e-3)
    assert "with --shard-optimizer dp, dp=4,tp=8 with megatron-sp fits: " in told["recommendation"]
    assert any("fits with --shard-optimizer dp: " in note for note in told["notes"])
    assert divided["recommendation"].startswith("Take dp=4,tp=8 with megatron-sp on ")


def test_profiles():
    """Each figure has its source, and none of a device that was never measured says it was."""
    for name in _profile.known():
        found = _profile.read(name)
        assert not found.measured and len(found.links) == 2
        for what, figure, _ in found.figures():
            assert re.search("data sheet|assum|workspace|published|nvidia-smi", figure.source), what


# Held against runs

CHECKED = {"serve": ("--context", 16), "train": ("--train", "sgd", "--seq", 16),
           "run": ("--seq", 16)}


# Of all fixtures, one run: test/Integration/CPU/test_fixtures.py.
@pytest.mark.parametrize("fixture, kind", [
    ("llama-gqa", "serve"), ("llama-gqa", "train"), ("bert", "run")])
def test_stated_is_measured(capsys, tmp_path, fixture, kind):
    """Memory as the program states it is what a run takes, within 3 %, and a page."""
    told = report(capsys, FIXTURES / fixture, "--gpu", profile(tmp_path), "--degrees", 2,
                  *CHECKED[kind], "--check")
    memory, *times = told["checks"]
    assert memory["what"] == "memory"
    assert abs(memory["predicted"] - memory["measured"]) <= 0.03 * memory["measured"] + 4096
    assert times and all(one["predicted"] > 0 and one["measured"] > 0 for one in times)


@pytest.mark.parametrize("model, meetings", [
    (FIXTURES / "llama-gqa", 1), (TEST / "families/falcon-7b", 2)])
def test_sums_without_a_call(tmp_path, model, meetings):
    """On one node a sum takes as long as a gather of its addends, and as a meeting behind its
    readers where the program has one; between nodes it is a call, which takes two messages."""
    workload = _work.Workload("run", seq=4, batch=1)
    link = json.loads(profile(tmp_path).read_text())["links"][0]
    for ranks, form, messages in ((2, "one_shot", meetings), (1, "library", 2)):
        figures = profile(tmp_path, ranks_per_node=ranks, links=[link, link]).read_text()
        told = _work.compile_one(model, workload, "megatron", 2, "cpu", figures)
        layers = [line for line in told.collectives("main") if line["layer"]]
        assert layers
        for line in layers:
            assert line["form"] == form
            assert ("library" in line) == (form == "library")
            assert line["seconds"] == pytest.approx(
                line["count"] * (messages * 1e-6 + line["traffic"] / 1e9))


def test_measure(tmp_path, monkeypatch):
    """A profile that this machine's own programs made is one that can be read."""
    monkeypatch.setattr(_measure, "WIDTH", 128)
    monkeypatch.setattr(_measure, "TYPES", ("f32",))
    path = tmp_path / "mine.json"
    assert run("--measure", path) == 0
    mine = _profile.read(str(path))
    assert mine.measured and mine.shared and mine.target == "cpu"
    assert all("tp-plan --measure" in figure.source for what, figure, _ in mine.figures()
               if what != "memory")


def test_context_defaults_to_the_limit(tmp_path, capsys):
    """Whatever key says it, or none: the compiler knows; a side file is refused as it refuses it."""
    for name, key, context, stated in (("bloom", "seq_length", 100, True), ("mpt", "max_seq_len", 96, True),
                                       ("falcon-7b", "max_position_embeddings", 2048, False),
                                       ("qwen2-yarn", "max_position_embeddings", 10, True)):
        config = json.loads((TEST / "families" / name / "config.json").read_text())
        config.pop(key, None)
        config |= {key: context} if stated else {}
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config))
        assert run(folder, "--degrees", "1") == 0
        told = capsys.readouterr().out
        assert f"1 user of up to {context} tokens" in told
        assert ("does not say how many positions" in told) == (not stated)
    yarn = report(capsys, tmp_path / "qwen2-yarn", "--degrees", "1", "--context", 40)
    assert yarn["rows"][0]["longest_context"] == 40
    (tmp_path / "bloom/hf_quant_config.json").write_text('{"quantization": {"quant_algo": "W8"}}')
    error = refused(capsys, 1, tmp_path / "bloom")
    assert 'unsupported quantization.quant_algo "W8"' in error
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    error = refused(capsys, 1, adapter)
    assert "merge the adapter into its base model" in error and error.count("error") == 1


def test_remarks_are_passed_on(tmp_path, capsys):
    """Once, though each degree is compiled by itself."""
    config = json.loads((TEST / "families/bloom/config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"odd_key": 1}))
    assert run(tmp_path, "--degrees", "1,2") == 0
    assert capsys.readouterr().err.count('for model_type "bloom": "odd_key"') == 1


@pytest.mark.parametrize("recipe, bits, slower", [
    ({"quant_method": "awq", "bits": 4, "group_size": 128}, 4 + (16 + 8) / 128, 1.02),
    ({"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]},
     8 + 32 / 128, 989 / 67)])
def test_quantised(capsys, tmp_path, recipe, bits, slower):
    """Weights and scales as they lie in memory: a block's scale once for each of its rows. The
    products of a prefill take as long as those of 16 bits, or as those of f32 where the recipe rounds
    their inputs in that."""
    config = json.loads((LLAMA_70B / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"quantization_config": recipe}))
    options = ("--gpu", "h100", "--degrees", "1,4")
    found = rows(report(capsys, tmp_path, *options))
    plain = rows(report(capsys, LLAMA_70B, *options))
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    keys = hidden // heads * config["num_key_value_heads"]
    linear = config["num_hidden_layers"] * hidden * (
        2 * hidden + 2 * keys + 3 * config["intermediate_size"])
    whole = linear * bits / 8 + 2 * config["vocab_size"] * hidden * 2
    for degree in (1, 4):
        assert found["megatron", degree]["memory"]["parameters"] == pytest.approx(
            whole / degree, rel=0.03)
        times = [one["megatron", degree]["times"]["prefill"]["seconds"] for one in (found, plain)]
        assert 0.2 * times[1] < times[0] < slower * times[1]


def test_plans_that_are_no_files(capsys):
    assert refused(capsys, 2, LLAMA_8B, "--plans", "megatron,nosuch.json") == (
        "tp-plan: for --plans: there is no file 'nosuch.json'\n")


def test_ideal_scaling():
    """It is drawn up to the edge of the drawing, and said where it is drawn."""
    made = [{"plan": "megatron", "ranks": ranks, "fits": True, "users": 1, "value": value}
            for ranks, value in ((1, 10), (2, 12), (4, 13))]

    def drawn(rows):
        svg = _drawings.curves(rows, lambda row: row["value"], str, "a test", 1)
        found = re.search(r'<path d="([^"]*)"[^>]*stroke-dasharray', svg)
        places = re.findall(r"([\d.]+),? ?([\d.]+)", found[1]) if found else []
        assert ("ideal" in _drawings.curves_legend(rows)) == bool(found)
        return [(float(x), float(y)) for x, y in places]

    (left, low), (right, high) = drawn(made)
    plot = _drawings._Plot([1, 2, 4], ["megatron"], 13 * 1.08)
    assert left == pytest.approx(plot.x(1), abs=0.1) and low == pytest.approx(plot.y(10), abs=0.1)
    # 14.04 of 20 lies at two fifths of the way to the second point.
    assert high == pytest.approx(plot.y(13 * 1.08), abs=0.1)
    assert right == pytest.approx(plot.x(1) + 0.404 * (plot.x(2) - plot.x(1)), abs=0.2)
    assert not drawn([{**row, "fits": row["ranks"] == 4} for row in made])


def test_the_service_of_the_page(capsys):
    """docs/Plan.md's sentence is what its command says, at the degree that it takes."""
    page = (TEST.parent / "docs/Plan.md").read_text()
    command, sentence = re.search(r"^    tp-plan (.* --rate .*)\n\n    (Take .*)$", page,
                                  re.MULTILINE).groups()
    model, *words = command.split()
    degree = re.search(r"tp=(\d+)", sentence)[1]
    assert run(TEST.parent / model, *words, "--degrees", degree) == 0
    told = capsys.readouterr().out.rstrip().splitlines()[-1]
    # Programs of these tests have shorter chunks, and so less memory.
    assert told.rpartition(" (")[0] == sentence.rpartition(" (")[0]
