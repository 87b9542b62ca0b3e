"""Theorem 1 of Cordonnier et al., held against torch's own convolution."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from vitbook.studies.convolution import (
    attention_as_convolution,
    convolution,
    convolution_error,
    quadratic_head,
    quadratic_heads,
    relative_encoding,
    shifts,
    space_to_depth,
)

ROUNDING = 1e-12  # float64 sums of some tens of products of size about 1 round at 1e-15; a wrong tap is off by about 1


def picture_and_kernel(H=7, W=10, K=3, C=3, C_out=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(H, W, C)), rng.normal(size=(K, K, C, C_out))


def torch_convolution(x, kernel, padding_mode="constant"):
    m = len(kernel) // 2
    image = torch.nn.functional.pad(torch.from_numpy(x).permute(2, 0, 1)[None], (m, m, m, m), mode=padding_mode)
    weight = torch.from_numpy(kernel).permute(3, 2, 0, 1)  # (K, K, C_in, C_out) -> (C_out, C_in, K, K)
    return torch.nn.functional.conv2d(image, weight)[0].permute(1, 2, 0).numpy()


@pytest.mark.parametrize("K", [1, 3, 5])
@pytest.mark.parametrize(("border", "mode"), [("zeros", "constant"), ("nearest", "replicate")])
def test_the_convolution_is_torchs(K, border, mode):
    x, kernel = picture_and_kernel(K=K)
    np.testing.assert_allclose(convolution(x, kernel, border), torch_convolution(x, kernel, mode), atol=ROUNDING)


def test_relative_encoding_by_hand():
    r = relative_encoding(2, 3)
    assert r.shape == (6, 6, 3)
    assert r[0, 5].tolist() == [5, 1, 2] and r[5, 0].tolist() == [5, -1, -2] and r[4, 4].tolist() == [0, 0, 0]


def test_a_head_is_a_bump_around_query_plus_shift():
    H, W, shift, alpha = 5, 7, (1, -2), 0.7
    A = quadratic_head(shift, alpha, H, W)
    assert A.shape == (35, 35)
    np.testing.assert_allclose(A.sum(axis=1), 1, atol=ROUNDING)
    for i in range(35):
        distance = [(j // W - i // W - 1) ** 2 + (j % W - i % W + 2) ** 2 for j in range(35)]
        bump = np.exp(-alpha * np.array(distance))
        np.testing.assert_allclose(A[i], bump / bump.sum(), atol=ROUNDING)
    assert A[1 * W + 4].argmax() == 2 * W + 2


def test_one_head_for_each_tap():
    assert shifts(3) == [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 0), (0, 1), (1, -1), (1, 0), (1, 1)]
    A = quadratic_heads(3, 2.0, 4, 5)
    assert A.shape == (9, 20, 20)
    np.testing.assert_array_equal(A[5], quadratic_head((0, 1), 2.0, 4, 5))
    middle = 2 * 5 + 2
    assert [np.divmod(head[middle].argmax(), 5) for head in A] == [(2 + a, 2 + b) for a, b in shifts(3)]


def test_the_errors_of_the_reference_run():
    """8 × 8, K = 3, the same random numbers: 10.6, 0.41 and 0.0 in the interior, about 11 at the border."""
    rng = np.random.default_rng(0)
    x, kernel = rng.normal(size=(8, 8, 3)), rng.normal(size=(3, 3, 3, 4))
    errors = {alpha: convolution_error(x, kernel, alpha) for alpha in (1, 5, 46)}
    assert [round(errors[1][0], 1), round(errors[5][0], 2)] == [10.6, 0.41]
    assert errors[46][0] < ROUNDING
    assert all(10.5 < border < 12 for _, border in errors.values())
    inside, border = convolution_error(x, kernel, 46, pad=True)
    assert inside < ROUNDING and border < ROUNDING


@pytest.mark.parametrize("K", [3, 5])
def test_the_error_falls_with_alpha_inside_and_not_at_the_border(K):
    x, kernel = picture_and_kernel(K=K)
    inside, border = zip(*(convolution_error(x, kernel, alpha) for alpha in (1, 4, 8, 16, 46)), strict=True)
    assert all(a > 2 * b for a, b in pairwise(inside)) and inside[-1] < ROUNDING
    assert min(border) > 1


@pytest.mark.parametrize("K", [1, 3, 5])
def test_padding_mends_the_border(K):
    x, kernel = picture_and_kernel(H=6, W=9, K=K)
    out = attention_as_convolution(x, kernel, alpha=46, pad=True)
    assert out.shape == (6, 9, 4)
    np.testing.assert_allclose(out, torch_convolution(x, kernel), atol=ROUNDING)


def test_what_the_border_computes_instead():
    """A head that points outside puts all its weight on the nearest pixel inside: a convolution with repeated edges."""
    x, kernel = picture_and_kernel(K=5)
    out = attention_as_convolution(x, kernel, alpha=60)
    np.testing.assert_allclose(out, torch_convolution(x, kernel, "replicate"), atol=ROUNDING)


def test_a_picture_without_border_or_interior():
    x, kernel = picture_and_kernel(K=1)
    inside, border = convolution_error(x, kernel, 46)
    assert inside < ROUNDING and np.isnan(border)
    x, kernel = picture_and_kernel(H=2, W=3, K=5)
    inside, border = convolution_error(x, kernel, 46)
    assert np.isnan(inside) and border > 1


def test_space_to_depth_is_a_patch_embedding():
    rng = np.random.default_rng(3)
    x, E = rng.normal(size=(6, 10, 3)), rng.normal(size=(12, 7))
    cells = space_to_depth(x, 2)
    assert cells.shape == (3, 5, 12)
    np.testing.assert_array_equal(cells[1, 3], np.concatenate([x[2, 6], x[2, 7], x[3, 6], x[3, 7]]))
    weight = torch.from_numpy(E.reshape(2, 2, 3, 7)).permute(3, 2, 0, 1)
    embedded = torch.nn.functional.conv2d(torch.from_numpy(x).permute(2, 0, 1)[None], weight, stride=2)[0].permute(
        1, 2, 0
    )
    np.testing.assert_allclose(cells @ E, embedded.numpy(), atol=ROUNDING)
    assert sorted(cells.ravel()) == sorted(x.ravel()), "nothing is lost"
    assert space_to_depth(rng.normal(size=(6, 9, 2)), 3).shape == (2, 3, 18)


@pytest.mark.parametrize("P", [0, -2, 4, 2.0, True, "2"])
def test_space_to_depth_refuses(P):
    with pytest.raises(ValueError, match="divides both sides of a 6 × 10 picture"):
        space_to_depth(np.zeros((6, 10, 3)), P)


@pytest.mark.parametrize(
    ("x", "kernel", "message"),
    [
        (np.zeros((6, 10)), np.zeros((3, 3, 3, 4)), r"\(H, W, C\)"),
        (np.zeros((0, 10, 3)), np.zeros((3, 3, 3, 4)), "no empty side"),
        (np.zeros((6, 10, 3)), np.zeros((3, 3, 2, 4)), r"\(K, K, 3, C_out\)"),
        (np.zeros((6, 10, 3)), np.zeros((3, 5, 3, 4)), r"\(K, K, 3, C_out\)"),
        (np.zeros((6, 10, 3)), np.zeros((4, 4, 3, 4)), "odd number"),
        (np.zeros((60, 60, 3)), np.zeros((3, 3, 3, 4)), "at most 2,304 pixels"),
    ],
)
def test_shapes_that_do_not_fit(x, kernel, message):
    with pytest.raises(ValueError, match=message):
        attention_as_convolution(x, kernel, 46)


@pytest.mark.parametrize("alpha", [0, -1, float("inf"), float("nan"), "46", None])
def test_bad_alpha(alpha):
    with pytest.raises(ValueError, match="alpha must be a finite number above 0"):
        quadratic_head((0, 1), alpha, 4, 5)


def test_bad_kernel_side_and_border():
    for K in (0, 2, -3, 3.0, True):
        with pytest.raises(ValueError, match="positive odd number"):
            shifts(K)
    with pytest.raises(ValueError, match='border must be "zeros" or "nearest"'):
        convolution(*picture_and_kernel(), border="wrap")


def test_what_a_reader_told_numpy_changes_nothing():
    x, kernel = picture_and_kernel()
    expected = attention_as_convolution(x, kernel, 900.0)
    with np.errstate(all="raise"):
        assert np.array_equal(attention_as_convolution(x, kernel, 900.0), expected)
        assert convolution_error(x, kernel, 900.0)[0] < 1e-12
