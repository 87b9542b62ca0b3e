"""Every page in a real Chromium that can reach nobody else: over http and from a disk, on a phone, in the dark, by axe's rules."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest
from test_book import chapters

pytestmark = pytest.mark.browser

PAGES = [*chapters(), "genindex", "search", "404"]
# Formulas that could not be set, that are not drawn, that say nothing to those who listen, and their font where it is missing.
BAD_MATHS = """() => {
  const formulas = [...document.querySelectorAll('math')];
  const drawn = e => !e.checkVisibility() || e.getBoundingClientRect().width > 1;
  const font = [...document.fonts].some(f => f.family.includes('Latin Modern Math') && f.status === 'loaded');
  return [
    ...[...document.querySelectorAll('merror, .vb-unset')].map(e => e.textContent),
    ...[...document.querySelectorAll('div.math')].filter(e => !e.querySelector('math')).map(e => e.textContent),
    ...formulas.filter(e => !drawn(e) || !e.ariaLabel || !e.querySelector('annotation')).map(e => e.textContent),
    ...(font || !formulas.some(e => e.checkVisibility()) ? [] : ['without their font']),
  ];
}"""
# What sticks out of the page to the right although nothing around it scrolls.
STICKS_OUT = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const contained = e => {
    for (let p = e.parentElement; p; p = p.parentElement) if (getComputedStyle(p).overflowX !== 'visible') return true;
  };
  return [...document.querySelectorAll('main *')]
    .filter(e => e.getBoundingClientRect().right > width + 1 && !contained(e))
    .map(e => `${e.tagName}.${e.className} ${Math.round(e.getBoundingClientRect().right)} > ${width}`)
    .concat([`the page is ${document.documentElement.scrollWidth} px wide`]).slice(0, 8);
}"""
# Panels with words that stay light in the dark theme (data-vb-light: coloured on purpose, with words that read on it).
LIGHT_PANELS = """() => {
  const light = colour => {
    const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number);
    return a > 0.5 && 0.2126 * r + 0.7152 * g + 0.0722 * b > 120;
  };
  return [...document.querySelectorAll('body, .bd-article *')]
    .filter(e => !e.closest('svg, .noUi-target, [data-vb-light]'))
    .filter(e => e.getBoundingClientRect().width > 60)
    .filter(e => e.textContent.trim() && light(getComputedStyle(e).backgroundColor))
    .map(e => `${e.tagName}.${e.className}`).slice(0, 8);
}"""
# What has changed is laid out and drawn, and what watches for that has had its turn.
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20))))"
MOVES = "() => [...document.querySelectorAll('*')].filter(e => parseFloat(getComputedStyle(e).transitionDuration) > 0.001).length"


def page_url(root: str, name: str) -> str:
    return f"{root}/{name}.html"


def on_disk(site: Path) -> str:
    return site.as_uri()


def check_page(seen) -> None:
    assert seen.troubles == []
    assert seen.page.evaluate(BAD_MATHS) == []


AXE = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]
COLOURS = ["color-contrast", "link-in-text-block"]  # the rules that another theme can break
# Whether words stand out takes axe milliseconds for each of thousands. What looks the same on the same ground stands out as well, so
# of each look it gets the first that is seen, and for every other rule the whole page.
AXE_RUN = """async ([tags, colours]) => {
  const few = new Map(), grounds = new Map([[null, '']]);
  const ground = e => {
    if (!grounds.has(e)) {
      const {backgroundColor, backgroundImage, opacity} = getComputedStyle(e);
      grounds.set(e, [backgroundColor, backgroundImage, opacity, ground(e.parentElement)].join());
    }
    return grounds.get(e);
  };
  const says = e => [...e.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const inWords = e => says(e) || e.matches('a, input, textarea, select');
  for (const e of [...document.body.querySelectorAll('*')].filter(e => inWords(e) && e.checkVisibility())) {
    const {color, fontSize, fontWeight, textShadow, textDecoration, borderBottom} = getComputedStyle(e);
    const aLetter = e.textContent.trim().length < 2;  // which axe leaves undecided
    const own = [e.tagName, e.getAttribute('class'), aLetter, e.matches(':disabled'), textDecoration, borderBottom];
    const around = [getComputedStyle(e.parentElement).color, ground(e)];
    const look = [...own, color, fontSize, fontWeight, textShadow, ...around].join();
    if (!few.has(look)) few.set(look, e);
  }
  const run = (where, runOnly, rules = {}) => axe.run(where, {runOnly, rules, preload: false, resultTypes: ['violations']});
  const apart = Object.fromEntries(colours.map(name => [name, {enabled: false}]));
  const found = [];
  if (tags.length) found.push(await run(document, {type: 'tag', values: tags}, apart));
  if (few.size) found.push(await run({include: [...few.values()]}, colours));
  return found.flatMap(each => each.violations);
}"""


def violations(page, tags: list[str] = RULES) -> list[str]:
    """What axe finds against WCAG 2.2 A and AA, one line a node; of other tags, or of none but what colours break."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary'][:300]}"
        for rule in page.evaluate(AXE_RUN, [tags, COLOURS])
        for node in rule["nodes"]
    ]


@pytest.mark.spread
@pytest.mark.parametrize("name", PAGES)
def test_over_http_in_both_themes_and_on_a_phone(site, serve, visit, name):
    """One visit, since much of its time is the opening: as narrow as a phone, then as it comes, then dark."""
    seen = visit(page_url(serve(site), name), reduced_motion="reduce")  # or colours would be caught halfway
    found = {"light": seen.page.evaluate(BAD_MATHS)}
    size = seen.page.viewport_size
    seen.page.set_viewport_size({"width": 375, "height": 800})
    seen.page.evaluate(DRAWN)
    found["phone"] = seen.page.evaluate(STICKS_OUT)
    seen.page.set_viewport_size(size)
    seen.page.evaluate(DRAWN)
    found["light"] += violations(seen.page)
    seen.page.evaluate("Object.assign(document.documentElement.dataset, {mode: 'dark', theme: 'dark'})")
    seen.page.evaluate(DRAWN)
    found["dark"] = seen.page.evaluate(LIGHT_PANELS) + violations(seen.page, [])
    found["troubles"] = seen.troubles
    assert {kind: trouble for kind, trouble in found.items() if trouble} == {}


@pytest.mark.spread
@pytest.mark.parametrize("name", [name for name in PAGES if name != "404"])  # which only a server shows
def test_from_a_disk(site, visit, name):
    check_page(visit(page_url(on_disk(site), name)))


@pytest.mark.parametrize("root", ["http", "disk"])
def test_the_front_door_leads_to_the_first_page(site, serve, visit, root):
    address = serve(site) if root == "http" else on_disk(site)
    seen = visit(f"{address}/{chapters()[0]}.html")
    seen.page.wait_for_load_state("networkidle")  # a picture on its way would be an error of the page that is left
    seen.page.goto(f"{address}/index.html", wait_until="commit")
    seen.page.wait_for_url(f"{address}/{chapters()[0]}.html")
    assert seen.troubles == []


# --- the style sample: one of each thing that a chapter may hold, whether or not a chapter holds it today ---


@pytest.fixture(params=["http", "disk"])
def sample_root(request, sample_site, serve) -> str:
    return serve(sample_site) if request.param == "http" else on_disk(sample_site)


def test_the_sample_opens_clean(sample_root, visit):
    check_page(visit(page_url(sample_root, "book/style")))


def test_letters_take_their_colours_from_the_palette(sample_site, serve, visit):
    from vitbook.figures.palette import colour

    for theme in ("light", "dark"):
        page = visit(page_url(serve(sample_site), "book/style"), theme=theme).page
        for ink in ("class", "query", "key", "value", "embedding", "position", "stream", "mlp", "picture"):
            shown = page.evaluate("ink => getComputedStyle(document.querySelector(`.vb-ink-${ink}`)).color", ink)
            r, g, b = (int(colour(ink, theme)[i : i + 2], 16) for i in (1, 3, 5))
            assert shown == f"rgb({r}, {g}, {b})", (ink, theme)


def test_equations_keep_the_papers_numbers(sample_site, serve, visit):
    page = visit(page_url(serve(sample_site), "book/style")).page
    assert [text.split(")")[0] + ")" for text in page.locator(".eqno").all_inner_texts()] == ["(1)", "(6)", "(6a)"]
    assert page.locator("a[href='#equation-eq-6']:not(.headerlink)").all_inner_texts() == ["(6)"]


@pytest.mark.parametrize("theme, other", [("light", "dark"), ("dark", "light")])
def test_a_figure_shows_the_twin_of_its_theme_and_loads_no_other(sample_site, serve, visit, theme, other):
    seen = visit(page_url(serve(sample_site), "book/style"), theme=theme)
    seen.page.locator(f".vb-only-{theme}").first.scroll_into_view_if_needed()
    seen.page.wait_for_function("t => document.querySelector(`.vb-only-${t}`).naturalWidth > 0", arg=theme)
    assert seen.page.locator(f".vb-only-{theme}").first.is_visible()
    assert not seen.page.locator(f".vb-only-{other}").first.is_visible()
    assert seen.page.evaluate("t => document.querySelector(`.vb-only-${t}`).naturalWidth", other) == 0
    assert seen.page.locator(f".vb-only-{theme}").first.get_attribute("alt").startswith("Three panels")


def test_a_figure_has_its_room_before_it_is_loaded(sample_site, serve, visit):
    page = visit(page_url(serve(sample_site), "book/style"), height=300, first_time=True).page
    figure = page.locator(".vb-only-light").first
    before = figure.bounding_box()
    assert figure.evaluate("e => e.naturalWidth") == 0 and before["height"] > 100
    figure.scroll_into_view_if_needed()
    page.wait_for_function("() => document.querySelector('.vb-only-light').naturalWidth > 0")
    after = figure.bounding_box()
    assert (after["width"], after["height"]) == (before["width"], before["height"])


def test_a_widget_works_without_a_kernel_and_by_keyboard(sample_root, visit):
    page = visit(page_url(sample_root, "book/style")).page
    handle = page.locator(".noUi-handle").first
    handle.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "() => document.querySelector('input[type=number], input[type=text][disabled]').value === '4'"
    )
    assert handle.get_attribute("aria-label"), "a slider says its name"


def test_the_sample_on_a_phone(sample_site, serve, visit):
    page = visit(page_url(serve(sample_site), "book/style"), width=375, height=800).page
    assert page.evaluate(STICKS_OUT) == []
    shown = page.evaluate(
        "() => [...document.querySelectorAll('.vb-figure')].map(e => e.getBoundingClientRect().width).filter(Boolean)"
    )
    assert shown and all(300 <= width <= 480 or width >= 600 for width in shown), (
        "a figure's letters stay above 11 px: it is the one for phones, or keeps its width and its frame scrolls"
    )
    # What is wider than its frame scrolls there, by keyboard too.
    scrolls = "() => [...document.querySelectorAll('.vb-frame')].every(e => e.scrollWidth <= e.clientWidth || e.tabIndex === 0)"
    page.wait_for_function(scrolls)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_sample_by_axes_rules(sample_site, serve, visit, theme):
    page = visit(page_url(serve(sample_site), "book/style"), theme=theme).page
    assert violations(page, RULES if theme == "light" else []) == []
    assert theme == "light" or page.evaluate(LIGHT_PANELS) == []


def test_a_fold_says_what_is_in_it_and_code_stands_below_what_it_makes(sample_site, serve, visit):
    page = visit(page_url(serve(sample_site), "book/style")).page
    assert page.locator("details.hide > summary .collapsed").all_inner_texts() == ["Code", "Code", "What it prints"]
    drawn = "(cell) => cell.querySelector('.cell_output').getBoundingClientRect().bottom"
    code = "(cell) => cell.querySelector('details.above-input').getBoundingClientRect().top"
    cell = page.locator(".cell.tag_hide-input").first
    assert cell.evaluate(drawn) <= cell.evaluate(code)


def test_motion_stops_for_those_who_ask(sample_site, serve, visit):
    page = visit(page_url(serve(sample_site), "book/style"), reduced_motion="reduce").page
    assert page.evaluate(MOVES) == 0


def test_focus_is_seen(sample_site, serve, visit):
    page = visit(page_url(serve(sample_site), "book/style")).page
    unseen = []
    for _ in range(25):
        page.keyboard.press("Tab")
        name, style, width = page.evaluate(
            """() => {
              const e = document.activeElement, s = getComputedStyle(e);
              return [`${e.tagName}.${e.className}`, s.outlineStyle, parseFloat(s.outlineWidth)];
            }"""
        )
        if style != "solid" or width < 2:
            unseen.append(name)
    assert unseen == []


def test_search_works_where_it_can_and_says_so_where_it_cannot(sample_root, visit):
    page = visit(page_url(sample_root, "search") + "?q=quotation").page
    page.wait_for_selector("#search-results li a")
    assert "Every style on one page" in page.locator("#search-results").inner_text()
    note = page.locator(".vb-search-note")
    assert note.count() == (1 if sample_root.startswith("file") else 0)


def test_a_foreign_request_would_be_noticed(tmp_path, visit):
    (tmp_path / "page.html").write_text(
        '<script src="https://example.org/x.js"></script><script>null.oops</script><img src="gone.png">'
    )
    seen = visit((tmp_path / "page.html").as_uri())
    assert seen.foreign == ["https://example.org/x.js"]
    assert any("gone.png" in url for url in seen.missing)
    assert any("null" in error for error in seen.errors)


def test_words_that_do_not_stand_out_are_found_among_many_that_do(tmp_path, visit):
    """Of each look one is tried: another colour, another ground, a veil over it, each is of another look."""
    odd = {
        3: "color: #999",
        17: "background: #777",
        40: "opacity: 0.3",
        41: "display: none; color: #999",
        55: "color: #222",
    }
    cells = "".join(f'<td id="c{i}" style="{odd.get(i, "")}">cell {i}</td>' for i in range(60))
    table = f'<table style="color: #333; background: #fff"><tr><th scope="row">words</th>{cells}</tr></table>'
    links = "".join(
        f'<p style="color: #333">Words and <a id="l{i}" href="#" style="color: #04a;{"text-decoration: none" * (i == 6)}">'
        "a link</a></p>"
        for i in range(9)
    )
    page_file = tmp_path / "page.html"
    start = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Words</title>'
    page_file.write_text(f"{start}<main>{table}{links}</main></html>")
    page = visit(page_file.as_uri()).page
    wanted = [f"color-contrast: ['#c{i}']" for i in (3, 17, 40)] + ["link-in-text-block: ['#l6']"]
    assert [line.partition(" Fix")[0] for line in violations(page)] == wanted
    assert [line.partition(" Fix")[0] for line in violations(page, [])] == wanted
    page.evaluate("document.documentElement.removeAttribute('lang')")
    assert violations(page)[0].startswith("html-has-lang") and len(violations(page, [])) == len(wanted)
