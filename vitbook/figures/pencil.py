"""The four-token example as drawings, one an equation: every matrix of Eq. 5 to 8, and the way of one token through them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from matplotlib.patches import Rectangle
from torch import Tensor

from vitbook.figures.palette import colour
from vitbook.figures.plotting import PAGE_WIDTH, PHONE_WIDTH, Drawing, canvas, carrying, finish
from vitbook.studies.pencil import Steps
from vitbook.studies.pencil.by_hand import tidy

ROW, TITLE, SIGN, EDGE = 23, 26, 20, 4  # px: a row of numbers, room for a title, width of a sign, room beside it all
NAMES, GAP, BELOW = 20, 7, 12  # px: room for the names of rows, behind a matrix, below a line
DIGIT, PAD = 7.1, 7  # px: about the width of a digit, and the room beside a number
SIZE = 9.75  # points: 13 px on the page


class Matrix(NamedTuple):
    """sign: before it; rows: the letter before the number of a row, None for no names; inks: of equal shares of the columns.

    Where a matrix is not the first of its line, the rows of the first one name its tokens, too.
    """

    sign: str
    name: str
    title: str
    numbers: Tensor
    rows: str | None = "t"
    inks: Sequence[str] = ("text",)
    way: bool = False  # whether the row of the token is shaded

    def written(self) -> list[list[str]]:
        whole = bool((self.numbers == self.numbers.round()).all())
        return [[(tidy(n, 3) if whole else f"{n:.3f}").replace("-", "−") for n in row] for row in self.numbers.tolist()]

    @property
    def column(self) -> float:
        return max(24, DIGIT * max(len(text) for row in self.written() for text in row) + PAD)

    def named(self, first: bool) -> bool:
        return self.rows is not None and (first or not self.rows)

    def width(self, first: bool) -> float:
        beside = (SIGN if self.sign else 0) + (NAMES if self.named(first) else 0)
        return beside + self.column * self.numbers.shape[1] + GAP

    @property
    def height(self) -> float:
        return TITLE + ROW * len(self.numbers) + BELOW


def pencil_steps(steps: Steps, head: int = 1, token: int = 0, equations: Sequence[int] = (5, 6, 7, 8)) -> Drawing:
    """These equations in one head, every number; shaded is the way of one token.  head from 1, token from 0.

    On a phone the matrices of an equation stand below each other where they do not fit side by side.
    """
    matrices = [of_equation(number, steps, head) for number in equations]
    words = _words(matrices, equations, head, token)
    page, phone = (_drawn(matrices, token, width, words) for width in (PAGE_WIDTH, PHONE_WIDTH))
    page.svg = carrying(page.svg, phone.svg)
    return page


def of_equation(number: int, steps: Steps, head: int) -> list[Matrix]:
    """The matrices of an equation in reading order."""
    h = steps.heads[head - 1]
    inks = ("query", "key", "value")
    U = rf"$\mathbf{{U}}_{{qkv}}$, head {head}"
    q, k, v = (r"$\mathbf{q}$", r"$\mathbf{k}$", r"$\mathbf{v}$")
    return {
        5: lambda: [
            Matrix("", "z", r"$\mathbf{z}$", steps.z, way=True),
            Matrix("·", "U_qkv", U, steps.U_qkv[head - 1], "", inks),
            Matrix("=", "q", q, h.q, inks=inks[:1], way=True),
            Matrix("", "k", k, h.k, inks=inks[1:2]),
            Matrix("", "v", v, h.v, inks=inks[2:]),
        ],
        6: lambda: [
            Matrix("", "q", q, h.q, inks=inks[:1], way=True),
            Matrix("·", "k, turned", r"$\mathbf{k}^\top$", h.k.T, None, inks[1:2]),
            Matrix("→", "scores", r"scores $\mathbf{q}\mathbf{k}^\top / \sqrt{D_h}$", h.scores, way=True),
            Matrix("→", "A", r"weights $A$", h.A, way=True),
        ],
        7: lambda: [
            Matrix("", "A", r"weights $A$", h.A, way=True),
            Matrix("·", "v", v, h.v, inks=inks[2:]),
            Matrix("=", "SA", f"SA$_{head}$", h.SA, way=True),
        ],
        8: lambda: [
            Matrix("", "the heads side by side", "the heads side by side", steps.joined, way=True),
            Matrix("·", "U_msa", r"$\mathbf{U}_{msa}$", steps.U_msa, ""),
            Matrix("=", "MSA", "MSA", steps.msa, way=True),
        ],
    }[number]()


def _lines(matrices: Sequence[Matrix], width: float) -> Iterator[list[Matrix]]:
    """The matrices of an equation in lines of at most ``width`` px."""
    line: list[Matrix] = []
    for matrix in matrices:
        if line and EDGE + sum(each.width(each is line[0]) for each in (*line, matrix)) > width:
            yield line
            line = []
        line.append(matrix)
    yield line


def _drawn(matrices: Sequence[Sequence[Matrix]], token: int, width: int, words: str) -> Drawing:
    lines = [line for of_one in matrices for line in _lines(of_one, width)]
    heights = [max(matrix.height for matrix in line) for line in lines]
    figure, axis = canvas(height=sum(heights), width=width)
    axis.set(xlim=(0, width), ylim=(sum(heights), 0), xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    figure.get_layout_engine().set(w_pad=0, h_pad=0)
    top = 0.0
    for line, height in zip(lines, heights, strict=True):
        left = EDGE
        for matrix in line:
            first = matrix is line[0]
            _matrix(axis, matrix, left, top, token, first)
            left += matrix.width(first)
        top += height
    return finish(figure, words)


def _matrix(axis, matrix: Matrix, left: float, top: float, token: int, first: bool) -> None:
    """A matrix with its sign, its title and the names of its rows, from ``left`` on."""
    muted, written, column = colour("muted"), matrix.written(), matrix.column
    if matrix.sign:
        axis.text(
            left + SIGN / 2 - 4, top + TITLE + ROW * 2, matrix.sign, ha="center", va="center", color=muted, fontsize=12
        )
        left += SIGN
    left += NAMES if matrix.named(first) else 0
    right, top = left + column * len(written[0]), top + TITLE
    bottom = top + ROW * len(written)
    if matrix.way:
        shade = Rectangle((left, top + ROW * token), right - left, ROW, color=colour("query-wash"), linewidth=0)
        axis.add_patch(shade)
    for edge, inwards in ((left, 4), (right, -4)):  # brackets
        axis.plot([edge + inwards, edge, edge, edge + inwards], [top, top, bottom, bottom],
                  color=muted, linewidth=0.9, solid_capstyle="butt")  # fmt: skip
    axis.text((left + right) / 2, top - 6, matrix.title, ha="center", va="bottom", fontsize=SIZE + 0.5)
    share = len(written[0]) // len(matrix.inks)
    for i, row in enumerate(written):
        middle = top + ROW * (i + 0.5)
        if matrix.named(first):
            axis.text(left - 5, middle, f"{matrix.rows}{i}", ha="right", va="center", fontsize=SIZE, color=muted)
        for c, text in enumerate(row):
            axis.text(left + column * (c + 1) - 4, middle, text, ha="right", va="center",
                      fontsize=SIZE, color=colour(matrix.inks[c // share]))  # fmt: skip


def _words(matrices: Sequence[Sequence[Matrix]], equations: Sequence[int], head: int, token: int) -> str:
    told = {matrix.name: matrix for of_one in matrices for matrix in of_one if matrix.name != "k, turned"}
    spelled = "; ".join(
        f"{name}: " + ", ".join(f"{m.rows or 'row '}{i} ({', '.join(row)})" for i, row in enumerate(m.written()))
        for name, m in told.items()
    ).replace("−", "-")
    which = f"Equation {equations[0]}" if len(equations) == 1 else f"Equations {equations[0]} to {equations[-1]}"
    return f"{which} for the four-token example in head {head}; shaded is the row of t{token}. {spelled}."
