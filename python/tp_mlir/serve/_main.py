"""The command line of tp-serve.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import json
import pathlib
import sys

from .. import _command_line, _encoder, _engine_options, _signals, _version
from .._errors import exit_code
from .._numbers import integer, number
from .._session import is_launched
from ..text import Tokenizer, find_format
from ._fields import NOT_VARIABLES
from ._run import check_address, serve
from ._settings import KEY_VARIABLE, Settings, api_keys


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Defaults of options that have one and whose text does not say it."""

    def _get_help_string(self, action):
        said = action.help or ""
        if action.default in (None, {}) or "default" in said:
            return said
        return super()._get_help_string(action)


def _parser():
    parser = _command_line.Parser(
        prog="tp-serve", description="Serve a model by OpenAI's HTTP interface.",
        formatter_class=_Help)
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
            ("max_choices", integer(1), "choices that one request may ask for (n)"),
            ("max_answers", integer(1), "requests in progress at once"),
            ("requests_per_minute", integer(0), "of one client; 0 sets no limit"),
            ("drain_seconds", number(0), "how long answers may go on after SIGTERM"),
            ("max_connections", integer(1), "connections open at once"),
            ("header_seconds", number(0, above=True),
             "how long a connection may be without a request"),
            ("body_seconds", number(0, above=True), "how long a request's body may take")):
        parser.add_argument(f"--{name.replace('_', '-')}", type=kind,
                            default=getattr(default, name), help=about)
    parser.add_argument("--task", choices=("generate", "embed"),
                        help="what the model is for (default: embed if the checkpoint has "
                             "modules.json, as those of sentence-transformers)")
    parser.add_argument("--access-log", choices=("none", "text", "json"),
                        default=default.access_log, help="a line for each request")
    parser.add_argument("--chat-template-kwargs", type=_object, metavar="JSON", default={},
                        help="variables of the chat template, which a request's own replace")
    parser.add_argument("--tool-format", metavar="NAME",
                        help="how the model writes calls of tools (default: as its chat template "
                             "shows)")
    return parser


def _object(value):
    """The type of an option that is a JSON object."""
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise argparse.ArgumentTypeError(f"expected a JSON object, got '{value}'")
    for name in NOT_VARIABLES:
        if name in parsed:
            raise argparse.ArgumentTypeError(
                f"expected variables of the chat template, got '{name}'")
    return parsed


def main(open_engine, arguments=None):
    """tp-serve. `open_engine(folder, **options)` gives an engine.Engine; options are those of
    _engine_options."""
    args = _parser().parse_args(arguments)
    return _command_line.carry_out("tp-serve", lambda: exit_code(_carry_out(open_engine, args)),
                                   _parser())


def _carry_out(open_engine, args):
    """Serves; returns the engine's failure, if that has ended it."""
    settings = Settings(
        model=args.model_name or pathlib.Path(args.model).resolve().name,
        api_keys=api_keys(args.api_key_file),
        **{name: getattr(args, name) for name in (
            "host", "port", "max_body_bytes", "max_choices", "max_answers",
            "requests_per_minute", "drain_seconds", "max_connections", "header_seconds",
            "body_seconds", "access_log", "chat_template_kwargs", "tool_format")})
    options = _engine_options.given(args)
    # Once it is open, a server drains when it is told to end.
    with _signals.doing("opening the model"), _signals.sigterm_raises():
        tokenizer = Tokenizer(args.model, options.get("generation_config"))
        if args.tool_format is not None:
            find_format(tokenizer.template, args.tool_format)
        for note in tokenizer.notes:
            print(f"tp-serve: {note}", file=sys.stderr)
        # Of ranks on several hosts, the first alone has the address.
        if not is_launched():
            check_address(settings.host, settings.port)
        print(f"tp-serve: opening {args.model}", file=sys.stderr, flush=True)
        task = args.task or ("embed" if _encoder.is_encoder(args.model) else "generate")
        opened = _encoder.Encoder if task == "embed" else open_engine
        model = opened(args.model, **options)
    if model.about:
        print(f"tp-serve: {model.about}", file=sys.stderr, flush=True)
    _engine_options.say_notes("tp-serve", model)
    return serve(model, tokenizer, settings)
