"""Getting a picture from anywhere, safely, and the catalogue of pictures that the book shows.

    load_picture("chelsea")                     a name of the catalogue
    load_picture("holiday.jpg")                 a file
    load_picture("https://example.org/cat.jpg") an address
    load_picture(upload.value)                  what a reader uploaded

The room in parts: `refusal` (messages), `files` (paths and streams), `web` (addresses), `arrays` (which axis, which
range), `rgb` (formats and modes to RGB), `kinds` (what bytes are), `tiff`, `png` and `colours` (what is special about
each), `catalogue` and `photographs` (provenance). Here each kind of source finds
its way to one of them.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping
from functools import singledispatch
from typing import Any

from PIL import Image

from .arrays import array_to_image, is_array
from .catalogue import Picture, cache_folder
from .files import read_file, read_stream
from .photographs import CATS, PICTURES, cats_path, provenance_rows
from .refusal import PictureError, PictureWarning, note, shown
from .rgb import BACKGROUND, MAX_BYTES, MAX_PIXELS, decode, from_pillow, upright_rgb

__all__ = [
    "BACKGROUND",
    "CATS",
    "MAX_BYTES",
    "MAX_PIXELS",
    "PICTURES",
    "Picture",
    "PictureError",
    "PictureWarning",
    "cache_folder",
    "cats_path",
    "load_picture",
    "provenance_rows",
]

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://|data:")  # two letters at least: C:\cat.png is a path


def load_picture(source: Any) -> Image.Image:
    """Any picture -> a new upright RGB `PIL.Image.Image` of the same size in pixels.

    `source` is one of
    - a name in `PICTURES`, or one of its records. Where a file of that name lies in the current folder too, the
      catalogue wins and a `PictureWarning` says so; "./chelsea" or `Path("chelsea")` mean the file;
    - a path (str or `os.PathLike`, "~" allowed) of a regular file: PNG, JPEG, GIF, WebP, TIFF, BMP, PNM, JPEG 2000 or
      AVIF, told by its content and not by its name;
    - an http or https address, within the limits of `vitbook.pictures.web`, and no redirect to other schemes;
    - the bytes of a picture file (bytes, bytearray, memoryview) or a binary stream, read from where it stands to its
      end and left open;
    - a Pillow image of any mode, which stays as it is;
    - an array or a tensor: see `vitbook.pictures.arrays` for layouts and ranges;
    - the value of an ipywidgets FileUpload, of version 8 (a tuple of dicts) or 7 (a dict of dicts), with one file in it.

    The camera's orientation is applied, transparency is laid on white (`BACKGROUND`), 16 bits are scaled to 8, and of an
    animation the first frame is taken. Sizes from 1 x 1 up to `MAX_PIXELS` pixels are accepted, narrow strips included.

    Raises `PictureError` (a ValueError) when no trustworthy picture can be made of `source`, and warns with
    `PictureWarning` when a guess was made; both say what came and what to do.
    """
    return _load(source)


@singledispatch
def _load(source: Any) -> Image.Image:
    """Anything without a type of its own: arrays of every library, and streams."""
    if is_array(source):
        return upright_rgb(array_to_image(source, MAX_PIXELS), "An array")
    if callable(getattr(source, "read", None)):
        return decode(*read_stream(source))
    raise PictureError(
        f"{shown(source)} ({type(source).__name__}) is no picture. Pass a path, an http address, bytes, an open file, "
        f"a Pillow image, an array, an upload's value, or a name: {', '.join(PICTURES)}."
    )


@_load.register(str)
def _from_text(text: str) -> Image.Image:
    if not text.strip():
        raise PictureError(f"An empty text came. Pass a path, an http address or a name: {', '.join(PICTURES)}.")
    if _ADDRESS.match(text.strip()):
        from .web import address_for_messages, download

        return decode(download(text.strip()), address_for_messages(text.strip()))
    record = PICTURES.described(text)
    if record is None:
        return _from_path(text)
    if os.path.lexists(text):
        note(
            f"{text!r} is a name of the catalogue and a file here; the catalogue's was taken. For the file: './{text}'."
        )
    return _from_record(record)


@_load.register(Picture)
def _from_record(record: Picture) -> Image.Image:
    with warnings.catch_warnings():  # what there is to say about a picture of ours stands in its record
        warnings.simplefilter("ignore", PictureWarning)
        return decode(record.read(), f"The picture {record.name!r}")


@_load.register(os.PathLike)
def _from_path(path: str | os.PathLike) -> Image.Image:
    return decode(read_file(path), shown(os.fspath(path)))


@_load.register(bytes)
@_load.register(bytearray)
def _from_bytes(data: bytes | bytearray) -> Image.Image:
    return decode(bytes(data), f"The data given as {type(data).__name__}")


@_load.register(memoryview)
def _from_view(view: memoryview) -> Image.Image:
    try:
        view.ndim  # noqa: B018
    except ValueError as error:
        raise PictureError(f"A memoryview came that can't be read ({error}). Pass bytes.") from error
    if view.ndim != 1:  # a view of an array
        return upright_rgb(array_to_image(view, MAX_PIXELS), "An array")
    return decode(view.tobytes(), "The data given as memoryview")


@_load.register(Image.Image)
def _from_pillow(image: Image.Image) -> Image.Image:
    return from_pillow(image)


@_load.register(Mapping)
def _from_upload(upload: Mapping) -> Image.Image:
    """One uploaded file, or ipywidgets 7's dict of them by name."""
    if "content" in upload:
        content = upload["content"]
        if not isinstance(content, bytes | bytearray | memoryview):
            raise PictureError(f"The upload's content is a {type(content).__name__}, expected bytes. Pass value[0].")
        return decode(bytes(content), f"The upload {shown(_uploaded_name(upload))}")
    files = [{"name": name, **item} for name, item in upload.items() if isinstance(item, Mapping)]
    if len(files) != len(upload):
        raise PictureError(f"A dict with the keys {shown(list(upload))} came; an upload has 'content'. Pass its bytes.")
    return _from_several(files)


@_load.register(list)
@_load.register(tuple)
def _from_several(items: list | tuple) -> Image.Image:
    """ipywidgets 8's tuple of uploaded files, or one picture in a list."""
    if not items:
        raise PictureError("Nothing has been uploaded yet (an empty value came). Choose a file first, then run again.")
    if isinstance(items[0], int | float | list | tuple):
        raise PictureError("A list of numbers came. Pass numpy.array(x), so that it has a shape and a dtype.")
    if len(items) > 1:
        raise PictureError(f"{len(items)} pictures came and one was expected. Pass one of them: value[0].")
    return _load(items[0])


def _uploaded_name(upload: Mapping) -> str:
    metadata = upload.get("metadata")  # where ipywidgets 7 keeps it
    inner = metadata.get("name") if isinstance(metadata, Mapping) else None
    return str(upload.get("name") or inner or "without a name")
