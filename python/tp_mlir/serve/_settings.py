"""What a server allows.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional

KEY_VARIABLE = "TP_SERVE_API_KEY"


@dataclass(frozen=True)
class Settings:
    """
    Attributes:
        model: the name that requests give.
        host, port: where to listen; port 0 takes a free one.
        api_keys: requests must carry one of them; empty lets everyone in.
        max_body_bytes: of a request.
        max_choices: answers that one request may ask for, over all its prompts.
        max_answers: answers in the making at once, over all requests.
        requests_per_minute: of one client (its key, or its address); 0 sets no limit.
        drain_seconds: how long answers may go on after SIGTERM.
        max_connections: open at once; one that says nothing goes when another comes.
        header_seconds: how long a connection may be without a request.
        body_seconds: how long a request's body may take.
        access_log: "none", or a line for each request: "text" or "json".
        chat_template_kwargs: variables of the chat template that hold unless a request says
            otherwise.
        tool_format: how the model writes calls of tools (text.find_format); None: as its chat
            template shows.
    """

    model: str
    host: str = "127.0.0.1"
    port: int = 8000
    api_keys: frozenset = frozenset()
    max_body_bytes: int = 1 << 20
    max_choices: int = 32
    max_answers: int = 256
    requests_per_minute: int = 0
    drain_seconds: float = 30.0
    max_connections: int = 1024
    header_seconds: float = 30.0
    body_seconds: float = 60.0
    access_log: str = "none"
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    tool_format: Optional[str] = None


def api_keys(path=None):
    """The keys in a file, one a line, or else the one in $TP_SERVE_API_KEY."""
    if path is None:
        key = os.environ.get(KEY_VARIABLE, "").strip()
        return frozenset([key] if key else [])
    keys = {line.strip() for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()}
    if not keys - {""}:
        raise ValueError(f"no key in {path}: expected one a line")
    return frozenset(keys - {""})
