"""Figures of Appendix A and of the encoder block: their words say the numbers, every number is drawn, colours are ours."""

from __future__ import annotations

import re

import numpy as np
import pytest

from vitbook.figures import palette
from vitbook.figures.block import KINDS, _short, pitfall_map, two_attentions
from vitbook.figures.pencil import pencil_steps
from vitbook.studies import pencil
from vitbook.studies.numpy_block import causal_mask, masked, softmax
from vitbook.studies.pitfalls import PITFALLS, Damage


def ours(drawing) -> bool:
    """Every colour is the palette's, or the dark twin would keep one of its own."""
    known = {palette.colour(name) for name in palette.names()} | set(palette.attention_colours())
    return {c.lower() for c in re.findall(r"#[0-9a-fA-F]{6}\b", drawing.svg)} <= known and "<image" not in drawing.svg


@pytest.mark.slow
def test_the_steps_of_either_head():
    first, second = (pencil_steps(pencil.steps(), head=h, token=3) for h in (1, 2))
    assert "A (0.506, 0.160, 0.050, 0.284)" in first.alt and "SA (-1.840, -0.440, -0.553)" in first.alt
    assert "SA (0.884, 0.769, 0.653)" in second.alt and first.svg != second.svg
    assert ours(first)


def test_attention_with_and_without_a_mask():
    scores = np.random.default_rng(0).standard_normal((5, 5))
    drawing = two_attentions({"plain": softmax(scores), "masked": softmax(masked(scores, causal_mask(5)))})
    assert "plain: the first row is" in drawing.alt and "0 of 25 weights are 0" in drawing.alt
    assert "masked: the first row is 1.00, 0.00, 0.00, 0.00, 0.00, 10 of 25 weights are 0" in drawing.alt
    assert ours(drawing)


def test_the_map_of_pitfalls_leaves_none_out():
    damages = [Damage(name, (0.0, 1e-3, 0.5 + n), 0.1, 1 - 0.03 * n) for n, name in enumerate(reversed(PITFALLS))]
    drawing = pitfall_map(damages, floor=1e-6, others=0.7)
    for name in PITFALLS:
        assert f" {name}: 1.0e-03 after layer 1" in drawing.alt
    assert ours(drawing)
    assert {slip.kind for slip in PITFALLS.values()} == set(KINDS)


def test_cosines_near_one_say_what_is_lacking():
    assert [_short(c) for c in (0.8264, -0.031, 1 - 1.7e-6, 1 - 4e-10, 0.99)] == [
        "0.83", "−0.03", "1 − 2e-6", "1 − 4e-10", "0.99",
    ]  # fmt: skip
