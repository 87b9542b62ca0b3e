"""Figures of the encoder chapters: weights over the picture, heads side by side, lines over layers, GELU."""

from __future__ import annotations

from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator

from vitbook.figures.embedding import mesh, outline, photograph
from vitbook.figures.palette import colour
from vitbook.figures.plotting import attention_map as weight_colours
from vitbook.figures.plotting import canvas, finish, label_ends, literal
from vitbook.maps import attention_map
from vitbook.patches import describe


def weight_bars(trace, picture, checkpoint, layer: int, head: int, query: int = 0, count: int = 6):
    """Where one query of one head looks: the map beside the picture, and its largest weights with their places."""
    config, A = trace.config, trace.attention(layer, head, query)
    order = A.argsort(descending=True)[:count].tolist()
    figure, axes = canvas(
        height=330 + 26 * count, mosaic=[["photo", "map"], ["bars", "bars"]], height_ratios=[300, 26 * count]
    )
    left, middle, right = (axes[name] for name in ("photo", "map", "bars"))
    photograph(left, picture, checkpoint)
    grid = attention_map(trace, layer, head, query)
    drawn = mesh(middle, grid, weight_colours(), Normalize(0, grid.max().item()))
    figure.colorbar(drawn, ax=middle, shrink=0.9, label="weight")
    for axis, P in ((left, None), (middle, 1)):
        if query:
            outline(axis, query, config, P=P)
    left.set_title("query: " + describe(query, config).split(" (")[0], fontweight="normal", fontsize=11)
    middle.set_title(f"layer {layer}, head {head}", fontweight="normal", fontsize=11)
    _bars(
        right, [describe(t, config) for t in order], A[order].tolist(), ["class" if t == 0 else "stream" for t in order]
    )
    right.set_title(f"its {len(order)} largest weights", fontweight="normal", fontsize=11)
    alt = (
        f"Where {describe(query, config)} looks in layer {layer}, head {head}: its weights as a map. The largest: "
        + ", ".join(f"{describe(t, config)} with {A[t]:.4f}" for t in order)
        + "."
    )
    return finish(figure, alt)


def layer_line(
    series: dict, label: str, start: int = 1, log: bool = False, inks=("stream", "class", "query", "mlp", "key")
):
    """Lines over layers, each named at its end.  series: name -> one number a layer; the first belongs to layer `start`."""
    figure, axis = canvas(height=300)
    ends = []
    for (name, values), ink in zip(series.items(), inks, strict=False):
        layers = range(start, start + len(values))
        axis.plot(layers, values, color=colour(ink), marker="o", markersize=4, clip_on=False)
        ends.append((values[-1], literal(name, 32), ink))
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set(xlabel="layer", ylabel=label, yscale="log" if log else "linear")
    axis.set_xlim(right=layers[-1])  # no line of the grid runs through a label
    axis.grid(axis="y")
    label_ends(axis, layers[-1], ends)
    alt = f"{label} over layers {start} to {start + max(map(len, series.values())) - 1}. " + " ".join(
        f"{name}: from {v[0]:.3g} to {v[-1]:.3g}." for name, v in series.items()
    )
    return finish(figure, alt)


def _bars(axis, labels, values, inks) -> None:
    """Horizontal bars, the largest on top, names at the left inside the axis, numbers at the end."""
    longest, y = max(values), range(len(values))
    axis.barh(y, values, color=[colour(ink) for ink in inks], height=0.6)
    axis.set(yticks=[], xticks=[], xlim=(-0.55 * longest, 1.2 * longest))
    axis.invert_yaxis()
    axis.spines[:].set_visible(False)
    for place, label, value in zip(y, labels, values, strict=True):
        axis.text(-0.02 * longest, place, literal(label, 32), va="center", ha="right", color=colour("muted"))
        axis.text(value, place, f" {value:.4f}" if value < 0.1 else f" {value:.3f}", va="center", fontsize=9.75)
