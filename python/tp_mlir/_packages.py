"""Packages that only a part of this one needs.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import importlib


def needed(module, extra):
    """The module, or an ImportError that says which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"the package {module.split('.')[0]} is not installed; "
                          f"pip install './python[{extra}]' in a checkout of tp-mlir brings "
                          "it") from error
