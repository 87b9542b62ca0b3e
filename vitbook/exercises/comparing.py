"""Is what came back what was expected? Arrays, numbers, tuples, stages by name; torch tensors are read without importing torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

#: Float32 keeps about seven digits; results in it are held to this share of the largest expected number instead.
FLOAT32 = 1e-5


@dataclass(frozen=True)
class Difference:
    """Why a result is not the expected one.

    kind: "wrong type", "wrong shape", "not finite" or "wrong numbers"; words: the sentence for the reader.
    """

    kind: str
    words: str


def plain(result: Any) -> Any:
    """Tensors and other array-likes as NumPy arrays, tuples and lists of results part by part, numbers as they are."""
    if isinstance(result, tuple | list):
        return (tuple if isinstance(result, tuple) else list)(plain(part) for part in result)
    if isinstance(result, dict):
        return {name: plain(part) for name, part in result.items()}
    if hasattr(result, "detach") and hasattr(result, "cpu"):  # a torch tensor
        tensor = result.detach().cpu()
        try:
            return tensor.numpy()
        except TypeError:  # a type that NumPy lacks, such as bfloat16
            return tensor.double().numpy()
    if hasattr(result, "__array__") and not isinstance(result, np.ndarray | np.generic):
        return np.asarray(result)
    return result


def difference(result: Any, expected: Any, tolerance: float, name: str = "your result") -> Difference | None:
    """None if the result is what was expected, else the first reason why not. Never raises on strange results."""
    if isinstance(expected, tuple):
        return different_parts(result, expected, tolerance, name)
    if isinstance(expected, dict):
        return different_stages(result, expected, tolerance, name)
    if isinstance(expected, bool | int | float):
        return different_number(result, expected, tolerance, name)
    return different_array(result, expected, tolerance, name)


def different_parts(result: Any, expected: tuple, tolerance: float, name: str) -> Difference | None:
    if isinstance(result, np.ndarray) and result.ndim == 1:
        result = tuple(result)
    if not isinstance(result, tuple | list):
        return Difference("wrong type", f"{name} should be a tuple of {len(expected)}, yours is {kind_of(result)}")
    if len(result) != len(expected):
        return Difference("wrong shape", f"{name} should be a tuple of {len(expected)}, yours holds {len(result)}")
    parts = (
        difference(r, e, tolerance, f"part {n} of {name}")
        for n, (r, e) in enumerate(zip(result, expected, strict=True), 1)
    )
    return next(filter(None, parts), None)


def different_stages(result: Any, expected: dict, tolerance: float, name: str) -> Difference | None:
    """The first stage that differs, in the order in which they are computed."""
    if not isinstance(result, dict):
        return Difference("wrong type", f"{name} should be a dict of stages, yours is {kind_of(result)}")
    before = None
    for stage, value in expected.items():
        if stage not in result:
            return Difference("wrong type", f"the stage {stage} is missing from {name}")
        found = difference(result[stage], value, tolerance, f"your {stage}")
        if found:
            right = f"your stages agree up to {before}" if before else "no stage agrees"
            return Difference(found.kind, f"{right}; the first that differs is {stage}: {found.words}")
        before = stage
    return None


def different_number(result: Any, expected: float, tolerance: float, name: str) -> Difference | None:
    wanted = "a whole number" if isinstance(expected, int) else "a number"
    if isinstance(result, np.ndarray) and result.size == 1 and result.ndim == 0:
        result = result[()]
    if isinstance(result, bool | np.bool_) or not isinstance(result, int | float | np.integer | np.floating):
        return Difference("wrong type", f"{name} should be {wanted}, yours is {kind_of(result)}")
    if isinstance(expected, int):
        if not isinstance(result, int | np.integer):
            return Difference(
                "wrong type", f"{name} should be a whole number, yours is {result!r}; // divides without a fraction"
            )
        return None if result == expected else Difference("wrong numbers", f"{name} is {result}, expected {expected}")
    if not np.isfinite(result):
        return Difference("not finite", f"{name} is {result}, expected {expected:.7g}")
    if gap(result, expected) <= max(tolerance, FLOAT32 * is_single(result)):
        return None
    return Difference("wrong numbers", beside(name, result, expected))


def different_array(result: Any, expected: np.ndarray, tolerance: float, name: str) -> Difference | None:
    array = as_array(result)
    if array is None or array.dtype.kind not in "biuf":
        what = f"an array of {array.dtype}" if isinstance(result, np.ndarray) else kind_of(result)
        return Difference("wrong type", f"{name} should be an array of shape {expected.shape}, yours is {what}")
    if (expected.dtype == bool) != (array.dtype == bool):
        return Difference("wrong type", f"{name} should hold {expected.dtype}, yours holds {array.dtype}")
    if array.shape != expected.shape:
        return Difference("wrong shape", f"{name} should have shape {expected.shape}, yours has {array.shape}")
    if expected.dtype == bool:
        return different_truths(array, expected, name)
    if not np.isfinite(array).all():
        place = first(~np.isfinite(array))
        return Difference(
            "not finite", f"{name} is {array[place]} at {subscript(place)}, expected {expected[place]:.7g}"
        )
    return different_numbers(array, expected, tolerance, name)


def different_truths(array: np.ndarray, expected: np.ndarray, name: str) -> Difference | None:
    wrong = array != expected
    if not wrong.any():
        return None
    place = first(wrong)
    where = f"{name} differs in {wrong.sum()} of {wrong.size} places, first at {subscript(place)}"
    words = f"{where}: {array[place]}, expected {expected[place]}"
    return Difference("wrong numbers", words)


def different_numbers(array: np.ndarray, expected: np.ndarray, tolerance: float, name: str) -> Difference | None:
    if gap(array, expected) <= max(tolerance, FLOAT32 * is_single(array)):
        return None
    gaps = np.abs(array.astype(np.float64) - expected)
    place = np.unravel_index(gaps.argmax(), gaps.shape)
    words = (
        f"shapes agree, {expected.shape}; the largest difference is {gaps[place]:.3g} at {subscript(place)}: "
        + beside(name, array[place], expected[place])
    )
    return Difference("wrong numbers", words + clue(array, expected, tolerance))


def gap(result: Any, expected: Any) -> float:
    """The largest difference, as a share of the largest expected number; infinite where the two cannot be compared."""
    ours, theirs = parts_of(result), parts_of(expected)
    if len(ours) != len(theirs):
        return np.inf
    largest = 0.0
    for a, b in zip(map(as_array, ours), map(as_array, theirs), strict=True):
        if a is None or a.shape != b.shape or a.dtype.kind not in "biuf" or not np.isfinite(a).all():
            return np.inf
        furthest = np.abs(a.astype(np.float64) - b).max(initial=0.0)
        largest = max(largest, furthest / (np.abs(b).max(initial=0.0) or 1.0))
    return float(largest)


def parts_of(value: Any) -> list:
    """The parts of a tuple, list or dict; what is none of them is its own only part."""
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, tuple | list) else [value]


def beside(name: str, number: float, expected: float) -> str:
    """Both numbers, with as many digits as it takes to tell them apart."""
    digits = next((n for n in range(7, 17) if f"{number:.{n}g}" != f"{expected:.{n}g}"), 17)
    return f"{name} is {number:.{digits}g}, expected {expected:.{digits}g}"


def clue(array: np.ndarray, expected: np.ndarray, tolerance: float) -> str:
    """One more sentence where the result is the expected one in another guise: a factor, an offset, a turned matrix."""

    def close(a: np.ndarray, b: np.ndarray) -> bool:
        return np.abs(a - b).max() <= 10 * tolerance * max(np.abs(b).max(), 1e-300)

    if array.size < 3 or np.ptp(expected) == 0:
        return ""
    place = np.unravel_index(np.abs(expected).argmax(), expected.shape)
    factor, offset = array[place] / expected[place], array[place] - expected[place]
    if factor and abs(factor - 1) > 1e-4 and close(array / factor, expected):
        return f" (yours is the expected result times {factor:.7g})"
    if abs(offset) > 1e-4 * np.abs(expected).max() and close(array - offset, expected):
        return f" (yours is the expected result plus {offset:.7g})"
    if array.ndim == 2 and array.shape[0] == array.shape[1] and close(array.T, expected):
        return " (yours is the expected result with rows and columns exchanged)"
    return ""


def same(result: Any, other: Any, tolerance: float) -> bool:
    """Do two results agree, NaN and infinity included? Used to recognise a known mistake."""
    if isinstance(other, dict):
        return isinstance(result, dict) and all(n in result and same(result[n], o, tolerance) for n, o in other.items())
    if isinstance(other, tuple):
        return (
            isinstance(result, tuple | list)
            and len(result) == len(other)
            and all(same(r, o, tolerance) for r, o in zip(result, other, strict=True))
        )
    a, b = as_array(result), as_array(other)
    if a is None or b is None or a.shape != b.shape or a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return False
    if a.dtype == bool or b.dtype == bool:
        return a.dtype == b.dtype and np.array_equal(a, b)
    finite = np.isfinite(b)
    if not np.array_equal(finite, np.isfinite(a)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return False
    allowed = max(tolerance, FLOAT32 * is_single(a)) * (np.abs(b[finite]).max(initial=0.0) or 1.0)
    return bool(np.abs(a[finite].astype(np.float64) - b[finite]).max(initial=0.0) <= allowed)


def as_array(result: Any) -> np.ndarray | None:
    """The result as an array, or None where it is nothing of the kind."""
    if result is None or isinstance(result, str | bytes | dict | set) or callable(result):
        return None
    try:
        return np.asarray(result)
    except Exception:
        return None


def is_single(result: Any) -> bool:
    """Does any part of it hold float32 or less?"""
    types = [part.dtype for part in parts_of(result) if hasattr(part, "dtype")]
    return any(dtype.kind == "f" and dtype.itemsize < 8 for dtype in types)


def first(where: np.ndarray) -> tuple:
    return np.unravel_index(where.argmax(), where.shape)


def subscript(place: tuple) -> str:
    return "[" + ", ".join(str(int(i)) for i in place) + "]"


def kind_of(result: Any) -> str:
    """What came back, in words."""
    if isinstance(result, np.ndarray):
        return f"an array of shape {result.shape}"
    name = type(result).__name__
    extra = {
        "generator": " (made by yield; return the result instead)",
        "coroutine": " (an async function; leave async out)",
    }
    return ("an " if name[0] in "aeiou" else "a ") + name + extra.get(name, "")
