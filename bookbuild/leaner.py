"""What the theme brings along and no page needs stays out of the site.

A page asks for one style sheet instead of a dozen, without the rules for what no page holds.  The theme loads all of Font Awesome,
1.5 MB of script that turns a dozen icons into pictures; its style sheet can show the same icons from a font, so the script goes, and
the font keeps the icons that are left in the style sheet.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import tinycss2
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

JOINED = "sheets.css"
FONTS = "vendor/fontawesome/webfonts"  # below _static
NOT_NEEDED = ("scripts/fontawesome.js*", "scripts/*.map", "styles/*.map")
NESTING = ("media", "supports", "container", "layer")  # at-rules that hold rules

_WORD = re.compile(r"[\w-]+")
_ICON = re.compile(r'"icon": "([\w-]+)"')
_IMPORT = re.compile(r"@import\s+(?:url\()?[\"']([^\"':]+\.css)[\"']\)?;")
_URL = re.compile(r"url\((?P<quote>[\"']?)(?!data:|#|/|https?:)(?P<path>[^\"')]+?(?<!\.css))(?P=quote)\)")
# Font Awesome's letters lie where Unicode leaves room for one's own.
_CODE = re.compile(r"\\([ef][0-9a-f]{3})\b|([\ue000-\uf8ff])")


def lean(static: Path, names: Iterable[str], pages: Iterable[str]) -> None:
    """Write what the pages need of these style sheets as one, which begins with their names, and cut the icons to those it shows."""
    for file in (file for pattern in NOT_NEEDED for file in static.glob(pattern)):
        file.unlink()
    words = words_of(static, pages)
    sheets = (without_unused(whole(static / name, static), words) for name in names)
    joined = "\n".join([f"/* {' '.join(names)} */", *sheets])
    (static / JOINED).write_text(joined, encoding="utf-8")
    for font in (static / FONTS).glob("*.*"):
        cut_font(font, code_points(joined))


def words_of(static: Path, pages: Iterable[str]) -> set[str]:
    """Every word of the pages and of the scripts that change them: a class that is not among them is on no page, ever.

    A widget names its icon without "fa-", which its script puts before it.
    """
    numbers = {"attn", "model"}  # maps and weights style nothing
    own = (path for path in static.rglob("*.js") if not numbers & set(path.relative_to(static).parts))
    texts = [*pages, *(path.read_text(encoding="utf-8") for path in own)]
    icons = {f"fa-{name}" for text in texts for name in _ICON.findall(text)}
    return icons | {word for text in texts for word in _WORD.findall(text)}


def without_unused(css: str, words: set[str]) -> str:
    """The style sheet without the selectors that ask for a class or an id that is not among the words."""
    return "\n".join(_used(parsed(css), words))


@cache
def parsed(css: str) -> list:
    """The rules of a style sheet, as they stand in it: the theme's are the same in every build."""
    return tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)


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
    """Whether a word is there, or put together by a script: "noUi-" + "handle"; an icon has to be named whole."""
    cuts = (found.end() for found in re.finditer("-", word) if not word.startswith("fa-"))
    return word in words or any({word[:cut], word[cut:]} <= words for cut in cuts)


def whole(sheet: Path, static: Path) -> str:
    """A style sheet with what it imports in its place, and addresses that start from _static."""

    def moved(found: re.Match) -> str:
        return f"url({found['quote']}{os.path.relpath(sheet.parent / found['path'], static)}{found['quote']})"

    css = _URL.sub(moved, sheet.read_text(encoding="utf-8").replace('@charset "UTF-8";', ""))
    return _IMPORT.sub(lambda found: whole(sheet.parent / found[1], static), css)


def code_points(css: str) -> set[int]:
    """The letters of icon fonts that a style sheet puts on the page."""
    return {int(escaped, 16) if escaped else ord(letter) for escaped, letter in _CODE.findall(css)}


def cut_font(path: Path, codes: set[int]) -> None:
    """Leave the letters ``codes`` in a font."""
    with TTFont(path) as font:
        subsetter = Subsetter(Options(layout_features=[], notdef_outline=True))
        subsetter.populate(unicodes=codes & set(font.getBestCmap()))
        subsetter.subset(font)
        font.save(path)
