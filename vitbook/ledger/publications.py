"""The numbers that documents published about ViT, as they were printed: `published.toml`, read.

Digits stay text, for two reasons: the printed precision says how far another number may lie from this one, and a
chapter that quotes a number by its name can neither mistype nor round it.  Chapter: the ledger.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from vitbook.wording import brief

FILE = Path(__file__).with_name("published.toml")

#: Units of the last printed digit that a number computed here may be away: half of one for the rounding in print, and a
#: twentieth for float32, whose last bits differ from machine to machine.
UNITS = 0.55
#: How many times larger than printed a row of rounding noise may be: the printed number is an upper limit, and no more.
NOISE = 10
KINDS = ("digits", "bound", "claim")

_NUMBER = re.compile(r"([-+]?)(\d[\d,]*)(?:\.(\d+))?(?:e([-+]?\d+))?([kM%]?)")
_SCALE = {"": 1.0, "k": 1e3, "M": 1e6, "%": 1e-2}


@dataclass(frozen=True)
class Token:
    """One printed number or word.  value: the number, or None for a word; unit: one in its last printed digit."""

    text: str
    value: float | None = None
    unit: float | None = None

    @classmethod
    def read(cls, text: str) -> Token:
        """``86,567,656``, ``-0.267``, ``6.68e-06``, ``32.7%``, ``9.9k`` and ``28.35M`` are numbers; all else is a word."""
        found = _NUMBER.fullmatch(text)
        if not found:
            return cls(text)
        sign, whole, decimals, exponent, suffix = found.groups()
        power = int(exponent or 0)
        value = float(f"{sign}{whole.replace(',', '')}.{decimals or 0}e{power}") * _SCALE[suffix]
        return cls(text, value, 10.0 ** (power - len(decimals or "")) * _SCALE[suffix])

    def printed_alike(self, measured: Any) -> str:
        """A number computed here, with as many digits as this one was printed with, so that the two can be read together."""
        if self.value is None or isinstance(measured, str | bool):
            return str(measured)
        _, whole, decimals, exponent, suffix = _NUMBER.fullmatch(self.text).groups()
        form = f".{len(decimals or '')}{'e' if exponent else 'f'}"
        return f"{measured / _SCALE[suffix]:{',' if ',' in whole else ''}{form}}{suffix}"


@dataclass(frozen=True)
class Entry:
    """One row of `published.toml`; the head of that file says what each field means."""

    name: str
    document: str
    where: str
    quantity: str
    needs: str
    chapter: str
    tokens: tuple[Token, ...]
    here: str | None = None
    kind: str = "digits"
    tolerance: Mapping[str, float] | None = None
    structural: str | None = None
    erratum: str | None = None
    sum: str | None = None
    correct: tuple[Token, ...] = ()
    lines: tuple[int, ...] = ()  # numbers in each line of print, for a matrix
    so: str | None = None
    holds: bool = False

    @property
    def text(self) -> str:
        """The printed numbers as they stand, one space between two; words are separated by semicolons."""
        return joined([token.text for token in self.tokens])

    @property
    def value(self) -> float | int:
        """The one number of the row, an int where no decimals were printed.  Raises ValueError for several, or a word."""
        if len(self.tokens) != 1:
            raise ValueError(f"{self.name} holds {len(self.tokens)} numbers; use .values")
        return self.values[0]

    @property
    def values(self) -> tuple[float | int, ...]:
        """The numbers of the row, in the order of print.  Raises ValueError where one of them is a word."""
        if words := [token.text for token in self.tokens if token.value is None]:
            raise ValueError(f"{self.name} holds words, not numbers only: {', '.join(words)}")
        return tuple(int(t.value) if t.unit >= 1 else t.value for t in self.tokens)


def published(name: str) -> Entry:
    """The published number of that name, such as ``published("table1.base.parameters").text``, which is ``86M``.

    Raises KeyError naming the closest names there are.
    """
    known = entries()
    if not isinstance(name, str) or name not in known:
        near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.4)
        raise KeyError(
            f"no published number {brief(name)}; " + (f"close: {', '.join(near)}" if near else "see entries()")
        )
    return known[name]


@cache
def entries() -> dict[str, Entry]:
    """Name -> entry, in the order of the file.  Raises ValueError naming a row that is not as the file's head says."""
    out: dict[str, Entry] = {}
    for group in file()["group"]:
        for row in group["row"]:
            entry = _entry(f"{group['name']}.{row['name']}", {k: v for k, v in group.items() if k != "row"} | row)
            if entry.name in out:
                raise ValueError(f"published.toml has two rows named {entry.name}")
            out[entry.name] = entry
    return out


@cache
def file() -> dict[str, Any]:
    """The whole file.  documents: key -> title, and what it is; needs: what a row may need; chapters: name -> what its rows
    teach, and a short title; cats: how the picture of the two cats is known.
    """
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def joined(texts: list[str]) -> str:
    """Several tokens as one line."""
    return ("; " if any(" " in text for text in texts) else " ").join(texts)


def _entry(name: str, raw: dict[str, Any]) -> Entry:
    try:
        said = raw.pop("said", None)
        printed = raw.pop("printed") if said is None else [said]
        tokens, correct = (_tokens(p) for p in (printed, raw.pop("correct", "")))
        lines = tuple(len(line.split()) for line in printed.strip().split("\n")) if isinstance(printed, str) else ()
        kind = {"kind": "claim"} if said else {}
        entry = Entry(**raw | {"name": name, "tokens": tokens, "correct": correct, "lines": lines} | kind)
    except (KeyError, TypeError) as error:
        raise ValueError(f"published.toml, row {name}: {error}") from None
    checks = {
        "printed is empty": not tokens,
        f"unknown document {entry.document!r}": entry.document not in file()["documents"],
        f"unknown need {entry.needs!r}": entry.needs not in file()["needs"],
        f"unknown chapter {entry.chapter!r}": entry.chapter not in file()["chapters"],
        f"unknown kind {entry.kind!r}": entry.kind not in KINDS,
        "an erratum needs its reason, its sum and the correct numbers": entry.kind != "claim"
        and not bool(entry.erratum) == bool(entry.sum) == bool(correct),
        "a claim needs what is so, and the numbers that show it": (entry.kind == "claim") != bool(entry.so and correct),
        "a bound is made of numbers": entry.kind == "bound" and any(t.value is None for t in tokens),
    }
    if wrong := [what for what, is_so in checks.items() if is_so]:
        raise ValueError(f"published.toml, row {name}: {'; '.join(wrong)}")
    return entry


def _tokens(printed: str | list[str]) -> tuple[Token, ...]:
    return tuple(map(Token.read, printed.split() if isinstance(printed, str) else printed))
