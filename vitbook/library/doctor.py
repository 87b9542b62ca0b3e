"""`python -m vitbook doctor`: what is here, what would be used, and what to do about each problem."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from vitbook.library import hub
from vitbook.library.embedded_file import PACKAGE, read_bytes
from vitbook.library.errors import REINSTALL, CheckpointError, reason, some
from vitbook.library.machine import existing, installed, numbers, short, try_imports, why_not_writable

OK, NOTE, BROKEN = "ok", "note", "broken"
#: Package -> oldest version that the book can work with.
NEEDED = {
    "torch": (2, 4),
    "transformers": (5, 9),
    "safetensors": (0, 4),
    "huggingface_hub": (1, 0),
    "onnx": (1, 14),
    "numpy": (1, 26),
    "pillow": (10, 0),
    "scikit-image": (0, 22),
    "matplotlib": (3, 8),
    "jaxtyping": (0, 2),
    "ipywidgets": (8, 0),
    "anywidget": (0, 9),
}
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
IMPORTS = ("torch", "torchvision", "transformers.models.vit.modeling_vit")
SPACE = 500_000_000  # bytes; the reference checkpoint needs 346 MB


@dataclass(frozen=True)
class Finding:
    """One line of the report: how it stands, what it is about, and what to do."""

    state: str
    what: str
    todo: str = ""

    def __str__(self) -> str:
        sign = {OK: "  ok    ", NOTE: "  note  ", BROKEN: "  BROKEN"}[self.state]
        return f"{sign}  {self.what}" + (f"\n            -> {self.todo}" if self.todo else "")


def doctor() -> int:
    """Print the report and return the exit code: 1 when something is broken that the book needs, else 0."""
    broken = 0
    for title, check in CHECKS.items():
        print(title)
        for finding in _guarded(check):
            broken += finding.state == BROKEN
            print(finding)
    print("Everything that the book needs is in order." if not broken else f"{broken} to mend: see BROKEN above.")
    return int(broken > 0)


def _guarded(check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """The findings of a check; one that fails itself becomes a finding."""
    try:
        yield from check()
    except Exception as error:  # the doctor reports, whatever state the machine is in
        yield Finding(BROKEN, f"this could not be checked: {type(error).__name__}: {reason(error)}", REINSTALL)


def check_versions() -> Iterator[Finding]:
    """Python, and the packages that the code imports."""
    has = ".".join(map(str, sys.version_info[:3]))
    yield (
        Finding(OK, f"Python {has}")
        if sys.version_info >= (3, 11)
        else Finding(BROKEN, f"Python {has}, needed 3.11 or newer", "make a new environment with a newer Python")
    )
    for name, oldest in NEEDED.items():
        needed = ".".join(map(str, oldest))
        found = installed(name)
        if found is None:
            yield Finding(BROKEN, f"{name} is not installed", REINSTALL)
        elif numbers(found) < oldest:
            why = " (it has other names for the parts of a ViT)" if name == "transformers" else ""
            yield Finding(BROKEN, f"{name} {found}, needed {needed} or newer{why}", REINSTALL)
        else:
            yield Finding(OK, f"{name} {found}")


def check_imports() -> Iterator[Finding]:
    """torch, torchvision and transformers really load: in a process of their own, since a broken one can crash."""
    for name, error in try_imports(IMPORTS).items():
        top = name.split(".")[0]
        if error is None:
            yield Finding(OK, f"{top} loads")
        elif error == "No module named 'torchvision'":
            yield Finding(OK, "torchvision is not installed, and not needed")
        elif top == "torchvision":
            yield Finding(
                BROKEN,
                f"torchvision {installed(top) or ''} does not fit torch {installed('torch')} ({error}), and transformers "
                "stumbles over it",
                "run 'python -m pip uninstall torchvision' (the book does not need it), or install the one built for "
                "this torch from the same index",
            )
        else:
            yield Finding(BROKEN, f"{top} does not load: {error}", REINSTALL)


def check_book() -> Iterator[Finding]:
    """What builds and tests the book."""
    book = installed("jupyter-book")
    if book is None:
        yield Finding(NOTE, "jupyter-book is not installed: the code runs, the book cannot be built", REINSTALL)
    elif numbers(book)[0] != 1:
        yield Finding(
            BROKEN,
            f"jupyter-book {book} is of another series, which cannot build this book; needed 1.x",
            "run 'python -m pip install -r requirements.txt', which pins it",
        )
    else:
        yield Finding(OK, f"jupyter-book {book}")
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        todo = (
            "install Chromium ('apt-get install chromium', 'brew install --cask chromium'); the other tests run without"
        )
        yield Finding(NOTE, "no Chromium: the tests that open the built pages will be skipped", todo)
    else:
        yield Finding(OK, f"a browser for the tests: {Path(browser).name}")


def check_caches() -> Iterator[Finding]:
    """The folders that downloads go to, and what is in them."""
    from huggingface_hub import constants

    from vitbook.pictures import CATS
    from vitbook.pictures.catalogue import cache_folder

    folders = {Path(constants.HF_HUB_CACHE): "$HF_HOME", cache_folder(): "$VITBOOK_CACHE"}
    for folder, variable in folders.items():
        if error := why_not_writable(folder):
            todo = f"set {variable} to a folder that you may write to; only fetching needs it"
            yield Finding(NOTE, f"{short(folder)} cannot be written to ({error})", todo)
        elif (free := shutil.disk_usage(existing(folder)).free) < SPACE and hub.reference_snapshot() is None:
            todo = f"make room, or set {variable} to a folder on another disk; only fetching needs it"
            yield Finding(NOTE, f"{short(folder)} has {free / 1e6:,.0f} MB left, the reference needs 346 MB", todo)
        else:
            yield Finding(OK, f"{short(folder)} can be written to, {free / 1e9:,.1f} GB free")
    if not Path(constants.HF_HUB_CACHE).is_absolute():
        what = (
            f"this user has no home folder: the hub's cache would be {constants.HF_HUB_CACHE!r} below where one stands"
        )
        yield Finding(NOTE, what, "set $HOME, or $HF_HOME, to a folder that you may write to")
    if constants.HF_HUB_OFFLINE:
        yield Finding(NOTE, "HF_HUB_OFFLINE is set: fetch will not download", "unset it to allow downloads")
    yield from _cached_reference()
    if others := [name for name in hub.cached_vits() if name != hub.REFERENCE.repo]:
        yield Finding(OK, f"other ViTs in the cache: {some(others)}")
    cats = Path(str(CATS.path()))
    if cats.is_file():
        yield Finding(OK, "the picture 'cats' is in the cache")
    else:
        yield Finding(NOTE, "the picture 'cats' is not in the cache", "'python -m vitbook fetch' downloads it")


def _cached_reference() -> Iterator[Finding]:
    from vitbook.library.fetch import damage

    reference, get = hub.REFERENCE, "'python -m vitbook fetch'"
    folder = hub.reference_snapshot()
    if folder and (fault := damage(folder)):
        yield Finding(BROKEN, fault, f"{get} downloads it again")
    elif folder:
        yield Finding(OK, f"{reference.repo} is in the cache, revision {reference.revision[:7]}, hashes verified")
    elif hub.repository(reference.repo).exists():
        parts = [path.stat().st_size for path in hub.repository(reference.repo).rglob("*.incomplete")]
        kept = f" ({sum(parts) / 1e6:,.0f} MB of it are)" if parts else ""
        what = f"{reference.repo} is not wholly in the cache at revision {reference.revision[:7]}{kept}"
        yield Finding(NOTE, what, f"{get} completes it")
    else:
        yield Finding(NOTE, f"{reference.repo} is not in the cache", f"{get} downloads it (346 MB)")


def check_checkpoints() -> Iterator[Finding]:
    """The embedded checkpoint, and the one that is used when a reader names none."""
    source, why = hub.choose()
    try:
        read_bytes()
    except CheckpointError as error:
        yield Finding(BROKEN if source == hub.EMBEDDED else NOTE, str(error))
    else:
        yield Finding(OK, f"embedded: {PACKAGE} {installed(PACKAGE)}, sha256 verified")
    try:
        from vitbook.library.checkpoints import load_checkpoint

        checkpoint = load_checkpoint()
    except CheckpointError as error:
        unset = f"mend it, or unset ${hub.VARIABLE}" if os.environ.get(hub.VARIABLE) else ""
        yield Finding(BROKEN, f"in use would be {source!r}, which does not load: {error}", unset)
    else:
        yield Finding(OK, f"in use: {checkpoint.name} ({why})")
        yield Finding(OK, f"from {checkpoint.source}; licence {checkpoint.licence}")
        for note in checkpoint.notes:
            yield Finding(OK, f"   {note}")


CHECKS: dict[str, Callable[[], Iterator[Finding]]] = {
    "Versions": check_versions,
    "Loading": check_imports,
    "Building and testing the book": check_book,
    "Downloads": check_caches,
    "Checkpoints": check_checkpoints,
}
