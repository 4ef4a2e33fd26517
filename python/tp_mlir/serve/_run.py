"""Serving until a signal: answers that are in the making are ended properly.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import asyncio
import socket
import sys
import time

import uvicorn

from ._app import create_app

# How long a server whose engine has failed says so before it ends, and how long it may take to.
_FAILED_SECONDS, _TELL_SECONDS = 1, 5


class _Server(uvicorn.Server):
    """SIGTERM or SIGINT: takes no new requests, waits for the answers in the making, ends.
    The second one ends these, as their time's end does; the third one ends all at once.
    An engine that has failed ends it as well, once its clients know."""

    def __init__(self, config, engine, places, drain_seconds):
        super().__init__(config)
        self._engine, self._places = engine, places
        self._drain_seconds, self._drain_until = drain_seconds, None
        self._closing = self._failed_at = None

    def handle_exit(self, sig, frame):
        if not self._places.draining:
            self._places.draining = True
            self._drain_until = time.monotonic() + self._drain_seconds
            print(f"tp-serve: draining: {self._places.running} answers in the making",
                  file=sys.stderr, flush=True)
        elif self._closing is None:
            self._drain_until = time.monotonic()
        else:
            self.should_exit = self.force_exit = True

    def _end_failed(self):
        if self._failed_at is None:
            self._failed_at = time.monotonic()
            print(f"tp-serve: ending: {self._engine.failure}", file=sys.stderr, flush=True)
        passed = time.monotonic() - self._failed_at
        if passed >= (_TELL_SECONDS if self._places.running else _FAILED_SECONDS):
            self.should_exit = True

    async def on_tick(self, counter):
        if self._engine.failure:
            self._end_failed()
        elif self._places.draining:
            if not self._places.running:
                self.should_exit = True
            elif self._closing is None and time.monotonic() >= self._drain_until:
                print(f"tp-serve: ending {self._places.running} answers", file=sys.stderr,
                      flush=True)
                self._closing = asyncio.ensure_future(asyncio.to_thread(self._engine.close))
        return await super().on_tick(counter)


def _listen(host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise OSError(f"cannot listen at {host}, port {port}: {error}") from error


def serve(engine, tokenizer, settings):
    """Serve until SIGTERM or SIGINT; then end the answers in the making and close the engine.

    Returns the engine's failure, if that has ended it. Raises OSError if the address cannot be
    had.
    """
    try:
        app = create_app(engine, tokenizer, settings)
        with _listen(settings.host, settings.port) as listener:
            host, port = listener.getsockname()[:2]
            host = f"[{host}]" if ":" in host else host
            print(f"tp-serve: {settings.model} at http://{host}:{port}/v1", file=sys.stderr,
                  flush=True)
            config = uvicorn.Config(app, log_level="warning", access_log=False,
                                    timeout_graceful_shutdown=5)
            server = _Server(config, engine, app.state.places, settings.drain_seconds)
            asyncio.run(server.serve([listener]))
            return engine.failure
    finally:
        engine.close()
