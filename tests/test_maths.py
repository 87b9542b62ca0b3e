r"""Formulas are set by the build: every one of the book, in the book's font, with its TeX, its words and its room; none by a script."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import build_book, small_book
from fontTools.ttLib import TTFont
from test_book import pages

from bookbuild import maths_font
from bookbuild.maths import mathml
from bookbuild.myst import read

ROOT = Path(__file__).parents[1]


def spoken(tex: str) -> str:
    return ElementTree.fromstring(mathml(tex)).get("aria-label")


# --- one formula ---


def test_a_formula_carries_its_tex_as_it_was_written():
    math = ElementTree.fromstring(mathml(r"a < b \text{ or } \mathbf{q}", display=True))
    assert math.get("display") == "block"
    assert math.find(".//annotation[@encoding='application/x-tex']").text == r"a < b \text{ or } \mathbf{q}"
    assert ElementTree.fromstring(mathml("a")).get("display") is None


@pytest.mark.parametrize(
    "tex, words",
    [
        (r"\mathbf{z}'_\ell = \operatorname{MSA}(\operatorname{LN}(\mathbf{z}_{\ell-1})) + \mathbf{z}_{\ell-1}",
         "z prime sub l equals MSA of open paren LN of open paren z sub l minus 1 end sub close paren close paren plus "
         "z sub l minus 1 end sub"),
        (r"A = \operatorname{softmax}\left(\mathbf{q}\mathbf{k}^\top / \sqrt{D_h}\right), \qquad A \in \mathbb{R}^{N \times N}",
         "A equals softmax of open paren q k transposed over square root of D sub h end root close paren, "
         "A in R to the power N times N end power"),
        (r"\mathbf{E}_{pos} + \mathbf{x}_p^1\mathbf{E}", "E sub pos plus x sub p super 1 E"),
        (r"\frac{1}{D}\sum_i (x_i - \mu)^2", "1 over D sum over i of open paren x sub i minus mu close paren squared"),
        (r"\frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}}",
         "fraction x minus mu over square root of sigma squared plus epsilon end root end fraction"),
        (r"\sum_{\ell=1}^{L} \Delta_\ell", "sum from l equals 1 to L of capital delta sub l"),
        (r"\underbrace{4TD^2}_{\text{q, k}} + 1", "4 T D squared, underbraced as q, k, plus 1"),
        (r"\hat{x} \le 10^{-6}, \; W_1^3", "x hat at most 10 to the power minus 6 end power, W sub 1 cubed"),
        (r"\ell = 1 \ldots L", "l equals 1 and so on L"),
        (r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}", "open paren table, a, b, c, d, end table close paren"),
    ],
)  # fmt: skip
def test_a_formula_is_said_as_one_would_read_it(tex, words):
    assert spoken(tex) == words


def test_a_letter_that_leans_says_how_far_and_no_other_does():
    assert "--vb-lean: 0.20em" in mathml("P^2") and "--vb-lean: 0.20em" in mathml("P_1^2")
    assert "--vb-lean" not in mathml(r"x^2 + \mathbf{P}^2 + \mathrm{P}^2 + P_2")


def test_lines_of_a_formula_stay_lines():
    assert mathml(r"a \\ b", display=True).count("<mtr>") == 2


@pytest.mark.parametrize(
    "tex, said",
    [
        (r"a + \nosuch{b}", r"Unknown command \"\\nosuch\", in the formula a \+ \\nosuch{b}"),
        (r"\frac{a}{", r"Expected closing token .* in the formula \\frac{a}{"),
        ("a ♥ b", r"the font of the formulas lacks ♥ \(U\+2665\).*in the formula a ♥ b"),
    ],
)
def test_what_cannot_be_set_is_named(tex, said):
    with pytest.raises(ValueError, match=said):
        mathml(tex)


def test_every_formula_of_the_chapters_can_be_set():
    found = 0
    for chapter in sorted((ROOT / "book").glob("*.md")):
        for formula in read(chapter.read_text(encoding="utf-8")).formulas:
            assert spoken(formula.text), formula.text
            mathml(formula.text, display=formula.kind == "formula")
            found += 1
    assert found > 500


@pytest.mark.book
def test_a_formula_that_cannot_be_set_fails_the_strict_build_where_it_stands(tmp_path):
    small_book(tmp_path, {"bad": "# A page\n\nGood: $x$.\n\nBad, on line five: $\\nosuch{x}$.\n"})
    said = build_book(tmp_path, expect=None)
    assert re.search(r"bad\.md:5: WARNING: Unknown command \"\\nosuch\", in the formula \\nosuch\{x\}", said), said


# --- the font ---


def test_the_font_is_made_for_formulas_and_named_as_its_licence_asks():
    with TTFont(maths_font.FONT) as font:
        assert "MATH" in font
        assert not [name for name in font["name"].names if name.nameID in (1, 4, 6, 16) and "Latin" in str(name)]
        assert "GUST Font License" in str(font["name"].getName(0, 3, 1))
    assert "GUST" in maths_font.FONT.with_name("GUST-FONT-LICENSE.txt").read_text(encoding="utf-8")


def held(css: str) -> TTFont:
    return TTFont(io.BytesIO(base64.b64decode(re.search(r"base64,([^)]*)\)", css)[1])))


def test_a_style_sheet_holds_the_signs_in_use_and_what_browsers_draw_for_them():
    html = mathml(r"\sqrt{x} + \Phi + \alpha") + "<p>not a formula: Z</p>"
    assert maths_font.signs(html) == set("x+Φα")
    font = held(maths_font.font_face(maths_font.signs(html)))
    letters = set(map(chr, font.getBestCmap()))
    assert set("x+Φα√𝑥𝛼") <= letters and not set("Zyβ𝐱𝑧") & letters
    assert "radical.v1" in font.getGlyphOrder(), "roots grow"
    assert font["MATH"].table.MathConstants.RadicalRuleThickness.Value > 0


# --- the pages ---


@pytest.mark.book
def test_all_formulas_of_the_book_are_set_and_nothing_is_left_to_a_script(site):
    count = 0
    for page in pages(site):
        html = page.read_text(encoding="utf-8")
        formulas = re.findall(r"<math\b.*?</math>", html, re.DOTALL)
        assert all("application/x-tex" in formula and 'aria-label="' in formula for formula in formulas), page.name
        assert not [word for word in ("vb-unset", r"\(", r"\[", "MathJax", "mathjax") if word in outside_code(html)], (
            page
        )
        count += len(formulas)
    assert count > 600
    assert not list(site.rglob("*[mM]ath[jJ]ax*"))
    assert (site / "_static" / maths_font.SHEET).stat().st_size < 80_000


def outside_code(html: str) -> str:
    return re.sub(r"<(script|pre|code|annotation)\b.*?</\1>", "", html, flags=re.DOTALL)


@pytest.fixture(scope="module")
def sample(sample_site, serve) -> str:
    return f"{serve(sample_site)}/book/style.html"


#: What a closed fold holds is not on the page, and not on paper.
UNDRAWN = """() => [...document.querySelectorAll('math')].filter(
  (e) => e.getBoundingClientRect().width < 2 && !e.closest('details.hide:not([open])')).length"""
PARTED = "() => [...document.querySelectorAll('.vb-tied')].filter(e => e.getClientRects().length > 1).length"


def fonts_of_formulas(page) -> set[str]:
    """The fonts that the signs of all formulas are really drawn with, and whether they came with the page."""
    devtools = page.context.new_cdp_session(page)
    for domain in ("DOM", "CSS"):
        devtools.send(f"{domain}.enable")
    root = devtools.send("DOM.getDocument")["root"]["nodeId"]
    tokens = devtools.send("DOM.querySelectorAll", {"nodeId": root, "selector": "math :is(mi, mn, mo, mtext, msqrt)"})
    found = set()
    for node in tokens["nodeIds"]:
        for font in devtools.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]:
            found.add((font["familyName"], font["isCustomFont"]))
    return found


@pytest.mark.browser
@pytest.mark.parametrize("root", ["http", "disk"])
@pytest.mark.parametrize("media", ["screen", "print"])
def test_without_any_script_every_formula_is_drawn_in_the_books_font(browser, sample_site, sample, root, media):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.emulate_media(media=media)
    page.goto(sample if root == "http" else (sample_site / "book" / "style.html").as_uri())
    assert page.locator("math").count() > 8
    assert fonts_of_formulas(page) == {("Vitbook Math", True)}
    context.close()


@pytest.mark.browser
def test_nothing_moves_when_formulas_come(browser, sample):
    """On a slow line and a slow machine, from the first byte on; once more if it must be, since a busy machine paints in bits."""
    assert any(shift_of_a_slow_visit(browser, sample) < 0.005 for _ in range(2))


def shift_of_a_slow_visit(browser, address) -> float:
    context = browser.new_context(viewport={"width": 800, "height": 2000})
    context.add_init_script(  # fonts come late, as they do where others use the machine as well
        "const load = document.fonts.load.bind(document.fonts);"
        "document.fonts.load = font => new Promise(done => setTimeout(done, 300)).then(() => load(font));"
        "window.shifts = []; new PerformanceObserver(list => shifts.push(...list.getEntries().map(e => e.value)))"
        ".observe({type: 'layout-shift', buffered: true})"
    )
    page = context.new_page()
    devtools = context.new_cdp_session(page)
    slow = {"offline": False, "latency": 100, "downloadThroughput": 100_000, "uploadThroughput": 50_000}
    devtools.send("Network.enable")
    devtools.send("Network.emulateNetworkConditions", slow)
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": 8})
    page.goto(address, wait_until="load")
    page.wait_for_timeout(300)
    assert page.evaluate(UNDRAWN) == 0
    moved = sum(page.evaluate("shifts"))
    context.close()
    return moved


CUT_OFF = """() => [...document.querySelectorAll('.vb-formula')]
  .filter(e => e.scrollWidth > e.clientWidth && getComputedStyle(e).overflowX !== 'visible' || e.scrollWidth > e.clientWidth + 20)
  .map(e => e.textContent)"""
SHEET_OF_PAPER = {"width": 718, "height": 1000}  # A4 within a browser's margins


@pytest.mark.browser
def test_no_formula_is_cut_off_on_paper(browser, site):
    """Nor is any page asked to wait for a script before it is printed."""
    context = browser.new_context(viewport=SHEET_OF_PAPER, java_script_enabled=False)
    page = context.new_page()
    page.emulate_media(media="print")
    for chapter in (each for each in pages(site) if each.name != "index.html"):  # which leads on at once
        page.goto(chapter.as_uri())
        assert page.evaluate(CUT_OFF) == [], chapter.name
        assert page.evaluate(UNDRAWN) == 0, chapter.name
    context.close()


@pytest.mark.browser
def test_a_screen_reader_is_told_the_words(sample, visit):
    page = visit(sample).page
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    said = [node["name"]["value"] for node in tree if node["role"]["value"] == "MathMLMath"]
    assert len(said) == page.locator("math").count()
    assert "q" in said and any(words.startswith("z sub l equals MLP of open paren") for words in said)


COPIED = """(selector) => {
  const place = document.querySelector(selector), range = document.createRange(), copied = {};
  range.selectNodeContents(place);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  const read = (event) => { for (const kind of ['plain', 'html']) copied[kind] = event.clipboardData.getData(`text/${kind}`); };
  document.addEventListener('copy', read, { once: true });
  document.execCommand('copy');
  return copied;
}"""


@pytest.mark.browser
def test_formulas_are_copied_as_tex(sample, visit):
    page = visit(sample).page
    line = page.evaluate(COPIED, "p:has(> .vb-tied math), p:has(> math):not(.vb-shapes *)")
    assert r"reads: $\mathbf q$ asks, $\mathbf{k}$ answers" in line["plain"] and "(6a) follows" in line["plain"]
    assert "<math" in line["html"]
    part = page.evaluate(COPIED, "#equation-eq-6 math mi")
    assert part["plain"].startswith(r"$$[\mathbf{q}, \mathbf{k}, \mathbf{v}] =") and part["plain"].endswith(
        r"_{\ell-1}$$"
    )
    assert page.evaluate(COPIED, "h1") == {"plain": "", "html": ""}, "left to the browser"


@pytest.mark.browser
def test_a_long_formula_scrolls_in_its_own_box_and_takes_the_focus_only_then(sample, visit):
    for width, wide in ((375, True), (2400, False)):
        page = visit(sample, width=width).page
        box = page.locator("#equation-eq-1 .vb-formula")
        assert box.evaluate("e => [e.scrollWidth > e.clientWidth + 1, e.tabIndex === 0]") == [wide, wide]


@pytest.mark.browser
def test_a_comma_stays_beside_its_formula(browser, sample_site):
    """At every width: no line begins with what stood beside a formula without a space."""
    context = browser.new_context()
    page = context.new_page()
    page.goto((sample_site / "book" / "style.html").as_uri())
    assert page.locator(".vb-tied").count() > 0
    for width in range(320, 700, 20):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(PARTED) == 0
    context.close()
