r"""Plain TeX goes in; the letters come out coloured and everything else as it was."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from bookbuild.equations import paper_number
from bookbuild.maths import mathml


def inks(tex: str) -> list[tuple[str, str]]:
    """What stands in colour in a formula: the ink and the letters, in their order."""
    parts = ElementTree.fromstring(mathml(tex)).iter()
    return [
        (part.get("class").removeprefix("vb-ink-"), "".join(part.itertext())) for part in parts if part.get("class")
    ]


def letters(tex: str) -> str:
    """Everything that a formula is drawn with."""
    return "".join(ElementTree.fromstring(mathml(tex))[0][0].itertext())


@pytest.mark.parametrize(
    "tex, ink",
    [
        (r"\mathbf{x}_\text{class}", "class"),
        (r"\mathbf{x}_{\text{class}}", "class"),
        (r"\mathbf{x}_{class}", "class"),
        (r"\mathbf{x}_{\mathrm{class}}", "class"),
        (r"\mathbf x_{\rm class}", "class"),
        (r"\mathbf{x}_p", "picture"),
        (r"\mathbf{x}", "picture"),
        (r"\mathbf{E}", "embedding"),
        (r"\mathbf{E}_{pos}", "position"),
        (r"\mathbf{E}_\text{pos}", "position"),
        (r"\mathbf{q}", "query"),
        (r"\mathbf k", "key"),
        (r"\mathbf{v}", "value"),
        (r"\mathbf{z}", "stream"),
        (r"\mathbf{y}", "class"),
        (r"\operatorname{MLP}", "mlp"),
        (r"\text{GELU}", "mlp"),
    ],
)
def test_each_letter_in_its_colour(tex, ink):
    """The whole of it: a subscript that belongs to the letter has its colour too."""
    found = inks(tex)
    assert {colour for colour, _ in found} == {ink}
    assert "".join(text for _, text in found) == letters(tex)


@pytest.mark.parametrize(
    "tex", [r"\mathbf{U}_{qkv}", r"A_{ij}", r"D_h", r"\mathbf{kv}", r"\text{class}", r"\mathbf Ux_p", r"x_p"]
)
def test_other_letters_stay_as_they_are(tex):
    assert inks(tex) == []


def test_a_bold_letter_ends_where_tex_ends_it():
    assert inks(r"\mathbf zx_p") == [("stream", "𝐳")]


def test_scripts_that_do_not_belong_to_the_letter_keep_the_texts_colour():
    assert inks(r"\mathbf{x}_p^N\mathbf{E}") == [("picture", "𝐱"), ("picture", "p"), ("embedding", "𝐄")]
    assert inks(r"\mathbf{z}_{\ell-1}") == [("stream", "𝐳")]
    assert inks(r"A_\mathbf{q}") == inks(r"A^{\mathbf{q}}") == [("query", "𝐪")]


def test_a_whole_equation_loses_nothing():
    tex = (
        r"\mathbf{z}_0 = [\mathbf{x}_\text{class};\; \mathbf{x}_p^1\mathbf{E};\; \cdots;\; \mathbf{x}_p^N\mathbf{E}]"
        r" + \mathbf{E}_{pos}, \qquad \mathbf{z}'_\ell = \operatorname{MLP}(\operatorname{LN}(\mathbf{z}_{\ell-1}))"
    )
    assert letters(tex) == "𝐳0=[𝐱class;𝐱p1𝐄;⋯;𝐱pN𝐄]+𝐄pos,𝐳ℓ′=MLP\u2061(LN\u2061(𝐳ℓ−1))"
    assert "".join(letter for _, letter in inks(tex)) == "𝐳𝐱class𝐱p𝐄𝐱p𝐄𝐄pos𝐳MLP𝐳"


@pytest.mark.parametrize(
    "label, number", [("eq-1", "1"), ("eq-8", "8"), ("eq-6b", "6b"), ("eq-9", None), ("attention", None)]
)
def test_labels_carry_the_papers_numbers(label, number):
    assert paper_number(label) == number
