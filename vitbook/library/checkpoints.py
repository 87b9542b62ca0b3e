"""Where weights come from: a hub id in the local cache, a folder, or the embedded checkpoint. Never the network."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import torch

from vitbook.checks import flag
from vitbook.library.base import Checkpoint
from vitbook.library.embedded import load_embedded
from vitbook.library.errors import CheckpointError, reason
from vitbook.library.folder import load_folder
from vitbook.library.hub import EMBEDDED, HUB, REFERENCE, choose, snapshot
from vitbook.wording import brief, one_line

__all__ = ["Checkpoint", "CheckpointError", "choose", "load_checkpoint"]

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9_][\w.-]*)?(@[\w./-]+)?", re.ASCII)


def load_checkpoint(
    source: str | os.PathLike | None = None, *, allow_pickle: bool = False, unrounded: bool = False
) -> Checkpoint:
    """A pretrained ViT with its config, weights (float32), preprocessing and labels. Never uses the network.

    source: a folder ("./name", a path, a Path); a hub id ("google/vit-base-patch16-224", or "hub:name@revision" to be
    explicit) that is in the local cache; "embedded"; or None: what $VITBOOK_CHECKPOINT says, else the reference
    checkpoint where it is cached, else "embedded".
    allow_pickle: also read weights that exist only as a pickle (tensors only, no code).
    unrounded: the embedded checkpoint with its matrices as they are in the file; else they are rounded to float16.

    Raises CheckpointError saying what came, what was expected and what to do.
    """
    chosen, why = source, ""
    try:
        allow_pickle, unrounded = flag(allow_pickle, "allow_pickle"), flag(unrounded, "unrounded")
    except ValueError as error:
        raise CheckpointError(str(error)) from None
    try:
        if source is None:
            chosen, why = choose()
        with torch.device("cpu"):  # whatever a reader's default is
            return _load(chosen, allow_pickle, unrounded)
    except CheckpointError as error:
        raise CheckpointError(f"{error} ({why})" if why else str(error)) from None
    except OSError as error:
        raise CheckpointError(f"{brief(chosen)} cannot be read: {reason(error)}") from None


def _load(source, allow_pickle: bool, unrounded: bool) -> Checkpoint:
    if isinstance(source, str) and source == EMBEDDED:
        return _note_shadow(load_embedded(unrounded))
    if unrounded:
        raise CheckpointError(f"unrounded=True belongs to the embedded checkpoint; say source={EMBEDDED!r} with it")
    folder, hub_id = _places(source)
    if folder is not None and hub_id is not None:
        raise CheckpointError(
            f"{source!r} is a folder here and also a hub id in the local cache; "
            f"say './{source}' for the folder or '{HUB}{source}' for the hub id"
        )
    if folder is not None:
        name = _name_of(folder)
        return load_folder(folder, name, f"the folder {name}", allow_pickle)
    return _load_cached(hub_id, allow_pickle)


def _places(source) -> tuple[Path | None, str | None]:
    """The folder and the cached hub id that a source may mean; exactly one of them unless the source is ambiguous."""
    if isinstance(source, os.PathLike) and isinstance(os.fspath(source), str):
        return _path(os.fspath(source)), None
    if not isinstance(source, str):
        raise CheckpointError(
            f"source must be a folder, a hub id, {EMBEDDED!r} or None, got {type(source).__name__}: {brief(source)}"
        )
    text = source.strip()
    if text.startswith(HUB):
        return None, text.removeprefix(HUB)
    if not text or "\0" in text:
        raise CheckpointError(f"source must name a folder or a hub id, got {source!r}")
    if "://" in text:
        raise CheckpointError(
            f"{text!r} is an address; give the hub id itself, such as {REFERENCE.repo!r}, or a folder"
        )
    if not _is_hub_id(text):
        return _path(text), None
    present = _exists(_path(text))
    cached = _find_cached(text) is not None
    return (_path(text) if present else None), (text if cached or not present else None)


def _is_hub_id(text: str) -> bool:
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    try:
        validate_repo_id(text.partition("@")[0])
    except HFValidationError:
        return False
    return bool(HUB_ID.fullmatch(text)) and ".." not in text


def _path(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise CheckpointError(f"{text!r} names a home folder that this machine does not know") from None


def _name_of(folder: Path) -> str:
    name = folder.resolve().name if folder.name in ("", "..") else folder.name
    return one_line(name) or "/"


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file system takes
        return False


def _find_cached(hub_id: str) -> Path | None:
    repo, _, revision = hub_id.partition("@")
    return snapshot(repo, revision or None)


def _load_cached(hub_id: str, allow_pickle: bool) -> Checkpoint:
    if not _is_hub_id(hub_id):
        raise CheckpointError(f"{brief(hub_id)} is not a hub id; expected something like {REFERENCE.repo!r}")
    folder = _find_cached(hub_id)
    repo, _, revision = hub_id.partition("@")
    get = "python -m vitbook fetch" if repo == REFERENCE.repo else f"hf download {repo}"
    if repo != REFERENCE.repo and revision:
        get += f" --revision {revision}"
    if folder is None:
        raise CheckpointError(
            f"{hub_id!r} is neither a folder here nor in the local cache of the hub; run '{get}' where there is a "
            f"network, correct the name, or use {EMBEDDED!r}, which needs none"
        )
    source = f"{repo} at revision {folder.name[:7]}, from the local cache of the Hugging Face hub"
    try:
        checkpoint = load_folder(folder, repo, source, allow_pickle)
    except CheckpointError as error:
        raise CheckpointError(f"{error}. If the download was interrupted, '{get}' completes it") from None
    if repo != REFERENCE.repo:
        return checkpoint
    licence = REFERENCE.licence if checkpoint.licence == "not stated" else checkpoint.licence
    return replace(checkpoint, licence=licence, known=folder.name == REFERENCE.revision)


def _note_shadow(checkpoint: Checkpoint) -> Checkpoint:
    if not Path(EMBEDDED).is_dir():
        return checkpoint
    return replace(
        checkpoint, notes=(*checkpoint.notes, f"the folder ./{EMBEDDED} here is another checkpoint, not used")
    )
