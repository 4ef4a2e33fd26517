"""scripts/survey-configs: a line for each configuration, and the counts.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import pathlib
import subprocess
import sys

TEST = pathlib.Path(__file__).resolve().parents[1]
SCRIPT = TEST.parent / "scripts" / "survey-configs"


def survey(folder, *words):
    done = subprocess.run([sys.executable, SCRIPT, folder, *words], capture_output=True, text=True)
    return done.returncode, [line.split("\t") for line in done.stdout.splitlines()], done.stderr


def write(folder, source, **changes):
    folder.mkdir()
    config = json.loads((TEST / source / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))
    return folder


def test_lines_and_counts(tmp_path):
    """Layers in order and in parallel, norms of all heads, degrees that do not fit, and refusals."""
    write(tmp_path / "org--llama", "fixtures/llama-gqa", odd_key=1)
    write(tmp_path / "org--neox", "families/gpt-neox")
    write(tmp_path / "org--olmo", "families/olmo2")
    write(tmp_path / "org--type", "fixtures/llama-gqa", model_type="mamba")
    quantised = write(tmp_path / "org--quantised", "fixtures/llama-gqa")
    (quantised / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "W4A8_AWQ"}}')
    write(tmp_path / "org--tokens", "fixtures/llama-gqa", quantization_config={
        "quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0})
    code, lines, _ = survey(tmp_path, "--degrees", "2,9")
    assert code == 0
    found = {line[0]: line[1:] for line in lines[:-1]}
    assert found["org/llama"] == ["minimal", "5 all_reduce at 2; does not fit 9"]
    assert found["org/neox"][1].startswith("3 all_reduce at 2")
    assert found["org/olmo"][1].startswith("7 all_reduce at 2")
    assert found["org/tokens"] == ["minimal", "5 all_reduce and 4 of scales at 2; does not fit 9"]
    assert found["org/type"][0] == "refused" and "mamba" in found["org/type"][1]
    assert found["org/quantised"][0] == "refused" and "W4A8_AWQ" in found["org/quantised"][1]
    assert lines[-1] == ["6 configurations: 4 compile with the fewest collectives, 0 with others, "
                         "2 are refused"]


def test_nothing_found(tmp_path):
    code, lines, _ = survey(tmp_path)
    assert code == 1 and lines == [["0 configurations: 0 compile with the fewest collectives, "
                                    "0 with others, 0 are refused"]]
