"""The reader's own pictures: the controls that ask for one, and what it is called."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Container
from pathlib import Path

import ipywidgets as widgets
from PIL import Image

from vitbook.pictures import PICTURES, PictureWarning, load_picture
from vitbook.wording import one_line


def own_controls(show: Callable[[object], None]) -> tuple[widgets.Widget, ...]:
    """(box, upload, address): `show` is called with what the reader uploads or names."""
    upload = widgets.FileUpload(accept="image/*", multiple=False, description="Your picture")
    address = widgets.Text(placeholder="or its path or address", description="Path or URL", continuous_update=False)

    def uploaded(change) -> None:
        if change["new"]:
            files, upload.value = upload.value, ()  # the file's bytes stay in no widget, so in no notebook
            show(files)

    upload.observe(uploaded, "value")
    address.observe(lambda change: change["new"].strip() and show(change["new"].strip()), "value")
    return widgets.Box([upload, address]).add_class("vbx-needs-kernel"), upload, address


def read(source) -> tuple[Image.Image, str]:
    """A picture, and what its reader should know about it.  Raises PictureError."""
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", PictureWarning)
        picture = load_picture(source)
    return picture, " ".join(str(note.message) for note in notes)


def name_for(source, own: Container[str]) -> str:
    """The catalogue's name, or the first "yours 1", "yours 2", ... that is free."""
    if isinstance(source, str) and source in PICTURES:
        return source
    number = 1
    while f"yours {number}" in own:
        number += 1
    return f"yours {number}"


def title_of(source) -> str:
    """What to call a reader's picture: its file name where it has one."""
    if isinstance(source, tuple | list) and source and isinstance(source[0], dict):
        return one_line(str(source[0].get("name"))) or "your picture"
    if isinstance(source, str) and source in PICTURES:
        return PICTURES[source].title
    if isinstance(source, str | os.PathLike):
        return one_line(Path(os.fspath(source)).name) or "your picture"
    return "your picture"
