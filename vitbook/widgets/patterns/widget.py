"""The pattern widget: choose an attention pattern, how many tokens and a query; see what it reads, its mask, its cost.

Python hands over the rules as text; everything that is shown is computed in the page, so it works with no kernel. With
one, the choice can be read and set from Python. Chapter: related work.
"""

from __future__ import annotations

import anywidget
import numpy as np
import traitlets

from vitbook.figures.thumbnails import photo
from vitbook.pictures import load_picture
from vitbook.pixels import seen
from vitbook.studies.patterns import PATTERNS, Pattern
from vitbook.widgets.kit import script, style

SIDES = (7, 14, 16, 28, 32, 56, 112, 224)  # of square grids on offer, beside the checkpoint's own


class PatternWidget(anywidget.AnyWidget):
    """Attention patterns over the tokens of one picture.

    pattern: a name in `PATTERNS`; grid: an index into `grids`; query: a token without [class], from 0 in raster order;
    chosen: the pattern's parameters by letter, where they differ from its defaults. Each can be set from Python too;
    what does not exist is refused with a TraitError that says what does.
    """

    _esm = traitlets.Unicode(script("patterns/widget.js")).tag(sync=True)
    _css = traitlets.Unicode(style("patterns/widget.css")).tag(sync=True)
    data = traitlets.Dict().tag(sync=True)
    pattern = traitlets.Unicode("local").tag(sync=True)
    grid = traitlets.Int(0).tag(sync=True)
    query = traitlets.Int(0).tag(sync=True)
    chosen = traitlets.Dict(value_trait=traitlets.Int(), key_trait=traitlets.Unicode()).tag(sync=True)

    def __init__(self, checkpoint, picture="chelsea", pattern: str = "local", query: int | None = None, **chosen: int):
        """picture: whatever `load_picture` takes; query: the middle of the picture where it is None."""
        config = checkpoint.config
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

    @traitlets.validate("pattern")
    def _known_pattern(self, proposal):
        if proposal["value"] not in PATTERNS:
            raise traitlets.TraitError(f"no pattern {proposal['value']!r}; there are {', '.join(PATTERNS)}")
        return proposal["value"]

    @traitlets.validate("grid")
    def _known_grid(self, proposal):
        last = len(self.data["grids"]) - 1 if self.data else 0
        if not 0 <= proposal["value"] <= last:
            raise traitlets.TraitError(f"grid must be from 0 to {last} (see .data['grids']), got {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("query")
    def _inside(self, proposal):
        N = self.size[0] * self.size[1] if self.data else 1
        if not 0 <= proposal["value"] < N:
            raise traitlets.TraitError(f"query must be a token from 0 to {N - 1}, got {proposal['value']}")
        return proposal["value"]

    @traitlets.observe("grid")
    def _stay_inside(self, change) -> None:
        H, W = self.size
        self.query = min(self.query, H * W - 1)


def offered_grids(config) -> list[list]:
    """[rows, columns, words]: the checkpoint's own patches first, then square grids, then one token a pixel."""
    own, pixels = (config.rows, config.columns), (config.H, config.W)
    squares = [(side, side) for side in SIDES if (side, side) not in (own, pixels)]
    words = {own: f"patches of {config.P} × {config.P}, as in this checkpoint", pixels: "one token a pixel"}
    return [[H, W, words.get((H, W), f"{H * W:,} tokens")] for H, W in dict.fromkeys([own, *squares, pixels])]
