"""Answers as the objects that OpenAI's clients read.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import collections
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
        self.tokenizer = tokenizer

    def first(self, index):
        """What a stream begins with, or None."""

    def part(self, index, text, finish, logprobs, calls=()):
        """A choice, or what one gained."""
        return {"index": index, "text": text, "logprobs": logprobs, "finish_reason": finish}

    whole = part

    def logprobs(self, tokens):
        """Describes tokens, a list of _answers.Token. No two ids share a string, and
        top_logprobs include the chosen token."""
        def name(i):
            return self.tokenizer.token(i)

        def likeliest(token):
            if token.logprobs is None:
                return None
            return {name(i): _number(value) for i, value in
                    (*token.logprobs.top, (token.id, token.logprobs.chosen))}

        return {"tokens": [name(token.id) for token in tokens],
                "token_logprobs": [token.logprobs and _number(token.logprobs.chosen)
                                   for token in tokens],
                "top_logprobs": [likeliest(token) for token in tokens],
                "text_offset": [token.offset for token in tokens]}

    def join(self, parts):
        return {key: [one for part in parts for one in part[key]]
                for key in ("tokens", "token_logprobs", "top_logprobs", "text_offset")}


class Chats:
    """The form of /v1/chat/completions."""

    kind, chunk_kind, prefix = "chat.completion", "chat.completion.chunk", "chatcmpl-"

    def __init__(self, tokenizer, id_length=0):
        """`id_length`: of the ids of calls; 0 for OpenAI's form."""
        self.tokenizer, self._id_length = tokenizer, id_length
        self._counts = collections.Counter()  # calls by choice

    def _calls(self, index, calls):
        """Calls as objects, numbered within their choice."""
        made = []
        for call in calls:
            number = secrets.token_hex(12)
            name = number[:self._id_length] if self._id_length else "call_" + number
            made.append({"index": self._counts[index], "id": name, "type": "function",
                         "function": {"name": call.name, "arguments": call.arguments}})
            self._counts[index] += 1
        return made

    def first(self, index):
        return {"index": index, "delta": {"role": "assistant", "content": ""},
                "logprobs": None, "finish_reason": None}

    def part(self, index, text, finish, logprobs, calls=()):
        delta = {"content": text} if text else {}
        if calls:
            delta["tool_calls"] = self._calls(index, calls)
        return {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}

    def whole(self, index, text, finish, logprobs, calls=()):
        message = {"role": "assistant", "content": text}
        if calls:
            message["content"] = text or None
            message["tool_calls"] = [{key: value for key, value in call.items() if key != "index"}
                                     for call in self._calls(index, calls)]
        return {"index": index, "message": message, "logprobs": logprobs, "finish_reason": finish}

    def _one(self, i, value, is_first):
        return {"token": self.tokenizer.token(i), "logprob": _number(value),
                "bytes": list(self.tokenizer.bytes(i, is_first))}

    def logprobs(self, tokens):
        """Describes tokens, a list of _answers.Token. The bytes of visible tokens make up the
        text."""
        return {"content": [{**self._one(token.id, token.logprobs.chosen, token.is_first),
                             "top_logprobs": [self._one(*one, token.is_first)
                                              for one in token.logprobs.top]}
                            for token in tokens]}

    def join(self, parts):
        return {"content": [one for part in parts for one in part["content"]]}


class Response:
    """One request's answer, whole or as chunks, with the same names in all of these."""

    def __init__(self, form, model, prompt_tokens):
        self.form = form
        self._common = {"id": form.prefix + secrets.token_hex(12), "created": int(time.time()),
                        "model": model}
        self.prompt_tokens = prompt_tokens
        self.generated = 0

    def usage(self):
        return {"prompt_tokens": self.prompt_tokens, "completion_tokens": self.generated,
                "total_tokens": self.prompt_tokens + self.generated}

    def chunk(self, choices, **more):
        return {**self._common, "object": self.form.chunk_kind, "choices": choices, **more}

    def whole(self, choices):
        return {**self._common, "object": self.form.kind, "choices": choices,
                "usage": self.usage()}
