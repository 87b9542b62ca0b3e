"""The opening scene: a photograph falls into patches, they stand in a line, they read each other, one vector is left.

Plain HTML.  Where the browser can tie an animation to scrolling (CSS scroll-driven animations), scrolling drives it; in
print, with reduced motion and in other browsers its five pictures stand below each other, complete.  All that it shows
are tensors of one run: x_p, z_0, one row of A (Eq. 7) and y (Eq. 4).  Chapter: intro.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import count

import numpy as np
from PIL import Image

from vitbook.figures.attention import lit
from vitbook.figures.thumbnails import photo, signed_picture, thinned
from vitbook.library.base import Checkpoint
from vitbook.trace import Trace
from vitbook.widgets.kit import AsHtml, style

WIDE = 480  # pixels of the photograph, enough for 440 CSS pixels
SHOWN = 48  # rows of z_0 in the picture of it: more are thinner than a pixel of the page
ARCS = 40  # tokens that an arc leads to: the most read
STAR = '<i class="class" aria-hidden="true">★</i>'
_numbers = count(1)


class Scene(AsHtml):
    """One picture's way through the model: a notebook shows it as HTML."""

    def __init__(
        self, checkpoint: Checkpoint, picture: Image.Image, trace: Trace, layer: int, head: int, query: int,
        box: Sequence[int] = (), words: Sequence[str] = (),
    ):  # fmt: skip
        if len(words) != 5:
            raise ValueError(f"words must be 5 captions, one for each part of the scene, got {len(words)}")
        self.config, self.picture, self.words = checkpoint.config, picture.convert("RGB"), tuple(words)
        self.query, self.box = query, tuple(box)
        self.row = trace.attention(layer, head, query).numpy()  # (N+1,)
        self.z0, self.y = trace.z[0].numpy(), trace.y.numpy()  # (N+1, D), (D,)

    def __repr__(self) -> str:
        return f"<The opening scene: {' '.join(self.words)}>"

    def _repr_html_(self) -> str:
        c, (wide, high) = self.config, self.picture.size
        size = (WIDE, round(WIDE * high / wide))
        small = self.picture.resize(size, Image.LANCZOS)
        light = Image.fromarray(lit(small, self.row, c, size))
        said = [f"<p>{escape(text)}</p>" for text in self.words]
        facts = f"--columns:{c.columns};--rows:{c.rows};--tokens:{c.N + 1};--shape:{wide / high:.4f}"
        sheet = style("scene/widget.css", f".vb-scene{{--photo:url({photo(small, 80)})}}")
        return (
            f'<div class="vb-scene" id="vb-scene-{next(_numbers)}" style="{facts}"><style>{sheet}</style><div class="stage">'
            f'<div class="photo" role="img" aria-label="The photograph, cut into {c.rows} × {c.columns} patches">{self._tiles()}</div>'
            f"{said[0]}{said[1]}"
            f'<div class="tokens">{STAR}<img alt="The numbers of all {c.N + 1} tokens, a column each" '
            f'src="{signed_picture(thinned(self.z0.T, SHOWN, c.N + 1))}"></div>{said[2]}'
            f'<div class="light"><img alt="The photograph: what a patch reads is light" src="{photo(light, 80)}">'
            f"{self._frame([self.query], 'query')}{self._frame(self.box, 'box') if self.box else ''}</div>{self._arcs()}{said[3]}"
            f'<div class="answer">{STAR}<img alt="The {c.D} numbers of y" '
            f'src="{signed_picture(self.y[None])}"></div>{said[4]}</div></div>'
        )

    def _tiles(self) -> str:
        c = self.config
        places = ((n, *divmod(n, c.columns)) for n in range(c.N))
        return "".join(f'<i style="--i:{n + 1};--r:{r};--c:{k}"></i>' for n, r, k in places)

    def _frame(self, tokens: Sequence[int], name: str) -> str:
        """A frame round a rectangle of tokens, in per cent of the photograph."""
        c = self.config
        rows, columns = zip(*(divmod(t - 1, c.columns) for t in tokens), strict=True)
        place = {
            "left": min(columns) / c.columns, "top": min(rows) / c.rows,
            "width": (max(columns) - min(columns) + 1) / c.columns, "height": (max(rows) - min(rows) + 1) / c.rows,
        }  # fmt: skip
        return f'<b class="{name}" style="{";".join(f"{k}:{100 * v:.2f}%" for k, v in place.items())}"></b>'

    def _arcs(self) -> str:
        """From the query's column to those of the tokens that it reads most: the more it reads, the thicker."""
        at, top, tokens = self.query + 0.5, float(self.row.max()), len(self.row)
        read = np.argsort(-self.row, kind="stable")[:ARCS]
        paths = "".join(
            f'<path d="M{at} 0Q{(at + t + 0.5) / 2} {30 + 90 * abs(t - self.query) / tokens:.0f} {t + 0.5} 0" '
            f'style="stroke-width:{0.5 + 4.5 * self.row[t] / top:.2f}"/>'
            for t in map(int, read)
            if t != self.query
        )
        return (
            f'<svg class="arcs" viewBox="0 0 {tokens} 64" preserveAspectRatio="none" aria-hidden="true">{paths}</svg>'
        )


def opening_scene(
    checkpoint: Checkpoint, picture: Image.Image, trace: Trace, *, layer: int, head: int, query: int,
    box: Sequence[int] = (), words: Sequence[str],
) -> Scene:  # fmt: skip
    """The scene of one picture and its trace, with the row of A of one layer, head (from 1) and query (a token, from 1).

    box: tokens of a rectangle to be framed.  words: five captions: the photograph, its patches, the line of tokens, what the
    query reads, y.  Raises ValueError when there are not five, IndexError and the like as `Trace.attention` does.
    """
    return Scene(checkpoint, picture, trace, layer, head, query, box, words)
