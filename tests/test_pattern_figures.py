"""Figures of the related work, inductive bias and the hybrid: each says in its alternative text what its numbers are."""

from __future__ import annotations

import numpy as np
from PIL import Image

from vitbook.figures import patterns as pattern_figures
from vitbook.studies.patterns import PATTERNS

PICTURE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (30, 50, 3), dtype=np.uint8))


def test_few_colours():
    one = pattern_figures.with_few_colours(PICTURE, 9, colours=5)
    assert one.shape == (9, 9, 3) and len(np.unique(one.reshape(-1, 3), axis=0)) <= 5
    every = pattern_figures.with_few_colours(PICTURE, 6, colours=512)  # more colours than pixels: nothing is lost
    assert (every == np.asarray(PICTURE.resize((6, 6)))).all()
    assert (pattern_figures.with_few_colours(PICTURE, 9, 5) == one).all()


def test_pictures_of_numbers_share_a_scale_around_zero(monkeypatch):
    norms = []
    monkeypatch.setattr(
        "matplotlib.axes.Axes.pcolormesh", lambda self, values, norm, **_: norms.append((norm.vmin, norm.vmax))
    )
    pattern_figures.pictures_in_a_row(
        {"a": np.array([[1.0, -3.0]]), "b": np.array([[2.0, 0.0]])}, "two rows of numbers"
    )
    assert norms == [(-3, 3), (-3, 3)]


def test_a_mask_of_a_grid_that_is_not_square_has_its_own_frame():
    _, axis = pattern_figures.canvas(height=100)
    pattern_figures.mask_picture(axis, PATTERNS["local"].sees(1, 2, 3, 4))
    frame = axis.patches[0]
    assert (frame.get_width(), frame.get_height()) == (4, 3)
