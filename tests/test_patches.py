"""Cutting, assembling, and token <-> patch <-> place."""

import pytest
import torch
from tiny import ODD, random_weights, random_x

from vitbook.embed import project_patches
from vitbook.patches import assemble, box_of, cut, describe, place_of, token_of


def test_patch_is_its_pixels():
    x, x_p = random_x(), cut(random_x(), 5)
    assert x_p.shape == (12, 75)
    for token in range(1, 13):
        rows, columns = box_of(token, ODD)
        assert torch.equal(x_p[token - 1], x[:, rows, columns].flatten())


def test_patch_17_of_a_14_by_14_grid():
    x = torch.arange(3 * 224 * 224).float().reshape(3, 224, 224)
    assert torch.equal(cut(x, 16)[17], x[:, 16:32, 48:64].flatten())


def test_assemble_is_the_inverse():
    x = random_x()
    assert torch.equal(assemble(cut(x, 5), 3, 4), x)


def test_every_token_has_its_place_and_back():
    places = [place_of(t, ODD) for t in range(1, 13)]
    assert places == [(r, c) for r in range(3) for c in range(4)]
    assert [token_of(r, c, ODD) for r, c in places] == list(range(1, 13))
    assert describe(0, ODD) == "[class]" and describe(6, ODD) == "patch 5 (row 1, column 1)"


def test_linear_map_equals_strided_convolution():
    weights, x = random_weights(), random_x()
    kernel = weights.E.T.reshape(22, 3, 5, 5)
    convolved = torch.nn.functional.conv2d(x[None], kernel, weights.b_E, stride=5)[0].flatten(1).T
    torch.testing.assert_close(project_patches(cut(x, 5), weights.E, weights.b_E), convolved, rtol=0, atol=1e-13)


@pytest.mark.parametrize("P", [0, 4, 7])
def test_a_picture_that_is_no_whole_number_of_patches_is_refused(P):
    with pytest.raises(ValueError, match="15 x 20"):
        cut(random_x(), P)


@pytest.mark.parametrize("bad", [-1, 13, 1.0, True, "3"])
def test_bad_tokens_are_named(bad):
    with pytest.raises((ValueError, TypeError)):
        place_of(bad, ODD)


def test_class_has_no_place():
    with pytest.raises(ValueError, match=r"\[class\]"):
        place_of(0, ODD)


@pytest.mark.parametrize("place", [(3, 0), (0, 4), (-1, 0)])
def test_places_outside_the_grid_are_refused(place):
    with pytest.raises(ValueError, match="3 x 4 grid"):
        token_of(*place, ODD)


def test_assemble_refuses_what_is_no_grid():
    with pytest.raises(ValueError, match="square patches"):
        assemble(torch.zeros(12, 74), 3, 4)
