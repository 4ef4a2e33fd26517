"""Text to token ids and back: tokenizers, chat templates, streams of text.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Needs the packages tokenizers and jinja2: `pip install './python[text]'`.
"""

from ._calls import NAME, CallParser, calls_grammar, find_format
from ._files import TextError, copy_sources
from ._grammar import (GrammarError, Grammars, in_lark, json_grammar, lark_grammar,
                       regex_grammar)
from ._stream import StreamDecoder, TextDecoder
from ._template import NO_TEMPLATE, ChatTemplate, TemplateError
from ._tokenizer import Tokenizer

__all__ = ["NAME", "CallParser", "ChatTemplate", "GrammarError", "Grammars", "NO_TEMPLATE", "StreamDecoder",
           "TemplateError", "TextDecoder", "TextError", "Tokenizer", "calls_grammar",
           "copy_sources", "find_format", "in_lark", "json_grammar", "lark_grammar",
           "regex_grammar"]
