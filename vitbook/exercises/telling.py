"""Words about a reader's function: where its error arose, and whether it has any lines at all."""

from __future__ import annotations

import dis
import traceback
from collections.abc import Callable
from types import CodeType

from vitbook.exercises import running


def error_words(error: BaseException, function: Callable) -> str:
    """The error and the reader's own line that led to it."""
    name = type(error).__name__
    try:
        message = f"{name}: {error}" if str(error) else name
    except Exception:
        message = name
    place = place_of(error, function)
    where = "" if place is None else f", in {place}"
    if isinstance(error, SystemExit | KeyboardInterrupt):
        return f"A function that computes should not end the program: yours raised {name}{where}"
    return f"Your function raised {message}{where}"


def traceback_of(error: BaseException) -> str:
    """The traceback from the reader's function on, without the lines of this package that called it."""
    frames = error.__traceback__.tb_next if error.__traceback__ else None
    try:
        return "".join(traceback.format_exception(type(error), error, frames))
    except Exception:
        return type(error).__name__


def sentence(words: str) -> str:
    """With a capital at the front, unless a name such as ln_1 stands there, and a full stop, unless a mark ends it already."""
    first = words[:1] if "_" in words.split(" ", 1)[0] else words[:1].upper()
    return first + words[1:] + ("" if words.endswith((".", "?", "!", ".)")) else ".")


def place_of(error: BaseException, function: Callable) -> str | None:
    """The last line of the reader's code that the error passed through, its number and text, or None if there is none.

    Lines are counted from the function's own first line; in another function of the same cell or file, from its top.
    """
    frames = traceback.extract_tb(error.__traceback__)
    code = getattr(unwrapped(function), "__code__", None)
    own = [frame for frame in frames if code is not None and frame.filename == code.co_filename]
    others = [frame for frame in frames if frame.filename != running.__file__]
    if not own and not others:
        return None
    last = own[-1] if own else others[0]
    where = f"line {last.lineno} of {last.name}'s cell or file"
    if own and last.name == code.co_name:
        where = f"line {last.lineno - code.co_firstlineno + 1} of it"
    return where + (f": {last.line}" if last.line else "")


def unwrapped(function: Callable) -> Callable:
    """The Python function below partials, decorators, methods and objects that can be called."""
    for _ in range(10):  # deep enough for real decorators, and an end for objects that claim every attribute
        inner = next((getattr(function, a) for a in ("func", "__wrapped__", "__func__") if hasattr(function, a)), None)
        if inner is None:
            break
        function = inner
    return function if hasattr(function, "__code__") else type(function).__call__


def is_empty(function: Callable) -> bool:
    """Is there nothing in the function but a docstring, `...` or `pass`?"""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return False
    steps = list(dis.get_instructions(code))
    constants = [step.argval for step in steps if step.opname in ("LOAD_CONST", "RETURN_CONST")]
    idle = {"RESUME", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "NOP"}
    return {step.opname for step in steps} <= idle and constants in ([None], [Ellipsis, None], [Ellipsis])
