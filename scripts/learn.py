"""Train the small text model from its configuration alone, on two ranks, and let it speak.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

It learns one licence by heart, from random weights. The text is given
several times in a row, so that it is cut at other places each time: what is learned then does
not depend on where a row begins. The checkpoint and the curve of the loss stay in build/demo.
"""

import json
import pathlib
import shutil
import sys

import tp_mlir
from tp_mlir import train

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = ROOT / "test/fixtures/text-model"
FILES = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json")
TEXT = pathlib.Path("/usr/share/common-licenses/BSD")
TIMES, STEPS = 16, 1000
PROMPTS = ("Redistribution and use in source", "Neither the name of the University",
           "IN NO EVENT SHALL")
TOKENS = 40


def main():
    work = ROOT / "build/demo"
    shutil.rmtree(work, ignore_errors=True)
    (work / "random").mkdir(parents=True)
    for name in FILES:
        shutil.copy(MODEL / name, work / "random")
    out = work / "trained"
    print(f"\ntraining on {TEXT}, two ranks", flush=True)
    code = train.main([str(word) for word in (
        work / "random", *[TEXT] * TIMES, "-o", out, "--mesh", "tp=2", "--dtype", "f32",
        "--batch", 4, "--seq", 64, "--steps", STEPS, "--lr", 3e-3)])
    if code != 0:
        return code
    print(f"the loss is drawn in {out / 'loss.svg'}")
    loss = json.loads((out / "train.jsonl").read_text().splitlines()[-1])["loss"]
    # The paragraph's lines as one, however they are broken.
    known, right = " ".join(TEXT.read_text().split()), 0
    with tp_mlir.LLM(out, mesh="tp=2", dtype="f32", rows=len(PROMPTS), chunk=64) as model:
        for prompt, answer in zip(PROMPTS, model.generate(list(PROMPTS), max_tokens=TOKENS)):
            print(f"  {prompt!r} ...{answer.text!r}")
            spoken = " ".join((prompt + answer.text).split())
            right += len(spoken) > len(prompt) and spoken in known
    print(f"{right} of {len(PROMPTS)} go on as the text does")
    return 0 if loss < 0.5 and right else 1


if __name__ == "__main__":
    sys.exit(main())
