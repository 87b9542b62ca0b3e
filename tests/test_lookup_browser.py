"""The map, the index and the search on the built pages, as a reader with a keyboard, a phone or a question meets them."""

from __future__ import annotations

from urllib.parse import quote_plus

import pytest
from test_browser import STICKS_OUT, page_url
from test_lookup import BOOK, MAP, foundations

pytestmark = pytest.mark.browser

SMALLEST_LETTER = """() => Math.min(...[...document.querySelectorAll('.vb-map text')].map(
  text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a))"""
OVERLAPS = """() => [...document.querySelectorAll('.vb-map a')].filter(link => {
  const [title, purpose] = [...link.querySelectorAll('text')].map(text => text.getBBox());
  return title.x + title.width > purpose.x - 4 || purpose.x + purpose.width > link.ownerSVGElement.viewBox.baseVal.width + 1;
}).map(link => link.dataset.chapter)"""
FAINT = "() => [...document.querySelectorAll('.vb-map .station')].filter(e => getComputedStyle(e.querySelector('.mark')).opacity < 1)"


def test_every_chapter_is_reached_by_tab_and_opened_by_enter(site, serve, visit):
    page = visit(page_url(serve(site), "book/map")).page
    page.locator(".vb-map a").first.focus()
    reached = []
    for _ in BOOK:
        reached.append(page.evaluate("document.activeElement.dataset.chapter"))
        page.keyboard.press("Tab")
    assert reached == [chapter.name for chapter in BOOK]
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{BOOK[-1].name}.html")


def test_who_stands_on_a_chapter_sees_what_it_rests_on(site, serve, visit):
    page = visit(page_url(serve(site), "book/map")).page
    page.locator(".vb-map a[data-chapter=encoder_block]").hover()
    faint = set(page.evaluate(f"({FAINT})().map(e => e.dataset.chapter)"))
    assert faint == {chapter.name for chapter in BOOK} - foundations(BOOK)["encoder_block"] - {"encoder_block"}


@pytest.mark.parametrize("width", [1280, 1100, 760])
def test_the_drawing_reads_well_wherever_it_is_shown(site, serve, visit, width):
    page = visit(page_url(serve(site), "book/map"), width=width).page
    if page.locator(".vb-map").is_visible():
        assert page.evaluate(SMALLEST_LETTER) >= 11
        assert page.evaluate(OVERLAPS) == []
    else:
        assert width < 800


def test_a_phone_gets_the_list(site, serve, visit):
    page = visit(page_url(serve(site), "book/map"), width=375, height=800).page
    assert not page.locator(".vb-map").is_visible() and page.evaluate(STICKS_OUT) == []
    for title, purpose in MAP.values():
        item = page.locator(".bd-article li").filter(has_text=purpose.partition('"')[0]).first
        assert item.is_visible() and item.inner_text().startswith(title) and "Needs " in item.inner_text()


def test_the_index_leads_to_the_glossary_the_chapters_and_the_equations(site, serve, visit):
    page = visit(page_url(serve(site), "genindex")).page
    links = page.evaluate(
        "() => [...document.querySelectorAll('.genindextable a')].map(a => [a.innerText, a.getAttribute('href')])"
    )
    assert ["LayerNorm", "book/glossary.html#term-LayerNorm"] in links
    assert ["Equation 2: attention", "book/eq2.html#step-4-layernorm-sets-the-size"] in links, "where it is explained"
    assert ["Position embeddings", "book/positions.html#use-of-layernorm"] in links, "where it comes up"
    assert ["width of one head, D / k", "book/glossary.html#letter-D_h"] in links
    for number in "12345678":
        assert [f"Eq. {number}", next(href for text, href in links if text == f"Eq. {number}")] in links
    assert ["Eq. 6", "book/appendix_a.html#equation-eq-6"] in links
    assert not any("\\" in text or "{" in text for text, _ in links), "no TeX"


def test_every_place_that_the_index_names_exists(site, serve, visit):
    root = serve(site)
    page = visit(page_url(root, "genindex")).page
    hrefs = page.evaluate("() => [...document.querySelectorAll('.genindextable a')].map(a => a.getAttribute('href'))")
    pages = {name: (site / name).read_text(encoding="utf-8") for name in {href.partition("#")[0] for href in hrefs}}
    assert [h for h in hrefs if "#" in h and f'id="{h.partition("#")[2]}"' not in pages[h.partition("#")[0]]] == []


def test_every_page_leads_to_the_index(site, serve, visit):
    page = visit(page_url(serve(site), "book/eq1")).page
    page.get_by_role("link", name="Index", exact=True).click()
    page.wait_for_url("**/genindex.html")


@pytest.mark.parametrize(
    "question, first",
    [
        ("LayerNorm", "book/glossary.html#term-LayerNorm"),
        ("class token", "book/class_token.html"),
        ("GELU", "book/glossary.html#term-GELU"),
        ("Eq. 6", "book/appendix_a.html#equation-eq-6"),
        ("307M", "book/counting.html"),
        ("q", "book/glossary.html#letter-q-k-v"),
        ("equation 3", "book/eq3.html"),
    ],
)
def test_the_search_finds_what_is_meant(site, serve, visit, question, first):
    page = visit(f"{serve(site)}/search.html?q={quote_plus(question)}").page
    page.wait_for_selector("#search-results li p.context")
    links = page.locator("#search-results li > a")
    results = links.evaluate_all("(links) => links.map((link) => [link.getAttribute('href'), link.innerText])")
    assert first in [href.partition("?")[0] for href, _ in results[:2]]
    assert all(name.startswith("Glossary > ") for href, name in results if "#term-" in href)


def test_excerpts_are_words_of_the_article(site, serve, visit):
    """No page that is read for them breaks the policy of this one, and only a result's page marks the words."""
    seen = visit(f"{serve(site)}/search.html?q=attention")
    page = seen.page
    page.wait_for_function("() => document.querySelectorAll('#search-results p.context').length > 9")
    texts = page.locator("#search-results p.context").all_inner_texts()
    assert not [
        text for text in texts if "\\mathbf" in text or "vb-ink" in text or ".pdf" in text or "Contents" in text
    ]
    assert seen.troubles == []
    field = page.locator(".bd-search-container input")
    assert field.evaluate("e => parseFloat(getComputedStyle(e).paddingLeft)") > 20, "the lens covers no letter"
    page.goto(page_url(serve(site), "book/eq4"))
    page.wait_for_timeout(200)
    assert page.locator(".highlighted").count() == 0
    page.go_back()
    page.locator("#search-results li > a").first.click()
    page.wait_for_selector(".highlighted")


def test_paper_is_white(site, visit):
    page = visit(page_url(site.as_uri(), "book/eq1"), theme="dark").page
    ink = "getComputedStyle(document.querySelector('article p')).color"
    dark = page.evaluate(ink)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(ink) != dark and page.evaluate("document.documentElement.dataset.theme") == "light"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(ink) == dark
