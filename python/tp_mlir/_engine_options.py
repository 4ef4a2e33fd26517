"""The command-line options of programs that open an engine.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import sys

from ._numbers import integer, number

_OPTIONS = {
    "program": (str, "what tp-compile --generate has made of the model, instead of the options of "
                     "tp-compile that follow"),
    "mesh": (str, "ranks, such as tp=2"),
    "plan": (str, "how the model is cut: megatron, expert, ... or a file"),
    "allow_padding": (None, "cut heads even where more than half of them would be padding"),
    "target": (str, "what runs it: cpu or cuda"),
    "context": (integer(1), "most tokens of a prompt and its answer together"),
    "rows": (integer(1), "most requests in a step"),
    "chunk": (integer(1), "most tokens of prompts in a step"),
    "page": (integer(1), "tokens of a page of the cache, which texts that begin alike share whole "
                         "(default 32, or more where it also keeps a state)"),
    "cells": (integer(1), "tokens that the cache holds, of all requests together (default: rows "
                          "times context)"),
    "memory": (str, "what a rank may hold, of which the cache takes what is left: 24GiB, or 0.9 "
                    "of the machine's or device's memory (instead of cells)"),
    "dtype": (str, "type of the weights in memory: f32, bf16 or f16"),
    "kv_dtype": (str, "type of the cache: f32, bf16, f16, fp8 or int8 (default: dtype)"),
    "quantize": (str, "format that weights in 16 or 32 bits are quantised to while they are read: "
                      "int4-g128, int4-g32, int8, fp8-block, fp8-channel or mxfp4"),
    "untie": (None, "the head is a parameter of its own, whatever config.json says"),
    "ignore": (str, "tensors that the checkpoint is read without: NAME,..."),
    "generation_config": (str, "where the defaults of requests are from, instead of the model's "
                               "generation_config.json: a file, or none"),
    "speculate": (integer(0), "tokens of a step that are guessed, for each request, from what "
                              "followed the same ones before; answers stay the same"),
    "backend": (str, "what the ranks are: threads, processes or mpi; nccl, with a GPU each"),
    "timeout": (number(0, above=True), "seconds that a rank waits for another"),
}


def add(parser):
    """The model, and how it is opened."""
    parser.add_argument("model", metavar="DIR", help="checkpoint folder, with tokenizer.json, or GGUF file")
    for name, (kind, about) in _OPTIONS.items():
        # No default of their own: those of tp-compile and tp-run hold.
        form = {"type": kind} if kind else {"action": "store_true"}
        parser.add_argument(f"--{name.replace('_', '-')}", help=about,
                            default=argparse.SUPPRESS, **form)


def given(arguments):
    """Those that were given, by name."""
    return {name: getattr(arguments, name) for name in _OPTIONS if hasattr(arguments, name)}


def say_notes(program, engine):
    """Tell of the checkpoint's defaults, on standard error."""
    for note in engine.notes:
        print(f"{program}: {note}", file=sys.stderr, flush=True)
