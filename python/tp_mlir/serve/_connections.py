"""Connections of a server: how many there are, and how long they may say nothing.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

uvicorn ends a connection that says nothing after an answer, but waits without limit for a first
request, for the rest of a header, and for a body that nobody reads.
"""

import json
import os
import resource
import sys
import time

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# Files that a server opens beside its connections, at most.
_RESERVED_FILES = 32


def _most(wanted):
    """So many connections at most, by what the process may open."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY:
        return wanted
    room = max(1, files - len(os.listdir("/proc/self/fd")) - _RESERVED_FILES)
    if room < wanted:
        print(f"tp-serve: at most {room} connections at once, as the process may open {files} "
              "files (ulimit -n)", file=sys.stderr, flush=True)
    return min(room, wanted)


def _is_idle(protocol):
    """True if no request of the connection is in the making."""
    return protocol.conn.their_state is h11.IDLE and (
        protocol.cycle is None or protocol.cycle.response_complete)


def _is_unread(protocol):
    """True if a body is still coming although its request is answered."""
    return protocol.conn.their_state is h11.SEND_BODY and protocol.cycle.response_complete


class Connections:
    """
    Args:
        settings: Settings.

    Attributes:
        protocol: class of uvicorn's protocols that keeps to the limits.
    """

    def __init__(self, settings, now=time.monotonic):
        self._settings, self._now = settings, now
        self._limit = _most(settings.max_connections)
        # By protocol, what it waits for and since when.
        self._open = {}
        owner = self

        class Protocol(H11Protocol):
            def connection_made(self, transport):
                super().connection_made(transport)
                owner._made(self)

            def connection_lost(self, exc):
                owner._open.pop(self, None)
                super().connection_lost(exc)

        self.protocol = Protocol

    def _state(self, protocol):
        return protocol.conn.their_state, id(protocol.cycle)

    def _made(self, protocol):
        if len(self._open) < self._limit:
            self._open[protocol] = self._state(protocol), self._now()
            return
        idle = [one for one in self._open if _is_idle(one)]
        if idle:
            oldest = min(idle, key=lambda one: self._open[one][1])
            del self._open[oldest]
            oldest.transport.abort()
            self._open[protocol] = self._state(protocol), self._now()
            return
        body = json.dumps({"error": {
            "message": f"expected at most {self._limit} connections; ask again later",
            "type": "overloaded_error", "param": None, "code": "too_many_connections"}}).encode()
        protocol.transport.write(
            b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
            b"Retry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
            % (len(body), body))
        protocol.transport.close()

    def end_late(self):
        """Ends the connections that have taken too long; to be called every now and then."""
        now = self._now()
        for protocol, (state, since) in list(self._open.items()):
            if state != self._state(protocol):
                self._open[protocol] = self._state(protocol), now
                continue
            limit = (self._settings.header_seconds if _is_idle(protocol) else
                     self._settings.body_seconds if _is_unread(protocol) else None)
            if limit is not None and now - since > limit:
                del self._open[protocol]
                protocol.transport.close()
