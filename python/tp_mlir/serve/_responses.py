"""Answers as the objects that OpenAI's clients read.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math
import secrets
import time

# JSON has no infinity; this is what OpenAI's interface gives for the impossible.
_LEAST = -9999.0


def _number(logarithm):
    return logarithm if math.isfinite(logarithm) else _LEAST


class Completions:
    """The form of /v1/completions."""

    kind, chunk_kind, prefix = "text_completion", "text_completion", "cmpl-"

    def __init__(self, tokenizer):
        self._token = tokenizer.token

    def first(self, index):
        """What a stream begins with, or None."""

    def part(self, index, text, finish, logprobs):
        """A choice, or what one gained."""
        return {"index": index, "text": text, "logprobs": logprobs, "finish_reason": finish}

    whole = part

    def logprobs(self, ids, values, offset):
        """Of tokens that come after `offset` characters."""
        tokens = [self._token(i) for i in ids]
        offsets = [offset + sum(map(len, tokens[:i])) for i in range(len(tokens))]
        return {"tokens": tokens, "token_logprobs": [_number(value.chosen) for value in values],
                "top_logprobs": [{self._token(i): _number(one) for i, one in value.top}
                                 for value in values], "text_offset": offsets}

    def join(self, parts):
        return {key: [one for part in parts for one in part[key]]
                for key in ("tokens", "token_logprobs", "top_logprobs", "text_offset")}


class Chats:
    """The form of /v1/chat/completions."""

    kind, chunk_kind, prefix = "chat.completion", "chat.completion.chunk", "chatcmpl-"

    def __init__(self, tokenizer):
        self._token = tokenizer.token

    def first(self, index):
        return {"index": index, "delta": {"role": "assistant", "content": ""},
                "logprobs": None, "finish_reason": None}

    def part(self, index, text, finish, logprobs):
        return {"index": index, "delta": {"content": text} if text else {}, "logprobs": logprobs,
                "finish_reason": finish}

    def whole(self, index, text, finish, logprobs):
        return {"index": index, "message": {"role": "assistant", "content": text},
                "logprobs": logprobs, "finish_reason": finish}

    def _one(self, i, value):
        token = self._token(i)
        return {"token": token, "logprob": _number(value), "bytes": list(token.encode())}

    def logprobs(self, ids, values, offset):
        return {"content": [{**self._one(i, value.chosen),
                             "top_logprobs": [self._one(*one) for one in value.top]}
                            for i, value in zip(ids, values)]}

    def join(self, parts):
        return {"content": [one for part in parts for one in part["content"]]}


class Response:
    """One request's answer, whole or as chunks, with the same names in all of these."""

    def __init__(self, form, model, prompt_tokens):
        self.form = form
        self._common = {"id": form.prefix + secrets.token_hex(12), "created": int(time.time()),
                        "model": model}
        self._prompt_tokens = prompt_tokens
        self.generated = 0

    def usage(self):
        return {"prompt_tokens": self._prompt_tokens, "completion_tokens": self.generated,
                "total_tokens": self._prompt_tokens + self.generated}

    def chunk(self, choices, **more):
        return {**self._common, "object": self.form.chunk_kind, "choices": choices, **more}

    def whole(self, choices):
        return {**self._common, "object": self.form.kind, "choices": choices,
                "usage": self.usage()}
