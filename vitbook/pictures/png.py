"""What is special about PNG: its words, which Pillow may refuse it for, and its transparent colour, which Pillow mixes up.

The words are left out before the picture is decoded, since they change no pixel: comments and other texts (tEXt, zTXt,
iTXt), but for the XMP block, in which a camera's orientation may stand; and the colour profile (iCCP), which is handed
back apart, since it isn't applied but told of.
"""

from __future__ import annotations

import struct
import zlib

from PIL import Image

from .refusal import PictureError

_START = b"\x89PNG\r\n\x1a\n"
_TEXTS = (b"tEXt", b"zTXt", b"iTXt")
_XMP = b"XML:com.adobe.xmp\0"
#: Depth -> by what its levels are multiplied to fill eight bits; 0 where they do not fit.
_SPREAD = {"L;2": 85, "L;4": 17, "RGB;16B": 0}
#: Bytes to which a profile or an XMP block is unfolded at most: Pillow's own limit.
_MOST = 2**20


def without_words(data: bytes) -> tuple[bytes, bytes]:
    """(a PNG without its texts, its colour profile or b""). Any other bytes come back as they are."""
    if not data.startswith(_START) or not any(tag in data for tag in (*_TEXTS, b"iCCP")):
        return data, b""
    kept, profile, place = [_START], b"", len(_START)
    while place + 12 <= len(data):
        length, tag = struct.unpack(">I4s", data[place : place + 8])
        end = place + 12 + length  # length, tag, content, checksum
        if end > len(data):
            break
        if tag == b"iCCP":
            profile = _unfolded(data[place + 8 : end - 4])
        elif tag not in _TEXTS or _is_fit_xmp(data[place + 8 : end - 4]):
            kept.append(data[place:end])
        place = end
    return b"".join([*kept, data[place:]]), profile


def depth(image: Image.Image) -> str:
    """How a PNG that is not loaded yet holds its numbers, in Pillow's words ("L;4"); empty for all others."""
    return str(image.tile[0][3]) if image.format == "PNG" and image.tile else ""


def transparent_level(image: Image.Image, held: str, name: str) -> Image.Image:
    """The image, with its transparent colour in the numbers that its pixels have now.  held: its `depth` before loading.

    Two or four bits are spread to eight while they are decoded, the transparent colour is not. Of 16-bit colours the low
    halves are dropped, and with them what tells the transparent colour from others: then `PictureError` is raised.
    """
    key = image.info.get("transparency")
    if key is None or held not in _SPREAD:
        return image
    if not _SPREAD[held]:
        raise PictureError(
            f"{name} is a PNG of 16 bits that makes one colour transparent, which isn't read here. Save it with an alpha channel."
        )
    image = image.copy()
    image.info["transparency"] = key * _SPREAD[held]
    return image


def _unfolded(content: bytes) -> bytes:
    """The profile in an iCCP chunk: a name, a zero, the method, and the profile, compressed."""
    try:
        return zlib.decompressobj().decompress(content.partition(b"\0")[2][1:], _MOST)
    except zlib.error:
        return b"broken"


def _is_fit_xmp(content: bytes) -> bool:
    """Whether a text is the XMP block, and one that Pillow takes: a name, a zero, folded or not, method, two words, text."""
    if not content.startswith(_XMP):
        return False
    folded, text = content[len(_XMP) : len(_XMP) + 1] == b"\1", content[len(_XMP) + 2 :].split(b"\0", 2)[-1]
    if not folded:
        return len(text) < 32 * _MOST
    try:
        return len(zlib.decompressobj().decompress(text, _MOST + 1)) <= _MOST
    except zlib.error:
        return False
