"""The switchboard: switches of which two may be on, a figure for each choice, and no script."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from PIL import Image

from vitbook.widgets import State, switches

NAMES = ("one & all", "two", "three")
CHOICES = [(), *((n,) for n in range(3)), *combinations(range(3), 2)]


def board(choices=CHOICES):
    weights = np.arange(6.0).reshape(2, 3)
    states = {c: State(f"on: {c}", weights, {"y <": (0.5, "0.50", "class")}) for c in choices}
    return switches("What is <wrong>?", NAMES, states, Image.new("RGB", (30, 20), "red"))


def test_every_choice_has_its_figure():
    html = board()._repr_html_()
    assert html.count('type="checkbox"') == 3 and html.count("<figure>") == 7 and "<script" not in html
    assert "What is &lt;wrong&gt;?" in html and "one &amp; all" in html and "y &lt;" in html
    assert len(re.findall(r"nth-of-type\(\d+\)\{display:grid\}", html)) == 7
    assert repr(board()) == "<What is <wrong>? one & all, two, three>"


def test_two_on_a_page_do_not_share_their_switches():
    first, second = (set(re.findall(r' id="([^"]+)"', board()._repr_html_())) for _ in range(2))
    assert len(first) == 4 and not first & second


def test_a_choice_without_its_state_is_refused():
    with pytest.raises(ValueError, match="for each and for every two of 3"):
        board(CHOICES[:-1])


def test_where_nothing_is_read_all_is_dark():
    states = {c: State("", np.zeros((2, 2)), {}) for c in CHOICES}
    assert "data:image/png" in switches("?", NAMES, states, Image.new("RGB", (2, 2)))._repr_html_()


@pytest.mark.browser
def test_switches_show_their_figure_without_scripts_and_ask_for_no_more_than_two(browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.set_content(f"<!doctype html>{board()._repr_html_()}")
    figures = page.locator("figure")

    def seen():
        return [CHOICES[n] for n in range(7) if figures.nth(n).is_visible()]

    assert seen() == [()]
    page.get_by_text("two", exact=True).click()
    assert seen() == [(1,)]
    page.get_by_text("three", exact=True).click()
    assert seen() == [(1, 2)] and not page.locator(".many").is_visible()
    page.get_by_text("one & all", exact=True).click()
    assert seen() == [] and page.locator(".many").is_visible()
    page.keyboard.press("Space")
    assert seen() == [(1, 2)]
    page.emulate_media(media="print")
    assert seen() == [(1, 2)]
    context.close()
