"""tp-serve with a cache that holds less than its rows can: many clients with texts of any length.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Questions are pieces of the text model's texts, of random lengths, with answers of random lengths.
Each is asked alone first, and counts only where each token of its answer beats the second by a
margin that no order of sums changes. `benchmarks/shared-cache` does this for minutes, beside a
cache for all rows; a test does it for a moment.
"""

import json
import random
import threading
import time
from dataclasses import dataclass, field

import httpx
from real_server import FOLDER, RealServer

SECONDS = 120  # An answer that takes longer hangs.
CONTEXT = 256
MARGIN = 0.05
KNOWN = json.loads((FOLDER / "continuations.json").read_text(encoding="utf-8"))["continuations"]
TEXTS = [one["prompt_ids"] + one["ids"] for one in KNOWN]


@dataclass
class Outcome:
    """Of a time under load.

    Attributes:
        tokens: of answers that were complete.
        wrong: answers that differ from the one given alone, and failures.
        evictions: requests that lost their pages for a while.
        pages: of the cache.
    """

    seconds: float = 0
    answers: int = 0
    tokens: int = 0
    evictions: int = 0
    pages: int = 0
    wrong: list = field(default_factory=list)


def _draw(random_, count):
    """Bodies of requests; some texts begin alike."""
    for _ in range(count):
        text = random_.choice(TEXTS)
        begin = random_.choice([0, random_.randrange(len(text))])
        length = random_.randrange(1, CONTEXT // 2)
        prompt = text[begin:begin + length]
        yield {"model": "text-model", "prompt": prompt, "logprobs": 2,
               "max_tokens": random_.randrange(1, CONTEXT - len(prompt)),
               "stop_token_ids": random_.choice([[], [random_.randrange(5, 600)]])}


def _ask(http, url, body):
    answer = http.post(url + "/v1/completions", json=body)
    answer.raise_for_status()
    choice, = answer.json()["choices"]
    return choice


def _is_clear(choice):
    """True if no rounding makes another answer."""
    for top in choice["logprobs"]["top_logprobs"]:
        first, second = sorted(top.values(), reverse=True)[:2]
        if first - second < MARGIN:
            return False
    return True


def questions(url, count, seed):
    """(body, text of the answer alone, its tokens) of those whose answers are clear."""
    found = []
    with httpx.Client(timeout=SECONDS) as http:
        for body in _draw(random.Random(seed), count):
            alone = _ask(http, url, body)
            if _is_clear(alone):
                del body["logprobs"]
                found.append((body, alone["text"], len(alone["logprobs"]["tokens"])))
    return found


def _client(url, asked, seed, end, outcome, lock):
    draw = random.Random(seed)
    with httpx.Client(timeout=SECONDS) as http:
        while time.monotonic() < end:
            body, alone, tokens = draw.choice(asked)
            try:
                text = _ask(http, url, body)["text"]
            except httpx.HTTPError as error:
                text = repr(error)
            with lock:
                outcome.answers += 1
                outcome.tokens += tokens
                if text != alone:
                    outcome.wrong.append((body, text, alone))


def load(server, asked, seconds, clients, seed):
    """So many clients, each of which asks one question after the other."""
    outcome, lock, begin = Outcome(), threading.Lock(), time.monotonic()
    evictions = server.metric("tp_engine_evictions_total")
    threads = [threading.Thread(target=_client, args=(
        server.url, asked, f"{seed}-{i}", begin + seconds, outcome, lock))
        for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outcome.seconds = time.monotonic() - begin
    outcome.evictions = int(server.metric("tp_engine_evictions_total") - evictions)
    outcome.pages = int(server.metric("tp_engine_pages"))
    return outcome


def opened(rows, cells, *more):
    """A server whose cache has that many cells."""
    return RealServer("--mesh", "tp=2", "--rows", rows, "--chunk", 64, "--context", CONTEXT,
                      "--cells", cells, "--dtype", "f32", "--max-answers", 256, *more)
