"""The reference run: what was printed of ViT-B/16 on two cats, beside what this build computes for the same quantity."""

from __future__ import annotations

from html import escape

from IPython.display import HTML, display

from vitbook.figures.glued import typographic
from vitbook.ledger.publications import Token
from vitbook.ledger.verdicts import ERRATUM, Row, read_ledger
from vitbook.pictures import PICTURES

#: What a verdict of a row that could be compared says in the table; any other is a row of another model.
SAYS = {"agrees": "✓ agrees", "differs": "✗ differs", ERRATUM: "✓ ours is right: the printed number is an erratum"}


def reference_run(*rows: str | tuple[str, str], checkpoint) -> None:
    """Display rows of the ledger as a table: the quantity, what was printed, and what this build has.

    rows: names in `published.toml`, such as "step2.embedding", or (name, words for the quantity).
    checkpoint: as `load_checkpoint` returns it.  The picture is that of the two cats where it is at hand, else the
    catalogue's default.  Only with the reference checkpoint and the two cats are the columns compared.
    Raises KeyError for a name that no row has, ValueError for none at all.
    """
    if not rows:
        raise ValueError("no row was asked for; give names such as 'step2.embedding'")
    words = dict(row if isinstance(row, tuple) else (row, "") for row in rows)
    read = read_ledger(checkpoint, PICTURES.default, tuple(words))
    body = "".join(_line(row, words[row.entry.name] or row.entry.quantity) for row in read)
    needs = {row.entry.needs for row in read}
    if needs == {"nothing"}:
        head = _head("These numbers follow from the sizes of the models alone, so they are compared.", "", "")
    else:
        compared = any(row.judged and row.entry.needs != "nothing" for row in read)
        seen = needs != {"weights"}  # the others show learned numbers, whatever the picture
        head = _head(
            _caption(compared, seen),
            "ViT-B/16, two cats" if seen else "ViT-B/16",
            f"{checkpoint.name}, “{PICTURES.default}”" if seen else checkpoint.name,
        )
    display(HTML(f'<table class="vb-reference">{head}<tbody>{body}</tbody></table>'))


def _caption(compared: bool, seen: bool) -> str:
    """What the table compares: the same model, or another one and its picture."""
    return (
        f"This build has the same model{' and picture' * seen}, so its numbers are compared with the printed ones."
        if compared
        else "Another model and another picture, so other numbers: the last column shows what the same code gives here."
        if seen
        else "Another model, so other learned numbers."
    )


def _head(caption: str, printed: str, here: str) -> str:
    columns = "".join(
        f'<th scope="col">{name}{f"<small>{escape(what)}</small>" if what else ""}</th>'
        for name, what in (("Published", printed), ("Here", here))
    )
    return f'<caption>{caption}</caption><thead><tr><th scope="col">What</th>{columns}</tr></thead>'


def _line(row: Row, words: str) -> str:
    said = SAYS.get(row.verdict, "") if row.judged else ""
    kind = f' class="vb-{row.verdict}"' if said else ""
    verdict = f"<small>{said}</small>" if said else ""
    printed = _numbers([token.text for token in row.entry.tokens])
    here = _numbers(row.texts) or '<span aria-label="not computed here">–</span>'
    return f'<tr{kind}><th scope="row">{escape(words)}</th><td>{printed}</td><td>{here}{verdict}</td></tr>'


def _numbers(texts: list[str]) -> str:
    """Numbers as prose writes them, a wide space between two; words with a semicolon."""
    is_number = [Token.read(text).value is not None for text in texts]
    written = [escape(typographic(text) if number else text) for text, number in zip(texts, is_number, strict=True)]
    return ("&ensp;<wbr>" if all(is_number) else "; ").join(written)
