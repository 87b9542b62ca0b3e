"""How this room says no, and how it says what it guessed: every message names what came and what to do next."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from vitbook.wording import one_line

_HERE = str(Path(__file__).parent)


class PictureError(ValueError):
    """Raised when no trustworthy RGB picture can be made of what came. Its text says what came and what to do.

    One line, whatever a file or a server put into what it quotes: no line ends, and nothing that a terminal obeys.
    """

    def __init__(self, message: object) -> None:
        super().__init__(one_line(str(message), 2000))


class PictureWarning(UserWarning):
    """A guess was made, or a part of the file was left out. Its text names the guess and how to avoid it."""


def note(message: str) -> None:
    """Warn with `message`, pointing at the line outside this room that asked for the picture."""
    frame, level, outside = sys._getframe(), 1, 1
    while frame is not None:
        outside = level + 1 if frame.f_code.co_filename.startswith(_HERE) else outside
        frame, level = frame.f_back, level + 1
    warnings.warn(message, PictureWarning, stacklevel=outside)


def shown(text: object, limit: int = 80) -> str:
    """`repr(text)` in one line, with its middle left out where it is longer than `limit`."""
    line = " ".join(repr(text).split())
    return line if len(line) <= limit else f"{line[: limit // 2]} ... {line[-limit // 3 :]}"


def damaged(name: str, kind: str, why: object) -> PictureError:
    """The refusal of a file that starts as a picture and can't be decoded to its end."""
    return PictureError(
        f"{name} starts as {kind} but can't be decoded ({str(why) or type(why).__name__}): it is probably cut short "
        "or damaged. Download or export it again; the number of bytes should be the original's."
    )
