"""The font of the formulas, Latin Modern Math: its signs, how its letters lean, and a style sheet that holds what is in use."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterable
from functools import cache
from html import unescape
from pathlib import Path
from unicodedata import normalize

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

FONT = Path(__file__).with_name("fonts") / "LatinModernMath.woff"
FAMILY = "Latin Modern Math"
SHEET = "maths.css"
ROOT = "√"  # which <msqrt> draws without naming it
SCRIPT = 0.7  # the size of scripts
LEAST = 30  # thousandths of an em: what leans less needs no room
UNSEEN = set("\u2061\u2062\u2063\u2064\ufe00\xa0 ")  # function application and the like: words for those who listen
_SET = re.compile(r"<math\b.*?</math>", re.DOTALL)
_UNSET = re.compile(r"<annotation\b.*?</annotation>|<[^>]*>", re.DOTALL)


def signs(html: str) -> set[str]:
    """The signs that formulas in a page are drawn with."""
    return {sign for math in _SET.findall(html) for sign in unescape(_UNSET.sub("", math))} - UNSEEN


@cache
def known_signs() -> frozenset[str]:
    """The signs that the font draws."""
    with TTFont(FONT) as font:
        return frozenset(map(chr, font.getBestCmap()))


@cache
def leans() -> dict[str, float]:
    """How far a slanted letter leans over what stands above it to the right, in em of a script; the least are left out."""
    with TTFont(FONT) as font:
        table = font["MATH"].table.MathGlyphInfo.MathItalicsCorrectionInfo
        leaning = {
            glyph: lean.Value for glyph, lean in zip(table.Coverage.glyphs, table.ItalicsCorrection, strict=True)
        }
        slanted = {
            chr(code): leaning.get(glyph, 0) for code, glyph in font.getBestCmap().items() if _is_italic(chr(code))
        }
    return {normalize("NFKC", sign): lean / 1000 / SCRIPT for sign, lean in slanted.items() if lean > LEAST}


def _is_italic(sign: str) -> bool:
    """Whether a browser draws a lone letter with this one: it slants a, α and Φ by itself."""
    return "\U0001d434" <= sign <= "\U0001d467" or "\U0001d6e2" <= sign <= "\U0001d71b" or sign == "\u210e"


def font_face(used: set[str]) -> str:
    """A style sheet that holds the font with the signs in use: what comes with the style sheet cannot come late and move lines."""
    kept = {
        sign for sign in known_signs() if sign in used or (_is_italic(sign) and normalize("NFKC", sign) in used)
    } | {ROOT}
    cut = io.BytesIO()
    with TTFont(FONT) as font:
        subsetter = Subsetter(Options(layout_features=[], notdef_outline=True))
        subsetter.populate(text="".join(kept))
        subsetter.subset(font)
        font.flavor = "woff"  # which, unlike .woff2, needs no further package
        font.save(cut)
    source = f"data:font/woff;base64,{base64.b64encode(cut.getvalue()).decode()}"
    return f'@font-face {{ font-family: "{FAMILY}"; src: url({source}) format("woff"); }}\n'


def write_font(static: Path, pages: Iterable[str]) -> None:
    """Put the font for the formulas of all pages among the style sheets, in the place of the empty one."""
    (static / SHEET).write_text(font_face(set().union(*map(signs, pages))), encoding="utf-8")
