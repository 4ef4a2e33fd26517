"""Token ids to text, piece by piece.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The text is the decoded bytes of the tokens. An incomplete character is held back, and so is text
that may begin a stop string. If spaces before punctuation are to be removed, the last word is held
back as well.
"""

import codecs

# UTF-8 has at most four bytes for a character, so at most three of them precede a token.
_OPEN = 3


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


class _Words:
    """Applies `change`, which looks at a space and the word after it, and therefore holds back
    the last word."""

    def __init__(self, change):
        self._change, self._held = change, ""

    def push(self, text):
        text = self._held + text
        # A space after an apostrophe belongs to the same pattern.
        at = max((i for i in range(1, len(text)) if text[i] == " " and text[i - 1] not in " '"),
                 default=0)
        self._held = text[at:]
        return self._change(text[:at])

    def flush(self):
        text, self._held = self._held, ""
        return self._change(text)

    @property
    def held(self):
        return len(self._change(self._held))


class _WordEnds:
    """Drops the last space of tokens that carry the space after them."""

    def __init__(self):
        self._held = ""

    def push(self, text):
        text = self._held + text
        self._held = " " if text.endswith(" ") else ""
        return text[:len(text) - len(self._held)]

    def flush(self):
        self._held = ""
        return ""

    @property
    def held(self):
        return len(self._held)


class TextDecoder:
    """Decodes tokens as they come, and leaves out special ones.

    Args:
        tokenizer: a Tokenizer.
        prompt: ids that came before. The first new token keeps its space if one of them is
            visible, and a character that the prompt leaves incomplete is whole in the text.
        shown: special ids that are part of the text, or True for all of them.

    Attributes:
        length: characters so far, including those held back, which is where the next token
            begins. A token inside a character begins where the character does.
        is_first: whether the next visible token begins the text.
    """

    def __init__(self, tokenizer, prompt=(), shown=()):
        self._tokenizer, self._shown = tokenizer, shown
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._words = _WordEnds() if tokenizer.ends_words else (
            _Words(tokenizer.clean) if tokenizer.clean else None)
        # The last bytes of the prompt may begin a character.
        open_, self.is_first = b"", True
        for i in reversed(prompt):
            if len(open_) >= _OPEN:
                break
            if not tokenizer.is_special(i):
                self.is_first = False
                open_ = tokenizer.bytes(i) + open_
        self._utf8.decode(open_[-_OPEN:])
        self._made = 0

    @property
    def length(self):
        return self._made + (self._words.held if self._words else 0)

    def _say(self, text, end=False):
        if self._words:
            text = self._words.push(text) + (self._words.flush() if end else "")
        self._made += len(text)
        return text

    def push(self, i):
        """Returns the text that has become certain."""
        if self._tokenizer.is_special(i) and self._shown is not True and i not in self._shown:
            return ""
        piece = self._tokenizer.bytes(i, self.is_first)
        self.is_first = False
        return self._say(self._utf8.decode(piece))

    def flush(self):
        """Returns the rest of the text, after the last token."""
        return self._say(self._utf8.decode(b"", final=True), end=True)


class StreamDecoder:
    """Decodes tokens as they come, up to a stop string.

    Args:
        tokenizer: a Tokenizer.
        stop: strings that end the text; they are not part of it.
        prompt: ids that came before (TextDecoder).
        shown: special ids that are part of the text (TextDecoder).

    Attributes:
        stopped: the stop string that was found, or None.
        is_first: whether the next token begins the text.
        offset: where the next token begins, in characters. A stop string may end the text before
            it.
        certain: number of characters returned so far.
    """

    def __init__(self, tokenizer, stop=(), prompt=(), shown=()):
        self._text = TextDecoder(tokenizer, prompt, shown)
        self._stops = StopStrings([stop] if isinstance(stop, str) else stop)
        self.certain = 0

    @property
    def stopped(self):
        return self._stops.found

    @property
    def is_first(self):
        return self._text.is_first

    @property
    def offset(self):
        return self._text.length

    def _give(self, text):
        self.certain += len(text)
        return text

    def push(self, ids):
        """Returns the text that has become certain."""
        return self._give(self._stops.push("".join(map(self._text.push, ids))))

    def flush(self):
        """Returns the rest of the text, after the last token."""
        return self._give(self._stops.push(self._text.flush()) + self._stops.flush())
