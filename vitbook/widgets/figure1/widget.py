"""Figure 1 of the paper, drawn anew from a checkpoint, a photograph and one run: a page's worth of plain HTML and SVG.

Nothing in it needs a kernel or a network. Each part of the drawing links to its chapter and shows, when pointed at,
focused or tapped, the tensor that really stands there. Chapter: Figure 1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import count

from PIL import Image

from vitbook.figures.palette import INKS
from vitbook.figures.svg import tag
from vitbook.figures.thumbnails import COOL, WARM, photo
from vitbook.model import run
from vitbook.pictures import load_picture
from vitbook.pixels import preprocess, view_box
from vitbook.trace import Trace
from vitbook.widgets.figure1.cards import card, chapter, small_picture, table
from vitbook.widgets.figure1.drawing import Drawing
from vitbook.widgets.figure1.parts import BARS_KEY, Part, costs, parts
from vitbook.widgets.figure1.pieces import UNIT, Pieces
from vitbook.widgets.kit import script, style
from vitbook.widgets.kit.checkpoints import checkpoint_of
from vitbook.wording import brief

_numbers_of_figures = count(1)


def figure_1(checkpoint, picture="chelsea", layer: int = 1, tour: Mapping[str, Sequence[str]] | None = None) -> Figure1:
    """Figure 1 for this checkpoint and picture, with one layer (counted from 1) enlarged.

    picture: whatever `load_picture` takes.  tour: id of a section of the page -> the parts that it speaks of; while those
    sections, which follow the figure in the same section, pass below it, the drawing stays in sight and shows these parts.
    Raises ValueError for what is no checkpoint, for a layer that the model does not have, for a tour to a part that the
    drawing does not have, and what `load_picture` and `preprocess` raise.
    """
    checkpoint_of(checkpoint)
    picture = load_picture(picture)
    trace = run(checkpoint, preprocess(picture, checkpoint))
    found = parts(checkpoint, trace, layer)
    stops = {section: _stop(keys, found) for section, keys in (tour or {}).items()}
    return Figure1(checkpoint, picture, trace, layer, found, f"vb-f1-{next(_numbers_of_figures)}", stops)


def _stop(keys: Sequence[str], found: Mapping[str, Part]) -> list[str]:
    """The parts of one step of the tour, as they are called in the page."""
    known = [*found, BARS_KEY]
    if isinstance(keys, str) or not set(keys) <= set(known):
        raise ValueError(f"a step of the tour names parts in a list, out of {', '.join(known)}; got {brief(keys)}")
    return list(keys)


@dataclass(frozen=True, eq=False, repr=False)
class Figure1:
    """Figure 1 for one checkpoint, picture and layer; a notebook shows it as HTML.

    parts: every part by key (see `parts.Part`).  trace: the run that it shows.  uid: what its ids start with.
    tour: see `figure_1`.
    """

    checkpoint: object
    picture: Image.Image
    trace: Trace
    layer: int
    parts: dict[str, Part]
    uid: str
    tour: dict[str, list[str]]

    @cached_property
    def drawing(self) -> Drawing:
        """The drawing, ready for either arrangement."""
        cost = costs(self.checkpoint.config, self.checkpoint.weights.K)
        return Drawing(Pieces(self.parts, self.trace, self.layer, self.uid, chapter), cost)

    def svg(self, layout: str = "wide") -> str:
        """The bare drawing, "wide" or "tall"; its photograph lives outside it, in the HTML."""
        if layout not in ("wide", "tall"):
            raise ValueError(f"layout must be 'wide' or 'tall', got {layout!r}")
        return getattr(self.drawing, layout)()

    def __repr__(self) -> str:
        return self.drawing.in_words()

    def _repr_html_(self) -> str:
        return "".join([
            f'<div class="vb-widget vb-figure1" id="{self.uid}" data-first="x"{self._tour()}><style>{_style()}</style>',
            f'<div class="vb-f1-stage"><div class="vb-f1-view">{self._shared_photo()}{self.svg("wide")}{self.svg("tall")}</div>',
            f'<div class="vb-f1-panel" role="region" aria-label="The part that is chosen" tabindex="0">{self._cards()}</div></div>',
            '<div class="vb-f1-tools"><button type="button" class="vb-button" data-does="screen" hidden>Full screen</button>'
            '<button type="button" class="vb-button" data-does="whole" aria-pressed="false" hidden>Whole drawing</button>'
            "<span>Point at a part, tap it, or walk through with Tab and the arrow keys.</span></div>",
            table(self.parts, self.drawing.in_words()),
            f"<script>{_script()}</script></div>",
        ])  # fmt: skip

    def _tour(self) -> str:
        return f' data-tour="{escape(json.dumps(self.tour))}"' if self.tour else ""

    def _cards(self) -> str:
        run_of = (self.checkpoint, self.trace, self.layer, self.uid)
        return "".join(card(part, small_picture(part, *run_of), shown=key == "x") for key, part in self.parts.items())

    def _shared_photo(self) -> str:
        """The photograph once, in a drawing of no size, for all that shows it to use; a little sharper than the model gets it."""
        c = self.checkpoint.config
        box = view_box(self.picture.size, self.checkpoint.preprocessing)
        sharp = self.picture.resize((c.W * 3 // 2, c.H * 3 // 2), Image.Resampling.LANCZOS, box=box)
        size = {"width": UNIT * c.columns, "height": UNIT * c.rows, "preserveAspectRatio": "none"}
        image = tag("image", id=f"{self.uid}-photo", href=photo(sharp, 80), **size)
        return tag("svg", tag("defs", image), class_="vb-f1-shared", aria_hidden="true", focusable="false")


def _script() -> str:
    """The script as a page runs it at once, before what follows is laid out: no module, and its names stay its own."""
    return f"(() => {{\n{script('figure1/widget.js').replace('export function', 'function')}}})();"


def _style() -> str:
    """The style sheet, with a box, a piece of a bar and a letter in each ink of the palette."""
    inks = "".join(
        f".vb-figure1 .box.{name}{{stroke:var(--vb-{name});fill:color-mix(in srgb,var(--vb-{name}) 12%,var(--vb-ground))}}"
        f".vb-figure1 .piece.{name}{{fill:var(--vb-{name})}}.vb-figure1 text.{name}{{fill:var(--vb-{name})}}"
        for name in INKS
    )
    return style("figure1/widget.css", inks, cool=(COOL, COOL), warm=(WARM, WARM))
