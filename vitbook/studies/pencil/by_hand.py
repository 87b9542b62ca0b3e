"""One number of MSA(z) followed from z by hand: every product, sum, exponential and weight on its way, as plain data.

The arithmetic here is Python's own, one number at a time, so that it also serves as a second witness to the tensors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from vitbook.checks import whole
from vitbook.studies.pencil.equations import check
from vitbook.studies.pencil.example import U_MSA, U_QKV, Z

#: e to a power above this is taken relative to the row's largest score, since float64 ends near e^709.
LARGEST_POWER = 700
MOST_DIGITS = 15  # of a term, so that a calculator gives the result as it is written


@dataclass(frozen=True)
class Line:
    """One line of arithmetic.

    what: "q", "k", "v" (Eq. 5), "dot", "score", "exp", "sum", "A" (Eq. 6), "SA" (Eq. 7) or "MSA" (Eq. 8).
    head: counted from 1, None for MSA; row, column: the place in the array of that name, counted from 0 as Python does.
    operation: "products" (multiply within each term, then add up the terms), "quotient" or "exp".
    terms: the numbers that enter; value: what comes out.
    """

    what: str
    equation: int
    head: int | None
    row: int
    column: int | None
    operation: str
    terms: tuple[tuple[float, ...], ...]
    value: float

    @property
    def name(self) -> str:
        """Such as ``q_1[0, 2]``: head 1, token t0, third column."""
        place = f"[{self.row}]" if self.column is None else f"[{self.row}, {self.column}]"
        return self.what + ("" if self.head is None else f"_{self.head}") + place

    def text(self, digits: int = 3, of_terms: int | None = None) -> str:
        """The line as one would write it: ``dot_1[0, 0] = 2·1 + (-1)·0 + 2·0 = 2``.  of_terms: their digits, if others."""
        numbers = [[tidy(number, digits if of_terms is None else of_terms) for number in term] for term in self.terms]
        if self.operation == "exp":
            middle = f"exp({numbers[0][0]})"
        elif self.operation == "quotient":
            middle = " / ".join(bracketed(number) for number in numbers[0])
        else:
            middle = " + ".join("·".join(bracketed(number) for number in term) for term in numbers)
        return f"{self.name} = {middle} = {tidy(self.value, digits)}"

    def closed(self, digits: int = 3) -> str:
        """The line with so many digits in its terms that a calculator makes of them the result as it is written.

        Where the result lies in the very middle between two ways to write it, either is right, and this is the even one.
        """
        written = tidy(self.value, digits)
        unit = 10.0 ** ((int(written.split("e")[1]) if abs(self.value) >= 1e9 else 0) - digits)

        def off(more: int) -> float:
            terms = [[float(tidy(number, more)) for number in term] for term in self.terms]
            return abs(_calculated(self.operation, terms) - float(written)) / unit

        for most in (0.5 - 1e-6, 0.5 + 1e-6):
            for more in range(digits, MOST_DIGITS + 1):
                if off(more) < most:
                    return self.text(digits, more)
        return self.text(digits)


def _calculated(operation: str, terms: list[list[float]]) -> float:
    if operation == "exp":
        return math.exp(terms[0][0])
    return terms[0][0] / terms[0][1] if operation == "quotient" else math.fsum(math.prod(term) for term in terms)


def follow(token: int, column: int, z=Z, U_qkv=U_QKV, U_msa=U_MSA) -> list[Line]:
    """Eq. 5 to 8 for the one number MSA(z)[token, column], line after line, in the order in which one would write them.

    token, column: places in MSA(z), counted from 0. Raises ValueError when they lie outside, or as `steps` does.
    """
    z, U_qkv, U_msa = (
        part.tolist() if hasattr(part, "tolist") else [U.tolist() for U in part] for part in check(z, U_qkv, U_msa)
    )
    token, column = whole(token, "token", 0, len(z) - 1), whole(column, "column", 0, len(U_msa[0]) - 1)
    lines, joined = [], []
    for h, U in enumerate(U_qkv, start=1):
        lines += follow_head(h, token, z, U)
        joined += [line.value for line in lines if (line.what, line.head) == ("SA", h)]
    factors = [U_msa[c][column] for c in range(len(joined))]
    return [*lines, products("MSA", 8, None, token, column, joined, factors)]


def follow_head(h: int, i: int, z: list[list[float]], U_qkv: list[list[float]]) -> list[Line]:
    """Eq. 5 to 7 of head h for the query of token i: q of that token, k and v of every token, one row of A, one of SA."""
    D_h, tokens = len(U_qkv[0]) // 3, range(len(z))

    def project(what: str, first: int, n: int) -> list[Line]:
        return [products(what, 5, h, n, c, z[n], [row[first + c] for row in U_qkv]) for c in range(D_h)]

    q = project("q", 0, i)
    k = [project("k", D_h, n) for n in tokens]
    v = [project("v", 2 * D_h, n) for n in tokens]
    dots = [products("dot", 6, h, i, n, values(q), values(k[n])) for n in tokens]
    A = list(follow_softmax(h, i, values(dots), D_h))
    weights = values([line for line in A if line.what == "A"])
    SA = [products("SA", 7, h, i, c, weights, [v[n][c].value for n in tokens]) for c in range(D_h)]
    return [*q, *chain(*k), *chain(*v), *dots, *A, *SA]


def follow_softmax(h: int, i: int, dots: Sequence[float], D_h: int) -> Iterator[Line]:
    """Eq. 6 for one row: the scores, their exponentials, the sum, the weights."""
    scores = [
        Line("score", 6, h, i, n, "quotient", ((dot, math.sqrt(D_h)),), dot / math.sqrt(D_h))
        for n, dot in enumerate(dots)
    ]
    yield from scores
    shift = max(values(scores)) if max(map(abs, values(scores))) > LARGEST_POWER else 0.0
    powers = [s - shift for s in values(scores)]
    exps = [Line("exp", 6, h, i, n, "exp", ((power,),), math.exp(power)) for n, power in enumerate(powers)]
    yield from exps
    total = math.fsum(values(exps))
    yield Line("sum", 6, h, i, None, "products", tuple((e,) for e in values(exps)), total)
    for n, e in enumerate(values(exps)):
        yield Line("A", 6, h, i, n, "quotient", ((e, total),), e / total)


def products(what: str, equation: int, head: int | None, row: int, column: int, left, right) -> Line:
    """A dot product, left and right paired term by term."""
    terms = tuple(zip(left, right, strict=True))
    return Line(what, equation, head, row, column, "products", terms, math.fsum(a * b for a, b in terms))


def values(lines: Sequence[Line]) -> list[float]:
    return [line.value for line in lines]


def tidy(number: float, digits: int) -> str:
    """Whole numbers without decimals, others with `digits`, very large ones with an exponent; no minus before a zero."""
    if abs(number) >= 1e9:
        return f"{number:.{digits}e}"
    text = f"{number:.0f}" if float(number).is_integer() else f"{number:.{digits}f}"
    return text if float(text) else text.lstrip("-")


def bracketed(number: str) -> str:
    return f"({number})" if number.startswith("-") else number
