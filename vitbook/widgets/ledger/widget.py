"""The ledger as a page: every row as plain HTML that needs no script, and a small script that filters it.

Rows stand in groups that open and close (`details`), so the page stays short; a search or a verdict opens the groups where
something matches.  Chapter: the ledger.
"""

from __future__ import annotations

from html import escape
from itertools import count, groupby

from vitbook.ledger.publications import documents, joined, needs
from vitbook.ledger.verdicts import AGREES, DIFFERS, ERRATUM, Ledger, Row
from vitbook.widgets.kit import script, style
from vitbook.wording import brief

#: Verdict -> (its mark, its short name for filters).  Everything else needs something that is not here.
MARKS = {AGREES: ("✓", "agrees"), DIFFERS: ("≠", "differs"), ERRATUM: ("!", "erratum")}
NEEDS = ("…", "needs")
WORDS = {"agrees": "agrees", "differs": "differs", "erratum": "erratum", "needs": "needs something"}
_numbers = count(1)


class LedgerTable:
    """A `Ledger` to look at: a notebook shows it as HTML.  opened: whether its groups start open."""

    def __init__(self, ledger: Ledger, opened: bool = False):
        self.ledger, self.opened = ledger, opened

    def __repr__(self) -> str:
        return repr(self.ledger)

    def _repr_html_(self) -> str:
        uid = f"vb-ledger-{next(_numbers)}"
        groups = groupby(self.ledger, key=lambda row: (row.entry.document, row.entry.title))
        body = "".join(_group(title, document, list(rows), self.opened) for (document, title), rows in groups)
        return (
            f'<div class="vb-widget vb-ledger" id="{uid}"><style>{style("ledger/widget.css")}</style>{self._controls(uid)}'
            f'{body}<p class="none" hidden>No row matches.</p><script>{script("ledger/widget.js")}</script></div>'
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}

    def _controls(self, uid: str) -> str:
        """Search, verdicts, document; hidden until the script is there to answer."""
        counts = {name: sum(_mark(row)[1] == name for row in self.ledger) for name in WORDS}
        buttons = "".join(
            _verdict_button(mark, name, counts[name]) for mark, name in (*MARKS.values(), NEEDS) if counts[name]
        )
        used = dict.fromkeys(row.entry.document for row in self.ledger)
        options = "".join(f'<option value="{escape(key)}">{escape(documents()[key]["title"])}</option>' for key in used)
        return (
            f'<form class="controls" role="search" aria-label="Filter the ledger" hidden>'
            f'<label for="{uid}-words">Search '
            f'<input class="vb-control" type="search" id="{uid}-words" autocomplete="off" spellcheck="false"></label>'
            f'<label for="{uid}-document">Document <select class="vb-control" id="{uid}-document">'
            f'<option value="">all</option>{options}</select></label>'
            f'<div class="verdicts" role="group" aria-label="Verdicts">{buttons}</div>'
            f'<p role="status" class="status"></p><button type="button" class="vb-button all">Open all</button></form>'
        )


def _verdict_button(mark: str, name: str, count: int) -> str:
    return (
        f'<button type="button" class="vb-button" data-verdict="{name}" aria-pressed="false">'
        f'<span class="sign {name}" aria-hidden="true">{mark}</span> {WORDS[name]} <b>{count}</b></button>'
    )


def ledger_table(ledger: Ledger, opened: bool = False) -> LedgerTable:
    """The filterable table of a ledger; opened: whether its groups start open.  Raises ValueError for what is no ledger."""
    if not isinstance(ledger, Ledger):
        raise ValueError(f"ledger must be what read_ledger returns, got {brief(ledger)}")
    return LedgerTable(ledger, opened)


def _group(title: str, document: str, rows: list[Row], opened: bool) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        counts[_mark(row)[1]] = counts.get(_mark(row)[1], 0) + 1
    marks = dict((name, mark) for mark, name in (*MARKS.values(), NEEDS))
    said = "".join(_tally(marks[name], name, n) for name, n in counts.items())
    head = "".join(f'<th scope="col">{name}</th>' for name in ("quantity", "published", "measured here", "verdict"))
    body = "".join(map(_row, rows))
    return (
        f'<details data-document="{escape(document)}"{" open" if opened else ""}><summary><span class="title">{escape(title)}</span>'
        f'<span class="from">{escape(documents()[document]["title"])}</span><span class="tallies">{said}</span></summary>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></details>"
    )


def _tally(mark: str, name: str, n: int) -> str:
    return (
        f'<span class="tally"><span class="sign {name}" aria-hidden="true">{mark}</span>{n}'
        f'<span class="vb-unseen"> {WORDS[name]}</span></span>'
    )


def _row(row: Row) -> str:
    entry, (mark, name) = row.entry, _mark(row)
    need = needs()[entry.needs]
    wants = ", ".join(dict.fromkeys(what for what in (need["checkpoint"], need["picture"]) if what != "none"))
    why = f'<small class="why">{escape(entry.erratum)}</small>' if entry.erratum else ""
    bound = "<small>an order of magnitude</small>" if entry.kind == "bound" else ""
    wrong = bool(entry.erratum) and all(token.value is not None for token in entry.tokens)
    published = _samp([token.text for token in entry.tokens], entry.lines, "wrong" if wrong else "")
    measured = _samp(row.texts, entry.lines) if row.judged else '<span class="absent">not here</span>'
    return (
        f'<tr data-verdict="{name}"><th scope="row">{escape(entry.quantity)}'
        f"<small>{escape(entry.where)}{' · on ' + escape(wants) if wants else ''} · <code>{escape(entry.name)}</code></small>{why}</th>"
        f'<td data-label="published">{published}{bound}</td><td data-label="measured here">{measured}</td>'
        f'<td data-label="verdict"><span class="sign {name}" aria-hidden="true">{mark}</span> {escape(row.verdict)}</td></tr>'
    )


def _samp(texts: list[str], lines: tuple[int, ...], kind: str = "") -> str:
    """Numbers as they stand in print: a matrix keeps its lines, its columns aligned to the right."""
    if len(lines) < 2 or len(texts) != sum(lines):
        return f'<samp class="{kind}">{escape(joined(texts))}</samp>'
    width, left, rows = max(map(len, texts)), list(texts), []
    for n in lines:
        rows.append(" ".join(text.rjust(width) for text in left[:n]))
        left = left[n:]
    return (
        f'<samp class="matrix {kind}" tabindex="0" role="group" aria-label="matrix">{escape(chr(10).join(rows))}</samp>'
    )


def _mark(row: Row) -> tuple[str, str]:
    return MARKS.get(row.verdict, NEEDS)
