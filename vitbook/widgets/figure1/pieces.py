"""The pieces of Figure 1: photograph, tokens, encoder, what comes out of it, and the head; `figure1_drawing` arranges them.

Tokens run down and features run right, everywhere. Sizes are in the drawing's own units, about a pixel each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

import numpy as np
import torch

from vitbook.figures.svg import box, fitted, in_svg, link, path, percent, plus, say, star, tag
from vitbook.figures.thumbnails import signed_picture, thinned
from vitbook.trace import Trace
from vitbook.widgets.figure1.parts import Part, shown_tokens

STRIP_NUMBERS = 48  # how many of a row's D numbers a strip shows, evenly picked
UNIT = 10  # side of one patch in the shared photograph
Box = tuple[float, float, float, float]  # x, y, width, height


@dataclass(frozen=True)
class Columns:
    """Where each column of the token rows stands: (x, width) or x. flat: the patches as lists of numbers."""

    thumb: float
    flat: tuple[float, float]
    bar: tuple[float, float]
    strip: tuple[float, float]
    plus: float
    chip: tuple[float, float]
    z: tuple[float, float]

    @property
    def middles(self) -> dict[str, float]:
        """The middle of each column."""
        return {"thumb": self.thumb + 9} | {
            name: x + width / 2 for name in ("flat", "bar", "strip", "chip", "z") for x, width in [getattr(self, name)]
        }


@dataclass(frozen=True, eq=False)
class Pieces:
    """Draws the pieces of one run. uid: what ids start with; href: part -> the address of its chapter."""

    parts: dict[str, Part]
    trace: Trace
    layer: int
    uid: str
    href: Callable[[Part], str]

    @property
    def config(self):
        return self.trace.config

    @cached_property
    def tokens_shown(self) -> list[int | None]:
        return shown_tokens(self.config)

    def part(self, key: str, hit: Box, *body: str) -> str:
        """A part as a link to its chapter; hit: the place that answers to the pointer."""
        x, y, width, height = hit
        target = tag("rect", x=x, y=y, width=width, height=height, rx=5, class_="hit")
        part = self.parts[key]
        said = {"data_part": key, "data_chapter": part.chapter, "aria_label": spoken(part)}
        return link(self.href(part), target, *body, class_="vb-f1-part", **said)

    def places(self, rows: Sequence[float]) -> list[tuple[int, float]]:
        """The tokens that are shown, each with the height of its row."""
        return [(t, y) for t, y in zip(self.tokens_shown, rows, strict=True) if t is not None]

    def dots(self, x: float, rows: Sequence[float]) -> str:
        """⋮ where rows are left out."""
        return "".join(say(x, y + 4, "⋮", "dots") for t, y in zip(self.tokens_shown, rows, strict=True) if t is None)

    # --- the picture ---------------------------------------------------------------------------------------------

    def photo(self, x: float, y: float, side: float, label: str) -> str:
        """The photograph, the page showing through between its patches; label: its name and shape, already drawn."""
        c, scale = self.config, side / max(self.config.rows, self.config.columns)
        width, height = scale * c.columns, scale * c.rows
        cuts = "".join(f"M{x + scale * j:.2f},{y:.2f}v{height:.2f}" for j in range(1, c.columns))
        cuts += "".join(f"M{x},{y + scale * i:.2f}h{width:.2f}" for i in range(1, c.rows))
        marks = [
            tag("rect", x=x + column * scale, y=y + row * scale, width=scale, height=scale, class_="picked")
            for row, column in (divmod(t - 1, c.columns) for t in self.tokens_shown if t)
        ]
        place = f"translate({x},{y:.2f}) scale({scale / UNIT:.4f})"
        picture = tag("use", href=f"#{self.uid}-photo", transform=place)
        hit = (x - 3, y - 3, width + 6, height + 6)
        return self.part("x", hit, picture, path(cuts, "cuts", stroke_width=1 if scale < 20 else 2), *marks, label)

    def fan(self, x: float, y: float, side: float, to: float, rows: Sequence[float]) -> str:
        """Where the patches that are shown come from: one fine line each."""
        c, scale = self.config, side / max(self.config.rows, self.config.columns)
        lines = []
        for t, row_y in self.places(rows)[1:]:
            row, column = divmod(t - 1, c.columns)
            start = y + (row + 0.5) * scale
            edge = x + scale * c.columns + 6, (start + 2 * row_y) / 3
            lines.append(f"M{x + (column + 1) * scale:.2f},{start:.2f}L{edge[0]:.2f},{edge[1]:.2f}L{to},{row_y}")
        return path("".join(lines), "hair")

    def patch(self, token: int, x: float, y: float, side: float) -> str:
        """One patch, cut out of the shared photograph."""
        row, column = divmod(token - 1, self.config.columns)
        view = f"{column * UNIT} {row * UNIT} {UNIT} {UNIT}"
        cut = tag("use", href=f"#{self.uid}-photo")
        return tag("svg", cut, x=x, y=y, width=side, height=side, viewBox=view, class_="thumb")

    # --- the tokens ----------------------------------------------------------------------------------------------

    def tokens(self, at: Columns, rows: Sequence[float], z_shape: bool = False) -> str:
        """Row by row: patch, projection, position, z_0; [class] first, with its star, past the projection.

        rows: the middle of each row that is shown; z_shape: whether there is room above for the shape of z_0.
        """
        first, last = rows[0], rows[-1]
        return "".join([
            self._flow(at, rows),
            self._patches(at, rows, last + 29),
            self._projection(at, rows),
            self._class_row(at, first),
            self._embeddings(at, rows, last + 29),
            self._positions(at, rows, first - 24, last + 29),
            self._sequence(at, rows, first - 24, z_shape),
        ])  # fmt: skip

    def _flow(self, at: Columns, rows) -> str:
        (bar, bar_width), (strip, strip_width), (chip, chip_width) = at.bar, at.strip, at.chip
        places, start, numbers = self.places(rows), at.thumb + 20, sum(at.flat)
        through_E = "".join(
            f"M{start},{y}H{at.flat[0]}M{numbers},{y}H{bar}M{bar + bar_width},{y}H{strip}" for _, y in places[1:]
        )
        to_z = "".join(f"M{strip + strip_width},{y}H{chip}M{chip + chip_width},{y}H{at.z[0]}" for _, y in places)
        return path(through_E + to_z, "flow") + path(f"M{start},{rows[0]}H{strip}", "flow class", data_part="x_class")

    def _patches(self, at: Columns, rows, low: float) -> str:
        patches, (x, width), right = self.places(rows)[1:], at.flat, sum(at.flat)
        mid = (at.thumb + right) / 2
        drawn = "".join(self.patch(t, at.thumb, y - 9, 18) for t, y in patches)
        drawn += self.strips(self.trace.x_p, patches, x, width, first_token=1)
        words = say(mid, low, in_svg("x_p"), "letter picture") + say(
            mid, low + 17, self.parts["x_p"].shape_text, "small"
        )
        hit = (at.thumb - 4, rows[1] - 13, right - at.thumb + 7, rows[-1] - rows[1] + 26)
        return self.part("x_p", hit, drawn, self.dots(at.middles["thumb"], rows), words)

    def _projection(self, at: Columns, rows) -> str:
        (x, width), mid, top, height = at.bar, at.middles["bar"], rows[1] - 12, rows[-1] - rows[1] + 24
        upright = f"translate({mid},{(rows[1] + rows[-1]) / 2 + 8}) rotate(-90)"
        few = rows[-1] - rows[1] < 110  # no room along the bar
        shape = "" if few else say(0, 4.5, self.parts["E"].shape_text, "small", transform=upright)
        return self.part(
            "E", (x - 4, top + 2, width + 8, height), box(x, top, width, height, "embedding"),
            say(mid, rows[1] + (5 if few else 11), in_svg("E"), "letter embedding"), shape,
        )  # fmt: skip

    def _class_row(self, at: Columns, y: float) -> str:
        mid, (x, width) = at.middles["thumb"], at.strip
        strip = self.strips(self.parts["x_class"].tensor, [(0, y)], x, width)
        hit = (at.thumb - 5, y - 13, x + width - at.thumb + 8, 25)
        return self.part(
            "x_class", hit, star(mid, y), say(max(mid, 25), y - 24, in_svg("x_class"), "letter class"), strip
        )

    def _embeddings(self, at: Columns, rows, low: float) -> str:
        (x, width), mid = at.strip, at.middles["strip"]
        strips = self.strips(self.trace.embeddings, self.places(rows)[1:], x, width, first_token=1)
        hit = (x - 3, rows[1] - 13, width + 6, rows[-1] - rows[1] + 26)
        return self.part("x_pE", hit, strips, self.dots(mid, rows), say(mid, low, in_svg("x_pE"), "letter embedding"))

    def _positions(self, at: Columns, rows, high: float, low: float) -> str:
        (x, width), mid, part = at.chip, at.middles["chip"], self.parts["positions"]
        chips = "".join(
            box(x, y - 9, width, 18, "position", 9)
            + say(mid, y + 4.5, str(t), "small position")
            + plus(at.plus, y, 4.5)
            for t, y in self.places(rows)
        )
        words = say(mid, high, in_svg("E_pos"), "letter position") + say(mid, low, part.shape_text, "small")
        hit = (x - 4, rows[0] - 13, width + 8, rows[-1] - rows[0] + 26)
        return self.part("positions", hit, chips, self.dots(mid, rows), words)

    def _sequence(self, at: Columns, rows, high: float, with_shape: bool) -> str:
        (x, width), mid = at.z, at.middles["z"]
        words = say(mid, high - (16 if with_shape else 0), in_svg("z_0"), "letter")
        words += say(mid, high, self.parts["z_0"].shape_text, "small") if with_shape else ""
        strips = self.strips(self.trace.z[0], self.places(rows), x, width)
        return self.part(
            "z_0", (x - 3, rows[0] - 13, width + 6, rows[-1] - rows[0] + 26), strips, self.dots(mid, rows), words
        )

    def strips(self, tensor: torch.Tensor, places, x: float, width: float, first_token: int = 0) -> str:
        """Rows of a tensor as strips of colour on one scale; first_token: the token of the tensor's first row."""
        values = tensor.detach().double().numpy()[[t - first_token for t, _ in places]]
        picked = thinned(values, len(places), STRIP_NUMBERS)
        top = float(np.quantile(abs(picked), 0.98)) if len(picked) > 1 else float(abs(picked).max())
        drawn = []
        for row, (t, y) in zip(picked, places, strict=True):
            size = {"x": x, "y": y - 8, "width": width, "height": 16}
            strip = tag(
                "image", href=signed_picture(row[None], top), **size, preserveAspectRatio="none", class_="strip"
            )
            drawn += [strip, tag("rect", **size, class_="frame" if t else "frame class")]
        return "".join(drawn)

    # --- the encoder and what leaves it --------------------------------------------------------------------------

    def stream(self, rows: Sequence[float], x: float, to: float) -> str:
        """The residual lines of the rows that are shown; that of [class] in its own colour."""
        (_, first), *others = self.places(rows)
        return path("".join(f"M{x},{y}H{to}" for _, y in others), "through") + path(
            f"M{x},{first}H{to}", "through class"
        )

    def encoder(self, x: float, y: float, width: float, height: float, flat: bool = False) -> str:
        """L layers as a pile of sheets; flat: its words beside each other instead of below."""
        part, mid = self.parts["encoder"], x + width / 2
        sheets = "".join(box(x + 5 * k, y - 5 * k, width, height, "stream sheet", 8) for k in (2, 1, 0))
        often, share, work = f"{self.config.L} ×", percent(part.parameter_share), percent(part.multiply_add_share)
        if flat:
            lines = [(x + 12, 37, often, "huge"), (x + 92, 18, "encoder layer", "label")]
            lines += [
                (x + 92, 35, f"{share} of all parameters", "small"),
                (x + 92, 51, f"{work} of all multiply-adds", "small"),
            ]
        else:
            lines = [(mid, 44, often, "huge"), (mid, 64, "encoder layer", "label"), (mid, 82, part.shape_text, "small")]
            lines += [
                (mid, 108, share, "small strong"),
                (mid, 123, "of all", "small"),
                (mid, 137, "parameters", "small"),
            ]
            lines += [
                (mid, 156, work, "small strong"),
                (mid, 171, "of all", "small"),
                (mid, 185, "multiply-adds", "small"),
            ]
        words = "".join(say(at, y + down, text, kind, "start" if flat else "middle") for at, down, text, kind in lines)
        return self.part("encoder", (x - 2, y - 12, width + 14, height + 14), sheets, words)

    def outcome(self, x: float, width: float, rows: Sequence[float], beside: bool = False) -> str:
        """What leaves the last layer: row 0 in full, the rest faint, since nothing reads them.

        beside: say so beside the rows, not below them.
        """
        z, places, mid, part = self.trace.z[-1], self.places(rows), x + width / 2, self.parts["z_L"]
        words = say(mid, rows[0] - 40, in_svg(part.letter), "letter") + say(mid, rows[0] - 24, part.shape_text, "small")
        if beside:
            words += say(x + width + 10, rows[-1] - 20, "not read:", "small", "start")
            words += say(x + width + 10, rows[-1] - 3, f"the {self.config.N} patch tokens", "small", "start")
        else:
            words += say(mid, rows[-1] + 29, "not read", "small")
        faint = tag("g", self.strips(z, places[1:], x, width), self.dots(mid, rows), class_="faint")
        hit = (x - 3, rows[0] - 13, width + 6, rows[-1] - rows[0] + 26)
        return self.part("z_L", hit, self.strips(z, places[:1], x, width), faint, words)

    def readout(self, norm: tuple[float, float], y_strip: tuple[float, float, float], head: Box, answer: Box) -> str:
        """Eq. 4, the head and the class; dashed where the checkpoint has no head."""
        p, (n_x, n_y), (y_x, y_y, y_width) = self.parts, norm, y_strip
        ln = box(n_x, n_y, 30, 24, "class", 5) + say(n_x + 15, n_y + 17, "LN")
        y_row = self.strips(p["y"].tensor[None], [(0, y_y + 8)], y_x, y_width)
        y_row += say(y_x + y_width / 2, y_y + 30, f"{in_svg('y')}: {p['y'].shape_text}", "small")
        left, right = min(n_x, y_x) - 2, max(n_x + 30, y_x + y_width) + 2
        above, below = min(n_y, y_y) - 3, max(n_y + 24, y_y + 34) + 3
        absent = p["head"].tensor is None
        name = "no head" if absent else "head"
        return "".join([
            self.part("y", (left, above, right - left, below - above), ln, y_row),
            self.part("head", _around(head, 3), _slot(head, 6, absent, [name])),
            self.part("class", _around(answer, 3), _slot(answer, 10, absent, fitted(p["class"].name, int(answer[2] / 6.6), 2))),
        ])  # fmt: skip


def _around(box: Box, margin: float) -> Box:
    x, y, width, height = box
    return x - margin, y - margin, width + 2 * margin, height + 2 * margin


def _slot(place: Box, radius: float, absent: bool, lines: list[str]) -> str:
    """A box of the [class] colour with a line or two in it; dashed where it is absent."""
    x, y, width, height = place
    dashes = {"stroke_dasharray": "4 3", "fill_opacity": 0.3} if absent else {}
    middle = y + height / 2 + 4.5 - 7.5 * (len(lines) - 1)
    words = (say(x + width / 2, middle + 15 * i, escape(line)) for i, line in enumerate(lines))
    return box(x, y, width, height, "class", radius, **dashes) + "".join(words)


def spoken(part: Part) -> str:
    """A part in words, for a link that is heard and not seen."""
    said = f"{part.name}: {part.shape_text.replace('×', 'by')}"
    if part.parameters:
        said += f", {part.parameters:,} parameters ({percent(part.parameter_share)} of the model's)"
    if part.multiply_adds:
        said += f", {part.multiply_adds:,} multiply-adds ({percent(part.multiply_add_share)} of the model's)"
    return f"{said}. Opens the chapter."
