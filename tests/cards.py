"""A test card whose quarters tell every turn and every mix-up of colours, and PNG and TIFF bytes that Pillow won't write."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
from PIL import Image

#: top left, top right, bottom left, bottom right: no two alike, red and blue far apart in each
QUARTERS = [(230, 190, 60), (50, 100, 220), (60, 160, 90), (190, 60, 120)]
H, W = 26, 38
SAME = 4  # levels by which conversions between colour spaces may round
LAB = 20  # one step of an 8-bit Lab moves the weakest channel of a strong colour by many levels
LOSSY = 14  # levels by which JPEG may miss inside a quarter of one colour


def card(height: int = H, width: int = W) -> np.ndarray:
    """(height, width, 3) uint8, four quarters of one colour each."""
    x = np.zeros((height, width, 3), np.uint8)
    rows, columns = (
        (slice(None, height // 2), slice(height // 2, None)),
        (slice(None, width // 2), slice(width // 2, None)),
    )
    for i, colour in enumerate(QUARTERS):
        x[rows[i // 2], columns[i % 2]] = colour
    return x


def quarters(picture: Image.Image) -> np.ndarray:
    """(4, 3): the middle pixel of each quarter."""
    x = np.asarray(picture, float)
    height, width = x.shape[:2]
    return np.array([x[height * i // 4, width * j // 4] for i in (1, 3) for j in (1, 3)])


def grey(quarter: tuple[int, int, int]) -> list[int]:
    red, green, blue = quarter
    return [round(0.299 * red + 0.587 * green + 0.114 * blue)] * 3


def encoded(image: Image.Image, format: str = "PNG", **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, format, **options)
    return stream.getvalue()


def _chunk(tag: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data))


def raw_png(values: np.ndarray, transparent: bytes | None = None, size: tuple[int, int] | None = None) -> bytes:
    """A 16-bit PNG of (H, W) grey or (H, W, 2 to 4); `size` (width, height) makes its header lie."""
    channels = 1 if values.ndim == 2 else values.shape[2]
    width, height = size or (values.shape[1], values.shape[0])
    header = struct.pack(">IIBBBBB", width, height, 16, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    extra = _chunk(b"tRNS", transparent) if transparent else b""
    body = _chunk(b"IHDR", header) + extra + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def raw_tiff(width: int, height: int, bits: int, strip: bytes) -> bytes:
    """A grey little-endian TIFF of any depth: a header, the strip, and a directory of eight entries."""
    entries = {256: width, 257: height, 258: bits, 259: 1, 262: 1, 273: 8, 278: height, 279: len(strip)}
    padded = strip + b"\0" * (len(strip) % 2)
    directory = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in entries.items())
    return b"II*\0" + struct.pack("<I", 8 + len(padded)) + padded + struct.pack("<H", 8) + directory + b"\0\0\0\0"


def without_adobe_marker(jpeg: bytes) -> bytes:
    """The same JPEG with its APP14 segment cut out."""
    start = jpeg.index(b"\xff\xee")
    length = struct.unpack(">H", jpeg[start + 2 : start + 4])[0]
    return jpeg[:start] + jpeg[start + 2 + length :]
