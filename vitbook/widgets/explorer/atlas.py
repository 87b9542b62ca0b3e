"""The atlas: every map of every bundled picture, written by the build so that pages without a kernel can show them.

One folder a checkpoint, one a picture, one file a layer, each loaded by the page when the reader asks for it:

    attn/<fingerprint>/<picture>-<sha>/picture.webp   the photograph, at the size of a page
    attn/<fingerprint>/<picture>-<sha>/<layer>.js     a layer's attention as `packing` stores it; layer 0 is the rollout

The names carry the checkpoint's fingerprint and the picture's, so a page never shows maps of another model or picture:
what does not fit is not found. Files appear under their names only when whole, and since they outlive a build, each build
looks whether they still are.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import re
import shutil
import time
import zlib
from itertools import count
from pathlib import Path
from weakref import WeakKeyDictionary

from PIL import Image

from vitbook.library.checkpoints import Checkpoint, load_checkpoint
from vitbook.library.writing import write_whole
from vitbook.model import run
from vitbook.pictures import PICTURES, load_picture
from vitbook.pixels import preprocess, view_box
from vitbook.widgets.explorer.packing import VERSION, layer_bytes

FOLDER = Path("book/assets/attn")  # served as _static/attn
SIDE = 640  # px of a stored photograph's longer side
CHUNK = 900_000  # characters of base64 in a file, so that none is over 1 MB

_fingerprints: WeakKeyDictionary = WeakKeyDictionary()


def fingerprint(checkpoint) -> str:
    """The checkpoint's own, of files of this layout; worked out once, since it reads every weight."""
    if checkpoint not in _fingerprints:
        _fingerprints[checkpoint] = checkpoint.fingerprint(VERSION)
    return _fingerprints[checkpoint]


def shipped() -> tuple[str, ...]:
    """The catalogue's pictures that may be published with a page: those that come with a package."""
    return tuple(name for name, record in PICTURES.items() if record.package is not None)


def card(name: str, picture: Image.Image, checkpoint, title: str = "", alt: str = "") -> dict:
    """What the page must know of a picture: name, title, alt, key, width, height (pixels), and box, the part that the
    model sees as fractions (left, top, right, bottom)."""
    width, height = picture.size
    left, top, right, bottom = view_box(picture.size, checkpoint.preprocessing)
    sha = hashlib.sha256(f"{picture.size}".encode() + picture.tobytes()).hexdigest()[:8]
    return {
        "name": name,
        "title": title or name,
        "alt": alt or title or name,
        "key": f"{re.sub(r'[^A-Za-z0-9]+', '-', name)[:40]}-{sha}",
        "width": width,
        "height": height,
        "box": [round(v, 6) for v in (left / width, top / height, right / width, bottom / height)],
    }


def catalogue_card(name: str, checkpoint) -> dict:
    """`card` of a catalogue picture, with the catalogue's words."""
    record = PICTURES[name]
    return card(name, load_picture(record), checkpoint, record.title, record.alt)


def photograph(picture: Image.Image, side: int = SIDE) -> bytes:
    """The picture as WebP, its longer side at most `side` pixels."""
    small = picture.copy()
    small.thumbnail((side, side), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    small.save(out, "WEBP", quality=82, method=6)
    return out.getvalue()


def scripts(key: str, packed: bytes) -> dict[str, str]:
    """File ending -> script text: the bytes as base64 in as many files as 1 MB each asks for ('.js', '-1.js', ...)."""
    text = base64.b64encode(packed).decode("ascii")
    parts = [text[i : i + CHUNK] for i in range(0, len(text), CHUNK)]
    return {
        f"-{n}.js" if n else ".js": f"vitbookAtlas.take({json.dumps(key)},{n},{len(parts)},{json.dumps(part)});\n"
        for n, part in enumerate(parts)
    }


def write_atlas(checkpoint: Checkpoint | None = None, pictures=None, folder: Path = FOLDER, say=print) -> Path:
    """Write what is missing or damaged in the atlas of a checkpoint, remove what belongs to others; returns its folder.

    pictures: names of the catalogue, by default all that may be published.  say: is told one line a picture.
    A second run finds everything in its place and computes nothing.
    """
    checkpoint = load_checkpoint() if checkpoint is None else checkpoint
    home = Path(folder) / fingerprint(checkpoint)
    cards = [catalogue_card(name, checkpoint) for name in (shipped() if pictures is None else pictures)]
    _remove_all_but(Path(folder), {home.name})
    _remove_all_but(home, {card["key"] for card in cards})
    for card in cards:
        made = _write_picture(card, checkpoint, home / card["key"])
        say(f"  {card['name']}: {f'{made} files written' if made else 'in its place'}")
    return home


def _write_picture(card: dict, checkpoint, place: Path) -> int:
    """The missing and the damaged files of one picture; returns how many were written."""
    picture = load_picture(PICTURES[card["name"]])
    photo, made = photograph(picture), 0
    place.mkdir(parents=True, exist_ok=True)
    if _bytes(place / "picture.webp") != photo:
        write_whole(place / "picture.webp", photo)
        made += 1
    layers = [l for l in range(checkpoint.config.L + 1) if not _is_complete(place, l)]
    trace = run(checkpoint, preprocess(picture, checkpoint)) if layers else None
    for layer in layers:
        files = scripts(f"{place.parent.name}/{place.name}/{layer}", layer_bytes(trace, layer))
        for ending in sorted(files, key=len, reverse=True):  # '.js' last: where it is, the others are
            write_whole(place / f"{layer}{ending}", files[ending].encode("ascii"))
            made += 1
    return made


def _is_complete(place: Path, layer: int) -> bool:
    """Whether a layer's files are those that were written: their names in them, every part, gzip's checksum right."""
    key, body = f"{place.parent.name}/{place.name}/{layer}", ""
    try:
        for n in count():
            file = place / (f"{layer}-{n}.js" if n else f"{layer}.js")
            said, number, total, part = _TAKE.fullmatch(file.read_text("ascii")).groups()
            if (said, int(number)) != (key, n):
                return False
            body += part
            if n + 1 == int(total):
                return bool(gzip.decompress(base64.b64decode(body, validate=True)))
    except (AttributeError, ValueError, EOFError, OSError, zlib.error):  # no match, or base64, gzip, the disk refuse
        return False


_TAKE = re.compile(r'vitbookAtlas\.take\("([^"]+)",(\d+),(\d+),"([^"]+)"\);\n')


def _bytes(path: Path) -> bytes:
    """What a file holds; nothing where there is none."""
    return path.read_bytes() if path.is_file() else b""


def in_book(folder: Path) -> Path:
    """`folder`, where the book has a place for it.  Raises ValueError where there is no book to write for."""
    if not folder.parent.is_dir():
        raise ValueError(f"there is no folder {folder.parent} here; run this in the folder of the book")
    return folder


def _remove_all_but(folder: Path, keep: set[str]) -> None:
    """Remove the folders of other checkpoints or pictures, and what a killed build left; nothing else."""
    for entry in folder.iterdir() if folder.is_dir() else ():
        if entry.is_dir() and entry.name not in keep and re.fullmatch(r"[0-9a-f]{12}|.*-[0-9a-f]{8}", entry.name):
            shutil.rmtree(entry)
    for part in folder.rglob(".*.part") if folder.is_dir() else ():
        if time.time() - part.stat().st_mtime > 3600:  # younger ones may be another build's, at work now
            part.unlink(missing_ok=True)


def main(checkpoint=None, folder: Path | None = None) -> int:
    """`python -m vitbook atlas`: write the atlas of a checkpoint and say how large it is.  Returns the exit status.

    checkpoint: what `load_checkpoint` takes.  Raises ValueError where there is no book to write for.
    """
    folder = in_book(FOLDER if folder is None else Path(folder))
    checkpoint = load_checkpoint(checkpoint)
    print(f"The atlas of {checkpoint.name}:")
    home = write_atlas(checkpoint, folder=folder)
    sizes = [f.stat().st_size for f in home.rglob("*") if f.is_file()]
    print(f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB in {home}, none over {max(sizes) / 1e3:.0f} kB.")
    return 0
