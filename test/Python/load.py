"""tp-serve under load: many clients that ask, leave and send nonsense, then SIGTERM.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

usage: TP_MLIR_BIN=build/dev/bin PYTHONPATH=python .venv/bin/python test/Python/load.py
                [--seconds 120] [--clients 32] [--backend threads] [--seed 1]

The real engine on the text model, whose answers are clear: each that is finished must be
the one that the same question got alone. Nothing may hang (every answer has a time limit), and
nothing be left when the clients are gone: no page of the cache, no place of an answer, no
file, and no more memory than after the first fifth of the time.
"""

import argparse
import collections
import json
import random
import socket
import sys
import threading
import time

import httpx
import openai
from real_server import FOLDER, RealServer

SECONDS = 30  # an answer that takes longer hangs
BODY_BYTES = 20_000
KNOWN = json.loads((FOLDER / "continuations.json").read_text(encoding="utf-8"))["continuations"]


def _questions():
    """(path, body) of each."""
    found = []
    for number, one in enumerate(KNOWN):
        if "messages" in one:
            found.append(("chat", {"messages": one["messages"], "max_tokens": 60}))
            found.append(("chat", {"messages": one["messages"], "max_tokens": 30, "n": 2,
                                   "temperature": 0.3, "seed": number}))
            continue
        found.append(("text", {"prompt": one["prompt"], "max_tokens": 8 + 4 * number}))
        found.append(("text", {"prompt": one["prompt_ids"], "max_tokens": 40,
                               "temperature": 0.3, "seed": number, "logprobs": 2}))
        found.append(("text", {"prompt": [one["prompt"], one["prompt_ids"]], "max_tokens": 24,
                               "stop": [one["text"][20:24]]}))
    return found


QUESTIONS = _questions()


class Clients:
    """Threads that ask until `stop` is set.

    Attributes:
        wrong: what should not have been.
        counts: of what became of requests.
    """

    def __init__(self, server, questions, count, seed):
        self._server, self._questions = server, questions
        # What is asked after SIGTERM is refused, or meets a closed port.
        self.ending = self.stop = False
        self.wrong, self.counts = [], collections.Counter()
        self._lock = threading.Lock()
        self._alone = [self._ask(self._client(), number, False)
                       for number in range(len(self._questions))]
        self._seeds, self._threads = [f"{seed}-{i}" for i in range(count)], []

    def _client(self):
        return openai.OpenAI(base_url=self._server.url + "/v1", api_key="none", max_retries=0,
                             timeout=SECONDS)

    def _ask(self, api, number, stream, leave=None):
        """(text, end) of each choice; leaves after `leave` events, with None."""
        path, body = self._questions[number]
        create = api.completions.create if path == "text" else api.chat.completions.create
        made = create(model="text-model", stream=stream, **body)
        if not stream:
            return [(choice.text if path == "text" else choice.message.content,
                     choice.finish_reason) for choice in made.choices]
        texts, ends = collections.defaultdict(str), {}
        with made:
            for seen, chunk in enumerate(made):
                if seen == leave:
                    return None
                for choice in chunk.choices:
                    texts[choice.index] += (choice.text if path == "text"
                                            else choice.delta.content or "")
                    if choice.finish_reason:
                        ends[choice.index] = choice.finish_reason
        return [(texts[i], ends.get(i)) for i in range(len(texts))]

    def _count(self, what):
        with self._lock:
            self.counts[what] += 1

    def start(self):
        self.stop = False
        self._threads = [threading.Thread(target=self._run, args=(seed,)) for seed in self._seeds]
        for thread in self._threads:
            thread.start()

    def join(self):
        self.stop = True
        for thread in self._threads:
            thread.join(4 * SECONDS)
            if thread.is_alive():
                self.wrong.append("a client hangs")

    def _run(self, seed):
        draw = random.Random(seed)
        kinds = [self._answer] * 6 + [self._leave] * 3 + [self._raw, self._nonsense, self._large]
        with self._client() as api:
            while not self.stop:
                kind = draw.choice(kinds)
                try:
                    kind(api, draw)
                except (openai.APIError, httpx.TransportError, OSError) as error:
                    self._failed(kind, error)
                except Exception as error:  # pylint: disable=broad-except
                    self.wrong.append(f"{kind.__name__}: {error!r}")

    def _failed(self, kind, error):
        status = getattr(error, "status_code", None)
        refused = status == 503 or isinstance(
            error, (openai.APIConnectionError, httpx.TransportError, OSError))
        if isinstance(error, openai.APITimeoutError) or not (self.ending and refused):
            self.wrong.append(f"{kind.__name__}{' at the end' if self.ending else ''}: {error!r}, "
                              f"caused by {error.__cause__!r}")
        else:
            self._count("refused at the end")
            time.sleep(0.05)

    def _answer(self, api, draw):
        number, stream = draw.randrange(len(self._questions)), draw.random() < 0.7
        made = self._ask(api, number, stream)
        if made == self._alone[number]:
            self._count("answers streamed" if stream else "answers whole")
        else:
            self.wrong.append((self._questions[number], made, self._alone[number]))

    def _leave(self, api, draw):
        """In the middle of a stream."""
        made = self._ask(api, draw.randrange(len(self._questions)), True, draw.randrange(12))
        self._count("streams left" if made is None else "streams ended before")

    def _raw(self, api, draw):
        """Sends a part of a request, or all of it, and is gone; now and then after a while."""
        path, body = draw.choice(self._questions)
        text = json.dumps({"model": "text-model", "stream": draw.random() < 0.5, **body}).encode()
        path = b"/v1/completions" if path == "text" else b"/v1/chat/completions"
        data = (b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (path, len(text), text))
        with socket.create_connection(self._server.url.removeprefix("http://").split(":"),
                                      SECONDS) as made:
            made.sendall(data[:draw.choice([10, len(data) // 2, len(data)])])
            if draw.random() < 0.5:
                time.sleep(draw.random() / 10)
        self._count("connections dropped")

    def _nonsense(self, api, draw):
        content = draw.choice([b"", b"{", b"[" * 5000, b"\xff\xfe", draw.randbytes(500), b"null",
                               b'{"model": "text-model", "prompt": 7}',
                               b'{"model": "text-model", "prompt": "x", "max_tokens": 9999}',
                               b'{"model": "text-model", "prompt": "x", "temperature": NaN}',
                               b'{"model": "text-model", "prompt": [999999]}'])
        self._refused(content, 400)

    def _large(self, api, draw):
        pieces = [b" " * 1000] * 60
        self._refused(iter(pieces) if draw.random() < 0.5 else b"".join(pieces), 413)

    def _refused(self, content, status):
        answer = httpx.post(self._server.url + "/v1/completions", content=content,
                            timeout=SECONDS, headers={"Content-Type": "application/json"})
        if answer.status_code == 503 and self.ending:
            return self._count("refused at the end")
        if answer.status_code != status:
            self.wrong.append(f"expected {status}, got {answer.status_code}: {answer.text}")
        assert answer.json()["error"]["message"]
        return self._count(f"refused with {status}")


def eventually(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def run(seconds, clients=32, backend="threads", seed=1, questions=QUESTIONS, say=print):
    """Loads a server for so long, checks what is said above, and returns bytes that it grew
    by after the first fifth."""
    options = ["--mesh", "tp=2", "--rows", 8, "--chunk", 32, "--max-body-bytes", BODY_BYTES,
               "--max-answers", 4 * clients, "--drain-seconds", 20, "--backend", backend]
    with RealServer(*options) as server:
        asked = Clients(server, questions, clients, seed)
        files = server.files()
        asked.start()
        samples = []
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, seconds / 20))
            samples.append(server.memory())
        asked.join()
        for name in ("tp_engine_running", "tp_engine_waiting", "tp_engine_pages_held",
                     "tp_serve_answers"):
            assert eventually(lambda: server.metric(name) == 0), f"{name} is not 0"
        assert eventually(lambda: server.files() <= files), (files, server.files())
        # Once more, for the signal to come amid it.
        asked.start()
        time.sleep(min(1.0, seconds / 4))
        asked.ending = True
        server.terminate()
        begun = time.monotonic()
        code = server.wait(60)
        ended = time.monotonic() - begun
        asked.join()
        say(f"{seconds} s, {clients} clients, {backend}: "
            + ", ".join(f"{asked.counts[what]} {what}" for what in sorted(asked.counts)))
        say(f"memory {samples[0] / 2**20:.1f} MiB at first, {samples[3] / 2**20:.1f} after a "
            f"fifth, {samples[-1] / 2**20:.1f} at the end; {files} files; "
            f"ended {ended:.1f} s after SIGTERM")
        for line in server.log:
            say("  " + line)
        assert not asked.wrong, asked.wrong[:5]
        assert code == 0, code
        return samples[-1] - samples[3]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--backend", default="threads")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    grown = run(**vars(arguments))
    if grown > 8 << 20:
        sys.exit(f"load: grew by {grown / 2**20:.1f} MiB")
