"""How this room says no, and how it says what it guessed: every message names what came and what to do next."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

_HERE = str(Path(__file__).parent)


class PictureError(ValueError):
    """Raised when no trustworthy RGB picture can be made of what came. Its text says what came and what to do."""


class PictureWarning(UserWarning):
    """A guess was made, or a part of the file was left out. Its text names the guess and how to avoid it."""


def note(message: str) -> None:
    """Warn with `message`, pointing at the line outside this room that asked for the picture."""
    frame, level, outside = sys._getframe(), 1, 1
    while frame is not None:
        outside = level + 1 if frame.f_code.co_filename.startswith(_HERE) else outside
        frame, level = frame.f_back, level + 1
    warnings.warn(message, PictureWarning, stacklevel=outside)


def shown(text: object, limit: int = 80) -> str:
    """`repr(text)`, with its middle left out where it is longer than `limit`: a message stays one readable line."""
    line = repr(text)
    return line if len(line) <= limit else f"{line[: limit // 2]} ... {line[-limit // 3 :]}"


def damaged(name: str, kind: str, why: object) -> PictureError:
    """The refusal of a file that starts as a picture and can't be decoded to its end."""
    return PictureError(
        f"{name} starts as {kind} but can't be decoded ({str(why) or type(why).__name__}): it is probably cut short "
        "or damaged. Download or export it again; the number of bytes should be the original's."
    )


def not_a_picture(data: bytes, name: str) -> PictureError:
    """The refusal of bytes that no decoder recognises, told apart by their first bytes."""
    if kind := picture_kind(data):
        return damaged(name, kind, "its header is incomplete")
    what, remedy = _announced(data) or _as_text(data) or _unknown(data)
    return PictureError(f"{name} is not a picture but {what}. {remedy}")


_PICTURES = (  # how each format that we decode begins
    (rb"\x89PNG\r\n\x1a\n", "a PNG"),
    (rb"\xff\xd8\xff", "a JPEG"),
    (rb"GIF8[79]a", "a GIF"),
    (rb"RIFF....WEBP", "a WebP"),
    (rb"II[*+]\0|MM\0[*+]", "a TIFF"),
    (rb"BM.{4}\0{4}", "a BMP"),
    (rb"P[1-6]\s", "a PNM"),
    (rb"\0\0\0\x0cjP  ", "a JPEG 2000"),
    (rb"....ftypavi[fs]", "an AVIF"),
)

_OTHERS = (  # how other things begin, what they are, what to do
    (rb"version https://git-lfs", "a git-lfs pointer, a note left in place of the file", "Run `git lfs pull` there."),
    (
        rb"....ftyp(hei[cxms]|hev[cx]|mif1|msf1)",
        "a HEIC or HEIF photograph, which Pillow doesn't decode",
        "Export it as JPEG or PNG, or install pillow-heif and call its register_heif_opener() first.",
    ),
    (rb"....ftyp", "a film (MP4 or QuickTime)", "Save one frame as PNG."),
    (rb"RIFF....(AVI |WAVE)", "a film or a sound", "Save one frame as PNG."),
    (rb"\x1aE\xdf\xa3", "a film (Matroska or WebM)", "Save one frame as PNG."),
    (rb"%PDF-", "a PDF document", "Export the page as PNG."),
    (rb"%!PS", "a PostScript document", "Export the page as PNG."),
    (rb"8BPS", "a Photoshop document", "Export it as PNG."),
    (rb"\0\0[\x01\x02]\0", "a Windows icon or cursor", "Save it as PNG."),
    (
        rb"PK\x03\x04",
        "a ZIP archive (.npz, .pt and office files are archives too)",
        "Unpack it and pass what is inside.",
    ),
    (rb"\x1f\x8b|BZh|\xfd7zXZ|7z\xbc\xaf|Rar!", "a compressed archive", "Unpack it and pass the picture inside."),
    (rb"\x93NUMPY", "a saved NumPy array", "Read it with numpy.load and pass the array."),
    (rb"\x80[\x02-\x05]", "a Python pickle", "Read it yourself, if you trust it, and pass the array inside."),
)


def picture_kind(data: bytes) -> str | None:
    """The format that the first bytes announce ("a PNG"), or None."""
    return next((kind for start, kind in _PICTURES if re.match(start, data, re.DOTALL)), None)


def _announced(data: bytes) -> tuple[str, str] | None:
    return next(((what, remedy) for start, what, remedy in _OTHERS if re.match(start, data, re.DOTALL)), None)


def _as_text(data: bytes) -> tuple[str, str] | None:
    """What a text file holds, byte-order marks and a cut last letter allowed; None where the bytes are not text."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = data[:2000].decode(encoding, errors="replace")
    if any((ord(letter) < 32 and letter not in "\t\n\r\f") or letter == "\ufffd" for letter in text[:-2]):
        return None
    text = text.strip()
    opening, low = shown(" ".join(text.split())[:60]), text.lower()
    if re.search(r"<!doctype html|<html|^<head|^<body", low):
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.DOTALL | re.IGNORECASE)
        page = f"a web page titled {shown(title[1].strip(), 60)}" if title else f"a web page that begins {opening}"
        return page, "Pass the address of the picture itself, or open the page and save the picture from there."
    if "<svg" in low:
        return "an SVG drawing, which has shapes instead of pixels", "Export it as PNG in the size that you want."
    return (
        f"text that begins {opening}",
        "Pass the picture itself; a text that stands for it (a path, base64) isn't it.",
    )


def _unknown(data: bytes) -> tuple[str, str]:
    begins = data[:8].hex(" ")
    return (
        f"{len(data):,} bytes of no format known here (they begin {begins})",
        "Export it as PNG or JPEG and pass that.",
    )
