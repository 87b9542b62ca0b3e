"""Arrays and tensors: which axis is which, which numbers are black and white, and when to refuse or to warn."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from cards import QUARTERS, H, W, card, grey
from PIL import Image

from vitbook.pictures import BACKGROUND, PictureError, PictureWarning, arrays, load_picture
from vitbook.pictures.arrays import SLACK, levels, sixteen_bit_levels

X = card()


@pytest.fixture(autouse=True)
def _no_unexpected_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error", PictureWarning)
        yield


def pixels(source: object) -> np.ndarray:
    picture = load_picture(source)
    assert type(picture) is Image.Image and picture.mode == "RGB"
    return np.asarray(picture)


# Layouts


@pytest.mark.parametrize(
    "x",
    [
        pytest.param(X, id="HWC"),
        pytest.param(X.transpose(2, 0, 1), id="CHW"),
        pytest.param(X[None], id="1HWC"),
        pytest.param(X.transpose(2, 0, 1)[None], id="1CHW"),
        pytest.param(np.asfortranarray(X), id="Fortran order"),
        pytest.param(X[::-1][::-1], id="a view of a view"),
        pytest.param(np.dstack([X, np.full((H, W), 255, np.uint8)]), id="opaque alpha"),
        pytest.param(np.dstack([X, np.full((H, W), 255, np.uint8)]).transpose(2, 0, 1), id="alpha first"),
        pytest.param(np.ma.masked_array(X, mask=False), id="masked, nothing masked"),
    ],
)
def test_layouts_of_colour(x):
    assert np.array_equal(pixels(x), X)


def test_negative_strides_and_steps():
    assert np.array_equal(pixels(X[::-1, ::-2]), X[::-1, ::-2])


@pytest.mark.parametrize(
    "index", [np.s_[:, :], np.s_[:, :, None], np.s_[None], np.s_[None, None], np.s_[None, :, :, None]]
)
def test_layouts_of_grey(index):
    shade = X[..., 1]
    assert np.array_equal(pixels(shade[index]), np.dstack([shade] * 3))


def test_alpha_lies_on_white():
    x = np.dstack([X, np.zeros((H, W), np.uint8)])
    assert (pixels(x) == BACKGROUND).all()
    assert (pixels(x / 255) == BACKGROUND).all()


@pytest.mark.parametrize(
    ("shape", "read_as"),
    [((3, 50, 3), (3, 50)), ((1, 20, 4), (1, 20)), ((4, 7, 3), (4, 7)), ((3, 9, 1), (3, 9)), ((1, 1, 1), (1, 1))],
)
def test_ambiguous_layouts_are_named(shape, read_as):
    x = np.random.default_rng(0).integers(2, 255, shape, np.uint8)
    with pytest.warns(PictureWarning, match=r"read as \(H, W, C\)") as caught:
        assert load_picture(x).size == read_as[::-1]
    assert not caught[0].filename.startswith(str(Path(arrays.__file__).parent))  # the reader's line


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((H, W, 2), "two channels"),
        ((2, H, W), "two channels"),
        ((3, 50, 2), "two channels"),
        ((H, W, 5), "no axis of channels"),
        ((H, 3, W), "no axis of channels"),
        ((5, H, W, 3), "batch of 5"),
        ((1, 1, H, W, 3), "no picture's layout"),
        ((H * W,), "tobytes"),
        ((), "no picture's layout"),
        ((0, 0, 3), "no pixels"),
        ((H, 0), "no pixels"),
        ((0, H, W, 3), "no pixels"),
    ],
)
def test_shapes_that_hold_no_single_picture(shape, words):
    with pytest.raises(PictureError, match=words) as caught:
        load_picture(np.full(shape, 7, np.uint8))
    assert str(shape) in str(caught.value)


def test_two_rows_are_not_two_channels():
    assert np.array_equal(pixels(X[:2]), X[:2])


def test_too_many_pixels_are_refused_before_any_copy():
    x = np.broadcast_to(np.uint8(7), (20000, 20000, 3))  # one byte in memory
    with pytest.raises(PictureError, match="120,000,000"):
        load_picture(x)


# Ranges


@pytest.mark.parametrize(
    "x",
    [
        pytest.param(X.astype(dtype), id=np.dtype(dtype).name)
        for dtype in (np.int16, np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64, np.float16)
    ]
    + [
        pytest.param(X.astype(np.uint16) * 257, id="16 bits"),
        pytest.param((X.astype(np.uint16) * 257).astype(">u2"), id="16 bits, big-endian"),
        pytest.param(X / 255, id="0..1"),
        pytest.param((X / 255).astype(np.float16), id="0..1 in half precision"),
        pytest.param(X + 0.3, id="0..255 with fractions"),
        pytest.param(X / 255 + np.where(X == X.max(), 0.9 * SLACK, 0), id="rounding noise"),
    ],
)
def test_dtypes_and_ranges(x):
    assert np.array_equal(pixels(x), X)


def test_rounding_noise_at_both_ends():
    x = np.array([[-0.9 * SLACK, 0.5, 1 + 0.9 * SLACK]])
    assert pixels(x)[0, :, 0].tolist() == [0, 128, 255]


def test_booleans_are_black_and_white():
    assert np.unique(pixels(X[..., 0] > 100)).tolist() == [0, 255]


def test_sixteen_bits_round_and_keep_their_ends():
    every = np.arange(65536)
    got = sixteen_bit_levels(every.astype(np.uint16))
    assert np.abs(got - every / 257).max() <= 0.5 and got[0] == 0 and got[-1] == 255
    assert sixteen_bit_levels(np.array([0, 4095]), white=4095).tolist() == [0, 255]


def test_levels_keep_every_eight_bit_value_in_every_form():
    every = np.arange(256)
    for form in (
        every.astype(np.uint8),
        every,
        every / 255,
        (every / 255).astype(np.float32),
        every.astype(np.float64),
    ):
        assert np.array_equal(levels(form, "x"), every)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.where(X == X.max(), np.nan, X / 255), r"NaN or infinite"),
        (np.where(X == X.max(), np.inf, X / 255), r"NaN or infinite"),
        (np.where(X == X.max(), -np.inf, X * 1.0), r"NaN or infinite"),
        ((X / 255 - 0.5) / 0.5, "normalised already"),
        ((X / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225], "normalised already"),
        (np.full((H, W, 3), 2.2), "as after normalising"),
        (np.full((H, W, 3), 1.01), "as after normalising"),
        (X / 255 - 0.3, "normalised already"),
        (X * 3.0, "0..255"),
        (X.astype(np.int16) - 200, "goes down to -"),
        (X.astype(np.int64) * 2, "goes up to 460"),
        (X.astype(np.uint32) * 257, "uint16"),
        (X * 1j, "plain real numbers"),
        (X.astype(str), "plain real numbers"),
        (X.astype(object), "plain real numbers"),
        (X.astype("datetime64[s]"), "plain real numbers"),
        (np.ma.masked_array(X, mask=X > 200), "masked"),
    ],
)
def test_numbers_that_are_no_levels(x, words):
    with pytest.raises(PictureError, match=words) as caught:
        load_picture(x)
    assert str(X.shape) in str(caught.value)


@pytest.mark.parametrize(
    ("x", "words", "level"),
    [
        (np.full((H, W, 3), 0.9, np.float32), "read as 0..1", 230),
        (np.full((H, W), 1.0), "read as 0..1", 255),
        (X / 255 / 255, "read as 0..1", None),
        ((X[..., 0] > 100).astype(np.float32), "read as 0..1", None),
        ((X[..., 0] > 100).astype(np.uint8), "only 0 and 1", None),
        ((X[..., 0] > 100).astype(np.int64), "only 0 and 1", None),
        (X.astype(np.uint16), "below 256", None),
    ],
)
def test_ambiguous_ranges_are_named(x, words, level):
    with pytest.warns(PictureWarning, match=words):
        got = np.asarray(load_picture(x))
    if level is not None:
        assert np.unique(got).tolist() == [level]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64, np.float32])
def test_black_is_black_however_it_is_read(dtype):
    assert (pixels(np.zeros((H, W), dtype)) == 0).all()


# Tensors and other libraries, by what they offer and not by their names


def test_tensors():
    torch = pytest.importorskip("torch")
    t = torch.from_numpy(X.copy())
    first = t.permute(2, 0, 1)
    for source in (t, first, first[None], first / 255, (first / 255).requires_grad_(), (first / 255).double()):
        assert np.array_equal(pixels(source), X)
    for dtype in (torch.bfloat16, torch.float16):
        assert np.abs(pixels((first / 255).to(dtype)).astype(int) - X).max() <= 1  # 8 or 11 significant bits
    assert np.array_equal(pixels(torch.stack([t[..., 0]])), np.dstack([X[..., 0]] * 3))


def test_ambiguous_tensors_are_channels_first():
    torch = pytest.importorskip("torch")
    with pytest.warns(PictureWarning, match=r"A tensor .* read as \(C, H, W\)"):
        assert load_picture(torch.full((3, 50, 3), 9, dtype=torch.uint8)).size == (3, 50)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda torch: torch.empty(3, H, W, device="meta"), "CPU"),
        (lambda torch: torch.eye(H).to_sparse(), "can't be read as numbers"),
        (lambda torch: torch.randn(3, H, W), "normalised already"),
        (lambda torch: torch.full((3, H, W), float("nan")), "NaN"),
        (lambda torch: torch.ones(4, 3, H, W), "batch of 4"),
        (lambda torch: torch.ones(3, H, W, dtype=torch.complex64), "plain real numbers"),
    ],
)
def test_tensors_that_hold_no_picture(build, words):
    torch = pytest.importorskip("torch")
    with pytest.raises(PictureError, match=words) as caught:
        load_picture(build(torch))
    assert "A tensor" in str(caught.value)


def test_anything_with_the_array_protocol():
    class Elsewhere:
        def __array__(self, dtype=None, copy=None):
            return X

    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise TypeError("call .get() first")

    assert np.array_equal(pixels(Elsewhere()), X)
    with pytest.raises(PictureError, match=r"\.get\(\)"):
        load_picture(Broken())


def test_the_array_that_came_is_neither_changed_nor_shared():
    x = X.copy()
    load_picture(x).paste((0, 0, 0), (0, 0, W, H))
    assert np.array_equal(x, X)


def test_grey_weights_are_those_of_the_standard():
    assert [grey(q)[0] for q in QUARTERS] == [
        Image.new("RGB", (1, 1), q).convert("L").getpixel((0, 0)) for q in QUARTERS
    ]
