"""What vLLM takes for steps and a prompt, with random weights.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: vllm_peer.py FOLDER CONTEXT '[[texts, tokens], ...]'

FOLDER has a config.json. Prints {texts: seconds of a step, "prompt": seconds of the first token}.
"""

import json
import pathlib
import sys
import time


def ask_vllm(folder, context, cases):
    from vllm import LLM, SamplingParams
    engine = LLM(model=folder, load_format="dummy", skip_tokenizer_init=True, dtype="bfloat16",
                 max_model_len=context, gpu_memory_utilization=0.85,
                 enable_prefix_caching=False)
    vocabulary = json.loads((pathlib.Path(folder) / "config.json").read_text())["vocab_size"]

    def run(batch, prompt, new):
        prompts = [{"prompt_token_ids": [(i * 7919 + row * 31 + 13) % vocabulary
                                         for i in range(prompt)]} for row in range(batch)]
        options = SamplingParams(temperature=0, max_tokens=new, ignore_eos=True, detokenize=False)
        start = time.perf_counter()
        engine.generate(prompts, options, use_tqdm=False)
        return time.perf_counter() - start
    found = {}
    for batch, prompt in cases:
        run(batch, prompt, 2)
        few, many = (min(run(batch, prompt, new) for _ in range(3)) for new in (16, 80))
        found[batch] = (many - few) / 64
        if batch == 1:
            found["prompt"] = min(run(1, prompt, 1) for _ in range(5))
    print(json.dumps(found))


if __name__ == "__main__":
    ask_vllm(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]))
