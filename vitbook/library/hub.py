"""The reference checkpoint, the local cache of the Hugging Face hub, and what is used when nobody says what to use.

Nothing here touches the network, and nothing here imports torch.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from vitbook.library.errors import CheckpointError

VARIABLE = "VITBOOK_CHECKPOINT"
EMBEDDED = "embedded"
HUB = "hub:"


@dataclass(frozen=True)
class Reference:
    """A checkpoint on the hub, at one revision, and the files of it that the book needs."""

    repo: str
    revision: str
    licence: str
    numbers: int  # float32 numbers in model.safetensors
    files: tuple[str, ...] = ("config.json", "preprocessor_config.json", "model.safetensors")


#: The checkpoint that the book's published numbers were made with: ViT-B/16, pre-trained on ImageNet-21k.
REFERENCE = Reference(
    repo="google/vit-base-patch16-224",
    revision="3f49326eb077187dfe1c2a2bb15fbd74e6ab91e3",
    licence="Apache-2.0",
    numbers=86_567_656,
)


def repository(repo: str) -> Path:
    """Where the cache keeps a repository, present or not."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    return Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=repo, repo_type="model")


def snapshot(repo: str, revision: str | None = None) -> Path | None:
    """The cached files of a repository at a revision (a hash or a branch), or None.

    Without a revision: the book's own for the reference checkpoint, else main, else the only one there is.
    Raises CheckpointError when several are cached and none is main.
    """
    root = repository(repo)
    if revision is None and repo == REFERENCE.repo and (found := _at(root, REFERENCE.revision)):
        return found
    if found := _at(root, revision or "main"):
        return found
    if revision is not None:
        return None
    cached = sorted(path for path in (root / "snapshots").glob("*") if path.is_dir())
    if len(cached) > 1:
        choices = ", ".join(f"'hub:{repo}@{path.name}'" for path in cached)
        raise CheckpointError(f"{repo} is cached at several revisions and none is main; choose one of {choices}")
    return cached[0] if cached else None


def reference_snapshot(reference: Reference = REFERENCE) -> Path | None:
    """The cached reference checkpoint at its pinned revision, only when all of its files have arrived."""
    found = _at(repository(reference.repo), reference.revision)
    return found if found and all((found / name).is_file() for name in reference.files) else None


def cached_vits() -> list[str]:
    """Ids in the local cache whose config.json says "vit", the reference's among them."""
    from huggingface_hub import constants

    configs = Path(constants.HF_HUB_CACHE).glob("models--*/snapshots/*/config.json")
    return sorted({path.parts[-4].removeprefix("models--").replace("--", "/") for path in configs if _says_vit(path)})


def _says_vit(config: Path) -> bool:
    try:
        return json.loads(config.read_text(encoding="utf-8-sig"))["model_type"] == "vit"
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return False


def choose() -> tuple[str, str]:
    """The source that stands for None, and the reason why it was chosen."""
    if said := os.environ.get(VARIABLE, "").strip():
        return said, f"chosen because ${VARIABLE} says {said!r}"
    if reference_snapshot():
        return f"{HUB}{REFERENCE.repo}@{REFERENCE.revision}", "chosen because it is in the local cache of the hub"
    return EMBEDDED, "chosen because the reference checkpoint is not in the local cache of the hub"


def _at(root: Path, revision: str) -> Path | None:
    ref = root / "refs" / revision
    commit = ref.read_text(encoding="ascii", errors="replace").strip() if ref.is_file() else revision
    folder = root / "snapshots" / commit
    return folder if folder.is_dir() and any(folder.iterdir()) else None
