"""A checkpoint that answers: text or token ids in, text and ids out.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import logging
import queue
import time
from dataclasses import dataclass, replace
from typing import Optional

from . import _generator, engine
from ._packages import needed

_LOG = logging.getLogger(__name__)
# How long to wait for room in an engine's queue that others have filled.
_FULL_SECONDS = 0.01


@dataclass(frozen=True)
class Answer:
    """What follows a prompt.

    Attributes:
        ids: the new tokens, the one that stopped it among them.
        finish: "stop" or "length".
        text: of the ids, without the token or the stop string that ended it; None after a prompt of
            ids, unless there are stop strings.
        logprobs: engine.Logprobs of each token, if they were asked for.
    """

    ids: tuple
    finish: str
    text: Optional[str]
    logprobs: tuple


class _Asked:
    """One prompt, and what has come of it."""

    def __init__(self, ids, params, decoder):
        self.ids, self.params, self._decoder = ids, params, decoder
        self.request = self.finish = None
        self.error = ""
        self._made, self._logprobs, self._text = [], [], ""

    def take(self, event):
        """Returns the new text; sets `finish` at the end, which a stop string may bring."""
        self.finish, self.error = event.finish, event.error
        shown, text = engine.shown(event, self.params.stop_ids), ""
        for number, i in enumerate(event.ids):
            self._made.append(i)
            self._logprobs += event.logprobs[number:number + 1]
            if self._decoder is not None and number < len(shown):
                text += self._decoder.push([i])
                if self._decoder.stopped is not None:
                    self.finish = "stop"
                    break
        if self._decoder is not None and self.finish is not None:
            text += self._decoder.flush()
        self._text += text
        return text

    @property
    def is_stopped(self):
        """True if a stop string has ended it, which the engine does not know of."""
        return self._decoder is not None and self._decoder.stopped is not None

    def answer(self):
        return Answer(tuple(self._made), self.finish,
                      None if self._decoder is None else self._text, tuple(self._logprobs))


class _Progress:
    """Tells of prompts that are answered: to a function, on standard error, or to nobody."""

    def __init__(self, progress, total):
        self._total, self._done, self._bar = total, 0, None
        self._call = progress if callable(progress) else None
        if progress and self._call is None:
            self._bar = needed("tqdm", "text").tqdm(total=total, unit="prompt")

    def one_more(self):
        self._done += 1
        if self._call is not None:
            self._call(self._done, self._total)
        if self._bar is not None:
            self._bar.update()

    def close(self):
        if self._bar is not None:
            self._bar.close()


class LLM:
    """A checkpoint folder, or a GGUF file, compiled and opened: weights are read once.

    Args:
        folder: the checkpoint. Text needs its tokenizer.json and the packages of
            `pip install './python[text]'`; token ids need neither. Where there are both, answers to
            ids end at the tokenizer's end token too, as those to text do.
        options: mesh, plan, target, context, rows, chunk, cells, memory, dtype, kv_dtype,
            quantize, generation_config, untie, ignore: as tp-compile's; backend and timeout as
            tp-run's.
            speculate: tokens of a step that may be guessed, for each request; no answer changes.
            program: an artifact that tp-compile --generate has made, instead of its options.

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

    def __repr__(self):
        return f"<tp_mlir.LLM {self._folder}, up to {self.engine.context:,} tokens>"

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

    def _asked(self, prompt, stop, options, has_text=False):
        """A prompt with its Params, which have the checkpoint's stop ids."""
        params, is_text = engine.Params(**options), isinstance(prompt, str)
        stops = self.engine.stop_ids.union(params.stop_ids, self._end_ids(is_text))
        ids = self.tokenizer.encode(prompt) if is_text else list(prompt)
        decoder = None
        if is_text or stop or has_text:
            from .text import StreamDecoder

            decoder = StreamDecoder(self.tokenizer, stop, ids)
        return _Asked(ids, replace(params, stop_ids=stops), decoder)

    def generate(self, prompts, *, stop=(), progress=None, **options):
        """Continue all prompts together.

        Args:
            prompts: strings or lists of token ids, or one of either; any number of them.
            stop: a string or several, which end an answer's text.
            progress: True for a bar on standard error; or a function that is called with how
                many prompts are answered and how many there are, after each.
            options: engine.Params': max_tokens, temperature, top_k, top_p, min_p, seed,
                stop_ids, ...

        Returns:
            list of Answer in the order of the prompts; of one prompt, its Answer.
        """
        if not isinstance(prompts, str):
            prompts = list(prompts)
        if isinstance(prompts, str) or (prompts and isinstance(prompts[0], int)):
            return self.generate([prompts], stop=stop, progress=progress, **options)[0]
        return self._generate(prompts, False, stop, progress, **options)

    def _generate(self, prompts, has_text, stop=(), progress=None, **options):
        """Answers lists of ids with text too if `has_text` is set."""
        asked = [self._asked(prompt, stop, options, has_text) for prompt in prompts]
        told = _Progress(progress, len(asked))
        try:
            self._run(asked, told)
        finally:
            told.close()
            for one in asked:
                if one.request is not None and one.finish is None:
                    self.engine.cancel(one.request)
        return [one.answer() for one in asked]

    def _run(self, asked, progress):
        """Has all of them answered, as many at once as the engine takes."""
        events, waiting, running = queue.SimpleQueue(), list(reversed(asked)), 0
        while waiting or running:
            while waiting:
                one = waiting[-1]
                try:
                    one.request = self.engine.submit(
                        one.ids, one.params, lambda event, one=one: events.put((one, event)))
                except engine.QueueFullError:
                    if not running:
                        time.sleep(_FULL_SECONDS)
                        continue
                    break
                waiting.pop()
                running += 1
            one, event = events.get()
            if one.finish is not None:
                continue  # It was ended by a stop string.
            one.take(event)
            if one.finish in ("error", "cancel"):
                raise engine.EngineError(one.error or "the engine was closed")
            if one.finish is not None:
                if one.is_stopped:
                    self.engine.cancel(one.request)
                running -= 1
                progress.one_more()

    def chat(self, messages, *, tools=None, chat_template_kwargs=None, add_generation_prompt=True,
             continue_final_message=False, **options):
        """Answer a conversation, or several together.

        Args:
            messages: list of dicts with "role" and "content", or list of such lists.
            tools: JSON schemas of functions, for templates that know tools.
            chat_template_kwargs: dict of further variables of the chat template.
            add_generation_prompt: the answer is a new message.
            continue_final_message: the answer continues the last message; then
                add_generation_prompt must be False.
            options: those of `generate`.

        Returns:
            Answer, or list of Answer in the order of the conversations.
        """
        is_one = not messages or isinstance(messages[0], dict)
        prompts = [self.tokenizer.encode_chat(
            one, tools=tools, add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message, **(chat_template_kwargs or {}))
            for one in ([messages] if is_one else messages)]
        options["stop_ids"] = frozenset(options.get("stop_ids", ())) | self.tokenizer.stop_ids
        answers = self._generate(prompts, True, **options)
        return answers[0] if is_one else answers

    def stream(self, prompt, *, stop=(), **options):
        """The pieces of one answer as they come: of text after a string, or with stop strings;
        token ids after ids. Leaving the loop cancels the request."""
        one = self._asked(prompt, stop, options)
        is_text = isinstance(prompt, str) or bool(stop)
        for event in engine.stream(self.engine, one.ids, one.params):
            text = one.take(event)
            if not is_text:
                yield from event.ids
            elif text:
                yield text
            if one.finish is not None:
                return

    def close(self):
        self.engine.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
