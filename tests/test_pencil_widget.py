"""The pencil widget: what the page works out is what vitbook.studies.pencil works out, to the last digit and the last word."""

from __future__ import annotations

import base64
import json
import random
from dataclasses import fields

import numpy as np
import pytest
import traitlets
from test_browser import RULES, STICKS_OUT, violations

from vitbook.figures.palette import GROUNDS, THEMES, attention_colours, colour, contrast
from vitbook.studies import pencil
from vitbook.widgets.pencil.widget import GIVEN, PencilWidget

# A stand-in for the widget manager's model, with Backbone's habit of telling listeners only of what has changed.
MODEL = """
const handlers = {};
const tell = (name) => (handlers[`change:${name}`] ?? []).forEach((f) => f());
window.model = {
  saves: 0, get: (name) => state[name],
  set(name, value) { if (JSON.stringify(state[name]) !== JSON.stringify(value)) { state[name] = value; tell(name); } },
  save_changes() { this.saves += 1; },
  on(names, f) { names.split(" ").forEach((name) => (handlers[name] ??= []).push(f)); },
  off(names, f) { names.split(" ").forEach((name) => (handlers[name] = handlers[name].filter((g) => g !== f))); },
};
window.listeners = () => Object.values(handlers).flat().length;
"""


def random_numbers(rng: random.Random, N=5, D=4, heads=3, D_h=2, scale=3):
    """Odd sizes: N != D, heads != D_h, k D_h != D; halves and thirds as a reader might type them."""

    def draw(rows, columns):
        return [[rng.choice((0, 1, -1, 2, 0.5, -0.25, 1 / 3, scale)) for _ in range(columns)] for _ in range(rows)]

    return draw(N, D), [draw(D, 3 * D_h) for _ in range(heads)], draw(heads * D_h, D)


@pytest.fixture
def opened(visit, tmp_path):
    """A function that opens a page from disk with one widget in it, no kernel and no widget manager."""

    def open_page(widget=None, width=760, theme="light"):
        widget = widget or PencilWidget()
        state = {name: getattr(widget, name) for name in ("start", *GIVEN, "head")}
        module = base64.b64encode(widget._esm.encode()).decode()
        (tmp_path / "page.html").write_text(
            f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8"><title>Pencil</title>'
            f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{widget._css}'
            f"html{{background:{colour('ground', theme)};color:{colour('text', theme)}}}</style>"
            f'<body style="margin:12px"><main><h1 style="font-size:18px">Pencil</h1><div id="here"></div></main>'
            f"<script>const state = {json.dumps(state)};{MODEL}</script><script type=module>"
            f'const module = await import("data:text/javascript;base64,{module}"); window.made = module;'
            "window.close_widget = module.default.render({ model, el: document.getElementById('here') });"
            "window.ready = true;</script></body></html>",
            encoding="utf-8",
        )
        seen = visit((tmp_path / "page.html").as_uri(), width=width, theme=theme, height=1000)
        seen.page.wait_for_function("window.ready")
        assert seen.troubles == []
        return seen.page

    return open_page


def cell(page, what, row, column):
    """The input of a given number, or the cell of a computed one."""
    box = page.locator(f'[data-what="{what}"] .vb-pc-line').nth(row + 1).locator("[role=gridcell]").nth(column)
    return box.locator("input") if box.locator("input").count() else box


def shown(page, what) -> np.ndarray:
    """The matrix as it stands on the page."""
    texts = page.eval_on_selector_all(
        f'[data-what="{what}"] .vb-pc-line',
        """lines => lines.slice(1).map(line => [...line.querySelectorAll('[role=gridcell]')].map(
             cell => cell.querySelector('input')?.value ?? cell.textContent))""",
    )
    return np.array([[float(text.replace("−", "-")) for text in row] for row in texts])


def agrees(page, given: dict, head: int = 1) -> None:
    """Every computed matrix on the page is Python's, to half of the last of its three decimals."""
    steps = pencil.steps(**given)
    for what in ("q", "k", "v", "scores", "A", "SA"):
        assert np.abs(shown(page, what) - getattr(steps.heads[head - 1], what).numpy()).max() <= 0.0005 + 1e-9, what
    assert np.abs(shown(page, "joined") - steps.joined.numpy()).max() <= 0.0005 + 1e-9
    assert np.abs(shown(page, "MSA") - steps.msa.numpy()).max() <= 0.0005 + 1e-9


def given_now(page) -> dict:
    return page.evaluate("() => ({z: state.z, U_qkv: state.U_qkv, U_msa: state.U_msa})")


# ------------------------------------------------------------------------------------------------------- Python's side


def test_it_starts_with_the_example_and_follows_what_python_sets():
    widget = PencilWidget()
    assert widget.steps().lists() == pencil.steps().lists()
    widget.z = [[9, 1, 0, 0, 1, 0], *widget.z[1:]]
    assert widget.steps().z[0, 0] == 9 and widget.start["z"][0][0] == 0


@pytest.mark.parametrize(
    "name, value, words",
    [
        ("z", [[1, 2]], "z must have 4 rows and 6 columns, got shape .1, 2."),
        ("z", [[0.0] * 6] * 5, "z must have 4 rows and 6 columns, got shape .5, 6."),
        ("U_msa", [["a"] * 6] * 6, "U_msa must be a matrix of numbers"),
        ("z", [[float("nan")] * 6] * 4, "finite"),
        ("head", 3, "from 1 to 2"),
        ("head", 0, "from 1 to 2"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(name, value, words):
    widget = PencilWidget()
    before = getattr(widget, name)
    with pytest.raises(traitlets.TraitError, match=words):
        setattr(widget, name, value)
    assert getattr(widget, name) == before


def test_numbers_of_the_readers_own_must_fit_each_other():
    z, U_qkv, U_msa = random_numbers(random.Random(1))
    assert PencilWidget(z, U_qkv, U_msa, head=3).head == 3
    with pytest.raises(ValueError, match="U_msa"):
        PencilWidget(z, U_qkv, U_msa[1:])


def test_the_bars_of_the_weights_can_be_seen():
    for theme in THEMES:
        assert contrast(attention_colours(theme)[150], getattr(GROUNDS["ground"], theme)) >= 3


# --------------------------------------------------------------------------------------------------- the page's numbers


@pytest.mark.browser
def test_the_page_computes_what_python_computes(opened):
    page, rng = opened(), random.Random(7)
    cases = [(pencil.Z, pencil.U_QKV, pencil.U_MSA), *(random_numbers(rng) for _ in range(20))]
    cases += [random_numbers(rng, N=1, D=3, heads=1, D_h=1), random_numbers(rng, N=3, D=5, heads=2, D_h=4, scale=9999)]
    for z, U_qkv, U_msa in cases:
        found = page.evaluate("given => made.compute(given)", {"z": z, "U_qkv": U_qkv, "U_msa": U_msa})
        expected = pencil.steps(z, U_qkv, U_msa).lists()
        expected["MSA"] = expected.pop("msa")
        # float64 sums taken in another order; and softmax makes of noise in a score the same relative noise in a weight
        noise = 1e-12 + 8 * np.finfo(float).eps * max(np.abs(head["scores"]).max() for head in expected["heads"])
        pairs = [(name, found[name], expected[name]) for name in ("joined", "MSA")]
        for ours, theirs in zip(found["heads"], expected["heads"], strict=True):
            pairs += [(field.name, ours[field.name], theirs[field.name]) for field in fields(pencil.HeadSteps)]
        largest = max(np.abs(theirs).max() for name, _, theirs in pairs if name not in ("dots", "scores"))
        for name, ours, theirs in pairs:
            bound = noise * (max(np.abs(theirs).max(), 1) if name in ("dots", "scores") else max(largest, 1))
            assert np.abs(np.array(ours) - np.array(theirs)).max() <= bound, name


@pytest.mark.browser
@pytest.mark.parametrize("own", [False, True], ids=["example", "other numbers"])
def test_the_page_writes_the_arithmetic_as_python_does(opened, own):
    page = opened()
    z, U_qkv, U_msa = random_numbers(random.Random(11)) if own else (pencil.Z, pencil.U_QKV, pencil.U_MSA)
    given = {"z": z, "U_qkv": U_qkv, "U_msa": U_msa}
    told = {}
    D_h = len(U_qkv[0][0]) // 3
    asked = [
        {"what": what, "head": h, "row": i, "column": c}
        for h in range(1, len(U_qkv) + 1) for i in range(len(z))
        for what, width in (("q", D_h), ("k", D_h), ("v", D_h), ("scores", len(z)), ("A", len(z)), ("SA", D_h)) for c in range(width)
    ] + [{"what": "MSA", "row": i, "column": c} for i in range(len(z)) for c in range(len(z[0]))]  # fmt: skip
    for lines in page.evaluate(
        "([given, asked]) => {const found = made.compute(given); return asked.map((cell) => made.explain(given, found, cell));}",
        [given, asked],
    ):
        told |= {line.split(" = ")[0]: line for line in lines}
    wanted = {
        line.name: line.closed()
        for i in range(len(z))
        for c in range(len(z[0]))
        for line in pencil.follow(i, c, **given)
    }
    assert told == wanted


@pytest.mark.browser
def test_numbers_are_written_as_python_writes_them(opened):
    from vitbook.studies.pencil.by_hand import tidy

    numbers = [k / 32 for k in range(-70, 71)] + [
        0.0005,
        1.0005,
        -0.0004,
        1e9,
        -2.5e12,
        1 / 3,
        999999999.5,
        1e8 + 0.0625,
    ]
    assert opened().evaluate("numbers => numbers.map((x) => made.written(x))", numbers) == [tidy(x, 3) for x in numbers]


@pytest.mark.browser
def test_what_a_reader_may_type(opened):
    page = opened()
    good = {
        "2": 2,
        " -0.5 ": -0.5,
        "−3": -3,
        "1,5": 1.5,
        ".25": 0.25,
        "1/4": 0.25,
        "-3 / 2": -1.5,
        "+7": 7,
        "007": 7,
        "-0": 0,
    }
    bad = ["", "-", "x", "2x", "1e3", "1/0", "10000", "--2", "1.2.3", "1,2,3", "NaN", "Infinity", "½", "2 3", "0x10"]
    assert page.evaluate("texts => texts.map(made.read)", list(good)) == list(good.values())
    assert page.evaluate("texts => texts.map(made.read)", bad) == [None] * len(bad)


# -------------------------------------------------------------------------------------------------------- the page's use


@pytest.mark.browser
def test_the_first_view_is_the_example_in_both_heads(opened):
    page = opened()
    agrees(page, dict(zip(GIVEN, (pencil.Z, pencil.U_QKV, pencil.U_MSA), strict=True)))
    assert page.locator(".vb-pc-words span").last.inner_text() == "A_1[0, 0] = 3.173 / 4.803 = 0.661"
    page.get_by_label("head 2", exact=True).check()
    agrees(page, given_now(page), head=2)
    assert (shown(page, "U_qkv") == np.array(pencil.U_QKV[1])).all() and page.evaluate("state.head") == 2
    assert page.locator(".vb-pc-changed").count() == 0


@pytest.mark.browser
def test_every_given_number_can_be_changed_and_everything_follows(opened):
    page, rng = opened(), random.Random(3)
    places = [("z", 4, 6), ("U_qkv", 6, 9), ("U_msa", 6, 6)]
    for head in (1, 2):
        page.get_by_label(f"head {head}", exact=True).check()
        for what, rows, columns in places:
            for _ in range(3):
                field = cell(page, what, rng.randrange(rows), rng.randrange(columns))
                field.fill(rng.choice(["3", "-2", "0.5", "-1/3", "1,25"]))
                agrees(page, given_now(page), head)
    assert page.locator(".vb-pc-given .vb-pc-changed").count() > 3 and page.evaluate("model.saves") >= 18


@pytest.mark.browser
def test_undo_redo_and_reset(opened):
    page = opened()
    start = given_now(page)
    undo, redo, reset = (
        page.get_by_role("button", name=name) for name in ("Undo the last", "Make the undone", "Put the book")
    )
    assert undo.is_disabled() and redo.is_disabled() and reset.is_disabled()

    cell(page, "z", 1, 3).fill("4")
    cell(page, "U_msa", 5, 5).fill("-7")
    after = given_now(page)
    undo.click()
    assert given_now(page)["U_msa"] == start["U_msa"] and given_now(page)["z"][1][3] == 4
    page.keyboard.press("Control+z")
    assert given_now(page) == start and undo.is_disabled()
    page.keyboard.press("Control+Shift+z")
    redo.click()
    assert given_now(page) == after and redo.is_disabled()
    agrees(page, after)
    reset.click()
    assert given_now(page) == start and reset.is_disabled()
    undo.click()
    assert given_now(page) == after


@pytest.mark.browser
def test_typing_digit_by_digit_is_one_step_back(opened):
    page = opened()
    field = cell(page, "z", 0, 0)
    field.focus()
    page.keyboard.type("-12.5")
    assert given_now(page)["z"][0][0] == -12.5 and field.input_value() == "-12.5"
    page.keyboard.press("Escape")
    assert given_now(page)["z"][0][0] == 0 and field.input_value() == "0"
    page.keyboard.type("8")
    page.keyboard.press("Enter")
    page.keyboard.type("9")
    page.keyboard.press("Control+z")
    assert [row[0] for row in given_now(page)["z"]] == [8, 0, 1, 2]
    page.keyboard.press("Control+z")
    assert [row[0] for row in given_now(page)["z"]] == [0, 0, 1, 2]


@pytest.mark.browser
def test_what_is_no_number_is_said_gently_and_the_last_number_counts(opened):
    page = opened()
    field, message = cell(page, "z", 0, 1), page.get_by_role("status")
    field.fill("3")
    field.fill("3x")
    assert field.get_attribute("aria-invalid") == "true" and "z[0, 1] holds “3x”" in message.inner_text()
    assert given_now(page)["z"][0][1] == 3
    agrees(page, given_now(page))
    field.fill("123456")
    assert "beyond 9999" in message.inner_text()
    field.fill("")
    assert "is empty, so 3 still counts" in message.inner_text()
    field.press("Tab")  # leaving puts back what counts
    assert field.input_value() == "3" and field.get_attribute("aria-invalid") is None and message.inner_text() == ""


@pytest.mark.browser
def test_by_keyboard(opened):
    page = opened()
    where = (
        "() => {const c = document.activeElement.closest('[role=gridcell]').vbCell; return [c.what, c.row, c.column]}"
    )
    cell(page, "z", 0, 0).focus()
    for key, expected in {
        "ArrowDown": ["z", 1, 0], "ArrowRight": ["z", 1, 1], "End": ["z", 1, 5], "ArrowUp": ["z", 0, 5],
        "Home": ["z", 0, 0], "Enter": ["z", 1, 0], "ArrowLeft": ["z", 1, 0],
    }.items():  # fmt: skip
        page.keyboard.press(key)
        assert page.evaluate(where) == expected, key
    stops = []
    for _ in range(9):  # one stop a matrix
        page.keyboard.press("Tab")
        stops.append(page.evaluate(where)[0])
    assert stops == ["U_qkv", "q", "k", "v", "scores", "A", "SA", "joined", "U_msa"]
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    assert page.evaluate(where) == ["MSA", 0, 5]
    assert page.locator(".vb-pc-words").inner_text() == pencil.follow(0, 5)[-1].closed()
    described = page.evaluate(
        "document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent"
    )
    assert described == pencil.follow(0, 5)[-1].closed()
    page.keyboard.press("Shift+Tab")
    page.keyboard.type("25")  # within a number the arrows belong to its text
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(where) == ["U_msa", 0, 0]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(where) == ["U_msa", 0, 1]


@pytest.mark.browser
def test_a_number_shows_its_way_and_what_it_is_made_from(opened):
    page = opened()

    def marked(name):
        return set(
            map(
                tuple,
                page.eval_on_selector_all(
                    f".vb-pc-{name}", "all => all.map(e => [e.vbCell.what, e.vbCell.row, e.vbCell.column])"
                ),
            )
        )

    cell(page, "SA", 2, 1).hover()
    assert marked("this") == {("SA", 2, 1)}
    assert marked("from") == {("A", 2, c) for c in range(4)} | {("v", r, 1) for r in range(4)}
    assert {what for what, _, _ in marked("way")} == {"z", "q", "scores", "A", "SA", "joined", "MSA"}
    assert {row for _, row, _ in marked("way")} == {2}
    assert page.locator(".vb-pc-words").inner_text().startswith("SA_1[2, 1] = ")
    cell(page, "k", 3, 0).hover()  # a key is a column of the scores
    assert {("scores", r, 3) for r in range(4)} | {("A", r, 3) for r in range(4)} <= marked("way")
    assert {("U_qkv", r, 3) for r in range(6)} <= marked("from")
    cell(page, "MSA", 1, 4).hover()
    assert marked("from") == {("joined", 1, c) for c in range(6)} | {("U_msa", r, 4) for r in range(6)}
    page.mouse.move(1, 1)  # and back to what was chosen last
    assert marked("this") == {("A", 0, 0)}
    page.get_by_label("head 2", exact=True).check()
    cell(page, "joined", 0, 1).hover()
    assert page.locator(".vb-pc-words").inner_text().startswith("SA_1[0, 1] = ")
    assert page.locator(".vb-pc-changed").count() == 0


@pytest.mark.browser
def test_a_finger_needs_no_keyboard(opened):
    page = opened(width=375)
    minus, plus, sign = (page.get_by_role("button", name=name) for name in ("One less", "One more", "Change the sign"))
    cell(page, "A", 1, 1).tap()
    assert page.locator(".vb-pc-words").inner_text().endswith("A_1[1, 1] = 5.652234 / 16.897548 = 0.335")
    assert plus.is_disabled()
    cell(page, "z", 3, 4).tap()
    plus.tap()
    plus.tap()
    sign.tap()
    assert given_now(page)["z"][3][4] == -4 and page.evaluate("document.activeElement.tagName") == "INPUT"
    minus.tap()
    assert given_now(page)["z"][3][4] == -5 and cell(page, "z", 3, 4).input_value() == "−5"
    agrees(page, given_now(page))
    page.get_by_role("button", name="Undo the last").tap()
    assert given_now(page)["z"][3][4] == -4


@pytest.mark.browser
def test_python_can_set_the_numbers_and_a_closed_view_listens_no_more(opened):
    page = opened()
    page.evaluate("() => { model.set('z', state.z.map((row) => row.map((x) => x + 1))); }")
    agrees(page, given_now(page))
    assert (shown(page, "z") == np.array(pencil.Z) + 1).all()
    page.get_by_role("button", name="Undo the last").click()
    assert (shown(page, "z") == np.array(pencil.Z)).all()
    page.evaluate("close_widget()")
    assert page.evaluate("listeners()") == 0


@pytest.mark.browser
def test_numbers_of_another_size(opened):
    z, U_qkv, U_msa = random_numbers(random.Random(5))
    page = opened(PencilWidget(z, U_qkv, U_msa, head=3))
    given = {"z": z, "U_qkv": U_qkv, "U_msa": U_msa}
    agrees(page, given, head=3)
    cell(page, "U_qkv", 3, 5).fill("7")
    assert given_now(page)["U_qkv"][2][3][5] == 7
    agrees(page, given_now(page), head=3)


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 375, 760])
def test_it_fits_its_page(opened, width):
    page = opened(width=width)
    assert page.evaluate(STICKS_OUT) == []
    sizes = page.eval_on_selector_all(
        ".vb-pencil *",
        "all => all.filter(e => e.textContent.trim() && !e.matches('sub, sup')).map(e => parseFloat(getComputedStyle(e).fontSize))",
    )
    assert min(sizes) >= 12
    if width >= 375:  # no matrix of the example has to be scrolled
        assert (
            page.eval_on_selector_all(
                ".vb-pc-scroll", "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).length"
            )
            == 0
        )


@pytest.mark.browser
@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing(opened, theme):
    page = opened(theme=theme)
    cell(page, "z", 0, 0).fill("x")
    assert violations(page, RULES if theme == "light" else []) == []
