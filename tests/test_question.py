"""A question of a chapter: what is said of each answer, without a script, by keys, and in print."""

from __future__ import annotations

import re

import pytest

from vitbook.widgets import ask
from vitbook.widgets.question.widget import Question

WRONG = {
    "784": "These are the patches; [class] is missing.",
    "8 & 8": "That is the size of a patch.",
    "786": "Two too many.",
}


def asked() -> Question:
    return ask("How many <tokens>?", {"785": "28 · 28 patches, and [class]."}, WRONG)


def test_every_answer_is_told_its_own_words():
    html = asked()._repr_html_()
    assert "How many &lt;tokens&gt;?" in html and "8 &amp; 8" in html and "<script" not in html
    assert html.count('type="radio"') == html.count("<label") == html.count("<p>") == 4 and " checked" not in html
    labels, told = re.findall(r"<label[^>]*>(.*?)</label>", html), re.findall(r"<p><b>(.*?)</b> (.*?)</p>", html)
    for label, (verdict, why) in zip(labels, told, strict=True):
        expected = (
            ("Right.", "28 · 28 patches, and [class].")
            if label == "785"
            else ("No.", WRONG[label.replace("&amp;", "&")])
        )
        assert (verdict, why) == expected


def test_the_order_is_the_same_in_every_build_and_tells_nothing():
    assert list(asked().answers) == list(asked().answers) != ["785", *WRONG]
    first = [next(iter(ask("?", {f"a{n}": ""}, {f"b{n}": ""}).answers))[0] for n in range(40)]
    assert {"a", "b"} == set(first)


def test_what_no_question_can_be_is_refused():
    with pytest.raises(ValueError, match="one right answer and a wrong one, got 2 and 1"):
        ask("?", {"1": "", "2": ""}, {"3": ""})
    with pytest.raises(ValueError, match="got 1 and 0"):
        ask("?", {"1": ""}, {})
    with pytest.raises(ValueError, match="'1' cannot be right and wrong"):
        ask("?", {"1": ""}, {"1": "", "2": ""})


@pytest.mark.browser
def test_by_pointer_and_keys_without_scripts_and_unanswered_in_print(browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.set_content(f"<!doctype html>{asked()._repr_html_()}{asked()._repr_html_()}")
    first, second = page.locator("fieldset").all()

    def told(place) -> list[str]:
        return [p.inner_text() for p in place.locator("p").all() if p.is_visible()]

    assert told(first) == []
    first.get_by_text("784", exact=True).click()
    assert told(first) == ["No. These are the patches; [class] is missing."] and told(second) == []
    first.get_by_text("785", exact=True).click()
    assert told(first) == ["Right. 28 · 28 patches, and [class]."]
    assert first.get_by_role("radio", name="785").is_checked() and first.get_by_role("status").is_visible()
    before = told(first)
    page.keyboard.press("ArrowUp")
    assert told(first) not in ([], before)
    page.emulate_media(media="print")
    assert told(first) == [] and first.get_by_text("784", exact=True).is_visible()
    context.close()
