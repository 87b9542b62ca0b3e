"""Words that come from elsewhere, such as the names of classes and files, made fit to be read.

This is for the eye, not for safety: whatever puts such words on a page still escapes them.
"""

from __future__ import annotations

import unicodedata

#: Invisible marks that turn the reading direction, of the words around them too.  Letters read from the right are none.
_TURNS = dict.fromkeys(map(ord, "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"))


def one_line(text: str, most: int = 80) -> str:
    """The text in one line of at most so many characters, without control characters and marks that turn its direction.

    What no file can hold (half of a surrogate pair, from a file name that is not UTF-8) becomes a replacement sign.
    """
    shown = "".join(_shown(letter) for letter in text.translate(_TURNS))
    line = " ".join(shown.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def brief(value: object, most: int = 60) -> str:
    """A value as a message can show it: its `repr` in one line, cut where it grows long."""
    try:
        return one_line(repr(value), most)
    except Exception:  # __repr__ may be anybody's code
        return f"a {type(value).__name__}"


def _shown(letter: str) -> str:
    kind = unicodedata.category(letter)
    if kind == "Cc":
        return " "
    return "\ufffd" if kind == "Cs" or letter in "\ufffe\uffff" else letter
