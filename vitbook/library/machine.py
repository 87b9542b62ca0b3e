"""What can be found out about this machine without trusting it: versions, imports, folders."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from vitbook.library.errors import reason


def installed(name: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: 2.13.0+cpu gives (2, 13, 0)."""
    return (
        tuple(map(int, re.match(r"[\d.]*", version).group().strip(".").split("."))) if version[:1].isdigit() else (0,)
    )


def try_imports(names: tuple[str, ...]) -> dict[str, str | None]:
    """Name -> None where it can be imported, else the last line of what it said; each in a fresh process."""
    return {name: _try_import(name) for name in names}


def _try_import(name: str) -> str | None:
    code = (
        f"import json, sys\ntry:\n    import {name}\nexcept BaseException as e:\n    sys.exit('E' + json.dumps(str(e)))"
    )
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return "it was still loading after 5 minutes"
    if done.returncode == 0:
        return None
    said = (done.stderr.strip().splitlines() or [f"it ended with code {done.returncode}"])[-1]
    text = json.loads(said[1:]) if said.startswith('E"') else said
    return (text.strip().splitlines() or ["no reason given"])[0]


def existing(folder: Path) -> Path:
    """The folder itself, or the nearest one above it that exists."""
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())


def why_not_writable(folder: Path) -> str | None:
    """None where a file can be written in the folder (or in the nearest one above it that exists), else the reason."""
    try:
        with tempfile.TemporaryFile(dir=existing(folder)):
            return None
    except OSError as error:
        return reason(error)


def short(path: Path) -> str:
    """A path with the home folder written as ~."""
    try:
        return str(Path("~") / path.relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(path)
