"""tp_mlir: compile transformers for N ranks and run them.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A thin layer over the programs tp-compile, tp-run and tp-verify: arrays are
NumPy's, errors are exceptions that carry the program's own text. Parts that need more
packages are imported by themselves: `tp_mlir.text`, `tp_mlir.chat`, `tp_mlir.serve`;
PyTorch is imported when `export` is called.
"""

from ._starting import interrupts_told

with interrupts_told():
    from ._errors import (DeviceError, DifferenceError, InputError, NotFiniteError, ToolError,
                          UsageError)
    from ._program import Explanation, Program, compile, load, verify
    from ._session import Session
    from ._trainer import Trainer
    from .export import Exported, export
    from .llm import LLM

__all__ = [
    "DeviceError",
    "DifferenceError",
    "Explanation",
    "Exported",
    "InputError",
    "LLM",
    "NotFiniteError",
    "Program",
    "Session",
    "ToolError",
    "Trainer",
    "UsageError",
    "compile",
    "export",
    "load",
    "verify",
]
