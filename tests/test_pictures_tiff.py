"""Every layout of a TIFF that another library writes comes out as it went in, or is refused by its name."""

from __future__ import annotations

import io
import warnings
from itertools import product

import numpy as np
import pytest
import tifffile
from cards import encoded, raw_tiff
from PIL import Image

from vitbook.pictures import PictureError, PictureWarning, load_picture

H, W = 21, 37
ROW, COLUMN = np.mgrid[:H, :W]
RGB = np.stack(
    [COLUMN / (W - 1), ROW / (H - 1), (COLUMN * 3 + ROW * 5) % W / (W - 1)], -1
)  # (H, W, 3), 0..1, no two alike
WHITE = {"u1": 255, "u2": 65535, "u4": 2**32 - 1, "i1": 127, "i2": 32767, "i4": 65535, "f2": 1, "f4": 1, "f8": 1}
#: (channels, photometric, what a channel beyond the photometric's own is)
COLOURS = (
    (1, "minisblack", None),
    (1, "miniswhite", None),
    (2, "minisblack", "unassalpha"),
    (2, "minisblack", "assocalpha"),
    (2, "minisblack", "unspecified"),
    (3, "rgb", None),
    (3, "minisblack", None),
    (4, "rgb", "unassalpha"),
    (4, "rgb", "assocalpha"),
    (4, "rgb", "unspecified"),
    (4, "separated", None),
)
#: (bytes' order, compression, predictor, rows a strip or sides of a tile)
STORAGE = (
    ("<", None, None, {}),
    (">", None, None, {}),
    ("<", None, None, {"rowsperstrip": 5}),
    (">", None, None, {"tile": (16, 16)}),
    ("<", "zlib", None, {}),
    (">", "zlib", None, {"rowsperstrip": 5}),
    ("<", "zlib", None, {"tile": (16, 16)}),
    ("<", "zlib", True, {}),
    (">", "zlib", True, {"tile": (16, 16)}),
)


def stored(channels: int, photometric: str) -> np.ndarray:
    """(H, W, channels), 0..1: what a file of this kind holds of `RGB`, or of its first channel; opaque."""
    alpha = np.ones((H, W, 1))
    if photometric == "separated":
        return np.concatenate([1 - RGB, 0 * alpha], -1)
    if photometric == "miniswhite":
        return 1 - RGB[..., :1]
    return np.concatenate([RGB[..., : 3 if channels > 2 else 1], alpha], -1)[..., :channels]


def written(
    dtype: str, channels: int, photometric: str, extra: str | None, planes: bool, order, compression, predictor, how
) -> bytes:
    values = stored(channels, photometric) * WHITE[dtype]
    values = (values if dtype[0] == "f" else np.rint(values)).astype(dtype)
    values = np.moveaxis(values, -1, 0) if planes else values
    kinds = {"planarconfig": "separate" if planes else "contig"} if channels > 1 else {}
    kinds |= {"extrasamples": [extra]} if extra else {}
    stream = io.BytesIO()
    with tifffile.TiffWriter(stream, byteorder=order) as file:
        file.write(
            values if channels > 1 else values.squeeze(), photometric=photometric, compression=compression, predictor=predictor,
            metadata=None, **kinds, **how,
        )  # fmt: skip
    return stream.getvalue()


@pytest.mark.parametrize("planes", [False, True], ids=["together", "planes"])
@pytest.mark.parametrize("dtype", WHITE)
def test_right_or_refused(dtype, planes):
    outcomes = {"right": 0, "refused": 0}
    for (channels, photometric, extra), storage in product(COLOURS, STORAGE):
        if planes and channels == 1:
            continue
        try:
            data = written(dtype, channels, photometric, extra, planes, *storage)
        except (ValueError, NotImplementedError, KeyError):  # nothing that tifffile writes
            continue
        expected = np.rint(255 * (RGB if channels > 2 else RGB[..., :1].repeat(3, -1)))
        what = (dtype, channels, photometric, extra, planes, *storage)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PictureWarning)
                came = np.asarray(load_picture(data)).astype(int)
        except PictureError as error:
            assert "layout that isn't read" in str(error) and f"{int(dtype[1]) * 8} " in str(error), (what, str(error))
            assert ("plane of its own" in str(error)) == planes and "tifffile" in str(error), (what, str(error))
            outcomes["refused"] += 1
            continue
        assert came.shape == expected.shape and np.abs(came - expected).max() <= 1, what  # a half is rounded either way
        outcomes["right"] += 1
    assert outcomes["right"] + outcomes["refused"] > 40
    if not planes:
        assert (outcomes["right"] > 0) == (dtype in ("u1", "u2", "i4", "f4")), outcomes
    elif dtype == "u1":
        assert outcomes["right"] == 3 * len(STORAGE)  # RGB, RGB with alpha, CMYK
    else:
        assert outcomes["right"] == 0


def test_the_example_of_the_report():
    rgb16 = (RGB * 65535).astype("u2")
    for compression in (None, "zlib"):
        stream = io.BytesIO()
        planes = rgb16.transpose(2, 0, 1)
        tifffile.imwrite(stream, planes, photometric="rgb", planarconfig="separate", compression=compression)
        with pytest.raises(PictureError, match="3 channels of 16 unsigned bits, each in a plane of its own"):
            load_picture(stream.getvalue())
        with pytest.raises(PictureError, match="each in a plane of its own"):
            load_picture(Image.open(stream))
        with pytest.warns(PictureWarning, match="16-bit") if rgb16.max() < 256 else warnings.catch_warnings():
            assert np.abs(np.asarray(load_picture(planes)).astype(int) - np.rint(RGB * 255)).max() <= 1  # as advised


@pytest.mark.parametrize("bits", [1, 2, 4, 8, 12, 16])
def test_grey_of_odd_depths(bits):
    """Black and white in turn, packed without a gap."""
    row = "".join("1" * bits if i % 2 else "0" * bits for i in range(W))
    row += "0" * (-len(row) % 8)
    data = int(row, 2).to_bytes(len(row) // 8, "big") * H
    picture = np.asarray(load_picture(raw_tiff(W, H, bits, data)))
    assert (picture[:, 1::2] == 255).all() and (picture[:, ::2] == 0).all()


@pytest.mark.parametrize("bits", [3, 6, 10, 14, 24])
def test_depths_that_are_not_read(bits):
    with pytest.raises(PictureError, match=rf"one channel of {bits} unsigned bits, a layout that isn't read"):
        load_picture(raw_tiff(W, H, bits, b"\0" * (H * W * bits // 8 + 8)))


@pytest.mark.parametrize("subfile", [1, 3])
def test_a_preview_is_not_the_picture(subfile):
    """The raw files of cameras are TIFFs that begin with a small preview."""
    small, large = np.zeros((8, 12, 3), "u1"), np.full((80, 120, 3), 200, "u1")
    stream = io.BytesIO()
    with tifffile.TiffWriter(stream) as file:
        file.write(small, photometric="rgb", subfiletype=subfile, metadata=None)
        file.write(large, photometric="rgb", metadata=None)
    with pytest.raises(PictureError, match="small preview"):
        load_picture(stream.getvalue())


def test_pages_that_are_no_previews_are_several_pages():
    stream = io.BytesIO()
    with tifffile.TiffWriter(stream, bigtiff=True) as file:
        for level in (40, 90):
            file.write(np.full((H, W, 3), level, "u1"), photometric="rgb", metadata=None)
    with pytest.warns(PictureWarning, match="several pages"):
        assert (np.asarray(load_picture(stream.getvalue())) == 40).all()


def test_big_endian_bigtiff_is_named():
    stream = io.BytesIO()
    tifffile.imwrite(stream, np.zeros((H, W, 3), "u1"), photometric="rgb", bigtiff=True, byteorder=">")
    with pytest.raises(PictureError, match="BigTIFF"):
        load_picture(stream.getvalue())


def test_a_damaged_tiff_is_still_called_damaged():
    data = encoded(Image.fromarray((RGB * 255).astype("u1")), "TIFF")
    for cut in (len(data) // 2, 60, 9):
        with pytest.raises(PictureError, match="cut short or damaged"):
            load_picture(data[:cut])


def test_random_damage_is_refused_or_read(tmp_path):
    """Whatever byte of a header changes: a picture or a PictureError, nothing else."""
    chance = np.random.default_rng(3)
    files = [written("u2", 3, "rgb", None, planes, *STORAGE[0]) for planes in (False, True)]
    for _ in range(300):
        data = bytearray(files[chance.integers(2)])
        for place in chance.integers(4, 300, 3):
            data[place] = chance.integers(256)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                load_picture(bytes(data))
        except PictureError:
            pass
