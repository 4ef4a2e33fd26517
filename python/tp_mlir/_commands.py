"""tp-chat and tp-serve on the runtime's engine.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from ._generator import open_engine


def chat():
    from .chat import main

    return main(open_engine)


def serve():
    from .serve import main

    return main(open_engine)
