"""The calculator: what the page counts is what Python counts; sizes that fit no model are told apart; nobody is left out."""

import base64
import json
import random
import re
from dataclasses import replace

import pytest
from traitlets import TraitError

from vitbook.config import VARIANTS, ViTConfig
from vitbook.studies.counting import MULTIPLY_ADDS, PARAMETERS, count_parameters, multiply_adds
from vitbook.widgets.calculator.widget import INK, LETTERS, Calculator

# A stand-in for the widget manager's model: enough of it to draw the view and to see what it sends.
MODEL = """
const handlers = {};
window.model = {
  sent: {}, get: (name) => state[name],
  set(name, value) {
    if (state[name] === value) return;
    state[name] = this.sent[name] = value;
    (handlers[`change:${name}`] ?? []).forEach((f) => f());
  },
  save_changes() { window.saves = (window.saves ?? 0) + 1; },
  on(event, f) { (handlers[event] ??= []).push(f); },
  off() {},
};
"""


@pytest.fixture
def opened(visit, tmp_path):
    """A function that opens a page from disk with one calculator in it, no kernel and no widget manager."""

    def open_page(calculator=None, width=1000, theme="light"):
        calculator = calculator or Calculator()
        state = {
            name: getattr(calculator, name) for name in calculator.trait_names(sync=True) if not name.startswith("_")
        }
        state = {name: value for name, value in state.items() if isinstance(value, int | str | bool | list | dict)}
        module = base64.b64encode(calculator._esm.encode()).decode()
        (tmp_path / "page.html").write_text(
            f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8"><title>Calculator</title>'
            f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{calculator._css}</style>'
            f'<body style="margin:12px"><main><h1 style="font-size:18px">Calculator</h1><div id="here"></div></main>'
            f"<script>const state = {json.dumps(state)};{MODEL}</script><script type=module>"
            f'const module = await import("data:text/javascript;base64,{module}"); window.module = module;'
            "module.default.render({ model, el: document.getElementById('here') }); window.ready = true;</script></body></html>",
            encoding="utf-8",
        )
        seen = visit((tmp_path / "page.html").as_uri(), width=width, theme=theme)
        seen.page.wait_for_function("window.ready")
        return seen

    return open_page


def shown(page):
    """What the page says: the facts above, and both tables part by part."""
    facts = {
        fact.get_attribute("data-fact"): number(fact.locator("b").inner_text())
        for fact in page.locator(".summary [data-fact]").all()
    }
    tables = {}
    for view in page.locator("details[data-view]").all():
        view.evaluate("e => { e.open = true; }")
        rows = view.locator("tbody tr:not(.total)").all()
        tables[view.get_attribute("data-view")] = [
            (row.locator("th").text_content(), number(row.locator("[data-label=each]").text_content()),
             number(row.locator("[data-label=all]").text_content()))
            for row in rows
        ]  # fmt: skip
    return facts, tables


def number(text):
    return int(re.sub(r"[^\d]", "", text))


def expected(config, K, pre_logits):
    counts = count_parameters(config, K, pre_logits), multiply_adds(config, K, pre_logits)
    facts = {
        "parameters": counts[0].total,
        "cost": counts[1].total,
        "tokens": config.N + 1,
        "D_h": config.D_h,
    }
    tables = {
        title: [(row["part"], row["each"], row["total"]) for row in count.rows()]
        for title, count in zip(("Parameters", "Multiply-adds"), counts, strict=True)
    }
    return facts, tables


def type_in(page, config, K, pre_logits):
    for letter in LETTERS:
        page.locator(f"input[id$='-{letter}']").fill(str(getattr(config, letter)))
    page.locator("input[id$='-K']").fill(str(K or 0))
    page.locator("input[id$='-qkv_bias']").set_checked(config.qkv_bias)
    page.locator("input[id$='-pre_logits']").set_checked(pre_logits)


def configs():
    rng = random.Random(86)
    B16 = VARIANTS["ViT-B/16"]
    yield replace(B16, H=384, W=512), 21843, True
    yield replace(B16, P=1), None, False  # 10^13 multiply-adds
    yield ViTConfig(H=1, W=1, P=1, D=1, L=1, heads=1, M=1, C=1), None, False
    yield ViTConfig(H=4096, W=8192, P=1, D=99_990, L=999, heads=9, M=123_457), 10**6, True  # beyond 2^53
    for _ in range(12):
        P, heads = rng.randint(1, 32), rng.randint(1, 24)
        yield (
            ViTConfig(H=P * rng.randint(1, 40), W=P * rng.randint(1, 40), P=P, D=heads * rng.randint(1, 99), L=rng.randint(1, 60),
                      heads=heads, M=rng.randint(1, 9000), C=rng.randint(1, 12), qkv_bias=rng.random() < 0.5),
            rng.choice([None, 1, 7, 1000]), rng.random() < 0.5,
        )  # fmt: skip


@pytest.mark.browser
def test_the_page_counts_as_python_does(opened):
    page = opened().page
    for config, K, pre_logits in configs():
        type_in(page, config, K, pre_logits)
        assert shown(page) == expected(config, K, pre_logits)


@pytest.mark.browser
@pytest.mark.parametrize("name", VARIANTS)
def test_every_preset(opened, name):
    page = opened().page
    page.get_by_label("Start from").select_option(name)
    assert shown(page) == expected(VARIANTS[name], 1000, False)
    page.locator("input[id$='-L']").fill("11")
    assert page.get_by_label("Start from").input_value() == "", "no longer a model of the table"


@pytest.mark.browser
def test_sizes_that_fit_no_model_are_named_and_sent_nowhere(opened):
    page = opened().page
    for letter, bad, complaint in [
        ("H", "225", "H = 225 is not a whole number of patches of 16"),
        ("heads", "7", "D = 768 cannot be shared equally among 7 heads"),
        ("D", "", "D must be a positive whole number"),
        ("L", "0", "L must be a positive whole number"),
        ("M", "-3", "M must be a positive whole number"),
        ("P", "16.5", "P must be a positive whole number"),
        ("K", "many", "K must be a whole number"),
    ]:
        before = page.evaluate("JSON.stringify([model.sent, window.saves])")
        field = page.locator(f"input[id$='-{letter}']")
        kept = field.input_value()
        field.fill(bad)
        field.press("Tab")
        assert complaint in page.locator(".summary").inner_text()
        assert page.locator("[aria-invalid=true]").count() >= 1
        assert page.evaluate("JSON.stringify([model.sent, window.saves])") == before
        field.fill(kept)
        field.press("Tab")
    assert page.locator("[aria-invalid=true]").count() == 0


@pytest.mark.browser
def test_what_is_typed_reaches_python_and_what_python_sets_reaches_the_page(opened):
    page = opened().page
    page.locator("input[id$='-L']").fill("24")
    page.locator("input[id$='-L']").press("Enter")
    page.locator("input[id$='-pre_logits']").check()
    assert page.evaluate("[model.sent, window.saves > 0]") == [{"L": 24, "pre_logits": True}, True]
    page.evaluate("model.set('D', 384)")
    assert page.locator("input[id$='-D']").input_value() == "384"


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1000])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_every_screen_by_the_rules_of_axe(opened, width, theme):
    from test_browser import violations

    seen = opened(width=width, theme=theme)
    page = seen.page
    page.locator("details").nth(1).evaluate("e => { e.open = true; }")
    assert seen.troubles == []
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    sizes = page.locator(".vb-calc *").evaluate_all("all => all.map(e => parseFloat(getComputedStyle(e).fontSize))")
    assert min(sizes) >= 12


@pytest.mark.browser
def test_the_keyboard_reaches_every_size(opened):
    page = opened().page
    page.get_by_label("Start from").focus()
    reached = []
    for _ in range(11):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id.split('-').slice(3).join('-')"))
    assert reached == [*LETTERS, "K", "qkv_bias", "pre_logits"]


@pytest.mark.browser
def test_a_formula_that_cannot_be_read_is_refused(opened):
    page = opened().page
    assert page.evaluate("String(module.evaluate('2*(N + 1)*D**2 - 3', {N: 4n, D: 10n}))") == "997"
    for bad in ("2*X", "2 3", "alert(1)"):
        with pytest.raises(Exception, match=r"no letter|cannot read"):
            page.evaluate("text => String(module.evaluate(text, {N: 1n}))", bad)


# --- Python's side ---


def test_python_reads_and_sets_sizes():
    calculator = Calculator("ViT-L/16", K=0, pre_logits=True)
    assert calculator.count.total == count_parameters(VARIANTS["ViT-L/16"], pre_logits=True).total
    calculator.P = 32
    assert calculator.count.total == 306_560_000
    assert calculator.cost.total == multiply_adds(VARIANTS["ViT-L/32"], pre_logits=True).total
    calculator.heads = 7
    with pytest.raises(ValueError, match="cannot be shared equally among 7 heads"):
        _ = calculator.config


@pytest.mark.parametrize(
    "start, error, complaint",
    [
        (dict(model="ViT-B/8"), ValueError, "model must be one of ViT-B/16"),
        (dict(P=15), ValueError, "whole number of patches"),
        (dict(depth=3), TypeError, "no depth; sizes are H, W"),
        (dict(D="wide"), TraitError, "D must be a positive whole number, got 'wide'"),
        (dict(K=-1), TraitError, "K must be a whole number of at least 0, got -1"),
    ],
)
def test_an_impossible_start_is_refused(start, error, complaint):
    with pytest.raises(error, match=complaint):
        Calculator(**start)


def test_every_part_has_an_ink_of_the_palette():
    assert set(INK) == {term.name for term in (*PARAMETERS, *MULTIPLY_ADDS)}
    for ink in set(INK.values()):
        assert Calculator()._css.count(f"--vb-{ink}:") == 2, "in both themes"
