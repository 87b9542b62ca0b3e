"""The ledger: every published number beside what this build computes for it, and a verdict.  Chapter: the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vitbook.checks import part
from vitbook.config import VARIANTS
from vitbook.ledger.publications import NOISE, UNITS, Entry, Token, cats, documents, entries, joined, needs, published

AGREES, DIFFERS, ERRATUM = "agrees", "differs", "erratum"
REFERENCE = VARIANTS["ViT-B/16"], 1000
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
        if self.measured is None:
            return []
        tokens = self.entry.correct or self.entry.tokens
        if len(tokens) != len(self.measured):
            return [f"{v:.4g}" if isinstance(v, float) else str(v) for v in self.measured]
        return [token.printed_alike(value) for token, value in zip(tokens, self.measured, strict=True)]

    @property
    def text(self) -> str:
        """The measured values as one line."""
        return joined(self.texts)


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
        """The rows with these values of verdict, document or needs: ``ledger.where(verdict="differs")``."""
        unknown = wanted.keys() - {"verdict", "document", "needs"}
        if unknown:
            raise ValueError(f"rows are chosen by verdict, document or needs, not by {', '.join(sorted(unknown))}")
        return Ledger(tuple(r for r in self.rows if all(_field(r, k) == v for k, v in wanted.items())), self.on)

    @property
    def verdicts(self) -> dict[str, int]:
        """Verdict -> number of rows, the most frequent first."""
        return dict(Counter(row.verdict for row in self.rows).most_common())

    def table(self) -> list[dict[str, str]]:
        """One dict a row, as text."""
        return [
            {
                "name": row.entry.name,
                "document": documents()[row.entry.document]["title"],
                "where": row.entry.where,
                "quantity": row.entry.quantity,
                "published": row.entry.text,
                "measured": row.text if row.judged else "",
                "verdict": row.verdict,
                "why": row.entry.erratum or "",
            }
            for row in self.rows
        ]

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {verdict}" for verdict, n in self.verdicts.items())
        return f"<Ledger of {len(self)} published numbers on {self.on}: {counts}>"


def read_ledger(checkpoint=None, picture=None, names: Sequence[str] | None = None) -> Ledger:
    """Every published number beside this build's, or only the rows of those names, in their order.

    checkpoint: as `load_checkpoint` returns it, or None.  picture: whatever `load_picture` takes, or None.
    Rows of the published run of ViT-B/16 are judged only on a checkpoint of the same sizes and on the picture of the two
    cats; elsewhere their verdict says what is lacking.  Verdicts: agrees (to the printed digits), differs, erratum (the
    printed number is wrong and ours is the right one), and those that begin with "needs".
    Raises PictureError for a picture that cannot be read, ValueError for a checkpoint that is none, KeyError for a name that
    no row has.
    """
    from vitbook.ledger.measure import Here
    from vitbook.weights import Weights

    if checkpoint is not None:
        part(checkpoint, "weights", Weights)
    picture = None if picture is None else _upright(picture)
    here = Here(checkpoint, picture)
    present = _present(here)
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


def judge(measured: tuple[Any, ...], entry: Entry) -> str:
    """agrees, differs, or erratum: then the correct numbers agree and the printed ones do not."""
    agrees = _all_close(measured, entry.tokens, entry)
    if not entry.erratum:
        return AGREES if agrees else DIFFERS
    return ERRATUM if _all_close(measured, entry.correct, entry) and not agrees else DIFFERS


def is_the_cats(picture) -> bool:
    """Whether an upright RGB picture is that of the two cats, by its size and its mean colour."""
    width, height = cats()["size"]
    if picture.size != (width, height):
        return False
    mean = picture.resize((1, 1), 4).getpixel((0, 0))  # 4: Pillow's box filter, which averages
    return all(abs(m - c) <= COLOUR for m, c in zip(mean, cats()["mean"], strict=True))


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
    if not judged:
        return Row(entry, values, _lacking(entry, here), False)
    return Row(entry, values, judge(values, entry), True)


def _present(here) -> set[str]:
    """The needs that are met."""
    met = {"nothing"}
    cats_here = here.picture is not None and is_the_cats(here.picture)
    weights = getattr(here.checkpoint, "weights", None)
    if cats_here:
        met.add("pixels")
    if weights is not None and _sizes(weights.config) == _sizes(REFERENCE[0]) and weights.K == REFERENCE[1]:
        met |= {"weights", "run"} if cats_here else {"weights"}
    if getattr(here.checkpoint, "name", None) == needs()["in21k"]["checkpoint"]:
        met.add("in21k")
    return met


def _lacking(entry: Entry, here) -> str:
    if entry.needs == "run" and "weights" in _present(here):
        return needs()["pixels"]["lacking"]
    return needs()[entry.needs]["lacking"]


def _sizes(config) -> tuple[int, ...]:
    return tuple(getattr(config, letter) for letter in ("H", "W", "P", "C", "D", "L", "heads", "M"))


def _all_close(measured: tuple[Any, ...], tokens: tuple[Token, ...], entry: Entry) -> bool:
    same_length = len(measured) == len(tokens)
    return same_length and all(close(m, t, entry) for m, t in zip(measured, tokens, strict=True))


def _field(row: Row, name: str) -> str:
    return row.verdict if name == "verdict" else getattr(row.entry, name)


def _upright(picture):
    from vitbook.pictures import load_picture

    return load_picture(picture)
