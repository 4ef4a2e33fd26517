"""The page that a browser gets at `/`: what is served, by which paths, and a first request.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

It loads nothing, and suits light and dark, wide and narrow. Whoever asks for JSON gets the same
as an object.
"""

import html
import json

_STYLE = """
:root{color-scheme:light dark}*{box-sizing:border-box}body{font:15px/1.5 system-ui,sans-serif;
max-width:48rem;margin:1.5rem auto;padding:0 1rem;overflow-wrap:anywhere}h1{font-size:1.3rem}h2{
font-size:1.05rem;margin-top:2rem}table{border-collapse:collapse;width:100%}td{padding:.2rem .6rem
.2rem 0;border-bottom:1px solid #8884;vertical-align:top}pre{background:#8882;padding:.8rem;
white-space:pre-wrap}code,pre{font-family:ui-monospace,monospace;font-size:13px}
td:nth-child(-n+2){white-space:nowrap}
@media(max-width:40rem){tr{display:flex;flex-wrap:wrap;border-bottom:1px solid #8884;padding:.3rem 0}
td{border:0}td:nth-child(3){width:100%}}
"""

# The answer of each path, in the order of the page.
_ABOUT = {
    "/v1/chat/completions": "an answer to a conversation, as OpenAI's",
    "/v1/completions": "what follows a text, as OpenAI's",
    "/v1/embeddings": "vectors of texts, as OpenAI's",
    "/v1/models": "a list of the model that is served",
    "/v1/models/{model:path}": "the model of that name",
    "/tokenize": "ids of a text or a conversation",
    "/detokenize": "the text of ids",
    "/tokenizer_info": "special tokens and the chat template",
    "/health": "whether the engine runs",
    "/ping": "what /health answers, for load balancers",
    "/metrics": "figures for Prometheus",
}


def wants_page(accept):
    """True if the header Accept is a browser's, which names HTML."""
    return "text/html" in (accept or "")


def _example(address, model, listed, has_keys):
    """A request by curl for the first path that answers."""
    path, body = next(((path, body) for path, body in (
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hello!"}]}),
        ("/v1/completions", {"prompt": "Once upon a time"}),
        ("/v1/embeddings", {"input": "Once upon a time"})) if path in listed))
    key = " \\\n  -H 'Authorization: Bearer KEY'" if has_keys else ""
    data = json.dumps({"model": model, **body}).replace("'", "'\\''")
    return f"curl {address}{path}{key} \\\n  -H 'Content-Type: application/json' \\\n  -d '{data}'"


def page(address, described, listed, has_keys):
    """The page's text.

    Args:
        address: of the server, without a slash at its end.
        described: the object that /v1/models has of the model.
        listed: methods by path.
        has_keys: whether requests need an API key.
    """
    model = html.escape(described["id"])
    # Paths that are not in _ABOUT come last.
    paths = sorted(listed, key=lambda path: [*_ABOUT, path].index(path))
    rows = "".join(
        f"<tr><td><code>{' '.join(listed[path])}</code></td>"
        f"<td><code>{html.escape(path.replace(':path', ''))}</code></td>"
        f"<td>{_ABOUT.get(path, '')}</td></tr>" for path in paths)
    example = html.escape(_example(address, described["id"], listed, has_keys))
    return (f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width"><title>{model} on tp-serve</title>'
            f"<style>{_STYLE}</style>\n<body><h1>{model} on tp-serve</h1>\n"
            f"<p>Up to {described['max_model_len']:,} tokens of a prompt and its answer together. "
            "Clients of OpenAI take this server's <code>/v1</code> as their base URL.</p>\n"
            f"<h2>A first request</h2><pre>{example}</pre>\n<h2>Paths</h2><table>{rows}</table>\n"
            "</body></html>\n")
