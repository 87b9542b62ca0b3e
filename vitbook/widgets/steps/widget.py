"""A few pictures of which one is shown at a time: choose how much of something is done to a picture, and see what comes of it.

Plain HTML: the choices are radio buttons and the style sheet shows what is chosen, so no script is needed.  Without the
style sheet, and in print, all steps stand one after the other.  Chapter: positions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count

from PIL import Image

from vitbook.figures.thumbnails import photo
from vitbook.widgets.kit import AsHtml, style

_numbers = count(1)


@dataclass(frozen=True)
class Step:
    """One step: the words of its choice, a picture, what the picture shows, and its bars.

    bars: name -> (share from 0 to 1, its words, name of a colour of the palette).
    """

    choice: str
    picture: Image.Image
    shows: str
    bars: Mapping[str, tuple[float, str, str]]


class Steps(AsHtml):
    """The steps to look at: a notebook shows them as HTML."""

    def __init__(self, question: str, steps: Sequence[Step], chosen: int = 0):
        if not steps:
            raise ValueError("there must be at least one step")
        if not 0 <= chosen < len(steps):
            raise ValueError(f"chosen must be from 0 to {len(steps) - 1}, got {chosen}")
        self.question, self.steps, self.chosen = question, tuple(steps), chosen

    def __repr__(self) -> str:
        return f"<{self.question} {', '.join(step.choice for step in self.steps)}>"

    def _repr_html_(self) -> str:
        uid = f"vb-steps-{next(_numbers)}"
        shown = "".join(
            f".vb-steps>input:nth-of-type({n}):checked~figure:nth-of-type({n}){{display:grid}}"
            for n in range(1, len(self.steps) + 1)
        )
        choices = "".join(
            f'<input type="radio" class="vb-unseen" name="{uid}" id="{uid}-{n}"{" checked" if n == self.chosen else ""}>'
            f'<label for="{uid}-{n}">{escape(step.choice)}</label>'
            for n, step in enumerate(self.steps)
        )
        sheet = style(
            "steps/widget.css", f"{painted(self.steps)}@media screen{{.vb-steps>figure{{display:none}}{shown}}}\n"
        )
        return (
            f'<fieldset class="vb-widget vb-steps" id="{uid}"><style>{sheet}</style><legend>{escape(self.question)}</legend>'
            f"{choices}{''.join(map(_figure, self.steps))}</fieldset>"
        )


def stepper(question: str, *steps: Step, chosen: int = 0) -> Steps:
    """One question with an answer for each step; chosen: the step shown first, from 0.  Raises ValueError where there is none."""
    return Steps(question, steps, chosen)


def painted(shown: Iterable) -> str:
    """The rules that give the bars of these steps (or of other things with bars) their inks."""
    inks = dict.fromkeys(ink for each in shown for *_, ink in each.bars.values())
    return "".join(f".vb-steps .vb-ink-{ink}{{background:var(--vb-{ink})}}" for ink in inks)


def _figure(step: Step) -> str:
    bars = "".join(bar(name, *given) for name, given in step.bars.items())
    return (
        f'<figure><img alt="{escape(step.shows)}" src="{photo(step.picture)}"><figcaption>'
        f"<b>{escape(step.shows)}</b>{bars}</figcaption></figure>"
    )


def bar(name: str, share: float, words: str, ink: str) -> str:
    """A line of words with a bar below it that is as long as the share."""
    wide = 100 * min(max(share, 0.0), 1.0)
    return (
        f'<div class="bar"><span>{escape(name)}</span><span class="value">{escape(words)}</span>'
        f'<i class="vb-ink-{ink}" aria-hidden="true" style="width:{wide:.1f}%"></i></div>'
    )
