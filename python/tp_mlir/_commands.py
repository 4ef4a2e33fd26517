"""tp-chat and tp-serve on the runtime's engine.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import sys

from ._generator import open_engine
from ._packages import needed


def chat():
    from .chat import main

    return main(open_engine)


def serve():
    try:
        for module in ("fastapi", "uvicorn", "prometheus_client", "llguidance"):
            needed(module, "serve")
    except ImportError as error:
        print(f"tp-serve: {error}", file=sys.stderr)
        return 1
    from .serve import main

    return main(open_engine)
