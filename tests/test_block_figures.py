"""Figures of Appendix A and of the encoder block: their words say the numbers, every number is drawn, colours are ours."""

from __future__ import annotations

import re

import pytest

from vitbook.figures import palette
from vitbook.figures.block import block_diagram
from vitbook.figures.pencil import pencil_steps
from vitbook.figures.plotting import carried, finish
from vitbook.studies import pencil


def ours(drawing) -> bool:
    """Every colour is the palette's, or the dark twin would keep one of its own."""
    known = {palette.colour(name) for name in palette.names()} | set(palette.attention_colours())
    return {c.lower() for c in re.findall(r"#[0-9a-fA-F]{6}\b", drawing.svg)} <= known and "<image" not in drawing.svg


@pytest.mark.slow
def test_the_steps_of_either_head():
    first, second = (pencil_steps(pencil.steps(), head=h, token=3, equations=(5, 7)) for h in (1, 2))
    assert "t3 (0.506, 0.160, 0.050, 0.284)" in first.alt and "SA: t0 (-0.876, -0.880, -0.416)" in first.alt
    assert "t3 (0.884, 0.769, 0.653)" in second.alt and "row 5 (-1, -1, -1, -1, 1, 1, 0, -1, -1)" in second.alt
    assert ours(first)
    wide, phone = carried(first.svg)
    assert 'width="525pt"' in wide and 'width="258.75pt"' in phone and ours(second)


def test_the_block_is_two_loops_that_a_phone_shows_below_each_other():
    drawing = finish(block_diagram(), "The block.")
    assert ours(drawing)
    wide, phone = carried(drawing.svg)
    assert phone is not None and 'width="258' in phone and 'width="525' in wide, "in points"
