"""Figure 1 in a real browser, opened from a file: pointed at, focused, tapped; on a desk, on a phone, in the dark."""

from __future__ import annotations

import pytest
from test_figure1 import CHAPTERS, PICTURE, drawn, tiny

from vitbook.widgets.figure1.parts import numbers
from vitbook.widgets.figure1.widget import figure_1

pytestmark = pytest.mark.browser

SMALLEST = 11  # px as shown


@pytest.fixture(scope="module")
def figure():
    return drawn(labels=tuple("abcdefg"))


@pytest.fixture
def opened(visit, figure, tmp_path):
    """A function that opens a page with the figure in a column of a width, and fails the test on any complaint."""
    complaints = []

    def open_page(width: int, theme: str = "light", figures: int = 1, **options):
        page_file = tmp_path / f"{width}-{theme}.html"
        body = "".join(drawn()._repr_html_() if i else figure._repr_html_() for i in range(figures))
        page_file.write_text(
            f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8"><title>Figure 1</title>'
            f'<meta name="viewport" content="width=device-width, initial-scale=1"><body style="margin:16px">{body}</body></html>',
            encoding="utf-8",
        )
        for chapter in CHAPTERS:
            (tmp_path / f"{chapter}.html").write_text("<!doctype html><title>a chapter</title>", encoding="utf-8")
        page = visit.blank(width=width, height=800, **options)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else complaints.append(r.url))
        page.goto(page_file.as_uri())
        return page

    yield open_page
    assert complaints == []


def card(page) -> str:
    return page.locator(".vb-f1-card:visible").get_attribute("data-part")


@pytest.mark.parametrize("width, layout", [(320, "tall"), (375, "tall"), (720, "wide"), (1400, "wide")])
def test_text_is_never_small_and_nothing_leaves_the_page(opened, width, layout):
    page = opened(width)
    shown = page.eval_on_selector_all(
        "svg.vb-f1-wide, svg.vb-f1-tall",
        "all => all.filter(s => s.getClientRects().length).map(s => s.className.baseVal)",
    )
    assert shown == [f"vb-f1-{layout}"]
    sizes = page.eval_on_selector_all(
        f"svg.vb-f1-{layout} text, svg.vb-f1-{layout} tspan",
        "all => all.filter(t => t.textContent.trim().length && t.textContent !== '\\u200b')"
        ".map(t => parseFloat(getComputedStyle(t).fontSize) * t.closest('svg').getScreenCTM().a)",
    )
    assert min(sizes) >= SMALLEST
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [375, 720])
def test_no_word_lies_on_another(opened, width):
    page = opened(width)
    boxes = page.eval_on_selector_all(
        "svg.vb-f1-wide text, svg.vb-f1-tall text",
        "all => all.filter(t => t.getClientRects().length).map(t => {const b = t.getBoundingClientRect();"
        "return [t.textContent, b.left, b.right, b.top + b.height * 0.2, b.bottom - b.height * 0.2]})",
    )
    assert len(boxes) > 40
    overlapping = [
        (a[0], b[0])
        for i, a in enumerate(boxes)
        for b in boxes[i + 1 :]
        if min(a[2], b[2]) - max(a[1], b[1]) > 1 and min(a[4], b[4]) - max(a[3], b[3]) > 1
    ]
    assert overlapping == []


def test_pointing_at_every_part_shows_its_card_with_the_numbers_of_python(opened, figure):
    page = opened(760)
    for key, part in figure.parts.items():
        box = page.locator(f"svg.vb-f1-wide a[data-part={key}] > .hit").bounding_box()
        page.mouse.move(1, 1)
        corner = (box["x"] + 5, box["y"] + 5)
        page.mouse.move(*corner)
        assert card(page) == key
        said = page.locator(".vb-f1-card:visible").inner_text()
        n = numbers(part.tensor)
        assert part.shape_text in said and f"{n['min']:.3g} to {n['max']:.3g}" in said
        assert (f"{part.parameters:,} parameters" in said) == bool(part.parameters)


def test_keyboard_walks_through_all_parts_in_reading_order(opened, figure):
    page = opened(760)
    page.locator("svg.vb-f1-wide a.vb-f1-part").first.focus()
    walked = [card(page)]
    for _ in range(len(figure.parts) - 1):
        page.keyboard.press("ArrowRight")
        walked.append(card(page))
    assert sorted(walked) == sorted(figure.parts) and walked[0] == "x" and walked[-1] == "class"
    page.keyboard.press("ArrowLeft")
    assert card(page) == walked[-2]
    page.keyboard.press("Tab")
    assert card(page) == walked[-1]
    outline = page.evaluate("getComputedStyle(document.activeElement.querySelector('.hit')).strokeWidth")
    assert outline == "3px"


def test_a_first_tap_shows_and_a_second_follows(opened):
    page = opened(375, has_touch=True, is_mobile=True)
    mlp = page.locator("svg.vb-f1-tall a[data-part=mlp] > .hit")
    mlp.tap()
    assert card(page) == "mlp" and page.url.endswith("375-light.html")
    assert page.locator(".vb-f1-card:visible").bounding_box()["y"] < 800  # in sight without scrolling
    mlp.tap()
    page.wait_for_url("**/eq3.html", wait_until="commit")


def test_enter_follows_the_link(opened):
    page = opened(760)
    page.locator("svg.vb-f1-wide a[data-part=x_p]").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/patches.html", wait_until="commit")


def test_dark_and_light_differ_and_words_can_be_read(opened):
    inks = {}
    for theme in ("light", "dark"):
        page = opened(760, theme)
        inks[theme] = page.evaluate("getComputedStyle(document.querySelector('svg.vb-f1-wide text.label')).fill")
    assert inks == {"light": "rgb(31, 38, 48)", "dark": "rgb(223, 228, 234)"}


def test_without_scripts_the_drawing_its_links_and_the_table_remain(opened, figure):
    page = opened(760, java_script_enabled=False)
    assert page.locator("svg.vb-f1-wide a.vb-f1-part").count() == len(figure.parts)
    assert card(page) == "x"
    page.locator(".vb-f1-all summary").click()
    assert page.locator(".vb-f1-all tbody tr:visible").count() == len(figure.parts)


def test_two_figures_answer_apart(opened):
    page = opened(760, figures=2)
    page.locator(".vb-figure1").nth(1).locator("svg.vb-f1-wide a[data-part=mlp]").focus()
    shown = page.locator(".vb-f1-card:visible")
    assert [shown.nth(i).get_attribute("data-part") for i in range(2)] == ["x", "mlp"]


STEPS = {"the-bar": ["E"], "the-layer": ["norm_1", "msa"], "the-end": ["y"]}


@pytest.fixture
def toured(visit, tmp_path):
    """A function that opens a page as the book has it: the figure, then sections of text, then more."""

    def open_page(width: int, **options):
        figure = figure_1(tiny(), PICTURE, tour=STEPS)._repr_html_()
        steps = "".join(
            f'<section id="{step}"><h3>{step}</h3><p style="height:500px">text</p></section>' for step in STEPS
        )
        page_file = tmp_path / "tour.html"
        page_file.write_text(
            f'<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8"><title>Figure 1</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1"><body style="margin:16px"><section>'
            f'<div class="cell"><div class="cell_output"><div class="output">{figure}</div></div></div>'
            f'<p style="height:400px">before</p>{steps}</section><p id="after" style="height:2000px">after</p></body></html>',
            encoding="utf-8",
        )
        page = visit.blank(width=width, height=800, **options)
        page.goto(page_file.as_uri())
        return page

    return open_page


def read_to(page, step: str) -> None:
    """Scroll until a section stands in the lower half of the window."""
    page.evaluate(
        "step => { const top = document.getElementById(step).getBoundingClientRect().top; scrollBy(0, top - 450) }",
        step,
    )
    page.wait_for_timeout(400)


def seen_parts(page) -> set[str]:
    return set(page.locator("svg.toured:visible > .lit").evaluate_all("all => all.map(e => e.dataset.part)"))


@pytest.mark.parametrize("width", [1280, 375])
def test_the_drawing_stays_and_shows_what_the_text_speaks_of(toured, width):
    page = toured(width, reduced_motion="reduce")
    assert seen_parts(page) == set()
    view = page.locator(".vb-f1-view")
    for step, parts in STEPS.items():
        read_to(page, step)
        assert seen_parts(page) == set(parts)
        frame = view.bounding_box()
        assert 0 <= frame["y"] < 80 and frame["height"] < 450
        lit = page.locator("svg.toured:visible > a.lit").first.bounding_box()
        assert frame["y"] - 1 <= lit["y"] and lit["y"] + lit["height"] <= frame["y"] + frame["height"] + 1
        assert frame["x"] - 9 <= lit["x"] and lit["x"] + lit["width"] <= frame["x"] + frame["width"] + 9
    page.evaluate("scrollTo(0, document.getElementById('after').offsetTop + 100)")
    assert view.bounding_box()["y"] < -200  # it goes with its section
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(300)
    assert seen_parts(page) == set()  # the whole drawing again
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_on_the_tour_a_card_comes_and_goes(toured):
    page = toured(1280)
    assert page.locator(".vb-f1-panel").is_hidden()
    page.locator("svg.vb-f1-wide a[data-part=mlp]").focus()
    assert card(page) == "mlp"
    page.keyboard.press("Escape")
    assert page.locator(".vb-f1-panel").is_hidden()
    page.keyboard.press("ArrowLeft")
    assert card(page) == "norm_2" and seen_parts(page) == {"norm_2"}


def test_the_whole_drawing_can_be_had(toured):
    page = toured(375)
    button = page.get_by_role("button", name="Whole drawing")
    button.click()
    drawing = page.locator("svg.vb-f1-tall").bounding_box()
    assert page.locator(".vb-f1-view").bounding_box()["height"] >= drawing["height"] > 800
    read_to(page, "the-layer")
    assert page.locator(".vb-f1-view").bounding_box()["y"] < -200
    button.click()
    assert page.locator(".vb-f1-view").bounding_box()["height"] < 450


def test_without_scripts_the_text_follows_the_whole_drawing(toured):
    page = toured(375, java_script_enabled=False)
    assert page.locator(".vb-f1-view").bounding_box()["height"] > 800
    assert page.locator(".vb-f1-tools button:visible").count() == 0


def test_in_print_the_drawing_is_whole(toured):
    page = toured(1280)
    read_to(page, "the-layer")
    page.emulate_media(media="print")
    page.wait_for_timeout(300)
    assert page.locator(".vb-f1-view").bounding_box()["height"] > 500
    looks = page.locator("svg.vb-f1-wide > a").evaluate_all("all => all.map(e => getComputedStyle(e).opacity)")
    assert set(looks) == {"1"}
    assert page.locator(".vb-f1-panel").is_hidden()


@pytest.mark.parametrize("width", [1280, 375])
def test_on_the_built_page(site, visit, width):
    seen = visit(f"{site.as_uri()}/book/figure1.html", width=width)
    first = seen.page.locator(".vb-figure1").first
    links = first.locator("svg a.vb-f1-part:visible")
    assert links.count() == 19
    for link in links.all():
        chapter = link.get_attribute("data-chapter")
        assert (site / "book" / f"{chapter}.html").is_file(), chapter
        link.focus()
        assert first.locator(".vb-f1-card:visible").get_attribute("data-part") == link.get_attribute("data-part")
    underlined = links.evaluate_all("all => all.map(a => getComputedStyle(a).textDecorationLine)")
    assert set(underlined) == {"none"}
    assert seen.troubles == []
