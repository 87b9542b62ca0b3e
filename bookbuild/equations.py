r"""Formulas in the book: plain TeX in the chapters, coloured and numbered by the build.

For chapter authors
-------------------
Write plain TeX and nothing of ours: the same source then reads in JupyterLab, Colab, VS Code and on a code host. In the
built book the build finds the letters and gives each the colour of its meaning (``palette.INKS``):

    \mathbf{x}_\text{class}   the [class] token           \mathbf{q}, \mathbf{k}, \mathbf{v}   query, key, value
    \mathbf{y}                its last row, Eq. 4         \mathbf{z}                           the residual stream
    \mathbf{x}, \mathbf{x}_p  picture, patches            \operatorname{MLP}                   and \operatorname{GELU}
    \mathbf{E}                the projection              \mathbf{E}_{pos}                     position embeddings

(``\text{class}``, ``\mathrm{class}`` and ``{class}`` are all found, and so are ``\mathbf q`` and ``\text{MLP}``.)

Equations keep the paper's numbers wherever they stand. Label Eq. 6 ``eq-6`` and refer to it from any chapter:

    $$
    A = \operatorname{softmax}\left(\mathbf{q}\mathbf{k}^\top / \sqrt{D_h}\right)
    $$ (eq-6)

    ... as {eq}`eq-6` says.

A step of our own between two of the paper's equations takes its number and a letter: ``eq-6a``, ``eq-6b``. Any other
label is a warning, and a warning fails the build: numbers of ours would be mistaken for the paper's.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

# What MathML writes for a letter, or for a letter and its subscript -> the ink of its meaning.
LETTERS = {
    ("𝐱", "class"): "class",
    ("𝐱", "p"): "picture",
    "𝐱": "picture",
    ("𝐄", "pos"): "position",
    "𝐄": "embedding",
    "𝐪": "query",
    "𝐤": "key",
    "𝐯": "value",
    "𝐳": "stream",
    "𝐲": "class",
    "MLP": "mlp",
    "GELU": "mlp",
}
_LABEL = re.compile(r"eq-([1-8][a-z]?)")


def colour(math: Element) -> None:
    """Give each of the book's letters in a formula (MathML) the class ``vb-ink-<ink>``, which the style sheet colours."""
    for token in (*math.iter("mi"), *math.iter("mtext")):
        if token.text in LETTERS:
            token.set("class", f"vb-ink-{LETTERS[token.text]}")
    for letter, below, *_ in (*math.iter("msub"), *math.iter("msubsup")):
        ink = LETTERS.get((letter.text, "".join(below.itertext())))
        if ink:
            for part in (letter, below):
                part.set("class", f"vb-ink-{ink}")


def paper_number(label: str) -> str | None:
    """``"6"`` for the label ``"eq-6"``, ``"6a"`` for ``"eq-6a"``, None for a label that names no equation of the paper."""
    found = _LABEL.fullmatch(label)
    return found[1] if found else None
