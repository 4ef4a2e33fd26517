"""A service of many replicas: users of each, how many it takes, and what it costs.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Tokens a second are those of the answers, with all users of a replica generating at once; prompts
are priced apart, as they are sold.

A step has a power of two of places, and users up to that many share it. Within one size of step all
bytes and times are lines over the number of users; from one size to the next they rise, by less than
the number of users does. So tokens a second are the most at a power of two or at the most users that
there may be, and where a line crosses a limit is found by interpolation in a few compilations.
"""

import dataclasses
import itertools
import math

from . import _figures, _memory, _work

_MILLION, _HOUR = 1e6, 3600


def add_prices(row, workload, profile, latency=None):
    """Adds to a row that fits and meets the latency what its ranks cost: an hour, and a million tokens."""
    if profile.price is None or not row.get("fits") or (
            latency is not None and _figures.latency(row) > latency):
        return
    row["price_per_hour"] = row["ranks"] * profile.price.value
    a_second = row["price_per_hour"] / _HOUR
    if "tokens_per_second" in row:
        row["price_per_million_tokens"] = _MILLION * a_second / row["tokens_per_second"]
    if "prefill" in row["times"]:
        prompt = workload.prompt or workload.context
        row["price_per_million_prompt_tokens"] = (
            _MILLION * a_second * row["times"]["prefill"]["seconds"] / prompt)


def _replicas(row, rate):
    return math.ceil(rate / row["tokens_per_second"])


def add_replicas(row, rate, latency=None):
    """Adds to a row that fits and meets the latency how many of its replicas give so many tokens a second, and what
    these cost. A million tokens then cost what the service takes for them at this rate, at which
    its replicas are not quite busy."""
    if not row.get("fits") or (latency is not None and _figures.latency(row) > latency):
        return
    row["replicas"] = _replicas(row, rate)
    row["devices"] = row["replicas"] * row["ranks"]
    if "price_per_hour" in row:
        row["service_price_per_hour"] = row["replicas"] * row["price_per_hour"]
        row["price_per_million_tokens"] = (
            _MILLION * row["service_price_per_hour"] / _HOUR / rate)


def first_at_least_zero(low, high, value):
    """The least integer above `low` at which a function that rises is not negative.

    It interpolates, so that of a line it asks for three or four values; every third guess halves what
    is left, whatever the function's shape.

    Args:
        low, high: integers; value(low) < 0 <= value(high).
        value: the function.
    """
    below, beyond = value(low), value(high)
    for guesses in itertools.count(1):
        if high - low == 1:
            return high
        part = 0.5 if guesses % 3 == 0 or not math.isfinite(beyond - below) else (
            below / (below - beyond))
        middle = min(max(low + math.ceil(part * (high - low)), low + 1), high - 1)
        found = value(middle)
        if found < 0:
            low, below = middle, found
        else:
            high, beyond = middle, found


class Loads:
    """Candidates of one plan and degree with as many users as serve a rate best."""

    def __init__(self, model, workload, profile, rate, latency):
        self.model, self.workload, self.profile = model, workload, profile
        self.rate, self.latency = rate, latency

    def _try(self, plan, degree, users):
        workload = dataclasses.replace(self.workload, users=users)
        candidate = _work.compile_one(self.model, workload, plan, degree, self.profile.target,
                                         self.profile.figures_text)
        return candidate, workload, _figures.describe(candidate, workload, self.profile)

    def best(self, plan, degree):
        """The candidate and its workload: the fewest users with which its replicas, all of which
        fit and meet the latency, are the fewest."""
        found = {}

        def tried(users):
            if users not in found:
                found[users] = self._try(plan, degree, users)
            return found[users]

        users = fewest_users(lambda users: tried(users)[2], self.rate, self.latency)
        return tried(users)[:2]


def _excess(row, latency):
    """By which part the row is too large or too slow; 0 or below if it is neither, infinite if it
    cannot be compiled."""
    if "memory" not in row:
        return math.inf
    parts = [row["total_bytes"] / row["device_bytes"]]
    if latency is not None:
        parts.append(_figures.latency(row) / latency)
    return max(parts) - 1


def _most_users(row_of, rate, latency):
    """The most users that fit and meet the latency, if one user does; or so many that one replica
    gives the rate, as there is no use in more."""
    users, limit = 1, min(max(1, row_of(1)["most_users"]), _memory.MOST_USERS)

    def excess(count):
        # Of equals the last is asked for: what is exactly at its limit is not beyond it.
        return _excess(row_of(count), latency) - 1e-12

    while users < limit and row_of(users)["tokens_per_second"] < rate:
        more = min(2 * users, limit)
        if excess(more) >= 0:
            return first_at_least_zero(users, more, excess) - 1
        users = more
    return users


def fewest_users(row_of, rate, latency=None):
    """The fewest users of a replica with which the fewest replicas give a rate; 1 if not even one
    user fits and meets the latency.

    Args:
        row_of: gives the row of so many users, with figures.
        rate: tokens a second.
        latency: the most seconds that a token may take; None for any.
    """
    if _excess(row_of(1), latency) > 0 or row_of(1)["tokens_per_second"] >= rate:
        return 1
    most = _most_users(row_of, rate, latency)
    sizes = [2**power for power in range(most.bit_length())]
    ends = sizes if sizes[-1] == most else [*sizes, most]
    replicas = min(_replicas(row_of(users), rate) for users in ends)

    def spare(users):
        return users * (replicas - rate / row_of(users)["tokens_per_second"])

    enough = next(place for place, users in enumerate(ends) if spare(users) >= 0)
    return first_at_least_zero(ends[enough - 1], ends[enough], spare) if enough else 1
