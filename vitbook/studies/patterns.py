"""Section 2's roads to cheaper attention, each as a mask over an H × W grid of tokens, with its exact number of pairs.

Token i stands in row i // W, column i % W (raster order, everything counted from 0; [class] stays outside, see
`with_class_token`). A mask M holds M[i, j] = True where query i may read key j. ``pairs`` is the number of True entries:
each costs D multiply-adds for its scores and D for the weighted sum, over all heads together.

A pattern is data (`patterns.toml`): its rule and its count are lines of text that NumPy, exact fractions and the browser
read alike, so a chapter, a test and a widget cannot disagree. Chapter: related work.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from importlib.resources import files

import numpy as np

from vitbook.checks import whole
from vitbook.studies.formulas import evaluate

#: Above this many tokens a whole mask is refused: N² entries are needed for nothing but looking at them.
MOST_TOKENS = 4096


def _exact(formula: str, letters: Mapping[str, int]) -> int:
    value = evaluate(formula, {letter: Fraction(value) for letter, value in letters.items()})
    if value != int(value):
        raise ArithmeticError(f"{formula} is not whole for {dict(letters)}")
    return int(value)


@dataclass(frozen=True)
class Parameter:
    """A letter that one may choose: its meaning, its value if not chosen (a formula in H, W, N) and its least value."""

    letter: str
    meaning: str
    default: str
    least: int = 1


@dataclass(frozen=True)
class Pattern:
    """Which keys each query reads.

    rule: in i, j (query and key), ri, ci, rj, cj (their rows and columns) and the letters. count: the number of pairs, in
    the letters alone. derived: further letters, each a formula in those before it. needs: what a choice must fulfil, and
    how to say so. cites: keys of the bibliography. Parameters are given to the methods by letter: ``pairs(14, 14, k=3)``.
    """

    name: str
    title: str
    description: str
    cites: tuple[str, ...]
    rule: str
    count: str
    parameters: tuple[Parameter, ...]
    derived: tuple[tuple[str, str], ...]
    needs: tuple[tuple[str, str], ...]

    def letters(self, H: int, W: int, **chosen: int) -> dict[str, int]:
        """H, W, N, the parameters (chosen, or by default) and the derived letters, as whole numbers.

        Raises ValueError for a letter that the pattern lacks and for a value out of its range.
        """
        letters = {"H": whole(H, "H"), "W": whole(W, "W")}
        letters["N"] = letters["H"] * letters["W"]
        known = [parameter.letter for parameter in self.parameters]
        for letter in chosen:
            if letter not in known:
                raise ValueError(f"{self.name} has no parameter {letter!r}; it has {', '.join(known) or 'none'}")
        for p in self.parameters:
            value = chosen[p.letter] if p.letter in chosen else _exact(p.default, letters)
            letters[p.letter] = whole(value, f"{p.letter} ({p.meaning})", p.least)
        for condition, message in self.needs:
            if not evaluate(condition, letters):
                raise ValueError(f"{message}; got {', '.join(f'{letter} = {letters[letter]}' for letter in known)}")
        for letter, formula in self.derived:
            letters[letter] = _exact(formula, letters)
        return letters

    def pairs(self, H: int, W: int, **chosen: int) -> int:
        """Number of (query, key) pairs, by the closed formula: exact, and immediate on any grid."""
        return _exact(self.count, self.letters(H, W, **chosen))

    def share(self, H: int, W: int, **chosen: int) -> float:
        """pairs / N²."""
        return self.pairs(H, W, **chosen) / (whole(H, "H") * whole(W, "W")) ** 2

    def multiply_adds(self, H: int, W: int, D: int, **chosen: int) -> int:
        """2 · pairs · D: scores and weighted sum of one layer, all heads together, softmax left out."""
        return 2 * self.pairs(H, W, **chosen) * whole(D, "D")

    def mask(self, H: int, W: int, **chosen: int) -> np.ndarray:
        """The rule for all queries and keys: bool (N, N). Raises ValueError above `MOST_TOKENS` tokens."""
        letters = self.letters(H, W, **chosen)
        N = letters["N"]
        if N > MOST_TOKENS:
            raise ValueError(
                f"a mask over {N:,} tokens has {N * N:,} entries (the most is {MOST_TOKENS:,} tokens); "
                "pairs() counts without it, sees() shows one query"
            )
        return self._reads(np.arange(N)[:, None], letters)

    def sees(self, row: int, column: int, H: int, W: int, **chosen: int) -> np.ndarray:
        """What the query at (row, column), counted from 0, may read: bool (H, W). No mask is built, so any grid will do."""
        letters = self.letters(H, W, **chosen)
        H, W, row, column = letters["H"], letters["W"], whole(row, "row", 0), whole(column, "column", 0)
        if row >= H or column >= W:
            raise ValueError(f"({row}, {column}) lies outside a grid of {H} rows and {W} columns, counted from 0")
        return self._reads(np.array([[row * W + column]]), letters).reshape(H, W)

    def _reads(self, i: np.ndarray, letters: Mapping[str, int]) -> np.ndarray:
        """The rule for queries i (n, 1) against all keys: bool (n, N)."""
        j = np.arange(letters["N"])[None, :]
        (ri, ci), (rj, cj) = np.divmod(i, letters["W"]), np.divmod(j, letters["W"])
        reads = evaluate(self.rule, dict(letters, i=i, j=j, ri=ri, ci=ci, rj=rj, cj=cj))
        return np.broadcast_to(reads, (i.size, j.size)).copy()

    def as_data(self) -> dict[str, object]:
        """Everything about the pattern as plain lists, dicts and strings, for a widget that has no kernel."""
        return asdict(self)


def _read_patterns() -> dict[str, Pattern]:
    text = files(__package__).joinpath("patterns.toml").read_text(encoding="utf-8")
    patterns = {}
    for name, entry in tomllib.loads(text).items():
        entry["cites"] = tuple(entry["cites"])
        entry["parameters"] = tuple(Parameter(letter, **said) for letter, said in entry.get("parameters", {}).items())
        for pairs in ("derived", "needs"):
            entry[pairs] = tuple(entry.get(pairs, {}).items())
        patterns[name] = Pattern(name, **entry)
    return patterns


#: Every pattern of `patterns.toml` by name, in the order of the story.
PATTERNS: dict[str, Pattern] = _read_patterns()


def _mask(mask: np.ndarray) -> np.ndarray:
    mask = np.asarray(mask)
    if mask.dtype != bool or mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
        raise ValueError(f"a mask is a square bool array (N, N), got {mask.dtype} {mask.shape}")
    return mask


def two_layers(earlier: np.ndarray, later: np.ndarray, residual: bool = True) -> np.ndarray:
    """Which inputs can reach which outputs through two layers: bool (N, N), the product later · earlier.

    Output i is reached by input j if i reads some m in the later layer and m read j in the earlier one. residual: every
    token also carries itself along, as the + of Eq. 2 does. Raises ValueError unless both are square bool masks of one size.
    """
    earlier, later = _mask(earlier), _mask(later)
    if earlier.shape != later.shape:
        raise ValueError(f"the two masks must be over the same tokens, got {earlier.shape} and {later.shape}")
    itself = np.eye(len(earlier), dtype=bool) if residual else False
    # counts of ways stay below 2**24, so float32 holds them exactly
    return (later | itself).astype(np.float32) @ (earlier | itself).astype(np.float32) > 0


def with_class_token(mask: np.ndarray) -> np.ndarray:
    """The mask with [class] put in front: it reads all and is read by all. bool (N + 1, N + 1).

    No row is empty then, so a softmax over the keys is defined even where a pattern gives a query nothing to read.
    """
    return np.pad(_mask(mask), ((1, 0), (1, 0)), constant_values=True)
