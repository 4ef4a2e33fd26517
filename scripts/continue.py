"""Continue three prompts with the text model of the tests on one and on two ranks.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The model knows four licences by heart, so an answer that is right can be read. Every
token is compared with what transformers gave (test/fixtures/text-model).
"""

import json
import pathlib
import sys

import tp_mlir

MODEL = pathlib.Path(__file__).resolve().parent.parent / "test/fixtures/text-model"
DEGREES = (1, 2)
PROMPTS = 3


def main():
    known = json.loads((MODEL / "continuations.json").read_text())["continuations"]
    chosen = [one for one in known if one.get("prompt")][:PROMPTS]
    wrong = 0
    for degree in DEGREES:
        with tp_mlir.LLM(MODEL, mesh=f"tp={degree}", dtype="f32", rows=PROMPTS,
                         chunk=64) as model:
            answers = model.generate([one["prompt_ids"] for one in chosen],
                                     max_tokens=max(len(one["ids"]) for one in chosen))
        print(f"\n{degree} ranks: {PROMPTS} prompts, answered together")
        for one, answer in zip(chosen, answers):
            equal = list(answer.ids[:len(one["ids"])]) == one["ids"]
            wrong += not equal
            if degree == DEGREES[0]:
                print(f"  {one['prompt']!r} ...{one['text']!r}")
            print(f"  {len(one['ids'])} tokens {'as' if equal else 'NOT AS'} transformers' own")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
