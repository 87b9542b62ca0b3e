"""What is a checkpoint, and what to do about what is none."""

from __future__ import annotations

import os

from vitbook.library.base import Checkpoint
from vitbook.pictures import PICTURES
from vitbook.wording import brief


def checkpoint_of(value) -> Checkpoint:
    """The value, if it is a checkpoint.  Raises ValueError that says what to do."""
    if isinstance(value, Checkpoint):
        return value
    got = f"checkpoint must be what load_checkpoint returns, got {brief(value)}"
    if isinstance(value, str) and value in PICTURES:
        raise ValueError(f"{got}, which is a picture; say picture={value!r}")
    if isinstance(value, str | os.PathLike):
        raise ValueError(f"{got}; say load_checkpoint({brief(os.fspath(value))}) first")
    raise ValueError(f"{got} ({type(value).__name__})")
