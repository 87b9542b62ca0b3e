r"""Formulas, set by the build: TeX becomes MathML, which a browser draws, prints and reads aloud by itself.

No script runs for a formula, and nothing moves when it comes.  Each formula carries its TeX (``<annotation>``, for those who copy it
and for the search's excerpts), its words (``aria-label``, see `bookbuild.spoken`) and the colours of its letters
(`bookbuild.equations`).  Its font comes inside the style sheet (`bookbuild.maths_font`).
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html import escape
from html.entities import html5

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

from bookbuild.equations import colour
from bookbuild.maths_font import SHEET, known_signs, leans, signs
from bookbuild.spoken import spoken

log = logging.getLogger(__name__)

_CONVERTER = LatexToMathML(annotation=True, fancy_error=False)
_ENTITY = re.compile(r"&(?!(?:lt|gt|amp|quot|apos);)(\w+;)")  # HTML's names, of which XML knows five


def mathml(tex: str, display: bool = False) -> str:
    r"""A formula as MathML, on lines of its own for ``display``.

    Raises ValueError for TeX that cannot be set, and for signs that the formulas' font has not got.
    """
    tex = tex.strip()
    rows = display and r"\\" in tex and r"\begin" not in tex
    try:
        made = _CONVERTER.convert_with_local_state(
            rf"\begin{{aligned}}{tex}\end{{aligned}}" if rows else tex, displaystyle=display
        )
    except LatexError as error:
        raise ValueError(f"{str(error).partition(': ')[2].rstrip('.')}, in the formula {tex}") from None
    lacking = sorted(signs(made) - known_signs())
    if lacking:
        names = ", ".join(f"{sign} (U+{ord(sign):04X})" for sign in lacking)
        raise ValueError(f"the font of the formulas lacks {names} (bookbuild/fonts/README.md), in the formula {tex}")
    math = ET.fromstring(_ENTITY.sub(lambda found: html5[found[1]], made))
    colour(math)
    make_room(math)
    math.set("aria-label", spoken(math))
    return ET.tostring(math, encoding="unicode")


def make_room(math: ET.Element) -> None:
    """Say how far a letter leans into what stands above it to the right, for browsers that do not read it from the font."""
    for script in (*math.iter("msup"), *math.iter("msubsup")):
        letter, above = script[0], script[-1]
        if letter.tag == "mi" and not letter.get("mathvariant") and letter.text in leans():
            above.set("style", f"--vb-lean: {leans()[letter.text]:.2f}em")


# --- the writer ---


def visit_inline(writer: HTML5Translator, node: nodes.math) -> None:
    """``$...$`` in a line of text."""
    writer.body.append(_set(node, display=False))
    raise nodes.SkipNode


def visit_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """A formula on a line of its own: its number, and the box in which it scrolls where it is wider than the page."""
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    if node["number"]:
        writer.body.append(f'<span class="eqno">({get_node_equation_number(writer, node)})')
        writer.add_permalink_ref(node, "Link to this equation")
        writer.body.append("</span>")
    writer.body.append(f'<div class="vb-formula">{_set(node, display=True)}</div></div>\n')
    raise nodes.SkipNode


def _set(node: nodes.math | nodes.math_block, display: bool) -> str:
    """The formula, or a warning and its source."""
    try:
        return mathml(node.astext(), display)
    except ValueError as error:
        log.warning("%s", error, location=node)
        return f'<code class="vb-unset">{escape(node.astext())}</code>'


class KeepTogether(SphinxPostTransform):
    """What stands beside a formula without a space, such as a comma, stays on its line; a browser would part the two."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs) -> None:
        for math in list(self.document.findall(nodes.math)):
            row = math.parent
            at = row.index(math)
            before, after = row[at - 1] if at else None, row[at + 1] if at + 1 < len(row) else None
            start = re.search(r"\S*$", before)[0] if isinstance(before, nodes.Text) else ""
            end = re.match(r"\S*", after)[0] if isinstance(after, nodes.Text) else ""
            if start or end:
                row[at] = nodes.inline("", start, math, nodes.Text(end), classes=["vb-tied"])
            if end:
                row[at + 1] = nodes.Text(after[len(end) :])
            if start:
                row[at - 1] = nodes.Text(before[: len(before) - len(start)])


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("build", (visit_inline, None), (visit_block, None))
    app.add_post_transform(KeepTogether)
    app.add_css_file(SHEET, priority=600)
