"""One encoder layer enlarged: a residual line that is never broken, and two branches that come back to it with a plus."""

from __future__ import annotations

from dataclasses import dataclass

from vitbook.figures.svg import box, in_svg, path, percent, plus, say, tag
from vitbook.widgets.figure1.pieces import Box, Pieces


@dataclass(frozen=True)
class LayerPlan:
    """Where things stand: the panel, the height of the residual line, and along it, first for attention, then for the MLP:
    where the branch leaves, its Norm and its work as (x, width), and where the plus is. narrow: for a phone."""

    panel: Box
    line: float
    forks: tuple[float, float]
    norms: tuple[tuple[float, float], tuple[float, float]]
    works: tuple[tuple[float, float], tuple[float, float]]
    sums: tuple[float, float]
    narrow: bool = False

    @property
    def low(self) -> float:
        """The height at which the branches run."""
        return self.line + 64


def draw_layer(pieces: Pieces, plan: LayerPlan) -> str:
    """The layer `pieces.layer`, with the tensors of this run behind every part."""
    x, y, width, height = plan.panel
    start, end = x + 8, x + width - 4
    title = f"one layer, enlarged: layer {pieces.layer} of {pieces.config.L}"
    works = (_attention(pieces, plan), _mlp(pieces, plan))
    branches = "".join(_branch(pieces, plan, i, works[i]) for i in (0, 1))
    return "".join([
        tag("rect", x=x, y=y, width=width, height=height, rx=10, class_="panel"),
        say(x + 14, y + 22, title, anchor="start"),
        pieces.part("z_in", (x + 4, plan.line - 34, plan.forks[0] - x - 8, 44)),
        branches,
        path(f"M{start},{plan.line}H{end}", "residual", data_part="z_in"),  # over the plus signs: it is their horizontal stroke
        _letters(pieces, plan, start + 2, end),
    ])  # fmt: skip


def _branch(pieces: Pieces, plan: LayerPlan, i: int, work: str) -> str:
    """Fork, Norm, work, plus: the first (i = 0) or the second half of the layer."""
    fork, (n_x, n_width), (w_x, w_width), at = plan.forks[i], plan.norms[i], plan.works[i], plan.sums[i]
    line, low = plan.line, plan.low
    away = f"M{fork},{line}V{low - 10}Q{fork},{low} {fork + 6},{low}H{n_x}M{n_x + n_width},{low}H{w_x}"
    back = f"M{w_x + w_width},{low}H{at - 8}Q{at},{low} {at},{low - 8}V{line + 13}"
    arrow = path(f"M{at - 4},{line + 20}L{at},{line + 12}L{at + 4},{line + 20}", "head")
    norm = box(n_x, low - 15, n_width, 30, "stream", 5) + say(n_x + n_width / 2, low + 5, "LN")
    sum_ = tag("circle", cx=at, cy=line, r=11, class_="sum") + plus(at, line, 7)
    way = tag("g", path(away + back, "flow"), arrow, data_part=("msa", "mlp")[i])
    return "".join([
        way,
        pieces.part(f"norm_{i + 1}", (n_x - 3, low - 18, n_width + 6, 36), norm),
        work,
        pieces.part(f"plus_{i + 1}", (at - 15, line - 15, 30, 30), sum_),
    ])  # fmt: skip


def _attention(pieces: Pieces, plan: LayerPlan) -> str:
    (x, width), low = plan.works[0], plan.low
    mid, chip = x + width / 2, 16 if plan.narrow else 18
    letters = "".join(
        box(mid + i * (chip + 4) - chip / 2, low + 2, chip, 17, ink, 4)
        + say(mid + i * (chip + 4), low + 15, in_svg(letter), f"small {ink}")
        for i, letter, ink in ((-1, "q", "query"), (0, "k", "key"), (1, "v", "value"))
    )
    name = "attention" if plan.narrow else f"MSA, {pieces.config.heads} head{'s' if pieces.config.heads > 1 else ''}"
    drawn = box(x, low - 26, width, 52, "query") + say(mid, low - 8, name) + letters
    return pieces.part("msa", (x - 3, low - 29, width + 6, 58), drawn, _costs(pieces, plan, "msa", mid))


def _mlp(pieces: Pieces, plan: LayerPlan) -> str:
    (x, width), low = plan.works[1], plan.low
    mid, end = x + width / 2, x + width
    outline = f"M{x},{low - 14}L{mid},{low - 28}L{end},{low - 14}V{low + 14}L{mid},{low + 28}L{x},{low + 14}Z"
    wide = say(mid, low + 14, f"{pieces.config.M}{'' if plan.narrow else ' wide'}", "small")
    drawn = path(outline, "box mlp") + say(mid, low - 4, "MLP") + wide
    return pieces.part("mlp", (x - 3, low - 30, width + 6, 60), drawn, _costs(pieces, plan, "mlp", mid))


def _costs(pieces: Pieces, plan: LayerPlan, key: str, mid: float) -> str:
    """The share of parameters and of multiply-adds, below the box; on a phone each in two lines."""
    part = pieces.parts[key]
    shares = ((part.parameter_share, "parameters"), (part.multiply_add_share, "multiply-adds"))
    gap = "\n" if plan.narrow else " "
    lines = "\n".join(f"{percent(share)} of all{gap}{what}" for share, what in shares).split("\n")
    return "".join(say(mid, plan.low + 46 + 16 * i, line, "small") for i, line in enumerate(lines))


def _letters(pieces: Pieces, plan: LayerPlan, start: float, end: float) -> str:
    """z before, between and after, above the line."""
    between = plan.sums[0] if plan.narrow else (plan.sums[0] + plan.forks[1]) / 2
    places = ((start, "z_in", "start"), (between, "plus_1", "middle"), (end, "plus_2", "end"))
    return "".join(
        say(at, plan.line - 18, in_svg(pieces.parts[key].letter), "letter", anchor) for at, key, anchor in places
    )
