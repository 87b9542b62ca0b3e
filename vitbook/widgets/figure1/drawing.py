"""Figure 1 as SVG in two arrangements of the same pieces: `wide` for a page (720 units), `tall` for a phone (340 units)."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from vitbook.figures.svg import in_svg, link, path, percent, say, star, tag
from vitbook.widgets.figure1.layer import LayerPlan, draw_layer
from vitbook.widgets.figure1.parts import BARS, BARS_KEY, Costs
from vitbook.widgets.figure1.pieces import Columns, Pieces


@dataclass(frozen=True, eq=False)
class Drawing:
    """Figure 1 for one run. cost: both counts of the model."""

    pieces: Pieces
    cost: Costs

    def wide(self) -> str:
        """The model on top, left to right; one layer enlarged on the right below it; the two bars."""
        p, rows = self.pieces, self._rows(64, 23)
        at = Columns(thumb=170, flat=(194, 34), bar=(240, 26), strip=(278, 50), plus=338, chip=(349, 30), z=(392, 56))
        side, bottom, c = 146, rows[-1] + 12, p.config
        top = max(rows[-1] + 9 - side, 76) + side * (1 - c.rows / max(c.rows, c.columns)) / 2
        width = side * c.columns / max(c.rows, c.columns)
        plan = LayerPlan(
            (152, bottom + 62, 564, 188),
            bottom + 120,
            (214, 462),
            ((230, 42), (478, 42)),
            ((296, 112), (544, 100)),
            (432, 670),
        )
        out = f"M650,{rows[0]}H672M687,{rows[0] + 12}v24M687,{rows[0] + 72}v20M687,{rows[0] + 120}v20"
        return self._svg(
            720, bottom + 356, "wide",
            path(f"M468,{bottom + 6}H568L716,{bottom + 62}H152Z", "flare"),
            path(f"M468,{bottom + 6}L156,{bottom + 64}M568,{bottom + 6}L712,{bottom + 64}", "hair"),
            p.photo(5, top, side, self._name_of_picture(5 + width / 2, top - 24, "middle")),
            p.fan(5, top, side, at.thumb - 2, rows),
            p.tokens(at, rows, z_shape=True),
            p.stream(rows, 448, 468),
            p.stream(rows, 568, 596),
            p.encoder(468, 44, 100, bottom - 38),
            self._key(5, bottom + 84, 28),
            draw_layer(p, plan),
            p.outcome(596, 54, rows),
            path(out, "flow class"),
            p.readout((672, rows[0] - 12), (656, rows[0] + 36, 62), (656, rows[0] + 92, 62, 28), (654, rows[0] + 140, 66, 42)),
            self._bars(5, bottom + 272, 711),
        )  # fmt: skip

    def tall(self) -> str:
        """The same from top to bottom."""
        p, rows = self.pieces, self._rows(206, 24)
        at = Columns(thumb=4, flat=(28, 38), bar=(78, 28), strip=(118, 48), plus=177, chip=(187, 32), z=(232, 68))
        encoder = rows[-1] + 78
        layer = encoder + 94
        ends = [layer + 300 + 18 * i for i in range(len(rows))]
        row = ends[0]
        plan = LayerPlan(
            (18, layer, 320, 236),
            layer + 58,
            (44, 196),
            ((52, 34), (204, 34)),
            ((94, 70), (246, 60)),
            (176, 318),
            narrow=True,
        )
        under = encoder + 58
        down = path(f"M318,{rows[1]}V{encoder - 10}", "through") + path(
            f"M318,{rows[0]}h6V{encoder - 10}", "through class"
        )
        on = path(f"M6,{under}V{ends[-1]}" + "".join(f"M6,{y}H20" for _, y in p.places(ends)[1:]), "through") + path(
            f"M12,{under}V{row}H20", "through class"
        )
        return self._svg(
            340, ends[-1] + 142, "tall",
            p.photo(4, 10, 134, self._name_of_picture(156, 24, "start")),
            self._key(156, 64, 25),
            p.tokens(at, rows),
            p.stream(rows, 300, 318), down,
            path(f"M22,{under}H92L338,{layer + 8}H18Z", "flare"),
            path(f"M22,{under}L18,{layer + 8}M92,{under}L336,{layer + 6}", "hair"), on,
            p.encoder(4, encoder, 322, 58, flat=True),
            draw_layer(p, plan),
            path(f"M86,{row}H98M128,{row}H140M204,{row}H252M294,{row + 15}v21", "flow class"),
            p.outcome(20, 66, ends, beside=True),
            p.readout((98, row - 12), (140, row - 8, 64), (252, row - 15, 84, 30), (192, row + 38, 144, 42)),
            self._bars(4, ends[-1] + 40, 332),
        )  # fmt: skip

    def in_words(self) -> str:
        """The drawing for somebody who does not see it, in the order in which it is read."""
        c, parts = self.pieces.config, self.pieces.parts
        end = "There is no head in this checkpoint."
        if parts["head"].tensor is not None:
            end = f"A head turns it into {parts['class'].shape[0]} scores; the largest is {parts['class'].name}."
        return (
            f"From left to right. A photograph is cut into {c.rows} by {c.columns} patches. Each patch becomes a row of "
            f"{c.D} numbers through one matrix E. A starred [class] row is put in front, and a position is added to each of the "
            f"{c.N + 1} rows. They pass through {c.L} encoder layers. Row 0, [class], is normalised and gives the vector y. {end} "
            "One layer is enlarged: a residual line runs through it unbroken; twice a branch leaves it, passes a Norm, then "
            "attention or the MLP, and is added back to the line with a plus sign."
        )

    def _rows(self, first: float, pitch: float) -> list[float]:
        """The heights of the token rows; always as tall as eight of them, so that few tokens leave no hole."""
        count = len(self.pieces.tokens_shown)
        stretched = pitch * 7 / max(count - 1, 1)
        return [first + min(stretched, 2 * pitch) * i for i in range(count)]

    def _svg(self, width: int, height: float, name: str, *body: str) -> str:
        title, described = (f"{self.pieces.uid}-{name}-{what}" for what in ("title", "text"))
        head = tag("title", "Figure 1, drawn from this checkpoint: the whole Vision Transformer", id=title)
        head += tag("desc", escape(self.in_words()), id=described)
        named = {"aria_labelledby": title, "aria_describedby": described}
        named |= {"class_": f"vb-f1-{name}", "viewBox": f"0 0 {width} {height}", "role": "group"}
        return tag("svg", head, *body, **named, **{"xmlns:xlink": "http://www.w3.org/1999/xlink"})

    def _name_of_picture(self, x: float, y: float, anchor: str) -> str:
        shape = self.pieces.parts["x"].shape_text
        return say(x, y, f"the picture {in_svg('x')}", anchor=anchor) + say(x, y + 17, shape, "small", anchor)

    def _key(self, x: float, y: float, pitch: float) -> str:
        """How to read it, in four short lines."""
        signs = tag("rect", x=-3, y=-6, width=8, height=12, class_="cool") + tag(
            "rect", x=6, y=-6, width=8, height=12, class_="warm"
        )
        lines = (
            (path("M5,-8V8M1.5,4L5,8.5L8.5,4", "plain"), "tokens run down"),
            (path("M-2,0H13M9,-3.5L13.5,0L9,3.5", "plain"), "numbers run right"),
            (star(5, 0), "[class], in row 0"),
            (signs, "below, above zero"),
        )
        return "".join(
            tag(
                "g",
                mark,
                say(20, 4.5, text, "small", "start"),
                class_="key",
                transform=f"translate({x + 4},{y + pitch * i})",
            )
            for i, (mark, text) in enumerate(lines)
        )

    def _bars(self, x: float, y: float, width: float) -> str:
        """Where the parameters sit and where the multiply-adds go, each as one bar over the same colours."""
        return self._bar(x, y, width, "parameters") + self._bar(x, y + 50, width, "multiply_adds")

    def _bar(self, x: float, y: float, width: float, what: str) -> str:
        count, at, drawn, said = getattr(self.cost, what), x, [], []
        for piece in BARS:
            share = count.share(*getattr(piece, what))
            if not share:
                continue
            length = share * width
            rect = tag("rect", x=at, y=y + 12, width=length, height=22, class_=f"piece {piece.ink}")
            said_shortly = (f"{piece.name} {percent(share)}", f"{piece.name} {100 * share:.0f}%", percent(share))
            fits = [words for words in said_shortly if 7.6 * len(words) < length]
            text = say(at + length / 2, y + 27.5, fits[0], "in-bar") if fits else ""
            drawn.append(tag("g", rect, text, data_part=piece.part))
            said.append(f"{piece.name} {percent(share)}")
            at += length
        of_one = " for one picture" if what == "multiply_adds" and width > 400 else ""
        words = f"of all {count.total:,} {what.replace('_', '-')}{of_one}:"
        label = say(x, y + 5, words, anchor="start")
        spoken = f"{words} {', '.join(said)}"
        said_of = {"data_part": BARS_KEY, "data_chapter": "counting", "aria_label": spoken}
        return link("counting.html", label, *drawn, class_="vb-f1-bar", **said_of)
