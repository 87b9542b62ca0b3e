"""What a check says: readable as text and, in a notebook, as HTML; true when passed; with the failing case inside."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

#: What a report can come to.
KINDS = (
    "passed", "open", "not a function", "signature", "error", "too slow", "changed inputs",
    "wrong type", "wrong shape", "not finite", "wrong numbers",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Report:
    """The verdict on one function.

    exercise: its name; kind: one of `KINDS`; words: what happened, in sentences; call: the failing call in one line.
    mistake: the name of the known mistake whose results are the same as yours ("one + another" where two together are),
    or None; explanation: what it means.
    arguments, expected, got: the failing case itself (arguments as they were before the call), for you to look at.
    traceback: the whole of it where your function raised an error.
    `bool(report)` is true when passed.
    """

    exercise: str
    kind: str
    words: tuple[str, ...]
    call: str = ""
    mistake: str | None = None
    explanation: str = ""
    arguments: tuple = field(default=(), repr=False)
    expected: Any = field(default=None, repr=False)
    got: Any = field(default=None, repr=False)
    traceback: str = field(default="", repr=False)

    @property
    def passed(self) -> bool:
        return self.kind == "passed"

    def __bool__(self) -> bool:
        return self.passed

    @property
    def title(self) -> str:
        verdict = {"passed": "passed", "open": "still open"}.get(self.kind, f"not yet: {self.kind}")
        return f"{'✓' if self.passed else '✗' if self.kind != 'open' else '…'} {self.exercise}: {verdict}"

    @property
    def known(self) -> str:
        return "These are two known mistakes" if " + " in (self.mistake or "") else "This is a known mistake"

    def __repr__(self) -> str:
        lines = [self.title, *self.words]
        if self.mistake:
            lines.append(f"{self.known}, {self.mistake}: {self.explanation}")
        if self.call:
            lines.append(f"The call was {self.call}.")
        return "\n  ".join(lines)

    def _repr_html_(self) -> str:
        parts = [f"<p><strong>{escape(self.title)}</strong></p>", *(f"<p>{escape(line)}</p>" for line in self.words)]
        if self.mistake:
            parts.append(f"<p>{self.known}, <strong>{escape(self.mistake)}</strong>: {escape(self.explanation)}</p>")
        if self.call:
            parts.append(f"<p>The call was <code>{escape(self.call)}</code>.</p>")
        if self.traceback:
            parts.append(
                f"<details><summary>The whole traceback</summary><pre>{escape(self.traceback)}</pre></details>"
            )
        body = "".join(parts)
        style = "border-left: 0.25em solid currentColor; padding-left: 0.8em"
        return f'<div class="vitbook-report {self.kind.replace(" ", "-")}" role="status" style="{style}">{body}</div>'
