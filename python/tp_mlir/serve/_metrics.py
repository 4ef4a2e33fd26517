"""What a monitor reads: the engine's statistics, and the server's counts and times.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import prometheus_client
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

_SECONDS = (.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 50, 100)
_GAUGES = {"running": "Requests in steps", "waiting": "Requests in the queue",
           "pages": "Pages of the cache", "pages_held": "Pages held by requests"}
_COUNTERS = {"prompt_tokens": "Tokens of prompts computed",
             "generated_tokens": "Tokens generated",
             "shared_tokens": "Tokens of prompts found in pages of others",
             "evictions": "Requests freed and computed again", "steps": "Programs run"}


class _EngineCollector:
    def __init__(self, engine):
        self._engine = engine

    def collect(self):
        stats = self._engine.stats()
        for name, about in _GAUGES.items():
            yield GaugeMetricFamily(f"tp_engine_{name}", about, getattr(stats, name))
        for name, about in _COUNTERS.items():
            yield CounterMetricFamily(f"tp_engine_{name}", about, getattr(stats, name))


class Metrics:
    def __init__(self, engine, places):
        self.registry = prometheus_client.CollectorRegistry()
        self.registry.register(_EngineCollector(engine))
        of = {"registry": self.registry}
        prometheus_client.Gauge("tp_serve_answers", "Answers in the making",
                                **of).set_function(lambda: places.running)
        self.requests = prometheus_client.Counter(
            "tp_serve_requests", "Requests by path and status", ["path", "status"], **of)
        self.disconnects = prometheus_client.Counter(
            "tp_serve_disconnects", "Clients that left before their answer's end", **of)
        self.first_token = prometheus_client.Histogram(
            "tp_serve_first_token_seconds", "From a request to its first token",
            buckets=_SECONDS, **of)
        self.next_token = prometheus_client.Histogram(
            "tp_serve_next_token_seconds", "From a token to the next of its answer",
            buckets=_SECONDS, **of)

    def text(self):
        return prometheus_client.generate_latest(self.registry)


class Counted:
    """Counts requests by path and status; a path that is none of the server's is "other"."""

    def __init__(self, app, requests):
        self._app, self._requests = app, requests

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        status = 500

        async def seen(message):
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, seen)
        finally:
            path = getattr(scope.get("route"), "path", "other")
            self._requests.labels(path, str(status)).inc()
