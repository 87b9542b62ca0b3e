"""The pattern widget: choose an attention pattern, how many tokens and a query; see what it reads, its mask, its cost.

Python hands over the rules as text; everything that is shown is computed in the page, so it works with no kernel. With
one, the choice can be read and set from Python. Chapter: related work.
"""

from __future__ import annotations

from collections.abc import Mapping

import anywidget
import numpy as np
import traitlets

from vitbook.figures.thumbnails import photo
from vitbook.pictures import load_picture
from vitbook.pixels import seen
from vitbook.studies.patterns import PATTERNS, Pattern
from vitbook.widgets.kit import script, style
from vitbook.widgets.kit.checkpoints import checkpoint_of
from vitbook.widgets.kit.traits import Checked, KnownAttributes, OneOf, Whole
from vitbook.wording import brief

SIDES = (7, 14, 16, 28, 32, 56, 112, 224)  # of square grids on offer, beside the checkpoint's own


class PatternWidget(KnownAttributes, anywidget.AnyWidget):
    """Attention patterns over the tokens of one picture.

    pattern: a name in `PATTERNS`; grid: an index into `grids`; query: a token without [class], from 0 in raster order;
    chosen: the pattern's parameters by letter, where they differ from its defaults. Each can be set from Python too;
    what does not exist is refused with a TraitError that says what does.
    """

    _esm = traitlets.Unicode(script("patterns/widget.js")).tag(sync=True)
    _css = traitlets.Unicode(style("patterns/widget.css")).tag(sync=True)
    data = traitlets.Dict().tag(sync=True)
    pattern = OneOf(PATTERNS, "local").tag(sync=True)
    grid = Whole(0, least=0, most=lambda self: len(self.data["grids"]) - 1, note=" (see .data['grids'])").tag(sync=True)
    query = Whole(0, least=0, most=lambda self: self.size[0] * self.size[1] - 1).tag(sync=True)
    chosen = Checked(lambda self, chosen: self._parameters(chosen), {}).tag(sync=True)

    def __init__(self, checkpoint, picture="chelsea", pattern: str = "local", query: int | None = None, **chosen: int):
        """picture: whatever `load_picture` takes; query: the middle of the picture where it is None."""
        config = checkpoint_of(checkpoint).config
        grids = offered_grids(config)
        super().__init__(
            data={
                "patterns": [each.as_data() for each in PATTERNS.values()],
                "grids": grids,
                "D": config.D,
                "picture": photo(seen(load_picture(picture), checkpoint)),
            },
        )
        self.pattern, self.chosen = pattern, chosen
        H, W = self.size
        self.query = (H // 2) * W + W // 2 if query is None else query

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of the grid that is chosen."""
        H, W, _ = self.data["grids"][self.grid]
        return H, W

    @property
    def rule(self) -> Pattern:
        """The pattern that is chosen."""
        return PATTERNS[self.pattern]

    def mask(self) -> np.ndarray:
        """The mask that is chosen, bool (N, N); ValueError where that would be too large (see `Pattern.mask`)."""
        return self.rule.mask(*self.size, **self.chosen)

    def sees(self) -> np.ndarray:
        """What the query reads, bool (rows, columns)."""
        H, W = self.size
        return self.rule.sees(*divmod(self.query, W), H, W, **self.chosen)

    def pairs(self) -> int:
        """Number of (query, key) pairs."""
        return self.rule.pairs(*self.size, **self.chosen)

    def _parameters(self, chosen) -> dict[str, int]:
        """The parameters as whole numbers, if the pattern takes them on this grid.  Raises ValueError."""
        if not isinstance(chosen, Mapping) or not all(isinstance(letter, str) for letter in chosen):
            raise ValueError(f"chosen must be a dict of parameters by letter, got {brief(chosen)}")
        letters = self.rule.letters(*self.size, **chosen)
        return {letter: letters[letter] for letter in chosen}

    @traitlets.observe("pattern", "grid")
    def _stay_inside(self, change) -> None:
        """The query stays in a smaller grid; parameters that no longer fit go back to the pattern's own."""
        H, W = self.size
        self.query = min(self.query, H * W - 1)
        try:
            self._parameters(self.chosen)
        except ValueError:
            self.chosen = {}


def offered_grids(config) -> list[list]:
    """[rows, columns, words]: the checkpoint's own patches first, then square grids, then one token a pixel."""
    own, pixels = (config.rows, config.columns), (config.H, config.W)
    squares = [(side, side) for side in SIDES if (side, side) not in (own, pixels)]
    words = {own: f"patches of {config.P} × {config.P}, as in this checkpoint", pixels: "one token a pixel"}
    return [[H, W, words.get((H, W), f"{H * W:,} tokens")] for H, W in dict.fromkeys([own, *squares, pixels])]
