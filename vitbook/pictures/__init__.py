"""Getting a picture from anywhere, safely, and the catalogue of pictures that the book shows.

    load_picture("chelsea")                     a name of the catalogue
    load_picture("holiday.jpg")                 a file
    load_picture("https://example.org/cat.jpg") an address
    load_picture(upload.value)                  what a reader uploaded

The room in parts: `refusal` (messages), `arrays` (which axis, which range), `decode` (files and modes to RGB), `web`
(addresses), `catalogue` and `photographs` (provenance). Here each kind of source finds its way to one of them.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
from collections.abc import Mapping
from functools import singledispatch
from pathlib import Path
from typing import Any

from PIL import Image

from .arrays import array_to_image, is_array
from .catalogue import Picture, cache_folder
from .decode import BACKGROUND, MAX_BYTES, MAX_PIXELS, decode, from_pillow, upright_rgb
from .photographs import CATS, PICTURES, cats_path, provenance_rows
from .refusal import PictureError, PictureWarning, note, shown
from .web import MAX_DOWNLOAD, MAX_SECONDS, address_for_messages, download

__all__ = [
    "BACKGROUND",
    "CATS",
    "MAX_BYTES",
    "MAX_DOWNLOAD",
    "MAX_PIXELS",
    "MAX_SECONDS",
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
    - a path (str or `os.PathLike`, "~" allowed) of a regular file;
    - an http or https address: at most `MAX_DOWNLOAD` bytes and `MAX_SECONDS` seconds, no redirect to other schemes;
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
        return upright_rgb(array_to_image(source, MAX_PIXELS), "an array")
    if callable(getattr(source, "read", None)):
        return decode(_read_stream(source), f"the stream {shown(getattr(source, 'name', type(source).__name__))}")
    raise PictureError(
        f"{shown(source)} ({type(source).__name__}) is no picture. Pass a path, an http address, bytes, an open file, "
        f"a Pillow image, an array, an upload's value, or a name: {', '.join(PICTURES)}."
    )


@_load.register(str)
def _from_text(text: str) -> Image.Image:
    if not text.strip():
        raise PictureError(f"An empty text came. Pass a path, an http address or a name: {', '.join(PICTURES)}.")
    if _ADDRESS.match(text.strip()):
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
    return decode(record.read(), f"the picture {record.name!r}")


@_load.register(os.PathLike)
def _from_path(path: str | os.PathLike) -> Image.Image:
    return decode(_read_file(path), shown(os.fspath(path)))


@_load.register(bytes)
@_load.register(bytearray)
@_load.register(memoryview)
def _from_bytes(data: bytes | bytearray | memoryview) -> Image.Image:
    try:
        if memoryview(data).ndim != 1:  # a view of an array
            return upright_rgb(array_to_image(data, MAX_PIXELS), "an array")
        return decode(bytes(data), f"what came as {type(data).__name__}")
    except ValueError as error:
        if isinstance(error, PictureError):
            raise
        raise PictureError(f"A memoryview came that can't be read ({error}). Pass bytes.") from error


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
        return decode(bytes(content), f"the upload {shown(_uploaded_name(upload))}")
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
    metadata = upload.get("metadata")
    return str(
        upload.get("name") or (metadata.get("name") if isinstance(metadata, Mapping) else None) or "without a name"
    )


def _read_file(path: str | os.PathLike) -> bytes:
    """The bytes of a regular file. Devices and pipes are refused before they are opened: reading one may never end."""
    name = shown(os.fspath(path))
    try:
        place = Path(os.fsdecode(path)).expanduser()
        mode, size = place.stat().st_mode, place.stat().st_size
        if stat.S_ISDIR(mode):
            raise PictureError(f"{name} is a folder. Pass one picture inside it.")
        if not stat.S_ISREG(mode):
            raise PictureError(f"{name} is a device, a pipe or a socket, not a file. Pass a file, or bytes.")
        if size > MAX_BYTES:
            raise PictureError(
                f"{name} has {size:,} bytes, more than {MAX_BYTES:,}. Save a smaller copy and pass that."
            )
        with place.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise PictureError(f"There is no file {name}.{_suggestion(os.fsdecode(path))}") from None
    except OSError as error:
        raise PictureError(
            f"{name} can't be read ({error.strerror or error}). Check the name and its rights."
        ) from error
    except (RuntimeError, ValueError) as error:
        if isinstance(error, PictureError):
            raise
        raise PictureError(f"{name} can't be a path ({error}). Check the name.") from error


def _suggestion(text: str) -> str:
    """What the writer of a missing path may have meant."""
    if Path(text).is_symlink():
        return " It is a link whose target is gone."
    if re.match(r"https?:/[^/]", text):
        return " An address is passed as text: a Path loses one of its slashes."
    if near := difflib.get_close_matches(text, PICTURES, n=1):
        return f" Did you mean the name {near[0]!r}?"
    if Path(text).suffix or len(Path(text).parts) > 1:
        return " Check the spelling and the folder that it starts from."
    return f" The names in the catalogue are {', '.join(PICTURES)}."


def _read_stream(stream: Any) -> bytes:
    """All that is left in a binary stream, up to one byte more than `MAX_BYTES`; it is left open."""
    name = f"The stream {shown(getattr(stream, 'name', type(stream).__name__))}"
    data = bytearray()
    try:
        while len(data) <= MAX_BYTES and (chunk := stream.read(min(2**20, MAX_BYTES + 1 - len(data)))):
            if not isinstance(chunk, bytes | bytearray | memoryview):
                raise PictureError(f"{name} gives {type(chunk).__name__}, not bytes. Open it with mode 'rb'.")
            data += chunk
        at = stream.tell() if not data and stream.seekable() else 0
    except PictureError:
        raise
    except Exception as error:  # a stream may be anybody's code
        raise PictureError(f"{name} can't be read ({error}). Open it with mode 'rb' and pass it while open.") from error
    if at:
        raise PictureError(f"{name} stands at its end, with nothing left to read. Call seek(0) before.")
    return bytes(data)
