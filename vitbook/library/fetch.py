"""`python -m vitbook fetch`: the reference checkpoint and the picture of two cats, into caches of the reader's own."""

from __future__ import annotations

import hashlib
import os
import struct
import sys
from pathlib import Path

from vitbook.library.download import FetchError, digest_of, download, within
from vitbook.library.errors import reason
from vitbook.library.hub import EMBEDDED, REFERENCE, Reference, choose, reference_snapshot, repository
from vitbook.pictures import CATS, PictureError
from vitbook.pictures.catalogue import Picture
from vitbook.pictures.web import download as download_picture

ANSWER = 6.0  # seconds for the first sign of life; both together stay far below 15
WEIGHTS = "model.safetensors"


def fetch(
    optional: bool = False, reference: Reference = REFERENCE, picture: Picture = CATS, endpoint: str | None = None
) -> int:
    """Download what is not here yet and say so; return the exit code.

    optional: a missing network is no failure, since the book has an embedded checkpoint.
    endpoint: of another hub than the usual one ($HF_ENDPOINT works too).
    """
    problems = []
    for what, get in (
        ("the reference checkpoint", lambda: fetch_checkpoint(reference, endpoint)),
        ("the picture of two cats", lambda: fetch_picture(picture, 4.0 if problems else 30.0)),
    ):
        try:
            print(get(), flush=True)
        except FetchError as error:
            problems.append((what, str(error)))
    if not problems:
        return 0
    names = " and ".join(what for what, _ in problems)
    sentence = f"{names} could not be downloaded: {problems[0][1]}"
    sentence = sentence[0].upper() + sentence[1:]
    if optional:
        print(f"{sentence}; {_instead()}.")
        return 0
    print(f"{sentence}; until this command succeeds, {_instead()}.", file=sys.stderr)
    return 1


def fetch_checkpoint(reference: Reference = REFERENCE, endpoint: str | None = None) -> str:
    """Make sure that the reference checkpoint is whole in the local cache of the hub; return a sentence about it.

    Raises FetchError; then nothing half-finished is in a place where it would be loaded.
    """
    if folder := reference_snapshot(reference):
        fault = damage(folder, reference)
        if fault is None:
            return f"{reference.repo} is in the local cache already."
        print(f"{fault}; downloading it again.")
        _discard(folder, reference)
    _refuse_offline()
    for name in reference.files:
        _fetch_file(reference, name, endpoint)
    folder = reference_snapshot(reference)
    if folder is None or (fault := damage(folder, reference)):
        raise FetchError(fault if folder else "the files arrived, but the local cache does not show them")
    size = sum((folder / name).stat().st_size for name in reference.files)
    return f"{reference.repo} is in the local cache now ({size / 1e6:,.1f} MB, sizes and hashes verified)."


def fetch_picture(picture: Picture = CATS, seconds: float = 30.0) -> str:
    """Make sure that the picture is in the reader's cache; return a sentence about it.  Raises FetchError."""
    path = Path(str(picture.path()))
    if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == picture.sha256:
        return f"The picture {picture.name!r} is in the cache already."
    _refuse_offline()
    try:
        data = download_picture(picture.source, limit=picture.size, seconds=seconds)
    except PictureError as error:
        raise FetchError(str(error).split(". ")[0]) from None
    if hashlib.sha256(data).hexdigest() != picture.sha256:
        raise FetchError(f"{picture.source} sent another file than the one that the book describes")
    part = path.with_name(f"{path.name}.{os.getpid()}.incomplete")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(data)
        os.replace(part, path)
    except OSError as error:
        raise FetchError(
            f"{path.parent} cannot be written to ({reason(error)}); $VITBOOK_CACHE names another folder"
        ) from None
    return f"The picture {picture.name!r} is in the cache now ({len(data) / 1e3:,.0f} kB, size and hash verified)."


def damage(folder: Path, reference: Reference = REFERENCE) -> str | None:
    """What is wrong with a cached checkpoint, or None.  The cache names its files by their hash, which is recomputed."""
    for name in reference.files:
        blob = _blob(folder / name)
        if len(blob.name) in (40, 64) and digest_of(blob, len(blob.name)) != blob.name:
            return f"{name} of {reference.repo} is damaged in the local cache"
    weights = folder / WEIGHTS
    with weights.open("rb") as file:
        start = file.read(8)
    header = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
    if (size := weights.stat().st_size) != 8 + header + 4 * reference.numbers:
        return (
            f"{WEIGHTS} of {reference.repo} has {size:,} bytes, which {reference.numbers:,} float32 numbers do not make"
        )
    return None


def _fetch_file(reference: Reference, name: str, endpoint: str | None) -> None:
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url

    url = hf_hub_url(reference.repo, name, revision=reference.revision, endpoint=endpoint)
    try:
        about = within(ANSWER, lambda: get_hf_file_metadata(url, token=False, timeout=ANSWER - 1, endpoint=endpoint))
    except FetchError as error:
        raise FetchError(f"{_host(url)} cannot be reached, {error}") from None
    except Exception as error:  # whatever the HTTP library raises
        status = getattr(getattr(error, "response", None), "status_code", None)
        if status is not None:
            raise FetchError(f"{_host(url)} answered {status} when asked for {name} of {reference.repo}") from None
        raise FetchError(f"{_host(url)} cannot be reached ({reason(error)})") from None
    if about.commit_hash != reference.revision or not about.etag or not about.size:
        raise FetchError(f"{_host(url)} does not answer as the hub does (a login page or a proxy may stand in between)")
    blob = repository(reference.repo) / "blobs" / about.etag
    if not (blob.is_file() and digest_of(blob, len(about.etag)) == about.etag):
        download(url, blob, about.size, about.etag, name)
    try:  # finds the file in its place, and links to it from where readers look
        hf_hub_download(reference.repo, name, revision=reference.revision, token=False, endpoint=endpoint)
    except Exception as error:
        raise FetchError(f"{name} arrived, but cannot be put into the local cache ({reason(error)})") from None


def _discard(folder: Path, reference: Reference) -> None:
    for name in reference.files:
        for file in (_blob(folder / name), folder / name):
            file.unlink(missing_ok=True)


def _blob(path: Path) -> Path:
    """What a file of a snapshot links to: one step, since the cache may link further to a store with other names."""
    return path.parent / os.readlink(path) if path.is_symlink() else path


def _refuse_offline() -> None:
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        raise FetchError("HF_HUB_OFFLINE (or TRANSFORMERS_OFFLINE) is set; unset it to allow downloads")


def _host(url: str) -> str:
    return url.split("/")[2]


def _instead() -> str:
    """What happens without the download."""
    source, _ = choose()
    return "the book will use the embedded checkpoint" if source == EMBEDDED else f"the book will use {source!r}"
