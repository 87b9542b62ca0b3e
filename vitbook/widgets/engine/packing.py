"""A checkpoint as files that travel with the book, so that the model itself runs in a reader's page.

    model/<fingerprint>/manifest.js    sizes, preprocessing, what lies in which chunk, and a sha256 of each
    model/<fingerprint>/1.js, 2.js, …  the weights, 1.6 MB each: scripts, since a page on a disk may load nothing else
    model/<fingerprint>/worker.js      the program that computes
    model/<fingerprint>/pictures.js    the book's pictures as the model sees them, and y of each
    model/<fingerprint>/test.js        one picture's pixels and some of its numbers, for the page to test itself

Nothing is rounded here. A matrix whose numbers float16 holds exactly travels as float16, everything else as float32: the
page computes with the numbers that Python has, or, where they would be too many bytes, has no model and says so.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch

from vitbook.config import Preprocessing
from vitbook.library.checkpoints import Checkpoint, load_checkpoint
from vitbook.library.writing import write_whole
from vitbook.model import run
from vitbook.pictures import PICTURES, load_picture
from vitbook.pixels import preprocess, seen
from vitbook.widgets.explorer.atlas import catalogue_card, fingerprint, in_book, shipped
from vitbook.widgets.kit import classic, script

FOLDER = Path("book/assets/model")  # served as _static/model
CHUNK = 1_200_000  # bytes of weights in a file, where no single matrix is larger: a page takes in one without a pause
LIMIT = 64_000_000  # bytes of weights that a book may bring along
PICTURE = "chelsea"  # of the self-test


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some tensors, one after the other.  tensors: [name, rows, columns, type] each; type is "float16" or "float32"."""

    tensors: list[list] = field(default_factory=list)
    parts: list[bytes] = field(default_factory=list)

    @property
    def data(self) -> bytes:
        return b"".join(self.parts)


def size_in_page(checkpoint: Checkpoint) -> int:
    """Bytes of all weights as they travel."""
    return sum(t.numel() * (2 if _fits_half(t) else 4) for _, t in checkpoint.weights.named())


def size_of_files(checkpoint: Checkpoint) -> int:
    """Bytes of weights that a reader loads: four letters of base64 for three bytes."""
    return size_in_page(checkpoint) * 4 // 3


def chunks(checkpoint: Checkpoint) -> list[Chunk]:
    """All weights in the order of the equations, in pieces of about `CHUNK` bytes."""
    out, held = [Chunk()], 0
    for name, tensor in checkpoint.weights.named():
        kind = "float16" if _fits_half(tensor) else "float32"
        data = tensor.cpu().numpy().astype("<f2" if kind == "float16" else "<f4").tobytes()
        if held and held + len(data) > CHUNK:
            out.append(Chunk())
            held = 0
        rows = 1 if tensor.ndim == 1 else tensor.shape[0]
        out[-1].tensors.append([name, rows, tensor.shape[-1], kind])
        out[-1].parts.append(data)
        held += len(data)
    return out


def _fits_half(tensor: torch.Tensor) -> bool:
    """Whether a matrix is one whose numbers float16 holds; vectors are few, and stay as they are."""
    is_matrix = sum(length > 1 for length in tensor.shape) > 1
    return is_matrix and torch.equal(tensor.half().to(tensor.dtype), tensor)


def manifest(checkpoint: Checkpoint, packed: list[Chunk]) -> dict:
    """What the page has to know before it loads a chunk."""
    return {
        "name": checkpoint.name,
        "fingerprint": fingerprint(checkpoint),
        "config": asdict(checkpoint.config),
        "preprocessing": preprocessing(checkpoint.preprocessing),
        "labels": checkpoint.labels,
        "bytes": size_in_page(checkpoint),
        "chunks": [
            {"bytes": len(c.data), "sha256": hashlib.sha256(c.data).hexdigest(), "tensors": c.tensors} for c in packed
        ],
    }


def preprocessing(how: Preprocessing) -> dict:
    """As pixels.js takes it."""
    return asdict(how)


def self_test(checkpoint: Checkpoint) -> dict:
    """Pixels of one picture as the model sees it, and what Python makes of them: y, and rows of every A.

    rows: for each of these queries (0 is [class]) the weights A[layer, head, query], layer by layer, head by head.
    """
    config = checkpoint.config
    queries = [0, config.N // 2]
    picture = load_picture(PICTURE)
    trace = run(checkpoint, preprocess(picture, checkpoint))
    rows = np.stack([trace.attention(l).cpu().numpy()[:, queries] for l in range(1, config.L + 1)])
    return {
        "title": PICTURES[PICTURE].title,
        "queries": queries,
        "pixels": as_text(seen(picture, checkpoint).tobytes()),
        "y": as_text(trace.y.cpu().numpy().astype("<f4").tobytes()),
        "rows": as_text(rows.astype("<f4").tobytes()),
    }


def pictures(checkpoint: Checkpoint) -> dict[str, dict[str, str]]:
    """A card's key -> that picture's pixels as the model sees them, and its y: of all pictures that may be published."""
    loaded = {catalogue_card(name, checkpoint)["key"]: load_picture(PICTURES[name]) for name in shipped()}
    return {
        key: {
            "seen": as_text(seen(picture, checkpoint).tobytes()),
            "y": as_text(run(checkpoint, preprocess(picture, checkpoint)).y.cpu().numpy().astype("<f4").tobytes()),
        }
        for key, picture in loaded.items()
    }


def scripts(checkpoint: Checkpoint) -> dict[str, str]:
    """File name -> text of all files of a checkpoint, each a call that hands its content to the page."""
    packed = chunks(checkpoint)
    contents = {"manifest": manifest(checkpoint, packed), "test": self_test(checkpoint)}
    contents |= {"worker": classic(script("engine/worker.js")), "pictures": pictures(checkpoint)}
    contents |= {str(n): as_text(chunk.data) for n, chunk in enumerate(packed, start=1)}
    home = json.dumps(fingerprint(checkpoint))
    return {
        f"{name}.js": f"vitbookModel.take({home},{json.dumps(name)},{json.dumps(content)});\n"
        for name, content in contents.items()
    }


def as_text(data: bytes) -> str:
    """Bytes as base64."""
    return base64.b64encode(data).decode("ascii")


def write_model(checkpoint: Checkpoint, folder: Path = FOLDER) -> Path | None:
    """Write what is missing or damaged of a checkpoint's files, remove those of others; returns where they are.

    None, and nothing is left there, where the weights are more than `LIMIT` bytes.
    """
    home = Path(folder) / fingerprint(checkpoint)
    if size_in_page(checkpoint) > LIMIT:
        remove(folder)
        return None
    wanted = {name: text.encode("ascii") for name, text in scripts(checkpoint).items()}
    for entry in Path(folder).iterdir() if Path(folder).is_dir() else ():
        if entry != home and entry.is_dir():
            shutil.rmtree(entry)
    home.mkdir(parents=True, exist_ok=True)
    for name, data in wanted.items():
        place = home / name
        if not place.is_file() or place.read_bytes() != data:
            write_whole(place, data)
    for entry in home.iterdir():
        if entry.name not in wanted:
            entry.unlink()
    return home


def remove(folder: Path = FOLDER) -> None:
    """Take the weights out of the book, as for a host that has no room for them; the page then says what it lacks."""
    shutil.rmtree(folder, ignore_errors=True)


def main(checkpoint=None, folder: Path | None = None) -> int:
    """`python -m vitbook model`: write the weights of a checkpoint and say how large they are.  Returns the exit status.

    checkpoint: what `load_checkpoint` takes.  Raises ValueError where there is no book to write for.
    """
    folder = in_book(FOLDER if folder is None else Path(folder))
    checkpoint = load_checkpoint(checkpoint)
    home = write_model(checkpoint, folder)
    if home is None:
        size = size_in_page(checkpoint) / 1e6
        print(
            f"{checkpoint.name} has {size:.0f} MB of weights, more than the {LIMIT / 1e6:.0f} MB that travel with a page."
        )
        return 0
    sizes = [f.stat().st_size for f in home.iterdir()]
    print(
        f"{checkpoint.name}: {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB in {home}, none over {max(sizes) / 1e6:.1f} MB."
    )
    return 0
