"""A checkpoint's tokenizer and what its files say about it.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The ids, the tokens around a text, the end token and the chat template are those of
`AutoTokenizer.from_pretrained` of transformers 5. `notes` lists what is ignored in the files;
programs print it when they start.
"""

import bisect
import functools
import json
import pathlib

from .. import _checkpoint
from . import _bytes, _files
from ._builder import Built, beyond
from ._files import TextError
from ._stream import TextDecoder
from ._template import NO_TEMPLATE, TemplateError, read_templates


# A piece of a text is encoded with so many characters before and after it, which is more than any
# token has, and so many tokens before it must be those that the piece before it ended with.
_MARGIN, _AGREED = 1 << 10, 16


def _generation_config(folder, choice):
    """The path that `choice` names, as tp-compile's --generation-config; None: no file counts."""
    if choice is None:
        return folder / "generation_config.json"
    if choice == "none":
        return None
    path = pathlib.Path(choice)
    return path / "generation_config.json" if path.is_dir() else path


def _stop_ids(folder, choice):
    """Every id that ends an answer: each file may name one, a list, or none, and so may what
    config.json says of the text in a model of text and more."""
    found = set()
    config, own = _files.read(folder / "config.json"), _generation_config(folder, choice)
    model = folder / "config.json"
    for path, place in ((own, _files.read(own) if own else {}), (model, config),
                        (model, _checkpoint.text_config(config))):
        value = place.get("eos_token_id")
        values = value if isinstance(value, list) else [] if value is None else [value]
        for one in values:
            if not isinstance(one, int) or isinstance(one, bool):
                raise TextError(f"{path}: eos_token_id: expected an id or a list of "
                                f"them, got {json.dumps(value)}")
        found.update(values)
    return frozenset(found)


class Tokenizer:
    """Text to ids and back, as the checkpoint's own files say.

    Args:
        folder: with tokenizer.json (or a GGUF file), or vocab.json and merges.txt of a class that needs no more;
            the files beside it are read where they exist (docs/Serving.md has a table).
        generation_config: a file that counts instead of generation_config.json, or "none".

    Attributes:
        stop_ids: ids that end an answer: those of generation_config.json and config.json, and
            the tokenizer's end token.
        bos, eos: what begins and what ends a text, as ids; None if the tokenizer has no such
            token.
        special_tokens: texts of the tokens that have a name, such as eos_token.
        around: ids that `encode` adds before a text, and ids that it adds after it.
        template: ChatTemplate, or None.
        size: ids are below this.
        clean: function that is applied to decoded text, or None.
        ends_words: whether a token carries the space that follows it.
        notes: messages about keys and files that are ignored, with the reasons.

    Raises TextError if a file is missing, broken, or asks for what is not supported.
    """

    def __init__(self, folder, generation_config=None):
        # An adapter's folder may have the whole model's tokenizer, and more often has none.
        is_alone = (pathlib.Path(folder) / "tokenizer.json").is_file()
        folder = pathlib.Path(_checkpoint.open_model(folder, TextError, is_whole=not is_alone))
        config = _files.read(folder / "config.json")
        built = Built(folder, config)
        self._tokenizer, self._decoder = built.backend, built.decoder
        self.around, self.notes = built.around, list(built.notes)
        self.clean = _bytes.cleaned if built.clean else None
        self.ends_words = built.decoder.ends_words
        self.special_tokens = built.names
        self.template, notes = read_templates(folder, built.config, built.names)
        self.notes += notes
        self.bos, self.eos = (self._tokenizer.token_to_id(built.names[name])
                              if name in built.names else None
                              for name in ("bos_token", "eos_token"))
        self.stop_ids = _stop_ids(folder, generation_config) | ({self.eos} - {None})
        self._special = built.special
        self.size = max(self._tokenizer.get_vocab().values(), default=-1) + 1
        self._check_size({**config, **_checkpoint.text_config(config)}.get("vocab_size"))

    def _check_size(self, size):
        """Compares the ids with the size of the model's vocabulary, if it is known."""
        if not isinstance(size, int) or self.size <= size:
            return
        for i in [*self.around[0], *self.around[1]]:
            if i >= size:
                raise TextError(f"the tokenizer puts {self.token(i)!r} around a text, which has id "
                                f"{i}, and the model's vocabulary ends before {size}: expected the "
                                "tokenizer that belongs to the model")
        self.notes.append(f"tokens beyond the model's vocabulary of {size}: "
                          f"{beyond(self._tokenizer, size)}; a prompt with one is refused")
        # The model cannot produce it, and engines refuse ids beyond their vocabulary.
        if self.eos is not None and self.eos >= size:
            self.stop_ids -= {self.eos}

    def encode(self, text, add_special_tokens=True):
        """Ids of a text, with what the tokenizer puts around one, such as a token that begins
        it. A text that begins with that token already gets no second one."""
        ids = self._encoding(text, add_special_tokens).ids
        if add_special_tokens and self.bos in self.around[0][:1] and ids[:2] == [self.bos] * 2:
            del ids[0]
        return ids

    def _encoding(self, text, add_special_tokens=False):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise TextError("expected a text, got half of a character or bytes that are no UTF-8 "
                            "in it") from None
        with _files.package_errors("the tokenizer does not take the text"):
            return self._tokenizer.encode(text, add_special_tokens=add_special_tokens)

    def encode_pieces(self, text, size=1 << 20):
        """Yields lists of ids that together are those of the text, without what the tokenizer puts
        around one.

        About `size` characters are encoded at once, with what stands before and after them, since
        where a text is cut a tokenizer may begin otherwise than in the middle of a line. Pieces
        are cut between two tokens, and a piece must begin as the one before it ends: the text
        before it is taken longer until the tokens there agree.
        """
        begin, tail, margin = 0, [], _MARGIN
        while begin < len(text):
            first, last = max(begin - margin, 0), min(begin + size + margin, len(text))
            encoding = self._encoding(text[first:last])
            starts = [first + start for start, _ in encoding.offsets]
            place = bisect.bisect_left(starts, begin)
            if first and encoding.ids[max(place - len(tail), 0):place] != tail:
                margin *= 2
                continue
            end = len(starts)
            if last < len(text):
                end = bisect.bisect_left(starts, begin + size)
                if end == len(starts):
                    margin *= 2
                    continue
            ids = encoding.ids[place:end]
            begin = starts[end] if end < len(starts) else len(text)
            tail = (tail + ids)[-_AGREED:]
            margin = _MARGIN
            yield ids

    def encode_chat(self, messages, **options):
        """Ids of a conversation that an answer is to follow. Its template writes all special
        tokens itself. Options are those of ChatTemplate.render."""
        if self.template is None:
            raise TemplateError(NO_TEMPLATE)
        options = {"add_generation_prompt": not options.get("continue_final_message"), **options}
        text = self.template.render(messages, **options)
        return self.encode(text, add_special_tokens=False)

    def decode(self, ids, special=False):
        """Returns the text of ids: their bytes, decoded as UTF-8, with special tokens only if
        `special` is set."""
        decoder = TextDecoder(self, shown=special or ())
        return "".join(map(decoder.push, ids)) + decoder.flush()

    def bytes(self, i, first=False):
        """Returns the bytes of a token, or b"" for an unknown id.

        Args:
            i: the id. Special tokens have bytes too, although decoding leaves them out.
            first: whether the token begins the text, which may drop its leading space.
        """
        spelled = self._tokenizer.id_to_token(i) if i >= 0 else None
        return b"" if spelled is None else self._bytes(i, spelled, first)

    def _bytes(self, i, spelled, first=False):
        if i in self._special:
            return spelled.encode()
        if self._decoder.unknown:
            return self._tokenizer.decode([i], skip_special_tokens=False).encode()
        return self._decoder.piece(spelled, first)

    def token(self, i):
        """Returns a string that identifies the id: its text if no other id has that, else
        "bytes:\\xe2\\x80" with its bytes, or "token_id:7"."""
        return self._strings.get(i) or f"token_id:{i}"

    @functools.cached_property
    def _strings(self):
        """The string of each id. Of ids with the same bytes, the lowest one that is no byte token
        gets the text."""
        spelled = sorted((text.startswith("<0x"), i, text)
                         for text, i in self._tokenizer.get_vocab().items())
        found, used, later = {}, set(), []
        for _, i, text in spelled:
            data = self._bytes(i, text)
            try:
                text = data.decode()
            except UnicodeDecodeError:
                text = ""
            if text and text not in used:
                found[i] = text
                used.add(text)
            else:
                later.append((i, data))
        for i, data in later:
            text = "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)
            if not data or text in used:
                text = f"token_id:{i}"
            while text in used:
                text += "'"
            found[i] = text
            used.add(text)
        return found

    def is_special(self, i):
        return i in self._special

    @functools.cached_property
    def special_texts(self):
        """Ids of the special tokens by their texts."""
        return {self._tokenizer.id_to_token(i): i for i in self._special}
