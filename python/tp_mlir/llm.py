"""A checkpoint that answers: text or token ids in, text and ids out.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import logging
import queue
from dataclasses import dataclass, replace
from typing import Optional

from . import _generator, engine

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answer:
    """What follows a prompt.

    Attributes:
        ids: the new tokens, the one that stopped it among them.
        finish: "stop" or "length".
        text: of the ids, without the token that stopped it; None after a prompt of ids.
        logprobs: engine.Logprobs of each token, if they were asked for.
    """

    ids: tuple
    finish: str
    text: Optional[str]
    logprobs: tuple


class LLM:
    """A checkpoint folder, compiled and opened: weights are read once.

    Args:
        folder: the checkpoint. Text needs its tokenizer.json and the packages of
            `pip install 'tp-mlir[text]'`; token ids need neither. Where there are both, answers to
            ids end at the tokenizer's end token too, as those to text do.
        options: mesh, plan, target, context, rows, chunk, dtype, kv_dtype, generation_config,
            untie, ignore: as tp-compile's; backend and timeout as tp-run's.

    Parameters that a request leaves out are those of the checkpoint's generation_config.json
    (`engine.defaults`). The logger "tp_mlir" tells which, and what of the file is ignored.

    Any thread may use it. Close it, or use it in a `with`.
    """

    def __init__(self, folder, **options):
        self._folder, self._tokenizer, self._ends = folder, None, None
        self._generation_config = options.get("generation_config")
        self.engine = _generator.open_engine(folder, **options)
        for note in self.engine.notes:
            logging.getLogger("tp_mlir").warning(note)

    @property
    def tokenizer(self):
        if self._tokenizer is None:
            from .text import Tokenizer

            self._tokenizer = Tokenizer(self._folder, self._generation_config)
            for note in self._tokenizer.notes:
                _LOG.warning("%s: %s", self._folder, note)
        return self._tokenizer

    def _end_ids(self, is_text):
        """The ids at which the tokenizer ends an answer; none for ids if there is none to read."""
        if is_text:
            return self.tokenizer.stop_ids
        if self._ends is None:
            try:
                self._ends = self.tokenizer.stop_ids
            except (ImportError, ValueError) as error:
                _LOG.debug("%s: no tokenizer: %s", self._folder, error)
                self._ends = frozenset()
        return self._ends

    def _asked(self, prompt, options):
        """The ids, the Params with the checkpoint's stop ids, and whether the prompt is
        text."""
        params, is_text = engine.Params(**options), isinstance(prompt, str)
        stops = self.engine.stop_ids.union(params.stop_ids, self._end_ids(is_text))
        ids = self.tokenizer.encode(prompt) if is_text else list(prompt)
        return ids, replace(params, stop_ids=stops), is_text

    def generate(self, prompts, **options):
        """Continue all prompts together.

        Args:
            prompts: strings or lists of token ids, or one of either.
            options: engine.Params': max_tokens, temperature, top_k, top_p, min_p, seed,
                stop_ids, ...

        Returns:
            list of Answer in the order of the prompts; of one prompt, its Answer.
        """
        if isinstance(prompts, str) or (prompts and isinstance(prompts[0], int)):
            return self.generate([prompts], **options)[0]
        asked = [self._asked(prompt, options) for prompt in prompts]
        begun = []
        try:
            for ids, params, _ in asked:
                events = queue.SimpleQueue()
                begun.append((self.engine.submit(ids, params, events.put), events))
            return [self._answer(events, ids if is_text else None)
                    for (_, events), (ids, _, is_text) in zip(begun, asked)]
        except BaseException:
            for request, _ in begun:
                self.engine.cancel(request)
            raise

    def _answer(self, events, prompt):
        """`prompt`: the ids of a prompt that is text; else None."""
        ids, logprobs, finish = [], [], None
        while finish is None:
            event = events.get()
            finish = event.finish
            ids += event.ids
            logprobs += event.logprobs
        if finish not in ("stop", "length"):
            raise engine.EngineError(event.error or "the engine was closed")
        text = None
        if prompt is not None:
            decoder = self._decoder(prompt)
            text = decoder.push(ids[:-1] if finish == "stop" else ids) + decoder.flush()
        return Answer(tuple(ids), finish, text, tuple(logprobs))

    def _decoder(self, prompt):
        from .text import StreamDecoder

        return StreamDecoder(self.tokenizer, prompt=prompt)

    def stream(self, prompt, **options):
        """The pieces of one answer as they come: of text after a string, token ids after
        ids. Leaving the loop cancels the request."""
        ids, params, is_text = self._asked(prompt, options)
        events = engine.stream(self.engine, ids, params)
        if not is_text:
            for event in events:
                yield from event.ids
            return
        decoder = self._decoder(ids)
        for event in events:
            shown = event.ids[:-1] if event.finish == "stop" else event.ids
            text = decoder.push(shown)
            if event.finish is not None:
                text += decoder.flush()
            if text:
                yield text

    def close(self):
        self.engine.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
