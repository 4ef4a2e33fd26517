"""Who may ask, how much, and how often.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import asyncio
import collections
import hmac
import math
import time

from starlette.requests import Request

from ._errors import ApiError

# Clients that are remembered, so that many addresses take no more memory than this.
_MOST_CLIENTS = 10_000


class RateLimit:
    """So many requests a minute of each client: a bucket that holds a minute's worth."""

    def __init__(self, per_minute, now=time.monotonic):
        self._rate, self._now = per_minute / 60, now
        self._most = per_minute
        self._buckets = collections.OrderedDict()

    def check(self, client):
        if not self._most:
            return
        now = self._now()
        left, before = self._buckets.pop(client, (self._most, now))
        left = min(self._most, left + (now - before) * self._rate)
        self._buckets[client] = (left - 1 if left >= 1 else left, now)
        while len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        if left < 1:
            wait = math.ceil((1 - left) / self._rate)
            raise ApiError(429, f"more than {self._most} requests a minute; ask again in {wait} s",
                           code="rate_limit_exceeded", retry_after=wait)


class Places:
    """How many answers are in the making, and whether more may be asked for."""

    def __init__(self, most):
        self._most = most
        self.running = 0
        self.draining = False

    def enter(self, count):
        if self.draining:
            raise ApiError(503, "the server drains: it ends and takes no more requests",
                           code="draining")
        if self.running + count > self._most:
            raise ApiError(429, f"expected at most {self._most} answers in the making, got "
                           f"{self.running + count}; ask again later", code="too_many_answers",
                           retry_after=1)
        self.running += count

    def leave(self, count):
        self.running -= count


def key_of(request, keys):
    """The request's key, if there are any; one that is not among `keys` is refused."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    given = given.strip() if scheme.lower() == "bearer" else ""
    # Every key is compared, so that time tells nothing.
    found = [hmac.compare_digest(given.encode(), key.encode()) for key in keys]
    if keys and not any(found):
        raise ApiError(401, "expected 'Authorization: Bearer KEY' with a key of this server's",
                       code="invalid_api_key")
    # Where nobody needs a key, one that a client made up is not what it is known by.
    return given if keys else ""


class Admission:
    """Looks at a request's key, how often its client asks and what kind of body it says it has,
    before any of the body is read."""

    def __init__(self, app, keys, rate, refuse, open_paths):
        self._app, self._keys, self._rate, self._refuse = app, keys, rate, refuse
        self._open = open_paths

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http" and scope["path"] not in self._open:
            request = Request(scope)
            try:
                key = key_of(request, self._keys)
                self._rate.check(key or (request.client.host if request.client else ""))
                _check_type(request)
            except ApiError as error:
                return await self._refuse(error)(scope, receive, send)
        return await self._app(scope, receive, send)


def _check_type(request):
    """Bodies are JSON, and say so."""
    given = request.headers.get("content-type")
    kind = (given or "").partition(";")[0].strip().lower()
    if request.method != "POST" or kind == "application/json" or (
            kind.startswith("application/") and kind.endswith("+json")):
        return
    got = f"'{given[:100]}'" if given else "no Content-Type"
    raise ApiError(415, f"expected the header 'Content-Type: application/json', got {got}",
                   code="unsupported_content_type")


class BodyLimit:
    """Refuses a body that is larger than it may be, before all of it was read, and one that takes
    too long."""

    def __init__(self, app, most, seconds, refuse):
        self._app, self._most, self._seconds, self._refuse = app, most, seconds, refuse

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        error = ApiError(413, f"expected a body of at most {self._most} bytes",
                         code="body_too_large")
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._most:
            return await self._refuse(error)(scope, receive, send)
        read, is_whole, end = 0, False, time.monotonic() + self._seconds

        async def counted():
            nonlocal read, is_whole
            if is_whole:
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(0, end - time.monotonic()))
            except asyncio.TimeoutError:
                raise ApiError(408, f"the body did not arrive within {self._seconds:g} s",
                               code="body_too_slow") from None
            is_whole = not message.get("more_body", False)
            read += len(message.get("body", b""))
            if read > self._most:
                raise error
            return message

        return await self._app(scope, counted, send)
