"""Switches of which two may be on at once: throw them, and see a picture and bars for what is on.

Plain HTML: the switches are check boxes, each choice has its figure in the page, and the style sheet shows the one that is
meant, so no script is needed.  In print the choice that was made stays.  Chapter: the encoder block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations, count

import numpy as np
from PIL import Image

from vitbook.figures.colours import CURVE
from vitbook.figures.thumbnails import exact_picture, photo
from vitbook.widgets.kit import AsHtml, style
from vitbook.widgets.steps.widget import bar, painted

CURTAIN = 0.86  # how much of the photograph is covered where nothing is read

_numbers = count(1)


@dataclass(frozen=True)
class State:
    """What comes of one choice: in words, as light on the photograph (rows, columns), and as bars.

    bars: name -> (share from 0 to 1, its words, name of a colour of the palette).
    """

    shows: str
    weights: np.ndarray
    bars: Mapping[str, tuple[float, str, str]]


class Switchboard(AsHtml):
    """The switches and their states: a notebook shows them as HTML."""

    def __init__(
        self, question: str, names: Sequence[str], states: Mapping[tuple[int, ...], State], picture: Image.Image
    ):
        wanted = {(), *((n,) for n in range(len(names))), *combinations(range(len(names)), 2)}
        if set(states) != wanted:
            raise ValueError(f"there must be a state for none, for each and for every two of {len(names)} switches")
        self.question, self.names, self.states, self.picture = question, tuple(names), dict(states), picture

    def __repr__(self) -> str:
        return f"<{self.question} {', '.join(self.names)}>"

    def _repr_html_(self) -> str:
        uid = f"vb-sb-{next(_numbers)}"
        shown = "".join(
            f"{self._on(uid, chosen)}~.stage>figure:nth-of-type({n}){{display:grid}}\n"
            for n, chosen in enumerate(self.states, start=1)
        )
        seen = f"#{uid}{{--shape:{self.picture.width}/{self.picture.height};--photo:url({photo(self.picture)})}}\n"
        boxes = "".join(
            f'<input type="checkbox" class="vb-unseen" id="{uid}-{n}" autocomplete="off">'
            f'<label for="{uid}-{n}">{escape(words)}</label>'
            for n, words in enumerate(self.names)
        )
        figures = "".join(map(_figure, self.states.values()))
        return (
            f'<fieldset class="vb-widget vb-steps vb-switchboard" id="{uid}">'
            f"<style>{style('switchboard/widget.css', painted(self.states.values()) + seen + shown)}</style>"
            f"<legend>{escape(self.question)}</legend>{boxes}"
            f'<div class="stage" aria-live="polite">{figures}<p class="many">Two at a time: switch one of them off.</p></div>'
            "</fieldset>"
        )

    def _on(self, uid: str, chosen: tuple[int, ...]) -> str:
        """The selector that holds while these switches are on and all others off."""
        return "~".join(f"#{uid}-{n}:{'checked' if n in chosen else 'not(:checked)'}" for n in range(len(self.names)))


def switches(
    question: str, names: Sequence[str], states: Mapping[tuple[int, ...], State], picture: Image.Image
) -> Switchboard:
    """Switches with a state for each choice of at most two.

    states: the places of those that are on, from 0 and rising -> what comes of it.  picture: what the light falls on.
    Raises ValueError unless every choice of none, one or two has its state.
    """
    return Switchboard(question, names, states, picture)


def _figure(state: State) -> str:
    bars = "".join(bar(name, *given) for name, given in state.bars.items())
    return (
        f'<figure><div class="seen"><img alt="" src="{_curtain(state.weights)}"></div>'
        f"<figcaption><b>{escape(state.shows)}</b>{bars}</figcaption></figure>"
    )


def _curtain(weights: np.ndarray) -> str:
    """A dark sheet over the photograph, open where much is read; closed everywhere where nothing is."""
    light = (np.asarray(weights, float) / max(float(np.max(weights)), 1e-12)) ** CURVE
    sheet = np.zeros((*light.shape, 2), np.uint8)
    sheet[..., 0] = 14
    sheet[..., 1] = np.rint(255 * CURTAIN * (1 - light))
    return exact_picture(Image.fromarray(sheet, "LA"))
