"""The steps: pictures of which one is shown, without a script; all of them in print."""

from __future__ import annotations

import re

import pytest
from PIL import Image

from vitbook.widgets import Step, stepper


def three(chosen: int = 1):
    inks = [Image.new("RGB", (20, 10), ink) for ink in ("red", "green", "blue")]
    words = ("none & all", "some", "all")
    shares = (1.0, 0.25, -0.5)
    steps = [
        Step(w, ink, f"shows {w}", {"with": (share, f"{share:.2f}", "position")})
        for w, ink, share in zip(words, inks, shares, strict=True)
    ]
    return stepper("How many <patches>?", *steps, chosen=chosen)


def test_every_step_has_a_choice_a_picture_and_its_bars():
    html = three()._repr_html_()
    assert "How many &lt;patches&gt;?" in html and "none &amp; all" in html
    assert html.count('type="radio"') == html.count("<label") == html.count("<figure>") == 3
    assert html.count(" checked>") == 1 and re.search(r'id="vb-steps-\d+-1" checked>', html)
    assert re.findall(r"width:([\d.]+)%", html) == ["100.0", "25.0", "0.0"], "a bar ends at its frame"
    assert 'alt="shows some"' in html and "<script" not in html


def test_two_on_a_page_do_not_share_their_choice():
    names = [set(re.findall(r' name="([^"]+)"', three()._repr_html_())) for _ in range(2)]
    assert all(len(each) == 1 for each in names) and names[0] != names[1]


def test_what_a_step_cannot_be_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        stepper("How many?")
    with pytest.raises(ValueError, match="from 0 to 2, got 3"):
        three(chosen=3)


@pytest.mark.browser
def test_a_choice_shows_its_picture_by_pointer_and_keys_without_scripts_and_print_shows_all(browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.set_content(f"<!doctype html>{three()._repr_html_()}")
    figures = page.locator("figure")

    def seen():
        return [figures.nth(n).is_visible() for n in range(3)]

    assert seen() == [False, True, False]
    page.get_by_text("all", exact=True).click()
    assert seen() == [False, False, True]
    page.keyboard.press("ArrowLeft")
    assert seen() == [False, True, False]
    page.emulate_media(media="print")
    assert seen() == [True, True, True]
    context.close()
