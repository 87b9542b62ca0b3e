"""Attributes that refuse what they cannot be, in one sentence, and keep what they were: None and wrong types included."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any

import traitlets

from vitbook.checks import flag, whole
from vitbook.wording import brief


class Checked(traitlets.TraitType):
    """Holds what `check(widget, value)` makes of a value; what it refuses, by a ValueError, never gets in."""

    def __init__(self, check: Callable[[Any, Any], Any], default: Any = None):
        super().__init__(default)
        self.check = check

    def validate(self, obj, value):
        try:
            return self.check(obj, value)
        except ValueError as error:
            if type(error) is not ValueError:  # a PictureError says more by its name
                raise
            raise traitlets.TraitError(str(error)) from None


class Whole(Checked):
    """A whole number, NumPy's and torch's too, from `least` to `most`: a number, None (no end), or a function of the widget."""

    def __init__(
        self, default: int = 0, least: int = 1, most: int | Callable[[Any], int] | None = None, note: str = ""
    ):
        super().__init__(
            lambda obj, value: whole(value, self.name, least, most(obj) if callable(most) else most, note), default
        )


class OneOf(Checked):
    """One of some names."""

    def __init__(self, names: Iterable[str], default: str):
        super().__init__(lambda _, value: one_of(value, names, self.name), default)


class Flag(Checked):
    """True or False, NumPy's too."""

    def __init__(self, default: bool):
        super().__init__(lambda _, value: flag(value, self.name), default)


class KnownAttributes:
    """A mixin: a misspelt attribute is refused by name instead of becoming a new one that nothing listens to."""

    def __setattr__(self, name: str, value) -> None:
        if not name.startswith("_") and not hasattr(type(self), name):
            raise AttributeError(unknown(name, type(self).__name__, choices_of(type(self))))
        super().__setattr__(name, value)


def choices_of(widget: type) -> list[str]:
    """The traits that a class of ours adds to those of its library, in their order."""
    classes = [
        cls for cls in reversed(widget.__mro__) if issubclass(cls, KnownAttributes) and cls is not KnownAttributes
    ]
    return [name for cls in classes for name in vars(cls) if name in cls.class_traits() and not name.startswith("_")]


def unknown(name: str, owner: str, known: Iterable[str]) -> str:
    """The sentence for a name that is none of those known."""
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
    return f"{owner} has no {name!r}; {hint}"


def one_of(value, names: Iterable[str], what: str) -> str:
    """The value, if it is one of these names.  Raises ValueError."""
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{what} must be one of {', '.join(names)}, got {brief(value)}")
    return value
