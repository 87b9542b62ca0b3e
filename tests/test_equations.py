r"""Plain TeX goes in; the letters come out coloured and everything else as it was."""

from __future__ import annotations

import re

import pytest

from bookbuild.equations import coloured, paper_number


def uncoloured(tex: str) -> str:
    return re.sub(r"\\class\{vb-ink-\w+\}\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}", r"\1", tex)


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
    assert coloured(tex) == rf"\class{{vb-ink-{ink}}}{{{tex}}}"


@pytest.mark.parametrize(
    "tex", [r"\mathbf{U}_{qkv}", r"A_{ij}", r"D_h", r"\mathbf{kv}", r"\text{class}", r"\mathbf zx_p", r"x_p"]
)
def test_other_letters_stay_as_they_are(tex):
    assert coloured(tex) == tex


def test_scripts_stay_outside_and_bare_scripts_are_braced():
    assert coloured(r"\mathbf{x}_p^N\mathbf{E}") == (
        r"\class{vb-ink-picture}{\mathbf{x}_p}^N\class{vb-ink-embedding}{\mathbf{E}}"
    )
    assert coloured(r"A_\mathbf{q}") == r"A_{\class{vb-ink-query}{\mathbf{q}}}"
    assert coloured(r"A^{\mathbf{q}}") == r"A^{\class{vb-ink-query}{\mathbf{q}}}"


def test_a_whole_equation_loses_nothing():
    tex = (
        r"\mathbf{z}_0 = [\mathbf{x}_\text{class};\; \mathbf{x}_p^1\mathbf{E};\; \cdots;\; \mathbf{x}_p^N\mathbf{E}]"
        r" + \mathbf{E}_{pos}, \qquad \mathbf{z}'_\ell = \operatorname{MLP}(\operatorname{LN}(\mathbf{z}_{\ell-1}))"
    )
    assert uncoloured(coloured(tex)) == tex
    assert coloured(tex).count("vb-ink-") == 10


@pytest.mark.parametrize(
    "label, number", [("eq-1", "1"), ("eq-8", "8"), ("eq-6b", "6b"), ("eq-9", None), ("attention", None)]
)
def test_labels_carry_the_papers_numbers(label, number):
    assert paper_number(label) == number
