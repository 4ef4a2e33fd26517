"""The command line of tp-serve.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import pathlib
import sys

from .. import _engine_options, _signals, _version
from .._errors import exit_code
from .._numbers import integer, number
from ..text import Tokenizer
from ._run import serve
from ._settings import KEY_VARIABLE, Settings, api_keys


def _parser():
    parser = argparse.ArgumentParser(
        prog="tp-serve", description="Serve a model by OpenAI's HTTP interface.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    _version.add(parser)
    _engine_options.add(parser)
    default = Settings(model="")
    parser.add_argument("--model-name", help="as requests call it (default: the folder's name)")
    parser.add_argument("--host", default=default.host, help="address to listen at")
    parser.add_argument("--port", type=integer(0, 65535), default=default.port,
                        help="0 takes a free one")
    parser.add_argument("--api-key-file", metavar="FILE",
                        help=f"keys that let in, one a line; or one key in ${KEY_VARIABLE}")
    for name, kind, about in (
            ("max_body_bytes", integer(1), "of a request"),
            ("max_choices", integer(1), "answers that one request may ask for"),
            ("max_answers", integer(1), "answers in the making at once"),
            ("requests_per_minute", integer(0), "of one client; 0 sets no limit"),
            ("drain_seconds", number(0), "how long answers may go on after SIGTERM")):
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind,
                            default=getattr(default, name), help=about)
    return parser


def main(open_engine, arguments=None):
    """tp-serve. `open_engine(folder, **options)` gives an engine.Engine; options are those of
    _engine_options."""
    args = _parser().parse_args(arguments)
    try:
        settings = Settings(
            model=args.model_name or pathlib.Path(args.model).resolve().name,
            api_keys=api_keys(args.api_key_file),
            **{name: getattr(args, name) for name in (
                "host", "port", "max_body_bytes", "max_choices", "max_answers",
                "requests_per_minute", "drain_seconds")})
        options = _engine_options.given(args)
        tokenizer = Tokenizer(args.model, options.get("generation_config"))
        for note in tokenizer.notes:
            print(f"tp-serve: {note}", file=sys.stderr)
        print(f"tp-serve: opening {args.model}", file=sys.stderr, flush=True)
        with _signals.sigterm_raises():
            model = open_engine(args.model, **options)
        _engine_options.say_notes("tp-serve", model)
        failure = serve(model, tokenizer, settings)
    except (ValueError, OSError, RuntimeError, ImportError) as error:
        print(f"tp-serve: {error}", file=sys.stderr)
        failure = error
    except KeyboardInterrupt as interrupt:
        # While it was opened; a server drains then.
        return _signals.exit_code(interrupt)
    return exit_code(failure)
