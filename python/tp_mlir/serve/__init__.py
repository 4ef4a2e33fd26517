"""An engine behind OpenAI's HTTP interface.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Needs the packages of the extra `serve`: `pip install './python[serve]'`.
"""

from ._app import create_app
from ._main import main
from ._run import serve
from ._settings import Settings

__all__ = ["Settings", "create_app", "main", "serve"]
