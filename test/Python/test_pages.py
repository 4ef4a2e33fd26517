"""Pictures for people: the curve of a loss, and the page of a server, laid out by a browser.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math
import random
import re
import xml.etree.ElementTree

import browser
from tp_mlir import _curve
from tp_mlir.serve import _front

PATHS = {"/v1/completions": ["POST"], "/v1/chat/completions": ["POST"],
         "/v1/models/{model:path}": ["GET"], "/tokenizer_info": ["GET"], "/ping": ["GET"],
         "/health": ["GET"]}


def draw(losses):
    """The texts of a curve, which must be XML."""
    drawn = _curve.draw(list(range(1, len(losses) + 1)), losses, "loss of a <model>")
    parsed = xml.etree.ElementTree.fromstring(drawn)
    return drawn, [one.text for one in parsed.iter() if one.tag.endswith("text")]


def test_loss_curve(tmp_path):
    """Title, unit, both lines and the last value are said; ticks have equally many digits."""
    print("seed 3")
    rng = random.Random(3)
    pages = []
    for count in (1, 2, 39, 40, 5000):
        losses = [4 * math.exp(-i / count) + rng.random() for i in range(count)]
        drawn, texts = draw(losses)
        assert "loss of a <model>" in texts and "loss (nats per token)" in texts
        assert ("each step" in texts) == (count >= 40)
        # As tp-train says it; all lines end there, and ticks are on both sides of them.
        assert f"{losses[-1]:.4g}" in texts
        ends = re.findall(r'([\d.]+) ([\d.]+)" fill="none"', drawn)
        assert set(ends) == {re.search(r'cx="([\d.]+)" cy="([\d.]+)"', drawn).groups()}
        ticks = [float(one) for one in texts[1:texts.index("loss (nats per token)")]]
        assert any(one <= min(losses) for one in ticks) and any(one >= max(losses) for one in ticks)
        assert "color-scheme:light dark" in drawn
        pages.append(drawn)
    assert _curve.labels([5.8, 6.0, 6.2]) == ["5.8", "6.0", "6.2"]
    assert _curve.labels([0, 50, 100]) == ["0", "50", "100"]
    for found in browser.lay_out(pages, tmp_path, (400, 1200)):
        assert found["outside"] == [] and found["over"] == []


def test_loss_that_is_no_number():
    for losses in ([math.nan], [math.inf, math.nan], [1.0, math.nan, 2.0]):
        _, texts = draw(losses)
        assert not any("nan" in text for text in texts)


def test_mean_is_around_each():
    line = [float(i) for i in range(200)]
    mean = _curve._mean(line)
    assert mean == line
    assert _curve._mean([0.0] * 10 + [11.0] + [0.0] * 10)[8:13] == [2.2] * 5


def test_front_page(tmp_path):
    described = {"id": "a <model>" + "x" * 80, "max_model_len": 131072}
    page = _front.page("http://localhost:8000", described, PATHS, has_keys=True)
    assert "a &lt;model&gt;" in page and "131,072 tokens" in page and "Bearer KEY" in page
    # In the order of the page, whatever that of the routes is; each says what it answers.
    shown = re.findall(r"<td><code>(/.*?)</code></td><td>(.*?)</td>", page)
    assert [path for path, _ in shown] == [
        "/v1/chat/completions", "/v1/completions", "/v1/models/{model}", "/tokenizer_info", "/health",
        "/ping"]
    assert all(about and "same" not in about for _, about in shown)
    other = _front.page("http://[::1]:80", described, {"/v1/embeddings": ["POST"]}, has_keys=False)
    assert "/v1/embeddings" in other and "KEY" not in other
    assert _front.wants_page("text/html,*/*;q=0.8") and not _front.wants_page("*/*")
    assert not _front.wants_page(None)
    for found in browser.lay_out([page, other], tmp_path, (1200, 400)):
        assert found["outside"] == [] and not found["scrolls"], found["width"]
