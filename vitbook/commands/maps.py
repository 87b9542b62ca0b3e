"""`vitbook maps FOLDER`: what one query reads, in every layer and head, for all pictures of a folder.

One .npz with names (n,), weights (n, L, heads, N+1) and y (n, D), float32.  It is written now and then and when the run ends or
is stopped, whole or not at all, so that the next run goes on where this one was.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from vitbook.library.writing import write_whole
from vitbook.model import run
from vitbook.pictures import PictureError
from vitbook.pixels import preprocess
from vitbook.trace import Trace

EVERY = 60  # seconds between two writings: each of them writes all that is there
KINDS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".ppm", ".pgm")


def write_maps(
    folder: Path, out: Path, checkpoint, query: int = 0, batch: int = 16, say: Callable[[str], None] = print
) -> tuple[int, list[str]]:
    """Runs the pictures in folder, and in those below it, that `out` does not hold yet.

    Returns how many `out` holds now, and a line for every picture that could not be read.
    Raises ValueError where there is no folder, no picture, or where `out` belongs to another model or query.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder; give one with pictures in it ({', '.join(KINDS)})")
    if out.suffix != ".npz":
        raise ValueError(f"--out must be a file that ends in .npz, got {out.name!r}")
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix.lower() in KINDS)
    if not names:
        raise ValueError(f"{folder} holds no picture ({', '.join(KINDS)})")
    of = f"{checkpoint.fingerprint('maps')} query {query}"
    done = _held(out, of)
    left, bad = [name for name in names if name not in done], []
    if len(left) < len(names):
        say(f"{len(names) - len(left)} of {len(names)} pictures are in {out.name} already")
    start = saved = time.monotonic()
    written = len(done)
    try:
        for at in range(0, len(left), batch):
            read = _read(folder, left[at : at + batch], checkpoint, bad)
            if read:
                trace = run(checkpoint, torch.stack(list(read.values())))
                done |= dict(zip(read, _kept(trace, query), strict=True))
            if len(done) > written and time.monotonic() - saved > EVERY:
                _write(out, of, done)
                written, saved = len(done), time.monotonic()
            seen = min(at + batch, len(left))
            rest = (time.monotonic() - start) / seen * (len(left) - seen)
            say(f"{seen} of {len(left)} pictures{f', about {rest:.0f} s left' if rest >= 1 else ''}")
    finally:
        if len(done) > written:
            _write(out, of, done)
    return len(done), bad


def _read(folder: Path, names: list[str], checkpoint, bad: list[str]) -> dict[str, Tensor]:
    """Name -> x of what can be read; what cannot is told in `bad`."""
    read = {}
    for name in names:
        try:
            read[name] = preprocess(folder / name, checkpoint)
        except (PictureError, ValueError) as error:
            bad.append(f"{name}: {error}")
    return read


def _kept(trace: Trace, query: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each picture: its rows of A (L, heads, N+1), and y (D,)."""
    rows = torch.stack([trace.attention(l, query=query) for l in range(1, trace.config.L + 1)], dim=1)
    as_numbers = lambda t: t.to("cpu", torch.float32).numpy()  # noqa: E731
    return list(zip(as_numbers(rows), as_numbers(trace.y), strict=True))


def _held(out: Path, of: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    if not out.exists():
        return {}
    try:
        with np.load(out) as held:
            same, names, weights, y = held["of"].item() == of, held["names"], held["weights"], held["y"]
    except Exception as error:  # cut off, or another program's file
        raise ValueError(
            f"{out} is there and cannot be read ({error}); take it away, or choose another --out"
        ) from None
    if not same:
        raise ValueError(f"{out} holds maps of another model or another query; choose another --out")
    return {str(name): (w, v) for name, w, v in zip(names, weights, y, strict=True)}


def _write(out: Path, of: str, done: dict) -> None:
    weights, y = (np.stack(part) for part in zip(*done.values(), strict=True))
    np.savez_compressed(packed := io.BytesIO(), of=of, names=np.array(list(done)), weights=weights, y=y)
    write_whole(out, packed.getvalue())
