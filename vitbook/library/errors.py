"""How a source of weights, or a disk, says no: what came, what was expected, what to do. Imports nothing heavy."""

from __future__ import annotations

import errno
import re
from pathlib import Path

from vitbook.wording import one_line

REINSTALL = "run 'make install', or 'python -m pip install -r requirements.txt'"
ROOM_IS_SHORT = "make room on that disk, then run it again"
ELSEWHERE = "make it yours, or copy the book to a folder that you may write to"
#: What to do where something cannot be written.
WRITING = {
    errno.ENOSPC: ROOM_IS_SHORT,
    errno.EDQUOT: "your quota is used up: remove something, then run it again",
    errno.EFBIG: "this system limits the size of a file (`ulimit -f`): raise the limit, then run it again",
    errno.EROFS: ELSEWHERE,
    errno.EACCES: ELSEWHERE,
    errno.EPERM: ELSEWHERE,
}


class CheckpointError(ValueError):
    """A checkpoint cannot be used; the message says what came, what was expected and what to do.

    One line, whatever stands in the files that it quotes: no line ends, and nothing that a terminal obeys.
    """

    def __init__(self, message: object) -> None:
        super().__init__(one_line(str(message), 2000))


def some(names: list[str]) -> str:
    """The first three of many names, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def reason(error: BaseException) -> str:
    """The first line of an error, without paths."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    lines = (str(error) or type(error).__name__).splitlines()
    # a line that ends in a colon announces the next one, where the reason stands
    first = re.sub(r"^\[Errno -?\d+\] ", "", " ".join(lines[: 2 if lines[0].endswith(":") else 1]))
    return first if len(first) <= 160 else first[:157] + "..."


def told(error: OSError, folder: Path) -> str:
    """What could not be written and what to do, in a sentence; `folder` where the error does not know which file."""
    what = error.filename2 or error.filename or f"a file in {folder}"
    todo = f": {WRITING[error.errno]}; nothing half-written will be used" if error.errno in WRITING else ""
    return f"{what} cannot be {'written' if todo else 'used'} ({reason(error)}){todo}"
