"""Bytes from paths and from open streams, never more than `MAX_BYTES` of them, and nothing of ours left open."""

from __future__ import annotations

import difflib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .photographs import PICTURES
from .refusal import PictureError, shown
from .rgb import MAX_BYTES


def read_file(path: str | os.PathLike) -> bytes:
    """The bytes of a regular file. Devices and pipes are refused before they are opened: reading one may never end."""
    name = shown(os.fspath(path))
    with _explained(name, path):
        place = Path(os.fsdecode(path)).expanduser()
        found = place.stat()
    if stat.S_ISDIR(found.st_mode):
        raise PictureError(f"{name} is a folder. Pass one picture inside it.")
    if not stat.S_ISREG(found.st_mode):
        raise PictureError(f"{name} is a device, a pipe or a socket, not a file. Pass a file, or bytes.")
    if found.st_size > MAX_BYTES:
        raise PictureError(f"{name} has {found.st_size:,} bytes, more than {MAX_BYTES:,}. Save a smaller copy.")
    with _explained(name, path), place.open("rb") as file:
        return file.read(MAX_BYTES + 1)


@contextmanager
def _explained(name: str, path: str | os.PathLike) -> Iterator[None]:
    """The file system's complaints, as refusals."""
    try:
        yield
    except FileNotFoundError:
        raise PictureError(f"There is no file {name}.{_suggestion(os.fsdecode(path))}") from None
    except OSError as error:
        why = error.strerror or error
        raise PictureError(f"{name} can't be read ({why}). Check the name, and who may read the file.") from error
    except (RuntimeError, ValueError) as error:  # no home folder behind "~", a zero byte in the name
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


def read_stream(stream: Any) -> tuple[bytes, str]:
    """What is left in a binary stream (up to one byte more than `MAX_BYTES`), and its name for messages."""
    name = f"The stream {shown(getattr(stream, 'name', type(stream).__name__))}"
    try:
        data = _drained(stream)
        at_end = not data and stream.seekable() and stream.tell() > 0
    except Exception as error:  # a stream may be anybody's code
        raise PictureError(f"{name} can't be read ({error}). Open it with mode 'rb' and pass it while open.") from error
    if at_end:
        raise PictureError(f"{name} stands at its end, with nothing left to read. Call seek(0) before.")
    return data, name


def _drained(stream: Any) -> bytes:
    data = bytearray()
    while len(data) <= MAX_BYTES and (chunk := stream.read(min(2**20, MAX_BYTES + 1 - len(data)))):
        if not isinstance(chunk, bytes | bytearray | memoryview):
            raise TypeError(f"it gives {type(chunk).__name__}, not bytes")
        data += chunk
    return bytes(data)
