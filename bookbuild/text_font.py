"""The typeface of the pages, Inter, as in the figures: a style sheet that holds the letters in use."""

from __future__ import annotations

import base64
import io
import string
from collections.abc import Iterable
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

from bookbuild import maths_font
from vitbook.figures import plotting

SHEET = "text.css"
#: Weight -> file.  What is bold anywhere (600 and more) takes the second; italics are slanted by the browser.
FILES = {"100 549": "Inter-Regular.ttf", "550 900": "Inter-SemiBold.ttf"}
#: A browser would unpack even a font that it holds only when it meets the first letter, and lay that line out twice: all are asked for
#: before the first, and where a busy machine is slow with them, the page shows its words when they are there, or after two seconds.
ASK = f"""{{
  const late = document.documentElement.classList, asked = ['400 1em "Inter"', '600 1em "Inter"', '1em "{maths_font.FAMILY}"'];
  late.add("vb-late");
  Promise.race([Promise.all(asked.map((font) => document.fonts.load(font))), new Promise((done) => setTimeout(done, 2000))])
    .finally(() => late.remove("vb-late"));
}}"""
FEATURES = ["kern", "mark", "mkmk", "tnum"]  # the last: figures of one width, for tables
FOLDER = Path(plotting.__file__).with_name("fonts")


def font_face(letters: set[str]) -> str:
    """A style sheet that holds the font: what comes with the style sheet cannot come late and move lines."""
    return "".join(
        f'@font-face {{ font-family: "Inter"; font-weight: {weight}; src: url({_cut(FOLDER / file, letters)}) format("woff2"); }}\n'
        for weight, file in FILES.items()
    )


def _cut(path: Path, letters: set[str]) -> str:
    """A font with those of ``letters`` that it has, as an address that holds it."""
    packed = io.BytesIO()
    with TTFont(path) as font:
        subsetter = Subsetter(Options(layout_features=FEATURES, notdef_outline=True))
        subsetter.populate(unicodes=set(map(ord, letters)) & set(font.getBestCmap()))
        subsetter.subset(font)
        font.flavor = "woff2"
        font.save(packed)
    return f"data:font/woff2;base64,{base64.b64encode(packed.getvalue()).decode()}"


def write_font(static: Path, pages: Iterable[str]) -> None:
    """Put the font for the letters of all pages among the style sheets, in the place of the empty one."""
    (static / SHEET).write_text(font_face(set(string.printable).union(*map(set, pages))), encoding="utf-8")
