"""One query of one head, step by step: its scores, the division, the softmax, what it reads, and the mean that comes out.

Python hands over q, k and v of the head; everything that is shown is computed in the page.  Chapter: Equation 2.
"""

from __future__ import annotations

import anywidget
import numpy as np
import torch
import traitlets

from vitbook.checks import finite, whole
from vitbook.figures.thumbnails import exact_picture
from vitbook.model import run
from vitbook.patches import check_token
from vitbook.pictures import load_picture
from vitbook.pixels import preprocess, seen, view_box
from vitbook.widgets.kit import colour_tables, script, style
from vitbook.widgets.kit.checkpoints import checkpoint_of
from vitbook.widgets.kit.traits import Checked, KnownAttributes, Whole

LEVELS = 32767  # steps to each side of zero


class QueryWidget(KnownAttributes, anywidget.AnyWidget):
    """A query to move over a photograph, and the numbers of Eq. 6 and 7 for it.

    query: a token, from 0 = [class].  divisor: what the scores are divided by, from 1 to `most_divisor`; the model
    divides by the root of D_h.
    """

    _esm = traitlets.Unicode(script("query/widget.js")).tag(sync=True)
    _css = traitlets.Unicode(style("query/widget.css")).tag(sync=True)

    data = traitlets.Dict().tag(sync=True)  # sizes, layer, head, aspect, and the largest sizes of q, k and v
    numbers = traitlets.Bytes().tag(sync=True)  # q, k, v (N+1, D_h) one after the other, as int16
    picture = traitlets.Unicode().tag(sync=True)  # the pixels that the model sees, as a PNG data URI
    tables = traitlets.Bytes().tag(sync=True)
    query = Whole(0, least=0, most=lambda self: self.data["N"], note=" (0 is [class])").tag(sync=True)
    divisor = Checked(lambda self, value: _divisor(value, self.most_divisor), 1.0).tag(sync=True)

    @property
    def most_divisor(self) -> float:
        """Where the slider ends: D_h, so that on its scale of factors the root stands in the middle."""
        return float(max(self.data["D_h"], 2))


def one_query(picture, checkpoint, layer: int, head: int, query: int, trace=None) -> QueryWidget:
    """One query of one head on a photograph, step by step.

    picture: what `load_picture` takes.  layer, head: from 1.  query: the token shown first, from 0 = [class].
    trace: of a run on that picture, where there is one.  A number is stored to 1/65534 of the largest of its letter.
    Raises ValueError for what is no checkpoint and where there is no such layer, head or token.
    """
    checkpoint = checkpoint_of(checkpoint)
    config, photo = checkpoint.config, load_picture(picture)
    layer, head = whole(layer, "layer", 1, config.L), whole(head, "head", 1, config.heads)
    query = check_token(query, config)
    trace = trace or run(checkpoint, preprocess(photo, checkpoint))
    left, top, right, bottom = view_box(photo.size, checkpoint.preprocessing)
    letters = [letter[layer - 1][head - 1] for letter in (trace.q, trace.k, trace.v)]
    packed, tops = zip(*map(pack, letters), strict=True)
    sizes = {name: getattr(config, name) for name in ("rows", "columns", "N", "D_h", "P", "W", "H")}
    return QueryWidget(
        data=sizes | {"layer": layer, "head": head, "aspect": (right - left) / (bottom - top), "tops": tops},
        numbers=b"".join(packed),
        picture=exact_picture(seen(photo, checkpoint).convert("RGB")),
        tables=colour_tables(),
        query=query,
        divisor=config.D_h**0.5,
    )


def pack(numbers: torch.Tensor) -> tuple[bytes, float]:
    """Numbers as int16, and the size of the largest, which LEVELS stands for."""
    array = numbers.detach().cpu().double().numpy()
    top = float(np.abs(array).max()) or 1.0
    return np.rint(array / top * LEVELS).astype("<i2").tobytes(), top


def _divisor(value, most: float) -> float:
    number = finite(value, "divisor")
    if not 1 <= number <= most:
        raise ValueError(f"divisor must be a number from 1 to {most:g}, got {number:g}")
    return number
