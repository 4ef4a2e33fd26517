"""What a monitor reads: the engine's statistics, and the server's counts and times.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Beside our own names there are those of vLLM, with its label model_name, so that dashboards made for
it show this server too.
"""

import prometheus_client
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from starlette.routing import Match

_SECONDS = (.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 50, 100)
_TOKENS = tuple(2**i for i in range(18))
_GAUGES = {"running": "Requests in steps", "waiting": "Requests in the queue",
           "pages": "Pages of the cache", "pages_held": "Pages held by requests"}
_COUNTERS = {"prompt_tokens": "Tokens of prompts computed",
             "generated_tokens": "Tokens generated",
             "shared_tokens": "Tokens of prompts found in pages of others",
             "evictions": "Requests freed and computed again", "steps": "Programs run",
             "guessed_tokens": "Tokens guessed in steps",
             "accepted_tokens": "Guesses that came"}


def _vllm(stats):
    """vLLM's names: whether it is a counter, and the value."""
    prompts = stats.prompt_tokens + stats.shared_tokens
    return {
        "num_requests_running": (False, stats.running, _GAUGES["running"]),
        "num_requests_waiting": (False, stats.waiting, _GAUGES["waiting"]),
        "kv_cache_usage_perc": (False, stats.pages_held / max(stats.pages, 1),
                                "Share of the cache's pages held by requests, of 1"),
        "prompt_tokens": (True, prompts, "Tokens of prompts, shared ones among them"),
        "generation_tokens": (True, stats.generated_tokens, _COUNTERS["generated_tokens"]),
        "prefix_cache_queries": (True, prompts, "Tokens of prompts looked up in kept pages"),
        "prefix_cache_hits": (True, stats.shared_tokens, _COUNTERS["shared_tokens"]),
        "num_preemptions": (True, stats.evictions, _COUNTERS["evictions"]),
    }


class _EngineCollector:
    def __init__(self, engine, model):
        self._engine, self._model = engine, model

    def collect(self):
        stats = self._engine.stats()
        for name, about in _GAUGES.items():
            yield GaugeMetricFamily(f"tp_engine_{name}", about, getattr(stats, name))
        for name, about in _COUNTERS.items():
            yield CounterMetricFamily(f"tp_engine_{name}", about, getattr(stats, name))
        for name, (is_counter, value, about) in _vllm(stats).items():
            kind = CounterMetricFamily if is_counter else GaugeMetricFamily
            family = kind(f"vllm:{name}", about, labels=["model_name"])
            family.add_metric([self._model], value)
            yield family


class _Twice:
    """A histogram under our own name and under vLLM's."""

    def __init__(self, registry, model, name, theirs, about):
        of = {"buckets": _SECONDS, "registry": registry}
        self._made = [
            prometheus_client.Histogram(f"tp_serve_{name}", about, **of),
            prometheus_client.Histogram(f"vllm:{theirs}", about, ["model_name"],
                                        **of).labels(model)]

    def observe(self, value):
        for made in self._made:
            made.observe(value)


class Metrics:
    """
    Args:
        engine: an engine.Engine, or None of a server that generates nothing.
        places: _limits.Places.
        model: the model's name.
    """

    def __init__(self, engine, places, model):
        self.registry = prometheus_client.CollectorRegistry()
        if engine is not None:
            self.registry.register(_EngineCollector(engine, model))
        of = {"registry": self.registry}
        prometheus_client.Gauge("tp_serve_answers", "Answers in the making",
                                **of).set_function(lambda: places.running)
        self.requests = prometheus_client.Counter(
            "tp_serve_requests", "Requests by path and status", ["path", "status"], **of)
        self.disconnects = prometheus_client.Counter(
            "tp_serve_disconnects", "Clients that left before their answer's end", **of)
        self.first_token = _Twice(self.registry, model, "first_token_seconds",
                                  "time_to_first_token_seconds",
                                  "From a request to its first token")
        self.next_token = _Twice(self.registry, model, "next_token_seconds",
                                 "inter_token_latency_seconds",
                                 "From a token to the next of its answer")
        self._model = model
        self._ended = prometheus_client.Counter(
            "vllm:request_success", "Answers by what ended them",
            ["model_name", "finished_reason"], **of)
        self._seconds = prometheus_client.Histogram(
            "vllm:e2e_request_latency_seconds", "From a request to its answer's end",
            ["model_name"], buckets=_SECONDS, **of).labels(model)
        self._prompt, self._generated = (prometheus_client.Histogram(
            f"vllm:request_{name}_tokens", about, ["model_name"], buckets=_TOKENS, **of)
            .labels(model) for name, about in (("prompt", "Tokens of a request's prompt"),
                                               ("generation", "Tokens of an answer")))

    def finished(self, finish, prompt, generated, seconds):
        """An answer of `generated` tokens to a prompt of `prompt` tokens has ended."""
        self._ended.labels(self._model, finish).inc()
        self._prompt.observe(prompt)
        self._generated.observe(generated)
        self._seconds.observe(seconds)

    def text(self):
        return prometheus_client.generate_latest(self.registry)


class Counted:
    """Counts requests by path and status; a path that is none of the server's is "other"."""

    def __init__(self, app, requests, routes):
        self._app, self._requests, self._routes = app, requests, routes

    def _path(self, scope):
        """The path as it was declared, of a request that was refused before it was routed, too."""
        if "route" in scope:
            return getattr(scope["route"], "path", "other")
        return next((route.path for route in self._routes if hasattr(route, "path") and
                     route.matches(scope)[0] is not Match.NONE), "other")

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
            self._requests.labels(self._path(scope), str(status)).inc()
