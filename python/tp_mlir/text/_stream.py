"""Token ids to text, piece by piece.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A token need not be a whole character, nor is a token's text its own alone: decoders drop
the blank before the first word, and join bytes. So a piece is what the text of the last few
tokens gains by a new one. Two things are held back until they are certain: a character
that lacks bytes, and what may be the beginning of a stop string.
"""

# What stands for bytes that are no character, or not yet.
_REPLACEMENT = "\ufffd"
# A character has at most four bytes; as many tokens decide any.
_UNDECIDED = 4
# Tokens of the prompt that the first new one is decoded after; more if a character begins
# before them.
_BEFORE = 8


class StopStrings:
    """Finds the first of several strings to be complete, however the text is cut."""

    def __init__(self, strings):
        self._strings = [string for string in strings if string]
        self._held = ""
        self.found = None

    def push(self, text):
        """What is certain now of the text up to here; nothing once a string was found."""
        if self.found is not None:
            return ""
        text = self._held + text
        # That which ends first; of those that end there, the longest.
        ends = [(at + len(string), -len(string), string) for string in self._strings
                if (at := text.find(string)) >= 0]
        if ends:
            end, length, self.found = min(ends)
            self._held = ""
            return text[:end + length]
        keep = max((size for string in self._strings
                    for size in range(1, min(len(string), len(text) + 1))
                    if text.endswith(string[:size])), default=0)
        self._held = text[len(text) - keep:]
        return text[:len(text) - keep]

    def flush(self):
        """What was held back."""
        text, self._held = self._held, ""
        return text


class StreamDecoder:
    """The text of tokens as they come.

    Args:
        tokenizer: a Tokenizer.
        stop: strings that end the text; they are not part of it.
        prompt: ids that came before, for the blank between these and the first new one.

    Attributes:
        stopped: the stop string that was found, or None.
    """

    def __init__(self, tokenizer, stop=(), prompt=()):
        self._tokenizer = tokenizer
        self._stops = StopStrings([stop] if isinstance(stop, str) else stop)
        # Tokens that are sent, for the sake of those after them; tokens that are not, or
        # not wholly; and how long the sent part of the text of both is.
        self._before, size = prompt[-_BEFORE:], _BEFORE
        while size < len(prompt) and _REPLACEMENT in tokenizer.decode(self._before):
            size *= 2
            self._before = prompt[-size:]
        self._before = [i for i in self._before if not tokenizer.is_special(i)]
        self._new = []
        self._sent = len(tokenizer.decode(self._before).rstrip(_REPLACEMENT))

    @property
    def stopped(self):
        return self._stops.found

    def push(self, ids):
        """The text that is certain now, and was not before."""
        return self._stops.push("".join(self._next(i) for i in ids
                                        if not self._tokenizer.is_special(i)))

    def flush(self):
        """The rest, at the end of the tokens."""
        rest = self._tokenizer.decode(self._before + self._new)[self._sent:]
        self._before, self._new, self._sent = [], [], 0
        return self._stops.push(rest) + self._stops.flush()

    def _next(self, token):
        decode = self._tokenizer.decode
        self._new.append(token)
        text = decode(self._before + self._new)
        certain = text.rstrip(_REPLACEMENT)
        if len(self._new) >= _UNDECIDED and len(certain) < len(text):
            # No character; but the last byte may begin one.
            certain = text[:-1]
        piece = text[self._sent:len(certain)]
        self._sent = max(self._sent, len(certain))
        if certain == text:
            self._before, self._new = self._new, []
            self._sent = len(decode(self._before))
        elif len(self._new) > 4 * _UNDECIDED:
            self._forget(text)
        return piece

    def _forget(self, text):
        """Keeps a long run of bytes that are no characters from being decoded again and again."""
        decode, cut = self._tokenizer.decode, len(self._new) - _UNDECIDED
        old = decode(self._before + self._new[:cut])
        if text.startswith(old) and len(old) <= self._sent:
            self._before, self._new = self._new[:cut], self._new[cut:]
            self._sent += len(decode(self._before)) - len(old)
