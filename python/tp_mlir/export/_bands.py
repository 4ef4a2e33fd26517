"""Which keys a query sees, as a band of positions.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Masks of models are nearly all bands: key j is seen by query i if low <= j - i <= high. A causal
mask of s queries and t keys has no low and high = t - s, a sliding window of w has
low = t - s - w + 1, a symmetric one of an encoder low = -w, high = w. A band is two numbers
where the mask would be s * t of them.
"""

from dataclasses import dataclass
from typing import Optional

import numpy


@dataclass(frozen=True)
class Band:
    low: Optional[int]
    high: Optional[int]

    def positions(self, queries, keys):
        """The mask, as booleans [queries, keys]."""
        distance = numpy.arange(keys)[None] - numpy.arange(queries)[:, None]
        seen = numpy.ones((queries, keys), bool)
        if self.low is not None:
            seen &= distance >= self.low
        if self.high is not None:
            seen &= distance <= self.high
        return seen

    def as_attention(self, queries, keys):
        """(causal, window or None) of nn.attention; None if it has no such mask."""
        if self.low is None and self.high is None:
            return False, None
        shift = keys - queries
        if self.high == shift:
            return True, None if self.low is None else self.high - self.low + 1
        if None in (self.low, self.high) or self.high - shift != shift - self.low:
            return None
        return False, max(2 * (self.high - shift), 1)   # as far to either side


def find_band(seen):
    """The Band that a boolean matrix [queries, keys] is, or None."""
    seen = numpy.asarray(seen)
    queries, keys = seen.shape
    if seen.all():
        return Band(None, None)
    if not seen.any():
        return None
    rows, columns = numpy.nonzero(seen)
    distance = columns - rows
    low, high = int(distance.min()), int(distance.max())
    # A bound that no position is beyond is none.
    band = Band(low if low > 1 - queries else None, high if high < keys - 1 else None)
    return band if (band.positions(queries, keys) == seen).all() else None
