"""The pictures of one explorer: the catalogue's, and a few of the reader's own."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Container
from functools import cache
from pathlib import Path

from PIL import Image, ImageOps

from vitbook.figures.thumbnails import data_uri
from vitbook.pictures import PICTURES, PictureWarning, load_picture
from vitbook.widgets.explorer.atlas import card, catalogue_card, shipped
from vitbook.wording import one_line

OWN_PICTURES = 6  # kept by an explorer; the oldest goes first
THUMB = 64  # px of a thumbnail's side


class Pictures:
    """own: name -> picture.  cards: what the page knows of each (see `atlas.card`), in the order in which they are listed."""

    def __init__(self):
        self.own: dict[str, Image.Image] = {}
        self.cards: list[dict] = []

    def fit(self, checkpoint) -> None:
        """Make the cards anew: a checkpoint decides which part of a picture it sees."""
        self.cards = [catalogue_card(name, checkpoint) | {"thumb": thumb(name)} for name in shipped()]
        self.cards += [card(name, picture, checkpoint) | {"own": True} for name, picture in self.own.items()]

    @property
    def names(self) -> list[str]:
        return [card["name"] for card in self.cards]

    def of(self, key: str) -> Image.Image:
        """The picture of a card's key.  Raises ValueError where there is none."""
        names = [card["name"] for card in self.cards if card["key"] == key]
        if not names:
            raise ValueError(f"this explorer has no picture {key!r}")
        return self.own.get(names[0]) or load_picture(PICTURES[names[0]])

    def name_of(self, key: str) -> str:
        """The name of a picture of the reader's.  Raises ValueError where there is none."""
        for each in self.cards:
            if each["key"] == key and each["name"] in self.own:
                return each["name"]
        raise ValueError(f"this explorer has no picture {key!r} of yours")

    def remove(self, name: str) -> None:
        """Take a picture of the reader's off the list."""
        del self.own[name]
        self.cards = [each for each in self.cards if each["name"] != name]

    def new(self, source, picture: Image.Image, checkpoint) -> dict:
        """The card of a picture that may be added; the one that is listed already where the pixels are the same."""
        made = card(name_for(source, self.own), picture, checkpoint, title_of(source)) | {"own": True}
        return next((old for old in self.cards if old["name"] in self.own and _sha(old) == _sha(made)), made)

    def add(self, made: dict, picture: Image.Image) -> None:
        """List it; the oldest of the reader's own goes when there are too many."""
        self.own[made["name"]] = picture
        if len(self.own) > OWN_PICTURES:
            self.own.pop(next(iter(self.own)))
        known = {*shipped(), *self.own}
        self.cards = [each for each in self.cards if each["name"] in known] + [made]


@cache
def thumb(name: str) -> str:
    """A small square of a catalogue picture, as an address that holds it."""
    small = ImageOps.fit(load_picture(PICTURES[name]), (THUMB, THUMB), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    small.save(out, "WEBP", quality=70, method=6)
    return data_uri("image/webp", out.getvalue())


def _sha(card: dict) -> str:
    return card["key"][-9:]


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
