"""Ids of requests, and a log of them.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import re
import secrets
import sys
import time

# Names that a client may give its request, so that a log can be searched and nobody can write into it.
_ID = re.compile(rb"[A-Za-z0-9_.:/+=-]{1,128}")


def _text(line):
    return (f"tp-serve: {line['client']} {line['id']} \"{line['method']} {line['path']}\" "
            f"{line['status']} {line['seconds']:.3f} s")


_FORMS = {"text": _text, "json": json.dumps}


class Access:
    """Gives each request an id, its client's own if that has one, and logs it when it has ended.

    Args:
        form: "none", "text" or "json": what a line of the log is.
        say: takes a line.
    """

    def __init__(self, app, form="none", say=None):
        self._app, self._form = app, _FORMS.get(form)
        self._say = say or (lambda line: print(line, file=sys.stderr, flush=True))

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        given = dict(scope["headers"]).get(b"x-request-id", b"")
        name = given if _ID.fullmatch(given) else secrets.token_hex(16).encode()
        status, began = 500, time.monotonic()

        async def marked(message):
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], (b"x-request-id", name)]}
            await send(message)

        try:
            await self._app(scope, receive, marked)
        finally:
            if self._form:
                self._say(self._form({
                    "time": round(time.time(), 3), "id": name.decode(),
                    "client": scope["client"][0] if scope.get("client") else "-",
                    "method": scope["method"],
                    # As it came, so that a line break in it is none here.
                    "path": scope.get("raw_path", b"").decode("ascii", "replace")[:200],
                    "status": status, "seconds": round(time.monotonic() - began, 6)}))
