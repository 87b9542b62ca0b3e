"""A count as a sum of formulas, each formula a line of text in the paper's letters, such as ``4*D**2 + D + 3*b*D``.

The same characters are evaluated here, printed in the chapter (`as_text`, `as_latex`) and evaluated in the browser, so
the three cannot drift apart. A formula is read as arithmetic and never run as code. Used by `vitbook.studies.counting` (whole
numbers) and `vitbook.studies.patterns` (fractions and arrays as well).
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from itertools import groupby
from typing import Any

_SIGNS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: operator.pow, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_FUNCTIONS = {"abs": abs, "min": min, "max": max, "floor": math.floor, "ceil": math.ceil}


@dataclass(frozen=True)
class Term:
    """One part of a count: its formula for one occurrence, and how often it occurs ("L" for a part of every layer)."""

    name: str
    title: str
    formula: str
    times: str = "1"


def evaluate(formula: str, letters: Mapping[str, Any]) -> Any:
    """What a formula comes to for the given letters: numbers, fractions, or arrays where it has no function but abs.

    It may hold whole numbers, letters, brackets, + - * / // % **, one comparison a bracket, & and |, and the functions abs, min,
    max, floor and ceil.  Raises NameError for a letter that is missing and ValueError for anything else in it.
    """
    return _value(_read(formula), letters, formula)


@lru_cache(maxsize=1024)
def _read(formula: str) -> ast.expr:
    try:
        return ast.parse(formula.strip(), mode="eval").body
    except SyntaxError:
        raise ValueError(f"{formula!r} is no formula") from None


def _value(node: ast.expr, letters: Mapping[str, Any], formula: str) -> Any:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.Name(id=letter):
            if letter not in letters:
                raise NameError(f"no letter {letter} in {formula!r}; there are {', '.join(letters)}")
            return letters[letter]
        case ast.BinOp(left=left, op=sign, right=right) | ast.Compare(left=left, ops=[sign], comparators=[right]):
            if type(sign) in _SIGNS:
                return _SIGNS[type(sign)](_value(left, letters, formula), _value(right, letters, formula))
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, letters, formula)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(argument, letters, formula) for argument in arguments))
    raise ValueError(f"{ast.unparse(node)} has no meaning in a formula, and {formula!r} holds it")


def as_text(formula: str) -> str:
    """``4*D**2 + 3*b*D`` as 4D² + 3bD."""
    return formula.replace("**2", "²").replace("*", "")


def as_latex(formula: str) -> str:
    """``4*D**2 + 3*b*D`` as the LaTeX 4 D^2 + 3 b D."""
    return formula.replace("**2", "^2").replace("*", " ")


def percent(share: float) -> str:
    """A share from 0 to 1 as a percentage with one digit; what would be written as 0.0% though it is more says "< 0.1%"."""
    return "< 0.1%" if 0 < share < 0.0005 else f"{share:.1%}"


def closed_form(terms: Iterable[Term]) -> str:
    """The whole count as one formula, in the order of the terms; what every layer has stands inside L*(...)."""
    groups = [
        (times, " + ".join(term.formula for term in run)) for times, run in groupby(terms, key=lambda term: term.times)
    ]
    return " + ".join(run if times == "1" else f"{times}*({run})" for times, run in groups)


@dataclass(frozen=True)
class Part:
    """A term with its numbers: `each` for one occurrence, `times` occurrences, `total` for all of them."""

    term: Term
    each: int
    times: int

    @property
    def total(self) -> int:
        return self.each * self.times


@dataclass(frozen=True, repr=False)
class Count:
    """A sum of named parts: ``count["mlp"].each`` is the MLP of one layer, ``count["mlp"].total`` that of all layers.

    Printed, and shown in a notebook, it is a table.
    """

    title: str
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, title: str, terms: Iterable[Term], letters: Mapping[str, int]) -> Count:
        """The count that the terms give for these letters."""
        return cls(title, tuple(Part(t, evaluate(t.formula, letters), evaluate(t.times, letters)) for t in terms))

    def __getitem__(self, name: str) -> Part:
        for part in self.parts:
            if part.term.name == name:
                return part
        raise KeyError(f"no part {name!r}; the parts are {', '.join(part.term.name for part in self.parts)}")

    @property
    def total(self) -> int:
        return sum(part.total for part in self.parts)

    @property
    def layer(self) -> int:
        """One encoder layer."""
        return sum(part.each for part in self.parts if part.term.times == "L")

    def share(self, *names: str) -> float:
        """What the named parts are of the total, from 0 to 1."""
        return sum(self[name].total for name in names) / self.total

    def rows(self) -> list[dict[str, str | int | float]]:
        """One row for each part that is not zero: part, formula (as text), each, times, total, share."""
        return [
            {
                "part": part.term.title,
                "formula": as_text(part.term.formula),
                "each": part.each,
                "times": part.times,
                "total": part.total,
                "share": part.total / self.total,
            }
            for part in self.parts
            if part.total
        ]

    def _table(self) -> list[tuple[str, ...]]:
        body = [
            (r["part"], r["formula"], f"{r['each']:,}", f"× {r['times']}", f"{r['total']:,}", percent(r["share"]))
            for r in self.rows()
        ]
        return [
            ("part", "formula", "each", "times", "all", "share"),
            *body,
            ("total", "", "", "", f"{self.total:,}", "100.0%"),
        ]

    def __repr__(self) -> str:
        table = self._table()
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = (
            "  ".join(f"{cell:{side}{w}}" for cell, side, w in zip(row, "<<>>>>", widths, strict=True)) for row in table
        )
        return "\n".join([self.title, *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        sides = ("left", "left", "right", "right", "right", "right")

        def line(row: tuple[str, ...], tag: str) -> str:
            pairs = zip(row, sides, strict=True)
            cells = (f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>' for cell, side in pairs)
            return f"<tr>{''.join(cells)}</tr>"

        head, *body = self._table()
        rows = "".join(line(row, "td") for row in body)
        return f"<table><caption>{escape(self.title)}</caption><thead>{line(head, 'th')}</thead><tbody>{rows}</tbody></table>"
