"""What the theme brings along and no page needs stays out of the site, and nothing holds up the first words of a page.

The theme loads all of Font Awesome, 1.5 MB of script that turns a dozen icons into pictures. Its style sheet can show the same
icons from a font, so the script goes, the font keeps the dozen, and the style sheet loses the rules for the other two thousand.
A page asks for one style sheet instead of a dozen, without the rules for what no page holds; its scripts run once it has been
read, and the search's index comes with the search.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import tinycss2
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

FONTS = "vendor/fontawesome/webfonts"  # below _static
SHEET = "styles/pydata-sphinx-theme.css"
NOT_NEEDED = ("scripts/fontawesome.js*", "scripts/*.map", "styles/*.map", f"{FONTS}/*.ttf", f"{FONTS}/*.woff2")

_ICON_RULE = re.compile(r"((?:\.fa-[\w-]+::?before,?)+)\{content:\"[^\"]*\"\}")
_ICON_NAME = re.compile(r"\bfa-[a-z0-9-]+")
# Font Awesome's letters lie where Unicode leaves room for one's own.
_CODE = re.compile(r"\\([ef][0-9a-f]{3})\b|([\ue000-\uf8ff])")
_FONT_SOURCE = re.compile(r"\.woff2\) format\(\"woff2\"\)(?:,\s*url\([^)]*\.ttf\) format\(\"truetype\"\))?")
_FONT_SCRIPT = re.compile(r"\s*<script[^>]*scripts/fontawesome\.js[^>]*></script>")
_SEARCH_SCRIPT = re.compile(r"\s*<script[^>]*[\"/](?:searchtools|language_data|searchindex)\.js[^>]*></script>")
_PRELOAD = re.compile(r"\s*<link rel=\"preload\" as=\"script\"[^>]*>")
_HEAD_SCRIPT = re.compile(r"<script(?P<attributes>[^>]*\bsrc=[^>]*)></script>")
# The theme starts as "auto" and learns only at its end what that is: a flash of the other theme, and every style computed twice.
_THEME = 'localStorage.getItem("theme") || "auto"'
_SYSTEM = 'matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"'
_CHOSEN = f'["light", "dark"].find((theme) => theme === localStorage.getItem("mode")) || ({_SYSTEM})'
# Scripts of the head that say what others use at once: documentation_options.js defines what inline scripts then change.
AT_ONCE = ("documentation_options.js",)

JOINED = "sheets.css"
NESTING = ("media", "supports", "container", "layer")  # at-rules that hold rules
_WORD = re.compile(r"[\w-]+")
_SHEET_LINK = re.compile(
    r"\s*<link\b(?=[^>]*rel=\"stylesheet\")[^>]*href=\"(?P<root>[./]*)_static/(?P<name>[^\"?]+)[^\"]*\"[^>]*>"
)
_IMPORT = re.compile(r"@import\s+(?:url\()?[\"']([^\"':]+\.css)[\"']\)?;")
_URL = re.compile(r"url\((?P<quote>[\"']?)(?!data:|#|/|https?:)(?P<path>[^\"')]+?(?<!\.css))(?P=quote)\)")


def lean_page(html: str, searches: bool = False) -> str:
    """The page without Font Awesome's script; the scripts of its head run in their order, after the page has been read.

    Light or dark is settled before anything is drawn.  Only a page that ``searches`` keeps the scripts and the index of the search.
    """
    head, end, body = _PRELOAD.sub("", _FONT_SCRIPT.sub("", html)).partition("</head>")
    head = head.replace(_THEME, _CHOSEN)
    if not searches:
        head = _SEARCH_SCRIPT.sub("", head)
    return _HEAD_SCRIPT.sub(_deferred, head) + end + body


def sheets_of(html: str) -> tuple[str, ...]:
    """The style sheets that a page asks for, as paths below _static, in their order."""
    return tuple(found["name"] for found in _SHEET_LINK.finditer(html))


def with_one_sheet(html: str, version: str) -> str:
    """The page with one link in the place of its first style sheet, and none for the others."""
    root = _SHEET_LINK.search(html)["root"]
    first, rest = _SHEET_LINK.split(html, maxsplit=1)[0], html[_SHEET_LINK.search(html).end() :]
    link = f'\n  <link rel="stylesheet" href="{root}_static/{JOINED}?v={version}" />'
    return first + link + _SHEET_LINK.sub("", rest)


def join_sheets(static: Path, names: tuple[str, ...], pages: Iterable[str]) -> str:
    """Write what the pages need of these style sheets as one, which begins with their names, and return a short hash of it."""
    words = words_of(static, pages)
    sheets = (without_unused(_whole(static / name, static), words) for name in names)
    joined = "\n".join([f"/* {' '.join(names)} */", *sheets])
    (static / JOINED).write_text(joined, encoding="utf-8")
    return hashlib.sha256(joined.encode()).hexdigest()[:8]


def joined_before(static: Path) -> tuple[str, ...]:
    """The style sheets that an earlier build has joined."""
    file = static / JOINED
    return tuple(file.read_text(encoding="utf-8").splitlines()[0].split()[1:-1]) if file.is_file() else ()


def words_of(static: Path, pages: Iterable[str]) -> set[str]:
    """Every word of the pages and of the scripts that change them: a class that is not among them is on no page, ever."""
    own = (path for path in static.rglob("*.js") if "attn" not in path.relative_to(static).parts)  # maps style nothing
    texts = [*pages, *(path.read_text(encoding="utf-8") for path in own)]
    return {word for text in texts for word in _WORD.findall(text)}


def without_unused(css: str, words: set[str]) -> str:
    """The style sheet without the selectors that ask for a class or an id that is not among the words."""
    return "\n".join(_used(tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True), words))


def _used(rules: list, words: set[str]) -> Iterator[str]:
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [
                tinycss2.serialize(each).strip() for each in _alternatives(rule.prelude) if _may_match(each, words)
            ]
            if selectors:
                yield f"{', '.join(selectors)} {{{tinycss2.serialize(rule.content)}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword in NESTING and rule.content is not None:
            inner = list(_used(tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True), words))
            if inner:
                yield "\n".join([f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{", *inner, "}"])
        else:
            yield rule.serialize()


def _alternatives(prelude: list) -> Iterator[list]:
    """The selectors of a rule, which commas part."""
    selector = []
    for token in prelude:
        if token == ",":
            yield selector
            selector = []
        else:
            selector.append(token)
    yield selector


def _may_match(selector: list, words: set[str]) -> bool:
    """Whether all classes and ids that a selector asks for may be there; in brackets stand alternatives, or what must not be."""
    named = [token.value for before, token in pairwise(selector) if before == "." and token.type == "ident"]
    named += [token.value for token in selector if token.type == "hash"]
    return all(_may_be(word, words) for name in named for word in _WORD.findall(name))


def _may_be(word: str, words: set[str]) -> bool:
    """Whether a word is there, or put together by a script: "noUi-" + "handle"."""
    cuts = (found.end() for found in re.finditer("-", word))
    return word in words or any({word[:cut], word[cut:]} <= words for cut in cuts)


def _whole(sheet: Path, static: Path) -> str:
    """A style sheet with what it imports in its place, and addresses that start from _static."""

    def moved(found: re.Match) -> str:
        return f"url({found['quote']}{os.path.relpath(sheet.parent / found['path'], static)}{found['quote']})"

    css = _URL.sub(moved, sheet.read_text(encoding="utf-8").replace('@charset "UTF-8";', ""))
    return _IMPORT.sub(lambda found: _whole(sheet.parent / found[1], static), css)


def _deferred(found: re.Match) -> str:
    attributes = found["attributes"]
    if "defer" in attributes or "async" in attributes or any(name in attributes for name in AT_ONCE):
        return found[0]
    return f"<script defer{attributes}></script>"


def lean_static(static: Path, pages: Iterable[str]) -> None:
    """Cut the theme's icons down to those that the pages, its own scripts and its style sheets name."""
    sheet = static / SHEET
    if not sheet.is_file() or not list((static / FONTS).glob("*.ttf")):
        return
    texts = [*pages, *(script.read_text(encoding="utf-8") for script in static.glob("scripts/*theme.js"))]
    used = {name for text in texts for name in _ICON_NAME.findall(text)}
    sheet.write_text(lean_icons(sheet.read_text(encoding="utf-8"), used), encoding="utf-8")
    codes = {code for css in static.rglob("*.css") for code in code_points(css.read_text(encoding="utf-8"))}
    for font in (static / FONTS).glob("*.ttf"):
        cut_font(font, codes)
    for pattern in NOT_NEEDED:
        for file in static.glob(pattern):
            file.unlink()


def lean_icons(css: str, used: set[str]) -> str:
    """The style sheet without rules for icons that are not used, asking for the fonts as ``cut_font`` writes them."""
    css = _ICON_RULE.sub(lambda rule: rule[0] if used & set(_ICON_NAME.findall(rule[1])) else "", css)
    return _FONT_SOURCE.sub('.woff) format("woff")', css)


def code_points(css: str) -> set[int]:
    """The letters of icon fonts that a style sheet puts on the page."""
    return {int(escaped, 16) if escaped else ord(letter) for escaped, letter in _CODE.findall(css)}


def cut_font(path: Path, codes: set[int]) -> None:
    """Write the letters ``codes`` of a font beside it, as .woff (which, unlike .woff2, needs no further package)."""
    with TTFont(path) as font:
        subsetter = Subsetter(Options(layout_features=[], notdef_outline=True))
        subsetter.populate(unicodes=codes & set(font.getBestCmap()))
        subsetter.subset(font)
        font.flavor = "woff"
        font.save(path.with_suffix(".woff"))
