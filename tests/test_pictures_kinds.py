"""What came is named for what it is; a whole picture is read, or the part of it that is not read is named."""

from __future__ import annotations

import base64
import gzip
import io
import struct
import tarfile
import warnings
import zipfile
import zlib

import numpy as np
import pytest
from cards import card, encoded
from PIL import Image, ImageCms

from vitbook.pictures import PictureError, PictureWarning, kinds, load_picture

PIXELS = card()
PNG, JPEG = encoded(Image.fromarray(PIXELS)), encoded(Image.fromarray(PIXELS), "JPEG")
BASELINE = b"\xff\xc0\x00\x11\x08"  # how the frame of an ordinary JPEG begins: SOF0, length, bits


def archive(kind: str) -> bytes:
    stream = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(stream, "w") as file:
            file.writestr("a.txt", "a")
    else:
        with tarfile.open(fileobj=stream, mode="w") as file:
            file.addfile(tarfile.TarInfo("a.txt"))
    return stream.getvalue()


OTHERS = {
    "JPEG XL": (b"\xff\x0a" + bytes(50), b"\0\0\0\x0cJXL \r\n\x87\n" + bytes(50)),
    "JPEG XR": (b"II\xbc\x01" + bytes(40),),
    "QOI": (b"qoif" + bytes(30),),
    "OpenEXR": (b"v/1\x01" + bytes(30),),
    "Radiance": (b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 1\n\0\0\0\0",),
    "PAM": (b"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 3\nMAXVAL 255\nENDHDR\n\0\0\0",),
    "DDS": (b"DDS \x7c\0\0\0" + bytes(120),),
    "Apple icon": (b"icns\0\0\0\x10" + bytes(30),),
    "Windows icon": (b"\0\0\1\0\1\0\x10\x10" + bytes(30), b"\0\0\2\0\2\0\x20\x20" + bytes(30)),
    "Targa": (b"\0\0\2" + bytes(9) + b"\x02\0\x02\0\x18\0" + bytes(12),
              b"\0\1\x09\0\0\0\1\x18" + bytes(4) + b"\x02\0\x02\0\x08\0" + bytes(12)),
    "PCX": (b"\x0a\x05\x01\x08" + bytes(124),),
    "DICOM": (bytes(128) + b"DICM" + bytes(20),),
    "FITS": (b"SIMPLE  =                    T" + b" " * 100,),
    "metafile": (b"\x01\0\0\0\x6c\0\0\0" + bytes(32) + b" EMF" + bytes(20), b"\xd7\xcd\xc6\x9a" + bytes(20)),
    "C program": (b"#define x_width 8\nstatic char x_bits[] = {0};", b'/* XPM */\nstatic char *x[] = {"'),
    "raw file of a camera": (b"II*\0\x10\0\0\0CR\x02\0" + bytes(50), b"IIU\0\x18" + bytes(50), b"IIRO\x08" + bytes(50),
                             b"FUJIFILMCCD-RAW 0201", b"\0\0\0\x18ftypcrx " + bytes(40)),
    "Photoshop": (b"8BPS\0\1",),
    "GIMP": (b"gimp xcf v011\0",),
    "PDF": (b"%PDF-1.7\n", b"\xef\xbb\xbf%PDF-1.7\n", b"\r\n  %PDF-1.4\n%\xe2\xe3"),
    "PostScript": (b"%!PS-Adobe-3.0", b"\xc5\xd0\xd3\xc6" + bytes(30)),
    "office": (b"{\\rtf1\\ansi", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(20)),
    "web page": (b"<!-- saved -->\n<html><head>", b"<div>hello</div>", b"<HTML><HEAD>", "<!doctype html><p>".encode("utf-16"),
                 "<html><title>für".encode("latin-1"), b"<!--" + b"x" * 5000 + b"--><!doctype html>"),
    "SVG": (b"<svg/>", b'<?xml version="1.0"?>\n<!--' + b"c" * 4000 + b'-->\n<svg xmlns="x"/>', "<svg/> drawn".encode("utf-16")),
    "ZIP archive": (archive("zip"), b"PK\x05\x06" + bytes(18)),
    "tar archive": (archive("tar"),),
    "compressed archive": (gzip.compress(b"<svg/>"), b"BZh91AY",
                           b"\xfd7zXZ\0", b"7z\xbc\xaf\x27", b"Rar!\x1a\x07", b"\x28\xb5\x2f\xfd" + bytes(20)),
    "film": (b"\0\0\0\x20ftypisom" + bytes(20), b"\0\0\0\x08wide\0\0\x10\0mdat", b"\0\0\x10\0moov\0\0\0\x6cmvhd", 
             b"RIFF\0\0\0\0AVI LIST",
             b"\x1aE\xdf\xa3" + bytes(20), b"\0\0\x01\xba" + bytes(20), b"FLV\x01\x05", b"0&\xb2u\x8ef\xcf\x11", b"OggS\0" + bytes(20),
             b"G@\0\x10" + b"\xff" * 184 + b"G"),
    "sound": (b"ID3\x03\0" + bytes(20), b"fLaC\0" + bytes(20), b"RIFF\0\0\0\0WAVEfmt "),
    "base64": (base64.b64encode(PNG), base64.b64encode(JPEG), b"data:image/png;base64," + base64.b64encode(PNG)),
    "scientific data": (b"\x89HDF\r\n\x1a\n", b"MATLAB 5.0 MAT-file, Platform"),
    "weights": (struct.pack("<Q", 20) + b'{"a":{"dtype":"F32"',),
    "database": (b"SQLite format 3\0",),
    "program": (b"MZ\x90\0" + bytes(60), b"\x7fELF\x02\x01" + bytes(40)),
    "font": (b"\0\x01\0\0\0\x0c" + bytes(20), b"wOF2" + bytes(20)),
    "text that begins": (b"its freedom", b"icns are icons", b"Pf and P7 are formats", "schöne Grüße aus München".encode("latin-1"),
                         "hello, this is a text".encode("utf-16-le"), b"G" * 200, b"AAAA", b"ID3 tags",
                         b'{"a": 1}', b'callback({"a": 1})'),
    "no format known": (b"\x89", bytes(100), bytes(range(1, 256, 4)), bytes(np.random.default_rng(0).integers(0, 256, 90, dtype="u1"))),
}  # fmt: skip


CASES = [
    pytest.param(words, data, id=f"{words}-{n}") for words, datas in OTHERS.items() for n, data in enumerate(datas)
]


@pytest.mark.parametrize(("words", "data"), CASES)  # named by number: an archive holds the time at which it was made
def test_what_came_is_named(words, data):
    with pytest.raises(PictureError, match=words) as caught:
        load_picture(data)
    message = str(caught.value)
    assert "damaged" not in message and "\n" not in message and "\x1b" not in message and len(message) < 400


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (b"\xff\xc1\x00\x11\x0c", "a JPEG of 12 bits and 3 components"),
        (b"\xff\xc3\x00\x11\x08", "a lossless JPEG of 8 bits"),
        (b"\xff\xf7\x00\x11\x08", "a JPEG-LS of 8 bits"),
    ],
)
def test_unusual_jpegs_are_not_called_damaged(change, words):
    assert BASELINE in JPEG
    with pytest.raises(PictureError, match=words):
        load_picture(JPEG.replace(BASELINE, change))


def test_apples_own_png_is_not_called_damaged():
    data = PNG[:8] + chunk(b"CgBI", b"\x50\0\x20\2") + PNG[8:].replace(PNG[41:45], b"\0\0\0\0", 1)
    with pytest.raises(PictureError, match="Apple keeps inside its apps"):
        load_picture(data[: len(data) // 2])


def test_a_pillow_without_a_part_is_said(monkeypatch):
    monkeypatch.setattr(kinds.features, "check", lambda part: part != "webp")
    with pytest.raises(PictureError, match="a WebP, which this Pillow was built without"):
        load_picture(b"RIFF\x10\0\0\0WEBPVP8 broken")


def test_what_a_file_quotes_moves_no_terminal(tmp_path):
    for data in (
        b"<title>\x1b[31mred\r\n</title>",
        b"text with \x1b[31m colours",
        b"\x1b[2J" * 9,
        PNG[:20] + b"\x1b[31m" * 9,
    ):
        path = tmp_path / "a \x1b[31mred\n name.png"
        path.write_bytes(data)
        for source in (data, path, io.BytesIO(data), str(path)):
            with pytest.raises(PictureError) as caught:
                load_picture(source)
            assert not set("\x1b\r\n") & set(str(caught.value))


# Words in a PNG


def chunk(tag: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data))


def text(tag: bytes, words: bytes, name: bytes = b"Comment") -> bytes:
    folded = zlib.compress(words)
    return chunk(tag, {
        b"tEXt": name + b"\0" + words,
        b"zTXt": name + b"\0\0" + folded,
        b"iTXt": name + b"\0\1\0\0\0" + folded,
        b"iCCP": name + b"\0\0" + folded,
    }[tag])  # fmt: skip


LONG = b"a long text, " * 250_000  # 3.25 MB
XMP = (
    b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    b'<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="3"/></rdf:RDF></x:xmpmeta>'
)
WORDS = {
    "a long text": text(b"tEXt", LONG),
    "a long folded text": text(b"zTXt", LONG),
    "a long international text": text(b"iTXt", LONG),
    "seventy texts of 1 MB": b"".join(text(b"tEXt", LONG[:1_000_000], b"C%d" % i) for i in range(70)),
    "a text that is broken": chunk(b"zTXt", b"Comment\0\0garbage"),
    "a text with a wrong checksum": text(b"tEXt", b"words")[:-4] + b"\0\0\0\0",
    "an XMP block that unfolds to more than Pillow takes": text(b"iTXt", XMP + b" " * len(LONG), b"XML:com.adobe.xmp"),
}


@pytest.mark.parametrize("where", [33, len(PNG) - 12], ids=["before", "after"])
@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_the_words_in_a_png_cost_no_picture(words, where):
    data = PNG[:where] + words + PNG[where:]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(np.asarray(load_picture(data)), PIXELS)
    with pytest.raises(PictureError, match="cut short or damaged"):
        load_picture(
            data[: where + len(words) // 2] if where == 33 else data[: where - 20]
        )  # in the text, in the pixels


@pytest.mark.parametrize("folded", [False, True])
def test_an_orientation_in_xmp_is_kept(folded):
    name = b"XML:com.adobe.xmp"
    block = text(b"iTXt", XMP, name) if folded else chunk(b"iTXt", name + b"\0\0\0\0\0" + XMP)
    data = PNG[:33] + text(b"zTXt", LONG) + block + PNG[33:]
    assert np.array_equal(np.asarray(load_picture(data)), PIXELS[::-1, ::-1])


def test_a_pillow_image_whose_texts_pillow_refuses(tmp_path):
    path = tmp_path / "long.png"
    path.write_bytes(PNG[:-12] + text(b"zTXt", LONG) + PNG[-12:])
    with pytest.raises(PictureError, match="Pass the path"):
        load_picture(Image.open(path))
    assert np.array_equal(np.asarray(load_picture(path)), PIXELS)


def grey_png(bits: int, levels: np.ndarray, transparent: int) -> bytes:
    """A PNG of grey with so few bits a pixel, one of its levels transparent."""
    rows = ["".join(f"{level:0{bits}b}" for level in row) for row in levels]
    packed = b"".join(
        b"\0" + int(row.ljust(-(-len(row) // 8) * 8, "0"), 2).to_bytes(-(-len(row) // 8), "big") for row in rows
    )
    head = struct.pack(">IIBBBBB", levels.shape[1], levels.shape[0], bits, 0, 0, 0, 0)
    chunks = {b"IHDR": head, b"tRNS": struct.pack(">H", transparent), b"IDAT": zlib.compress(packed), b"IEND": b""}
    return PNG[:8] + b"".join(chunk(tag, data) for tag, data in chunks.items())


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_the_transparent_level_of_few_bits(bits):
    """Levels are spread to 0..255 while they are decoded; the transparent one has to be spread with them."""
    most = 2**bits - 1
    levels = np.arange(7 * 13).reshape(7, 13) % (most + 1)
    for transparent in {0, 1, most}:
        expected = np.where(levels == transparent, 255, levels * 255 // most)
        data = grey_png(bits, levels, transparent)
        for source in (data, Image.open(io.BytesIO(data))):
            assert (np.asarray(load_picture(source)) == expected[..., None]).all(), transparent


def test_a_transparent_colour_of_sixteen_bits_is_refused():
    from cards import raw_png

    levels = np.full((3, 4, 3), 0x1234, np.uint16)
    levels[0, 0] = 0x12FF  # eight bits cannot tell the two apart
    data = raw_png(levels, transparent=struct.pack(">HHH", 0x12FF, 0x12FF, 0x12FF))
    for source in (data, Image.open(io.BytesIO(data))):
        with pytest.raises(PictureError, match="one colour transparent"):
            load_picture(source)
    assert load_picture(raw_png(levels)).getpixel((1, 1)) == (0x12, 0x12, 0x12)


@pytest.mark.parametrize("most", [1, 3, 100, 255, 256, 1023, 4095, 65535])
@pytest.mark.parametrize("kind", [b"P2", b"P3", b"P5", b"P6"])
def test_pnm_of_every_white(kind, most):
    """A PNM says which number is white."""
    levels = np.random.default_rng(most).integers(0, most + 1, (5, 7, 3 if kind in (b"P3", b"P6") else 1))
    body = levels.astype(">u2" if most > 255 else "u1").tobytes()
    words = " ".join(map(str, levels.ravel())).encode()
    data = b"%s\n# a comment\n7 5\n%d\n" % (kind, most) + (words if kind in (b"P2", b"P3") else body)
    came = np.asarray(load_picture(data)).astype(float)
    assert np.abs(came - levels / most * 255).max() <= 1


# Colours


def profile(name: str) -> bytes:
    return ImageCms.ImageCmsProfile(ImageCms.createProfile(name)).tobytes()


@pytest.mark.parametrize("format", ["PNG", "JPEG", "TIFF", "WEBP"])
def test_a_profile_that_is_dropped_is_named(format):
    image = Image.fromarray(PIXELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_picture(encoded(image, format, icc_profile=profile("sRGB")))
    data = encoded(image, format, icc_profile=profile("XYZ"))
    with pytest.warns(PictureWarning, match="colour profile 'XYZ identity built-in', which isn't applied"):
        first = load_picture(data)
    with pytest.warns(PictureWarning, match="colour profile"):
        assert np.array_equal(np.asarray(load_picture(Image.open(io.BytesIO(data)))), np.asarray(first))
    with pytest.warns(PictureWarning, match="without a name that can be read"):
        load_picture(encoded(image, format, icc_profile=b"broken" * 30))


def test_a_gamma_that_is_dropped_is_named():
    linear, usual = (PNG[:33] + chunk(b"gAMA", struct.pack(">I", value)) + PNG[33:] for value in (100_000, 45_455))
    with pytest.warns(PictureWarning, match=r"a gamma of 1 where sRGB has 0\.455"):
        load_picture(linear)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_picture(usual)
