"""The hybrid: its stem has the shapes, the numbers and the cost of a ResNet-50, and its map goes through the same encoder."""

from __future__ import annotations

import pytest
import torch
from tiny import checkpoint_of, random_weights

from vitbook.embed import resample_positions
from vitbook.model import run
from vitbook.patches import cut
from vitbook.studies.hybrid import EXTENDED_STAGE_3, RESNET_50, StdConv, Stem, feed
from vitbook.weights import Weights

SMALL = (1, 2)  # two stages: down-sampling by 8, 512 channels


def test_a_resnet_50_trunk_has_its_published_number_of_parameters():
    """25,557,032 parameters of the usual ResNet-50 without its classifier of 2048 · 1000 + 1000."""
    with torch.device("meta"):
        stem = Stem(RESNET_50)
    assert stem.parameters_count() == 25_557_032 - 2_049_000


@pytest.mark.parametrize(
    "blocks, H, W, shapes",
    [
        (RESNET_50, 224, 224, {"root": (64, 56, 56), "stage 1": (256, 56, 56), "stage 2": (512, 28, 28),
                               "stage 3": (1024, 14, 14), "stage 4": (2048, 7, 7)}),
        (EXTENDED_STAGE_3, 96, 160, {"root": (64, 24, 40), "stage 1": (256, 24, 40), "stage 2": (512, 12, 20),
                                     "stage 3": (1024, 6, 10)}),
    ],
)  # fmt: skip
def test_shapes(blocks, H, W, shapes):
    stem = Stem(blocks).to("meta")
    maps = stem.maps(torch.zeros(3, H, W, device="meta"))
    assert {name: tuple(y.shape) for name, y in maps.items()} == shapes
    last = list(shapes.values())[-1]
    assert stem.channels == last[0] and (H // stem.downsampling, W // stem.downsampling) == last[1:]


def test_both_options_have_as_many_blocks():
    assert sum(RESNET_50) == sum(EXTENDED_STAGE_3)
    assert Stem(EXTENDED_STAGE_3).downsampling == 16 and Stem(RESNET_50).downsampling == 32


def test_multiply_adds_are_those_of_the_convolutions():
    stem, (H, W) = Stem((1,)), (32, 48)
    root = 7 * 7 * 3 * 64 * (H // 2) * (W // 2)
    block = (64 * 64 + 9 * 64 * 64 + 64 * 256 + 64 * 256) * (H // 4) * (W // 4)
    assert stem.multiply_adds(H, W) == root + block
    assert not any(module._forward_hooks for module in stem.modules())


def test_weights_are_standardised():
    conv = StdConv(5, 7, 3)
    x = torch.randn(1, 5, 9, 11)
    with torch.no_grad():
        conv.weight.mul_(3).add_(2)
        before = conv(x)
        conv.weight.mul_(0.1).sub_(5)
    torch.testing.assert_close(conv(x), before, rtol=1e-3, atol=1e-3)  # neither scale nor shift of a filter matters


def test_the_same_seed_gives_the_same_stem_and_leaves_the_global_one_alone():
    state = torch.get_rng_state()
    one, two, other = Stem(SMALL), Stem(SMALL), Stem(SMALL, seed=1)
    assert (torch.get_rng_state() == state).all()
    x = torch.randn(3, 16, 24)
    assert (one(x) == two(x)).all() and not torch.allclose(one(x), other(x))


def test_a_map_is_read_as_patches_of_one_cell():
    weights, stem = random_weights().to(torch.float32), Stem(SMALL)
    old = weights.config
    rows, columns = 2, 5
    x = torch.randn(3, rows * stem.downsampling, columns * stem.downsampling)
    positions = resample_positions(weights.E_pos, (old.rows, old.columns), (rows, columns))
    hybrid = feed(weights, stem, positions, rows, columns)
    assert isinstance(hybrid, Weights) and hybrid.E.shape == (stem.channels, old.D) and hybrid.E.dtype == torch.float32
    trace = run(hybrid, stem(x))
    assert trace.z[0].shape == (rows * columns + 1, old.D) and trace.y.shape == (old.D,)
    assert (trace.x_p == stem(x).flatten(1).T).all()  # a row of x_p is a cell of the map
    assert (cut(stem(x), 1) == trace.x_p).all()
    for mine, theirs in zip(hybrid.layers, weights.layers, strict=True):
        assert mine is theirs  # the encoder is the same, to the object
    checkpoint = checkpoint_of(weights)
    assert torch.equal(feed(checkpoint, stem, positions, rows, columns).E, hybrid.E)


@pytest.mark.parametrize("blocks", [(), (3, 0), (True,)])
def test_no_blocks_are_refused(blocks):
    with pytest.raises(ValueError, match="at least one block"):
        Stem(blocks)


def test_positions_of_another_size_are_refused():
    weights = random_weights()
    with pytest.raises(ValueError, match="E_pos must have shape"):
        feed(weights, Stem(SMALL), weights.E_pos, 2, 5)
