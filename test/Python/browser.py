"""Pages laid out by a headless Chromium, where one is installed.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A page is put into frames of the widths asked for, because a browser's window is never narrower
than about 500 px.
"""

import html
import json
import os
import re
import shutil
import subprocess

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
                None)

_SCRIPT = """
addEventListener('load', () => {
  const found = [];
  for (const frame of document.querySelectorAll('iframe')) {
    const page = frame.contentDocument, width = frame.contentWindow.innerWidth;
    const name = one => one.tagName + ' ' + one.textContent.trim().slice(0, 40);
    const boxes = [...page.body.querySelectorAll('*')].map(one => [one, one.getBoundingClientRect()])
        .filter(([one, box]) => box.width && box.height);
    const outside = boxes.filter(([, box]) => box.left < -0.5 || box.right > width + 0.5);
    const texts = boxes.filter(([one]) => one.tagName == 'text');
    const over = [];
    for (const [a, x] of texts) for (const [b, y] of texts)
      if (a != b && a.closest('svg') == b.closest('svg') && x.left < y.right - 1 &&
          y.left < x.right - 1 && x.top < y.bottom - 1 && y.top < x.bottom - 1)
        over.push(name(a) + ' over ' + name(b));
    found.push({width, elements: boxes.length, outside: outside.map(([one]) => name(one)), over,
                    scrolls: page.documentElement.scrollWidth > width});
  }
  const result = document.createElement('pre');
  result.id = 'found'; result.textContent = JSON.stringify(found);
  document.body.append(result);
});
"""


def lay_out(pages, folder, widths):
    """What a browser finds in pages of these texts: for each page and width, in order, a dict of
    "width", "elements" (how many are drawn), "outside" (those beyond an edge), "over" (labels of
    one drawing that overprint each other) and "scrolls" (whether it is wider than its frame).
    Skips the test where there is no Chromium."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed (apt-get install chromium)")
    frames = "".join(f'<iframe style="border:0;width:{width}px;height:900px" '
                     f'srcdoc="{html.escape(page)}"></iframe>' for page in pages
                     for width in widths)
    wrapper = folder / "frames.html"
    wrapper.write_text(f'<!doctype html><meta charset="utf-8"><script>{_SCRIPT}</script>'
                       f"<body>{frames}</body>", encoding="utf-8")
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         f"--user-data-dir={folder / 'browser'}", "--dump-dom", f"file://{wrapper}"],
        env={**os.environ, "HOME": str(folder)}, capture_output=True, text=True, timeout=60)
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr
    return json.loads(html.unescape(found[1]))
