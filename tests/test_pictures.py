"""Getting a picture from files, bytes, streams, uploads and Pillow images: upright RGB, or a refusal that helps."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import warnings
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from cards import (
    LAB,
    LOSSY,
    QUARTERS,
    SAME,
    H,
    W,
    card,
    encoded,
    grey,
    quarters,
    raw_png,
    raw_tiff,
    without_adobe_marker,
)
from PIL import Image, ImageCms, ImageFile

from vitbook.pictures import BACKGROUND, MAX_PIXELS, PictureError, PictureWarning, load_picture
from vitbook.pictures import rgb as rgb_room

ROOM = str(Path(rgb_room.__file__).parent)

BASE = Image.fromarray(card())
GREYS = [grey(quarter) for quarter in QUARTERS]


@pytest.fixture(autouse=True)
def _no_unexpected_warning():
    """A test that expects a warning says so; elsewhere one is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", PictureWarning)
        yield


def assert_card(picture: Image.Image, want=QUARTERS, tolerance: float = 0) -> None:
    assert type(picture) is Image.Image and picture.mode == "RGB"
    assert picture.size == (W, H)
    np.testing.assert_allclose(quarters(picture), want, atol=tolerance)


# Formats and modes


@pytest.mark.parametrize(
    ("format", "options", "tolerance"),
    [
        ("PNG", {}, 0),
        ("BMP", {}, 0),
        ("PPM", {}, 0),
        ("TIFF", {}, 0),
        ("TIFF", {"compression": "tiff_lzw"}, 0),
        ("WEBP", {"lossless": True}, 0),
        ("JPEG", {"quality": 95}, LOSSY),
        ("JPEG", {"quality": 95, "progressive": True}, LOSSY),
        ("MPO", {"quality": 95, "save_all": True, "append_images": [Image.fromarray(255 - card())]}, LOSSY),
        ("GIF", {}, LOSSY),
        ("JPEG2000", {}, LOSSY),
        ("AVIF", {"quality": 90}, LOSSY),
    ],
)
def test_formats(format, options, tolerance):
    if format not in Image.SAVE and (Image.init() or format not in Image.SAVE):
        pytest.skip(f"this Pillow was built without {format}")
    assert_card(load_picture(encoded(BASE, format, **options)), tolerance=tolerance)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "RGBX", "RGBa", "CMYK", "YCbCr", "HSV", "LAB"])
def test_colour_modes_of_pillow_images(mode):
    assert_card(load_picture(_as_mode(mode)), tolerance=LAB if mode == "LAB" else SAME)


@pytest.mark.parametrize("mode", ["CMYK", "YCbCr", "LAB", "RGBA"])
def test_colour_modes_of_tiff_files(mode):
    assert_card(load_picture(encoded(_as_mode(mode), "TIFF")), tolerance=LAB if mode == "LAB" else SAME)


def _as_mode(mode: str) -> Image.Image:
    if mode == "LAB":
        space = ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB")
        return ImageCms.profileToProfile(BASE, *space, outputMode="LAB")
    return BASE.convert("RGBA").convert(mode) if mode == "RGBa" else BASE.convert(mode)


@pytest.mark.parametrize("mode", ["L", "LA", "La"])
def test_grey_is_replicated(mode):
    image = BASE.convert("LA").convert(mode) if mode == "La" else BASE.convert(mode)
    assert_card(load_picture(image), GREYS)


def test_palettes_are_looked_up():
    assert_card(load_picture(encoded(BASE.quantize(8))), tolerance=SAME)


def test_one_bit_becomes_black_and_white():
    bits = Image.fromarray(card()[..., 1] > 130).convert("1")
    assert_card(load_picture(encoded(bits)), [[255] * 3, [0] * 3, [255] * 3, [0] * 3])


def test_cmyk_jpeg_of_adobe_is_not_inverted():
    assert_card(load_picture(encoded(BASE.convert("CMYK"), "JPEG", quality=95)), tolerance=LOSSY)


def test_cmyk_jpeg_without_the_marker_names_its_guess():
    jpeg = without_adobe_marker(encoded(BASE.convert("CMYK"), "JPEG", quality=95))
    with pytest.warns(PictureWarning, match="Adobe"):
        assert_card(load_picture(jpeg), tolerance=LOSSY)


# Sixteen bits and floats: scaled, never clipped

RAMP = np.linspace(0, 65535, W).round().astype(np.uint16)[None].repeat(H, 0)
LEVELS = np.rint(RAMP[0] / 257)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(encoded(Image.fromarray(RAMP)), id="PNG"),
        pytest.param(encoded(Image.fromarray(RAMP), "TIFF"), id="TIFF little-endian"),
        pytest.param(encoded(Image.fromarray(RAMP.astype(">u2")), "TIFF"), id="TIFF big-endian"),
        pytest.param(encoded(Image.fromarray(RAMP.astype(np.int32)), "TIFF"), id="TIFF 32-bit integers"),
        pytest.param(encoded(Image.fromarray((RAMP / 65535).astype(np.float32)), "TIFF"), id="TIFF floats 0..1"),
        pytest.param(encoded(Image.fromarray((RAMP / 257).astype(np.float32)), "TIFF"), id="TIFF floats 0..255"),
        pytest.param(encoded(Image.fromarray(65535 - RAMP), "TIFF", tiffinfo={262: 0}), id="TIFF white is zero"),
        pytest.param(Image.fromarray(RAMP), id="Pillow I;16"),
        pytest.param(Image.fromarray(RAMP.astype(np.int32)), id="Pillow I"),
    ],
)
def test_wide_grey_is_scaled(data):
    x = np.asarray(load_picture(data))
    np.testing.assert_allclose(x[7, :, 1], LEVELS, atol=1)  # rounding halves either way


def test_wide_grey_of_small_numbers_names_its_guess():
    with pytest.warns(PictureWarning, match="below 256"):
        assert_card(load_picture(BASE.convert("I")), GREYS)


def test_twelve_bits_reach_white():
    black_and_white = b"\x00\x0f\xff" * (H * W // 2)  # 12-bit pairs: 0x000, 0xfff
    x = np.asarray(load_picture(raw_tiff(W, H, 12, black_and_white)))
    assert x[0, :4, 0].tolist() == [0, 255, 0, 255]


@pytest.mark.parametrize("channels", [3, 4])
def test_48_and_64_bit_png(channels):
    wide = np.dstack([card(), np.full((H, W), 255, np.uint8)])[..., :channels].astype(np.uint16) * 257
    assert_card(load_picture(raw_png(wide)))


def test_transparent_level_of_sixteen_bit_grey():
    x = np.asarray(load_picture(raw_png(np.array([[0, 1000, 30000]], np.uint16), transparent=b"\x03\xe8")))
    assert x[0, :, 0].tolist() == [0, BACKGROUND[0], round(30000 / 257)]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.full((H, W), np.nan, np.float32), "NaN"),
        (np.full((H, W), -0.5, np.float32), "normalised"),
        (np.full((H, W), 70000.0, np.float32), "white"),
        (np.full((H, W), 70000, np.int32), "70000"),
        (np.full((H, W), -7, np.int32), "-7"),
    ],
)
def test_files_of_unlikely_numbers_are_refused(values, words):
    with pytest.raises(PictureError, match=words):
        load_picture(encoded(Image.fromarray(values), "TIFF"))


# Transparency lies on white


def _with_hidden_magenta() -> np.ndarray:
    rgba = np.dstack([card(), np.full((H, W), 255, np.uint8)])
    rgba[H // 2 :, W // 2 :] = (255, 0, 255, 0)
    return rgba


ON_WHITE = [*QUARTERS[:3], BACKGROUND]


@pytest.mark.parametrize("format", ["PNG", "WEBP", "TIFF"])
def test_hidden_colours_stay_hidden(format):
    image = Image.fromarray(_with_hidden_magenta())
    options = {"lossless": True, "exact": True} if format == "WEBP" else {}
    assert_card(load_picture(encoded(image, format, **options)), ON_WHITE)
    assert_card(load_picture(image), ON_WHITE)
    assert_card(load_picture(image.convert("RGBa")), ON_WHITE)


def test_half_transparent_is_half_white():
    image = Image.new("LA", (W, H), (0, 51))  # alpha 0.2
    assert_card(load_picture(image), [[204] * 3] * 4)


@pytest.mark.parametrize("as_bytes", [False, True])
def test_palette_transparency(as_bytes):
    image = BASE.quantize(8)
    hidden = image.getpixel((W - 1, H - 1))
    transparency = bytes(0 if i == hidden else 255 for i in range(8)) if as_bytes else hidden
    assert_card(load_picture(encoded(image, transparency=transparency)), ON_WHITE, SAME)


def test_transparent_colour_of_rgb():
    assert_card(load_picture(encoded(BASE, transparency=QUARTERS[3])), ON_WHITE)


# Orientation, metadata, frames

_STORED = {1: None, 2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # the turn that a camera of each orientation has made


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF", "MPO"])
@pytest.mark.parametrize("orientation", _STORED)
def test_all_eight_orientations(format, orientation):
    turn = _STORED[orientation]
    stored = BASE if turn is None else BASE.transpose(Image.Transpose(turn))
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(stored, format, exif=exif.tobytes(), quality=95)
    assert_card(load_picture(data), tolerance=LOSSY)
    assert_card(load_picture(Image.open(io.BytesIO(data))), tolerance=LOSSY)


def test_orientation_out_of_range_changes_nothing():
    exif = Image.Exif()
    exif[0x0112] = 9
    assert_card(load_picture(encoded(BASE, exif=exif.tobytes())))


def test_broken_camera_data_cost_no_picture():
    class Broken(Image.Exif):
        def get(self, *_):
            raise KeyError("torn")

    image = BASE.copy()
    image._exif = Broken()
    with pytest.warns(PictureWarning, match="camera data"):
        assert_card(load_picture(image))


def test_no_metadata_travels_on():
    exif = Image.Exif()
    exif[0x010F] = "a camera"
    exif.get_ifd(0x8825)[1] = "N"  # a latitude
    picture = load_picture(encoded(BASE, exif=exif.tobytes(), dpi=(72, 72)))
    assert picture.info == {} and not dict(picture.getexif())


@pytest.mark.parametrize(
    ("format", "options"),
    [("GIF", {"duration": 80}), ("PNG", {}), ("WEBP", {"lossless": True}), ("TIFF", {})],
)
def test_first_frame_with_a_warning(format, options):
    later = [Image.fromarray(np.full((H, W, 3), level, np.uint8)) for level in (0, 99)]
    data = encoded(BASE, format, save_all=True, append_images=later, **options)
    with pytest.warns(PictureWarning, match="first one") as caught:
        assert_card(load_picture(data), tolerance=LOSSY if format == "GIF" else 0)
    assert not caught[0].filename.startswith(ROOM)  # it points at the reader's line


def test_a_frame_that_was_chosen_is_taken_without_a_word():
    later = Image.fromarray(np.full((H, W, 3), 99, np.uint8))
    with Image.open(io.BytesIO(encoded(BASE, "TIFF", save_all=True, append_images=[later]))) as image:
        image.seek(1)
        assert_card(load_picture(image), [[99] * 3] * 4)


def test_animation_broken_after_its_first_frame():
    noise = [Image.fromarray(np.random.default_rng(i).integers(0, 256, (H, W), np.uint8)) for i in range(3)]
    data = encoded(noise[0], "GIF", save_all=True, append_images=noise[1:])
    second = data.index(b"\x21\xf9", data.index(b"\x21\xf9") + 2)  # its graphic control block
    for end in range(second, second + 40):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PictureWarning)
            assert np.array_equal(np.asarray(load_picture(data[:end]))[..., 0], np.asarray(noise[0]))


# Sizes


@pytest.mark.parametrize("size", [(1, 1), (5000, 1), (1, 5000), (2, 3)])
def test_any_size_from_one_pixel(size):
    picture = load_picture(encoded(Image.new("RGB", size, QUARTERS[0])))
    assert picture.size == size and picture.getpixel((0, 0)) == QUARTERS[0]


@pytest.mark.parametrize("size", [(20000, 20000), (12001, 10000)])
def test_bombs_are_refused_from_the_header(size, monkeypatch):
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda self: pytest.fail("decoded"))
    with pytest.raises(PictureError, match=f"{size[0] * size[1]:,} pixels"):
        load_picture(raw_png(np.zeros((1, 1), np.uint16), size=size))


def test_just_under_the_limit_is_not_a_bomb(monkeypatch):
    width, height = 12000, 10000
    assert width * height == MAX_PIXELS
    with pytest.raises(PictureError, match="cut short"):  # it got as far as decoding
        monkeypatch.setattr(ImageFile.ImageFile, "load", lambda self: (_ for _ in ()).throw(OSError("short")))
        load_picture(raw_png(np.zeros((1, 1), np.uint16), size=(width, height)))


def test_a_pillow_image_that_is_too_large_or_empty(monkeypatch):
    monkeypatch.setattr(rgb_room, "MAX_PIXELS", H * W - 1)
    with pytest.raises(PictureError, match=f"{H * W:,} pixels"):
        load_picture(BASE)
    with pytest.raises(PictureError, match="no pixels"):
        load_picture(Image.new("RGB", (0, 3)))


# Files that are not pictures


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_truncated_files_are_refused_by_name(format, share, tmp_path):
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (67, 45, 3), np.uint8))
    whole = encoded(noise, format)
    path = tmp_path / f"half.{format.lower()}"
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(PictureError, match=rf"half\.{format.lower()}.*(cut short|damaged)"):
        load_picture(path)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "zero bytes"),
        (b"\x89PNG\r\n\x1a\n", "a PNG"),
        (b"\xff\xd8\xff\xe0", "a JPEG"),
        (b"<!DOCTYPE html><html><title>403 Forbidden</title>", "web page titled '403 Forbidden'"),
        (b"\xef\xbb\xbf\n <html><body>sorry", "web page that begins"),
        (b"<!doctype html><html><body><svg></svg>", "web page"),
        (b'<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml">', "web page"),
        (b"BMW and other cars", "text that begins 'BMW"),
        (b"\xef\xbb\xbfhello, reader", "text that begins 'hello, reader'"),
        ("grüße".encode("utf-16"), "text that begins 'grüße'"),
        (b'{"error": "quota"}', "text that begins"),
        (b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>', "an SVG"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "git lfs pull"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "HEIC"),
        (b"\0\0\0\x20ftypisom\0\0\2\0", "a film"),
        (b"%PDF-1.7\n", "a PDF"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", "PostScript"),
        (b"8BPS\0\1", "Photoshop"),
        (b"\0\0\1\0\1\0\x10\x10", "icon"),
        (b"PK\3\4\x14\0", "ZIP"),
        (b"\x1f\x8b\x08\0", "compressed"),
        (b"\x93NUMPY\1\0", "numpy.load"),
        (b"\x80\x04\x95\x10", "pickle"),
        (b"RIFF\x24\0\0\0WAVEfmt ", "sound"),
        (bytes(range(200, 256)) * 3, "no format known"),
    ],
)
def test_what_came_is_named(data, words, tmp_path):
    path = tmp_path / "came.jpg"
    path.write_bytes(data)
    for source in (path, data):
        with pytest.raises(PictureError, match=words):
            load_picture(source)


def test_avif_that_this_pillow_cannot_read(monkeypatch):
    monkeypatch.setattr(rgb_room, "FORMATS", ("PNG",))
    with pytest.raises(PictureError, match="an AVIF"):
        load_picture(b"\0\0\0\x1cftypavif\0\0\0\0")


def test_no_other_program_is_started_for_a_picture():
    """EPS goes through Ghostscript in Pillow; it isn't among the formats that are tried."""
    assert not {"EPS", "WMF", "GRIB", "HDF5"} & set(rgb_room.FORMATS)


# Paths


@pytest.mark.parametrize("name", ["plain.png", "höhe 图 1%20#.png", "no-suffix", "wrong.jpg", "-x.png"])
@pytest.mark.parametrize("kind", [str, Path])
def test_paths(name, kind, tmp_path):
    path = tmp_path / name
    path.write_bytes(encoded(BASE))
    assert_card(load_picture(kind(path)))


def test_home_folder_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "mine.png").write_bytes(encoded(BASE))
    assert_card(load_picture("~/mine.png"))


def test_what_no_path_leads_to(tmp_path):
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    (tmp_path / "file.png").write_bytes(b"x")
    for path, words in [
        (tmp_path / "missing.png", r"no file.*missing\.png"),
        (tmp_path, "a folder"),
        (tmp_path / "dangling", "link"),
        (tmp_path / "file.png" / "inner.png", "inner"),
        (Path("https://example.org/cat.jpg"), "loses one of its slashes"),
        ("chelsae", "'chelsea'"),
        ("sealion", "names in the catalogue"),
        ("", "empty text"),
        (" \n", "empty text"),
        ("a\0b", "can't be a path"),
        ("x" * 5000, "can't be read"),
    ]:
        with pytest.raises(PictureError, match=words) as caught:
            load_picture(path)
        assert len(str(caught.value)) < 500


@pytest.mark.skipif(sys.platform == "win32", reason="no devices and pipes among the files there")
def test_devices_pipes_and_sockets_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        for path in ("/dev/zero", "/dev/null", tmp_path / "pipe", tmp_path / "s"):
            with pytest.raises(PictureError, match="device, a pipe"):
                load_picture(path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path):
    path = tmp_path / "locked.png"
    path.write_bytes(encoded(BASE))
    path.chmod(0)
    with pytest.raises(PictureError, match="who may read"):
        load_picture(path)


def test_file_of_too_many_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("vitbook.pictures.files.MAX_BYTES", 100)
    monkeypatch.setattr(rgb_room, "MAX_BYTES", 100)
    path = tmp_path / "large.png"
    data = encoded(BASE) + b"\0" * 100
    path.write_bytes(data)
    with pytest.raises(PictureError, match=f"has {len(data):,} bytes, more than 100"):  # told before reading
        load_picture(path)
    for source in (data, io.BytesIO(data)):
        with pytest.raises(PictureError, match="more than 100"):
            load_picture(source)


# Bytes, streams, uploads, and what is none of these


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, io.BytesIO])
def test_bytes_and_streams(kind):
    assert_card(load_picture(kind(encoded(BASE))))


def test_stream_is_read_from_where_it_stands_and_left_open(tmp_path):
    path = tmp_path / "after.bin"
    path.write_bytes(b"skip" + encoded(BASE))
    with path.open("rb") as file:
        file.seek(4)
        assert_card(load_picture(file))
        assert not file.closed


def test_stream_that_gives_little_at_a_time():
    class Dripping(io.RawIOBase):
        rest = encoded(BASE)

        def read(self, size=-1):
            piece, self.rest = self.rest[:7], self.rest[7:]
            return piece

    assert_card(load_picture(Dripping()))


def test_endless_stream(monkeypatch):
    class Endless:
        def read(self, size):
            return b"\0" * size

    monkeypatch.setattr("vitbook.pictures.files.MAX_BYTES", 5000)
    monkeypatch.setattr(rgb_room, "MAX_BYTES", 5000)
    with pytest.raises(PictureError, match="more than 5,000 bytes"):
        load_picture(Endless())


def test_streams_that_give_nothing(tmp_path):
    path = tmp_path / "card.png"
    path.write_bytes(encoded(BASE))
    at_end = io.BytesIO()
    BASE.save(at_end, "PNG")
    closed = path.open("rb")
    closed.close()
    with path.open(encoding="latin-1") as text:
        for stream, words in [
            (at_end, r"seek\(0\)"),
            (io.BytesIO(), "zero bytes"),
            (closed, "closed"),
            (text, "'rb'"),
            (io.StringIO("x"), "'rb'"),
        ]:
            with pytest.raises(PictureError, match=words):
                load_picture(stream)


def test_released_memoryview():
    view = memoryview(encoded(BASE))
    view.release()
    with pytest.raises(PictureError, match="released"):
        load_picture(view)


def test_memoryview_of_an_array_is_an_array():
    assert_card(load_picture(memoryview(card())))


def _upload8(**more) -> dict:
    return {"name": "cat.png", "type": "image/png", "size": 9, "content": memoryview(encoded(BASE)), **more}


def _upload7(content: bytes) -> dict:
    return {"metadata": {"name": "cat.png", "type": "image/png", "size": 9, "lastModified": 0}, "content": content}


def test_uploads_of_both_versions_of_ipywidgets():
    assert_card(load_picture((_upload8(),)))
    assert_card(load_picture([_upload8()]))
    assert_card(load_picture(_upload8()))
    assert_card(load_picture({"cat.png": _upload7(encoded(BASE))}))
    assert_card(load_picture(_upload7(encoded(BASE))))
    assert_card(load_picture([encoded(BASE)]))  # .data of version 7


def test_the_real_widget():
    widgets = pytest.importorskip("ipywidgets")
    widget = widgets.FileUpload()
    with pytest.raises(PictureError, match="uploaded yet"):
        load_picture(widget.value)
    widget.set_trait("value", ({**_upload8(), "last_modified": datetime.now()},))
    assert_card(load_picture(widget.value))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ((), "uploaded yet"),
        ({}, "uploaded yet"),
        ((_upload8(), _upload8()), r"2 pictures.*value\[0\]"),
        ({"a": _upload7(b"x"), "b": _upload7(b"y")}, "2 pictures"),
        ((_upload8(content=b"", name="mine.png"),), r"mine\.png.*zero bytes"),
        (({**_upload7(b"hello"), "metadata": {"name": "note.txt"}},), r"note\.txt.*text"),
        (_upload8(content=None), "NoneType"),
        ({"pixels": 3}, "'pixels'"),
        ([[1, 2], [3, 4]], "numpy.array"),
        ([0.5, 0.25], "numpy.array"),
        (None, "NoneType"),
        (7, "int"),
        (object(), "is no picture"),
    ],
)
def test_values_that_hold_no_single_picture(value, words):
    with pytest.raises(PictureError, match=words):
        load_picture(value)


# Pillow images


def test_the_image_that_came_stays_as_it_is():
    image = BASE.convert("RGBA")
    image.info["note"] = "mine"
    picture = load_picture(image)
    picture.paste((0, 0, 0), (0, 0, W, H))
    assert image.info == {"note": "mine"} and image.mode == "RGBA" and image.getpixel((0, 0))[:3] == QUARTERS[0]
    assert load_picture(BASE) is not BASE


def test_narrow_pillow_images_are_never_ambiguous():
    x = card(3, 50)
    assert np.array_equal(np.asarray(load_picture(Image.fromarray(x))), x)


def test_closed_and_torn_pillow_images(tmp_path):
    closed = Image.open(io.BytesIO(encoded(BASE)))
    closed.close()
    path = tmp_path / "card.png"
    path.write_bytes(encoded(BASE))
    with path.open("rb") as file:
        file_gone = Image.open(file)
    torn = Image.open(io.BytesIO(encoded(BASE)[:-60]))
    for image in (closed, file_gone, torn):
        with pytest.raises(PictureError, match="closed or damaged"):
            load_picture(image)


# The room


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted in /proc")
def test_no_file_is_left_open(tmp_path):
    good, bad = tmp_path / "good.png", tmp_path / "bad.png"
    good.write_bytes(encoded(BASE))
    bad.write_bytes(encoded(BASE)[:-60])
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        load_picture(good)
        load_picture("chelsea")
        with pytest.raises(PictureError):
            load_picture(bad)
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_room_imports_nothing_heavy():
    code = (
        "import sys; from vitbook.pictures import load_picture; load_picture('hopper'); load_picture('chelsea'); "
        "print([m for m in ('torch', 'transformers', 'skimage', 'matplotlib', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_byte_string_gives_rgb_or_a_refusal():
    """Damage at random places of every format: nothing but `PictureError` may escape."""
    random = np.random.default_rng(0)
    whole = [encoded(BASE, format) for format in ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP", "PPM")]
    outcomes = {"read": 0, "refused": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for data in whole:
            for _ in range(40):
                torn = np.frombuffer(data, np.uint8).copy()
                torn[random.integers(0, len(torn), 6)] = random.integers(0, 256, 6)
                try:
                    assert load_picture(torn.tobytes()).mode == "RGB"
                    outcomes["read"] += 1
                except PictureError:
                    outcomes["refused"] += 1
    assert min(outcomes.values()) > 10  # both happened, or the damage tested nothing
