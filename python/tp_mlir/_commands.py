"""The programs of the package, as pyproject.toml names them.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import importlib
import sys

from ._starting import interrupts_told


def _of(module, name="main"):
    """What a module of the package calls `name`."""
    with interrupts_told():
        return getattr(importlib.import_module(f"tp_mlir.{module}"), name)


def chat():
    return _of("chat")(_of("_generator", "open_engine"))


def gguf():
    return _of("gguf")()


def plan():
    return _of("plan")()


def quantize():
    return _of("quantize")()


def serve():
    try:
        with interrupts_told():
            from ._packages import needed

            for module in ("fastapi", "uvicorn", "prometheus_client", "llguidance"):
                needed(module, "serve")
    except ImportError as error:
        print(f"tp-serve: {error}", file=sys.stderr)
        return 1
    return _of("serve")(_of("_generator", "open_engine"))


def train():
    return _of("train")()
