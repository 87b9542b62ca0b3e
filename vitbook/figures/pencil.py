"""The four-token example as one drawing: every matrix of Eq. 5 to 8 in one head, and the way of one token through them."""

from __future__ import annotations

from matplotlib.patches import Rectangle

from vitbook.figures.palette import colour
from vitbook.figures.plotting import PAGE_WIDTH, canvas, finish
from vitbook.studies.pencil import Steps
from vitbook.studies.pencil.by_hand import tidy

ROW, TITLE, SIGN = 23, 26, 20  # px: height of a row of numbers, room for a title, width of a sign between two matrices
DIGIT, PAD = 7.1, 7  # px: about the width of a digit, and the room beside a number
SIZE = 9.75  # points: 13 px on the page
INKS = {"q": "query", "k": "key", "v": "value"}


def pencil_steps(steps: Steps, head: int = 1, token: int = 0):
    """Eq. 5 to 8 in one head, every number; shaded is the way of one token.  head from 1, token from 0."""
    h = steps.heads[head - 1]
    inks = [ink for ink in INKS.values() for _ in range(h.q.shape[1])]
    parts = {name: (rf"$\mathbf{{{name}}}$", getattr(h, name), [ink] * h.q.shape[1]) for name, ink in INKS.items()}
    q = (*parts["q"][:2], [*parts["q"][2], "way"])
    U = (rf"$\mathbf{{U}}_{{qkv}}$, head {head}", steps.U_qkv[head - 1], inks)
    scores = (r"$\mathbf{q}\mathbf{k}^\top / \sqrt{D_h}$", h.scores, "way")
    lines = (
        ("", [(r"$\mathbf{z}$", steps.z, "way"), "·", U, "=", q, parts["k"], parts["v"]]),
        ("", [scores, "→", (r"$A$, row by row", h.A, "way"), "·", parts["v"], "=", (f"SA$_{head}$", h.SA, "way")]),
        ("", [("the heads side by side", steps.joined, "way"), "·", (r"$\mathbf{U}_{msa}$", steps.U_msa, [])]),
        ("=", [("MSA", steps.msa, "way")]),
    )
    heights = [TITLE + ROW * max(len(part[1]) for part in parts if part[1:]) + 12 for _, parts in lines]
    figure, axis = canvas(height=sum(heights))
    axis.set(xlim=(0, PAGE_WIDTH), ylim=(sum(heights), 0), xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    figure.get_layout_engine().set(w_pad=0, h_pad=0)
    top = 0
    for (first, parts), height in zip(lines, heights, strict=True):
        left = 6 + (_sign(axis, first, 6, top + TITLE + ROW * 2) if first else 0)
        for part in parts:
            if isinstance(part, str):
                left += _sign(axis, part, left, top + TITLE + ROW * 2)
            else:
                left = _matrix(axis, *part, left, top, token) + 4
        top += height
    return finish(figure, _words(steps, head, token))


def _sign(axis, sign: str, left: float, middle: float) -> float:
    axis.text(left + SIGN / 2 - 4, middle, sign, ha="center", va="center", color=colour("muted"), fontsize=12)
    return SIGN


def _matrix(axis, title: str, numbers, inks, left: float, top: float, token: int) -> float:
    """Draw a matrix with its title and return its right edge; inks: one a column, or "way" in it to shade the token's row."""
    whole = bool((numbers == numbers.round()).all())
    rows = [[(tidy(n, 3) if whole else f"{n:.3f}").replace("-", "−") for n in row] for row in numbers.tolist()]
    longest, columns = max(len(text) for row in rows for text in row), len(rows[0])
    width = max(26, DIGIT * longest + PAD)
    right, bottom = left + width * columns, top + TITLE + ROW * len(rows)
    if "way" in inks:
        shade = Rectangle((left, top + TITLE + ROW * token), right - left, ROW, color=colour("query-wash"), linewidth=0)
        axis.add_patch(shade)
    for edge, inwards in ((left, 4), (right, -4)):  # brackets
        axis.plot([edge + inwards, edge, edge, edge + inwards], [top + TITLE, top + TITLE, bottom, bottom],
                  color=colour("muted"), linewidth=0.9, solid_capstyle="butt")  # fmt: skip
    colours = [ink for ink in inks if ink != "way"] if not isinstance(inks, str) else []
    axis.text((left + right) / 2, top + TITLE - 6, title, ha="center", va="bottom", fontsize=SIZE + 0.5)
    for i, row in enumerate(rows):
        for c, text in enumerate(row):
            ink = colours[c] if colours else "text"
            axis.text(left + width * (c + 1) - 5, top + TITLE + ROW * (i + 0.5), text, ha="right", va="center",
                      fontsize=SIZE, color=colour(ink))  # fmt: skip
    return right


def _words(steps: Steps, head: int, token: int) -> str:
    h = steps.heads[head - 1]
    rows = {"q": h.q, "scores": h.scores, "A": h.A, "SA": h.SA, "MSA": steps.msa}
    told = ", ".join(
        f"{name} ({', '.join(tidy(n, 3) for n in numbers[token].tolist())})" for name, numbers in rows.items()
    )
    return (
        f"Every matrix of Equations 5 to 8 for the four-token example in head {head}, from z and U_qkv to MSA; shaded is the "
        f"row of token t{token} through all of them: {told}."
    )
