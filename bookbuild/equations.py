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


def _word(*words: str) -> str:
    r"""A subscript or operator set upright in any of TeX's ways: ``{pos}``, ``\text{pos}``, ``{\mathrm{pos}}``."""
    any_of = "|".join(words)
    upright = rf"\\(?:text|textrm|mathrm|operatorname)\{{(?:{any_of})\}}"
    return rf"(?:{upright}|\{{{upright}\}}|\{{(?:{any_of})\}}|\{{\\rm (?:{any_of})\}})"


def _bold(letter: str) -> str:
    return rf"\\mathbf(?:\{{{letter}\}}|\s+{letter}(?![A-Za-z]))"


# Most particular first: the first pattern that matches at a place decides.
LETTERS = (
    (_bold("x") + "_" + _word("class"), "class"),
    (_bold("x") + r"_(?:p(?![A-Za-z])|\{p\})", "picture"),
    (_bold("x"), "picture"),
    (_bold("E") + "_" + _word("pos"), "position"),
    (_bold("E"), "embedding"),
    (_bold("q"), "query"),
    (_bold("k"), "key"),
    (_bold("v"), "value"),
    (_bold("z"), "stream"),
    (_bold("y"), "class"),
    (r"\\(?:text|textrm|mathrm|operatorname)\{(?:MLP|GELU)\}", "mlp"),
)
_ANY = re.compile("|".join(f"(?P<ink{i}>{pattern})" for i, (pattern, _) in enumerate(LETTERS)))
_LABEL = re.compile(r"eq-([1-8][a-z]?)")


def coloured(tex: str) -> str:
    r"""The same formula with each of the book's letters wrapped in ``\class{vb-ink-<ink>}{...}``, which the style sheet colours."""

    def wrap(found: re.Match) -> str:
        ink = LETTERS[int(found.lastgroup.removeprefix("ink"))][1]
        wrapped = rf"\class{{vb-ink-{ink}}}{{{found[0]}}}"
        script = tex[: found.start()].rstrip()[-1:] in ("_", "^")  # a bare sub- or superscript is one token long
        return f"{{{wrapped}}}" if script else wrapped

    return _ANY.sub(wrap, tex)


def paper_number(label: str) -> str | None:
    """``"6"`` for the label ``"eq-6"``, ``"6a"`` for ``"eq-6a"``, None for a label that names no equation of the paper."""
    found = _LABEL.fullmatch(label)
    return found[1] if found else None
