"""What bytes are, by the way they begin: pictures that are read here, pictures that are not, and other things."""

from __future__ import annotations

import re
import struct
import unicodedata

from PIL import features

from .refusal import PictureError, damaged, shown

#: How each format begins that is decoded, and the part of Pillow that decodes it (where Pillow may be built without).
_READ = (
    (rb"\x89PNG\r\n\x1a\n", "a PNG", "zlib"),
    (rb"\xff\xd8\xff", "a JPEG", "jpg"),
    (rb"GIF8[79]a", "a GIF", None),
    (rb"RIFF....WEBP", "a WebP", "webp"),
    (rb"(II\*\0|MM\0\*)(?!....CR\x02)|II\+\0\x08|MM\0\+\0\x08", "a TIFF", None),
    (rb"BM.{4}\0{4}", "a BMP", None),
    (rb"P[1-6]\s", "a PNM", None),
    (rb"\0\0\0\x0cjP  |\xff\x4f\xff\x51", "a JPEG 2000", "jpg_2000"),
    (rb"....ftypavi[fs]", "an AVIF", "avif"),
)

_EXPORT = "Export it as PNG or JPEG and pass that."
_FRAME = "Save one frame as PNG."
_PAGE = "Export the page as PNG."
_UNPACK = "Unpack it and pass the picture inside."
_ARRAY = "Read the array in it yourself and pass that."

#: How other pictures begin.
_UNREAD = (
    (rb"\xff\x0a|\0\0\0\x0cJXL ", "a JPEG XL picture"),
    (rb"II\xbc", "a JPEG XR picture"),
    (rb"qoif\0", "a QOI picture"),
    (rb"v/1\x01", "an OpenEXR picture"),
    (rb"#\?(RADIANCE|RGBE)", "a Radiance HDR picture"),
    (rb"P7\nWIDTH|P[Ff]\n-?\d", "a PAM or PFM picture"),
    (rb"DDS \x7c\0\0\0", "a DDS texture"),
    (rb"icns\0", "an Apple icon"),
    (rb"\0\0[\x01\x02]\0[^\0]\0", "a Windows icon or cursor"),
    (rb".[\0\x01][\x01-\x03\x09-\x0b].{13}[\x08\x10\x18\x20]", "a Targa picture"),
    (rb"\x0a[\0-\x05]\x01[\x01\x02\x04\x08]", "a PCX picture"),
    (rb"BPG\xfb", "a BPG picture"),
    (rb"AT&TFORM", "a DjVu document"),
    (rb"SIMPLE  =", "a FITS file, as telescopes write them"),
    (rb".{128}DICM", "a DICOM file, as hospitals write them"),
    (rb"\x01\0\0\0.{36} EMF|\xd7\xcd\xc6\x9a", "a Windows metafile, which has shapes instead of pixels"),
    (rb"#define \w+_width|/\* XPM \*/", "a picture written as a C program (XBM or XPM)"),
    (rb"8BPS", "a Photoshop document"),
    (rb"gimp xcf", "a GIMP document"),
    (rb"(II\*\0|MM\0\*)....CR\x02|IIU\0|IIR[OS]|FUJIFILMCCD|....ftypcrx", "the raw file of a camera"),
)

#: How everything else begins, what it is, what to do.
_OTHERS = (
    (rb"version https://git-lfs", "a git-lfs pointer, a note left in place of the file", "Run `git lfs pull` there."),
    (
        rb"....ftyp(hei[cxms]|hev[cx]|mif1|msf1)",
        "a HEIC or HEIF photograph, which Pillow doesn't decode",
        "Export it as JPEG or PNG, or install pillow-heif and call its register_heif_opener() first.",
    ),
    (rb"\0...(ftyp|moov|mdat|wide|free|skip)", "a film (MP4 or QuickTime)", _FRAME),
    (rb"RIFF....(AVI |WAVE)|OggS", "a film or a sound", _FRAME),
    (rb"\x1aE\xdf\xa3", "a film (Matroska or WebM)", _FRAME),
    (rb"\0\0\x01[\xba\xb3]|FLV\x01|0&\xb2u|G[\0\x1f@A_].{186}G", "a film (MPEG, Flash or Windows Media)", _FRAME),
    (rb"ID3[\x02-\x04]|fLaC\0|\xff[\xfb\xf3\xf2]", "a sound", "Pass a picture."),
    (rb"(\xef\xbb\xbf)?\s*%PDF-", "a PDF document", _PAGE),
    (rb"(\xef\xbb\xbf)?\s*%!PS|\xc5\xd0\xd3\xc6", "a PostScript document", _PAGE),
    (rb"\{\\rtf|\xd0\xcf\x11\xe0", "an office document", "Save the picture in it as PNG."),
    (
        rb"PK(\x03\x04|\x05\x06)",
        "a ZIP archive (.npz, .pt and office files are archives too)",
        "Unpack it and pass what is inside.",
    ),
    (rb"\x1f\x8b|BZh|\xfd7zXZ|7z\xbc\xaf|Rar!|\x28\xb5\x2f\xfd", "a compressed archive", _UNPACK),
    (rb".{257}ustar", "a tar archive", _UNPACK),
    (rb"\x93NUMPY", "a saved NumPy array", "Read it with numpy.load and pass the array."),
    (rb"\x80[\x02-\x05]", "a Python pickle", "Read it yourself, if you trust it, and pass the array inside."),
    (rb"\x89HDF|MATLAB 5\.0|PAR1\x15|CDF[\x01\x02]", "a file of scientific data", _ARRAY),
    (rb".{4}\0{4}\{", "a file of weights (safetensors)", "Pass it to load_checkpoint, inside its folder."),
    (rb"SQLite format 3\0", "a database", "Pass a picture."),
    (rb"MZ.\0|\x7fELF|\xcf\xfa\xed\xfe|\xca\xfe\xba\xbe", "a program", "Pass a picture."),
    (rb"\0\x01\0\0\0|OTTO\0|wOF[F2]|ttcf", "a font", "Pass a picture."),
)
#: How a picture begins that somebody turned into text.
_BASE64 = r"(data:image/\w+;base64,)?(iVBORw0KGgo|/9j/|R0lGOD|UklGR|SUkqA|TU0AK|Qk[0-3]|AAAA\w{3}mdHlw)"


def picture_kind(data: bytes) -> str | None:
    """The format that is decoded here and that the first bytes announce ("a PNG"), or None."""
    return next((kind for start, kind, _ in _READ if _begins(start, data)), None)


def unread_variant(data: bytes) -> str | None:
    """What makes a file of a format that is read one that is not, though it is whole: "a JPEG of 12 bits", or None."""
    missing = next(
        (kind for start, kind, part in _READ if part and _begins(start, data) and not features.check(part)), None
    )
    if missing:
        return f"{missing}, which this Pillow was built without"
    if data[12:16] == b"CgBI":
        return "a PNG in the form that Apple keeps inside its apps"
    return _jpeg_variant(data) if data[:2] == b"\xff\xd8" else None


def unreadable(data: bytes, name: str, error: object = "its header is incomplete") -> PictureError:
    """The refusal of bytes that could not be decoded: what they are, or that they are damaged, and what to do."""
    if (kind := picture_kind(data)) is None:
        return PictureError(f"{name} is {_told(data)}")
    if variant := unread_variant(data):
        return PictureError(f"{name} is {variant}, which isn't read here. {_EXPORT}")
    return damaged(name, kind, error)


def _told(data: bytes) -> str:
    """What bytes are that are none of the formats read here, and what to do."""
    for start, what in _UNREAD:
        if _begins(start, data):
            return f"{what}, a format that isn't read here. {_EXPORT}"
    for start, what, remedy in _OTHERS:
        if _begins(start, data):
            return f"not a picture but {what}. {remedy}"
    what, remedy = _as_text(data) or (
        f"{len(data):,} bytes of no format known here (they begin {data[:8].hex(' ')})",
        _EXPORT,
    )
    return f"not a picture but {what}. {remedy}"


def _begins(start: bytes, data: bytes) -> bool:
    return re.match(start, data[:1024], re.DOTALL) is not None


def _jpeg_variant(data: bytes) -> str | None:
    """By the frame's header, which says how the coefficients are coded: SOF, length, bits, height, width, components."""
    place = 2
    while place + 10 <= len(data) and data[place] == 0xFF:
        marker, length = data[place + 1], struct.unpack(">H", data[place + 2 : place + 4])[0]
        if (0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC)) or marker == 0xF7:
            bits, components = data[place + 4], data[place + 9]
            coding = {0xF7: "JPEG-LS", 0xC3: "lossless JPEG", 0xCB: "lossless JPEG"}.get(marker, "JPEG")
            common = coding == "JPEG" and bits == 8 and components in (1, 3, 4)
            return None if common else f"a {coding} of {bits} bits and {components} components"
        place += 2 + length
    return None


def _as_text(data: bytes) -> tuple[str, str] | None:
    """What a text file holds, byte-order marks and a cut last letter allowed; None where the bytes are not text."""
    text = _decoded(data[:20_000])
    if text is None:
        return None
    opening, low = shown(" ".join(text.split())[:60]), text.lower()
    if re.search(r"<!doctype html|<html|^<(head|body|title|div|script|p|meta)\b", low):
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.DOTALL | re.IGNORECASE)
        page = f"a web page titled {shown(title[1].strip(), 60)}" if title else f"a web page that begins {opening}"
        return page, "Pass the address of the picture itself, or open the page and save the picture from there."
    if "<svg" in low:
        return "an SVG drawing, which has shapes instead of pixels", "Export it as PNG in the size that you want."
    if re.match(_BASE64, text):
        return (
            "a picture that was turned into text (base64)",
            "Turn it back and pass the bytes: base64.b64decode(text.partition(',')[2] or text).",
        )
    return (
        f"text that begins {opening}",
        "Pass the picture itself; a text that stands for it (a path, base64) isn't it.",
    )


def _decoded(data: bytes) -> str | None:
    """Bytes as text: UTF-16, UTF-8, or one byte a letter where three letters in four are plain ones; else None."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return _printable(data.decode("utf-16", errors="replace"))
    if re.match(rb"([\x20-\x7e]\0){8}", data):
        return _printable(data.decode("utf-16-le", errors="replace"))
    mostly_plain = sum(byte < 128 for byte in data) * 4 > len(data) * 3
    return _printable(data.decode("utf-8-sig", errors="replace")) or (
        _printable(data.decode("latin-1")) if mostly_plain else None
    )


def _printable(text: str) -> str | None:
    """The text, if nothing in it is a control character or undecodable, but for a last letter that may be cut."""
    text = text.strip()
    odd = any(
        (unicodedata.category(letter) == "Cc" and letter not in "\t\n\r\f") or letter == "\ufffd"
        for letter in text[:-2]
    )
    return None if odd or len(text) < 3 else text
