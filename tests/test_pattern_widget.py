"""The pattern widget: what its JavaScript finds in Chromium is what Python finds, for every pattern."""

from __future__ import annotations

import json
import random
import re

import numpy as np
import pytest
import traitlets
from PIL import Image
from test_patterns import choose
from tiny import ODD, checkpoint_of, random_weights

from vitbook.studies.patterns import PATTERNS
from vitbook.widgets.patterns.widget import PatternWidget, offered_grids

CHECKPOINT = checkpoint_of(random_weights())
PICTURE = Image.fromarray(np.full((30, 40, 3), 90, np.uint8))


@pytest.fixture
def widget():
    return PatternWidget(CHECKPOINT, PICTURE)


# ---------------------------------------------------------------- Python's side


def test_it_starts_in_the_middle_of_the_checkpoints_own_grid(widget):
    assert widget.size == (3, 4) and widget.query == 6 and widget.pattern == "local"
    assert (widget.mask() == PATTERNS["local"].mask(3, 4)).all()
    assert (widget.sees() == PATTERNS["local"].sees(1, 2, 3, 4)).all()
    assert widget.pairs() == widget.mask().sum()


def test_parameters_given_by_letter_are_used():
    widget = PatternWidget(CHECKPOINT, PICTURE, "local", query=0, k=3)
    assert widget.pairs() == PATTERNS["local"].pairs(3, 4, k=3) and widget.sees().sum() == 4


@pytest.mark.parametrize(
    "name, value, words", [("pattern", "loca", "local"), ("grid", 99, "from 0 to"), ("query", 12, "0 to 11")]
)
def test_what_does_not_exist_is_refused(widget, name, value, words):
    with pytest.raises(traitlets.TraitError, match=words):
        setattr(widget, name, value)


def test_a_smaller_grid_keeps_the_query_inside(widget):
    widget.grid = len(widget.data["grids"]) - 1
    widget.query = 15 * 20 - 1
    widget.grid = 0
    assert widget.query == 11


def test_grids_are_the_checkpoints_own_the_squares_and_the_pixels():
    grids = [tuple(g[:2]) for g in offered_grids(ODD)]
    assert grids[0] == (3, 4) and grids[-1] == (15, 20) and len(set(grids)) == len(grids)


# ---------------------------------------------------------------- JavaScript's side


LOAD = """async ([source, state]) => {
  const file = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
  window.made = await import(file);
  const listeners = [];
  window.model = {state, saved: 0, get: (k) => state[k], set: (k, v) => { state[k] = v; }, save_changes: () => { model.saved += 1; },
    on: (names, f) => listeners.push(f), off: () => {}, tell: () => listeners.forEach((f) => f())};
  document.body.replaceChildren(Object.assign(document.createElement("style"), {textContent: state._css}));
  const el = document.body.appendChild(document.createElement("div"));
  window.close_widget = window.made.default.render({model, el});
}"""


@pytest.fixture
def page(visit, widget):
    complaints = []
    page = visit.blank(width=760, height=1000)
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    load(page, widget)
    yield page
    assert complaints == []


def load(page, widget):
    state = {name: getattr(widget, name) for name in ("_css", "data", "pattern", "grid", "query", "chosen")}
    page.evaluate(LOAD, [widget._esm, json.loads(json.dumps(state))])


@pytest.mark.browser
@pytest.mark.parametrize("name", PATTERNS)
def test_rules_and_counts_agree_with_python(page, name):
    pattern, rng = PATTERNS[name], random.Random(name)
    cases = [(5, 7, {}), (14, 14, {}), (1, 6, {}), (4, 1, {}), *([(5, 7, {"k": 4})] if name == "local" else [])]
    cases += [(rng.randint(1, 9), rng.randint(1, 9), choose(pattern, rng)) for _ in range(20)]
    found = page.evaluate(
        """([pattern, cases]) => cases.map(([H, W, chosen]) => {
          try {
            const letters = made.lettersOf(pattern, H, W, chosen), reads = made.reader(pattern, letters);
            return [made.pairsOf(pattern, letters), Array.from({length: H * W}, (_, i) => [...reads(i)])];
          } catch (error) { return [error.message, null]; }
        })""",
        [json.loads(json.dumps(pattern.as_data())), cases],
    )
    for (H, W, chosen), (pairs, mask) in zip(cases, found, strict=True):
        if mask is None:  # refused there: then here too, in the same words
            with pytest.raises(ValueError, match=re.escape(pairs)):
                pattern.letters(H, W, **chosen)
            continue
        assert pairs == pattern.pairs(H, W, **chosen)
        assert (np.array(mask, bool) == pattern.mask(H, W, **chosen)).all()


@pytest.mark.browser
def test_one_token_a_pixel_at_full_size(page):
    for name, pattern in PATTERNS.items():
        pairs, seen = page.evaluate(
            """(pattern) => {const letters = made.lettersOf(pattern, 224, 224);
              return [made.pairsOf(pattern, letters), made.reader(pattern, letters)(30000).reduce((a, b) => a + b, 0)];}""",
            json.loads(json.dumps(pattern.as_data())),
        )
        assert pairs == pattern.pairs(224, 224), name
        assert seen == pattern.sees(*divmod(30000, 224), 224, 224).sum(), name


@pytest.mark.browser
@pytest.mark.parametrize("text", ["i +", "alert(1)", "i; j", "i.x", "constructor(1)", "(i", "i j"])
def test_anything_but_a_formula_is_refused(page, text):
    assert (
        page.evaluate("(text) => {try {made.compile(text, ['i', 'j'])(1, 2)} catch (e) {return 'refused'}}", text)
        == "refused"
    )


@pytest.mark.browser
def test_precedence_is_that_of_python(page):
    texts = [
        "1 + 2 * 3 ** 2",
        "-2 ** 2",
        "7 - 2 - 1",
        "1 | 2 & 2",
        "(7 - 9) % 5",
        "8 / 4 / 2",
        "2 * 3 % 4",
        "min(3, 2 + 2, 5)",
        "abs(2 - 5)",
        "1 + 1 == 2",
    ]
    found = page.evaluate("(texts) => texts.map((text) => Number(made.compile(text, [])()))", texts)
    assert found == [float(eval(text)) for text in texts]


@pytest.mark.browser
def test_choosing_by_mouse_keyboard_and_numbers(page, widget):
    root = page.locator(".vb-pattern-widget")
    assert root.get_attribute("data-pairs") == str(widget.pairs()) and root.get_attribute("data-seen") == str(
        widget.sees().sum()
    )

    page.get_by_label("pattern", exact=True).select_option("axial")
    assert root.get_attribute("data-pairs") == str(PATTERNS["axial"].pairs(3, 4))
    photo = page.get_by_role("application")
    photo.focus()
    page.keyboard.press("ArrowUp")
    assert page.evaluate("model.get('query')") == 2
    page.keyboard.press("ArrowUp")  # the border stops it
    page.keyboard.press("ArrowRight")
    assert page.evaluate("model.get('query')") == 3
    box = photo.bounding_box()
    cell = box["width"] / 4
    page.mouse.click(box["x"] + 0.5 * cell, box["y"] + box["height"] / 2 + cell)
    assert page.evaluate("model.get('query')") == 8
    page.get_by_label("column", exact=True).fill("99")
    page.get_by_label("column", exact=True).press("Tab")
    assert page.evaluate("model.get('query')") == 11
    assert page.evaluate("model.saved") > 4


@pytest.mark.browser
def test_a_choice_that_cannot_be_is_said_and_mended(page):
    k = page.get_by_label("k: ")
    k.fill("4")
    assert "only if k is odd" in page.get_by_role("alert").inner_text()
    assert page.evaluate("model.saved") == 0, "Python would refuse it, so it is not told"
    k.fill("3")
    assert page.evaluate("model.saved") == 1
    assert page.get_by_role("alert").inner_text() == "" if page.get_by_role("alert").is_visible() else True
    assert page.locator(".vb-pattern-widget").get_attribute("data-pairs") == str(PATTERNS["local"].pairs(3, 4, k=3))


@pytest.mark.browser
def test_another_resolution_keeps_the_place_in_the_picture(page):
    page.get_by_label("tokens", exact=True).select_option(label="15 × 20: one token a pixel")
    row, column = divmod(page.evaluate("model.get('query')"), 20)
    assert (row * 3 // 15, column * 4 // 20) == (1, 2)
    page.get_by_label("tokens", exact=True).select_option(label="224 × 224: 50,176 tokens")
    root = page.locator(".vb-pattern-widget")
    assert root.get_attribute("data-pairs") == str(PATTERNS["local"].pairs(224, 224))
    assert "2.52 billion entries" in root.inner_text()


@pytest.mark.browser
def test_the_pixels_of_the_mask_are_the_mask(page, widget):
    mask = PATTERNS["fixed"].mask(3, 4)
    page.get_by_label("pattern", exact=True).select_option("fixed")
    found = page.evaluate(
        """() => {const c = document.querySelectorAll(".vb-pattern-widget canvas")[1], N = 12, cell = c.width / N;
          const alpha = c.getContext("2d").getImageData(0, 0, c.width, c.height).data.filter((_, k) => k % 4 === 3);
          const at = (k) => Math.floor((k + 0.5) * cell);
          return Array.from({length: N}, (_, i) => Array.from({length: N}, (_, j) => alpha[at(i) * c.width + at(j)]));}"""
    )
    assert (np.array(found) > 128).tolist() == mask.tolist()


@pytest.mark.browser
def test_python_can_set_it(page):
    page.evaluate("() => {Object.assign(model.state, {pattern: 'full', query: 0, chosen: {}}); model.tell()}")
    root = page.locator(".vb-pattern-widget")
    assert (
        root.get_attribute("data-pairs") == "144" and page.get_by_label("pattern", exact=True).input_value() == "full"
    )


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 375, 760])
def test_it_fits_its_page_and_every_control_is_named(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    nameless = page.eval_on_selector_all(
        ".vb-pattern-widget :is(input, select)",
        "all => all.filter(e => !e.labels.length || !e.labels[0].innerText.trim()).length",
    )
    assert nameless == 0
    sizes = page.eval_on_selector_all(
        ".vb-pattern-widget *", "all => all.map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 11


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 375])
def test_on_the_built_page_with_no_kernel(site, serve, visit, width):
    for address in (serve(site), site.as_uri()):
        seen = visit(f"{address}/book/related_work.html", width=width)
        page, root = seen.page, seen.page.locator(".vb-pattern-widget")
        H, W = (int(side) for side in re.findall(r"\d+", page.get_by_label("tokens", exact=True).inner_text())[:2])
        for name in ("axial", "strided", "block-local"):
            page.get_by_label("pattern", exact=True).select_option(name)
            assert root.get_attribute("data-pairs") == str(PATTERNS[name].pairs(H, W))
            query = divmod(int(root.get_attribute("data-query")), W)
            assert root.get_attribute("data-seen") == str(PATTERNS[name].sees(*query, H, W).sum())
        assert seen.troubles == []
