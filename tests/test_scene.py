"""The opening scene: every part is there without motion, and scrolling moves the same parts, not the page."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
import torch
from PIL import Image
from tiny import ODD, checkpoint_of, random_weights

from vitbook.model import run
from vitbook.widgets import opening_scene

WORDS = ("one", "two", "three", "four", "five")


def scene(**more):
    checkpoint = checkpoint_of(random_weights().to(torch.float32))
    generator = torch.Generator().manual_seed(1)
    trace = run(checkpoint, torch.rand(ODD.C, ODD.H, ODD.W, generator=generator))
    photo = Image.fromarray(np.arange(60 * 80 * 3, dtype=np.uint32).reshape(60, 80, 3).astype(np.uint8))
    return opening_scene(
        checkpoint, photo, trace, **{"layer": 2, "head": 1, "query": 7, "box": [2, 3, 6], "words": WORDS} | more
    ), trace


def test_it_shows_the_tensors_of_the_run():
    made, trace = scene()
    html = made._repr_html_()
    assert html.count('<i style="--i:') == ODD.N and "--i:12;--r:2;--c:3" in html  # a 3 x 4 grid
    assert re.findall(r"<p>(.*?)</p>", html) == list(WORDS)
    assert 'class="box" style="left:25.00%;top:0.00%;width:50.00%;height:66.67%"' in html, "tokens 2, 3 and 6"
    row = trace.attention(2, 1, 7)
    thick = [float(width) for width in re.findall(r"stroke-width:([\d.]+)", html)]
    others = sorted((float(w) for t, w in enumerate(row) if t != 7), reverse=True)
    assert thick == pytest.approx([0.5 + 4.5 * w / float(row.max()) for w in others], abs=0.006)


@pytest.mark.parametrize("wrong", [{"words": WORDS[:4]}, {"head": 5}, {"layer": 9}, {"query": 13}])
def test_what_it_cannot_show_is_refused(wrong):
    with pytest.raises((ValueError, IndexError)):
        scene(**wrong)


PLACES = """() => [...document.querySelectorAll('.vb-scene .photo i')]
  .map(e => e.getBoundingClientRect()).map(box => [box.left, box.top, box.width])"""
SAID = "() => [...document.querySelectorAll('.vb-scene p')].map(e => +getComputedStyle(e).opacity)"


@pytest.mark.browser
def test_scrolling_drives_it(browser, site):
    context = browser.new_context(viewport={"width": 375, "height": 812})
    page = context.new_page()
    page.goto((site / "book" / "intro.html").as_uri())
    if not page.evaluate("CSS.supports('animation-timeline: view()')"):
        pytest.skip("this browser does not tie animations to scrolling: it shows the still pictures")
    top, high, stage = page.evaluate(
        "() => { const s = document.querySelector('.vb-scene'), r = s.getBoundingClientRect();"
        " return [r.top + scrollY, r.height, s.firstElementChild.nextElementSibling.offsetHeight] }"
    )

    def at(part: float):
        page.evaluate(f"scrollTo(0, {top} - 64 + {part} * ({high} - {stage}))")
        page.wait_for_timeout(150)
        return np.array(page.evaluate(PLACES))

    whole, line = at(0), at(0.6)
    assert np.ptp(whole[:, 1]) > 100 and np.ptp(line[:, 1]) < 1, "the patches stand in one line"
    assert (np.diff(line[:, 0]) > 0).all() and line[:, 0].min() >= 16, "in the order of the tokens, behind [class]"
    assert line[:, 2].max() < whole[:, 2].min() / 4
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    for part, said in ((0.7, 4), (1, 5)):
        at(part)
        assert page.evaluate(SAID) == [float(n == said) for n in range(1, 6)], "one caption at a time"
    context.close()


@pytest.mark.browser
def test_it_is_complete_and_still_where_nothing_may_move(browser, site):
    context = browser.new_context(
        viewport={"width": 375, "height": 812}, reduced_motion="reduce", java_script_enabled=False
    )
    page = context.new_page()
    page.goto((site / "book" / "intro.html").as_uri())
    parts = page.locator(".vb-scene :is(.photo, .tokens, .light, .answer, p)")
    boxes = [part.bounding_box() for part in parts.all()]
    assert len(boxes) == 9 and all(box["height"] > 15 for box in boxes)
    assert all(b["y"] >= a["y"] + a["height"] - 1 for a, b in pairwise(boxes)), "one below the other"
    context.close()
