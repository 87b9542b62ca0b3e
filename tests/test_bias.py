"""The measurements of inductive bias measure what they say, on odd sizes."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from tiny import ODD, random_weights, random_x

from vitbook.config import ViTConfig
from vitbook.model import run
from vitbook.patches import cut
from vitbook.studies.bias import (
    explained,
    nearest_is_neighbour,
    places,
    read_places,
    shuffled,
    without_positions,
)

WIDE = ViTConfig(H=35, W=50, P=5, D=88, L=1, heads=2, M=9)  # 7 x 10 patches, D > N


def test_without_positions_all_patches_share_the_mean():
    weights = random_weights()
    bare = without_positions(weights)
    torch.testing.assert_close(bare.E_pos[1:], weights.E_pos[1:].mean(0).expand(ODD.N, -1))
    assert (bare.E_pos[0] == weights.E_pos[0]).all() and bare.layers is weights.layers


def test_shuffling_moves_patches_whole_and_loses_none():
    x = random_x()
    y = shuffled(x, ODD.P, seed=3)
    rows = {tuple(row) for row in cut(x, ODD.P).tolist()}
    assert {tuple(row) for row in cut(y, ODD.P).tolist()} == rows and not (x == y).all()
    assert (shuffled(x, ODD.P, seed=3) == y).all() and not (shuffled(x, ODD.P, seed=4) == y).all()


@pytest.mark.parametrize("change", [lambda x: shuffled(x, ODD.P), lambda x: torch.roll(x, ODD.P, 2)])
def test_only_positions_tell_the_order(change):
    with_, without = random_weights(), without_positions(random_weights())
    x = random_x()
    assert (run(without, change(x)).y - run(without, x).y).abs().max() < 1e-10
    assert (run(with_, change(x)).y - run(with_, x).y).abs().max() > 1e-4
    assert (run(without, torch.roll(x, 1, 2)).y - run(without, x).y).abs().max() > 1e-4


def test_places_run_along_the_rows():
    assert places(ODD)[5].tolist() == [1, 1] and places(ODD).shape == (12, 2)


def test_places_are_read_where_they_are_written_and_not_from_noise():
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(WIDE.N, WIDE.D, generator=generator, dtype=torch.float64)
    written = places(WIDE) @ torch.randn(2, WIDE.D, generator=generator, dtype=torch.float64) + 0.1 * noise
    assert min(explained(read_places(written, WIDE), places(WIDE))) > 0.98
    assert max(explained(read_places(noise, WIDE), places(WIDE))) < 0.2


def test_neighbours_are_alike_where_vectors_change_slowly_and_not_in_noise():
    bumps = torch.exp(-torch.cdist(places(WIDE), places(WIDE)).square() / 4)
    noise = torch.randn(WIDE.N, WIDE.D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert nearest_is_neighbour(bumps, WIDE) == 1 and nearest_is_neighbour(noise, WIDE) < 0.2


def test_a_patch_is_never_predicted_from_itself():
    """With as many folds as patches, a table that names each patch by itself tells nothing about it."""
    one_hot = torch.eye(WIDE.N, WIDE.D, dtype=torch.float64)
    assert max(explained(read_places(one_hot, WIDE, ridge=1e-3, folds=WIDE.N), places(WIDE))) < 0.05


def test_tables_of_another_size_are_refused():
    with pytest.raises(ValueError, match="leave out row 0"):
        read_places(torch.randn(ODD.N + 1, 4), ODD)
    with pytest.raises(ValueError, match="folds"):
        read_places(torch.randn(ODD.N, 4), ODD, folds=1)


def test_explained():
    true = places(replace(ODD, H=25))
    assert explained(true, true) == (1, 1)
    assert explained(true.mean(0).expand_as(true), true) == pytest.approx((0, 0))
