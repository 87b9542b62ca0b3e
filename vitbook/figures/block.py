"""The encoder block as a drawing: the stream from left to right, and two loops that leave it and are added back."""

from __future__ import annotations

from matplotlib.patches import Rectangle

from vitbook.figures.attention import bare
from vitbook.figures.palette import colour
from vitbook.figures.plotting import canvas

#: Of each half: what comes in, its work and the colour of that, what it does in words, what goes out.
HALVES = (
    ("$x$", "attention", "query", "the tokens read each other", "$x'$"),
    ("$x'$", "MLP", "mlp", "each token works alone", "out"),
)
STREAM, LOOP = 36, 15  # heights of the two lines


def block_diagram():
    """Eq. 2 and 3 side by side, below each other on a phone.  Returns the figure, without a caption."""
    figure, axes = canvas(height=210, columns=2)
    for axis, half in zip(axes, HALVES, strict=True):
        _half(axis, *half)
    return figure


def _half(axis, came: str, work: str, ink: str, says: str, leaves: str) -> None:
    axis.set(xlim=(0, 100), ylim=(0, 46))
    bare(axis)
    axis.plot([2, 98], [STREAM] * 2, color=colour("stream"), linewidth=3.5)
    for xs, ys in (([13, 13, 20], [STREAM, LOOP, LOOP]), ([46, 53], [LOOP] * 2), ([79, 84], [LOOP] * 2)):
        axis.plot(xs, ys, color=colour("muted"), linewidth=1.4)
    arrow = {"arrowstyle": "->", "color": colour("muted"), "shrinkA": 0, "shrinkB": 0}
    axis.annotate("", (84, STREAM - 5), (84, LOOP), arrowprops=arrow)
    for left, words, edge in ((20, "LayerNorm", "muted"), (53, work, ink)):
        axis.add_patch(Rectangle((left, 8.5), 26, 13, facecolor=colour(edge), alpha=0.14, edgecolor="none"))
        axis.add_patch(Rectangle((left, 8.5), 26, 13, fill=False, edgecolor=colour(edge), linewidth=1.4))
        axis.text(left + 13, LOOP, words, ha="center", va="center", fontsize=11)
    axis.plot(
        84, STREAM, "o", markersize=17, color=colour("ground"), markeredgecolor=colour("stream"), markeredgewidth=2
    )
    axis.text(84, STREAM - 0.2, "+", ha="center", va="center", fontsize=13)
    axis.text(2, 40, came, fontsize=12)
    axis.text(98, 40, leaves, fontsize=12, ha="right")
    axis.text(49.5, 2.2, says, fontsize=10, color=colour("muted"), ha="center")
