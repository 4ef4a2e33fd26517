"""Serving until a signal: answers that are in the making are ended properly.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import asyncio
import contextlib
import math
import os
import socket
import sys
import time

import uvicorn

from ._app import create_app
from ._connections import Connections

# How long a server whose engine has failed says so before it ends.
FAILED_SECONDS = 1
# How long the ends of answers may take to reach their clients, and then these to leave.
TELL_SECONDS, LEAVE_SECONDS = 3, 3
# A client that takes nothing of what it is sent for so long is gone.
UNREAD_SECONDS = 60


def _notify(state):
    """Tells systemd, where a unit of Type=notify has started the server."""
    path = os.environ.get("NOTIFY_SOCKET")
    if path:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX,
                                                         socket.SOCK_DGRAM) as told:
            told.connect("\0" + path[1:] if path.startswith("@") else path)
            told.send(state)


class _Server(uvicorn.Server):
    """SIGTERM or SIGINT: takes no new requests, waits for the answers in the making, ends.
    The second one ends these, as their time's end does; the third one ends all at once.
    An engine that has failed ends it as well, once its clients know."""

    def __init__(self, config, engine, places, drain_seconds, connections):
        super().__init__(config)
        self._connections = connections
        self._engine, self._places = engine, places
        self._drain_seconds, self._drain_until = drain_seconds, None
        self._closing = self._closed_at = self._failed_at = None

    def handle_exit(self, sig, frame):
        if not self._places.draining:
            self._places.draining = True
            _notify(b"STOPPING=1")
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
        if passed >= (TELL_SECONDS if self._places.running else FAILED_SECONDS):
            self.should_exit = True

    async def startup(self, sockets=None):
        await super().startup(sockets)
        _notify(b"READY=1")

    async def on_tick(self, counter):
        self._connections.end_late()
        if self._engine.failure:
            self._end_failed()
        elif self._places.draining:
            if not self._places.running:
                self.should_exit = True
            elif self._closing is None and time.monotonic() >= self._drain_until:
                print(f"tp-serve: ending {self._places.running} answers", file=sys.stderr,
                      flush=True)
                self._closing = asyncio.ensure_future(asyncio.to_thread(self._engine.close))
            elif self._closing is not None and self._closing.done():
                # Some clients may not read that their answers have ended.
                self._closed_at = self._closed_at or time.monotonic()
                self.should_exit |= time.monotonic() - self._closed_at >= TELL_SECONDS
        return await super().on_tick(counter)


def _family(host):
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _refused(host, port, error):
    why = (error.strerror or str(error)).partition(" (while")[0]
    return OSError(f"cannot listen at {host}, port {port}: {why}")


def check_address(host, port):
    """Raises OSError if nobody could listen there now: said before a model is opened, which may take
    minutes."""
    try:
        with socket.socket(_family(host)) as made:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((host, port))
    except OSError as error:
        raise _refused(host, port, error) from error


def _listen(host, port):
    try:
        made = socket.create_server((host, port), family=_family(host), backlog=1024)
        # Those that it accepts have both too. Without the first an answer's body waits 40 ms for the
        # client to acknowledge its head; asyncio sets it only where a socket tells its protocol.
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * UNREAD_SECONDS))
        return made
    except OSError as error:
        raise _refused(host, port, error) from error


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
            connections = Connections(settings)
            config = uvicorn.Config(app, log_level="warning", access_log=False,
                                    http=connections.protocol,
                                    timeout_keep_alive=math.ceil(settings.header_seconds),
                                    timeout_graceful_shutdown=LEAVE_SECONDS)
            server = _Server(config, engine, app.state.places, settings.drain_seconds,
                             connections)
            asyncio.run(server.serve([listener]))
            return engine.failure
    finally:
        engine.close()
