"""Where weights come from: a hub id in the local cache, a folder, or the embedded checkpoint. Never the network."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

from vitbook.library.base import Checkpoint, CheckpointError
from vitbook.library.embedded import load_embedded
from vitbook.library.folder import load_folder
from vitbook.library.hub import REFERENCE, reference_snapshot, snapshot

__all__ = ["Checkpoint", "CheckpointError", "choose", "load_checkpoint"]

VARIABLE = "VITBOOK_CHECKPOINT"
EMBEDDED = "embedded"
HUB = "hub:"
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9_][\w.-]*)?(@[\w./-]+)?", re.ASCII)


def load_checkpoint(
    source: str | os.PathLike | None = None, *, allow_pickle: bool = False, rounded: bool = False
) -> Checkpoint:
    """A pretrained ViT with its config, weights (float32), preprocessing and labels. Never uses the network.

    source: a folder ("./name", a path, a Path); a hub id ("google/vit-base-patch16-224", or "hub:name@revision" to be
    explicit) that is in the local cache; "embedded"; or None: what $VITBOOK_CHECKPOINT says, else the reference
    checkpoint where it is cached, else "embedded".
    allow_pickle: also read weights that exist only as a pickle (tensors only, no code).
    rounded: the embedded checkpoint with its matrices rounded to float16.

    Raises CheckpointError saying what came, what was expected and what to do.
    """
    if source is None:
        source, why = choose()
        try:
            return _load(source, allow_pickle, rounded)
        except CheckpointError as error:
            raise CheckpointError(f"{error} (chosen because {why})") from None
    return _load(source, allow_pickle, rounded)


def choose() -> tuple[str, str]:
    """The source that stands for None, and the reason why it was chosen."""
    if said := os.environ.get(VARIABLE, "").strip():
        return said, f"${VARIABLE} says {said!r}"
    if reference_snapshot():
        return f"{HUB}{REFERENCE.repo}@{REFERENCE.revision}", "the reference checkpoint is in the local cache"
    return EMBEDDED, "the reference checkpoint is not in the local cache ('python -m vitbook fetch' downloads it)"


def _load(source, allow_pickle: bool, rounded: bool) -> Checkpoint:
    if isinstance(source, str) and source == EMBEDDED:
        return _note_shadow(load_embedded(rounded))
    if rounded:
        raise CheckpointError(f"rounded=True belongs to the embedded checkpoint, got source {_say(source)}")
    folder, hub_id = _places(source)
    if folder is not None and hub_id is not None:
        raise CheckpointError(
            f"{source!r} is a folder here and also a hub id in the local cache; "
            f"say './{source}' for the folder or '{HUB}{source}' for the hub id"
        )
    if folder is not None:
        return load_folder(folder, folder.resolve().name, f"the folder {folder.resolve().name}", allow_pickle)
    return _load_cached(hub_id, allow_pickle)


def _places(source) -> tuple[Path | None, str | None]:
    """The folder and the cached hub id that a source may mean; exactly one of them unless the source is ambiguous."""
    if isinstance(source, os.PathLike) and isinstance(os.fspath(source), str):
        return Path(source).expanduser(), None
    if not isinstance(source, str):
        raise CheckpointError(
            f"source must be a folder, a hub id, {EMBEDDED!r} or None, got {type(source).__name__}: {_say(source)}"
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
    path = Path(text).expanduser()
    if not HUB_ID.fullmatch(text):
        return path, None
    present = _exists(path)
    cached = _find_cached(text) is not None
    return (path if present else None), (text if cached or not present else None)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file system takes
        return False


def _find_cached(hub_id: str) -> Path | None:
    repo, _, revision = hub_id.partition("@")
    return snapshot(repo, revision or None)


def _load_cached(hub_id: str, allow_pickle: bool) -> Checkpoint:
    if not HUB_ID.fullmatch(hub_id):
        raise CheckpointError(f"{hub_id!r} is not a hub id; expected something like {REFERENCE.repo!r}")
    folder = _find_cached(hub_id)
    repo = hub_id.partition("@")[0]
    if folder is None:
        how = "'python -m vitbook fetch'" if repo == REFERENCE.repo else f"'hf download {repo}'"
        raise CheckpointError(
            f"{hub_id!r} is neither a folder here nor in the local cache of the hub; run {how} on a machine with a "
            f"network, correct the name, or use {EMBEDDED!r}, which needs neither"
        )
    source = f"{repo} at revision {folder.name[:7]}, from the local cache of the Hugging Face hub"
    checkpoint = load_folder(folder, repo, source, allow_pickle)
    if checkpoint.licence == "not stated" and repo == REFERENCE.repo:
        return replace(checkpoint, licence=REFERENCE.licence)
    return checkpoint


def _note_shadow(checkpoint: Checkpoint) -> Checkpoint:
    if not Path(EMBEDDED).is_dir():
        return checkpoint
    return replace(
        checkpoint, notes=(*checkpoint.notes, f"the folder ./{EMBEDDED} here is another checkpoint, not used")
    )


def _say(value) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
