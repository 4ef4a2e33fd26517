"""Text to token ids and back: tokenizers, chat templates, streams of text.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Needs the packages tokenizers and jinja2: `pip install 'tp-mlir[text]'`.
"""

from ._files import TextError, copy_sources
from ._stream import StreamDecoder
from ._template import ChatTemplate, TemplateError
from ._tokenizer import Tokenizer

__all__ = ["ChatTemplate", "StreamDecoder", "TemplateError", "TextError", "Tokenizer",
           "copy_sources"]
