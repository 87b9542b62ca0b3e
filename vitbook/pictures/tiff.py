"""TIFF keeps pictures in more layouts than Pillow reads, and some of them Pillow reads wrongly: those are refused by name.

tests/test_pictures_tiff.py writes every layout with another library and holds what comes out against what went in.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

from PIL import Image, TiffImagePlugin

from .refusal import PictureError, damaged

_SUBFILE, _BITS, _COMPRESSION, _PHOTOMETRIC, _SAMPLES, _PLANAR, _PREDICTOR = 254, 258, 259, 262, 277, 284, 317
_EXTRA, _FORMAT, _DNG = 338, 339, 50706
_COLOURS = (2, 5, 6, 8)  # RGB, CMYK, YCbCr, Lab: of these, Pillow puts 8-bit planes together rightly
_NUMBERS = {1: "unsigned bits", 2: "signed bits", 3: "bits of floating point"}
_REMEDY = "Read it with tifffile.imread and pass the array, or save it as PNG."


@dataclass(frozen=True)
class Layout:
    """How a TIFF holds its first picture.

    numbers: 1 unsigned, 2 signed, 3 floats; planes: each channel apart; extra: what a fourth channel is, 2 for alpha;
    swapped: compressed numbers with their high bytes first.
    """

    channels: int
    bits: int
    numbers: int
    planes: bool
    photometric: int
    predictor: int
    extra: int
    swapped: bool
    preview: bool

    @classmethod
    def of(cls, tags: TiffImagePlugin.ImageFileDirectory_v2) -> Layout:
        def first(tag: int, otherwise: int) -> int:
            value = tags.get(tag, otherwise)
            value = next(iter(value), otherwise) if isinstance(value, tuple) else value
            return value if isinstance(value, int) else otherwise

        return cls(
            channels=first(_SAMPLES, 1),
            bits=first(_BITS, 1),
            numbers=first(_FORMAT, 1),
            planes=first(_PLANAR, 1) == 2 and first(_SAMPLES, 1) > 1,
            photometric=first(_PHOTOMETRIC, 1),
            predictor=first(_PREDICTOR, 1),
            extra=first(_EXTRA, 2),
            swapped=tags.prefix == b"MM" and first(_COMPRESSION, 1) != 1,
            preview=bool(first(_SUBFILE, 0) & 1) or _DNG in tags,
        )

    def __str__(self) -> str:
        channels = "one channel" if self.channels == 1 else f"{self.channels} channels"
        planes = ", each in a plane of its own" if self.planes else ""
        return f"{channels} of {self.bits} {_NUMBERS.get(self.numbers, 'bits of another kind')}{planes}"

    @property
    def read_wrongly(self) -> bool:
        """Whether Pillow opens it and gives other pixels."""
        return (
            (self.planes and not (self.bits == 8 and self.photometric in _COLOURS and self.extra == 2))
            or (self.numbers == 2 and self.bits < 32)  # taken as unsigned
            or (self.numbers == 1 and self.bits == 32)  # taken as signed
            or self.predictor == 3  # floats' own predictor, which is not undone
            or (self.bits == 32 and self.swapped)  # turned round twice
        )


def check_layout(image: Image.Image, name: str) -> None:
    """Raise `PictureError` where Pillow would give other pixels than the TIFF holds. Other formats pass."""
    tags = getattr(image, "tag_v2", None)
    if tags is None or image.format != "TIFF":
        return
    layout = Layout.of(tags)
    if layout.preview:
        raise PictureError(
            f"{name} is a TIFF whose first picture is only a small preview, as in the raw files of cameras. "
            "Export the picture itself as JPEG or PNG."
        )
    if layout.read_wrongly:
        raise unread(layout, name)


def unread(layout: Layout, name: str) -> PictureError:
    """The refusal of a layout."""
    return PictureError(f"{name} is a TIFF of {layout}, a layout that isn't read here. {_REMEDY}")


def not_decoded(data: bytes, name: str, error: object) -> PictureError:
    """The refusal of a TIFF that Pillow doesn't decode: because of its layout, or because it is damaged."""
    if data[:4] == b"MM\0+":
        return PictureError(f"{name} is a BigTIFF that begins with its high bytes, which isn't read here. {_REMEDY}")
    try:
        layout = _layout_in(data)
        if layout.read_wrongly:
            return unread(layout, name)
        TiffImagePlugin.TiffImageFile(io.BytesIO(data))
    except SyntaxError as unopened:
        if "unknown pixel mode" in str(unopened):
            return unread(layout, name)
    except Exception:  # a directory can be broken in many ways, each of them because of the data
        pass
    return damaged(name, "a TIFF", error)


def _layout_in(data: bytes) -> Layout:
    stream = io.BytesIO(data)
    directory = TiffImagePlugin.ImageFileDirectory_v2(stream.read(16 if data[2] == 43 else 8))  # 43: BigTIFF
    stream.seek(directory.next)
    directory.load(stream)
    return Layout.of(directory)
