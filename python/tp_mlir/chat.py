"""A conversation in a terminal: `tp-chat`.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import contextlib
import pathlib
import sys
from dataclasses import replace

from . import _command_line, _engine_options, _signals, _version, engine
from ._errors import exit_code
from ._numbers import integer, number
from .text import NO_TEMPLATE, StreamDecoder, TemplateError, TextError, Tokenizer

HELP = """\
  /help         this
  /new          forget what was said
  /system TEXT  what the model is told before all else; without TEXT, nothing
  /again        another answer to the last question: the same at temperature 0
  /temperature T  how freely answers are drawn from now on: 0 takes the likeliest token
  /quit         end (or Ctrl-D)
Ctrl-C stops an answer. What was said before is dropped, oldest first, when it no longer fits.
"""


class Conversation:
    """What was said, and the engine and tokenizer to go on with.

    Args:
        params: engine.Params without max_tokens and stop_ids, which are the context's rest
            and the tokenizer's.
        room: tokens that are kept for an answer.

    Attributes:
        messages: list of dicts with "role" and "content", without the system's.
        system: the system's message, or "".
        dropped: messages that the last question has dropped for want of room.
    """

    def __init__(self, model, tokenizer, params=engine.Params(), room=128):
        self._engine, self._tokenizer = model, tokenizer
        self._params, self._room = params, room
        self.system, self.messages, self.dropped = "", [], 0

    @property
    def temperature(self):
        """What answers are drawn at; None: the checkpoint's default."""
        return self._params.temperature

    @temperature.setter
    def temperature(self, value):
        self._params = replace(self._params, temperature=value)

    def draw_again(self):
        """From now on answers are drawn with the next seed."""
        self._params = replace(self._params, seed=(self._params.seed or 0) + 1)

    @property
    def failure(self):
        """What has ended the engine, if anything has."""
        return self._engine.failure

    def _prompt(self):
        """The ids of all that fits: the last question, and of what came before as much as
        leaves room."""
        system = [{"role": "system", "content": self.system}] if self.system else []
        self.dropped = 0
        while True:
            ids = self._tokenizer.encode_chat(system + self.messages)
            if len(ids) + self._room <= self._engine.context or len(self.messages) < 3:
                return ids
            # A question goes with its answer.
            del self.messages[:2]
            self.dropped += 2

    def ask(self, question):
        """The answer's pieces. Leaving the loop, by an interrupt as well, stops the answer; what
        came of it was said."""
        self.messages.append({"role": "user", "content": question})
        said, ended = [], False
        try:
            ids = self._prompt()
            decoder = StreamDecoder(self._tokenizer, prompt=ids)
            room = max(1, self._engine.context - len(ids))
            most = min(room, max(1, engine.max_tokens(self._engine, len(ids), room)))
            params = replace(self._params, max_tokens=most, stop_ids=self._tokenizer.stop_ids)
            with contextlib.closing(engine.stream(self._engine, ids, params)) as events:
                for event in events:
                    piece = decoder.push(engine.shown(event, params.stop_ids))
                    if event.finish:
                        piece += decoder.flush()
                    if piece:
                        said.append(piece)
                        yield piece
            ended = True
        finally:
            # A question without an answer was not asked: some templates want them in turn.
            if said or ended:
                self.messages.append({"role": "assistant", "content": "".join(said)})
            else:
                self.messages.pop()

    def again(self):
        """The last question, to be asked once more; None if there was none."""
        while self.messages and self.messages[-1]["role"] != "user":
            self.messages.pop()
        return self.messages.pop()["content"] if self.messages else None


class Terminal:
    """Lines in, pieces out.

    Args:
        read: the next line, or EOFError; may raise KeyboardInterrupt.
        out: a text stream, for answers.
        told: another one, for what is wrong; default standard error.

    Attributes:
        code: exit code of the first thing that was wrong, or 0: what a program ends with that
            nobody has watched.
    """

    def __init__(self, conversation, read, out=sys.stdout, told=None):
        self._conversation, self._read, self._out = conversation, read, out
        self._told, self.code = told, 0

    def _refuse(self, text, code=1):
        self._out.flush()
        print(f"tp-chat: {text}", file=self._told or sys.stderr, flush=True)
        self.code = self.code or code

    def _say(self, text):
        self._out.write(text)
        self._out.flush()

    def run(self):
        while True:
            try:
                line = self._read().strip()
            except EOFError:
                return
            except KeyboardInterrupt:
                self._say("\n(Ctrl-D or /quit ends)\n")
                continue
            if line == "/quit":
                return
            if line.startswith("/"):
                line = self._command(*line.partition(" ")[::2])
            if line:
                self._answer(line)
            if self._conversation.failure:
                return

    def _command(self, name, argument):
        """Carries out a command; returns what is to be asked then, if anything."""
        conversation = self._conversation
        if name == "/help":
            self._say(HELP)
        elif name == "/new":
            conversation.messages.clear()
        elif name == "/system":
            conversation.system = argument.strip()
        elif name == "/again":
            question = conversation.again()
            if question is None:
                self._refuse("/again: nothing was asked yet")
            conversation.draw_again()
            return question
        elif name == "/temperature":
            self._set_temperature(argument.strip())
        else:
            self._refuse(f"no command {name}; /help lists them")
        return None

    def _set_temperature(self, text):
        try:
            self._conversation.temperature = number(0)(text)
        except argparse.ArgumentTypeError as error:
            self._refuse(f"/temperature: {error}")

    def _answer(self, question):
        try:
            # An interrupt may come while a piece is printed: the answer ends here, not later.
            with contextlib.closing(self._conversation.ask(question)) as pieces:
                for piece in pieces:
                    self._say(piece)
            self._say("\n")
        except KeyboardInterrupt:
            self._say("\n(stopped)\n")
        except (engine.EngineError, TemplateError, TextError) as error:
            self._refuse(error, exit_code(error))
        if self._conversation.dropped:
            self._say(f"({self._conversation.dropped} old messages dropped)\n")


def _reader():
    """Lines with editing and history where there is a terminal, bare ones elsewhere."""
    if not sys.stdin.isatty():
        def bare():
            line = sys.stdin.readline()
            if not line:
                raise EOFError
            return line
        return bare
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (input then edits lines and remembers them)
    return lambda: input("> ")


def _parser():
    parser = _command_line.Parser(prog="tp-chat", description="Talk with a model.")
    _version.add(parser)
    _engine_options.add(parser)
    parser.add_argument("--system", default="", help="what the model is told before all else")
    parser.add_argument("--temperature", type=number(0), help="default: the model's, or 0")
    parser.add_argument("--top-p", type=number(0, 1), help="default: the model's, or 1")
    parser.add_argument("--seed", type=integer(), default=0, help="default: %(default)s")
    return parser


def main(open_engine, arguments=None):
    """tp-chat. `open_engine(folder, **options)` gives an engine.Engine; options are those of
    _engine_options."""
    args = _parser().parse_args(arguments)
    return _command_line.carry_out("tp-chat", lambda: _carry_out(open_engine, args),
                                   _parser())


def _carry_out(open_engine, args):
    options = _engine_options.given(args)
    with _signals.doing("opening the model"), _signals.sigterm_raises():
        tokenizer = Tokenizer(args.model, options.get("generation_config"))
        for note in tokenizer.notes:
            print(f"tp-chat: {note}", file=sys.stderr)
        if tokenizer.template is None:
            raise TemplateError(NO_TEMPLATE)
        if "program" not in options:  # Its cache is as large as the rows of one conversation.
            options.setdefault("rows", 1)
        model = open_engine(args.model, **options)
    _engine_options.say_notes("tp-chat", model)
    with contextlib.closing(model):
        conversation = Conversation(model, tokenizer, engine.Params(
            temperature=args.temperature, top_p=args.top_p, seed=args.seed))
        conversation.system = args.system
        is_watched = sys.stdin.isatty()
        if is_watched:
            print(f"{pathlib.Path(args.model).resolve().name} on {options.get('mesh', 'tp=1')}, up to "
                  f"{model.context:,} tokens; /help lists commands")
        terminal = Terminal(conversation, _reader())
        terminal.run()
    return exit_code(model.failure) or (0 if is_watched else terminal.code)
