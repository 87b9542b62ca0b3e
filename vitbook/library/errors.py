"""How a source of weights says no: what came, what was expected, what to do. Imports nothing heavy."""

from __future__ import annotations

import re

REINSTALL = "run 'make install', or 'python -m pip install -r requirements.txt'"


class CheckpointError(ValueError):
    """A checkpoint cannot be used; the message says what came, what was expected and what to do."""


def brief(value: object, limit: int = 60) -> str:
    """A value as an error message can show it, cut where it grows long."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def some(names: list[str]) -> str:
    """The first three of many names, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def reason(error: BaseException) -> str:
    """The first line of an error, without paths."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    first = re.sub(r"^\[Errno -?\d+\] ", "", (str(error) or type(error).__name__).splitlines()[0])
    return first if len(first) <= 160 else first[:157] + "..."
