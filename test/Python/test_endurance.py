"""A moment of endurance.py: nothing grows with the number of steps, and no page is left held.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import endurance
import pytest


# 64 at once, each cancelled at some token or left alone.
@pytest.mark.parametrize("backend, steps, requests", [("threads", 1500, 64), ("processes", 300, 12)])
def test_steps(backend, steps, requests):
    first, last = endurance.run(steps, backend, requests=requests, say=lambda line: None)
    # Times of the last 1000 steps of each entry are kept: 8 KB each.
    assert last[1] - first[1] < 256 << 10
    assert last[0] - first[0] < 8 << 20
