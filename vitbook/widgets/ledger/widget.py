"""The ledger as a page: every row as plain HTML that needs no script, and a small script that filters it.

Rows stand in groups that open and close (`details`), one for what each chapter teaches, so the page stays short; a search
or a verdict opens the groups where something matches.  Errata alone, or claims, are one plain table.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from itertools import count

from vitbook.figures.glued import typographic
from vitbook.ledger.publications import file, joined
from vitbook.ledger.record import Record
from vitbook.ledger.verdicts import AGREES, DIFFERS, ERRATUM, HOLDS, REFUTED, Ledger, Row
from vitbook.widgets.kit import AsHtml, script, style
from vitbook.wording import brief

#: Verdict -> (its mark, its short name for filters).  Everything else needs something that is not here.
MARKS = {
    AGREES: ("✓", "agrees"),
    DIFFERS: ("≠", "differs"),
    ERRATUM: ("!", "erratum"),
    HOLDS: ("✓", "holds"),
    REFUTED: ("!", "refuted"),
}
NEEDS = ("…", "needs")
WORDS = {
    "agrees": "agrees",
    "differs": "differs",
    "erratum": "erratum",
    "holds": "is so",
    "refuted": "is not so",
    "needs": "not checked",
}
CLAIMS = "Claims, tested"
_numbers = count(1)


class LedgerTable(AsHtml):
    """A `Ledger` to look at: a notebook shows it as HTML.  record: a third column of numbers."""

    def __init__(self, ledger: Ledger, record: Record | None = None):
        self.ledger, self.record = ledger, record

    def __repr__(self) -> str:
        return repr(self.ledger)

    def _repr_html_(self) -> str:
        uid = f"vb-ledger-{next(_numbers)}"
        opening = f'<div class="vb-widget vb-ledger" id="{uid}"><style>{style("ledger/widget.css")}</style>'
        groups = {name: [] for name in file()["chapters"]} | {CLAIMS: []}
        for row in self.ledger:
            groups[CLAIMS if row.entry.so else row.entry.chapter].append(row)
        groups = {name: rows for name, rows in groups.items() if rows}
        if len(groups) == 1 or all(row.entry.erratum for row in self.ledger):
            return f"{opening}{self._table(list(self.ledger))}</div>"
        body = "".join(self._group(name, rows) for name, rows in groups.items())
        return (
            f'{opening}{self._controls(uid)}{body}<p class="none" hidden>No row matches.</p>'
            f"<script>{script('ledger/widget.js')}</script></div>"
        )

    def _controls(self, uid: str) -> str:
        """Search, verdicts, document; hidden until the script is there to answer."""
        counts = Counter(_mark(row) for row in self.ledger)
        buttons = "".join(
            f'<button type="button" class="vb-button" data-verdict="{name}" aria-pressed="false">'
            f'<span class="sign {name}" aria-hidden="true">{mark}</span> {WORDS[name]} <b>{counts[mark, name]}</b></button>'
            for mark, name in (*MARKS.values(), NEEDS) if counts[mark, name]
        )  # fmt: skip
        used = dict.fromkeys(row.entry.document for row in self.ledger)
        options = "".join(
            f'<option value="{escape(key)}">{escape(file()["documents"][key]["title"])}</option>' for key in used
        )
        return (
            f'<form class="controls" role="search" aria-label="Filter the ledger" hidden>'
            f'<label for="{uid}-words">Search <input class="vb-control" type="search" id="{uid}-words" autocomplete="off" '
            f'spellcheck="false" placeholder="a number, a word, a place"></label>'
            f'<label for="{uid}-document">Document <select class="vb-control" id="{uid}-document">'
            f'<option value="">all</option>{options}</select></label>'
            f'<div class="verdicts" role="group" aria-label="Verdicts">{buttons}</div>'
            f'<p role="status" class="status"></p><button type="button" class="vb-button all">Open all</button></form>'
        )

    def _group(self, chapter: str, rows: list[Row]) -> str:
        said = "".join(
            f'<span class="tally"><span class="sign {name}" aria-hidden="true">{mark}</span>{n}'
            f'<span class="vb-unseen"> {WORDS[name]}</span></span>'
            for (mark, name), n in sorted(
                Counter(map(_mark, rows)).items(), key=lambda kind: list(WORDS).index(kind[0][1])
            )
        )
        title, place = file()["chapters"].get(chapter, (chapter, "each with what shows it"))
        return (
            f'<details><summary><span class="title">{escape(title)}</span>'
            f'<span class="from">{escape(place)}</span><span class="tallies">{said}</span></summary>{self._table(rows)}</details>'
        )

    def _table(self, rows: list[Row]) -> str:
        heads = ["what", "printed", "computed here", "verdict"]
        if rows[0].entry.so:
            heads[:2] = ["what was said, and what is so"]
        elif self.record:
            heads.insert(3, f"computed on {self.record.date}")
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
        body = "".join(self._row(row, heads) for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _row(self, row: Row, heads: list[str]) -> str:
        entry, (mark, name) = row.entry, _mark(row)
        need, chapter = file()["needs"][entry.needs], file()["chapters"][entry.chapter][1]
        wants = ", ".join(dict.fromkeys(what for what in (need["checkpoint"], need["picture"]) if what != "none"))
        shown = (f'<b class="sum">{escape(entry.sum)}</b> ' if entry.sum else "") + escape(
            entry.erratum or entry.so or ""
        )
        why = f'<small class="why">{shown}</small>' if shown else ""
        said = f"{'said' if entry.so else 'printed'} in {file()['documents'][entry.document]['short']}"
        published = _samp(entry.tokens, [t.text for t in entry.tokens], entry.lines, "wrong" if entry.erratum else "")
        measured = _samp(entry.correct or entry.tokens, row.texts, entry.lines)
        cells = [
            published + ("<small>an upper limit</small>" if entry.kind == "bound" else ""),
            measured if row.judged else '<span class="absent">not checked</span>',
            *([self._recorded(row)] if self.record else []),
            f'<span class="sign {name}" aria-hidden="true">{mark}</span> {escape(row.verdict)}',
        ]
        if entry.so:
            cells = [f"<small>{escape(entry.quantity)}</small>{cells[1]}", cells[-1]]
        return (
            f'<tr data-verdict="{name}" data-document="{escape(entry.document)}">'
            f'<th scope="row">{f"<q>{escape(entry.text)}</q>{why}" if entry.so else escape(entry.quantity)}'
            f'<small><a href="{escape(entry.chapter)}.html">{escape(chapter)}</a> explains it · {escape(said)}: {escape(entry.where)}'
            f"{' · on ' + escape(wants) if wants else ''} · <code>{escape(entry.name)}</code></small>{'' if entry.so else why}</th>"
            + "".join(f'<td data-label="{escape(h)}">{cell}</td>' for h, cell in zip(heads[1:], cells, strict=True))
            + "</tr>"
        )

    def _recorded(self, row: Row) -> str:
        """What the record has for a row, and the verdict that follows from it."""
        if row.entry.name not in self.record.rows:
            return '<span class="absent">not in it</span>'
        mark, name = MARKS[self.record.verdict(row.entry)]
        numbers = _samp(row.entry.tokens, self.record.texts(row.entry), row.entry.lines)
        return f'{numbers}<small><span class="sign {name}" aria-hidden="true">{mark}</span> {WORDS[name]}</small>'


def ledger_table(ledger: Ledger, record: Record | None = None) -> LedgerTable:
    """The table of a ledger, with filters where it has several groups; record: as `read_record` returns it.

    Raises ValueError for what is no ledger.
    """
    if not isinstance(ledger, Ledger):
        raise ValueError(f"ledger must be what read_ledger returns, got {brief(ledger)}")
    return LedgerTable(ledger, record)


def _samp(tokens, texts: list[str], lines: tuple[int, ...], kind: str = "") -> str:
    """Numbers as they stand in print, with its minus: a matrix keeps its lines, its columns aligned to the right."""
    if all(token.value is not None for token in tokens):
        texts = [typographic(text).replace(" ", "\u00a0") for text in texts]
    if len(lines) < 2 or len(texts) != sum(lines):
        return f'<samp class="{kind}">{escape(joined(texts))}</samp>'
    width, left = max(map(len, texts)), iter(texts)
    rows = "\n".join(" ".join(next(left).rjust(width) for _ in range(n)) for n in lines)
    return f'<samp class="matrix {kind}" tabindex="0" role="group" aria-label="matrix">{escape(rows)}</samp>'


def _mark(row: Row) -> tuple[str, str]:
    return MARKS.get(row.verdict, NEEDS)
