"""Answers that follow a grammar: which tokens may come next.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

llguidance compiles a JSON schema, a regular expression or a grammar in Lark's notation and
computes, for each token of an answer, the set of tokens that keep the answer within the grammar.
It sees tokens as the bytes that Tokenizer gives them, so any tokenizer will do.
"""

import functools
import json

import numpy

from .._packages import needed
from . import _schema

# Any amount of white space is valid JSON, and a model that is not sure may write it for ever. This
# is a blank, or a line break with indentation.
_BLANKS = r"(\x20|\x0D?\x0A[\x20\x09]{0,40})"


class GrammarError(ValueError):
    """A grammar that is broken or too complex, or uses what is not supported."""


def _check(schema):
    if words := _schema.refusal(schema):
        raise GrammarError(words)


def json_grammar(schema):
    """Returns the grammar of the JSON values that a schema, a dict or a bool, allows. Raises
    GrammarError for a keyword that JSON Schema does not have."""
    _check(schema)
    matcher = needed("llguidance", "serve").LLMatcher
    schema = {} if schema is True else schema  # llguidance takes its options within an object.
    return matcher.grammar_from_json_schema(json.dumps(schema),
                                            overrides={"whitespace_pattern": _BLANKS})


def regex_grammar(pattern):
    """Returns the grammar of the texts that a regular expression matches as a whole."""
    return needed("llguidance", "serve").LLMatcher.grammar_from_regex(pattern)


def lark_grammar(source):
    """Returns a grammar that is written in Lark's notation, as llguidance has it."""
    return needed("llguidance", "serve").LLMatcher.grammar_from_lark(source)


def in_lark(schema):
    """Returns a schema as a term of a grammar in Lark's notation. Raises as json_grammar does."""
    _check(schema)
    if isinstance(schema, dict):
        schema = {**schema, "x-guidance": {"whitespace_pattern": _BLANKS}}
    return f"%json {json.dumps(schema)}"


class _Backend:
    """A tokenizer as llguidance asks for it."""

    bos_token_id = None

    def __init__(self, tokenizer, size):
        self._tokenizer = tokenizer
        # Ids without bytes are none that a grammar can ask for.
        self.tokens = [tokenizer.bytes(i) for i in range(size)]
        self.special_token_ids = [i for i, data in enumerate(self.tokens)
                                  if not data or tokenizer.is_special(i)]
        self.eos_token_id = size - 1

    def __call__(self, text):
        text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        return [i for i in self._tokenizer.encode(text, add_special_tokens=False)
                if i < len(self.tokens)]


class Mask:
    """The mask of one answer, as engine.Params takes it: it follows the answer's tokens."""

    def __init__(self, matcher, size):
        self._matcher, self._count = matcher, 0
        self._buffer = numpy.zeros((size + 31) // 32, numpy.uint32)

    def __call__(self, ids, words):
        """Sets the bits of the tokens that may follow `ids`; False if the answer is complete.

        Raises GrammarError if the grammar has become too complex.
        """
        matcher = self._matcher
        if len(ids) > self._count:
            matcher.consume_tokens([*ids[self._count:]])
            self._count = len(ids)
        if not matcher.is_stopped():
            matcher.unsafe_compute_mask_ptr(self._buffer.ctypes.data, self._buffer.nbytes)
        if matcher.is_error():
            raise GrammarError(f"the answer's grammar: {matcher.get_error()}")
        words[:] = self._buffer[:len(words)]
        return not matcher.is_stopped()


class Grammars:
    """Makes masks for the answers of one model.

    Args:
        tokenizer: a Tokenizer.
        vocabulary: of the model; ids are below this.
    """

    def __init__(self, tokenizer, vocabulary):
        self._tokenizer, self._vocabulary = tokenizer, vocabulary

    @functools.cached_property
    def _backend(self):
        guidance = needed("llguidance", "serve")
        # One id more than there are, for a model without a token that ends an answer.
        size = self._vocabulary + 1
        ends = sorted(i for i in self._tokenizer.stop_ids if i < size) or [size - 1]
        return guidance.LLTokenizer(guidance.TokenizerWrapper(_Backend(self._tokenizer, size)),
                                    n_vocab=size, eos_token=ends)

    def compile(self, grammar):
        """Compiles a grammar and returns a function that makes the Mask of one answer.

        Raises GrammarError with what is wrong with it.
        """
        matcher = needed("llguidance", "serve").LLMatcher(self._backend, grammar, log_level=0)
        if matcher.is_error():
            raise GrammarError(matcher.get_error().strip())
        return lambda: Mask(matcher.deep_copy(), self._vocabulary + 1)
