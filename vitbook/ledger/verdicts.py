"""The ledger: published numbers beside what this build computes for them, and a verdict.  Chapter: the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vitbook.checks import part
from vitbook.config import VARIANTS
from vitbook.ledger.publications import NOISE, UNITS, Entry, Token, entries, file, joined, published

AGREES, DIFFERS, ERRATUM, HOLDS, REFUTED = "agrees", "differs", "erratum", "is so", "is not so"
REFERENCE = VARIANTS["ViT-B/16"], 1000
SIZES = ("H", "W", "P", "C", "D", "L", "heads", "M")
#: Levels (0 to 255) that the mean colour of the published picture may be off: decoders of JPEG differ, pictures differ more.
COLOUR = 2.0


@dataclass(frozen=True)
class Row:
    """An entry, what was computed for it (None where that was not possible) and the verdict.

    judged: whether the two may be compared at all; where not, a measured value is that of another model and only says
    that the machinery runs.
    """

    entry: Entry
    measured: tuple[Any, ...] | None
    verdict: str
    judged: bool

    @property
    def texts(self) -> list[str]:
        """The measured values, each with as many digits as its printed number; empty where there are none."""
        return written(self.entry, self.measured or ())

    @property
    def text(self) -> str:
        """The measured values as one line."""
        return joined(self.texts)

    @property
    def away(self) -> list[float]:
        """Measured minus printed, in units of the last printed digit, number by number; empty where something is a word."""
        values = self.measured or ()
        if any(t.value is None for t in self.entry.tokens) or any(isinstance(v, str | bool) for v in values):
            return []
        return [(value - token.value) / token.unit for token, value in zip(self.entry.tokens, values, strict=False)]


@dataclass(frozen=True, repr=False)
class Ledger:
    """All rows, in the order of `published.toml`; on: what they were measured on."""

    rows: tuple[Row, ...]
    on: str

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.entry.name == name:
                return row
        raise KeyError(f"no row {name!r}; published() finds names close to it")

    def where(self, **wanted: str) -> Ledger:
        """The rows with these values of verdict, document, needs or kind: ``ledger.where(verdict="differs")``."""
        unknown = wanted.keys() - {"verdict", "document", "needs", "kind"}
        if unknown:
            raise ValueError(
                f"rows are chosen by verdict, document, needs or kind, not by {', '.join(sorted(unknown))}"
            )
        found = (r for r in self if all(getattr(r if k == "verdict" else r.entry, k) == v for k, v in wanted.items()))
        return Ledger(tuple(found), self.on)

    @property
    def printed(self) -> Ledger:
        """The rows that hold something printed: all but the claims."""
        return Ledger(tuple(row for row in self if row.entry.kind != "claim"), self.on)

    @property
    def numbers(self) -> int:
        """How many printed numbers the rows hold."""
        return sum(token.value is not None for row in self for token in row.entry.tokens)

    @property
    def verdicts(self) -> dict[str, int]:
        """Verdict -> number of rows, the most frequent first."""
        return dict(Counter(row.verdict for row in self.rows).most_common())

    def table(self) -> list[dict[str, str]]:
        """One dict a row, as text."""
        return [
            {field: getattr(row.entry, field) or "" for field in ("name", "where", "quantity", "here")}
            | {"document": file()["documents"][row.entry.document]["title"], "published": row.entry.text}
            | {
                "measured": row.text if row.judged else "",
                "verdict": row.verdict,
                "why": row.entry.erratum or row.entry.so or "",
            }
            for row in self.rows
        ]

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {verdict}" for verdict, n in self.verdicts.items())
        return f"<Ledger of {len(self)} rows with {self.numbers} published numbers on {self.on}: {counts}>"


def read_ledger(checkpoint=None, picture=None, names: Sequence[str] | None = None) -> Ledger:
    """The published numbers beside this build's: all rows, or only those of some names, in their order.

    checkpoint: as `load_checkpoint` returns it, or None.  picture: whatever `load_picture` takes, or None.
    Rows of the published run of ViT-B/16 are judged only on a checkpoint of the same sizes and on the picture of the two
    cats; elsewhere their verdict says what is lacking.  Verdicts: agrees (to the printed digits), differs, erratum (the
    printed number is wrong and ours is the right one), those that begin with "needs"; and of claims, is so and is not so.
    Raises PictureError for a picture that cannot be read, ValueError for a checkpoint that is none, KeyError for a name that
    no row has.
    """
    from vitbook.ledger.measure import Here
    from vitbook.pictures import load_picture
    from vitbook.weights import Weights

    if checkpoint is not None:
        part(checkpoint, "weights", Weights)
    picture = None if picture is None else load_picture(picture)
    here = Here(checkpoint, picture)
    present = _present(checkpoint, picture)
    on = [getattr(checkpoint, "name", "a checkpoint") if checkpoint else "no checkpoint"]
    on.append("no picture" if picture is None else "the two cats" if is_the_cats(picture) else "another picture")
    chosen = entries().values() if names is None else map(published, names)
    return Ledger(tuple(_row(entry, here, present) for entry in chosen), " and ".join(on))


def close(measured: Any, token: Token, entry: Entry) -> bool:
    """Whether one computed value agrees with one printed token, by the rule of its entry."""
    if token.value is None or isinstance(measured, str | bool):
        return str(measured) == token.text
    if entry.kind == "bound":
        return abs(measured) <= NOISE * token.value
    if entry.tolerance:
        return abs(measured - token.value) <= entry.tolerance["atol"] + entry.tolerance["rtol"] * abs(token.value)
    return abs(measured - token.value) <= UNITS * token.unit


def judge(measured: Sequence[Any], entry: Entry) -> str:
    """agrees or differs; for an erratum, erratum: the correct numbers agree and the printed ones do not; or of a claim."""
    agrees, corrected = (
        len(measured) == len(tokens) and all(close(m, t, entry) for m, t in zip(measured, tokens, strict=True))
        for tokens in (entry.tokens, entry.correct)
    )
    if entry.kind == "claim":
        return (HOLDS if entry.holds else REFUTED) if corrected else DIFFERS
    if entry.erratum:
        return ERRATUM if corrected and not agrees else DIFFERS
    return AGREES if agrees else DIFFERS


def written(entry: Entry, measured: Sequence[Any]) -> list[str]:
    """Measured values as text, with the digits of print where there are as many of them."""
    tokens = entry.correct or entry.tokens
    if len(tokens) != len(measured):
        return [f"{v:.4g}" if isinstance(v, float) else str(v) for v in measured]
    return [token.printed_alike(value) for token, value in zip(tokens, measured, strict=True)]


def is_the_cats(picture) -> bool:
    """Whether an upright RGB picture is that of the two cats, by its size and its mean colour."""
    cats = file()["cats"]
    mean = picture.resize((1, 1), 4).getpixel((0, 0))  # 4: Pillow's box filter, which averages
    return list(picture.size) == cats["size"] and all(
        abs(m - c) <= COLOUR for m, c in zip(mean, cats["mean"], strict=True)
    )


def _row(entry: Entry, here, present: set[str]) -> Row:
    from vitbook.ledger.measure import Lacking, measured

    judged = entry.needs in present
    try:
        values = measured(entry, here)
    except Lacking:
        values = None
    except ValueError:
        if judged:
            raise
        values = None  # another model has no such layer, head or class
    if judged:
        return Row(entry, values, judge(values, entry), True)
    need = "pixels" if entry.needs == "run" and "weights" in present else entry.needs
    return Row(entry, values, file()["needs"][need]["lacking"], False)


def _present(checkpoint, picture) -> set[str]:
    """The needs that are met."""
    met = {"nothing"} | ({"pixels"} if picture is not None and is_the_cats(picture) else set())
    weights = getattr(checkpoint, "weights", None)
    if weights is not None and weights.K == REFERENCE[1]:
        if all(getattr(weights.config, letter) == getattr(REFERENCE[0], letter) for letter in SIZES):
            met |= {"weights", "run"} if "pixels" in met else {"weights"}
    if getattr(checkpoint, "name", None) == file()["needs"]["in21k"]["checkpoint"]:
        met.add("in21k")
    return met
