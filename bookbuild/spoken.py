"""Formulas in words, for those who listen: MathML in, one line of English out, as one would read it to a friend.

Screen readers that know MathML read a formula by themselves; the others say these words, where they would say "z l prime M S A".
What a script, a root or a fraction holds ends in words of its own where it is longer than one sign: "z sub l minus 1 end sub".
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from xml.etree.ElementTree import Element

WORDS = {
    "=": "equals", "≠": "does not equal", "<": "less than", ">": "greater than", "≤": "at most", "≥": "at least", "≈": "about",
    "+": "plus", "−": "minus", "±": "plus or minus", "×": "times", "⋅": "times", "/": "over", "⊙": "times entry by entry",
    "∈": "in", "→": "to", "⟶": "becomes", "∑": "sum", "′": "prime", "⊤": "transposed", "…": "and so on", "⋯": "and so on",
    "(": "open paren", ")": "close paren", "[": "open bracket", "]": "close bracket", "{": "open brace", "}": "close brace",
    "⌊": "floor of", "⌋": "end floor", "‖": "norm bar", "|": "bar", ";": "semicolon", "\N{FUNCTION APPLICATION}": "of",
    "\N{INVISIBLE TIMES}": "", "\N{INVISIBLE SEPARATOR}": "", "ℓ": "l", "¯": "bar", "ˆ": "hat", "˜": "tilde",
}  # fmt: skip
POWERS = {"2": "squared", "3": "cubed"}
OF_GREEK = {"GREEK", "SMALL", "LETTER", "LUNATE", "SYMBOL"}  # the names in Unicode of α, Δ, ϵ; capital stays
AS_IT_IS = {"prime", "transposed"}  # above a letter
PAUSE = 1.0  # em: a gap that wide is a comma
WORD = 3  # letters in a row and nothing else are a word


def spoken(math: Element) -> str:
    """The words of a whole ``<math>``."""
    words = " ".join(_say(math).split()).replace(". . .", WORDS["…"])
    return words.replace(" ,", ",").replace(",,", ",").strip(" ,.")


def _say(element: Element) -> str:
    return _FORMS.get(element.tag, _row)(element)


def _row(element: Element) -> str:
    letters = [part.text or "" for part in element if part.tag == "mi"]
    if len(letters) == len(element) >= WORD and all("a" <= letter <= "z" for letter in letters):
        return "".join(letters)  # pos, msa
    return " ".join(map(_say, element))


def _token(element: Element) -> str:
    text = (element.text or "").strip()
    if text in WORDS:
        return WORDS[text]
    plain = unicodedata.normalize("NFKC", text)
    name = unicodedata.name(text, "") if len(text) == 1 else ""
    if name.startswith("GREEK"):
        return " ".join(word.lower() for word in name.split() if word not in OF_GREEK)
    return plain


def _closed(start: str, words: str, end: str) -> str:
    """Words that begin what follows and, unless that is one word, end it."""
    return f"{start} {words} {end}" if " " in words.strip() else f"{start} {words}"


def _fraction(element: Element) -> str:
    above, below = map(_say, element)
    if element.get("linethickness") == "0":
        return f"{above} choose {below}"
    return f"fraction {above} over {below} end fraction" if " " in above + below else f"{above} over {below}"


def _root(element: Element) -> str:
    if element.tag == "msqrt":  # which holds a row
        return _closed("square root of", _row(element), "end root")
    radicand, degree = map(_say, element)
    return _closed(f"root of degree {degree} of", radicand, "end root")


def _sub(element: Element) -> str:
    base, below = element
    return f"{_say(base)} {_closed('sub', _say(below), 'end sub')}"


def _sup(element: Element) -> str:
    base, above = element
    return f"{_say(base)} {_above(base, above)}"


def _subsup(element: Element) -> str:
    """A prime belongs to the letter and comes first; a power belongs to both."""
    base, below, above = element
    sub, sup = _closed("sub", _say(below), "end sub"), _above(base, above)
    return f"{_say(base)} {sup} {sub}" if sup in AS_IT_IS else f"{_say(base)} {sub} {sup}"


def _above(base: Element, script: Element) -> str:
    words = _say(script)
    if words in AS_IT_IS:
        return words
    if unicodedata.name((base.text or " ")[0], "").startswith("MATHEMATICAL BOLD"):
        return _closed("super", words, "end super")  # the paper counts its vectors above the letter: no power
    return POWERS.get(words) or _closed("to the power", words, "end power")


def _under(element: Element) -> str:
    base, below = element
    if below.text == "⏟":
        return _say(base)
    if base.tag == "munder":
        return f"{_say(base)}, underbraced as {_say(below)},"
    return f"{_say(base)} over {_say(below)} of"


def _over(element: Element) -> str:
    base, above = element
    return f"{_say(base)} {_say(above)}"


def _underover(element: Element) -> str:
    base, below, above = element
    return f"{_say(base)} from {_say(below)} to {_say(above)} of"


def _table(element: Element) -> str:
    return f"table, {', '.join(', '.join(filter(None, map(_say, row))) for row in element)}, end table"


def _space(element: Element) -> str:
    return "," if float(element.get("width", "0em").removesuffix("em")) >= PAUSE else ""


_FORMS: dict[str, Callable[[Element], str]] = {
    "mi": _token, "mn": _token, "mo": _token, "mtext": _token, "mspace": _space, "mfrac": _fraction, "msqrt": _root, "mroot": _root,
    "msub": _sub, "msup": _sup, "msubsup": _subsup, "munder": _under, "mover": _over, "munderover": _underover, "mtable": _table,
    "mphantom": lambda element: "", "annotation": lambda element: "",
}  # fmt: skip
