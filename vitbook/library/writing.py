"""A file is written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile


def write_whole(path: Path, data: bytes) -> None:
    """All of the bytes under this name, or nothing: a build that is killed leaves no half-written file to be used."""
    with NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".part", delete=False) as part:
        try:
            part.write(data)
            part.flush()
            os.fsync(part.fileno())
            os.chmod(part.name, 0o644)
            os.replace(part.name, path)
        except BaseException as error:
            os.unlink(part.name)
            if isinstance(error, OSError):
                error.filename = str(path)  # a full disk does not say which file it was
            raise
