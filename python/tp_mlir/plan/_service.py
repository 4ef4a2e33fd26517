"""A service of many replicas: users of each, how many it takes, and what it costs.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Tokens a second are those of the answers, with all users of a replica generating at once; prompts
are priced apart, as they are sold. A replica's users are a power of two, as sizes of steps are.
"""

import dataclasses
import math

from . import _figures, _memory, _work

_MILLION, _HOUR = 1e6, 3600


def add_prices(row, workload, profile):
    """Adds to a row with figures what its ranks cost: an hour, and a million tokens."""
    if profile.price is None or "times" not in row:
        return
    row["price_per_hour"] = row["ranks"] * profile.price.value
    a_second = row["price_per_hour"] / _HOUR
    if "tokens_per_second" in row:
        row["price_per_million_tokens"] = _MILLION * a_second / row["tokens_per_second"]
    if "prefill" in row["times"]:
        prompt = workload.prompt or workload.context
        row["price_per_million_prompt_tokens"] = (
            _MILLION * a_second * row["times"]["prefill"]["seconds"] / prompt)


def add_replicas(row, rate):
    """Adds to a row with figures how many of its replicas give so many tokens a second."""
    if "tokens_per_second" not in row:
        return
    row["replicas"] = math.ceil(rate / row["tokens_per_second"])
    row["devices"] = row["replicas"] * row["ranks"]
    if "price_per_hour" in row:
        row["service_price_per_hour"] = row["replicas"] * row["price_per_hour"]


class Loads:
    """Candidates of one plan and degree with as many users as serve a rate best."""

    def __init__(self, model, workload, profile, rate, latency):
        self.model, self.workload, self.profile = model, workload, profile
        self.rate, self.latency = rate, latency

    def _try(self, plan, degree, users):
        workload = dataclasses.replace(self.workload, users=users)
        candidate = _work.compile_one(self.model, workload, plan, degree, self.profile.target)
        return candidate, workload, _figures.describe(candidate, workload, self.profile)

    def _is_good(self, row):
        return row.get("fits", False) and (
            self.latency is None or _figures.latency(row) <= self.latency)

    def best(self, plan, degree):
        """The candidate and its workload: the fewest users that give the rate, or else the most
        that fit and meet the latency."""
        found = self._try(plan, degree, 1)
        if not self._is_good(found[2]) or found[2]["tokens_per_second"] >= self.rate:
            return found[:2]
        # Good ones below, and from `high` on those that are not needed or not good.
        low, high = 0, int(math.log2(min(found[2]["most_users"], _memory.MOST_USERS))) + 1
        while high - low > 1:
            middle = (low + high) // 2
            tried = self._try(plan, degree, 2**middle)
            if not self._is_good(tried[2]):
                high = middle
            elif tried[2]["tokens_per_second"] >= self.rate:
                high, found = middle, tried
            else:
                low = middle
                if found[2]["tokens_per_second"] < self.rate:
                    found = tried
        return found[:2]
