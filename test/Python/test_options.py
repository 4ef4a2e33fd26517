"""Options of the package's commands: values that are wrong, and options that messages advise.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ast
import functools
import inspect
import pathlib
import re
import subprocess

import pytest

from tp_mlir import (_command_line, _engine_options, _generator, _signals, _tools, _train_options,
                     chat, llm)
from tp_mlir import plan as _plan
from tp_mlir import quantize
from tp_mlir._errors import from_exit
from tp_mlir import train as _train
from tp_mlir.plan import _options as _plan_options
from tp_mlir.serve import _main as _serve

PACKAGE = pathlib.Path(_command_line.__file__).parent
#: By program: its module, its parser, and its main.
PROGRAMS = {
    "tp-chat": ("chat.py", chat._parser, lambda words: chat.main(None, words)),
    "tp-plan": ("plan/_main.py", _plan_options.parser, _plan.main),
    "tp-quantize": ("quantize/__init__.py", quantize._parser, quantize.main),
    "tp-serve": ("serve/_main.py", _serve._parser, lambda words: _serve.main(None, words)),
    "tp-train": ("train.py", _train_options.parser, _train.main)}


@functools.cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path):
    """The files of the package that a module imports by relative names, itself among them."""
    found, waiting = set(), [path]
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        for node in ast.walk(parsed(path)):
            if not isinstance(node, ast.ImportFrom) or not node.level:
                continue
            base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for one in (base, *(base / name.name for name in node.names)):
                waiting += [one.with_suffix(".py"), one / "__init__.py"]
        # The package itself imports all of it, for people who use it from Python.
        waiting = [one for one in waiting if one != PACKAGE / "__init__.py"]
    return found


def messages(path):
    """The texts of a module that may be shown: neither docstrings nor arguments of programs."""
    tree = parsed(path)
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            told |= {id(part) for part in node.values}
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}"
                          for part in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value


def test_advised_options():
    """An option that a message names is one of a program that has the message, unless the message
    names another program."""
    known = {}
    for module, parser, _ in PROGRAMS.values():
        for path in imported(PACKAGE / module):
            known.setdefault(path, set()).update(parser()._option_string_actions)
    assert len(known) > 40
    del known[PACKAGE / "_command_line.py"]         # Names options of other programs.
    known[PACKAGE / "train.py"] |= {"--weights", "--save", "--train"}   # Translated before shown.
    for path, options in known.items():
        for text in messages(path):
            if re.fullmatch(r"--[a-z-]+(=\S*)?|.*\\.*", text) or re.search(r"\b(tp-[a-z]+|hf|git|pip)\b", text):
                continue
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text):
                assert option in options, (path.name, text)


@pytest.mark.parametrize("program", PROGRAMS)
def test_wrong_values(program, capsys):
    """A usage error is exit code 2 and one line, whatever option it is of."""
    _, parser, main = PROGRAMS[program]
    needed = {"tp-train": ["x", "y", "-o", "z"],
              "tp-quantize": ["x", "--format", "int8", "-o", "z"]}.get(program, ["x"])
    with pytest.raises(SystemExit) as ended:
        main([*needed, "--nonsense"])
    assert ended.value.code == 2
    line = capsys.readouterr().err
    assert line == (f"{program}: unknown option --nonsense; {program} --help lists the options\n")
    for option, action in parser()._option_string_actions.items():
        if action.type not in (None, str, pathlib.Path) and option.startswith("--"):
            with pytest.raises(SystemExit) as ended:
                parser().parse_args([option, "?"])
            assert ended.value.code == 2
            assert capsys.readouterr().err.startswith(f"{program}: for ")


def test_options_known_elsewhere(capsys):
    def told(parser, *words):
        with pytest.raises(SystemExit):
            parser().parse_args(words)
        return capsys.readouterr().err.partition(": ")[2].partition("; tp-")[0]

    assert told(chat._parser, "m", "--tp", "2") == "unknown option --tp; did you mean --mesh tp=2?"
    assert told(chat._parser, "--tp", "2", "m", "--rows=1") == (
        "unknown option --tp; did you mean --mesh tp=N?")
    assert told(_serve._parser, "m", "--max-model-len=99") == (
        "unknown option --max-model-len; did you mean --context 99?")
    assert told(_train_options.parser, "m", "t", "-o", "o", "--learning-rate", "1e-3") == (
        "unknown option --learning-rate; did you mean --lr 1e-3?")
    # The compiler's programs say the same.
    for option, here in _command_line._ELSEWHERE.items():
        own = here.split()[0]
        for tool in ("tp-compile", "tp-verify", "tp-import"):
            listed = subprocess.run([_tools.find(tool), "--help"], capture_output=True, text=True).stdout
            said = subprocess.run([_tools.find(tool), "m", option, "7"], capture_output=True, text=True)
            meant = here.format(7).strip()
            assert (f"did you mean {meant}?" in said.stderr) == (
                f"  {own} " in listed or f"  {own}=" in listed), (tool, option)
            assert said.stderr.startswith(f"{tool}: unknown option {option}; ")
            assert said.stderr.count("\n") == 1 and said.returncode == 2
    # Not where there is no such option.
    assert told(quantize._parser, "m", "--format", "int8", "-o", "o", "--tp", "2") == (
        "unknown option --tp")


def test_options_of_an_engine():
    """Each is one that opening an engine takes."""
    taken = inspect.signature(_generator.open_engine).parameters
    assert not set(_engine_options._OPTIONS) - set(taken)


def test_words_of_other_programs(capsys):
    """An option that a compiled program advises, and that this one has not, is said to be its."""
    def body():
        raise from_exit("tp-compile", 1, "error: give it --rows 1, --seq 8 or --logits last")

    assert _command_line.carry_out("tp-chat", body, chat._parser()) == 1
    assert capsys.readouterr().err == (
        "tp-chat: error: give it --rows 1, --seq 8 or --logits last (--seq and --logits are options "
        "of tp-compile, and not of tp-chat)\n")


def test_interrupts(capsys):
    def interrupted(words=None, left=None, number=None):
        def body():
            if words is None:
                raise KeyboardInterrupt
            with _signals.doing(words, *([left] if left else [])):
                raise _signals.Terminated(number) if number else KeyboardInterrupt

        return _command_line.carry_out("tp-x", body), capsys.readouterr().err

    assert interrupted() == (130, "tp-x: interrupted; nothing was left behind\n")
    assert interrupted("sizing") == (
        130, "tp-x: interrupted while sizing; nothing was left behind\n")
    assert interrupted("training", lambda: "a is there", 15) == (
        143, "tp-x: ended by SIGTERM while training; a is there\n")


def test_mistaken_models(capfd, tmp_path):
    """An adapter alone, and a file that is called .gguf, are told as what they are by all programs,
    before anything that they lack."""
    adapter, false, words = tmp_path / "adapter", tmp_path / "false.gguf", tmp_path / "words"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    false.write_text("{}")
    words.write_text("words")
    out = str(tmp_path / "out")
    mains = {"tp-chat": lambda *given: chat.main(None, given), "tp-plan": lambda *given: _plan.main(given),
             "tp-serve": lambda *given: _serve.main(None, given),
             "tp-train": lambda *given: _train.main([*given, str(words), "-o", out]),
             "tp-quantize": lambda *given: quantize.main([*given, "--format", "int8", "-o", out])}
    for tool in ("tp-compile", "tp-verify", "tp-import"):
        mains[tool] = lambda given, tool=tool: subprocess.run(
            [_tools.find(tool), given, *(["-o", out] if tool == "tp-compile" else [])]).returncode
    mains["LLM"] = lambda given: pytest.raises(ValueError, llm.LLM, given).value
    for path, said in ((adapter, 'unsupported adapter of peft_type "LORA": expected a whole model; '
                                 "merge the adapter into its base model"),
                       (false, 'is no GGUF file: expected one, which begins with "GGUF"')):
        for name, main in mains.items():
            code = main(str(path))
            text = str(code) if name == "LLM" else capfd.readouterr().err
            assert said in text, (name, text)
            assert name == "LLM" or code == 1


def test_options_once_and_in_full(capsys):
    """The last of several values would be taken silently, and so would the beginning of a name."""
    from tp_mlir import train

    for tool, words, said in (
            (_plan, ["x", "--degrees", "1,2", "--degrees=4"],
             "tp-plan: for --degrees: expected one value, got '1,2' and '4'; "),
            (train, ["x", "t", "--untie", "--untie", "-o", "y", "--output", "z"],
             "tp-train: for --output: expected one value, got 'y' and 'z'; "),
            (_plan, ["x", "--degree", "2"],
             "tp-plan: unknown option --degree; did you mean --degrees?; ")):
        with pytest.raises(SystemExit) as ended:
            tool.main(words)
        name = said.partition(":")[0]
        assert ended.value.code == 2
        assert capsys.readouterr().err == f"{said}{name} --help lists the options\n"
