"""The ledger as a page: all rows without a script, filters with it, by keyboard, on a phone, in the dark."""

import re
from dataclasses import replace

import pytest
from test_ledger import another_picture_of_that_size_and_colour

from vitbook.ledger.publications import file
from vitbook.ledger.record import Record
from vitbook.ledger.verdicts import read_ledger
from vitbook.widgets.ledger.widget import ledger_table

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def rows():
    return read_ledger(picture=another_picture_of_that_size_and_colour())


@pytest.fixture
def opened(visit, rows, tmp_path):
    """A function that opens the table as a file from disk."""

    def open_page(width=900, theme="light", **options):
        file = tmp_path / "ledger.html"
        file.write_text(
            f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8"><title>Ledger</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<body style="margin:12px;background:{"#14181e" if theme == "dark" else "#ffffff"}"><main>'
            f"{ledger_table(rows)._repr_html_()}</main></body></html>",
            encoding="utf-8",
        )
        return visit(file.as_uri(), width=width, theme=theme, **options)

    return open_page


def visible(page):
    return page.locator("tbody tr:not([hidden])").evaluate_all(
        "all => all.filter(r => !r.closest('[hidden]')).map(r => r.querySelector('code').textContent)"
    )


def test_without_a_script_every_row_is_there(visit, rows):
    page = visit.blank(width=1280, height=720, java_script_enabled=False)
    page.set_content(ledger_table(rows)._repr_html_())
    assert page.locator("tbody tr").count() == len(rows)
    assert not page.locator(".controls").is_visible(), "no filters that do nothing"


def test_a_search_and_a_verdict_narrow_the_table(opened, rows):
    page = opened().page
    assert page.locator("[role=status]").inner_text() == f"{len(rows)} of {len(rows)} rows"
    page.get_by_label("Search").fill("softmax WEIGHTS")
    expected = [r.entry.name for r in rows if "softmax" in r.entry.quantity and "weights" in r.entry.quantity]
    found = visible(page)
    assert set(expected) <= set(found) and len(found) < 12
    assert page.locator("details:not([hidden])").evaluate_all("all => all.every(d => d.open)")
    page.get_by_role("button", name="erratum").click()
    assert visible(page) == ["exercise.errata.softmax_1"] or all("errata" in name for name in visible(page))
    page.get_by_label("Search").fill("")
    assert sorted(visible(page)) == sorted(r.entry.name for r in rows if r.verdict == "erratum")
    page.get_by_label("Document").select_option("exercise")
    assert visible(page) == [r.entry.name for r in rows.where(document="exercise", verdict="erratum")]
    page.get_by_label("Search").fill("no such words")
    assert page.get_by_text("No row matches.").is_visible()


def test_the_buttons_count_what_they_show(opened, rows):
    page = opened().page
    buttons = page.locator("button[data-verdict]")
    for i in range(buttons.count()):
        button = buttons.nth(i)
        button.click()
        assert int(re.search(r"\d+", button.inner_text())[0]) == len(visible(page))
        assert button.get_attribute("aria-pressed") == "true"
        button.click()
    assert len(visible(page)) == len(rows)


def test_by_keyboard_alone(opened):
    page = opened().page
    page.get_by_label("Search").focus()
    page.keyboard.type("86,567,656")
    found = visible(page)
    assert "step7.b16.total" in found and "step7.b16.counted" in found
    while page.evaluate("document.activeElement.dataset.verdict") != "agrees":
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert "errata.rounds_to_86" not in visible(page)
    while page.evaluate("document.activeElement.tagName") != "SUMMARY":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("details:not([hidden])").first.get_attribute("open") is None


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 900])
def test_on_every_screen_by_the_rules_of_axe(opened, width, theme):
    from test_browser import violations

    seen = opened(width=width, theme=theme)
    seen.page.get_by_role("button", name="Close all").click()  # a visit opens what printing opens
    seen.page.get_by_role("button", name="Open all").click()
    assert seen.page.locator("details:not([open])").count() == 0 and seen.troubles == []
    assert seen.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert violations(seen.page) == []


def test_what_is_judged_is_shown_and_what_is_not_is_not(rows):
    html = ledger_table(rows)._repr_html_()
    assert html.count("<tr data-verdict=") == len(rows)
    row = re.search(r'<tr data-verdict="\w+"[^>]*>(?:(?!</tr>).)*step7\.b16\.total.*?</tr>', html, re.S)[0]
    assert row.count("86,567,656") == 2 and "agrees" in row
    absent = re.search(r'<tr data-verdict="needs"[^>]*>(?:(?!</tr>).)*step4\.scores.*?</tr>', html, re.S)[0]
    assert "not checked" in absent and "needs the reference checkpoint" in absent
    assert "<script>" in html and "http" not in re.sub(r"www.w3.org", "", html.split("<script>")[1])


@pytest.mark.parametrize(
    "typed, found",
    [
        ("−0.267", "step3.x_class"),
        ("-0.267", "step3.x_class"),
        ("86567656", "step7.b16.total"),
        ("86,567,656", "step7.b16.total"),
        ("32.7 %", "step7.b16.shares"),
        ("32.7%", "step7.b16.shares"),
        ("5.13e-06", "step2.noise"),
        ("5.13 × 10⁻⁶", "step2.noise"),
        ("5.13 x 10^-6", "step2.noise"),
        ("1e-12", "layernorm.eps"),
        ("printout 2", "step2.embedding"),
    ],
)
def test_a_number_is_found_however_it_is_written(opened, typed, found):
    page = opened().page
    page.get_by_label("Search").fill(typed)
    assert found in visible(page) and len(visible(page)) < 10


def test_errata_stand_in_their_chapters_and_alone_in_the_order_given(rows):
    whole = ledger_table(rows)._repr_html_()
    group = whole.partition("How the model knows where a patch was")[2].partition("</details>")[0]
    assert "errata.swap" in group and "four tokens have moved" in group
    errata = rows.where(verdict="erratum")
    alone = ledger_table(replace(errata, rows=errata.rows[::-1]))._repr_html_()
    names = re.findall(r"<code>([\w.]+)</code>", alone)
    assert names == [row.entry.name for row in errata][::-1] and "printed in the exercise: Numerical Example" in alone
    assert alone.count('class="sum"') == len(rows.where(verdict="erratum")) == alone.count("<tr data-verdict=")
    assert "−0.248 + 0.447 = 0.199" in alone and "<form" not in alone and "<script" not in alone


def test_every_row_leads_to_its_chapter(rows):
    html = ledger_table(rows)._repr_html_()
    assert set(re.findall(r'<a href="(\w+)\.html">', html)) == set(file()["chapters"])
    assert html.count("<a href=") == len(rows)


def test_the_marks_of_a_group_keep_one_order(rows):
    html = ledger_table(rows)._repr_html_()
    tallies = [
        re.findall(r'class="sign (\w+)"', group) for group in re.findall(r'class="tallies">(.*?)</summary>', html)
    ]
    order = ["agrees", "differs", "erratum", "holds", "refuted", "needs"]
    assert max(map(len, tallies)) == 3 and all(kinds == sorted(kinds, key=order.index) for kinds in tallies)


def test_claims_say_what_is_so(rows):
    claims = ledger_table(rows.where(kind="claim"))._repr_html_()
    assert claims.count("<q>") == len(rows.where(kind="claim")) and "outperforms BiT-L on all tasks" in claims
    assert ">is not so<" in claims.replace("</span> is not so", ">is not so<") and "<form" not in claims


def test_a_record_is_a_column_of_its_own_with_date_and_verdict(rows):
    numbers = [0.010, 0.015, -0.267, -0.001, 0.405, 0.054]
    record = Record(
        "2031-02-03", "a model and a picture", "0", {}, {"step3.x_class": numbers, "step3.z_0_class": numbers}
    )
    html = ledger_table(rows.where(document="walkthrough").printed, record)._repr_html_()
    assert "computed on 2031-02-03" in html and html.count("not in it") == html.count("<tr data-verdict=") - 2
    said = dict(
        re.findall(
            r"<code>(step3\.(?:x_class|z_0_class))</code>.*?computed on 2031-02-03.*?</samp><small>.*?</span> (\w+)",
            html,
        )
    )
    assert said == {"step3.x_class": "agrees", "step3.z_0_class": "differs"}
    assert "computed on" not in ledger_table(rows)._repr_html_()
