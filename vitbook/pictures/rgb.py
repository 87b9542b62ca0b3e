"""From bytes, or from any Pillow image, to an upright RGB picture.

What is done, in this order: the header is read and a picture of too many pixels refused; the pixels are decoded to the
last one; every mode is brought to RGB (16 bits are scaled, never clipped; transparency is laid on white); the camera's
orientation is applied. What is left out: colour profiles, as in the preprocessing of the checkpoints, and all metadata,
so that no place or date of a photograph travels on. Any picture of at least one pixel is accepted, be it 1 x 1 or
1 x 5000: what resizing makes of it is `pixels.py`'s business.
"""

from __future__ import annotations

import io
import re
import warnings

import numpy as np
from PIL import Image

from .arrays import levels, sixteen_bit_levels
from .colours import other_colours
from .kinds import picture_kind, unreadable
from .png import depth, transparent_level, without_words
from .refusal import PictureError, note
from .tiff import check_layout, not_decoded

BACKGROUND = (255, 255, 255)  # what a transparent pixel shows: white, like the page that it would lie on
MAX_PIXELS = 120_000_000  # a 108-megapixel photograph passes; as RGB that is 0.36 GB in memory
MAX_BYTES = 256 * 2**20  # of one file or stream
# No format that starts another program (EPS) and none that any bytes could be (TGA). HEIF only where a plug-in adds it.
FORMATS = ("PNG", "JPEG", "MPO", "GIF", "WEBP", "TIFF", "BMP", "PPM", "JPEG2000", "AVIF", "HEIF")

_ORIENTATION = 0x0112  # the EXIF tag, and the turn that brings each of its values upright
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def decode(data: bytes, name: str) -> Image.Image:
    """The bytes of a picture file -> upright RGB. `name` is how messages call it. Raises `PictureError`."""
    if not data:
        raise PictureError(f"{name} is empty (zero bytes). Was the download or the upload finished?")
    if len(data) > MAX_BYTES:
        raise PictureError(f"{name} has more than {MAX_BYTES:,} bytes. Save a smaller copy and pass that.")
    data, profile = without_words(data)
    with _open(data, name) as image:
        image.info.update({"icc_profile": profile} if profile else {})
        _refuse_bombs(image.size, name)
        check_layout(image, name)
        held = depth(image)
        try:
            image.load()
        except Exception as error:  # decoders fail in many ways, each of them because of the data
            raise _undecoded(data, name, error) from error
        rgb = upright_rgb(transparent_level(image, held, name), name)
        _warn_of_guesses(image, name)
        return rgb


def from_pillow(image: Image.Image) -> Image.Image:
    """Any Pillow image -> a new upright RGB one; `image` itself is neither changed nor closed."""
    name = f"A Pillow image of mode {image.mode} and size {image.size[0]} x {image.size[1]}"
    _refuse_bombs(image.size, name)
    check_layout(image, name)
    held = depth(image)
    try:
        image.load()
    except Exception as error:
        if "MAX_TEXT" in str(error):
            raise PictureError(
                f"{name} brings texts along that are longer than Pillow takes. Pass the path or the bytes of the file: "
                "its texts are then left out."
            ) from error
        raise PictureError(
            f"{name} can't be decoded ({error}): it, or the file behind it, is closed or damaged. "
            "Load it while its file is open, or pass the path."
        ) from error
    rgb = upright_rgb(transparent_level(image, held, name), name)
    _warn_of_guesses(image, name)
    return rgb


def upright_rgb(image: Image.Image, name: str) -> Image.Image:
    """A decoded image of any mode -> a new RGB image, turned as its camera tag says, without metadata."""
    orientation = _orientation(image, name)
    rgb = _rgb(image, name)
    rgb = rgb.transpose(_TURNS[orientation]) if orientation in _TURNS else rgb
    rgb.info = {}
    return rgb


def _open(data: bytes, name: str) -> Image.Image:
    """Read the header only, with the formats that we accept."""
    Image.init()
    formats = [each for each in FORMATS if each in Image.OPEN]
    with warnings.catch_warnings():  # our own limit says it better
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        try:
            return Image.open(io.BytesIO(data), formats=formats)
        except Image.UnidentifiedImageError:
            raise _undecoded(data, name, "its header is incomplete") from None
        except Image.DecompressionBombError as error:
            pixels = re.search(r"\d+", str(error))
            raise _too_many(int(pixels[0]) if pixels else None, name) from None
        except Exception as error:
            raise _undecoded(data, name, error) from error


def _undecoded(data: bytes, name: str, error: object) -> PictureError:
    return (not_decoded if picture_kind(data) == "a TIFF" else unreadable)(data, name, error)


def _refuse_bombs(size: tuple[int, int], name: str) -> None:
    if 0 in size:
        raise PictureError(f"{name} has no pixels. A picture has at least one row and one column.")
    if size[0] * size[1] > MAX_PIXELS:
        raise _too_many(size[0] * size[1], name)


def _too_many(pixels: int | None, name: str) -> PictureError:
    count = f"{pixels:,}" if pixels else "too many"
    return PictureError(f"{name} unfolds to {count} pixels; up to {MAX_PIXELS:,} are decoded. Pass a smaller copy.")


def _warn_of_guesses(image: Image.Image, name: str) -> None:
    """Say which frame is taken, and which convention of ink. An MPO's first picture is *the* picture: nothing to say."""
    if image.format != "MPO" and _more_follows(image):
        pages = "pages" if image.format == "TIFF" else "frames"
        note(f"{name} has several {pages}; the first one was taken. For another, seek to it in Pillow and pass that.")
    if (colours := other_colours(image.mode, image.info)) is not None:
        note(
            f"{name} has {colours}, which isn't applied, as the checkpoints' own preprocessing doesn't either: "
            "its numbers are taken as they are. Convert it to sRGB first where colours matter."
        )
    if image.format == "JPEG" and image.mode == "CMYK" and "adobe" not in image.info:
        note(
            f"{name} is a CMYK JPEG without Adobe's marker; its inks were read the way Adobe writes them, inverted. "
            "If the colours look negative, save it as RGB."
        )


def _more_follows(image: Image.Image) -> bool:
    """Whether this is the first of several frames. Asked last, since a GIF looks for its second frame to answer."""
    try:
        return getattr(image, "is_animated", False) and image.tell() == 0
    except Exception:  # something follows, and is broken
        return True


def _orientation(image: Image.Image, name: str) -> int:
    """The camera's tag, 1 where there is none. Read after loading: by then Pillow has turned a TIFF by itself."""
    try:
        return int(image.getexif().get(_ORIENTATION) or 1)
    except Exception as error:  # a broken EXIF block is no reason to lose the picture
        note(f"{name} has camera data that can't be read ({error}); it was taken as upright.")
        return 1


def _rgb(image: Image.Image, name: str) -> Image.Image:
    if image.mode.startswith("I;16"):
        return _from_sixteen_bits(image)
    if image.mode in ("I", "F"):
        return Image.fromarray(_white_is_high(image, _levels_of_wide_grey(image, name))).convert("RGB")
    if image.mode in ("La", "RGBa"):  # colours already multiplied by their alpha
        image = image.convert(image.mode.upper())
    if image.has_transparency_data:
        return _on_background(image.convert("RGBA"))
    return image.convert("RGB")


def _on_background(rgba: Image.Image) -> Image.Image:
    ground = Image.new("RGBA", rgba.size, (*BACKGROUND, 255))
    return Image.alpha_composite(ground, rgba).convert("RGB")


def _from_sixteen_bits(image: Image.Image) -> Image.Image:
    values = np.asarray(image)
    bits = _tiff_tag(image, 258, 16)  # BitsPerSample: 12-bit cameras write 0..4095
    grey = Image.fromarray(_white_is_high(image, sixteen_bit_levels(values, white=2**bits - 1)))
    transparent = image.info.get("transparency")
    if not isinstance(transparent, int):
        return grey.convert("RGB")
    grey.putalpha(Image.fromarray(np.where(values == transparent, 0, 255).astype(np.uint8)))
    return _on_background(grey.convert("RGBA"))


def _levels_of_wide_grey(image: Image.Image, name: str) -> np.ndarray:
    """Pillow's I (32-bit integers, by custom 0..65535) and F (floats) as levels, by the rules for arrays."""
    values = np.asarray(image)
    if image.mode == "I" and 0 <= values.min() and values.max() <= 65535:
        values = values.astype(np.uint16)
    return levels(values, f"{name}, as an array x = numpy.asarray(image),")


def _white_is_high(image: Image.Image, grey: np.ndarray) -> np.ndarray:
    """Undo a TIFF's "white is zero", which Pillow does for 8 bits only."""
    return 255 - grey if _tiff_tag(image, 262, 1) == 0 else grey


def _tiff_tag(image: Image.Image, tag: int, default: int) -> int:
    value = getattr(image, "tag_v2", {}).get(tag, default)
    return value[0] if isinstance(value, tuple) else value
