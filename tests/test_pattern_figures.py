"""Figures of the related work, inductive bias and the hybrid: each says in its alternative text what its numbers are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from tiny import ODD, checkpoint_of, random_weights

from vitbook.figures import bias as bias_figures
from vitbook.figures import patterns as pattern_figures
from vitbook.figures.plotting import Drawing
from vitbook.studies.patterns import PATTERNS, two_layers

CHECKPOINT = checkpoint_of(random_weights())
PICTURE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (30, 50, 3), dtype=np.uint8))


def test_gallery_draws_what_it_names_and_says_where_the_query_is():
    drawing = pattern_figures.pattern_gallery(PICTURE, CHECKPOINT, ["full", "local", "axial-row"], query=6)
    assert isinstance(drawing, Drawing)
    assert "full, k × k window, axial, row" in drawing.alt and "patch 5 (row 1, column 1)" in drawing.alt
    assert drawing.svg.count("<image") == 6  # three regions, three masks


def test_region_fades_what_is_not_read(monkeypatch):
    shown = []
    monkeypatch.setattr("matplotlib.axes.Axes.imshow", lambda self, pixels, **_: shown.append(pixels))
    region = PATTERNS["axial-column"].sees(1, 2, 3, 4)
    _, axis = pattern_figures.canvas(height=100)
    pattern_figures.region_on_picture(axis, np.zeros((15, 20, 3), np.uint8), region, (1, 2))
    alpha = shown[0][..., 3]
    assert (alpha[:, 10:15] == 255).all() and (np.delete(alpha, range(10, 15), 1) < 60).all()


def test_growth_ends_where_the_count_ends():
    drawing = pattern_figures.pairs_growth(
        {"full": (PATTERNS["full"], 1), "axial": (PATTERNS["axial-row"], 2)}, [16, 32, 64]
    )
    assert f"full {64**4:.2g}" in drawing.alt and f"axial {2 * 64**3:.2g}" in drawing.alt
    assert f"16 × 16 patches {4**4:.2g}" in drawing.alt


def test_reach_counts_only_what_was_wanted():
    causal, fixed = PATTERNS["causal"].mask(3, 4), PATTERNS["fixed-1"].mask(3, 4)
    reached = two_layers(fixed, fixed)
    drawing = pattern_figures.reach_pictures({"twice": reached}, causal)
    assert f"of {causal.sum():,} wanted" in drawing.alt and f"twice: {(reached & causal).sum():,}" in drawing.alt


def test_offsets_are_cropped_around_the_query(monkeypatch):
    seen = {}
    monkeypatch.setattr(pattern_figures, "maps_in_a_row", lambda maps, *_, **__: seen.update(maps))
    profile = np.zeros((5, 7))  # a 3 × 4 grid: offset (0, 0) stands at (2, 3)
    profile[3, 3] = 1  # one down
    pattern_figures.offset_maps({"head": profile}, reach=1)
    assert seen["head"].tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0]]
    pattern_figures.offset_maps({"head": profile}, reach=99)
    assert seen["head"].shape == (5, 7)


def test_convolution_errors_say_where_they_end():
    drawing = pattern_figures.convolution_errors([1, 10], {"border": [2.0, 1.5], "interior": [0.5, 0.0]})
    assert "border ends at 1.5e+00" in drawing.alt and "interior ends at 0.0e+00" in drawing.alt


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


def test_maps_of_an_odd_grid_fill_their_row():
    drawing = pattern_figures.maps_in_a_row({str(k): np.full((3, 4), k) for k in range(1, 6)}, "five maps")
    assert drawing.alt == "five maps"


def test_shift_line_says_what_happens_at_whole_patches():
    drawing = bias_figures.shift_line([0, 2, 5, 7, 10], {"with": [0, 1, 0.5, 1, 0.25], "without": [0, 1, 0, 1, 0]}, P=5)
    assert "with: 0 at 0, 0.5 at 5, 0.25 at 10" in drawing.alt


@pytest.mark.parametrize("heads", [1, 3])
def test_heads_over_layers(heads):
    values = np.linspace(1, 7, 4 * heads).reshape(4, heads)
    drawing = bias_figures.heads_over_layers(values, "distance", 5.5, "all alike")
    assert f"each of {heads} heads in each of 4 layers: from 1 to 7" in drawing.alt and "all alike: 5.5" in drawing.alt


def test_read_grids_and_touched_tokens_take_grids_that_are_not_square():
    config = replace(ODD)
    places = np.stack(np.divmod(np.arange(config.N), config.columns), 1).astype(float)
    assert "as it is" in bias_figures.read_grids({"as it is\nR² 1.00": places}, config.rows, config.columns).alt
    one = np.zeros((config.rows, config.columns))
    one[1, 2] = 1
    assert "scissors: 1 tokens change" in bias_figures.touched_tokens({"scissors": one, "stem": one + 0.1}).alt
