"""Is this one whole number, one finite number, true or false, a checkpoint? Every room asks here, so that all answer alike.

What counts is what a value is and not which library made it: NumPy's and torch's numbers are numbers, if they have no
axes. Truth values are no numbers, and texts are neither. Nothing is imported for that.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from vitbook.wording import brief


def whole(value: Any, name: str, least: int = 1, most: int | None = None, note: str = "") -> int:
    """The value as an int, from `least` to `most` (None: without end).

    name, note: for the message, as in "layer must be a whole number from 1 to 12 (counted as in the paper), got 13".
    Raises ValueError for anything else.
    """
    number = index(value)
    if number is None or number < least or (most is not None and number > most):
        raise ValueError(f"{name} must be {_range(least, most)}{note}, got {told(value, number)}")
    return number


def index(value: Any) -> int | None:
    """The value as an int where it is one whole number, else None."""
    if _is_truth(value) or not _is_single(value):
        return None
    try:
        return operator.index(value)
    except Exception:  # __index__ may be anybody's code
        return None


def finite(value: Any, name: str, note: str = "") -> float:
    """The value as a float.  Raises ValueError unless it is one number, and neither NaN nor infinite."""
    try:
        if not _is_truth(value) and _is_single(value) and math.isfinite(value):
            return float(value)
    except Exception:  # no number at all, or one of hundreds of digits
        pass
    raise ValueError(f"{name} must be a finite number{note}, got {told(value)}")


def flag(value: Any, name: str, note: str = "") -> bool:
    """The value as a bool.  Raises ValueError unless it is True or False, Python's or NumPy's."""
    if not _is_truth(value) or not _is_single(value):
        raise ValueError(f"{name} must be true or false{note}, got {told(value)}")
    return bool(value)


def told(value: Any, number: float | None = None) -> str:
    """What came, with its type unless it is a number and only its size is wrong: 13, or True (bool)."""
    return brief(value) if number is not None else f"{brief(value)} ({type(value).__name__})"


def part(checkpoint: Any, name: str, kind: type) -> Any:
    """`checkpoint.weights` and its like.  Raises ValueError where what came has no such part of that kind."""
    value = getattr(checkpoint, name, None)
    if isinstance(value, kind):
        return value
    raise ValueError(f"checkpoint must be what load_checkpoint returns, got {told(checkpoint)}{first(checkpoint)}")


def first(source: Any) -> str:
    """What to do with the name of a checkpoint where a checkpoint belongs; nothing for anything else."""
    return f"; say load_checkpoint({brief(source)}) first" if isinstance(source, str) else ""


def _range(least: int, most: int | None) -> str:
    if most is not None:
        return f"a whole number from {least} to {most}"
    return "a positive whole number" if least == 1 else f"a whole number of at least {least}"


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool) or str(getattr(value, "dtype", "")) in ("bool", "torch.bool")


def _is_single(value: Any) -> bool:
    shape = getattr(value, "shape", ())
    return isinstance(shape, tuple) and not shape
